"""Estimates the prior, the share of positives among the unlabelled rows, from out-of-fold scores or from the rows.

Every estimator needs a region in which almost all rows are positive. Without such a region an estimator returns
kappa* = inf p_U / p_P, the largest share consistent with the data. PU data cannot tell kappa* from the true prior.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import numbers, read_labels
from ..params import near
from . import km, pe, pen_l1, tice
from .bbe import bbe
from .dedpul import dedpul
from .elkan_noto import elkan_noto
from .interval import MOST_HALVES, bootstrapped, halved, percentile
from .scores import MAX_ROWS, filled_rows, out_of_fold_scores
from .scott import scott

PriorEstimator = Callable[[np.ndarray, np.ndarray], float]  # (labelled, unlabelled) -> share of the unlabelled

ON_SCORES: dict[str, PriorEstimator] = {  # (scores of labelled rows, scores of unlabelled rows), out of fold
    "bbe": bbe,
    "dedpul": dedpul,
    "elkan-noto": elkan_noto,
    "scott": scott,
}
ON_ROWS: dict[str, PriorEstimator] = {  # (labelled rows, unlabelled rows)
    "tice": tice.tice,
    "pe": pe.pe,
    "pen-l1": pen_l1.pen_l1,
    "km1": km.km1,
    "km2": km.km2,
}
PRIORS = {**ON_SCORES, **ON_ROWS}
MOST: dict[str, int] = {"tice": tice.MOST, "pe": 2 * pe.MOST, "pen-l1": 2 * pen_l1.MOST, "km1": km.MOST, "km2": km.MOST}

# Below so many labelled rows an estimate is too rough to go without a warning: six draws of breast-cancer (true prior
# 0.30) gave 0.24 to 0.66 with 10 labelled rows, and 0.31 to 0.38 with 20.
FEW = 20

LARGEST = (
    "Where the classes overlap, every PU estimator reports the largest share that is consistent with the data, and the "
    "truth may be lower. The interval does not show this."
)

_recent: OrderedDict[str, Any] = OrderedDict()  # several methods on one data set share the scores of one forest


@dataclass(frozen=True)
class Estimate:
    """The share of positives among the unlabelled rows, and how sure it is."""

    prior: float
    interval: tuple[float, float]
    label_frequency: float  # share of all positives that are labelled: n_P / (n_P + prior n_U)
    name: str
    note: str  # what the estimate did not look at; empty where it looked at everything


def estimate(
    X: Any,
    y: Any,
    estimator: str = "bbe",
    level: float = 0.9,
    bootstrap: int = 50,
    random_state: int = 0,
    pos_label: Any = None,
) -> Estimate:
    """Share of positives among the unlabelled rows, with an interval.

    X, y        as in `estimate_prior`
    estimator   a name in PRIORS
    level       of the interval: 0.9 means that 5 % of the resampled estimates lie below it and 5 % above
    bootstrap   how often the estimate is made again; estimators on rows take at most 10 random halves instead
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} must lie strictly between 0 and 1, such as 0.9")
    if bootstrap < 0:
        raise ValueError(f"bootstrap={bootstrap} must be at least 0; 0 gives an interval without width")
    x, s = _read(X, y, estimator, pos_label)
    function = PRIORS[estimator]
    p, u = _taken_from(x, s, estimator, random_state)
    resample = bootstrapped if estimator in ON_SCORES else halved
    share = inside_unit(function(p, u), s)
    low, high = percentile(share, resample(function, p, u, bootstrap, random_state), level)
    n_p, n_u = int((s == 1).sum()), int((s == 0).sum())
    _warn_of_few(share, n_p)
    interval = inside_unit(low, s), inside_unit(high, s)
    return Estimate(share, interval, n_p / (n_p + share * n_u), estimator, _note(estimator, len(s), bootstrap))


def estimate_prior(X: Any, y: Any, estimator: str = "bbe", pos_label: Any = None) -> float:
    """Estimate the share of positives among the unlabelled rows; the result lies strictly between 0 and 1.

    X holds numbers: an array, a pandas or polars frame, a sparse matrix, or images. Missing values may be NaN. y holds
    PU labels, as in `fit`.
    """
    x, s = _read(X, y, estimator, pos_label)
    share = inside_unit(PRIORS[estimator](*_taken_from(x, s, estimator, 0)), s)
    _warn_of_few(share, int(s.sum()))
    return share


def check_name(estimator: str) -> None:
    """Refuse an estimator that PRIORS does not have."""
    if estimator not in PRIORS:
        known = ", ".join(PRIORS)
        raise ValueError(f"prior estimator {estimator!r} is not known{near(estimator, PRIORS)} (one of {known})")


def inside_unit(share: float, s: np.ndarray) -> float:
    """Move a share of the unlabelled rows, if need be, to at least about one row away from 0 and from 1."""
    least = 1 / (1 + int((s == 0).sum()))
    return float(min(max(share, least), 1 - least))


def _read(X: Any, y: Any, estimator: str, pos_label: Any) -> tuple[Any, np.ndarray]:
    """X as numbers and y as PU labels, with at least 2 labelled rows."""
    check_name(estimator)
    x, (s, _) = numbers(X), read_labels(y, pos_label)
    if x is None:
        raise ValueError("the prior is estimated from numbers, but X holds other values; encode X, or give the prior")
    if x.shape[0] != len(s):
        raise ValueError(f"X has {x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    if int(s.sum()) < 2:
        raise ValueError("prior='auto' needs at least 2 labelled positives; give the prior as a number")
    return x, s


def _taken_from(x: Any, s: np.ndarray, estimator: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the estimator takes: scores of labelled and of unlabelled rows, or the rows themselves."""
    if estimator in ON_ROWS:
        return filled_rows(x, s, seed)
    key = f"{seed} {_digest(x, s)}"
    if key not in _recent:
        _recent[key] = out_of_fold_scores(x, s, seed)
        while len(_recent) > 64:
            _recent.popitem(last=False)
    return _recent[key]


def _warn_of_few(share: float, labelled: int) -> None:
    if labelled < FEW:
        warnings.warn(
            f"the prior is estimated at {share:.2g} from {labelled} labelled positives; with fewer than "
            f"{FEW}, an estimate may be wrong by a factor of two or more; give the prior as a number if you know it",
            UserWarning,
            stacklevel=3,
        )


def _note(estimator: str, rows: int, bootstrap: int) -> str:
    most = MOST.get(estimator, MAX_ROWS)
    seen = f"looks at {most:,} of {rows:,} rows at most" if rows > most else ""
    halves = f"interval from {MOST_HALVES} halves" if estimator in ON_ROWS and bootstrap > MOST_HALVES else ""
    return "; ".join(filter(None, (seen, halves)))


def _digest(x: Any, s: np.ndarray) -> str:
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (x,)
    return "".join(hashlib.sha256(np.ascontiguousarray(part).data).hexdigest() for part in (*parts, s))
