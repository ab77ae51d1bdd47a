"""The lines of scores.csv. Cells that a spreadsheet would run as formulas are made harmless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

COLUMNS = ("id", "score", "probability", "rank", "decision")
PIECE = 100_000  # lines; a table of many rows is written piece by piece
# A spreadsheet runs a cell that begins with one of these; the last four are the wide forms of = + - @.
_FORMULA = re.compile("^[\\s\\x00]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n\x00]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def harmless(text: str) -> str:
    """Return a text that a spreadsheet shows and does not run: a quote stands before what looks like a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def missing(value: Any) -> bool:
    """Return whether a value of a table is a blank: None, NaN, or one of the blanks of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def short_number(value: float) -> str:
    """Return a number as a person reads it: whole ones in full, others with six digits."""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def cell(value: Any) -> str:
    """Return a value as a cell of a .csv file: harmless, quoted where it must be, empty where it is missing."""
    if missing(value):
        return ""
    text = harmless(f"{value:.15g}" if isinstance(value, float) else str(value))
    return '"' + text.replace('"', '""') + '"' if re.search('[",;\r\n\t]', text) else text


def check_ending(out: Path) -> None:
    """Refuse a form that is not written."""
    if out.name.lower().endswith((".xlsx", ".npy", ".npz", ".feather", ".arrow", ".json", ".gz")):
        raise ValueError(f"{out} ends in {out.suffix!r}; scores are written as .csv or .parquet")


def score_lines(
    ids: Any,
    score: np.ndarray,
    probability: np.ndarray,
    rank: np.ndarray | None,
    decision: np.ndarray,
    header: bool = True,
) -> Iterator[bytes]:
    """Yield a .csv file in pieces, with the columns of COLUMNS; without a rank if there is none."""
    if header:
        yield (",".join(name for name in COLUMNS if name != "rank" or rank is not None) + "\n").encode()
    for start in range(0, len(ids), PIECE):
        part = slice(start, start + PIECE)
        names = ids[part].tolist() if hasattr(ids, "tolist") else list(ids[part])
        z, p, called = (values[part].tolist() for values in (score, probability, decision))
        place = [""] * len(z) if rank is None else [f"{number}," for number in rank[part].tolist()]
        if not all(type(name) is int for name in names):
            names = [cell(name) for name in names]
        rows = zip(names, z, p, place, called, strict=True)
        yield "".join([f"{i},{a:.6g},{b:.6g},{c}{d}\n" for i, a, b, c, d in rows]).encode("utf-8", "replace")
