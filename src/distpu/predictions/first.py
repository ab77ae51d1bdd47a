"""A cut that calls so many rows of the data at hand. It needs all scores, and keeps the highest ones alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from .part import Piece

MOST = np.finfo(np.float64).max


@dataclass(frozen=True)
class FirstRows:
    """Where to cut so that at most `rows` rows are called. More are called only if they share the highest score."""

    rows: int
    at: float
    called: int | None  # None: more than `rows` rows share the highest score
    total: int  # rows of the data

    @classmethod
    def of(cls, pieces: Iterable[Piece], rows: int) -> FirstRows:
        """Read the scores once. Memory holds `rows` + 1 of them, and those of a piece."""
        top, total = np.empty(0), 0
        for piece in pieces:
            total += len(piece)
            top = np.sort(np.concatenate([top, _finite(piece.score)]))[-(rows + 1) :]
        if len(top) <= rows:
            return cls(rows, float(top[0]) if total else 0.0, total, total)
        above = top[top > top[0]]
        if not len(above):
            return cls(rows, float(top[0]), None, total)
        return cls(rows, _between(float(top[0]), float(above[0])), len(above), total)

    def moved(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield the pieces with scores and decisions by this cut."""
        for piece in pieces:
            score = _finite(piece.score)
            with np.errstate(over="ignore"):
                yield replace(piece, score=score - self.at, decision=(score >= self.at).astype(np.int8))

    @property
    def remark(self) -> str:
        """What differs from what was asked; empty where nothing does."""
        if self.called is None:
            return (
                f"threshold='rows={self.rows}' cannot be kept: more rows share the highest score, and the cut calls "
                "them all; look at the first ones by --rank"
            )
        if self.called == self.total < self.rows:
            return f"threshold='rows={self.rows}' calls every row: there are {self.total}"
        if self.called < self.rows:
            tied = f"row {self.called + 1} of the ranking shares its score with others, and more than {self.rows}"
            return f"threshold='rows={self.rows}' calls {self.called} rows: {tied} would be called with it"
        return ""


def _finite(score: np.ndarray) -> np.ndarray:
    return np.clip(score, -MOST, MOST)


def _between(low: float, high: float) -> float:
    middle = low / 2 + high / 2
    return middle if low < middle <= high else high
