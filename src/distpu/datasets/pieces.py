"""Reads a table of any size in pieces: a file, or a folder of files, in order and with flat memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..params import near, need
from .damaged import one_line, some
from .header import TEXTS

if TYPE_CHECKING:
    import pandas as pd

KINDS = (*TEXTS, ".parquet")
ROWS = 50_000


def pieces(path: str | Path, columns: list[str] | None = None, rows: int = ROWS) -> Iterator[pd.DataFrame]:
    """Yield the rows of a table in file order, at most `rows` at a time, with these columns only, in this order."""
    from .table import read

    path = Path(path).expanduser()
    if not path.is_dir() and not path.name.lower().endswith(KINDS):
        whole = read(path, columns=columns)[0]  # says what is wrong, or reads a kind that has no pieces
        for start in range(0, len(whole), rows):
            yield whole[start : start + rows]
        return
    some_rows = False
    for file in files_of(path):
        for piece in _of_file(file, columns, rows):
            some_rows = True
            yield piece
    if not some_rows:
        raise ValueError(f"{path} has columns but no rows; write it again")


def count_rows(path: str | Path) -> int | None:
    """Return the number of rows if all files are Parquet, which say it; else None."""
    path = Path(path).expanduser()
    files = files_of(path) if path.is_dir() else [path]
    if not all(file.name.lower().endswith(".parquet") for file in files):
        return None
    parquet = need("pyarrow.parquet", "parquet", "reading Parquet")
    total = 0
    for file in files:
        with one_line(file, "write it again"):
            total += parquet.read_metadata(file).num_rows
    return total


def files_of(path: Path) -> list[Path]:
    """Return the file, or the tables of a folder and its folders, by name; those that begin with . or _ are no data."""
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
    if len({one.name.lower().endswith(".parquet") for one in found}) > 1:
        raise ValueError(f"{path} has Parquet and text files; give a folder with one kind of table")
    return found


def _of_file(path: Path, columns: list[str] | None, rows: int) -> Iterator[pd.DataFrame]:
    read = _parquet if path.name.lower().endswith(".parquet") else _text
    for piece in read(path, columns, rows):
        piece.columns = piece.columns.map(str)
        missing = [name for name in columns or [] if name not in piece]
        if missing:
            hint = near(missing[0], piece) if len(missing) == 1 else ""
            what = f"no column{'s' * (len(missing) > 1)} {some(missing)}"
            raise ValueError(f"{path} has {what}{hint} (it has {some(piece)})")
        if len(piece):
            yield piece if columns is None else piece[columns]


def _text(path: Path, columns: list[str] | None, rows: int) -> Iterator[pd.DataFrame]:
    import pandas as pd

    from .table import _separated

    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; write it again")
    kind = next(kind for kind in (".tsv", ".csv") if kind in path.name.lower())
    with one_line(path, "write it again"):
        reader: Any = pd.read_csv(path, chunksize=rows, low_memory=False, **_separated(path, kind))
    with reader:
        while True:
            with one_line(path, "write it again"):
                piece = next(reader, None)
            if piece is None:
                return
            if not isinstance(piece.index, pd.RangeIndex):
                raise ValueError(f"{path} has more fields in its rows than in its header; name every column")
            yield piece.reset_index(drop=True)


def _parquet(path: Path, columns: list[str] | None, rows: int) -> Iterator[pd.DataFrame]:
    parquet = need("pyarrow.parquet", "parquet", "reading Parquet")
    with one_line(path, "write it again"):
        file = parquet.ParquetFile(path)
    names = [str(name) for name in file.schema_arrow.names]
    wanted = None if columns is None or not set(columns) <= set(names) else columns
    batches = file.iter_batches(batch_size=rows, columns=wanted)
    while True:
        with one_line(path, "write it again"):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch.to_pandas()
