"""The real tables that benchmarks read. The folder in DISTPU_TABLES holds tables.py, which loads and splits them."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from distpu.inputs import numbers


def source() -> Any:
    """Return the module tables.py: names, load, split."""
    spec = importlib.util.spec_from_file_location("tables", Path(os.environ["DISTPU_TABLES"]) / "tables.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ordinal(frame: pd.DataFrame) -> np.ndarray:
    """Numbers stay; every other value becomes its place in the sorted list of its column's values; blanks stay NaN."""
    columns = []
    for name in frame:
        column = frame[name]
        if column.dtype.kind not in "biuf":
            codes = column.astype("category").cat.codes.astype(float)
            column = codes.where(codes >= 0)
        columns.append(column.astype(float).to_numpy())
    return numbers(np.column_stack(columns))
