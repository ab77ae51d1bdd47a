"""PriorEstimator: fit(X, y), or fit_scores on scores at hand; then prior_, interval_ and how they came about."""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from ..encode import encoded, is_frame
from ..files.scratch import in_parts
from ..inputs import numbers, read_labels
from ..kinds import plain_scores
from ..params import check_parameters, param
from .interval import MOST_HALVES, bootstrapped, halved, percentile
from .known import CALLS, INTERVALS, MOST, ON_ROWS, ON_SCORES, PRIORS, SHAPES, named
from .scores import filled_rows, out_of_fold_scores
from .separable import APART, least_share, separability

Self = TypeVar("Self", bound="PriorEstimator")
Pair = tuple[np.ndarray, np.ndarray]  # of labelled and of unlabelled rows

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
    separability: float | None = None  # of the scores, from 0.5 to 1 (separable.py); None where no scores were made
    two_sided: bool | None = None  # False: the interval's upper end is a bound, and the truth may be below its low end
    to_call: float | None = None  # share of the unlabelled rows to call positive; None: as many as the prior says
    few: bool = False  # whether fewer than FEW rows are labelled

    @property
    def reading(self) -> str:
        """Whether the interval has two sides, and why, in a sentence or two."""
        if self.two_sided is None or self.separability is None:
            return ""
        shown = f"separability {self.separability:.2f}, {APART} is needed"
        if self.two_sided and self.few:
            return f"The interval is a rough guess at both ends, because fewer than {FEW} rows are labelled."
        if self.two_sided and self.separability > APART:
            return f"Both ends of the interval count: the scores tell positives from negatives ({shown})."
        if self.name in SHAPES:
            return (
                f"The lower end of the interval counts only if the assumption of {self.name} holds: "
                f"{SHAPES[self.name]}. The data alone give the upper end only ({shown})."
            )
        why = f"the scores do not tell positives from negatives well enough ({shown})"
        if self.separability > APART:
            why = f"fewer than {FEW} rows are labelled"
        return (
            f"Only the upper end of the interval counts: {why}. Every estimator then reports the largest share that "
            "fits the data. The truth may be lower."
        )

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
    two_sided_        whether the interval has two sides; else the prior is an upper bound and the truth may be lower;
                      None with bootstrap=0
    estimate_         all of these in one object, and estimate_.reading in words
    """

    name: str = param("auto", "a name in PRIORS, or 'auto' for the one that methods take by default")
    _: KW_ONLY
    level: float = param(0.9, "of the interval: with 0.9 each end is passed in 5 % of the cases", above=0, below=1)
    bootstrap: int = param(50, "how often the estimate is made again for the interval; estimators on rows take at most "
                           "10 random halves instead; 0: both ends are the estimate", least=0)  # fmt: skip
    random_state: int = param(0, "seed of the forest and of the resampling", least=0)
    pos_label: Any = param(None, "the label value of the labelled positives, if it is not 1")

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Estimate from rows. X holds numbers, y holds PU labels; missing values of X may be NaN.

        X may be an array, a pandas or polars frame, a sparse matrix, images, or one number per row.
        """
        check_parameters(self)
        name = named(self.name)
        x, s = _read(X, y, self.pos_label)
        p, u = taken = _taken_from(x, s, name, self.random_state)
        z = taken if name in ON_SCORES else _scores(x, s, self.random_state) if self.bootstrap else None
        return self._take(name, p, u, z, int((s == 1).sum()), int((s == 0).sum()))

    def fit_scores(self: Self, z_labelled: Any, z_unlabelled: Any) -> Self:
        """Estimate from scores of labelled and of unlabelled rows, by models that were not trained on those rows.

        A higher score must mean 'more likely positive'. Scores outside [0, 1] are taken for log-odds. Estimators on
        rows take the scores for their only column.
        """
        check_parameters(self)
        name = named(self.name)
        p, u = _score_array(z_labelled, "z_labelled"), _score_array(z_unlabelled, "z_unlabelled")
        if len(p) < 2 or not len(u):
            raise ValueError(
                f"{len(p)} labelled and {len(u)} unlabelled scores; a prior needs at least 2 labelled and 1 unlabelled"
            )
        if name in ON_SCORES and (min(p.min(), u.min()) < 0 or max(p.max(), u.max()) > 1):
            p, u = expit(p), expit(u)
        return self._take(name, p, u, (p, u), len(p), len(u))

    def _take(self: Self, name: str, p: np.ndarray, u: np.ndarray, z: Pair | None, n_p: int, n_u: int) -> Self:
        """Estimate from p and u, which are scores or rows. z: scores. n_p, n_u: counts before any sampling."""
        function, resample = PRIORS[name], bootstrapped if name in ON_SCORES else halved
        if name in ON_ROWS and p.ndim == 1:
            p, u = p[:, None], u[:, None]
        share = inside(function(p, u), n_u)
        low = high = share
        apart = two_sided = None
        if self.bootstrap and z is not None:
            least = least_share(*z, self.level)
            apart = separability(*z, least)
            two_sided = name in SHAPES or (apart > APART and n_p >= FEW)
            if name in INTERVALS:
                ends = INTERVALS[name](p, u, self.level)
                low, high = min(share, ends[0]), max(share, ends[1])
            else:
                again = resample(function, p, u, self.bootstrap, self.random_state)
                low, high = percentile(share, again, self.level)
                low = min(low, least)
        interval = inside(low, n_u), inside(high, n_u)
        _warn_of_few(share, interval, n_p)
        note = _note(name, len(p) + len(u), n_p + n_u, self.bootstrap)
        frequency = n_p / (n_p + share * n_u)
        to_call = inside(CALLS[name](p, u), n_u) if name in CALLS else None
        told = (share, interval, frequency, name, note, self.level, apart, two_sided, to_call, n_p < FEW)
        self.estimate_ = Estimate(*told)
        self.prior_, self.interval_, self.two_sided_ = share, interval, two_sided
        self.label_frequency_, self.name_, self.note_ = frequency, name, note
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
    if x is None and is_frame(X):
        x, _ = encoded(X, s if len(s) == len(X) else None)
    if x is None:
        raise ValueError("the prior is estimated from numbers, but X holds other values; encode X, or give the prior")
    if x.shape[0] != len(s):
        raise ValueError(f"X has {x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    if int(s.sum()) < 2:
        raise ValueError("prior='auto' needs at least 2 labelled positives; give the prior as a number")
    return x, s


def _score_array(z: Any, what: str) -> np.ndarray:
    z = plain_scores(z, what).astype(np.float64)
    if z.ndim != 1 or not np.isfinite(z).all():
        raise ValueError(f"{what} has shape {z.shape} or holds NaN or infinity; give one finite score per row")
    return z


def _taken_from(x: Any, s: np.ndarray, name: str, seed: int) -> Pair:
    """What the estimator takes: scores of labelled and of unlabelled rows, or the rows themselves."""
    return filled_rows(x, s, seed) if name in ON_ROWS else _scores(x, s, seed)


def _scores(x: Any, s: np.ndarray, seed: int) -> Pair:
    """Out-of-fold scores of labelled and of unlabelled rows."""
    key = f"{seed} {_digest(x, s)}"
    if key not in _recent:
        _recent[key] = out_of_fold_scores(x, s, seed)
        while len(_recent) > 64:
            _recent.popitem(last=False)
    return _recent[key]


def _warn_of_few(share: float, interval: tuple[float, float], labelled: int) -> None:
    low, high = interval
    if labelled < FEW:
        ends = f" (between {low:.2g} and {high:.2g})" if low < high else ""
        warnings.warn(
            f"the prior is estimated at {share:.2g}{ends} from {labelled} labelled positives; with fewer than "
            f"{FEW}, an estimate may be wrong by a factor of two or more and is most often too high; give the prior "
            "as a number if you know it, or label more rows",
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
    found = []
    for part in (*parts, s):
        digest = hashlib.sha256()
        for some in in_parts(part):
            digest.update(np.ascontiguousarray(some).data)
        found.append(digest.hexdigest())
    return "".join(found)
