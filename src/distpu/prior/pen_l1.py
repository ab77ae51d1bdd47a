"""Pen-L1, on rows. Du Plessis, Niu, Sugiyama: Class-prior Estimation for Learning from Positive and Unlabeled Data,
ACML 2015.

    k = Gaussian kernels around at most 300 unlabelled rows
    beta(prior) = prior E_P[k] - E_U[k],   a = max(0, beta) / lambda
    prior = argmin  a' beta - prior + 1        over 0.01, 0.02, ..., 0.99: a penalised L1 distance

Width and lambda, for each prior: the least -a' beta, a of four folds and beta of the fifth. Rows are standardised. The
penalty forbids prior p_P to exceed p_U, which PE allows. The estimate moves in steps of 0.01 and is unsteady in many
dimensions. At most 2,000 rows of each kind are looked at.
"""

from __future__ import annotations

import numpy as np

from .sample import median_distance, sample, squared_distances, standardised

MOST, CENTRES, FOLDS = 2_000, 300, 5
GRID = np.arange(1, 100) / 100
WIDTHS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5)  # times the median distance
LAMBDAS = (1e-3, 1e-2, 1e-1, 1.0)


def pen_l1(p: np.ndarray, u: np.ndarray, seed: int = 0) -> float:
    """Share of positives by a partial match of the densities in penalised L1 distance."""
    p, u = standardised(p, u)
    p, u = sample(p, MOST, seed), sample(u, MOST, seed)
    centres = u[:CENTRES]
    scale = median_distance(centres)
    d_p, d_u = squared_distances(p, centres), squared_distances(u, centres)
    n = min(FOLDS, len(p), len(u))
    f_p, f_u = np.arange(len(p)) % n, np.arange(len(u)) % n
    best, value = np.full(len(GRID), np.inf), np.full(len(GRID), np.inf)
    for width in WIDTHS:
        k_p, k_u = (np.exp(-d / (2 * (width * scale) ** 2)) for d in (d_p, d_u))
        kept = [_beta(k_p[f_p != k].mean(0), k_u[f_u != k].mean(0)) for k in range(n)] if n > 1 else []
        held = [_beta(k_p[f_p == k].mean(0), k_u[f_u == k].mean(0)) for k in range(n)] if n > 1 else []
        gain = sum((np.maximum(0, a) * b).sum(1) for a, b in zip(kept, held, strict=True)) / n
        whole = _beta(k_p.mean(0), k_u.mean(0))
        for weight in LAMBDAS:
            better = -gain / weight < best
            best = np.where(better, -gain / weight, best)
            value = np.where(better, distance(whole, GRID, weight), value)
    return float(GRID[np.argmin(value)])


def _beta(mean_p: np.ndarray, mean_u: np.ndarray) -> np.ndarray:
    return GRID[:, None] * mean_p - mean_u


def distance(beta: np.ndarray, prior: np.ndarray | float, weight: float) -> np.ndarray:
    """a' beta - prior + 1, for each row of beta."""
    return (np.maximum(0, beta) / weight * beta).sum(-1) - prior + 1
