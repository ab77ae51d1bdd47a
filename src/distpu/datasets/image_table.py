"""Reads a table that names images: a column of paths, relative to the table, and a label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..params import near
from . import workbook
from .damaged import some
from .decode import is_image_name
from .header import TEXTS
from .images import Images, read_files
from .pieces import KINDS, pieces
from .separated import typed

if TYPE_CHECKING:
    import pandas as pd

LOOKED_AT = 50  # rows whose values tell a column of paths


def path_columns(path: str | Path) -> tuple[list[str], list[str]]:
    """Return the columns of a table that hold paths of images that are there, and the other columns."""
    path = Path(path).expanduser()
    if path.is_dir() or not path.name.lower().endswith(KINDS):
        return [], []
    if path.name.lower().endswith(workbook.KINDS):
        head = workbook.read(path, LOOKED_AT)
    else:
        head = next(iter(pieces(path, rows=LOOKED_AT)))
    found = [name for name in head if _holds_paths(head[name], path.parent)]
    return found, [name for name in head if name not in found]


def read_image_table(
    path: str | Path,
    column: str,
    label: str | None,
    *,
    size: int | None = None,
    shape: tuple[int, ...] | None = None,
    bound: Callable[[int], int] = int,
    strict: bool = False,
) -> Images:
    """Return the images that a column of a table names, in the order of the table. `label` is its label column."""
    import pandas as pd

    path = Path(path).expanduser()
    if column == label:
        raise ValueError(f"column {column!r} cannot be the label and the paths of the images; name two columns")
    wanted = [column] if label is None else [column, label]
    table = pd.concat(list(pieces(path, columns=wanted)), ignore_index=True)
    names = ["" if blank else str(name) for name, blank in zip(table[column], table[column].isna(), strict=True)]
    if not any(is_image_name(name) for name in names):
        raise ValueError(f"column {column!r} of {path} holds no paths of images; its first value is {names[0]!r}")
    y = None if label is None else _labels(table[label], path)
    return read_files(path.parent, names, y, size=size, shape=shape, bound=bound, strict=strict)


def check_column(path: str | Path, column: str) -> None:
    """Refuse a column that the table does not have."""
    found, others = path_columns(path)
    known = [*found, *others]
    if not known:
        raise ValueError(f"--images is for a table that names images, a .csv or .parquet file; {path} is none")
    if column not in known:
        raise ValueError(f"{path} has no column {column!r}{near(column, known)} (it has {some(known)})")


def _holds_paths(column: pd.Series, root: Path) -> bool:
    values = [value for value in column if isinstance(value, str) and value.strip()]
    return bool(values) and all(map(is_image_name, values)) and any((root / value).is_file() for value in values)


def _labels(column: pd.Series, path: Path) -> np.ndarray:
    """Return the labels as `read` gives them: 0 and 1 of a text file are numbers."""
    from pandas.api.types import is_numeric_dtype

    if path.name.lower().endswith(TEXTS):
        column = typed(column)
    if column.hasnans:  # a nullable column would give pandas.NA, which equals nothing
        return column.to_numpy(float if is_numeric_dtype(column) else object, na_value=float("nan"))
    return column.to_numpy()
