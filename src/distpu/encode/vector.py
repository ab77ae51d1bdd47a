"""Vectors: a column of lists of numbers, all of one length, also written as text. Each place becomes a column."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from .cells import Cells
from .kind import Kind
from .state import is_whole

_BRACKETS = re.compile(r"\s*[\[({](?P<inside>.*)[\])}]\s*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


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
        for i, value in enumerate(_lists(cells)):
            row = numbers(value)
            if row is not None and len(row) == self.length:
                out[i], good[i] = row, True
        blank = ~good
        return blank, {f"no vector of {self.length} numbers": blank & ~cells.blank}


def _lists(cells: Cells) -> list[object]:
    if cells.codes is None:
        return cells.vectors or []
    different: list[object] = [*map(numbers, cells.values or []), None]  # the last one is for blanks, whose code is -1
    return [different[code] for code in cells.codes]


def numbers(value: object) -> np.ndarray | None:
    """Return a list, or a text such as '[1, 2.5]' or '48.1, 11.6', as float32 numbers; None if it holds others."""
    if isinstance(value, str):
        value = _written(value)
    if value is None:
        return None
    try:
        row = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return row if row.ndim == 1 and np.isfinite(row).all() else None


def _written(text: str) -> list[str] | None:
    """Return the pieces of a text that writes a list; spaces alone separate within brackets only."""
    found = _BRACKETS.fullmatch(text)
    pieces = re.split(r"\s*[,;]\s*|\s+" if found else r"\s*[,;]\s*", (found["inside"] if found else text).strip())
    return pieces if len(pieces) > 1 and all(map(_NUMBER.fullmatch, pieces)) else None
