"""Ivanov: DEDPUL, Difference-of-Estimated-Densities-based Positive-Unlabeled Learning, ICMLA 2020. On scores.

    t = logit(1 - z);  f_P, f_U = Gaussian kernel densities of t, with widths 0.1 sd(t_P) and 0.05 sd(t_U)
    r = min(f_P / f_U, 50) at the unlabelled rows, in the order of t
    smoothing: median over +-5 rows;  r made non-increasing where 1 - z <= (mean of 1 - z_U + mean of 1 - z_P) / 2,
               by isotonic regression;   median over +-n_U / 20 rows
    EM on the share a of negatives:  a <- E_U[max(0, 1 - (1 - a) r)] from a = 0,
               until a step is below 1e-5 or no row is surely positive any more;   prior = 1 - a
    without an end in 1,000 rounds:  a = the largest second difference of E_U[max(0, 1 - (1 - a) r)] - a
               on a grid of 0.001, among those where that difference is below 0.05

The densities are binned on a grid and smoothed by FFT, r is sorted once and a round of EM reads prefix sums:
O(n log n). A running maximum instead of the regression would keep the peaks of the noise. Scores are kept 1e-3 away
from 0 and 1, because a forest of some hundred trees cannot tell more.
"""

from __future__ import annotations

import numpy as np

CAP, GRID, EDGE = 50.0, 4096, 1e-3


def dedpul(z_p: np.ndarray, z_u: np.ndarray) -> float:
    """Share of positives by the ratio of the two densities of the scores."""
    return 1 - negatives(density_ratio(z_p, z_u))


def density_ratio(z_p: np.ndarray, z_u: np.ndarray) -> np.ndarray:
    """f_P / f_U at the unlabelled rows, smoothed, the largest first."""
    y_p, y_u = (1 - np.clip(z, EDGE, 1 - EDGE) for z in (z_p, np.sort(z_u)[::-1]))
    t_p, t_u = (np.log(y / (1 - y)) for y in (y_p, y_u))
    low, high = min(t_p.min(), t_u.min()), max(t_p.max(), t_u.max())
    f_p, f_u = _density(t_p, 0.1, low, high, t_u), _density(t_u, 0.05, low, high, t_u)
    r = _rolling_median(np.minimum(f_p / np.maximum(f_u, 1e-300), CAP), 5)
    below = np.searchsorted(y_u, (y_u.mean() + y_p.mean()) / 2, side="right")
    r[:below] = _falling(r[:below])
    return np.sort(_rolling_median(r, len(z_u) // 20))[::-1]


def negatives(r: np.ndarray, tolerance: float = 1e-5, rounds: int = 1000) -> float:
    """The share of negatives by EM, from density ratios at the unlabelled rows, the largest first."""
    n, ascending = len(r), r[::-1]
    sums = np.concatenate([[0.0], np.cumsum(ascending)])

    def mean_negative(a: float) -> float:
        below = int(np.searchsorted(ascending * (1 - a), 1))  # these rows have a posterior above 0
        return (below - (1 - a) * sums[below]) / n

    a = 0.0
    for _ in range(rounds):
        after = mean_negative(a)
        if abs(after - a) < tolerance:
            return a
        a = after
        if (1 - a) * r[0] < 1:
            return a
    grid = np.arange(0, 1, 0.001)
    gap = np.array([mean_negative(one) for one in grid]) - grid
    bend = np.diff(gap, 2)
    return float(grid[1:-1][np.argmax(np.where(gap[1:-1] < 0.05, bend, -np.inf))])


def _density(t: np.ndarray, factor: float, low: float, high: float, at: np.ndarray) -> np.ndarray:
    """A Gaussian kernel density, binned linearly on a grid; its value at `at`."""
    from scipy.signal import fftconvolve

    spread = float(np.std(t, ddof=1)) if len(t) > 1 else 0.0
    width = max(factor * spread, 1e-3)
    low, high = low - 4 * width, high + 4 * width
    step = (high - low) / (GRID - 1)
    place = (t - low) / step
    left = np.minimum(place.astype(np.int64), GRID - 2)
    share = place - left
    mass = np.bincount(left, 1 - share, GRID) + np.bincount(left + 1, share, GRID)
    reach = int(np.ceil(5 * width / step))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    smooth = np.maximum(fftconvolve(mass, kernel / kernel.sum(), mode="same"), 0) / (len(t) * step)
    return np.interp(at, low + step * np.arange(GRID), smooth)


def _falling(values: np.ndarray) -> np.ndarray:
    """The nearest non-increasing sequence in least squares."""
    from sklearn.isotonic import isotonic_regression

    return isotonic_regression(values, increasing=False) if len(values) else values


def _rolling_median(values: np.ndarray, reach: int) -> np.ndarray:
    import pandas as pd

    return pd.Series(values).rolling(2 * reach + 1, center=True, min_periods=1).median().to_numpy(copy=True)
