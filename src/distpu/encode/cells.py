"""Cells: one column as the encoder sees it: numbers, dates, texts or vectors, with its blanks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..files.scores import missing
from ..kinds import EXACT

# how people write "nothing here", in lower case and without the spaces around it
BLANKS = frozenset(
    ["", "na", "n/a", "n.a.", "#n/a", "#na", "nan", "-nan", "null", "none", "nil", "<na>", "?", "??", "-", "--", "---"]
    + ["–", "—", ".", "..", "*", "#value!", "#ref!", "#div/0!", "\\n", "(null)", "[null]", "nat"]
)


@dataclass(frozen=True)
class Cells:
    """One column. Only the fields of its form are set."""

    form: str  # "number", "date", "text" or "vector"
    number: np.ndarray | None = None  # float64; NaN is a blank
    date: np.ndarray | None = None  # datetime64[us]; NaT is a blank
    codes: np.ndarray | None = None  # of texts: the place in `values`; -1 is a blank
    values: list[str] | None = None  # different texts without the spaces around them; none is a blank
    vectors: list[Any] | None = None  # None is a blank

    def __len__(self) -> int:
        return len(next(v for v in (self.number, self.date, self.codes, self.vectors) if v is not None))

    @property
    def blank(self) -> np.ndarray:
        if self.number is not None:
            return np.isnan(self.number)
        if self.date is not None:
            return np.isnat(self.date)
        if self.codes is not None:
            return self.codes < 0
        return np.array([v is None for v in self.vectors or []], dtype=bool)

    def taken(self, of_values: np.ndarray, blank: Any) -> np.ndarray:
        """Return for each row what belongs to its text, and `blank` for blanks."""
        assert self.codes is not None
        padded = np.append(of_values, np.asarray([blank], dtype=of_values.dtype), axis=0)
        return padded[self.codes]

    @property
    def counts(self) -> np.ndarray:
        """How often each text occurs."""
        assert self.codes is not None and self.values is not None
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def shown(self, row: int) -> str:
        """Return a cell as a message shows it."""
        if self.codes is not None:
            text = "" if self.codes[row] < 0 else (self.values or [])[self.codes[row]]
            return repr(text if len(text) <= 30 else text[:27] + "...")
        if self.number is not None:
            return f"{self.number[row]:g}"
        return str(self.date[row] if self.date is not None else (self.vectors or [])[row])[:30]


def cells_of(column: pd.Series) -> Cells:
    """Return a column as the encoder sees it. What a column is depends on its type, not on its first rows."""
    from pandas.api import types

    dtype = column.dtype
    if types.is_bool_dtype(dtype):
        codes = column.astype("boolean").to_numpy(dtype=np.float32, na_value=np.nan)
        return Cells("text", codes=np.where(np.isnan(codes), -1, codes).astype(np.int64), values=["False", "True"])
    if types.is_integer_dtype(dtype) and (huge := _huge(column)) is not None:
        return huge
    if types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype):
        return Cells("number", number=column.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_datetime64_any_dtype(dtype):
        return Cells("date", date=_utc(column).to_numpy().astype("datetime64[us]"))
    if types.is_timedelta64_dtype(dtype) or str(dtype).startswith("duration"):  # of pandas, or of pyarrow in it
        return Cells("number", number=column.dt.total_seconds().to_numpy(dtype=np.float64))
    if types.is_object_dtype(dtype) or str(dtype).startswith(
        ("list", "large_list", "struct", "decimal", "date", "time")
    ):
        return _objects(column.astype(object))
    return texts(column)


def _utc(column: pd.Series) -> pd.Series:
    """Return dates without their time zone, in UTC: so one instant is the same as a date, an object and a text."""
    return column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(column.dt, "tz", None) is not None else column


def _objects(column: pd.Series) -> Cells:
    from pandas.api.types import infer_dtype

    kind = infer_dtype(column, skipna=True)
    if kind == "integer" and (huge := _huge(column)) is not None:
        return huge
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return Cells("number", number=np.array([_float(v) for v in column], dtype=np.float64))
    if kind in ("date", "datetime", "datetime64"):
        dates = pd.to_datetime(column, errors="coerce", utc=True)
        return Cells("date", date=dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]"))
    if kind in ("timedelta", "timedelta64"):
        return Cells("number", number=pd.to_timedelta(column).dt.total_seconds().to_numpy(np.float64))
    if kind == "empty":
        return Cells("text", codes=np.full(len(column), -1), values=[])
    if kind == "mixed" and all(isinstance(v, (list, tuple, np.ndarray)) or missing(v) for v in column):
        return Cells("vector", vectors=[v if isinstance(v, (list, tuple, np.ndarray)) else None for v in column])
    return texts(column.map(_spelt, na_action="ignore"))


def _huge(column: pd.Series) -> Cells | None:
    """Return whole numbers beyond 2**53 as texts, None where there are none: as floats several would be one number."""
    there = column.dropna()
    if not len(there) or -EXACT <= there.min() <= there.max() <= EXACT:
        return None
    return texts(column.astype(object).map(str, na_action="ignore"))


def _float(value: Any) -> float:
    try:
        return np.nan if value is None or value is pd.NA else float(value)
    except OverflowError:  # a whole number of 400 digits
        return np.inf


def texts(column: pd.Series) -> Cells:
    """Return a column of texts as codes of its different texts."""
    codes, found = pd.factorize(column, use_na_sentinel=True)
    place: dict[str, int] = {}
    of = np.empty(len(found) + 1, dtype=np.int64)
    of[-1] = -1
    for i, text in enumerate(found):
        text = str(text).strip()
        of[i] = -1 if len(text) < 9 and text.lower() in BLANKS else place.setdefault(text, len(place))
    return Cells("text", codes=of[codes], values=list(place))


def as_text(cells: Cells) -> Cells:
    """Return numbers or dates as texts, for a column that training saw as texts."""
    if cells.form == "text":
        return cells
    if cells.form == "vector":
        return texts(pd.Series([None if v is None else str(list(v)) for v in cells.vectors or []], dtype=object))
    raw = cells.number if cells.number is not None else cells.date
    assert raw is not None
    values, codes = np.unique(raw[~cells.blank], return_inverse=True)
    all_codes = np.full(len(raw), -1)
    all_codes[~cells.blank] = codes
    return Cells("text", codes=all_codes, values=[_spelt(v) for v in values.tolist()])


def _spelt(value: Any) -> str:
    """Return a value as a text: 1.0 is '1', whether its column holds nothing but numbers or words too."""
    whole = isinstance(value, (float, np.floating)) and value.is_integer() and abs(float(value)) < 2**53
    return str(int(value)) if whole else str(value)
