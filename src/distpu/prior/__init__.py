"""How many of the unlabelled rows are positive? Class-prior estimators on out-of-fold scores.

All of them need some region that is almost purely positive. Where there is none they return
kappa* = inf p_U / p_P, the largest share consistent with the data; PU data alone cannot tell the two apart.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..inputs import numbers, read_labels
from ..params import near
from .bbe import bbe
from .scores import out_of_fold_scores

PriorEstimator = Callable[[np.ndarray, np.ndarray], float]  # (scores of labelled, scores of unlabelled) -> share

PRIORS: dict[str, PriorEstimator] = {"bbe": bbe}

# Six draws of breast-cancer at a true 0.30: of 5 labelled rows 0.28 to 1.0, of 10 0.24 to 0.66, of 20 0.31 to 0.38
FEW = 20

_recent: OrderedDict[str, float] = OrderedDict()  # ten methods on one data set need one estimate


def estimate_prior(X: Any, y: Any, estimator: str = "bbe", pos_label: Any = None) -> float:
    """Share of positives among the unlabelled rows, kept strictly between 0 and 1.

    X holds numbers: an array, a pandas or polars frame, a sparse matrix, or images; missing values may be NaN. y holds
    PU labels, as in `fit`.
    """
    if estimator not in PRIORS:
        known = ", ".join(PRIORS)
        raise ValueError(f"prior estimator {estimator!r} is not known{near(estimator, PRIORS)} (one of {known})")
    x, (s, _) = numbers(X), read_labels(y, pos_label)
    if x is None:
        raise ValueError("the prior is estimated from numbers, and X holds other values; encode X, or give the prior")
    if x.shape[0] != len(s):
        raise ValueError(f"X has {x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    labelled = int(s.sum())
    if labelled < 2:
        raise ValueError(
            "prior='auto' needs at least 2 labelled positives to estimate from; give the prior as a number"
        )
    key = _digest(x) + hashlib.sha256(s.tobytes()).hexdigest() + estimator
    if key not in _recent:
        _recent[key] = inside_unit(PRIORS[estimator](*out_of_fold_scores(x, s)), s)
        while len(_recent) > 64:
            _recent.popitem(last=False)
    if labelled < FEW:
        warnings.warn(
            f"the prior is estimated at {_recent[key]:.2g} from {labelled} labelled positives: below {FEW} such an "
            "estimate may be off by a factor of two or more; give the prior as a number if you know it",
            UserWarning,
            stacklevel=2,
        )
    return _recent[key]


def inside_unit(share: float, s: np.ndarray) -> float:
    """A share of the unlabelled rows, kept strictly between 0 and 1: at least one row away from none and from all."""
    least = 1 / (1 + int((s == 0).sum()))
    return float(min(max(share, least), 1 - least))


def _digest(x: Any) -> str:
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (x,)
    return "".join(hashlib.sha256(np.ascontiguousarray(part).data).hexdigest() for part in parts)
