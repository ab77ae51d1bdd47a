"""The estimators of the prior by name: PRIORS is a dict you can read. AUTO is the one that prior="auto" takes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..params import near
from . import km, pe, pen_l1, tice
from .bbe import bbe
from .binormal import binormal, credible, share_to_call
from .dedpul import dedpul
from .elkan_noto import elkan_noto
from .scott import scott

PriorFunction = Callable[[np.ndarray, np.ndarray], float]  # (labelled, unlabelled) -> share of the unlabelled

ON_SCORES: dict[str, PriorFunction] = {  # (scores of labelled rows, scores of unlabelled rows), out of fold
    "bbe": bbe,
    "dedpul": dedpul,
    "elkan-noto": elkan_noto,
    "scott": scott,
    "binormal": binormal,
}
ON_ROWS: dict[str, PriorFunction] = {  # (labelled rows, unlabelled rows)
    "tice": tice.tice,
    "pe": pe.pe,
    "pen-l1": pen_l1.pen_l1,
    "km1": km.km1,
    "km2": km.km2,
}
PRIORS = {**ON_SCORES, **ON_ROWS}
AUTO = "binormal"
# Estimators that have an interval of their own: (scores of labelled rows, of unlabelled rows, level) -> (low, high).
INTERVALS: dict[str, Callable[[np.ndarray, np.ndarray, float], tuple[float, float]]] = {"binormal": credible}
# Estimators that know which share of the unlabelled rows to call positive; the others call as many as the prior says.
CALLS: dict[str, PriorFunction] = {"binormal": share_to_call}
# Estimators that assume a shape, and which. Their interval has two sides as far as the assumption holds.
SHAPES = {"binormal": "on a suitable scale the scores of positives and those of negatives follow bell curves"}
MOST: dict[str, int] = {"tice": tice.MOST, "pe": 2 * pe.MOST, "pen-l1": 2 * pen_l1.MOST, "km1": km.MOST, "km2": km.MOST}


def named(name: str) -> str:
    """The name of an estimator; 'auto' is AUTO. A name that PRIORS does not have is refused."""
    if name == "auto":
        return AUTO
    if not isinstance(name, str) or name not in PRIORS:
        known = ", ".join(PRIORS)
        raise ValueError(f"prior estimator {name!r} is not known{near(name, PRIORS)} (one of {known})")
    return name
