"""How sure an estimate is: it is made again on resampled scores or rows.

Scores are drawn with replacement, labelled and unlabelled ones apart (bootstrap). The forest is fitted once: the
interval has the chance of the draw in it, not that of the forest. Rows are not drawn twice, because two copies of a row
would be on both sides of a cross-validation; random halves of them are taken instead. A half deviates from the whole
as the whole deviates from the truth, so that both give the interval in the same way.

The interval is the middle of the resampled estimates. Its low end goes down to the least share that the top scores are
consistent with (separable.py): an estimator's own resamples know nothing of its bias, and all of them are biased up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .sample import sample

MOST_HALVES = 10  # KM takes a second for one


def bootstrapped(
    function: Callable[[np.ndarray, np.ndarray], float], z_p: np.ndarray, z_u: np.ndarray, times: int, seed: int
) -> np.ndarray:
    """The estimate on scores drawn with replacement. The scores are sorted first: their order must not matter."""
    random, z_p, z_u = np.random.default_rng(seed), np.sort(z_p), np.sort(z_u)
    draws = ((random.integers(0, len(z_p), len(z_p)), random.integers(0, len(z_u), len(z_u))) for _ in range(times))
    return np.array([function(z_p[i], z_u[j]) for i, j in draws])


def halved(
    function: Callable[[np.ndarray, np.ndarray], float], p: np.ndarray, u: np.ndarray, times: int, seed: int
) -> np.ndarray:
    """The estimate on random halves of the rows; at least 2 rows of each kind."""
    random = np.random.default_rng(seed)
    halves = [(sample(p, max(2, len(p) // 2), k), sample(u, max(2, len(u) // 2), k))
              for k in random.integers(0, 2**31, min(times, MOST_HALVES)).tolist()]  # fmt: skip
    return np.array([function(*half) for half in halves])


def percentile(point: float, values: np.ndarray, level: float) -> tuple[float, float]:
    """The middle `level` of the values; the estimate itself always lies inside."""
    if not len(values):
        return point, point
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(min(low, point)), float(max(high, point))
