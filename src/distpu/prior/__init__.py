"""Estimates the prior, the share of positives among the unlabelled rows, from out-of-fold scores.

Every estimator needs a region in which almost all rows are positive. Without such a region an estimator returns
kappa* = inf p_U / p_P, the largest share consistent with the data. PU data cannot tell kappa* from the true prior.
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

# Below so many labelled rows an estimate is too rough to go without a warning: six draws of breast-cancer (true prior
# 0.30) gave 0.24 to 0.66 with 10 labelled rows, and 0.31 to 0.38 with 20.
FEW = 20

_recent: OrderedDict[str, float] = OrderedDict()  # several methods on one data set share one estimate


def estimate_prior(X: Any, y: Any, estimator: str = "bbe", pos_label: Any = None) -> float:
    """Estimate the share of positives among the unlabelled rows; the result lies strictly between 0 and 1.

    X holds numbers: an array, a pandas or polars frame, a sparse matrix, or images. Missing values may be NaN. y holds
    PU labels, as in `fit`.
    """
    if estimator not in PRIORS:
        known = ", ".join(PRIORS)
        raise ValueError(f"prior estimator {estimator!r} is not known{near(estimator, PRIORS)} (one of {known})")
    x, (s, _) = numbers(X), read_labels(y, pos_label)
    if x is None:
        raise ValueError("the prior is estimated from numbers, but X holds other values; encode X, or give the prior")
    if x.shape[0] != len(s):
        raise ValueError(f"X has {x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    labelled = int(s.sum())
    if labelled < 2:
        raise ValueError("prior='auto' needs at least 2 labelled positives; give the prior as a number")
    key = _digest(x) + hashlib.sha256(s.tobytes()).hexdigest() + estimator
    if key not in _recent:
        _recent[key] = inside_unit(PRIORS[estimator](*out_of_fold_scores(x, s)), s)
        while len(_recent) > 64:
            _recent.popitem(last=False)
    if labelled < FEW:
        warnings.warn(
            f"the prior is estimated at {_recent[key]:.2g} from {labelled} labelled positives; with fewer than "
            f"{FEW}, an estimate may be wrong by a factor of two or more; give the prior as a number if you know it",
            UserWarning,
            stacklevel=2,
        )
    return _recent[key]


def inside_unit(share: float, s: np.ndarray) -> float:
    """Move a share of the unlabelled rows, if need be, to at least about one row away from 0 and from 1."""
    least = 1 / (1 + int((s == 0).sum()))
    return float(min(max(share, least), 1 - least))


def _digest(x: Any) -> str:
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (x,)
    return "".join(hashlib.sha256(np.ascontiguousarray(part).data).hexdigest() for part in parts)
