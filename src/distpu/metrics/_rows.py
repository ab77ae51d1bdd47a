"""Holds what the metrics without negatives share: the number they return, their checks, their standard error."""

from __future__ import annotations

import numpy as np

from ..kinds import plain_scores

SCENARIOS = ("case-control", "single-set")


class Metric(float):
    """A number with its standard error: `found = pu_f1(s, z, 0.3)`, then `found` and `found.error`."""

    __slots__ = ("error",)
    error: float

    def __new__(cls, value: float, error: float) -> Metric:
        made = super().__new__(cls, value)
        made.error = float(error)
        return made

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]  # pickle and copy call it
        return float(self), self.error


def rows(s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores as arrays, or say what is wrong with them."""
    s, z = plain_scores(s, "s"), plain_scores(z, "z")
    if s.ndim != 1 or s.shape != z.shape:
        raise ValueError(f"s has shape {s.shape} and z has {z.shape}; give one PU label and one score per row")
    if not np.isin(s, (0, 1)).all():
        raise ValueError("s holds other values than 0 and 1; use 1 for labelled positives and 0 for unlabelled rows")
    if not (s == 1).any() or (s == 1).all():
        lacks = "labelled (1)" if not (s == 1).any() else "unlabelled (0)"
        raise ValueError(f"s has no {lacks} row; a metric without negatives needs rows of both kinds")
    if np.isnan(z).any():
        raise ValueError(f"z holds {int(np.isnan(z).sum())} NaN; give a score for every row")
    return s, z


def share(prior: float) -> float:
    """Return the prior, or refuse one outside (0, 1)."""
    if not 0 < prior < 1:
        raise ValueError(
            f"prior={prior} must lie strictly between 0 and 1: the share of positives among the unlabelled rows"
        )
    return float(prior)


def population(s: np.ndarray, prior: float, scenario: str) -> tuple[float, float]:
    """Return the share of positives in the population, and the share of labelled rows in it."""
    if scenario not in SCENARIOS:
        raise ValueError(f"scenario={scenario!r} is not known; use one of {', '.join(map(repr, SCENARIOS))}")
    if scenario == "case-control":
        return prior, 0.0
    w = float((s == 1).mean())
    return w + (1 - w) * prior, w


def standard_error(
    labelled: np.ndarray, unlabelled: np.ndarray, half: float, by_w: float = 0.0, w: float = 0.0
) -> float:
    """Return the error of the mean over labelled plus the mean over unlabelled rows, at most half the range.

    by_w is the slope by w, the share of labelled rows, which chance decides in a single set.
    One row tells nothing about the spread: the error is half the range then.
    """
    if min(len(labelled), len(unlabelled)) < 2:
        return half
    counts = by_w**2 * w * (1 - w) / (len(labelled) + len(unlabelled))
    return float(min(half, np.sqrt(labelled.var() / len(labelled) + unlabelled.var() / len(unlabelled) + counts)))
