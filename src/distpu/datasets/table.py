"""Reads a user's own file: a path -> X, y."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..params import near, near_each
from . import columnar, separated
from .arrays import SUFFIXES, read_array
from .damaged import some
from .header import TEXTS, TITLES, below, refuse_other, refuse_pipe

if TYPE_CHECKING:
    import pandas as pd

KINDS = (*SUFFIXES, ".parquet", *TEXTS, *columnar.ARROW, *columnar.EXCEL)

HINTS = 3  # names of missing columns for which a hint is sought


def read(
    path: str | Path, label: str | None = None, columns: list[str] | None = None, texts: Collection[str] = ()
) -> tuple[np.ndarray | pd.DataFrame, np.ndarray | None]:
    """Return X and y of a table, of a folder of tables, or of a .npy or .npz file.

    A table's X is a data frame with the cells as they are in the file: numbers, texts, dates, blanks. y is None when
    there is no label. If `columns` are given, X of a table has these columns only, in this order.
    In a text file, cells of the columns `texts` stay as they are written: an account 000013 is not 13.
    """
    path = Path(path).expanduser()
    if not path.exists():
        siblings = os.listdir(path.parent) if path.parent.is_dir() else []
        raise FileNotFoundError(f"{path} does not exist{near(path.name, siblings)}")
    refuse_pipe(path)
    kind = next((kind for kind in KINDS if path.name.lower().endswith(kind)), None)
    if path.is_dir():
        return _of_table(_folder(path, texts), path, label, columns)
    if kind is None:
        what = f"extension {path.suffix!r} is not known"
        raise ValueError(f"{path} cannot be read ({what}); give a file that ends in {', '.join(KINDS)}")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; write it again")
    refuse_other(path)
    if kind in SUFFIXES:
        return read_array(path, label)
    return _of_table(_whole(path, kind, texts), path, label, columns)


def _whole(path: Path, kind: str, texts: Collection[str], decimal: str | None = None) -> pd.DataFrame:
    return separated.read(path, kind, texts, decimal) if kind in TEXTS else columnar.read(path, kind)


def _folder(path: Path, texts: Collection[str]) -> pd.DataFrame:
    """Return the tables of a folder as one, in the order of their names."""
    import pandas as pd

    from .pieces import files_of

    files = [(file, next(k for k in KINDS if file.name.lower().endswith(k))) for file in files_of(path)]
    tables = [_whole(file, kind, texts) for file, kind in files]
    signs = [table.attrs.get("decimal") for table in tables]
    if "," in signs and "." in signs:  # a file with no decimals must be read as its neighbours are
        tables = [_whole(file, kind, texts, ",") for file, kind in files]
    for other in tables[1:]:
        if list(other.columns) != list(tables[0].columns):
            raise ValueError(f"{path} has tables with different columns; give a folder whose tables have the same ones")
    return pd.concat(tables, ignore_index=True)


def _of_table(
    table: pd.DataFrame, path: Path, label: str | None, columns: list[str] | None
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the columns to learn from as they are in the file, and the label."""
    table = named(table, path)
    check_columns(table, path, [*(columns or []), *([] if label is None else [label])])
    if not len(table):
        raise ValueError(f"{path} has columns but no rows; write it again")
    y = None if label is None else in_file(table.pop(label))
    if columns is None:
        table = _without_row_numbers(table, path)
        if not len(table.columns):
            raise ValueError(f"{path} has no column besides the label; add the columns to learn from")
    return table if columns is None else table[columns], y


def named(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the table with texts as names, each once. A model stores names as text."""
    names = [str(name) for name in table.columns]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"{path} has two columns {twice[0]!r}; rename one of them")
    return table.set_axis(names, axis=1)


def check_columns(table: pd.DataFrame, path: Path, wanted: list[str]) -> None:
    """Refuse a table without the columns that are wanted."""
    missing = [name for name in wanted if name not in table]
    if missing:
        hint = near_each(missing[:HINTS], [name for name in table if name not in wanted])
        lines = chain([()], table.head(TITLES).itertuples(index=False))  # the first one was taken for the header
        hint = hint or below(missing[0], lines)
        what = f"no column{'s' * (len(missing) > 1)} {some(missing)}"
        raise ValueError(f"{path} has {what}{hint} (it has {some(table)})")


def _without_row_numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Leave out a nameless column of distinct whole numbers: it is pandas' index.

    In a table sorted by label, a model could read the labels off the row numbers.
    """
    from pandas.api.types import is_integer_dtype

    odd = [c for c in table if c.startswith("Unnamed: ") and is_integer_dtype(table[c]) and table[c].is_unique]
    if odd:
        warnings.warn(f"{path} has a column without a name that numbers the rows; it is left out", stacklevel=4)
    return table.drop(columns=odd)


def in_file(column: pd.Series) -> np.ndarray:
    """Return a column's values as they are in the file; a blank is NaN."""
    from pandas.api.types import is_numeric_dtype

    if column.hasnans:  # a nullable column would give pandas.NA, which equals nothing
        return column.to_numpy(float if is_numeric_dtype(column) else object, na_value=float("nan"))
    return column.to_numpy()
