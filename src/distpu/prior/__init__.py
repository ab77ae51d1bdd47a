"""Estimates the prior, the share of positives among the unlabelled rows, from out-of-fold scores or from the rows.

Every estimator needs a region in which almost all rows are positive. Without such a region an estimator returns
kappa* = inf p_U / p_P, the largest share consistent with the data. PU data cannot tell kappa* from the true prior.
"""

from __future__ import annotations

from typing import Any

from .choice import check_prior, estimated, estimated_from_scores, is_number, share_of
from .estimator import Estimate, PriorEstimator, inside_unit
from .known import AUTO, ON_ROWS, ON_SCORES, PRIORS, named

__all__ = [
    "AUTO",
    "LARGEST",
    "ON_ROWS",
    "ON_SCORES",
    "PRIORS",
    "Estimate",
    "PriorEstimator",
    "check_prior",
    "estimate",
    "estimate_prior",
    "estimated",
    "estimated_from_scores",
    "inside_unit",
    "is_number",
    "named",
    "prior_with_interval",
    "share_of",
]

LARGEST = (
    "Where the classes overlap, every PU estimator reports the largest share that is consistent with the data, and the "
    "truth may be lower."
)


def prior_with_interval(
    X: Any,
    y: Any,
    estimator: str = "auto",
    level: float = 0.9,
    bootstrap: int = 50,
    random_state: int = 0,
    pos_label: Any = None,
) -> Estimate:
    """Estimate the share of positives among the unlabelled rows, with an interval.

    X, y        as in `estimate_prior`
    estimator   a name in PRIORS, or 'auto'
    level       of the interval: with 0.9 each end is passed in 5 % of the cases
    bootstrap   how often the estimate is made again; estimators on rows take at most 10 random halves instead
    """
    told = {"level": level, "bootstrap": bootstrap, "random_state": random_state, "pos_label": pos_label}
    return PriorEstimator(estimator, **told).fit(X, y).estimate_


estimate = prior_with_interval  # the name inside the package


def estimate_prior(X: Any, y: Any, estimator: str = "auto", pos_label: Any = None) -> float:
    """Estimate the share of positives among the unlabelled rows; the result lies strictly between 0 and 1.

    X holds numbers: an array, a pandas or polars frame, a sparse matrix, or images. Missing values may be NaN. y holds
    PU labels, as in `fit`.
    """
    return PriorEstimator(estimator, bootstrap=0, pos_label=pos_label).fit(X, y).prior_
