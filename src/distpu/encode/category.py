"""Categories: a column of 0 and 1 for each frequent value, and for many values how frequent a value is as well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .cells import Cells, as_text
from .kind import Kind
from .ngrams import NGrams
from .state import is_distinct, is_numbers, one_of

OFTEN = 0.1  # share of new values that is worth a warning in a column of many values
YES = frozenset(["true", "t", "yes", "y", "1", "ja", "j", "oui", "si", "sí", "on", "wahr", "vrai", "x"])
NO = frozenset(["false", "f", "no", "n", "0", "nein", "non", "off", "falsch", "faux"])


def as_boolean(value: str) -> float:
    """Return 1 for yes, 0 for no, NaN for other texts."""
    text = value.lower()
    return 1.0 if text in YES else 0.0 if text in NO else np.nan


@dataclass
class Boolean(Kind):
    """Yes and no in any of their spellings."""

    how = "boolean"
    RULES = {"fill": (one_of(0.0, 1.0), "0.0 or 1.0")}
    fill: float = 0.0

    def names(self, name: str) -> list[str]:
        return [name]

    @property
    def fills(self) -> list[float]:
        return [self.fill]

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        texts = as_text(cells)
        value = texts.taken(np.array([as_boolean(v) for v in texts.values or []], dtype=np.float64), np.nan)
        out[:, 0] = value
        blank = np.isnan(value)
        return blank, {"neither yes nor no": blank & ~cells.blank}


@dataclass
class Category(Kind):
    """Frequent values have a column each. The first of two values is a column of its own: the other is its opposite."""

    how = "category"
    RULES = {
        "values": (is_distinct, "a list of different strings"),
        "others": (is_distinct, "a list of different strings"),
        "counts": (is_numbers, "a list of numbers"),
    }
    values: list[str] = field(default_factory=list)  # with a column of 0 and 1 each
    others: list[str] = field(default_factory=list)  # seen in training, without a column
    counts: list[int] = field(default_factory=list)  # of values and others, for the column of frequencies; else empty
    ngrams: NGrams | None = None  # of the letters of many values

    def names(self, name: str) -> list[str]:
        own = [f"{name}={value}" for value in self.values] + ([f"{name} (frequency)"] if self.counts else [])
        return own + ([] if self.ngrams is None else self.ngrams.names(name))

    @property
    def fills(self) -> list[float]:
        return [0.0] * len(self.names(""))

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        texts = as_text(cells)
        seen = {value: i for i, value in enumerate([*self.values, *self.others])}
        place = np.array([seen.get(v, len(seen)) for v in texts.values or []], dtype=np.int64)
        code = texts.taken(place, -1)
        k = len(self.values)
        out[:, :k] = code[:, None] == np.arange(k)
        if self.counts:
            of = np.log1p(np.array([*self.counts, 0, 0], dtype=np.float64))  # new values and blanks: 0
            out[:, k] = of[code]
        if self.ngrams is not None:
            self.ngrams.write(texts, out[:, k + bool(self.counts) :])
        new = code == len(seen)
        expected = OFTEN * len(code) if self.counts else 0  # of many values, some are always new
        return code == -1, {"new categories": new} if new.sum() > expected else {}

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        state, arrays = super().to_state()
        if self.ngrams is not None:
            state["ngrams"], arrays = self.ngrams.to_state()
        return state, arrays

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray], where: str) -> Category:
        made = super().from_state(state, arrays, where)
        assert isinstance(made, Category)
        if set(made.values) & set(made.others):
            raise ValueError(f"{where}: values and others share a value")
        if made.counts and len(made.counts) != len(made.values) + len(made.others):
            raise ValueError(f"{where}: counts must have a number for each value")
        if min(made.counts, default=0) < 0:
            raise ValueError(f"{where}: counts must not be negative")
        if state.get("ngrams") is not None:
            made.ngrams = NGrams.from_state(state["ngrams"], arrays, where)
        return made


def category(cells: Cells, most: int, ngrams: NGrams | None) -> Category:
    """Learn the values. Up to `most` values have a column each; of more values the frequent ones have one."""
    counts, values = cells.counts, cells.values or []
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    names = [values[i] for i in order]
    if len(names) == 2:
        return Category(sorted(names)[1:], sorted(names)[:1])
    if len(names) <= most:
        return Category(names)
    top = [values[i] for i in order[:most] if counts[i] >= max(10, 0.005 * counts.sum())]
    return Category(top, names[len(top) :], [int(counts[i]) for i in order], ngrams)
