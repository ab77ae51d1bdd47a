"""Rows in pieces, and what they are for the resume: a checksum of names, sizes and times."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import datasets
from ..datasets.arrays import SUFFIXES, read_array
from ..datasets.damaged import some
from ..datasets.header import TEXTS
from ..datasets.pieces import KINDS
from ..files.scores import missing
from ..params import near

ROWS = 50_000  # of a piece
LOOK = 2**20  # bytes from which the number of rows of a text file is estimated


def pieces(path: Path, columns: list[str] | None, rows: int, id: str | None, decimal: str | None) -> Iterator[Any]:
    """Yield the rows of a file or a folder of files, in order, as data frames or arrays of at most so many rows."""
    if path.suffix.lower() in SUFFIXES:  # .npy is a memory map: its slices are read when they are scored
        yield from slices(read_array(path)[0], rows)
    else:
        yield from datasets.pieces(path, columns=columns, rows=rows, texts=() if id is None else (id,), decimal=decimal)


def slices(x: Any, rows: int) -> Iterator[Any]:
    for start in range(0, len(x), rows):
        yield x[start : start + rows]


def about_how_many(path: Path) -> int | None:
    """Return the number of rows: exact where the file says it, else from the lengths of the first lines."""
    if path.suffix.lower() in SUFFIXES:
        return len(read_array(path)[0])
    if (known := datasets.count_rows(path)) is not None:
        return known
    files = _files(path)
    if not files or not all(one.name.lower().endswith(TEXTS) for one in files):
        return None
    try:
        with open(files[0], "rb") as raw:
            text = (gzip.GzipFile(fileobj=raw) if files[0].suffix.lower() == ".gz" else raw).read(LOOK)
            read = max(1, raw.tell())
    except (OSError, EOFError, zlib.error):  # a damaged file; its reader says so
        return None
    return round(text.count(b"\n") * sum(one.stat().st_size for one in files) / read)


def identity(path: Path) -> str:
    """Return a checksum of the names, sizes and times of the files: the content of large data is not read twice."""
    digest = hashlib.sha256()
    for one in _files(path):
        about = one.stat()
        digest.update(f"{one.resolve()} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def model_identity(folder: Path) -> str:
    """Return a checksum of the files that make the scores."""
    digest = hashlib.sha256()
    for one in sorted(folder.iterdir()):
        if one.name.startswith(("config", "model", "encoder")) and one.is_file():
            digest.update(f"{one.name} {one.stat().st_size}\n".encode())
            with open(one, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [Path(place, name) for place, _, names in sorted(os.walk(path)) for name in sorted(names)]


def holds_tables(folder: Path) -> bool:
    """Return whether the first file of a folder, or of a folder in it, is a table."""
    for _, inside, names in os.walk(folder):
        inside[:] = sorted(name for name in inside if not name.startswith((".", "_")))
        seen = [name for name in sorted(names) if not name.startswith((".", "_"))]
        if seen:
            return seen[0].lower().endswith(KINDS)
    return False


def taken_out(piece: Any, id: str | None, path: Path) -> tuple[Any, list[Any] | None]:
    """Take the column that names the rows out of a piece."""
    if id is None:
        return piece, None
    if not hasattr(piece, "columns"):
        raise ValueError(f"{path} has no named columns; leave --id out, in Python id=")
    if id not in piece:
        raise ValueError(f"{path} has no column {id!r}{near(id, piece)} to name the rows")
    return piece, [_plain(one) for one in piece[id].tolist()]


def as_numbers(piece: Any, start: int, path: Path) -> Any:
    """Return a piece as numbers, for a model that was trained on numbers; else name a value that is none."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    odd = [name for name in piece if not is_numeric_dtype(piece[name])]
    found = {name: pd.to_numeric(piece[name].astype(object), errors="coerce") for name in odd}
    bad = {name: piece[name].notna() & found[name].isna() for name in odd}
    wrong = [name for name in odd if bad[name].any()]
    if wrong:
        first = int(bad[wrong[0]].to_numpy().argmax())
        which = f"{piece[wrong[0]].iloc[first]!r} in row {start + first}"
        raise ValueError(
            f"{path} has columns that are not numeric, {some(wrong)} ({which}); the model was trained on numbers there"
        )
    return piece.assign(**found) if odd else piece


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it. A whole number stays one, though a blank in its column made it a float."""
    if missing(value):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value if isinstance(value, (str, int, float)) else str(value)
