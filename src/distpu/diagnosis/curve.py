"""How the result changes with the prior that one assumes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..metrics import pu_precision, pu_recall

POINTS = 21


@dataclass(frozen=True)
class Point:
    """What follows if this prior is the truth. Precision and recall are nearly equal where as many rows are called."""

    prior: float  # share of positives among the unlabelled rows
    called: int  # unlabelled rows called positive if this prior sets the cut: as many as it says are positive
    precision: float  # expected share of positives among these
    precision_error: float
    recall: float  # expected share of the positives that are among these
    recall_error: float
    kept_precision: float  # expected share of positives among the rows called at the prior in use


class Assumed:
    """The result under assumed priors. s, z: PU labels and scores of a sample of `unlabelled` rows."""

    def __init__(self, s: np.ndarray, z: np.ndarray, used: float, unlabelled: int):
        self.s, self.z, self.unlabelled = s, z, unlabelled
        self.u = np.sort(z[s == 0])
        self.kept = self._cut(used)

    def _cut(self, prior: float) -> float:
        """The prior's quantile of the unlabelled rows' scores."""
        return float(self.u[-max(1, round(prior * len(self.u)))])

    def at(self, prior: float) -> Point:
        cut = self._cut(prior)
        precision = pu_precision(self.s, self.z, prior, threshold=cut)
        recall = pu_recall(self.s, self.z, threshold=cut)
        called = round(float((self.u >= cut).mean()) * self.unlabelled)
        kept = float(pu_precision(self.s, self.z, prior, threshold=self.kept))
        return Point(prior, called, float(precision), precision.error, float(recall), recall.error, kept)

    def curve(self, low: float, high: float) -> list[Point]:
        """Points from a third of the lower end to three times the upper end, evenly spaced in the logarithm."""
        first = max(1 / (1 + len(self.u)), low / 3)
        return [self.at(one) for one in np.geomspace(first, max(min(0.95, 3 * high), high), POINTS).tolist()]
