"""Reads the Alzheimer release, 200 people in 32 slices each, from a folder or a zip of JPEG files."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..params import need
from ..progress import watched
from .damaged import one_line
from .known import COUNTS, PEOPLE, TEST_SLICES


def read(source: Path) -> list[Any]:
    if source.is_dir():
        files = [file for split in COUNTS for file in source.glob(f"{split}/*/*")]
        names = [file.relative_to(source).as_posix() for file in files]
        return _both_splits(source, names, lambda name: (source / name).read_bytes())
    with one_line(source, "get the zip again"):
        archive = zipfile.ZipFile(source)
    with archive:
        return _both_splits(source, archive.namelist(), archive.read)


def _both_splits(source: Path, names: list[str], content: Callable[[str], bytes]) -> list[Any]:
    files = {split: _files(source, split, names) for split in ("train", "test")}
    arrays = [array for split in files for array in _images(source, split, files[split], content)]
    return [*arrays, _last_slices(files["train"])]


_LAYOUT = re.compile(r"(?:[^/]+/)?(train|test)/(\w+)/([^/.][^/]*\.(?i:jpe?g))")  # leaves out macOS's ._x.jpg


def _files(source: Path, split: str, names: list[str]) -> list[tuple[str, str, str]]:
    """Return (class, file name, path) of each image of a split, sorted."""
    matches = [m for m in map(_LAYOUT.fullmatch, names) if m and m[1] == split and m[2] in COUNTS[split]]
    found = sorted((m[2], m[3], m[0]) for m in matches)
    for kind, expected in COUNTS[split].items():
        count = sum(row[0] == kind for row in found)
        if count != expected:
            remedy = f"but the release has {expected}; delete it and unpack the release again"
            raise ValueError(f"{source} holds {count} images in {split}/{kind}, {remedy}")
    return found


def _images(
    source: Path, split: str, files: list[tuple[str, str, str]], content: Callable[[str], bytes]
) -> list[np.ndarray]:
    """Return the pixels and the labels, in the order of the files."""
    x = np.empty((len(files), 1, 224, 224), np.uint8)

    def decode(i: int) -> None:
        with one_line(f"{source}/{files[i][2]}", "unpack the release again"):
            x[i, 0] = _grey(content(files[i][2]))

    with ThreadPoolExecutor(2) as pool:  # Pillow decodes outside the interpreter lock
        for _ in watched(pool.map(decode, range(len(x))), f"alzheimer {split}", len(x)):
            pass
    return [x, np.array([kind != "NonDemented" for kind, *_ in files], dtype=np.int64)]


def _last_slices(files: list[tuple[str, str, str]]) -> np.ndarray | None:
    """Return a mask of the last slices among the training rows, or None if files are not numbered as in the release.

    The release shows 200 people in 32 slices each, and the images of a class are numbered slice by slice. The test
    rows are the last six or seven slices of the same people. A training row drawn at random therefore has the slice
    next to it among the other training rows, while most test rows have not (docs/reproduce.md).
    """
    found = [re.fullmatch(r"[A-Za-z]+(\d+)", Path(name).stem) for _, name, _ in files]
    kinds, numbers = np.array([kind for kind, *_ in files]), np.array([int(m[1]) if m else -1 for m in found])
    slices = np.empty(len(files), dtype=np.int64)
    for kind in np.unique(kinds):
        own = numbers[kinds == kind]
        if sorted(own) != [*range(len(own))]:
            return None
        slices[kinds == kind] = own // PEOPLE[kind]
    return slices > slices.max() - TEST_SLICES


def _grey(content: bytes) -> np.ndarray:
    Image = need("PIL.Image", "images", "reading images")

    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("L").resize((224, 224), Image.Resampling.BILINEAR))
