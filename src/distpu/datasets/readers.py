"""Read the official releases: files -> x, y, x_test, y_test."""

from __future__ import annotations

import gzip
import io
import pickle
from pathlib import Path

import numpy as np

from .damaged import compare, one_line
from .known import MD5, UNPACKED
from .places import file_of


def digits() -> list[np.ndarray]:
    from sklearn.datasets import load_digits

    x, digit = load_digits(return_X_y=True)
    return _halves(x, digit, digit % 2 == 0)


def breast_cancer() -> list[np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    x, benign = load_breast_cancer(return_X_y=True)
    return _halves(x, benign, benign == 0)


def _halves(x, strata, y) -> list[np.ndarray]:
    """Take every other row of each stratum for training, so that no seed and no library version changes the split."""
    train = np.zeros(len(y), dtype=bool)
    for value in np.unique(strata):
        train[np.flatnonzero(strata == value)[::2]] = True
    x, y = x.astype(np.float32), y.astype(np.int64)
    return [x[train], y[train], x[~train], y[~train]]


def fashion_mnist(folder: Path) -> list[np.ndarray]:
    x, y, x_test, y_test = [checked(idx, folder, name) for name in MD5["fashion-mnist"]]
    tops = (0, 2, 4, 6)
    return [x[:, None], _among(y, tops), x_test[:, None], _among(y_test, tops)]


def idx(path: Path, name: str) -> np.ndarray:
    """Return the array of an idx file: a magic number whose last byte counts the dimensions, the sizes, the bytes."""
    raw = path.read_bytes()
    if raw.startswith(b"\x1f\x8b"):
        with gzip.open(io.BytesIO(raw)) as file:
            raw = file.read(UNPACKED + 1)
    if len(raw) > UNPACKED:
        raise ValueError(f"it has more than {UNPACKED:,} bytes")
    compare(raw, MD5["fashion-mnist"][name])
    sizes = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes).copy()  # frombuffer is read-only


def cifar10(folder: Path) -> list[np.ndarray]:
    *train, test = [checked(cifar_rows, folder, name) for name in MD5["cifar-10"]]
    arrays, vehicles = [], (0, 1, 8, 9)
    for rows in (np.concatenate(train), test):
        arrays += [rows[:, 1:].copy().reshape(-1, 3, 32, 32), _among(rows[:, 0], vehicles)]
    return arrays


def cifar_rows(path: Path, name: str) -> np.ndarray:
    """Return one batch as rows (label, pixels), read from the .bin file or from the pickle."""
    raw = path.read_bytes()
    if path.suffix != ".bin":
        batch = _PlainUnpickler(io.BytesIO(raw), encoding="bytes").load()
        labels = np.array(batch[b"labels"], dtype=np.uint8)
        raw = np.column_stack([labels, batch[b"data"]]).astype(np.uint8).tobytes()
    compare(raw, MD5["cifar-10"][name])
    return np.frombuffer(raw, np.uint8).reshape(-1, 3073)


def _new_array(kind, shape, code):
    return np.ndarray(shape, code)


_PICKLED = {
    "numpy.core.multiarray._reconstruct": _new_array,  # numpy 1's name
    "numpy._core.multiarray._reconstruct": _new_array,  # numpy 2's name
    "numpy.ndarray": None,  # only passed on to _new_array as `kind`
    "numpy.dtype": lambda code, *flags: np.dtype(code),  # numpy 2.4.0 to 2.4.4 warn when the old flags are passed
    "_codecs.encode": lambda text, encoding: text.encode("latin1"),  # Python 3 writes bytes so in protocol 2
}


class _PlainUnpickler(pickle.Unpickler):
    """Builds numpy arrays and nothing else. A plain Unpickler would call any function that the pickle names."""

    def find_class(self, module: str, name: str):
        if f"{module}.{name}" not in _PICKLED:
            raise ValueError(f"it would call {module}.{name}, which no CIFAR-10 batch needs")
        return _PICKLED[f"{module}.{name}"]


def _among(label: np.ndarray, positives: tuple[int, ...]) -> np.ndarray:
    return np.isin(label, positives).astype(np.int64)


def checked(decode, folder: Path, name: str) -> np.ndarray:
    path = file_of(folder, name)
    with one_line(path, "delete it and run again"):
        return decode(path, name)
