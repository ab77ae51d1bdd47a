"""Frames of pandas, polars and pyarrow -> columns of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..kinds import short


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns: a frame of pandas or polars, or a table of pyarrow."""
    return type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow") and hasattr(X, "columns")


def names_of(X: Any) -> list[str]:
    names = X.column_names if hasattr(X, "column_names") else X.columns
    return [str(name) for name in names]


def as_pandas(X: Any) -> pd.DataFrame:
    """Return a frame as a pandas frame whose names are texts. Two columns of one name are refused."""
    package = type(X).__module__.split(".")[0]
    if package == "pyarrow":
        X = X.to_pandas()
    elif package == "polars":
        if hasattr(X, "collect"):
            X = X.collect()
        X = pd.DataFrame({name: _of_polars(X[name]) for name in X.columns})
    refuse_twice(X)
    names = names_of(X)
    if names != list(X.columns):
        X = X.set_axis(names, axis=1)
    return X


def refuse_twice(X: Any) -> None:
    """Refuse a frame with two columns of one name."""
    names = names_of(X)
    if len(set(names)) == len(names):
        return
    twice = next(name for i, name in enumerate(names) if name in names[:i])
    raise ValueError(f"X has two columns {short(twice)}; rename or drop one of them")


def _of_polars(column: Any) -> Any:
    kind = str(column.dtype)
    plain = kind.startswith(("Int", "UInt", "Float", "Boolean", "Datetime", "Date")) and not column.null_count()
    plain = plain and not kind.endswith("128")  # NumPy has no whole numbers of 128 bits
    return column.to_numpy() if plain else pd.Series(column.to_list(), dtype=None if len(column) else object)
