"""Reads text files with columns: any common separator and encoding, decimal commas, gz."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from . import decimals
from .damaged import most_bytes, one_line
from .header import SEPARATORS

if TYPE_CHECKING:
    import pandas as pd

LOOK = 2**18  # characters by which the separator is found
STEP = 2**22  # bytes of a step through the file


@dataclass(frozen=True)
class Form:
    """How a text file is written."""

    separator: str
    encoding: str
    decimal: str


def form_of(path: Path, kind: str, decimal: str | None = None) -> Form:
    """Look through the whole file once: its encoding, its separator, its decimal sign. A bomb is refused.

    `decimal` is the sign of the file that a model was trained on.
    """
    encoding = _encoding(path)
    with _opened(path) as file:
        text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(file.read(LOOK))
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    if text and len(lines) > 2 and len(text) >= LOOK // 4:
        lines = lines[:-1]  # the last one may be cut
    separator = _separator(lines, kind)
    _refuse_twice(lines[:1], separator)
    _refuse_cut(path, encoding, lines[:1], separator)
    with _opened(path) as file:
        return Form(separator, encoding, decimals.decimal_of(file, encoding, separator, decimal))


def read(path: Path, kind: str, texts: Collection[str] = (), decimal: str | None = None) -> pd.DataFrame:
    """Return the whole table. Each column has one type, found from all of its cells; `texts` stay as they are written.

    The table's attrs have the decimal sign, so that a model can store it.
    """
    import pandas as pd

    with one_line(path, "write it again"):
        form = form_of(path, kind, decimal)
        types: dict[str, Any] = {"dtype": dict.fromkeys(texts, str), "low_memory": False}  # else it could mix 1 and "1"
        table = pd.read_csv(path, **({"dtype": str} if form.decimal == "," else types), **_options(form))
    _refuse_surplus(path, table)
    if form.decimal == ",":
        table = _with_points(table, texts)
        once = not table.columns.duplicated().any()
        table = table.assign(**{name: typed(table[name]) for name in table if once and name not in texts})
    table.attrs["decimal"] = form.decimal
    return table


def pieces(
    path: Path, kind: str, rows: int, texts: Collection[str] = (), decimal: str | None = None
) -> Iterator[pd.DataFrame]:
    """Yield the table in pieces of texts: what a cell is must not depend on the other cells of its piece."""
    import pandas as pd

    with one_line(path, "write it again"):
        form = form_of(path, kind, decimal)
        reader: Any = pd.read_csv(path, chunksize=rows, dtype=str, **_options(form))
    with reader:
        while True:
            with one_line(path, "write it again"):
                piece = next(reader, None)
            if piece is None:
                return
            _refuse_surplus(path, piece)
            yield (_with_points(piece, texts) if form.decimal == "," else piece).reset_index(drop=True)


def _options(form: Form) -> dict[str, Any]:
    import pandas as pd

    options: dict[str, Any] = {"sep": form.separator, "encoding": form.encoding}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):  # later ones round as Python does
        options["float_precision"] = "round_trip"  # so that a number read at once and one read as text are the same
    return options


def typed(column: pd.Series) -> pd.Series:
    """Return a column of texts as numbers or booleans if all of its cells are such."""
    import pandas as pd

    values = set(column.dropna().head(1000))
    if values and values <= {"True", "False", "TRUE", "FALSE", "true", "false"}:
        truth = column.str.lower().map({"true": True, "false": False})
        return truth.astype(bool) if column.notna().all() else column
    try:
        return pd.to_numeric(column.astype(object))
    except (ValueError, TypeError):
        return column


def _refuse_surplus(path: Path, table: pd.DataFrame) -> None:
    import pandas as pd

    if not isinstance(table.index, pd.RangeIndex):  # pandas made row names of the surplus column
        raise ValueError(f"{path} has more fields in its rows than in its header; name every column")


def _with_points(table: pd.DataFrame, texts: Collection[str]) -> pd.DataFrame:
    """Return the table with '1.234,5' as '1234.5', in cells that are such a number and nothing else."""
    from pandas.api.types import is_numeric_dtype

    changed = {}
    for name in table:
        column = table[name]
        if name in texts or isinstance(column, type(table)) or is_numeric_dtype(column.dtype):
            continue
        number = column.str.strip().str.fullmatch(decimals.NUMBER).fillna(False).astype(bool)
        if number.any():
            pointed = column.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
            changed[name] = column.where(~number, pointed)
    return table.assign(**changed) if changed else table


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb")  # type: ignore[return-value]


def _encoding(path: Path) -> str:
    """Return the encoding of the whole file: by its mark, else UTF-8 if it is valid, else Windows' Latin."""
    most, guess = most_bytes(path), None
    utf8: Any = codecs.getincrementaldecoder("utf-8")()
    valid, total, odd = True, 0, False
    with _opened(path) as file:
        start = file.read(STEP)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            guess = "utf-16"
        marked = start.startswith(codecs.BOM_UTF8)
        if b"\0" in start and guess is None and (guess := _utf16(start)) is None:
            raise ValueError("it holds bytes that no text has; it is not a text file")
        if guess is not None and path.suffix.lower() != ".gz":
            return guess
        while start:
            total += len(start)
            if total > most:
                raise ValueError(f"it inflates to over {most / 2**30:.0f} GiB, as an archive bomb does")
            if guess is not None:
                start = file.read(STEP)
                continue
            odd |= bool(re.search(rb"[\x81\x8d\x8f\x90\x9d]", start)) if not valid else False
            if valid:
                try:
                    utf8.decode(start)
                except UnicodeDecodeError:
                    valid = False
                    odd = bool(re.search(rb"[\x81\x8d\x8f\x90\x9d]", start))
            start = file.read(STEP)
    if guess is not None:
        return guess
    if valid:
        return "utf-8-sig" if marked else "utf-8"
    return "latin-1" if odd else "cp1252"


def _refuse_twice(header: list[str], separator: str) -> None:
    """Refuse two columns of one name: pandas would rename the second one without a word."""
    names = [name.strip() for name in next(csv.reader(header, delimiter=separator), [])]
    twice = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"it has two columns {twice!r}")


def _refuse_cut(path: Path, encoding: str, header: list[str], separator: str) -> None:
    """Refuse a file that ends within a line. A .gz file says itself where it ends."""
    if path.suffix.lower() == ".gz" or not header or encoding.startswith("utf-16"):
        return
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - LOOK))
        tail = file.read().decode(encoding, errors="replace")
    if tail.endswith(("\n", "\r")) or "\n" not in tail:
        return
    lines = tail.split("\n")
    quoted = [i for i, line in enumerate(lines) if line.count('"') % 2]  # a text of several lines opens or ends there
    start = quoted[-2] if len(quoted) > 1 and quoted[-1] == len(lines) - 1 else len(lines) - 1
    last, names = (next(csv.reader([text], delimiter=separator), []) for text in ("\n".join(lines[start:]), header[0]))
    if last and len(last) < len(names):
        raise ValueError(f"its last line has {len(last)} of {len(names)} fields, so the file was cut off")


def _utf16(start: bytes) -> str | None:
    """Return the order of the bytes of UTF-16 without a mark; None if this is no such text."""
    half = max(1, len(start) // 2)
    even, uneven = start[0::2].count(0) / half, start[1::2].count(0) / half
    return "utf-16-le" if uneven > 0.4 > 0.1 > even else "utf-16-be" if even > 0.4 > 0.1 > uneven else None


def _separator(lines: list[str], kind: str) -> str:
    """Return the separator by which most lines have as many fields as the header, and the header has most fields."""
    best, score = "\t" if "tsv" in kind else ",", (False, 1, 0.0)
    for mark in dict.fromkeys([best, *SEPARATORS]):
        try:
            fields = [len(row) for row in csv.reader(lines, delimiter=mark)]
        except csv.Error:
            continue
        if not fields:
            continue
        same = sum(n == fields[0] for n in fields) / len(fields)
        found = (same > 0.8 and fields[0] > 1, fields[0], same)
        if found > score:
            best, score = mark, found
    return best
