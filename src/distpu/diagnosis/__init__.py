"""diagnose: what may be wrong with PU data, found without true labels and said in sentences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import numpy as np

from ..encode import encoded, is_frame
from ..inputs import numbers as as_numbers
from ..inputs import read_labels
from ..metrics import pu_auc, pu_roc_auc
from ..prior import ON_SCORES, Estimate, PriorEstimator, inside_unit
from ..progress import Bar
from . import findings
from .columns import LEVELS, Column, follows_the_order, runs_in_order, single_columns
from .copies import count_copies
from .curve import Assumed, Point
from .findings import Finding
from .scores import MAX_COLUMNS, MAX_ROWS, boosted, components, dense, fold_of, sampled
from .selective import CANDIDATES, LEAST, TOP, Contrast, contrasts

__all__ = ["Diagnosis", "Finding", "diagnose"]

ESTIMATOR, CAUTIOUS, BOOTSTRAP = "dedpul", "bbe", 100
STEPS = 5 + CANDIDATES  # of the progress bar


@dataclass(frozen=True)
class Diagnosis:
    """The result of diagnose."""

    findings: list[Finding]  # the gravest first
    labelled: int
    unlabelled: int
    looked_at: int  # rows; a sample of a large table
    prior: float  # estimated share of positives among the unlabelled rows
    interval: tuple[float, float]  # its 90 % interval
    two_sided: bool  # whether the interval has two sides; else the estimate is an upper bound
    largest: float  # the largest share that is consistent with the labelled rows, estimated with caution
    given: float | None  # the prior that the user knows
    curve: list[Point]  # the result against the prior that one assumes
    columns: list[Column]  # each column's own power to tell labelled from unlabelled rows, the strongest first
    contrasts: list[Contrast]  # columns in labelled rows and in unlabelled rows that are just as likely
    scores_labelled: np.ndarray  # out-of-fold scores of the labelled rows looked at; above 0: rather like labelled rows
    scores_unlabelled: np.ndarray

    @property
    def level(self) -> str:
        """The gravest level of all findings."""
        return max((one.level for one in self.findings), key=LEVELS.index)

    def finding(self, name: str) -> Finding:
        """The finding of that name."""
        return next(one for one in self.findings if one.name == name)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the scores, as plain values for JSON."""
        plain = asdict(self)
        del plain["scores_labelled"], plain["scores_unlabelled"]
        return {"level": self.level, **plain}


def diagnose(
    X: Any,
    y: Any,
    *,
    prior: float | None = None,
    pos_label: Any = None,
    columns: Sequence[str] | None = None,
    random_state: int = 0,
) -> Diagnosis:
    """Look for what may be wrong with PU data, without true labels.

    X, y          as in `fit`; missing values may be NaN; a frame may hold categories, dates and texts
    prior         share of positives among the unlabelled rows, if it is known; the labels are checked against it
    pos_label     the labelled positives' value in y, where y holds other values than 1 and 0, -1, False or missing
    columns       names of the columns; a frame brings its own
    random_state  seed of the folds, of the trees and of the sample

    Of more than 20,000 rows a sample is looked at. `Diagnosis.findings` has the answers, the gravest first.
    """
    if prior is not None and not 0 < prior < 1:
        raise ValueError(f"prior={prior} must lie strictly between 0 and 1")
    x, (s, _) = as_numbers(X), read_labels(y, pos_label)
    if x is None and is_frame(X):
        x, columns = encoded(X)  # with columns that give the label away: they are what is looked for
    if x is None:
        raise ValueError("a diagnosis needs numbers, but X holds other values; encode X first")
    if x.shape[0] != len(s):
        raise ValueError(f"X has {x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    if int(s.sum()) < 2:
        raise ValueError("a diagnosis needs at least 2 labelled positives; label more rows")
    names = _names(X, x, columns)
    with Bar() as bar:
        return _diagnosed(x, s, names, prior, random_state, bar)


def _diagnosed(x: Any, s: np.ndarray, names: list[str], given: float | None, seed: int, bar: Bar) -> Diagnosis:
    steps = count()

    def step(text: str) -> None:
        bar.update("diagnosing", next(steps), STEPS, text)

    labelled, unlabelled = int(s.sum()), int((s == 0).sum())
    step("copies")
    same = count_copies(x, s)
    rows = sampled(s, MAX_ROWS, seed)
    runs = runs_in_order(s)
    part, t = x[rows], s[rows]
    wide = len(names) > MAX_COLUMNS
    step("scores out of fold")
    if wide:
        table, kept = components(part, seed), _most_different(part, t)
        part, names = dense(part[:, kept] if part.ndim == 2 else dense(part)[:, kept]), [names[j] for j in kept]
    else:
        table = part = dense(part)
    fold = fold_of(table, t, seed)
    z = boosted(table, t, fold, seed)
    step("the prior")
    estimate = _estimate(z, t, seed)
    share, (low, high) = estimate.prior, estimate.interval or (estimate.prior, estimate.prior)
    # The second estimator is nearly always too high, so that a given prior above both is not due to the estimate.
    largest = inside_unit(max(high, ON_SCORES[CAUTIOUS](*_pair(z, t))), t)
    step("columns one by one")
    alone = single_columns(part, t, fold, names, share, (unlabelled / (t == 0).sum()) / (labelled / t.sum()))
    odd = {c.name for c in alone if c.level != "ok"}
    without = _prior_without(part, t, fold, names, odd, seed) if odd and not wide else None
    found = [] if wide else contrasts(part, t, fold, names, seed, step)
    step("the curve")
    used = share if given is None else given
    assumed = Assumed(t, z, used, unlabelled)
    at, below, above = (assumed.at(one) for one in (used, low, high))
    listed = [
        findings.selective(found, given, largest, _why_not(wide, labelled, len(names))),
        findings.give_away(alone, without, share),
        findings.separable(pu_auc(t, z), pu_roc_auc(t, z, used), used, labelled, unlabelled),
        findings.enough_labelled(labelled, share, low, high),
        findings.copies(same),
        findings.order(*runs, follows_the_order(part, rows, names) if runs[2] < findings.TOGETHER else []),
        findings.sensitivity(at, below, above, given is not None, "" if estimate.two_sided else estimate.reading),
    ]
    return Diagnosis(
        findings=sorted(listed, key=lambda one: -LEVELS.index(one.level)),
        labelled=labelled,
        unlabelled=unlabelled,
        looked_at=len(rows),
        prior=share,
        interval=(low, high),
        two_sided=bool(estimate.two_sided),
        largest=largest,
        given=given,
        curve=assumed.curve(min(low, used), max(high, used)),
        columns=alone,
        contrasts=found,
        scores_labelled=z[t == 1],
        scores_unlabelled=z[t == 0],
    )


def _estimate(z: np.ndarray, s: np.ndarray, seed: int, bootstrap: int = BOOTSTRAP) -> Estimate:
    """The share of positives among the unlabelled rows, from scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few labelled rows are a finding of their own
        return PriorEstimator(ESTIMATOR, bootstrap=bootstrap, random_state=seed).fit_scores(*_pair(z, s)).estimate_


def _pair(z: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of labelled and of unlabelled rows, between 0 and 1."""
    p = 1 / (1 + np.exp(-z))
    return p[s == 1], p[s == 0]


def _prior_without(
    x: np.ndarray, s: np.ndarray, fold: np.ndarray, names: list[str], odd: set[str], seed: int
) -> float | None:
    """The prior without the suspicious columns; None where no other column varies."""
    rest = [j for j, name in enumerate(names) if name not in odd and np.nanstd(x[:, j]) > 0]
    if not rest:
        return None
    return _estimate(boosted(np.ascontiguousarray(x[:, rest]), s, fold, seed), s, seed, bootstrap=0).prior


def _why_not(wide: bool, labelled: int, columns: int) -> str:
    if wide:
        return f"the table has more than {MAX_COLUMNS} columns"
    if columns < 2:
        return "there is no other column"
    if TOP * labelled < LEAST:
        return f"{labelled} labelled rows are too few ({round(LEAST / TOP)} are needed)"
    return "without a column, the others separate positives and negatives too little"


def _most_different(x: Any, s: np.ndarray) -> np.ndarray:
    """The columns of a wide table whose means differ most between labelled and unlabelled rows."""
    if not hasattr(x, "indptr"):
        x = np.nan_to_num(dense(x))
    p, u = (np.asarray(x[s == kind].mean(axis=0)).ravel() for kind in (1, 0))
    square = x.multiply(x) if hasattr(x, "indptr") else x**2
    spread = np.sqrt(np.maximum(np.asarray(square.mean(axis=0)).ravel() - np.asarray(x.mean(axis=0)).ravel() ** 2, 0))
    return np.sort(np.argsort(-np.abs(p - u) / np.where(spread > 0, spread, np.inf), kind="stable")[:MAX_COLUMNS])


def _names(X: Any, x: Any, columns: Sequence[str] | None) -> list[str]:
    count = int(np.prod(x.shape[1:]))
    given = columns if columns is not None else getattr(X, "columns", None)
    if given is None or x.ndim > 2:
        return [f"column {j}" for j in range(count)]
    if len(given) != count:
        raise ValueError(f"X has {count} columns, but {len(given)} names are given; give one name per column")
    return [str(name) for name in given]
