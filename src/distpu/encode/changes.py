"""Finds a column that changes its kind half way: numbers in the first rows and words in the others, or dates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .cells import Cells
from .date import formats_of, read_dates
from .number import decimal_of, parsed

LOOK = 20  # cells at either end that must be alike
CHANCE = math.log(1e-6)  # of a first run that long, if the kinds were mixed at random
SHOWN = 3  # columns that are told of one by one


@dataclass(frozen=True)
class Change:
    """Where a column changes. Rows are numbered from 0."""

    first: str  # what the first rows hold
    then: str  # what a later row holds
    row: int
    value: str  # of that row, as a message shows it

    def __str__(self) -> str:
        return f"{self.first} up to row {self.row - 1:,}, {self.then} from row {self.row:,} on ({self.value})"


def change_of(cells: Cells) -> Change | None:
    """Return where the texts of a column change from numbers or dates to other texts, or back; None if they do not.

    A column of codes such as 250, V57 and E11 mixes both from the start on: that is no change.
    """
    if cells.codes is None or not cells.values:
        return None
    rows = np.flatnonzero(cells.codes >= 0)
    codes = cells.codes[rows]
    if len(rows) < 2 * LOOK:
        return None
    ends = [[cells.values[i] for i in part] for part in (codes[:LOOK], codes[-LOOK:])]
    for what, reader in (("numbers", _numbers), ("dates", _dates)):
        alike = [bool(read(texts).all()) if (read := reader(texts)) else False for texts in ends]
        if alike[0] == alike[1]:
            continue
        read = reader(ends[0] if alike[0] else ends[1])
        assert read is not None
        ok = read(cells.values)[codes]
        run = int(np.argmax(ok != ok[0]))
        share = float(np.mean(ok == ok[0]))
        if run >= LOOK and run * math.log(share) < CHANCE:
            pair = (what, "other texts") if ok[0] else ("other texts", what)
            return Change(*pair, int(rows[run]), cells.shown(int(rows[run])))
    return None


def _numbers(texts: list[str]) -> Callable[[list[str]], np.ndarray] | None:
    decimal = decimal_of(texts)
    return lambda values: ~np.isnan(parsed(values, decimal, ordered=True))


def _dates(texts: list[str]) -> Callable[[list[str]], np.ndarray] | None:
    different = list(dict.fromkeys(texts))
    formats = formats_of(different, np.ones(len(different)), 1.0)
    return (lambda values: ~np.isnat(read_dates(values, formats))) if formats else None


def tell_changes(found: dict[str, tuple[Change, str]]) -> None:
    """Warn of columns that change, with what was done to each: they are most often a mistake in the file."""
    for name, (change, done) in list(found.items())[:SHOWN]:
        warnings.warn(
            f"column {name!r} changes half way: {change}; it is read as {done}; if this is a mistake, mend the file, "
            f"or leave the column out: --drop {name}, in Python drop=[{name!r}]",
            UserWarning,
            stacklevel=4,
        )
    if len(found) > SHOWN:
        listed = ", ".join(map(repr, list(found)[SHOWN : 2 * SHOWN]))
        warnings.warn(f"{len(found) - SHOWN} more columns change half way: {listed}", UserWarning, stacklevel=4)
