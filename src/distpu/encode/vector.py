"""Vectors: a column of lists of numbers, all of one length. Each place becomes a column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .cells import Cells
from .kind import Kind
from .state import is_whole


@dataclass
class Vector(Kind):
    """A column of embeddings or other lists of numbers."""

    how = "vector"
    RULES = {"length": (lambda v: is_whole(v, 1, 1_000_000), "a whole number from 1")}
    length: int = 1

    def names(self, name: str) -> list[str]:
        return [f"{name} ({i})" for i in range(self.length)]

    @property
    def fills(self) -> list[float]:
        return [0.0] * self.length

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        out[:] = np.nan
        good = np.zeros(len(out), dtype=bool)
        for i, value in enumerate(cells.vectors or []):
            row = numbers(value)
            if row is not None and len(row) == self.length:
                out[i], good[i] = row, True
        blank = ~good
        return blank, {f"no vector of {self.length} numbers": blank & ~cells.blank}


def numbers(value: object) -> np.ndarray | None:
    """Return a list as float32 numbers; None if it holds others."""
    if value is None:
        return None
    try:
        row = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return row if row.ndim == 1 and np.isfinite(row).all() else None
