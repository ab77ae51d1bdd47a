"""Finds where to cut the scores."""

from __future__ import annotations

import numpy as np
from scipy.special import logit


def cut_at(z: np.ndarray, share: float) -> float:
    """Return the cut that leaves about this share of the log-odds z above it.

    The cut lies halfway between two different values: trees give many rows the same score, and a cut at such a score
    would leave all these rows to rounding. If all rows have one score, the cut gives each the probability `share`.
    """
    values, count = np.unique(z.round(9), return_counts=True)  # means of equal scores may differ in the last bit
    if len(values) < 2:
        return float(values[0] - logit(share))
    above = 1 - np.cumsum(count[:-1]) / len(z)
    i = np.argmin(np.abs(above - share))
    return float((values[i] + values[i + 1]) / 2)
