"""Numbers, also as people write them: 1,234.50, 1.234,5, 12 %, $5, (300), <1, 50-99, 10000+, 12 kg, and a word among
them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .cells import Cells
from .kind import FAR_OFF, Kind
from .state import is_distinct, is_flag, is_number, is_text, one_of

MOST = 3.0e38  # of float32
LONGEST = 60  # characters of a number with a unit
FAR = 5.0  # a value further out than so many spans of the training values is told of
_CURRENCY = "$€£¥₹₽₩"
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NUMBER = r"[-+]?(?:\d[\d.,'   ]*|[.,]\d+)"
_DRESSED = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−])?\s*(?:[{_CURRENCY}]|usd|eur|gbp|chf)?\s*(?P<number>{_NUMBER})(?P<power>[eE][-+]?\d+)?\s*"
    rf"(?:[{_CURRENCY}]|usd|eur|gbp|chf)?\s*(?P<percent>%)?\s*(?P<close>\))?",
    re.IGNORECASE,
)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")  # a number whose sign may be a decimal sign as well
_BOUND = re.compile(
    r"(?:(?P<low><=?|≤|under|less than|below|up to)|(?P<high>>=?|≥|over|more than|above))\s*(?P<at>.+)", re.I
)
_UNIT = re.compile(r"(?<=[\d.,+%])\s*(?P<unit>[^\W\d_]{1,12}[²³]?\.?)$")
_RANGE = re.compile(r"(?P<a>\d[\d.,]*)\s*(?:-|–|to|/|\.\.)\s*(?P<b>\d[\d.,]*)", re.I)


def plain_number(text: str, decimal: str = ".") -> float | None:
    """Return the number that a text writes, or None. `decimal` is the column's decimal sign."""
    if decimal == "." and _PLAIN.fullmatch(text):
        return float(text)
    found = _DRESSED.fullmatch(text)
    if not found or bool(found["open"]) != bool(found["close"]):
        return None
    digits = re.sub(r"[\s'   ]", "", found["number"])
    other = "," if decimal == "." else "."
    if (
        digits.count(decimal) > 1
        or not _grouped(digits.partition(decimal)[0], other)
        or other in digits.partition(decimal)[2]
    ):
        return None
    try:
        value = float(digits.replace(other, "").replace(decimal, ".") + (found["power"] or ""))
    except ValueError:
        return None
    negative = found["open"] or found["sign"] in ("-", "−")
    return (-value if negative else value) * (0.01 if found["percent"] else 1.0)


def _grouped(whole: str, sign: str) -> bool:
    """Whether the thousands sign, if there is one, stands before groups of three digits."""
    first, *rest = whole.split(sign)
    return not rest or (1 <= len(first.lstrip("+-")) <= 3 and all(len(part) == 3 for part in rest))


def ordered_number(text: str, decimal: str = ".") -> float | None:
    """Return the number that stands for '<1', '>20', '10000+', '50-99' or a plain number, or None."""
    if (value := plain_number(text, decimal)) is not None:
        return value
    if text.endswith("+") and (value := plain_number(text[:-1].strip(), decimal)) is not None:
        return value + max(1.0, abs(value)) * 0.1
    if found := _BOUND.fullmatch(text):
        value = plain_number(found["at"].strip(), decimal)
        if value is None:
            return None
        step = max(1.0, abs(value)) * 0.1
        return value - step if found["low"] else value + step
    if found := _RANGE.fullmatch(text):
        a, b = (plain_number(found[end], decimal) for end in "ab")
        return (a + b) / 2 if a is not None and b is not None and a < b else None
    return None


def decimal_of(values: list[str]) -> str:
    """Return the decimal sign of a column: a comma if some texts need it and none needs a point."""
    point = comma = 0
    for text in values:
        digits = re.sub(r"[^\d.,]", "", text)
        if "." in digits and "," in digits:
            comma += digits.rfind(",") > digits.rfind(".")
            point += digits.rfind(".") > digits.rfind(",")
        elif digits.count(",") == 1:
            comma += not _THOUSANDS.fullmatch(digits)
        elif digits.count(".") == 1:
            point += not _THOUSANDS.fullmatch(digits)
    return "," if comma > point else "."


def unit_of(text: str) -> str:
    """Return what stands behind the number of a text, such as 'kg'; a plural counts as its singular."""
    found = _UNIT.search(text) if len(text) <= LONGEST else None
    return found["unit"].casefold().rstrip(".").removesuffix("s") if found else ""


def common_unit(values: Iterable[str], counts: Iterable[int], share: float) -> str:
    """Return the unit of nearly all texts that hold digits; "" if there is none. 5 kg and 5 g are not the same."""
    units: Counter[str] = Counter()
    for text, count in zip(values, counts, strict=True):
        if any(c.isdigit() for c in text):
            units[unit_of(text)] += int(count)
    unit, count = units.most_common(1)[0] if units else ("", 0)
    return unit if count >= share * units.total() else ""


def without_unit(values: list[str], unit: str) -> list[str]:
    """Return the texts without this unit; texts with another one stay."""
    return [_UNIT.sub("", text) if unit_of(text) == unit else text for text in values] if unit else values


def parsed(values: list[str], decimal: str, ordered: bool) -> np.ndarray:
    """Return the numbers of texts, NaN for what is none. Every text is read alike, whatever texts are beside it."""
    out = np.full(len(values), np.nan)
    if not values:
        return out
    if decimal == ".":  # a quick way for plain numbers; numpy rounds as a reader of files does
        plain = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").notna().to_numpy()
        if plain.any():
            try:
                out[plain] = np.array([v for v, ok in zip(values, plain, strict=True) if ok]).astype(np.float64)
            except ValueError:
                plain = np.zeros(len(values), dtype=bool)
        rest = np.flatnonzero(~plain)
    else:
        rest = np.arange(len(values))
    read = ordered_number if ordered else plain_number
    for i in rest:
        value = read(values[i], decimal)
        out[i] = np.nan if value is None else value
    out[~(np.abs(out) < MOST)] = np.nan
    return out


@dataclass
class Number(Kind):
    """A column of numbers, and a column for each word that stands among them."""

    how = "number"
    RULES = {
        "low": (is_number, "a finite number"),
        "high": (is_number, "a finite number"),
        "fill": (is_number, "a finite number"),
        "decimal": (one_of(".", ","), "'.' or ','"),
        "ordered": (is_flag, "true or false"),
        "words": (is_distinct, "a list of different strings"),
        "clean": (is_flag, "true or false"),
        "unit": (is_text, "a string"),
    }
    low: float = 0.0
    high: float = 0.0
    fill: float = 0.0  # the median
    decimal: str = "."
    ordered: bool = False  # whether '<1' and '50-99' are numbers too
    words: list[str] = field(default_factory=list)
    clean: bool = True  # whether the frame held numbers, not texts
    unit: str = ""  # that stands behind the numbers, such as "kg"

    def names(self, name: str) -> list[str]:
        return [name, *(f"{name}={word}" for word in self.words)]

    @property
    def fills(self) -> list[float]:
        return [self.fill] + [0.0] * len(self.words)

    def take(self, value: np.ndarray) -> Number:
        """Learn the range and the median."""
        there = value[~np.isnan(value)]
        self.low, self.high, self.fill = float(there.min()), float(there.max()), float(np.median(there))
        return self

    def values(self, cells: Cells) -> np.ndarray:
        """Return the numbers of a column, NaN for blanks and for what is no number."""
        if cells.number is not None:
            return np.where(np.abs(cells.number) < MOST, cells.number, np.nan)
        if cells.codes is None:
            return np.full(len(cells), np.nan)
        texts = without_unit(cells.values or [], self.unit)
        return cells.taken(parsed(texts, self.decimal, self.ordered), np.nan)

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        value = self.values(cells)
        out[:, 0] = value
        blank, known = np.isnan(value), np.zeros(len(value), dtype=bool)
        places = {text: i for i, text in enumerate(cells.values or [])} if self.words else {}
        for j, word in enumerate(self.words, 1):
            is_word = cells.codes == places[word] if word in places else np.zeros(len(value), dtype=bool)
            out[:, j] = is_word
            known |= is_word
        span = self.high - self.low or max(abs(self.high), 1.0)
        far = (value > self.high + FAR * span) | (value < self.low - FAR * span)
        odd = blank & ~known & ~cells.blank
        return blank & ~known, {"no number": odd, FAR_OFF: far}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray], where: str) -> Kind:
        if isinstance(state, dict):
            state = {"unit": "", **state}  # an encoder that was stored before units were known
        return super().from_state(state, arrays, where)
