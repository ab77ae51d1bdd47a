"""Finds where to cut the scores, and says what a cut should give. PU data alone decide."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit
from scipy.stats import norm

from ..metrics import Metric, precision_and_recall
from .calibration import FAR, Calibration
from .choice import Choice, read_choice
from .held_out import HeldOut, Table

CLOSE = (
    0.005  # a precision this close to the best reachable one counts as the best, so that more than one row is called
)


def cut_at(z: np.ndarray, share: float) -> float:
    """Return the cut that leaves about this share of the log-odds z above it.

    The cut lies halfway between two different values: trees give many rows the same score, and a cut at such a score
    would leave all these rows to rounding. If all rows have one score, the cut gives each the probability `share`.
    """
    values, count = np.unique(z.round(9), return_counts=True)  # means of equal scores may differ in the last bit
    if len(values) < 2:
        return float(values[0] - logit(share))
    above = 1 - np.cumsum(count[:-1]) / len(z)
    i = np.argmin(np.abs(above - share))
    return float((values[i] + values[i + 1]) / 2)


@dataclass(frozen=True)
class Curve:
    """What a cut below each stored score of the unlabelled rows gives, by the calibrated probabilities."""

    rows: np.ndarray  # unlabelled rows called
    precision: np.ndarray  # mean probability of the rows called
    recall: np.ndarray  # their part of the sum of all probabilities

    @classmethod
    def of(cls, held_out: HeldOut, calibration: Calibration) -> Curve:
        table = held_out.unlabelled
        found = np.cumsum(table.sums(calibration)[::-1])[::-1]
        rows = np.array(table.above)
        return cls(rows, found / rows, found / found[0])


def find_cut(choice: Choice | str | float, held_out: HeldOut, prior: float, calibration: Calibration) -> float:
    """Return the cut of a choice, on the scale of the scores: a row is positive where its score is at least the cut."""
    choice = read_choice(choice)
    table = held_out.unlabelled
    if choice.kind == "auto":
        raise ValueError("threshold='auto' is the method's own cut; a method knows it, held-out scores do not")
    if choice.kind == "prior":
        return table.below(int(np.argmin(np.abs(np.array(table.above) / table.rows - prior))))
    if choice.probability is not None:
        return _cut_of_probability(choice.probability, calibration)
    curve = Curve.of(held_out, calibration)
    if choice.kind == "rows":
        return _cut_of_rows(choice, table, held_out.total)
    if choice.kind == "recall":
        return table.below(int(np.flatnonzero(curve.recall >= choice.value - 1e-9)[-1]))
    best = float(curve.precision.max())
    reached = np.flatnonzero(curve.precision >= min(choice.value - 1e-9, best - CLOSE))
    if best < choice.value - CLOSE:
        warnings.warn(
            f"threshold={str(choice)!r} cannot be reached: of the rows of highest score a share of {best:.2f} is "
            f"positive, and the cut is there; ask for a precision up to {best:.2f}, or label more rows",
            UserWarning,
            stacklevel=2,
        )
    return table.below(int(reached[0]))


def _cut_of_probability(p: float, calibration: Calibration) -> float:
    """Return the lowest score whose probability is at least p. The map does not fall, so bisection finds it."""
    low, high = (calibration.center + side * FAR * calibration.spread for side in (-1, 1))
    if calibration(np.array([low]))[0] >= p:
        return low - calibration.spread
    if calibration(np.array([high]))[0] < p:
        return high + calibration.spread
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if calibration(np.array([middle]))[0] >= p else (middle, high)
    return high


def _cut_of_rows(choice: Choice, table: Table, total: int) -> float:
    share = choice.value / total
    few = np.flatnonzero(np.array(table.above) <= share * table.rows + 1e-9)
    if len(few):
        return table.below(int(few[0]))
    if round(share * table.rows) >= 1:
        warnings.warn(
            f"threshold={str(choice)!r} cannot be kept: {round(table.above[-1] * total / table.rows)} rows share "
            "the highest score, and the cut calls them all; look at the first ones of the ranking",
            UserWarning,
            stacklevel=3,
        )
    return table.below(len(table.z) - 1)


@dataclass(frozen=True)
class Expected:
    """What a cut should give on rows like the unlabelled ones, and how sure that is."""

    unlabelled: int
    rows: Metric  # unlabelled rows called
    precision: Metric  # share of positives among them
    recall: Metric  # share of the positives that are called
    hidden: float  # positives among the unlabelled rows
    hidden_interval: tuple[float, float] | None  # None where the prior has no interval

    def __str__(self) -> str:
        hidden = f"about {self.hidden:,.0f} of {self.unlabelled:,} unlabelled rows are positive"
        if self.hidden_interval is not None:
            hidden += " ({:,.0f} to {:,.0f})".format(*self.hidden_interval)
        return f"{hidden}; {self.of_the_cut}"

    @property
    def of_the_cut(self) -> str:
        called = f"the cut should call {self.rows:,.0f} ± {self.rows.error:,.0f} rows"
        right = f"{self.precision:.0%} ± {self.precision.error:.0%} of them right"
        return f"{called}, {right}, and find {self.recall:.0%} ± {self.recall.error:.0%} of the positives"

    def as_json(self) -> dict[str, Any]:
        """Return plain numbers, for a report or a log."""
        pairs = {name: [float(value), value.error] for name in ("rows", "precision", "recall")
                 for value in (getattr(self, name),)}  # fmt: skip
        interval = None if self.hidden_interval is None else list(self.hidden_interval)
        return {"unlabelled": self.unlabelled, **pairs, "hidden": self.hidden, "hidden_interval": interval}


def expected(
    cut: float,
    held_out: HeldOut,
    prior: float,
    calibration: Calibration | None = None,
    interval: tuple[float, float] | None = None,
    level: float = 0.9,
) -> Expected:
    """Say what a cut should give: rows called, precision and recall with standard errors, and hidden positives.

    Precision and recall are sums of calibrated probabilities, or PU metrics of the counts without a calibration. The
    sums err less, above all where few rows are called. Their errors are those of the PU metrics. `interval` is the
    prior's, of the given level: precision and hidden positives are as unsure as it is.
    """
    n_p, n_u = held_out.labelled.rows, held_out.unlabelled.rows
    k_p, k_u = held_out.labelled.at_least(cut), held_out.unlabelled.at_least(cut)
    total = held_out.total
    precision, recall = precision_and_recall(k_p, n_p, k_u, n_u, prior)
    right, found = float(precision), float(recall)
    if calibration is not None:
        p = held_out.unlabelled.sums(calibration)
        of_called = p[np.array(held_out.unlabelled.z) >= cut].sum()
        right, found = of_called / k_u if k_u else 0.0, of_called / p.sum()
    low, high = (prior, prior) if interval is None else interval
    by_prior = right / prior * (high - low) / 2 / norm.ppf((1 + level) / 2)
    drawn = found * (1 - found) / max(1.0, prior * total)  # the positives of these rows are themselves a draw
    share = k_u / n_u
    return Expected(
        total,
        Metric(share * total, total * np.sqrt(max(share * (1 - share), 0.25 / n_u) / n_u)),
        Metric(right, min(0.5, np.hypot(precision.error, by_prior))),
        Metric(found, min(0.5, np.sqrt(recall.error**2 + drawn))),
        prior * total,
        None if interval is None else (low * total, high * total),
    )
