"""PriorEstimator: fit(X, y), or fit_scores on scores at hand; then prior_, interval_ and how they came about."""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from ..inputs import numbers, read_labels
from ..params import check_parameters, param
from .interval import MOST_HALVES, bootstrapped, halved, percentile
from .known import MOST, ON_ROWS, ON_SCORES, PRIORS, named
from .scores import filled_rows, out_of_fold_scores

Self = TypeVar("Self", bound="PriorEstimator")

# Below so many labelled rows an estimate is too rough to go without a warning: six draws of breast-cancer (true prior
# 0.30) gave 0.24 to 0.66 with 10 labelled rows, and 0.31 to 0.38 with 20.
FEW = 20

_recent: OrderedDict[str, Any] = OrderedDict()  # several methods on one data set share the scores of one forest


@dataclass(frozen=True)
class Estimate:
    """The share of positives among the unlabelled rows, and how sure it is."""

    prior: float
    interval: tuple[float, float] | None  # None for an estimator of another package that gives none
    label_frequency: float  # share of all positives that are labelled: n_P / (n_P + prior n_U)
    name: str
    note: str = ""  # what the estimate did not look at; empty where it looked at everything
    level: float | None = None  # of the interval

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "interval": None if self.interval is None else list(self.interval)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Estimate:
        known = {key: value[key] for key in cls.__dataclass_fields__ if key in value}
        return cls(**{**known, "interval": tuple(value["interval"]) if value.get("interval") else None})


@dataclass(eq=False, repr=False)
class PriorEstimator(BaseEstimator):
    """Estimates the share of positives among the unlabelled rows, with an interval.

    A method takes it as `prior=PriorEstimator("dedpul")`. `fit` and `fit_scores` set:

    prior_            share of positives among the unlabelled rows, strictly between 0 and 1
    interval_         (low, high)
    label_frequency_  share of all positives that are labelled
    name_             the estimator taken; 'auto' is replaced by a name
    note_             what the estimate did not look at; empty where it looked at everything
    estimate_         all of these in one object
    """

    name: str = param("auto", "a name in PRIORS, or 'auto' for the one that methods take by default")
    _: KW_ONLY
    level: float = param(0.9, "of the interval: 0.9 means that 5 % of the resampled estimates lie below it and 5 % "
                         "above", above=0, below=1)  # fmt: skip
    bootstrap: int = param(50, "how often the estimate is made again for the interval; estimators on rows take at most "
                           "10 random halves instead; 0 gives an interval without width", least=0)  # fmt: skip
    random_state: int = param(0, "seed of the forest and of the resampling", least=0)
    pos_label: Any = param(None, "the label value of the labelled positives, if it is not 1")

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Estimate from rows. X holds numbers, y holds PU labels; missing values of X may be NaN.

        X may be an array, a pandas or polars frame, a sparse matrix, images, or one number per row.
        """
        check_parameters(self)
        name = named(self.name)
        x, s = _read(X, y, self.pos_label)
        p, u = _taken_from(x, s, name, self.random_state)
        return self._take(name, p, u, int((s == 1).sum()), int((s == 0).sum()))

    def fit_scores(self: Self, z_labelled: Any, z_unlabelled: Any) -> Self:
        """Estimate from scores of labelled and of unlabelled rows, by models that were not trained on those rows.

        A higher score must mean 'more likely positive'. Estimators on rows take the scores for their only column.
        """
        check_parameters(self)
        name = named(self.name)
        p, u = _score_array(z_labelled, "z_labelled"), _score_array(z_unlabelled, "z_unlabelled")
        if len(p) < 2 or not len(u):
            raise ValueError(
                f"{len(p)} labelled and {len(u)} unlabelled scores; a prior needs at least 2 labelled and 1 unlabelled"
            )
        return self._take(name, p, u, len(p), len(u))

    def _take(self: Self, name: str, p: np.ndarray, u: np.ndarray, n_p: int, n_u: int) -> Self:
        """Estimate from scores or rows. n_p and n_u count all rows; p and u may hold a sample."""
        function, resample = PRIORS[name], bootstrapped if name in ON_SCORES else halved
        if name in ON_ROWS and p.ndim == 1:
            p, u = p[:, None], u[:, None]
        share = inside(function(p, u), n_u)
        low, high = percentile(share, resample(function, p, u, self.bootstrap, self.random_state), self.level)
        _warn_of_few(share, n_p)
        self.estimate_ = Estimate(
            share,
            (inside(low, n_u), inside(high, n_u)),
            n_p / (n_p + share * n_u),
            name,
            _note(name, len(p) + len(u), n_p + n_u, self.bootstrap),
            self.level,
        )
        self.prior_, self.interval_ = share, self.estimate_.interval
        self.label_frequency_, self.name_, self.note_ = self.estimate_.label_frequency, name, self.estimate_.note
        return self


def inside_unit(share: float, s: np.ndarray) -> float:
    """Move a share of the unlabelled rows, if need be, to at least about one row away from 0 and from 1."""
    return inside(share, int((s == 0).sum()))


def inside(share: float, unlabelled: int) -> float:
    """As `inside_unit`, for so many unlabelled rows."""
    least = 1 / (1 + unlabelled)
    return float(min(max(share, least), 1 - least))


def _read(X: Any, y: Any, pos_label: Any) -> tuple[Any, np.ndarray]:
    """X as numbers and y as PU labels, with at least 2 labelled rows."""
    x, (s, _) = numbers(X), read_labels(y, pos_label)
    if x is None and np.ndim(X) == 1:  # one number per row is a table of one column
        x = numbers(np.asarray(X)[:, None])
    if x is None:
        raise ValueError("the prior is estimated from numbers, but X holds other values; encode X, or give the prior")
    if x.shape[0] != len(s):
        raise ValueError(f"X has {x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    if int(s.sum()) < 2:
        raise ValueError("prior='auto' needs at least 2 labelled positives; give the prior as a number")
    return x, s


def _score_array(z: Any, what: str) -> np.ndarray:
    if hasattr(z, "detach"):  # torch
        z = z.detach().cpu().numpy()
    z = np.asarray(z, dtype=np.float64)
    if z.ndim != 1 or not np.isfinite(z).all():
        raise ValueError(f"{what} has shape {z.shape} or holds NaN or infinity; give one finite score per row")
    return z


def _taken_from(x: Any, s: np.ndarray, name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the estimator takes: scores of labelled and of unlabelled rows, or the rows themselves."""
    if name in ON_ROWS:
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
            stacklevel=5,
        )


def _note(name: str, seen: int, rows: int, bootstrap: int) -> str:
    most = min(MOST.get(name, rows), seen)
    part = f"looks at {most:,} of {rows:,} rows at most" if rows > most else ""
    halves = f"interval from {MOST_HALVES} halves" if name in ON_ROWS and bootstrap > MOST_HALVES else ""
    return "; ".join(filter(None, (part, halves)))


def _digest(x: Any, s: np.ndarray) -> str:
    parts = (x.data, x.indices, x.indptr) if hasattr(x, "indptr") else (x,)
    return "".join(hashlib.sha256(np.ascontiguousarray(part).data).hexdigest() for part in (*parts, s))
