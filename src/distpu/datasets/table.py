"""Reads a user's own file: a path -> X, y."""

from __future__ import annotations

import gzip
import os
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..params import near, need
from .arrays import SUFFIXES, read_array
from .damaged import one_line, some

if TYPE_CHECKING:
    import pandas as pd


def read(
    path: str | Path, label: str | None = None, columns: list[str] | None = None
) -> tuple[np.ndarray | pd.DataFrame, np.ndarray | None]:
    """Return X and y of a .npy, .npz, .parquet, .csv or .tsv file (.csv and .tsv also as .gz).

    y is None when there is no label. If `columns` are given, X of a table has these columns only, in this order.
    """
    path = Path(path).expanduser()
    if not path.exists():
        siblings = os.listdir(path.parent) if path.parent.is_dir() else []
        raise FileNotFoundError(f"{path} does not exist{near(path.name, siblings)}")
    kinds = (*SUFFIXES, ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
    kind = next((kind for kind in kinds if path.name.lower().endswith(kind)), None)
    if kind is None or path.is_dir():
        what = "it is a folder" if path.is_dir() else f"extension {path.suffix!r} is not known"
        raise ValueError(f"{path} cannot be read ({what}); give a file that ends in {', '.join(kinds)}")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty; write it again")
    return read_array(path, label) if kind in SUFFIXES else _read_table(path, kind, label, columns)


def _read_table(
    path: Path, kind: str, label: str | None, columns: list[str] | None
) -> tuple[pd.DataFrame, np.ndarray | None]:
    import pandas as pd

    if kind == ".parquet":
        need("pyarrow", "parquet", "reading Parquet")
    with one_line(path, "write it again"):
        if kind == ".parquet":
            table = pd.read_parquet(path).reset_index(drop=True)
        else:  # low_memory guesses types piece by piece, which could mix 1 and "1" in one column
            table = pd.read_csv(path, low_memory=False, **_separated(path, kind))
    if not isinstance(table.index, pd.RangeIndex):  # pandas made row names of the surplus column
        raise ValueError(f"{path} has more fields in its rows than in its header; name every column")
    table.columns = table.columns.map(str)  # Parquet may hold numbers as names; a model stores names as text
    wanted = [*(columns or []), *([] if label is None else [label])]
    missing = [name for name in wanted if name not in table]
    if missing:
        hint = near(missing[0], table) if len(missing) == 1 else ""
        what = f"no column{'s' * (len(missing) > 1)} {some(missing)}"
        raise ValueError(f"{path} has {what}{hint} (it has {some(table)})")
    if not len(table):
        raise ValueError(f"{path} has columns but no rows; write it again")
    y = None if label is None else _as_in_file(table.pop(label))
    if columns is None:
        table = _without_row_numbers(table, path)
    return _numbers(table if columns is None else table[columns], path), y


def _separated(path: Path, kind: str) -> dict[str, str]:
    """Return pandas' separator options for a text file.

    A .csv file has commas, or semicolons if its header has more of them. European spreadsheets write semicolons, and
    often decimal commas with them.
    """
    if ".tsv" in kind:
        return {"sep": "\t"}
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", errors="replace") as file:
        header, *rows = [file.readline() for _ in range(20)]
    if header.count(";") <= header.count(","):
        return {"sep": ","}
    return {"sep": ";", "decimal": "," if any(re.search(r"\d,\d", row) for row in rows) else "."}


def _without_row_numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Leave out a nameless column of distinct whole numbers: it is pandas' index.

    In a table sorted by label, a model could read the labels off the row numbers.
    """
    from pandas.api.types import is_integer_dtype

    odd = [c for c in table if c.startswith("Unnamed: ") and is_integer_dtype(table[c]) and table[c].is_unique]
    if odd:
        warnings.warn(f"{path} has a column without a name that numbers the rows; it is left out", stacklevel=4)
    return table.drop(columns=odd)


def _as_in_file(column: pd.Series) -> np.ndarray:
    from pandas.api.types import is_numeric_dtype

    if column.hasnans:  # a nullable column would give pandas.NA, which equals nothing
        return column.to_numpy(float if is_numeric_dtype(column) else object, na_value=float("nan"))
    return column.to_numpy()


def _numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    from pandas.api.types import infer_dtype, is_numeric_dtype

    if not len(table.columns):
        raise ValueError(f"{path} has no column besides the label; add the columns to learn from")
    as_objects = ("boolean", "decimal", "empty")  # booleans with gaps, and types that only Parquet has
    odd = [c for c in table if not is_numeric_dtype(table[c]) and infer_dtype(table[c]) not in as_objects]
    if odd:
        remedy = "drop or encode these columns (mixed tables are not read yet)"
        raise ValueError(f"{path} has columns that are not numeric, {some(odd)}; {remedy}")
    return table.astype(float)
