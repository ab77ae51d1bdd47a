"""Reads what a user may pass as X and y, once: labels -> s and classes, rows -> arrays. No torch."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from .files.scratch import in_parts
from .kinds import Shown, plain_labels, plain_rows, refuse_no_numbers, short
from .looked import FOUND, NEGATIVE

USE = "use 1 for labelled positives and 0 for unlabelled rows"


def read_labels(
    y: Any,
    pos_label: Any = None,
    seen: np.ndarray | None = None,
    neg_label: Any = None,
    found_label: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return PU labels s and classes = [unlabelled value, positive value].

    s is 1 for labelled positives and 0 for unlabelled rows. It is -1 for rows that hold `neg_label`, which a person
    looked at and found negative, and 2 for rows that hold `found_label`, which a person looked at and found positive.
    y may hold {1, 0}, {1, -1}, booleans, or one value and missing ones (NaN, None, null). With `pos_label` y may hold
    any values: all but `pos_label` are unlabelled. A missing label beside 1 and 0 means 0.
    Only rows in the mask `seen` are read, if it is given; all other rows are unlabelled, whatever y says.
    The positive value is always the second class, so predict_proba[:, 1] is its probability, whatever the values are.
    """
    y = column_or_1d(_plain(y), warn=True)
    if seen is not None and len(seen) == len(y) and not seen.all():
        s = np.zeros(len(y), dtype=np.int64)
        s[seen], classes = read_labels(y[seen], pos_label, None, neg_label, found_label)
        return s, classes
    if neg_label is not None or found_label is not None:
        return _with_looked(y, pos_label, neg_label, found_label)
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    missing = pd.isna(y)
    values = _unique(y[~missing])
    if pos_label is not None and len(values) + missing.any() > 2 and pos_label in values.tolist():
        s = (y == pos_label) & ~missing
        return s.astype(np.int64), _classes_beside_missing(pos_label)
    if pos_label is None and missing.any() and values.tolist() in ([0, 1], [-1, 1]):
        y = np.array(np.where(missing, values[0], y).tolist())
        values, missing = _unique(y), np.zeros(len(y), dtype=bool)
    if missing.any() and len(values) == 1:
        if pos_label is None and values[0] in (0, -1):
            raise ValueError(f"y holds only {values[0]} and missing values, no labelled positive; {USE}")
        if pos_label is not None and pos_label != values[0]:
            raise ValueError(
                f"pos_label={short(pos_label)} is not in y, which holds {short(values.tolist()[0])} and missing values"
            )
        return (~missing).astype(np.int64), _classes_beside_missing(values[0])
    if missing.any() and not len(values):
        raise ValueError(f"y holds missing values only, no labelled positive; {USE}")
    if missing.any():
        raise ValueError(
            f"Input y contains NaN: {missing.sum()} missing labels beside {len(values)} values; a missing label may "
            f"stand for unlabelled beside one other value only; {USE}"
        )
    if len(values) > 2:
        kind = type_of_target(y)
        if kind.startswith("continuous"):
            raise ValueError(f"Unknown label type: {kind}. y holds {len(values)} different numbers; {USE}")
        shown = ", ".join(short(Shown(v)) for v in values[:5]) + (", ..." if len(values) > 5 else "")
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: "
            f"y holds {len(values)} values ({shown}); {USE}"
        )
    if len(values) < 2:
        if not len(values):
            raise ValueError(f"y is empty; {USE}")
        lacks = "labelled positive" if values[0] in (0, -1) else "unlabelled row"
        raise ValueError(f"y holds only one class, {short(Shown(values[0]))}, so there is no {lacks}; {USE}")
    positive = _positive(values, pos_label)
    classes = values if positive == values[1] else values[::-1]
    return (y == positive).astype(np.int64), classes


def _with_looked(y: np.ndarray, pos_label: Any, neg_label: Any, found_label: Any) -> tuple[np.ndarray, np.ndarray]:
    """Read the labels of the rows that nobody looked at, and mark the others."""
    named = {"pos_label": 1 if pos_label is None else pos_label, "neg_label": neg_label, "found_label": found_label}
    for (one, a), (other, b) in combinations(named.items(), 2):
        if a is not None and b is not None and a == b:
            raise ValueError(f"{other}={short(b)} is what {one} says too; give each kind of row a value of its own")
    s, values = np.zeros(len(y), dtype=np.int64), y.tolist()
    for kind, label in ((NEGATIVE, neg_label), (FOUND, found_label)):
        if label is not None:
            s[[value == label for value in values]] = kind
    try:
        s[s == 0], classes = read_labels(y[s == 0], pos_label)
    except ValueError as error:
        if not s.any():
            raise
        raise ValueError(f"beside the rows that were looked at, {error}") from None
    return s, classes


def _plain(y: Any) -> np.ndarray:
    y = plain_labels(y)
    if y.dtype == object:  # None beside numbers is read as NaN
        present = y[~pd.isna(y)]
        if len(present) and all(isinstance(v, (bool, np.bool_)) for v in present.flat):
            return y if len(present) < y.size else y.astype(bool)
        if len(present) and all(isinstance(v, (int, float, np.number)) for v in present.flat):
            return y.astype(float) if len(present) < y.size else np.array(y.tolist())
    return y


def _unique(y: np.ndarray) -> np.ndarray:
    try:
        return np.unique(y)
    except TypeError:
        kinds = sorted({type(v).__name__ for v in y})
        raise ValueError(f"y mixes values of types {', '.join(kinds)}; {USE}") from None


def _classes_beside_missing(positive: Any) -> np.ndarray:
    """Return the classes for {a value, missing}. predict cannot return 'missing', so the other class gets a name."""
    if isinstance(positive, (bool, np.bool_, int, float, np.number)):
        return np.array([0, 1]) if positive == 1 else np.array([int(positive == 0), positive])
    return np.array([f"not {positive}", str(positive)])


def _positive(values: np.ndarray, pos_label: Any) -> Any:
    first, second = values.tolist()  # a message would show numpy's own as np.str_('yes')
    if pos_label is not None:
        if pos_label not in (first, second):
            raise ValueError(
                f"pos_label={short(pos_label)} is not in y, which holds {short(first)} and {short(second)}"
            )
        return pos_label
    if (first, second) not in ((0, 1), (-1, 1)):  # False is 0, True is 1
        warnings.warn(
            f"y holds {short(first)} and {short(second)}; {short(second)} is taken for the labelled positives; "
            f"pos_label={short(first)} takes the other",
            UserWarning,
            stacklevel=4,
        )
    return values[1]


def refuse_infinite(x: np.ndarray, names: Any) -> None:
    if x.dtype == np.uint8:
        return
    with np.errstate(over="ignore", invalid="ignore"):  # sums are cheap: finite sums need no further check
        if all(np.isfinite(part.sum()) for part in in_parts(x)):
            return
    for what, bad in (("NaN", np.isnan(x)), ("infinity (or a value too large for float32)", np.isinf(x))):
        if bad.any():
            place = [int(i) for i in np.argwhere(bad)[0]]
            column = (
                f"column {short(names[place[1]])}" if names is not None and x.ndim == 2 else f"position {place[1:]}"
            )
            rows = int(bad.any(axis=tuple(range(1, x.ndim))).sum())
            raise ValueError(
                f"Input X contains {what}: {int(bad.sum())} in {rows} rows, "
                f"first in row {place[0]}, {column}; fill them in or drop those rows"
            )


CHANNELS = (1, 3, 4)


def layout_of(shape: tuple[int, ...]) -> str:
    if len(shape) == 2:
        return "rows"
    if len(shape) == 3:
        return "NHW"
    if len(shape) == 4 and shape[1] in CHANNELS:
        return "NCHW"
    if len(shape) == 4 and shape[3] in CHANNELS:
        return "NHWC"
    raise ValueError(
        f"X has shape {shape}; give rows as (n, features), or images as (n, height, width), "
        f"(n, channels, height, width) or (n, height, width, channels) with 1, 3 or 4 channels"
    )


def as_channels_first(x: np.ndarray, layout: str) -> np.ndarray:
    if layout == "NHW":
        return x[:, None]
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if layout == "NHWC" else x


def numbers(X: Any) -> Any:
    """Return X as float32 numbers, dense or sparse (csr), with NaN for missing ones; None if X holds other values."""
    from scipy.sparse import issparse

    if issparse(X):
        x = X.tocsr().astype(np.float32)
        x.sort_indices()
        return None if np.isinf(x.data).any() else x
    X = plain_rows(X)
    try:
        refuse_no_numbers(X)
    except ValueError:
        return None
    if isinstance(X, np.ndarray) and X.dtype == np.uint8:  # images would take four times the memory as floats
        return X if X.ndim >= 2 else None
    try:
        with np.errstate(over="ignore"):
            x = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        return None
    return x if x.ndim >= 2 and not any(np.isinf(part).any() for part in in_parts(x)) else None
