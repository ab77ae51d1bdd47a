"""Reads arrays of numbers, such as embeddings or images: .npy (as a memory map) and .npz, labels beside or within."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ..params import near
from .damaged import most_bytes, one_line, some

SUFFIXES = (".npy", ".npz")


def read_array(path: Path, label: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return X and y of a .npz file, or X of a .npy file; `label` names an array of the .npz file, or another file."""
    if path.suffix.lower() == ".npz":
        rows, x, label, y = _archive(path, label)
    else:
        rows, x, y = "it", _npy(path), None
        if label is not None:
            y = read_label_array(label)
    _refuse_what_are_no_rows(path, rows, x)
    if y is not None and y.shape[:1] != x.shape[:1]:
        given = f"{rows if rows == 'it' else repr(rows)} has {len(x)} rows, {label!r} has shape {y.shape}"
        raise ValueError(f"{path} cannot be used ({given}); give one label per row")
    return x, y


def read_label_array(path: str | Path) -> np.ndarray:
    """Return the labels of a .npy file, or of the array y of a .npz file: one per row."""
    path = Path(path).expanduser()
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path} cannot hold the labels of an array; give a .npy file with one label per row")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; give a .npy file with one label per row")
    if path.suffix.lower() == ".npy":
        y = np.array(_npy(path))
    else:
        with one_line(path, "write plain arrays with numpy.savez"):
            _check_zip(path)
            with np.load(path, allow_pickle=False) as archive:
                key = next((key for key in ("y", "s") if key in archive.files), "y")
                y = np.asarray(archive[key])  # a member that is no array is bytes
    if y.ndim == 2 and 1 in y.shape:
        y = y.reshape(-1)
    if y.ndim != 1 or y.dtype.kind not in "buifUS" or not y.size:
        raise ValueError(f"{path} cannot hold labels (shape {y.shape}, type {y.dtype}); give one label per row")
    return y


def _archive(path: Path, label: str | None) -> tuple[str, np.ndarray, str | None, np.ndarray | None]:
    with one_line(path, "write plain arrays with numpy.savez"):
        _check_zip(path)
        with np.load(path, allow_pickle=False) as archive:
            keys = archive.files
            label = label or next((key for key in ("y", "s") if key in keys), None)
            rows = next((key for key in ("X", "x") if key in keys), "X")
            arrays = {key: archive[key] for key in (rows, label) if key in keys}
    for key in filter(None, (rows, label)):
        if key not in keys:
            raise ValueError(f"{path} has no array {key!r}{near(key, keys)} (it has {some(keys)})")
        if not isinstance(arrays[key], np.ndarray):
            raise ValueError(f"{path} holds {key!r}, which is no array; write plain arrays with numpy.savez")
    return rows, arrays[rows], label, arrays[label] if label else None


def _check_zip(path: Path) -> None:
    """Refuse a file that is no zip, which np.load would take for a pickle, and one that would fill the memory."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > most_bytes(path):
        raise ValueError(f"it inflates to {size / 2**30:.1f} GiB, as an archive bomb does")


def _npy(path: Path) -> np.ndarray:
    with one_line(path, "write a plain array with numpy.save"):
        with open(path, "rb") as file:
            if file.read(6) != b"\x93NUMPY":  # np.load would take another file for a zip or a pickle
                raise ValueError("it is no .npy file")
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _refuse_what_are_no_rows(path: Path, name: str, x: np.ndarray) -> None:
    if x.dtype.kind not in "buif" or x.ndim < 2 or not x.size:
        given = f"{name if name == 'it' else repr(name)} has shape {x.shape} and type {x.dtype}"
        raise ValueError(f"{path} cannot be used ({given}); give numbers, one row per example")
