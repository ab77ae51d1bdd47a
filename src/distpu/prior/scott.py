"""The slope of the ROC at its end. Scott: A Rate of Convergence for Mixture Proportion Estimation, with Application to
Learning from Noisy Labels, AISTATS 2015.

    q(c) = share of scores >= c;  eps_P = sqrt(ln(4/delta) / 2 n_P);  eps_U = sqrt(ln(4/delta) / 2 n_U)
    prior = min_c [q_U(c) + eps_U] / [q_P(c) - eps_P]        over the cuts with q_P(c) > eps_P

The bound holds for all cuts at once with probability 1 - delta, so the estimate is too large by design.
"""

from __future__ import annotations

import math

import numpy as np


def scott(z_p: np.ndarray, z_u: np.ndarray, delta: float = 0.1) -> float:
    """The smallest upper confidence bound of q_U / q_P over all cuts."""
    z_p, z_u = np.sort(z_p), np.sort(z_u)
    eps_p, eps_u = (math.sqrt(math.log(4 / delta) / (2 * len(z))) for z in (z_p, z_u))
    cuts = np.unique(np.concatenate([z_p, z_u]))
    q_p = 1 - np.searchsorted(z_p, cuts) / len(z_p)
    q_u = 1 - np.searchsorted(z_u, cuts) / len(z_u)
    usable = q_p > eps_p
    if not usable.any():  # with one labelled row the bound says nothing
        return 1.0
    return float(np.clip(((q_u + eps_u)[usable] / (q_p - eps_p)[usable]).min(), 0, 1))
