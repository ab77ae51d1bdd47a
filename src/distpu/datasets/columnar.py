"""Reads Parquet, Arrow, Feather and Excel files."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..params import need
from .damaged import one_line

if TYPE_CHECKING:
    import pandas as pd

ARROW = (".arrow", ".feather", ".ipc", ".arrows")
EXCEL = (".xlsx", ".xlsm")
PLAUSIBLE = 2**31  # bytes that the parts of a workbook may become


def read(path: Path, kind: str) -> pd.DataFrame:
    if kind in EXCEL:
        return _excel(path)
    if kind == ".parquet":
        import pandas as pd

        need("pyarrow", "parquet", "reading Parquet")
        with one_line(path, "write it again"):
            return pd.read_parquet(path).reset_index(drop=True)
    with one_line(path, "write it again"):
        return _arrow(path).read_all().to_pandas().reset_index(drop=True)


def pieces(
    path: Path, kind: str, columns: list[str] | None, rows: int, names: Collection[str] = ()
) -> Iterator[pd.DataFrame]:
    """Yield the table in pieces; a workbook is read at once, because it has at most a million rows.

    Whole numbers of the columns `names` stay whole beside a blank: as floats, long ids would become the same.
    """
    if kind in EXCEL:
        whole = _excel(path)
        for start in range(0, len(whole), rows):
            yield whole[start : start + rows].reset_index(drop=True)
        return
    with one_line(path, "write it again"):
        batches = _batches(path, kind, columns, rows)
    while True:
        with one_line(path, "write it again"):
            batch = next(batches, None)
        if batch is None:
            return
        for start in range(0, batch.num_rows, rows):
            yield _frame(batch.slice(start, rows), names)


def _frame(batch: Any, names: Collection[str]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow

    frame = batch.to_pandas()
    for name in names:
        if (i := batch.schema.get_field_index(name)) >= 0 and name in frame:
            if pyarrow.types.is_integer(batch.schema.field(i).type) and batch.column(i).null_count:
                frame[name] = pd.Series(batch.column(i).to_pylist(), index=frame.index, dtype=object)
    return frame


def _batches(path: Path, kind: str, columns: list[str] | None, rows: int) -> Iterator[Any]:
    if kind in ARROW:
        reader = _arrow(path)
        return (reader.get_batch(i) for i in range(reader.num_record_batches)) if _random(reader) else iter(reader)
    parquet = need("pyarrow.parquet", "parquet", "reading Parquet")
    file = parquet.ParquetFile(path)
    names = [str(name) for name in file.schema_arrow.names]
    wanted = None if columns is None or not set(columns) <= set(names) else columns
    return file.iter_batches(batch_size=rows, columns=wanted)


def _random(reader: Any) -> bool:
    return hasattr(reader, "num_record_batches")


def _arrow(path: Path) -> Any:
    pyarrow = need("pyarrow", "parquet", "reading Arrow files")
    file = pyarrow.memory_map(str(path))
    try:
        return pyarrow.ipc.open_file(file)
    except pyarrow.ArrowInvalid:
        file.seek(0)
        return pyarrow.ipc.open_stream(file)


def _excel(path: Path) -> pd.DataFrame:
    import pandas as pd

    need("openpyxl", "excel", "reading Excel")
    with one_line(path, "write it again"):
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > PLAUSIBLE:
            raise ValueError(f"it inflates to {size / 2**30:.0f} GiB, as an archive bomb does")
        sheets = pd.read_excel(path, sheet_name=None, engine="openpyxl")
    return next((sheet for sheet in sheets.values() if len(sheet)), next(iter(sheets.values())))
