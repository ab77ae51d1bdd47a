"""FittedCut: what a fitted method knows from its held-out rows. A model folder stores it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .calibration import Calibration
from .choice import read_choice
from .cut import Expected, expected, find_cut
from .held_out import HeldOut


@dataclass(frozen=True)
class FittedCut:
    """The held-out scores, the map to probabilities, and the cut: chosen, or the method's own."""

    prior: float  # that the calibration was fitted with
    calibration: Calibration
    held_out: HeldOut
    own: float  # where the method itself cuts, on the scale of the held-out scores
    choice: str  # as a user spells it; "auto" is the method's own cut
    at: float  # the cut of the choice

    @classmethod
    def fit(
        cls,
        z: np.ndarray,
        s: np.ndarray,
        called: np.ndarray,
        prior: float,
        choice: Any,
        total: int | None = None,
        first: float | None = None,
    ) -> FittedCut:
        """Fit on scores z of held-out rows, their PU labels, and which of them the method itself calls positive.

        `first` is the share of positives among all rows that were unlabelled before a person looked at some. Those
        rows fit the calibration: without the rows on top, a score would seem to promise less than it does.
        """
        z_p, z_u = z[s == 1], z[s == 0]
        own, held_out = _between(z, called), HeldOut.of(z_p, z_u, total)
        calibration = Calibration.fit(z_p, z[s != 1], prior if first is None else first)
        return cls(prior, calibration, held_out, own, "auto", own).moved(choice)

    def moved(self, choice: Any) -> FittedCut:
        """Return the same with another cut."""
        read = read_choice(choice)
        at = self.own if read.kind == "auto" else find_cut(read, self.held_out, self.prior, self.calibration)
        return replace(self, choice=str(read), at=at)

    @property
    def chosen(self) -> bool:
        """Whether the cut is another than the method's own."""
        return self.choice != "auto"

    def expected(self, interval: tuple[float, float] | None = None) -> Expected:
        return expected(self.at, self.held_out, self.prior, self.calibration, interval)

    def as_json(self) -> dict[str, Any]:
        numbers = {"prior": self.prior, "own": self.own, "choice": self.choice, "at": self.at}
        return {**numbers, "calibration": self.calibration.as_json(), "held_out": self.held_out.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> FittedCut:
        """Read what `as_json` wrote, or say which rule it breaks."""
        read_choice(value["choice"])
        calibration, held_out = Calibration.from_json(value["calibration"]), HeldOut.from_json(value["held_out"])
        if not 0 < value["prior"] < 1:
            raise ValueError("the prior must lie strictly between 0 and 1")
        return cls(value["prior"], calibration, held_out, float(value["own"]), value["choice"], float(value["at"]))


def _between(z: np.ndarray, called: np.ndarray) -> float:
    """Return a cut of z that calls the rows that are called; z is in their order."""
    if called.all() or not called.any():
        end = float(z.min() if called.all() else z.max())
        return end - 1 if called.all() else end + 1
    low, high = float(z[~called].max()), float(z[called].min())
    middle = (low + high) / 2
    return middle if middle > low else high
