"""Rows on disk for the time of a run. The file has no name: nothing is left of it, also after kill -9."""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


class Scratch:
    """Rows of float32, written one after the other and then read through a memory map.

    They are written, not stored through the map: on a full disk a write is an error, and a map would end the process.
    """

    def __init__(self, folder: Path | None, width: int):
        self.width, self.rows = width, 0
        self.where = folder or Path(tempfile.gettempdir())
        self.file = tempfile.TemporaryFile(dir=self.where)

    def check_room(self, rows: int) -> None:
        """Refuse a disk that has no room for so many rows."""
        free, wanted = shutil.disk_usage(self.where).free, 4 * self.width * rows
        if wanted > free:
            raise ValueError(
                f"{rows:,} rows of {self.width} numbers need {wanted / 2**30:.1f} GiB of disk, and {self.where} has "
                f"{free / 2**30:.1f}; name a folder on another disk"
            )

    def append(self, rows: np.ndarray) -> None:
        try:
            self.file.write(np.ascontiguousarray(rows, dtype=np.float32).data)
        except OSError as error:
            error.filename = str(self.where)
            raise
        self.rows += len(rows)

    def mapped(self) -> np.ndarray:
        """Return all rows, to be read only. The map lives as long as the array does."""
        with self.file as file:
            file.flush()
            return np.memmap(file, np.float32, "r", shape=(self.rows, self.width))

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def mapped(x: Any) -> np.memmap | None:
    """Return the memory map that an array is a view of; None for an array in memory."""
    while x is not None and not isinstance(x, np.memmap):
        x = getattr(x, "base", None)
    return x


def forgetting(x: np.memmap | None) -> Callable[[], None]:
    """Return a function that takes the pages of a map that were read out of this process's memory.

    They stay in the system's cache, which gives them up when memory is needed. A map that was written to is left alone.
    """
    pages = getattr(x, "_mmap", None)
    if pages is None or getattr(x, "mode", "") != "r" or not hasattr(mmap, "MADV_DONTNEED"):
        return lambda: None
    return lambda: pages.madvise(mmap.MADV_DONTNEED)


def in_parts(x: Any, rows: int = 2**16) -> Iterator[Any]:
    """Yield the rows of an array part by part. Pages of a memory map leave this process's memory after each part."""
    forget = forgetting(mapped(x))
    for start in range(0, len(x), rows):
        yield x[start : start + rows]
        forget()
