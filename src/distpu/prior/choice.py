"""What prior= may be: a number, "auto", a name in PRIORS, or an estimator object. This file alone decides."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..inputs import read_labels
from ..kinds import short
from ..params import near
from .estimator import Estimate, PriorEstimator, inside
from .known import PRIORS


def is_number(prior: Any) -> bool:
    """Whether the prior is given. Otherwise it is estimated."""
    return isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool)


def check_prior(prior: Any) -> None:
    """Refuse what prior= may not be."""
    if is_number(prior):
        if not 0 < prior < 1:
            rule = "must lie strictly between 0 and 1 (or be 'auto' or an estimator's name)"
            raise ValueError(f"prior={short(prior)} {rule}")
        return
    if isinstance(prior, str):
        if prior != "auto" and prior not in PRIORS:
            names = ", ".join(PRIORS)
            raise ValueError(
                f"prior={prior!r} must be a number strictly between 0 and 1, 'auto', or the name of an estimator"
                f"{near(prior, ['auto', *PRIORS])} (one of {names})"
            )
    elif isinstance(prior, type) or not hasattr(prior, "fit"):
        raise ValueError(
            f"prior={prior!r} must be a number strictly between 0 and 1, 'auto', the name of an estimator, or an "
            "object with fit(X, y) that sets prior_, such as PriorEstimator('dedpul')"
        )


def estimated(prior: Any, X: Any, y: Any) -> Estimate:
    """The estimate on these rows that prior=, which is no number, asks for."""
    estimator = _object(prior)
    estimator.fit(X, y)
    s, _ = read_labels(y)
    return _estimate_of(estimator, int((s == 1).sum()), int((s == 0).sum()))


def estimated_from_scores(prior: Any, z_labelled: np.ndarray, z_unlabelled: np.ndarray) -> Estimate:
    """The estimate on scores by models that were not trained on their rows. An object without fit_scores fits rows of
    one column, the score."""
    estimator = _object(prior)
    if hasattr(estimator, "fit_scores"):
        estimator.fit_scores(z_labelled, z_unlabelled)
    else:
        labels = np.repeat([1, 0], [len(z_labelled), len(z_unlabelled)])
        estimator.fit(np.concatenate([z_labelled, z_unlabelled])[:, None], labels)
    return _estimate_of(estimator, len(z_labelled), len(z_unlabelled))


def share_of(prior: Any, X: Any, y: Any) -> float:
    """The prior as a number: given, or estimated on these rows without an interval."""
    check_prior(prior)
    if is_number(prior):
        return float(prior)
    return estimated(PriorEstimator(prior, bootstrap=0) if isinstance(prior, str) else prior, X, y).prior


def _object(prior: Any) -> Any:
    """An unfitted estimator: fit must leave the parameters as the user gave them."""
    check_prior(prior)
    if isinstance(prior, str):
        return PriorEstimator(prior)
    return clone(prior) if isinstance(prior, BaseEstimator) else deepcopy(prior)


def _estimate_of(estimator: Any, n_p: int, n_u: int) -> Estimate:
    if isinstance(estimator, PriorEstimator):
        return estimator.estimate_
    name = type(estimator).__name__
    share: Any = getattr(estimator, "prior_", None)
    if not is_number(share) or not 0 <= float(share) <= 1:
        raise ValueError(f"prior={name} has prior_={share!r} after fit; fit must set prior_ to a share from 0 to 1")
    share, interval = inside(float(share), n_u), getattr(estimator, "interval_", None)
    if interval is not None:
        low, high = (inside(float(end), n_u) for end in interval)
        interval = min(low, share), max(high, share)
    level = getattr(estimator, "level", None)
    return Estimate(share, interval, n_p / (n_p + share * n_u), name, level=level if is_number(level) else None)
