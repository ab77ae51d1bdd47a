"""diagnose: what may be wrong with PU data, found without true labels and said in sentences."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import clone

from ..encode import TableEncoder, is_frame
from ..encode.frames import as_pandas
from ..inputs import numbers as as_numbers
from ..inputs import read_labels
from ..kinds import short
from ..metrics import pu_auc, pu_roc_auc
from ..prior import PriorEstimator, inside_unit, is_number
from ..progress import Bar
from . import findings
from .columns import LEVELS, Column, by_source, follows_the_order, runs_in_order, single_columns
from .copies import count_copies
from .curve import Assumed, Point
from .default import at_prior, by_default, by_scores
from .findings import Finding
from .scores import MAX_COLUMNS, MAX_ROWS, boosted, components, dense, fold_of, sampled
from .selective import CANDIDATES, LEAST, TOP, Contrast, contrasts

__all__ = ["Diagnosis", "Finding", "diagnose"]

CAUTIOUS = {"dedpul": 100, "bbe": 0}  # estimators that are nearly always too high, and how often they are bootstrapped
STEPS = 5 + CANDIDATES  # of the progress bar


@dataclass(frozen=True)
class Diagnosis:
    """The result of diagnose."""

    findings: list[Finding]  # the gravest first
    labelled: int
    unlabelled: int
    looked_at: int  # rows; a sample of a large table
    prior: float  # estimated share of positives among the unlabelled rows, as `fit` estimates it
    interval: tuple[float, float]  # its 90 % interval
    two_sided: bool  # whether the interval has two sides; else the estimate is an upper bound
    largest: float  # the largest share that is consistent with the labelled rows, estimated with caution
    given: float | None  # the prior that the user knows
    curve: list[Point]  # the result against the prior that one assumes
    columns: list[Column]  # each column's own power to tell labelled from unlabelled rows, the strongest first
    contrasts: list[Contrast]  # columns in labelled rows and in unlabelled rows that are just as likely
    scores_labelled: np.ndarray  # out-of-fold scores of the labelled rows looked at
    scores_unlabelled: np.ndarray
    by_default: bool = True  # whether the scores, and so the prior, are those of `fit`; else it is the prior of images

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
    encode: Any = "auto",
    random_state: int = 0,
) -> Diagnosis:
    """Look for what may be wrong with PU data, without true labels.

    X, y          as in `fit`; missing values may be NaN; a frame may hold categories, dates and texts
    prior         share of positives among the unlabelled rows, if it is known; the labels are checked against it
    pos_label     the labelled positives' value in y, where y holds other values than 1 and 0, -1, False or missing
    columns       names of the columns; a frame brings its own
    encode        a TableEncoder(...) that says which columns of a frame to drop or to keep
    random_state  seed of the folds, of the models and of the sample

    The prior, the cut and the scores of a table are those of `AutoPU(random_state=...)`. Of more than 20,000 rows a
    sample is looked at in the other checks. `Diagnosis.findings` has the answers, the gravest first.
    """
    if prior is not None and not (is_number(prior) and 0 < prior < 1):
        raise ValueError(f"prior={short(prior)} must lie strictly between 0 and 1")
    x, (s, _) = as_numbers(X), read_labels(y, pos_label)
    table = _Table.of(X, x, columns, encode)
    if table.x.shape[0] != len(s):
        raise ValueError(f"X has {table.x.shape[0]} rows, but y has {len(s)} labels; give one label per row")
    if int(s.sum()) < 2:
        raise ValueError("a diagnosis needs at least 2 labelled positives; label more rows")
    with Bar() as bar:
        return _Diagnosing(table, s, prior, random_state, bar).done()


@dataclass(frozen=True)
class _Table:
    """Rows as numbers, with columns that give the label away: they are what is looked for."""

    X: Any  # as the user has them, for the default method
    x: Any
    names: list[str]  # of the columns of x
    sources: list[str]  # the user's column from which each comes
    encode: Any

    @classmethod
    def of(cls, X: Any, x: Any, columns: Sequence[str] | None, encode: Any) -> _Table:
        X = as_pandas(X) if is_frame(X) else X
        if is_frame(X) and (x is None or isinstance(encode, TableEncoder)):
            made = clone(encode) if isinstance(encode, TableEncoder) else TableEncoder()
            made.set_params(leaks=False).fit(X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the encoder may have learnt from a sample of these rows
                return cls(X, made.transform(X), made.get_feature_names_out().tolist(), made.sources_, encode)
        if x is None:
            raise ValueError("a diagnosis needs numbers, but X holds other values; encode X first")
        names = _names(X, x, columns)
        return cls(X if is_frame(X) else x, x, names, names, encode)

    def without(self, odd: set[str]) -> Any:
        """Return what the default method takes, less these columns of the user's; None if none is left."""
        if is_frame(self.X):
            rest = [name for name in self.X.columns if str(name) not in odd]
            return self.X[rest] if rest else None
        kept = [j for j, name in enumerate(self.sources) if name not in odd]
        return (self.x if self.x.ndim == 2 else dense(self.x))[:, kept] if kept else None


class _Diagnosing:
    """The steps of a diagnosis."""

    def __init__(self, table: _Table, s: np.ndarray, given: float | None, seed: int, bar: Bar):
        self.table, self.s, self.given, self.seed, self.bar = table, s, given, seed, bar
        self._steps = count()

    def _step(self, text: str) -> None:
        self.bar.update("diagnosing", next(self._steps), STEPS, text)

    def done(self) -> Diagnosis:
        table, s, seed = self.table, self.s, self.seed
        labelled, unlabelled = int(s.sum()), int((s == 0).sum())
        self._step("copies")
        same = count_copies(table.x, s)
        rows = sampled(s, MAX_ROWS, seed)
        runs = runs_in_order(s)
        part, t, names = table.x[rows], s[rows], table.names
        sources = dict(zip(table.names, table.sources, strict=True))
        wide = len(names) > MAX_COLUMNS
        if wide:
            small, kept = components(part, seed), _most_different(part, t)
            part, names = dense(part[:, kept] if part.ndim == 2 else dense(part)[:, kept]), [names[j] for j in kept]
        else:
            small = part = dense(part)
        fold = fold_of(small, t, seed)
        self._step("scores out of fold, and the prior")
        scored = by_default(table.X, s, table.encode, None, seed)
        z = boosted(small, t, fold, seed) if scored is None else scored.z[rows]
        own, scored = scored is not None, by_scores(t, z, unlabelled, seed) if scored is None else scored
        share, (low, high) = scored.estimate.prior, scored.estimate.interval or (scored.estimate.prior,) * 2
        self._step("columns one by one")
        alone = single_columns(part, t, fold, names, share, (unlabelled / (t == 0).sum()) / (labelled / t.sum()))
        alone = by_source(alone, sources)
        odd = {column.name for column in alone if column.level != "ok"} - set(scored.left_out)
        learnt = [j for j, name in enumerate(names) if sources[name] not in scored.left_out]
        tested = [names[j] for j in learnt]
        found = contrasts(part[:, learnt], t, fold, tested, seed, self._step) if tested and not wide else []
        self._step("the curve")
        used = share if self.given is None else self.given
        assumed = Assumed(t, z, used, unlabelled)
        called, expected = scored.called, scored.expected
        if self.given is not None:
            called, expected = at_prior(t, z, used, used, unlabelled)
        follow = follows_the_order(part, rows, names) if runs[2] < findings.TOGETHER else []
        reading = "" if scored.estimate.two_sided else scored.estimate.reading
        # Cautious estimators make sure that a given prior above all of them is not due to the estimate.
        largest = inside_unit(max(high, *(_largest(name, z, t, seed) for name in CAUTIOUS)), t)
        listed = [
            findings.selective(found, self.given, largest, _why_not(wide, labelled, len(tested))),
            findings.give_away(alone, self._prior_without(odd) if odd and own else None, share, scored.left_out),
            findings.separable(pu_auc(t, z), pu_roc_auc(t, z, used), used, labelled, unlabelled),
            findings.enough_labelled(labelled, share, low, high),
            findings.copies(same),
            findings.order(*runs, list(dict.fromkeys(sources[name] for name in follow))),
            findings.sensitivity(used, called, expected, None if self.given is not None else (low, high), reading),
        ]
        return Diagnosis(
            findings=sorted(listed, key=lambda one: -LEVELS.index(one.level)),
            labelled=labelled,
            unlabelled=unlabelled,
            looked_at=len(rows),
            prior=share,
            interval=(low, high),
            two_sided=bool(scored.estimate.two_sided),
            largest=largest,
            given=self.given,
            curve=assumed.curve(min(low, used), max(high, used)),
            columns=alone,
            contrasts=found,
            scores_labelled=z[t == 1],
            scores_unlabelled=z[t == 0],
            by_default=own,
        )

    def _prior_without(self, odd: set[str]) -> float | None:
        """Return the prior without the suspicious columns; None where no other column varies."""
        rest = self.table.without(odd)
        try:
            found = None if rest is None else by_default(rest, self.s, "auto", None, self.seed)
        except ValueError:  # what is left is constant, or all rows are equal
            return None
        return None if found is None else found.estimate.prior


def _largest(name: str, z: np.ndarray, s: np.ndarray, seed: int) -> float:
    """Return the share that a cautious estimator finds, or the upper end of its interval."""
    p = 1 / (1 + np.exp(-np.clip(z, -500, 500)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few labelled rows are a finding of their own
        found = PriorEstimator(name, bootstrap=CAUTIOUS[name], random_state=seed).fit_scores(p[s == 1], p[s == 0])
    return found.interval_[1]


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
