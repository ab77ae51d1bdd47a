"""Curves of an answer, from held-out scores: where the rows score, what each cut gives, what another prior changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..threshold import cross_calibrated, expected, reliability

if TYPE_CHECKING:
    from ..threshold.cut import Expected
    from ..threshold.fitted_cut import FittedCut
    from ..threshold.held_out import Table

BINS, POINTS, PRIORS = 44, 160, 9
CLOSE = 0.01  # points of the curve that are nearer to the cut of today, as a share of its rows, are left out
FURTHER = 3.0  # the curve ends at so many times the expected number of positives, or the rows called
MOST = 20_000  # scores that the reliability is measured on


def histogram(cut: FittedCut | None, labelled: np.ndarray, unlabelled: np.ndarray) -> dict[str, Any]:
    """Count rows by score: held-out scores where there are any, else those of the rows trained on.

    A row is called positive from 0 on, as in scores.csv.
    """
    if cut is not None:
        labelled, unlabelled = (scores(table) - cut.at for table in (cut.held_out.labelled, cut.held_out.unlabelled))
    both = np.concatenate([labelled, unlabelled])
    low, high = np.quantile(both, [0.002, 0.998])
    low, high = min(low, 0.0), max(high, 0.0)
    low, high = (low, high) if high > low else (low - 1, high + 1)
    edges = np.linspace(low, high, BINS + 1)
    counts = [np.histogram(np.clip(z, low, high), edges)[0].tolist() for z in (labelled, unlabelled)]
    return {"held_out": cut is not None, "edges": edges.tolist(), "labelled": counts[0], "unlabelled": counts[1]}


def scores(table: Table, most: int | None = None) -> np.ndarray:
    """Return the scores that a table stands for; of many rows, evenly spaced ones."""
    count = -np.diff([*table.above, 0])
    z = np.repeat(np.array(table.z), count)
    return z if most is None or len(z) <= most else z[np.linspace(0, len(z) - 1, most).round().astype(int)]


def cuts_of(
    cut: FittedCut, interval: tuple[float, float] | None, called: int, p: np.ndarray | None = None
) -> list[dict[str, float]]:
    """Return what each of many cuts gives, by held-out rows, from few rows called to many.

    p  probabilities of the unlabelled rows, likeliest first, if these are the held-out rows themselves. The cut of
       today then calls `called` rows: the same count as in scores.csv, which a table of held-out scores has nearly.
    """
    table, total = cut.held_out.unlabelled, cut.held_out.total
    above = np.array(table.above) * total / table.rows
    points = []
    for i in _spread(above, cut.prior * total, called, total):
        given = expected(table.below(i), cut.held_out, cut.prior, cut.calibration, interval)
        rows = round(float(above[i]))
        least = float(cut.calibration(np.array([table.z[i]]))[0]) if p is None else float(p[min(rows, len(p)) - 1])
        points.append(_point(rows, least, given))
    if p is None or not called:
        return points
    now = _point(called, float(p[called - 1]), cut.expected(interval))
    others = [one for one in points if abs(one["rows"] - called) > CLOSE * called]
    return sorted([*others, now], key=lambda one: one["rows"])


def _point(rows: int, least: float, given: Expected) -> dict[str, float]:
    return {
        "rows": rows,
        "probability": least,
        "precision": float(given.precision),
        "precision_error": given.precision.error,
        "recall": float(given.recall),
        "recall_error": given.recall.error,
    }


def cuts_by_probability(p: np.ndarray, called: int) -> list[dict[str, float]]:
    """As `cuts_of` from a model's own probabilities of the unlabelled rows, likeliest first; nothing checks them."""
    found, total = np.cumsum(p), len(p)
    above = np.arange(total, 0, -1).astype(float)
    points = []
    for i in _spread(above, float(found[-1]), called, total):
        n = total - i
        right = float(found[n - 1])
        given = {"rows": n, "probability": float(p[n - 1]), "precision": right / n, "recall": right / float(found[-1])}
        points.append({**given, "precision_error": 0.0, "recall_error": 0.0})
    return points


def _spread(above: np.ndarray, hidden: float, called: int, total: int) -> list[int]:
    """Return places of `above`, which falls: even steps of rows, finer ones at the top, and the rows called now."""
    most = min(float(total), max(10.0, FURTHER * max(hidden, called)))
    goals = np.concatenate([np.linspace(1, most, POINTS // 2), np.geomspace(1, most, POINTS // 2), [max(1, called)]])
    places = len(above) - 1 - np.searchsorted(above[::-1], goals)
    return np.unique(np.clip(places, 0, len(above) - 1))[::-1].tolist()


def reliable(cut: FittedCut) -> dict[str, float]:
    """Return how far the probabilities are off on rows that their map has not seen, with the standard error."""
    z_p, z_u = (scores(table, MOST) for table in (cut.held_out.labelled, cut.held_out.unlabelled))
    found = reliability(*cross_calibrated(z_p, z_u, cut.prior), cut.prior)
    return {"off": float(found), "error": found.error}


def other_priors(cut: FittedCut, interval: tuple[float, float] | None) -> list[dict[str, float]]:
    """Return what follows if another prior is the truth: hidden positives, and how many of today's calls are right.

    Labelled rows tell the recall of a cut, whatever the prior is. So the precision changes as the prior does.
    """
    total, today = cut.held_out.total, cut.expected(interval)
    low, high = interval or (cut.prior / 2, min(0.9, cut.prior * 1.5))
    ends = max(1 / (1 + total), low / 1.5), min(0.98, max(high, cut.prior) * 1.5)
    others = [prior for prior in np.geomspace(*ends, PRIORS - 1).tolist() if not 0.95 < prior / cut.prior < 1.05]
    by_count = {round(prior * total): prior for prior in [*others, cut.prior]}
    return [
        {
            "prior": prior,
            "hidden": prior * total,
            "right": min(1.0, float(today.precision) * prior / cut.prior),
        }
        for prior in sorted(by_count.values())  # a line for each number of positives: a small table has few
    ]
