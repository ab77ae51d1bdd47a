"""Best bin estimation (Garg et al., NeurIPS 2021)."""

from __future__ import annotations

import math

import numpy as np


def bbe(z_p: np.ndarray, z_u: np.ndarray, delta: float = 0.1, gamma: float = 0.01) -> float:
    """Best bin estimation (Garg et al., NeurIPS 2021).

    q(c) = share of scores >= c;  eps = sqrt(ln(4/delta) / 2 n_P) + sqrt(ln(4/delta) / 2 n_U)
    c^ = argmin_c [q_U(c) + (1 + gamma) eps] / q_P(c);   prior = q_U(c^) / q_P(c^)
    """
    z_p, z_u = np.sort(z_p), np.sort(z_u)
    eps = sum(math.sqrt(math.log(4 / delta) / (2 * len(z))) for z in (z_p, z_u))
    cuts = np.unique(np.concatenate([z_p, z_u]))
    cuts = cuts[cuts <= z_p[-1]]  # above the highest z_p, q_P is 0
    q_p = 1 - np.searchsorted(z_p, cuts) / len(z_p)
    q_u = 1 - np.searchsorted(z_u, cuts) / len(z_u)
    best = np.argmin((q_u + (1 + gamma) * eps) / q_p)
    return float(np.clip(q_u[best] / q_p[best], 0, 1))
