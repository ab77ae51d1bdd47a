"""HeldOut: held-out scores of labelled and of unlabelled rows as two short tables, which a model folder stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .calibration import Calibration, checked

MOST = 1000  # different scores of a table
DIGITS = 9  # means of equal scores may differ in the last bit


@dataclass(frozen=True)
class Table:
    """Scores in rising order, and how many rows score at least as high as each.

    Up to MOST different scores are stored as they are. Of more scores, half are spread evenly over the ranks, and half
    lie ever denser towards the top, where cuts lie. The counts are exact at every score that is stored.
    """

    z: tuple[float, ...]
    above: tuple[int, ...]

    @classmethod
    def of(cls, z: np.ndarray) -> Table:
        values, count = np.unique(_finite(z).round(DIGITS), return_counts=True)
        above = np.cumsum(count[::-1])[::-1]
        n = len(values)
        if n > MOST:
            even = np.linspace(0, n - 1, MOST // 2)
            top = n - np.geomspace(1, n, MOST // 2)
            kept = np.unique(np.concatenate([even, top]).round().astype(int))
            values, above = values[kept], above[kept]
        return cls(tuple(values.tolist()), tuple(above.tolist()))

    @property
    def rows(self) -> int:
        return self.above[0]

    def at_least(self, cut: float) -> int:
        """Return how many rows score at least as high as the cut."""
        i = int(np.searchsorted(self.z, cut))
        return self.above[i] if i < len(self.z) else 0

    @property
    def whole(self) -> bool:
        """Whether every score is stored for sure."""
        return len(self.z) < MOST / 2

    def sums(self, calibration: Calibration) -> np.ndarray:
        """Return the sum of the probabilities of the rows from each score to the next."""
        p = calibration(np.array(self.z))
        if not self.whole:
            p = (p + np.append(p[1:], p[-1])) / 2
        return p * -np.diff([*self.above, 0])

    def below(self, i: int) -> float:
        """Return a cut that calls the rows from score i on."""
        if i == 0:
            return self.z[0] - max(1.0, abs(self.z[0]))
        if self.whole:
            return (self.z[i - 1] + self.z[i]) / 2
        return max((self.z[i - 1] + self.z[i]) / 2, self.z[i] - 10.0**-DIGITS * max(1.0, abs(self.z[i])))


@dataclass(frozen=True)
class HeldOut:
    labelled: Table
    unlabelled: Table
    total: int  # all unlabelled rows, by their weights; those held out may be a part of them

    @classmethod
    def of(cls, z_p: np.ndarray, z_u: np.ndarray, total: int | None = None) -> HeldOut:
        """Shorten held-out scores of labelled rows and of unlabelled rows."""
        z_p, z_u = checked(z_p, z_u, 0.5)
        return cls(Table.of(z_p), Table.of(z_u), len(z_u) if total is None else total)

    def as_json(self) -> dict[str, Any]:
        tables = {"labelled": self.labelled, "unlabelled": self.unlabelled}
        short = {name: {"z": list(table.z), "above": list(table.above)} for name, table in tables.items()}
        return {**short, "total": self.total}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> HeldOut:
        """Read what `as_json` wrote, or say which rule the numbers break."""
        tables: dict[str, Table] = {}
        for name in ("labelled", "unlabelled"):
            z, above = tuple(map(float, value[name]["z"])), tuple(value[name]["above"])
            rules = {
                "z and above must have the same length, at least 1": len(z) == len(above) > 0,
                "z must rise": bool(np.all(np.diff(z) > 0)),
                "above must hold whole numbers": all(type(count) is int for count in above),
                "above must fall to at least 1": bool(np.all(np.diff([*above, 0]) < 0)),
            }
            for rule, holds in rules.items():
                if not holds:
                    raise ValueError(f"{name}: {rule}")
            tables[name] = Table(z, above)
        if type(value["total"]) is not int or value["total"] < 1:
            raise ValueError("total must be a whole number, at least 1")
        return cls(**tables, total=value["total"])


def _finite(z: np.ndarray) -> np.ndarray:
    """Put infinite scores one beyond the finite ones: JSON has no infinity."""
    finite = z[np.isfinite(z)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return np.where(z == np.inf, high + 1, np.where(z == -np.inf, low - 1, z))
