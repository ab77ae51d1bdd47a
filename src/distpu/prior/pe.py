"""PE: du Plessis and Sugiyama, Class Prior Estimation from Positive and Unlabeled Data, IEICE 2014. On rows.

    density ratio p_P / p_U ~ alpha' phi(x), phi = Gaussian kernels around rows of both kinds
    h = E_P[phi],  G = E_U[phi phi'],  A = G + lambda I
    prior = 1 / (2 h' A^-1 h - h' A^-1 G A^-1 h)            the minimiser of the Pearson divergence

Width and lambda: the least 1/2 alpha' G alpha - h' alpha on held-out rows, alpha = A^-1 h, 5 folds. Rows are
standardised. The match is partial, as if no negative lay under the positives, so the estimate is too large where
classes overlap. At most 2,000 rows of each kind are looked at, with 100 centres.
"""

from __future__ import annotations

import numpy as np

from .sample import median_distance, sample, squared_distances, standardised

MOST, CENTRES, FOLDS = 2_000, 100, 5
WIDTHS = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5)  # times the median distance
LAMBDAS = (1e-3, 1e-2, 1e-1, 1.0)

Moments = tuple[np.ndarray, np.ndarray]  # h, G


def pe(p: np.ndarray, u: np.ndarray, seed: int = 0) -> float:
    """Share of positives by a partial match of the densities in Pearson divergence."""
    p, u = standardised(p, u)
    p, u = sample(p, MOST, seed), sample(u, MOST, seed)
    centres = np.concatenate([p[: CENTRES // 2], u[: CENTRES - min(len(p), CENTRES // 2)]])
    scale = median_distance(centres)
    d_p, d_u = squared_distances(p, centres), squared_distances(u, centres)
    best = (np.inf, 1.0, 1.0)
    for width in WIDTHS:
        k_p, k_u = (np.exp(-d / (2 * (width * scale) ** 2)) for d in (d_p, d_u))
        folds = _fold_moments(k_p, k_u)
        for weight in LAMBDAS:
            risk = np.mean([_risk(kept, held, weight) for kept, held in folds])
            best = min(best, (float(risk), width, weight))
    _, width, weight = best
    k_p, k_u = (np.exp(-d / (2 * (width * scale) ** 2)) for d in (d_p, d_u))
    return float(np.clip(matched(k_p.mean(0), k_u.T @ k_u / len(k_u), weight), 0, 1))


def matched(h: np.ndarray, G: np.ndarray, weight: float) -> float:
    """1 / (2 h' A^-1 h - h' A^-1 G A^-1 h). It may exceed 1 where the ratio is badly fitted."""
    alpha = np.linalg.solve(G + weight * np.eye(len(h)), h)
    found = 2 * h @ alpha - alpha @ G @ alpha
    return float(1 / found) if found > 0 else np.inf


def _fold_moments(k_p: np.ndarray, k_u: np.ndarray) -> list[tuple[Moments, Moments]]:
    """(h, G) of the rows outside each fold, and of those inside."""
    n = min(FOLDS, len(k_p), len(k_u))
    if n < 2:
        return []
    f_p, f_u = np.arange(len(k_p)) % n, np.arange(len(k_u)) % n
    pairs = []
    for k in range(n):
        both = [(k_p[f_p != k], k_u[f_u != k]), (k_p[f_p == k], k_u[f_u == k])]
        kept, held = ((a.mean(0), b.T @ b / len(b)) for a, b in both)
        pairs.append((kept, held))
    return pairs


def _risk(kept: Moments, held: Moments, weight: float) -> float:
    (h, G), (h_held, G_held) = kept, held
    alpha = np.linalg.solve(G + weight * np.eye(len(h)), h)
    return float(alpha @ G_held @ alpha / 2 - h_held @ alpha)
