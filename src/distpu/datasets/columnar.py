"""Reads Parquet, Arrow and Feather files, and Excel files by way of workbook.py."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..params import need
from . import workbook
from .damaged import one_line

if TYPE_CHECKING:
    import pandas as pd

ARROW = (".arrow", ".feather", ".ipc", ".arrows")
EXCEL = workbook.KINDS


def read(path: Path, kind: str) -> pd.DataFrame:
    if kind in EXCEL:
        return workbook.read(path)
    if kind == ".parquet":
        import pandas as pd

        need("pyarrow", "parquet", "reading Parquet")
        with one_line(path, "write it again"):
            return pd.read_parquet(path).reset_index(drop=True)
    with one_line(path, "write it again"):
        return _arrow(path).read_all().to_pandas().reset_index(drop=True)


def pieces(
    path: Path, kind: str, columns: list[str] | None, rows: int, names: Collection[str] = (), first: int = 0
) -> Iterator[pd.DataFrame]:
    """Yield the table in pieces of `rows` rows, the last one shorter, from piece number `first` on.

    A workbook is read at once, because it has at most a million rows. Whole numbers of the columns `names` stay whole
    beside a blank: as floats, long ids would become the same.
    """
    if kind in EXCEL:
        whole = workbook.read(path)
        for start in range(first * rows, len(whole), rows):
            yield whole[start : start + rows].reset_index(drop=True)
        return
    with one_line(path, "write it again"):
        tables = _of_rows(_batches(path, kind, columns, rows, first * rows), rows)
    while True:
        with one_line(path, "write it again"):
            table = next(tables, None)
        if table is None:
            return
        yield _frame(table, names)


def _of_rows(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Cut and join batches to `rows` rows each: where a batch ends must not depend on how the file was written."""
    import pyarrow

    waiting: list[Any] = []
    for batch in batches:
        while batch.num_rows:
            part = batch.slice(0, rows - sum(one.num_rows for one in waiting))
            waiting, batch = [*waiting, part], batch.slice(part.num_rows)
            if sum(one.num_rows for one in waiting) == rows:
                yield waiting[0] if len(waiting) == 1 else pyarrow.Table.from_batches(waiting)
                waiting = []
    if waiting:
        yield waiting[0] if len(waiting) == 1 else pyarrow.Table.from_batches(waiting)


def _frame(batch: Any, names: Collection[str]) -> pd.DataFrame:
    import pandas as pd
    import pyarrow

    frame = batch.to_pandas()
    for name in names:
        if (i := batch.schema.get_field_index(name)) >= 0 and name in frame:
            if pyarrow.types.is_integer(batch.schema.field(i).type) and batch.column(i).null_count:
                frame[name] = pd.Series(batch.column(i).to_pylist(), index=frame.index, dtype=object)
    return frame


def _batches(path: Path, kind: str, columns: list[str] | None, rows: int, start: int) -> Iterator[Any]:
    """Return the record batches from row number `start` on."""
    if kind in ARROW:
        reader = _arrow(path)
        found = (reader.get_batch(i) for i in range(reader.num_record_batches)) if _random(reader) else iter(reader)
        return _without_first(found, start)
    parquet = need("pyarrow.parquet", "parquet", "reading Parquet")
    file = parquet.ParquetFile(path, pre_buffer=False)  # a buffer would keep all that was read of the file
    names = [str(name) for name in file.schema_arrow.names]
    wanted = None if columns is None or not set(columns) <= set(names) else columns
    groups = range(file.metadata.num_row_groups)
    for first in groups:
        count = file.metadata.row_group(first).num_rows
        if start < count:
            break
        start, groups = start - count, groups[1:]
    return _without_first(file.iter_batches(batch_size=rows, columns=wanted, row_groups=[*groups]), start)


def _without_first(batches: Iterator[Any], count: int) -> Iterator[Any]:
    for batch in batches:
        if count < batch.num_rows:
            yield batch.slice(count)
        count = max(0, count - batch.num_rows)


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
