"""A cheap look at a user's table: is it there, and which columns does it name? It loads no pandas."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from ..params import near
from .damaged import some

TEXTS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
SEPARATORS = ",;\t|"
OTHERS = {b"PK\3\4": "an Excel file (.xlsx) or a .zip archive", b"PAR1": "a Parquet file", b"\x1f\x8b": "a .gz file",
          b"\xd0\xcf\x11\xe0": "an old Excel file (.xls; save it as .xlsx)"}  # fmt: skip
TITLES = 20  # lines above a header at most
MOST = 2**20  # characters of a header; a file without line ends must not be read whole


def check_table(path: str | Path, label: str | None, needs_label: bool = True) -> None:
    """Refuse what a look at the first line shows: no such file, no rows, no label named, no such label column.

    Whatever is not certain is left to `read`, which takes seconds to import.
    """
    path = Path(path).expanduser()
    if not path.exists():
        siblings = os.listdir(path.parent) if path.parent.is_dir() else []
        raise FileNotFoundError(f"{path} does not exist{near(path.name, siblings)}")
    refuse_pipe(path)
    name = path.name.lower()
    if not path.is_file() or not name.endswith((*TEXTS, ".parquet")):
        return
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; write it again")
    if label is None:
        if needs_label:
            raise ValueError(
                f"{path} needs a label column; add --label COLUMN, in Python label='COLUMN' "
                "(1 = known positive, 0 or empty = unlabelled)"
            )
        return
    refuse_other(path)
    readings = header(path)
    if readings and not any(label in (name, name.strip()) for names in readings for name in names):
        names = max(readings, key=len)
        hint = near(label, names) or below(label, _cells(path))
        raise ValueError(f"{path} has no column {label!r}{hint} (it has {some(names)})")


def refuse_pipe(path: Path) -> None:
    """Refuse what would wait for ever: a pipe that nobody writes into, a device without an end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} is a pipe or a device; give a file")


def refuse_other(path: Path) -> None:
    """Refuse a file that is named as text and is none. Others are found when the text is read."""
    if not path.name.lower().endswith(TEXTS[:3]):
        return
    with open(path, "rb") as file:
        start = file.read(4)
    kind = next((kind for mark, kind in OTHERS.items() if start.startswith(mark)), None)
    if kind is not None:
        raise ValueError(f"{path} is no text file: it begins as {kind} does; give it the ending of what it is")


def below(label: str, lines: Iterable[Iterable[object]]) -> str:
    """Say in which of the first lines a column is named, if others stand above the header. `lines` has their cells."""
    for number, cells in enumerate(islice(lines, TITLES), 1):
        if any(label == str(cell).strip() for cell in cells):
            return f"; line {number} names it: delete the lines above"
    return ""


def _cells(path: Path) -> list[list[str]]:
    """Return the cells of the first lines of a text file; [] for other files."""
    if path.name.lower().endswith(".parquet"):
        return []
    cut = re.compile(f"[{re.escape(SEPARATORS)}]")
    return [[cell.strip('" \r\n') for cell in cut.split(line)] for line in islice(_lines(path), TITLES)]


def header(path: Path) -> list[list[str]]:
    """Return the column names, once for each separator that the file may have; [] where a look does not tell."""
    try:
        if path.name.lower().endswith(".parquet"):
            from pyarrow.parquet import read_schema

            return [[str(name) for name in read_schema(path).names]]
        lines = _lines(path)
    except (ImportError, OSError, EOFError, ValueError, zlib.error):  # pyarrow's errors are ValueErrors
        return []
    try:
        return [next(csv.reader(lines, delimiter=mark), []) for mark in SEPARATORS]
    except csv.Error:
        return []


def _lines(path: Path) -> list[str]:
    """Return the first lines of a text file. Empty lines at the start do not count."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as file:
        return _text(file.read(MOST)).lstrip("\r\n").splitlines(keepends=True)


def _text(start: bytes) -> str:
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return start.decode("utf-16", errors="replace")
    try:
        return start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig")
    except UnicodeDecodeError:
        return start.decode("cp1252", errors="replace")
