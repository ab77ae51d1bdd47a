"""Free text: its words and runs of letters on a few directions, and its length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .cells import Cells, as_text
from .kind import Kind
from .ngrams import NGrams

SHAPES = ("length", "capitals", "digits")


@dataclass
class Text(Kind):
    """A column of free text."""

    how = "text"
    RULES = {}
    ngrams: NGrams = field(default_factory=NGrams)

    def names(self, name: str) -> list[str]:
        return [*(f"{name} ({shape})" for shape in SHAPES), *self.ngrams.names(name)]

    @property
    def fills(self) -> list[float]:
        return [0.0] * (len(SHAPES) + self.ngrams.width)

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        texts = as_text(cells)
        shape = np.array([_shape(text) for text in texts.values or []], dtype=np.float32).reshape(-1, len(SHAPES))
        out[:, : len(SHAPES)] = texts.taken(shape, np.zeros(len(SHAPES)))
        self.ngrams.write(texts, out[:, len(SHAPES) :])
        return texts.blank, {}

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return self.ngrams.to_state()

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray], where: str) -> Text:
        return cls(NGrams.from_state(state, arrays, where))


def _shape(text: str) -> tuple[float, float, float]:
    """Return the logarithm of the length, and the shares of capitals and of digits."""
    n = max(1, len(text))
    return np.log1p(len(text)), sum(c.isupper() for c in text) / n, sum(c.isdigit() for c in text) / n
