"""Reads a table of any size in pieces: a file, or a folder of files, in order and with flat memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..params import need
from . import columnar, separated
from .damaged import one_line
from .header import TEXTS, refuse_pipe

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".parquet", *TEXTS, *columnar.ARROW, *columnar.EXCEL)
ROWS = 50_000


def pieces(
    path: str | Path,
    columns: list[str] | None = None,
    rows: int = ROWS,
    texts: Collection[str] = (),
    decimal: str | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the rows of a table in file order, at most `rows` at a time, with these columns only, in this order.

    In a text file, cells of the columns `texts` stay as they are written. `decimal` is the sign of the training file.
    """
    from .table import read

    path = Path(path).expanduser()
    if not path.is_dir() and not path.name.lower().endswith(KINDS):
        whole = read(path, columns=columns)[0]  # says what is wrong, or reads a kind that has no pieces
        for start in range(0, len(whole), rows):
            yield whole[start : start + rows]
        return
    some_rows = False
    for file in files_of(path):
        for piece in of_file(file, columns, rows, texts, decimal):
            some_rows = True
            yield piece
    if not some_rows:
        raise ValueError(f"{path} has columns but no rows; write it again")


def count_rows(path: str | Path) -> int | None:
    """Return the number of rows if all files are Parquet, which say it; else None."""
    found = parquet_files(path)
    return None if found is None else sum(found.values())


def parquet_files(path: str | Path) -> dict[Path, int] | None:
    """Return the Parquet files with their numbers of rows, in order; None if some files are of other kinds."""
    path = Path(path).expanduser()
    files = files_of(path)
    if not all(file.name.lower().endswith(".parquet") for file in files):
        return None
    parquet = need("pyarrow.parquet", "parquet", "reading Parquet")
    found = {}
    for file in files:
        with one_line(file, "write it again"):
            found[file] = parquet.read_metadata(file).num_rows
    return found


def files_of(path: Path) -> list[Path]:
    """Return the file, or the tables of a folder and its folders, by name; those that begin with . or _ are no data."""
    refuse_pipe(path)
    if not path.is_dir():
        return [path]
    inside = sorted(path.rglob("*"))
    found = [
        one
        for one in inside
        if one.is_file()
        and one.name.lower().endswith(KINDS)
        and not any(part.startswith((".", "_")) for part in one.relative_to(path).parts)
    ]
    if not found:
        raise ValueError(f"{path} is a folder without tables; give one that has files ending in {', '.join(KINDS)}")
    if len({next(kind for kind in KINDS if one.name.lower().endswith(kind)) for one in found}) > 1:
        raise ValueError(f"{path} has tables of several kinds; give a folder with one kind of table")
    return found


def of_file(
    path: Path, columns: list[str] | None, rows: int, texts: Collection[str], decimal: str | None = None, first: int = 0
) -> Iterator[pd.DataFrame]:
    """Yield the rows of one file. A Parquet file may begin at piece number `first`, which is found without reading."""
    from .table import check_columns, named

    kind = next(kind for kind in KINDS if path.name.lower().endswith(kind))
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; write it again")
    if kind in TEXTS:
        found = separated.pieces(path, kind, rows, texts, decimal)
    else:
        found = columnar.pieces(path, kind, columns, rows, texts, first)
    for piece in found:
        piece = named(piece, path)
        check_columns(piece, path, columns or [])
        if len(piece):
            yield piece if columns is None else piece[columns]
