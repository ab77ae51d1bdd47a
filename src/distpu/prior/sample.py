"""Rows for the estimators that look at features: plain numbers, and a sample that does not depend on their order."""

from __future__ import annotations

import numpy as np


def table(rows: np.ndarray) -> np.ndarray:
    """Rows as a table of float64: scores, or any one number per row, become one column."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows.reshape(len(rows), -1)


def standardised(p: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both tables with mean 0 and deviation 1 in every column, as measured on both together; constant columns are 0."""
    both = np.concatenate([table(p), table(u)])
    spread = both.std(0)
    both = (both - both.mean(0)) / np.where(spread > 0, spread, 1)
    return both[: len(p)], both[len(p) :]


def sample(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    """At most so many rows, in a random order that depends on the rows and the seed but not on how they were sorted."""
    rows = rows[np.lexsort(rows.T[::-1])]
    return rows[np.random.default_rng(seed).permutation(len(rows))[:most]]


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.maximum((a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T, 0)


def median_distance(rows: np.ndarray) -> float:
    """The median distance of two of the rows; 1 where all are equal."""
    squared = squared_distances(rows, rows)[np.triu_indices(len(rows), 1)]
    squared = squared[squared > 0]
    return float(np.sqrt(np.median(squared))) if len(squared) else 1.0
