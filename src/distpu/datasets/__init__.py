"""Data sets: a name (`load`) or a user's file (`read`) in, arrays out.

The content of a file decides whether it is used, not its name or origin: its md5 must be that of the official
release. Unpickling calls no function that a file names, and unpacking writes only into the set's own folder.
pandas, scikit-learn, Pillow and rich are imported where they are used, so that listing the sets stays quick.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from . import alzheimer
from .arrays import read_label_array
from .fetch import located
from .image_table import check_column, path_columns, read_image_table
from .images import Images, has_looked_at, is_image_folder
from .images import read_folder as read_images
from .known import COUNTS, INFO, MD5, NAMES, SOURCES, Dataset, Info, info
from .pieces import count_rows, pieces
from .places import found, home
from .readers import breast_cancer, cifar10, digits, fashion_mnist
from .table import read
from .workbook import of_sheet

__all__ = ["COUNTS", "MD5", "NAMES", "SOURCES", "Dataset", "Images", "Info", "catalog", "check_column", "count_rows",
           "has_looked_at", "info", "is_image_folder", "load", "of_sheet", "path_columns", "pieces", "read",
           "read_image_table", "read_images", "read_label_array"]  # fmt: skip


def load(name: str, root: str | Path | None = None, download: bool = True) -> Dataset:
    """Return the named set with its true labels.

    The set is read from `root` or one of the usual places. If it is in none of them, it is downloaded.
    """
    known = info(name)
    arrays = _SKLEARN[name]() if name in _SKLEARN else _READERS[name](located(name, root, download))
    x, y, x_test, y_test, *apart = arrays
    return Dataset(name, x, y, x_test, y_test, known.labelled, known.positive, *apart)


def catalog(root: str | Path | None = None) -> list[Info]:
    """Return all sets and where each one is. Only file names are looked at."""
    there = {name: found(name, root) for name in _READERS}
    return [replace(i, where=str(there.get(i.name) or i.where.format(home(root)))) for i in INFO.values()]


_SKLEARN = {"digits": digits, "breast-cancer": breast_cancer}
_READERS = {"fashion-mnist": fashion_mnist, "cifar-10": cifar10, "alzheimer": alzheimer.read}
