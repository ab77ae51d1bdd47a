"""Where to cut the scores."""

from __future__ import annotations

import numpy as np
from scipy.special import logit


def cut_at(z: np.ndarray, share: float) -> float:
    """The cut that leaves about this share of the log-odds above it, halfway between two different values.

    Trees give many rows one score, and a cut on such a score would take all of them or none: hence halfway. Where all
    rows have one score, the cut gives each of them the probability `share`.
    """
    values, count = np.unique(z.round(9), return_counts=True)  # means of equal scores differ in their last bit
    if len(values) < 2:
        return float(values[0] - logit(share))
    above = 1 - np.cumsum(count[:-1]) / len(z)
    i = np.argmin(np.abs(above - share))
    return float((values[i] + values[i + 1]) / 2)
