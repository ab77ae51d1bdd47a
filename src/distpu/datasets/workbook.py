"""Reads Excel files: one sheet of a workbook. If there are several, the one that is read is said."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from ..params import near, need
from .damaged import one_line, some

if TYPE_CHECKING:
    import pandas as pd

KINDS = (".xlsx", ".xlsm")
PLAUSIBLE = 2**31  # bytes that the parts of a workbook may become
_sheet: ContextVar[str | None] = ContextVar("sheet", default=None)  # that a user named


@contextmanager
def of_sheet(name: str | None, path: str | Path) -> Iterator[None]:
    """Read this sheet of workbooks inside the block; None: the first one that holds rows."""
    if name is not None and not str(path).lower().endswith(KINDS):
        raise ValueError(f"--sheet {name} is for Excel files, and {path} is none; leave it out")
    before = _sheet.set(name)
    try:
        yield
    finally:
        _sheet.reset(before)


def read(path: Path, rows: int | None = None) -> pd.DataFrame:
    """Return a sheet as a table: the one that `of_sheet` names, else the first one that holds rows.

    `rows`: so many at most, for a look at the table, of which nothing is said.
    """
    import pandas as pd

    need("openpyxl", "excel", "reading Excel")
    with one_line(path, "write it again"):
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > PLAUSIBLE:
            raise ValueError(f"it inflates to {size / 2**30:.0f} GiB, as an archive bomb does")
        book = pd.ExcelFile(path, engine="openpyxl")
    with book:
        names, wanted = [str(name) for name in book.sheet_names], _sheet.get()
        if wanted is not None and wanted not in names:
            raise ValueError(f"{path} has no sheet {wanted!r}{near(wanted, names)} (it has {some(names)})")
        for name in names if wanted is None else [wanted]:
            with one_line(path, "write it again"):
                table = pd.read_excel(book, sheet_name=name, nrows=rows)
            if len(table):
                break
    if wanted is None and len(names) > 1 and rows is None:
        others = some(other for other in names if other != name)
        warnings.warn(
            f"{path} has {len(names)} sheets, of which {name!r} is read; --sheet NAME, in Python sheet='NAME', reads "
            f"another one ({others})",
            UserWarning,
            stacklevel=2,
        )
    return table
