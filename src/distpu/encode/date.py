"""Dates and times of many spellings -> days since the first one, year, month, day, weekday, hour."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .cells import Cells
from .kind import FAR_OFF, Kind
from .state import is_distinct, is_number, is_text

ISO = "ISO8601"
_DAYS = ["%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%m/%d/%y", "%d/%m/%y"]
_DAYS += ["%d.%m.%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"]
_DAYS += ["%B %d %Y", "%d. %B %Y", "%Y-%b-%d", "%a, %d %b %Y", "%A, %B %d, %Y", "%a %b %d %Y"]
_TIMES = [
    "",
    " %H:%M",
    " %H:%M:%S",
    " %H:%M:%S.%f",
    " %I:%M %p",
    " %I:%M:%S %p",
    "T%H:%M:%S",
    " %H:%M:%S %z",
    ", %H:%M",
]
_REST = ["%Y%m%d", "%Y%m%d%H%M%S", "%Y-%m", "%m/%Y", "%b-%y", "%b %Y", "%B %Y", "%b-%Y", "%H:%M:%S", "%H:%M"]
_REST += ["%I:%M %p", "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%d/%b/%Y:%H:%M:%S %z"]
FORMATS = [ISO, *(day + time for day in _DAYS for time in _TIMES), *_REST]
LOOK = 300  # different texts by which a format is found
FEW = 3  # formats of one column at most
PARTS = ("days", "year", "month", "day", "weekday", "hour")
FAR = 5.0


def read_dates(values: list[str], formats: list[str]) -> np.ndarray:
    """Return dates as datetime64[us], NaT for what no format reads. Time zones are turned into UTC."""
    out = np.full(len(values), np.datetime64("NaT", "us"))
    rest = np.arange(len(values))
    for one in formats:
        if not len(rest):
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = pd.to_datetime([values[i] for i in rest], format=one, errors="coerce", utc=True)
            except (ValueError, OverflowError):
                continue
        read = found.tz_localize(None).to_numpy().astype("datetime64[us]")
        ok = _plausible(read)
        out[rest[ok]] = read[ok]
        rest = rest[~ok]
    return out


def _plausible(at: np.ndarray) -> np.ndarray:
    """Which dates are such: 9999-12-31 stands for 'never' or 'no end'."""
    return ~np.isnat(at) & (at > np.datetime64("1500-01-01")) & (at < np.datetime64("2500-01-01"))


def formats_of(values: list[str], counts: np.ndarray, least: float) -> list[str]:
    """Return the formats that read at least a share `least` of the cells; none if no few formats do."""
    if not values or not any(c.isdigit() for c in values[0]):
        return []
    pick = np.random.RandomState(0).permutation(len(values))[:LOOK]
    look, weight = [values[i] for i in pick], counts[pick].astype(float)
    if np.mean([_like_a_date(text) for text in look]) < least:
        return []
    chosen: list[str] = []
    rest = np.arange(len(look))
    while len(rest) and len(chosen) < FEW:
        hits = {one: ~np.isnat(read_dates([look[i] for i in rest], [one])) for one in FORMATS if one not in chosen}
        best = max(hits, key=lambda one: weight[rest][hits[one]].sum())  # of equals the first
        if weight[rest][hits[best]].sum() < 0.02 * weight.sum():
            break
        chosen.append(best)
        rest = rest[~hits[best]]
    return chosen if weight[rest].sum() <= (1 - least) * weight.sum() else []


def _like_a_date(text: str) -> bool:
    return 4 <= len(text) <= 40 and sum(c.isdigit() for c in text) >= 3


@dataclass
class Date(Kind):
    """A column of dates or times."""

    how = "date"
    RULES = {
        "formats": (is_distinct, "a list of different strings"),
        "origin": (is_text, "a date"),
        "last": (is_number, "a number of days"),
        "parts": (lambda v: is_distinct(v) and bool(v) and set(v) <= set(PARTS), f"some of {', '.join(PARTS)}"),
        "fill": (lambda v: isinstance(v, list) and all(map(is_number, v)), "a list of numbers"),
        "whole": (lambda v: type(v) is bool, "true or false"),
    }
    formats: list[str] = field(default_factory=list)
    origin: str = "1970-01-01"
    last: float = 0.0  # days since the origin
    parts: list[str] = field(default_factory=list)
    fill: list[float] = field(default_factory=list)
    whole: bool = False  # numbers such as 20240131

    def __post_init__(self) -> None:
        try:
            self._origin = np.datetime64(self.origin, "us")
        except ValueError:
            raise ValueError(f"origin={self.origin!r} must be a date") from None
        if np.isnat(self._origin):
            raise ValueError(f"origin={self.origin!r} must be a date")

    def names(self, name: str) -> list[str]:
        return [f"{name} ({part})" for part in self.parts]

    @property
    def fills(self) -> list[float]:
        return self.fill

    def dates(self, cells: Cells) -> np.ndarray:
        if cells.date is not None:
            return np.where(_plausible(cells.date), cells.date, np.datetime64("NaT", "us"))
        if cells.number is not None and self.whole:
            from .cells import as_text

            cells = as_text(cells)
        if cells.codes is None:
            return np.full(len(cells), np.datetime64("NaT", "us"))
        return cells.taken(read_dates(cells.values or [], [*self.formats, ISO]), np.datetime64("NaT", "us"))

    def take(self, cells: Cells) -> Date:
        """Learn the origin and which parts differ among the rows."""
        at = self.dates(cells)
        there = at[~np.isnat(at)]
        self.origin = str(there.min().astype("datetime64[D]"))
        self.__post_init__()
        found = self._parts(there)
        self.last = float(found["days"].max())
        self.parts = [part for part in PARTS if np.ptp(found[part]) > 0] or ["days"]
        self.fill = [float(np.median(found[part])) for part in self.parts]
        return self

    def _parts(self, at: np.ndarray) -> dict[str, np.ndarray]:
        day = at.astype("datetime64[D]")
        month = at.astype("datetime64[M]")
        year = at.astype("datetime64[Y]")
        return {
            "days": (at - self._origin) / np.timedelta64(1, "D"),
            "year": year.astype(np.int64) + 1970.0,
            "month": (month - year).astype(np.int64) + 1.0,
            "day": (day - month).astype(np.int64) + 1.0,
            "weekday": (day.astype(np.int64) + 3.0) % 7,  # 0 is Monday
            "hour": (at - day) / np.timedelta64(1, "h"),
        }

    @property
    def remedy(self) -> str:
        formats = [one for one in self.formats if one != ISO]
        as_ever = "as 2024-01-31, or as 2024-01-31 14:05"
        if not formats:
            return f"write dates of {{name}} {as_ever}"
        origin = pd.Timestamp(self._origin) + pd.Timedelta(hours=14, minutes=5)
        return f"write dates of {{name}} as in training, such as {origin.strftime(formats[0])!r}, or {as_ever}"

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        at = self.dates(cells)
        blank = np.isnat(at)
        found = self._parts(np.where(blank, self._origin, at))
        for j, part in enumerate(self.parts):
            out[:, j] = np.where(blank, np.nan, found[part])
        span = max(self.last, 366.0)
        far = ~blank & ((found["days"] > self.last + FAR * span) | (found["days"] < -FAR * span))
        return blank, {"no date": blank & ~cells.blank, FAR_OFF: far}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray], where: str) -> Date:
        made = super().from_state(state, arrays, where)
        assert isinstance(made, Date)
        if len(made.fill) != len(made.parts) or not set(made.formats) <= set(FORMATS):
            raise ValueError(f"{where}: fill must have a number for each part, and formats must be known ones")
        return made
