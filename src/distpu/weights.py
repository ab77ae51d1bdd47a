"""Sample weights: how many rows a row stands for. They are read once, and turned into counts where scores are counted.

`counted` repeats scores as often as their weights say. All that comes after scores (the prior, the cut, calibration)
then needs no weights: whole weights give exactly what repeated rows give.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kinds import from_torch

MOST = 200_000  # scores of one kind after repeating; more rows than that are never dropped
ABLE = ("blend-pu", "dist-pu-boost", "bagging-pu", "elkan-noto", "two-step")  # methods whose fit takes weights
RULE = "a weight is how many rows a row stands for: a number, 0 or more"


def read_weights(sample_weight: Any, rows: int) -> np.ndarray | None:
    """Return one weight per row as float64. None if no weights are given, or if all are 1."""
    if sample_weight is None:
        return None
    sample_weight = from_torch(sample_weight, "sample_weight")
    if np.ma.is_masked(sample_weight):
        raise ValueError(f"sample_weight holds masked values; {RULE}")
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind not in "biufO" or any(isinstance(v, (str, bytes)) for v in given.flat[:1]):
            raise TypeError  # NumPy would make numbers of texts, time spans and complex numbers
        weight = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"sample_weight holds values that are no numbers; {RULE}") from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.shape != (rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}, but X has {rows} rows; give one weight per row")
    for what, bad in (("NaN or infinite", ~np.isfinite(weight)), ("negative", weight < 0)):
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise ValueError(
                f"sample_weight holds {int(bad.sum())} {what} weights, first in row {first} ({weight[first]}); {RULE}"
            )
    if not weight.any():
        raise ValueError(f"sample_weight is zero for every row; {RULE}, and some must be above 0")
    return None if (weight == 1).all() else weight


def counted(z: np.ndarray, s: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return row numbers, each as often as its weight says; the kinds of rows (values of s) are counted apart.

    Weights that are no whole numbers, or sum to more than MOST, give the nearest counts: the share of the numbers below
    any score is right to one number. A kind never has fewer numbers than rows.
    """
    if weight is None:
        return np.arange(len(s))
    parts = [np.empty(0, dtype=np.int64)]
    for kind in np.unique(s):
        rows = np.flatnonzero(s == kind)
        rows = rows[np.argsort(z[rows], kind="stable")]
        upto = np.cumsum(weight[rows])
        n = min(max(len(rows), round(upto[-1])), max(len(rows), MOST))
        at = np.searchsorted(upto, (np.arange(n) + 0.5) * (upto[-1] / n), side="right")
        parts.append(rows[np.minimum(at, len(rows) - 1)])
    return np.concatenate(parts)


def total(weight: np.ndarray | None, which: np.ndarray) -> int:
    """Return how many rows the rows of a mask stand for, at least 1."""
    return int(which.sum()) if weight is None else max(1, round(float(weight[which].sum())))


def refuse(name: str, told: dict[str, Any]) -> None:
    """Refuse arguments of fit that the method does not take, sample_weight above all."""
    if told.pop("sample_weight", None) is not None:
        raise ValueError(f"{name} takes no sample_weight; leave it out, or use one of {', '.join(ABLE)}")
    if told:
        raise TypeError(f"the fit of {name} takes no argument {next(iter(told))!r}")
