"""What an array may hold. Masks, tensors, dates, texts and huge whole numbers are told apart before anything is read.

NumPy turns most of them into numbers without a word: a mask is dropped, a date becomes a count of its unit, the text
'1' becomes 1, and ids of 19 digits become equal.
"""

from __future__ import annotations

import decimal
from contextlib import suppress
from typing import Any

import numpy as np

EXACT = 2**53  # float64 holds every whole number up to here, and not every one beyond
LONG, START, END = 120, 80, 30  # a value of more characters is shown by its start and its end
LABELS = "a label is a number, a word, true or false, or missing"


def short(value: Any) -> str:
    """Return a value as a message shows it: ten thousand characters would hide the rule."""
    try:
        text = value if isinstance(value, Shown) else repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return f"a whole number of about {int(abs(value).bit_length() * 0.30103)} digits"
    return text if len(text) <= LONG else f"{text[:START]}...{text[-END:]}"


class Shown(str):
    """A text that a message shows as it is, without quotes."""


def from_torch(value: Any, what: str) -> Any:
    """Return a tensor of torch as an array, and anything else as it is."""
    if not hasattr(value, "detach"):
        return value
    if value.device.type == "meta":
        raise ValueError(f"{what} is a tensor on the device 'meta', which holds no values; give one that has them")
    if str(value.layout) != "torch.strided":
        raise ValueError(f"{what} is a sparse tensor ({value.layout}); give {what}.to_dense()")
    if str(value.dtype) == "torch.bfloat16":  # NumPy has no such numbers; float32 holds each of them
        value = value.float()
    try:
        return value.numpy(force=True)
    except TypeError:
        raise ValueError(f"{what} is a tensor of type {value.dtype}, which NumPy does not have; give floats") from None


def plain_rows(X: Any) -> Any:
    """Return rows without what an array may hide: a tensor becomes an array, and a masked value becomes NaN."""
    X = from_torch(X, "X")
    if type(X).__name__ == "LazyFrame":  # of polars
        return X.collect()
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return X.data
    plain = X.data.astype({"f": X.dtype}.get(X.dtype.kind, np.float64) if X.dtype.kind in "buif" else object)
    plain[np.ma.getmaskarray(X)] = np.nan
    return plain


def refuse_no_rows(X: Any) -> None:
    """Refuse an array that would be read as numbers of another meaning. Frames and lists pass."""
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":  # dense or sparse
        raise ValueError(f"Complex data not supported: X has type {X.dtype}; give real numbers")
    if not isinstance(X, np.ndarray):
        return
    _refuse_flat(X)
    if X.ndim > 2 and 0 in X.shape[1:]:
        raise ValueError(f"X has shape {X.shape}, so its images have no pixels; give images with at least one")
    if X.dtype.names is not None:
        names = ", ".join(map(repr, X.dtype.names[:5]))
        raise ValueError(f"X is a structured array with the fields {names}; give a data frame: pandas.DataFrame(X)")
    if X.dtype.kind in "mM":
        what = "dates" if X.dtype.kind == "M" else "time spans"
        raise ValueError(f"X holds {what} ({X.dtype}), whose numbers depend on their unit; {_remedy(X.dtype.kind)}")


def refuse_no_numbers(X: Any) -> None:
    """Refuse rows for a method that takes numbers alone, where NumPy would make numbers of what is none."""
    refuse_no_rows(X)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for name in X.columns:
            column = X[name]
            if getattr(column, "ndim", 1) == 1 and str(column.dtype).lower() not in FLOATS:
                _refuse_column(np.asarray(column), f"column {short(name)} of X")
        return
    if isinstance(X, (list, tuple)):
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths: scikit-learn says so
            return
    if isinstance(X, np.ndarray):
        _refuse_flat(X)
        _refuse_kind(X, "X")


def _refuse_flat(x: np.ndarray) -> None:
    """Say it without the values: scikit-learn shows a thousand of them. One text a row is for a classifier to read."""
    if x.ndim == 1 and x.dtype.kind in "biuf":
        raise ValueError(
            f"Expected 2D array, got 1D array instead: X has shape {x.shape}. Reshape your data: X.reshape(-1, 1) if "
            "it is one column, X.reshape(1, -1) if it is one row"
        )


def _refuse_column(x: np.ndarray, what: str) -> None:
    """Refuse a column of a frame that is to be taken as it is and holds no numbers."""
    if x.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} has type {x.dtype}; give real numbers")
    _refuse_kind(x, what)
    odd = next((v for v in x if v is not None and not hasattr(v, "__float__")), None) if x.dtype.kind == "O" else None
    if odd is not None:
        raise ValueError(
            f"{what} holds values of type {type(odd).__name__}, where numbers are wanted; give numbers, or a data "
            "frame without encode=False, which encodes them"
        )


FLOATS = frozenset(["float16", "float32", "float64", "bool", "boolean", "uint8", "int8", "int16", "int32", "uint16"])


def _refuse_kind(x: np.ndarray, what: str) -> None:
    kind = x.dtype.kind
    if kind in "mM":
        named = "dates" if kind == "M" else "time spans"
        raise ValueError(f"{what} holds {named} ({x.dtype}), whose numbers depend on their unit; {_remedy(kind)}")
    values = x.ravel().tolist() if kind == "O" else []
    if kind in "SU" or any(isinstance(v, (str, bytes)) for v in values):
        raise ValueError(
            f"{what} holds texts, where numbers are wanted; give X.astype(float) if they are numbers, or a data frame "
            "without encode=False, whose texts are encoded"
        )
    huge = next((v for v in values if isinstance(v, int) and _inexact(v)), None)
    if kind in "iu" and x.dtype.itemsize == 8 and x.size and max(int(x.max()), -int(x.min())) > EXACT:
        huge = next((int(v) for v in x[(x > EXACT) | (x < -EXACT)].tolist() if _inexact(v)), None)
    if huge is not None:
        raise ValueError(
            f"{what} holds whole numbers beyond 2**53, such as {short(huge)}, of which several become one number; drop "
            "a column that names the rows, or give X.astype(float) if the last digits do not matter"
        )


def _inexact(value: int) -> bool:
    if -EXACT <= value <= EXACT:
        return False
    try:
        return int(float(value)) != value
    except OverflowError:
        return True


def _remedy(kind: str) -> str:
    number = "X.astype('datetime64[s]').astype(float)" if kind == "M" else "X / numpy.timedelta64(1, 's')"
    return f"give numbers, such as {number}, or a data frame without encode=False, whose dates are encoded"


def plain_scores(z: Any, what: str) -> np.ndarray:
    """Return one number per row as an array; what holds other values, or masked ones, is refused. NaN passes."""
    z = from_torch(z, what)
    if np.ma.is_masked(z):
        raise ValueError(f"{what} holds masked values; give one number per row")
    z = np.asarray(z)
    if z.dtype.kind == "O" and not any(isinstance(v, (str, bytes)) for v in z.flat):
        with suppress(TypeError, ValueError, OverflowError):
            z = z.astype(np.float64)
    if z.dtype.kind not in "biuf":
        raise ValueError(f"{what} holds values of type {z.dtype}; give one number per row")
    return z


def plain_labels(y: Any, what: str = "y") -> np.ndarray:
    """Return labels as an array of numbers, booleans, texts or objects; a masked label is missing. Refuse the rest."""
    y = from_torch(y, what)
    if hasattr(y, "to_numpy"):  # pandas, polars: nulls become NaN or None
        y = y.to_numpy()
    if isinstance(y, np.ma.MaskedArray):
        y, there = y.data, ~np.ma.getmaskarray(y)
        y = y if there.all() else np.where(there, y.astype(object), None)
    y = np.asarray(y)
    kind = y.dtype.kind
    if kind == "c":
        raise ValueError(f"Complex data not supported: {what} has type {y.dtype}; {LABELS}")
    if kind in "mMV":
        named = {"M": "dates", "m": "time spans"}.get(kind, "structured values")
        raise ValueError(f"{what} holds {named} ({short(Shown(y.dtype))}); {LABELS}")
    if kind == "S":
        return np.char.decode(y, "utf-8", "replace")
    if kind == "O" and y.ndim == 1:
        return _plain_objects(y, what)
    return y


def _plain_objects(y: np.ndarray, what: str) -> np.ndarray:
    values: list[Any] = y.tolist()
    kinds = {type(v) for v in values}
    for one in kinds:
        missing = one.__name__ in ("NoneType", "NAType", "NaTType")
        if not missing and not issubclass(one, (str, bytes, bool, int, float, np.generic, decimal.Decimal)):
            raise ValueError(f"{what} holds values of type {one.__name__}; {LABELS}")
    huge = next((v for v in values if isinstance(v, int) and not -(2**63) <= v < 2**63), None)
    if huge is not None:
        raise ValueError(f"{what} holds {short(huge)}, a whole number of more than 64 bits; {LABELS}")
    if kinds & {bytes, decimal.Decimal}:
        plain = np.empty(len(values), dtype=object)
        plain[:] = [_plain_value(v) for v in values]
        return plain
    return y


def _plain_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return float(value) if isinstance(value, decimal.Decimal) else value
