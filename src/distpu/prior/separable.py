"""Can the scores tell positives from negatives? This says whether an interval of the prior has two sides.

    q(c) = share of scores >= c;   r(c) = q_U(c) / q_P(c): no share of positives above r(c) is consistent with cut c
    least = min over cuts with q_P >= 1/4 of  r(c) exp(-z sd),   sd^2 = (1 - q_P) / k_P + 1 / k_U - 1 / n_U
            z = the normal quantile of the level;  k = number of scores >= c
    separability = (A - least / 2) / (1 - least),   A = P(score of a labelled row > score of an unlabelled row)

`least` is the least share that the top of the ranking is consistent with. Where a region holds positives alone, r is
flat there and equals the prior, so `least` is the low end of an interval. Where classes overlap, r falls up to the very
top, and the truth may be anywhere below. `separability` is the area under the ROC curve of positives against negatives
if the prior were `least`: the most careful reading. Above APART the interval has two sides.

tools/bench_prior.py measures how often that is right. APART and the quarter were chosen on its simulated problems.
No indicator sees all: negatives that copy the positives' top scores look like positives in any PU data.
"""

from __future__ import annotations

import numpy as np

APART = 0.9
TOP = 0.25  # a cut with a smaller share of the labelled rows above it is not looked at


def least_share(z_p: np.ndarray, z_u: np.ndarray, level: float) -> float:
    """The least share of positives that the top of the ranking is consistent with."""
    from scipy.special import ndtri

    z_p, z_u = np.sort(z_p), np.sort(z_u)
    n_p, n_u = len(z_p), len(z_u)
    cuts = np.unique(z_p[: n_p - max(1, int(TOP * n_p)) + 1])
    k_p, k_u = n_p - np.searchsorted(z_p, cuts), n_u - np.searchsorted(z_u, cuts)
    sd = np.sqrt((1 - k_p / n_p) / k_p + 1 / np.maximum(k_u, 1) - 1 / n_u)
    ratio = np.maximum(k_u, 0.5) / n_u / (k_p / n_p)
    return float(min(1.0, (ratio * np.exp(-ndtri((1 + level) / 2) * sd)).min()))


def separability(z_p: np.ndarray, z_u: np.ndarray, share: float) -> float:
    """Area under the ROC curve of positives against negatives, if this share of the unlabelled rows is positive."""
    z_u = np.sort(z_u)
    below, not_above = (np.searchsorted(z_u, z_p, side=side).mean() / len(z_u) for side in ("left", "right"))
    area = (below + not_above) / 2  # a tie counts one half
    return float(np.clip((area - share / 2) / max(1 - share, 1 / (1 + len(z_u))), 0, 1))
