"""KM1 and KM2, on rows. Ramaswamy, Scott, Tewari: Mixture Proportion Estimation via Kernel Embeddings of Distributions,
ICML 2016.

    phi_P, phi_U = kernel means;   d(l) = min over weights v of the rows, v >= 0, sum v = 1, of
                   || l phi_U + (1 - l) phi_P - sum_i v_i phi(x_i) ||
    prior = 1 - 1 / l*,  l* in [1, 8] = where the slope of d first exceeds a threshold (bisection to 0.04, step 0.02)
    KM1: threshold 1 / sqrt(min(n_P, n_U)), and KM2's where that is above 0.9 ||phi_U - phi_P|| or the slope at 1 is
         above it already: no share but 0 could be found then
    KM2: threshold 0.8 slope(1 -> 1.05) + 0.2 ||phi_U - phi_P||

l phi_U + (1 - l) phi_P is the mean of the negatives at l = 1 / (1 - prior); beyond it, it is no mean of any rows. The
kernel is Gaussian; its width is that of median distance * 10^{-1, -1/2, 0, 1/2, 1} with the largest ||phi_U - phi_P||.
That distance is measured without the terms k(x, x): under a narrow kernel every row is alone, these terms are all there
is, the narrow kernel would win by them, and KM1 would return 0.013 on any data. Rows are standardised. The programs are
quadratic in the rows: at most 500 rows are looked at. They are solved by accelerated projected gradients.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .sample import median_distance, sample, squared_distances, standardised

MOST = 500
LARGEST, TOLERANCE, STEP = 8.0, 0.04, 0.02


def km1(p: np.ndarray, u: np.ndarray, seed: int = 0) -> float:
    """Share of positives by kernel means; the threshold falls with the number of rows."""
    d, gap, n = curve(p, u, seed)
    threshold = 1 / np.sqrt(n)
    drowned = threshold > 0.9 * gap or _first_slope(d) > threshold
    return found(d, _second_threshold(d, gap) if drowned else threshold)


def km2(p: np.ndarray, u: np.ndarray, seed: int = 0) -> float:
    """Share of positives by kernel means; the threshold lies between the slope at 1 and that at infinity."""
    d, gap, _ = curve(p, u, seed)
    return found(d, _second_threshold(d, gap))


def _second_threshold(d: Callable[[float], float], gap: float) -> float:
    return 0.8 * _first_slope(d) + 0.2 * gap


def _first_slope(d: Callable[[float], float]) -> float:
    return (d(1.05) - d(1.0)) / 0.05


def found(d: Callable[[float], float], threshold: float) -> float:
    """1 - 1 / l*, by bisection."""
    low, high = 1.0, LARGEST
    while high - low > TOLERANCE:
        middle = (low + high) / 2
        if (d(middle + STEP) - d(middle)) / STEP > threshold:
            high = middle
        else:
            low = middle
    return share_of((low + high) / 2)


def share_of(l: float) -> float:  # noqa: E741
    return 1 - 1 / l


def curve(p: np.ndarray, u: np.ndarray, seed: int) -> tuple[Callable[[float], float], float, int]:
    """d, ||phi_U - phi_P||, and the number of rows of the smaller kind, on a sample of the rows."""
    p, u = standardised(p, u)
    p = sample(p, MOST // 2 if len(u) > MOST // 2 else MOST - len(u), seed)
    u = sample(u, MOST - len(p), seed)
    x = np.concatenate([p, u])
    mean_p, mean_u = np.repeat([1.0 / len(p), 0.0], [len(p), len(u)]), np.repeat([0.0, 1.0 / len(u)], [len(p), len(u)])
    squared, scale, apart = squared_distances(x, x), median_distance(x), mean_u - mean_p
    kernels = [np.exp(-squared / (2 * (scale * 10.0**power) ** 2)) for power in (-1, -0.5, 0, 0.5, 1)]
    kernel = kernels[int(np.argmax([unbiased_gap(kernel, len(p)) for kernel in kernels]))]
    gap = float(np.sqrt(max(0.0, float(apart @ kernel @ apart))))
    lipschitz = float(np.abs(kernel).sum(1).max())
    known: dict[float, float] = {}

    def d(l: float) -> float:  # noqa: E741
        if l not in known:
            target = l * mean_u + (1 - l) * mean_p
            v = nearest_mean(kernel, target, lipschitz)
            known[l] = float(np.sqrt(max(0.0, float((v - target) @ kernel @ (v - target)))))
        return known[l]

    return d, gap, min(len(p), len(u))


def unbiased_gap(kernel: np.ndarray, n: int) -> float:
    """||phi_U - phi_P||^2 without the bias of k(x, x) = 1. The first n rows are labelled. 0 if one kind has one row."""
    m = len(kernel) - n
    if min(n, m) < 2:
        return 0.0
    within = [
        (block.sum() - np.trace(block)) / (len(block) * (len(block) - 1)) for block in (kernel[:n, :n], kernel[n:, n:])
    ]
    return float(sum(within) - 2 * kernel[:n, n:].mean())


def nearest_mean(
    kernel: np.ndarray, target: np.ndarray, lipschitz: float, rounds: int = 1000, enough: float = 1e-7
) -> np.ndarray:
    """Weights on the simplex that minimise (v - target)' K (v - target)."""
    v = ahead = project(target)
    linear, momentum, before = kernel @ target, 1.0, np.inf
    for number in range(rounds):
        new = project(ahead - (kernel @ ahead - linear) / lipschitz)
        if (ahead - new) @ (new - v) > 0:  # the momentum points uphill: start it again
            momentum = 1.0
        after = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / after * (new - v)
        v, momentum = new, after
        if number % 25 == 24:
            now = float((v - target) @ (kernel @ (v - target)))
            if before - now < enough * max(now, 1e-6):
                break
            before = now
    return v


def project(v: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex."""
    falling = np.sort(v)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(falling > excess)[-1]], 0)
