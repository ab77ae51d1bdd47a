"""What a user may pass, checked once at the border: parameters by the rules beside them, rows, the device."""

from __future__ import annotations

import difflib
import warnings
from dataclasses import Field, field, fields
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def param(
    default: T,
    help: str,
    *,
    above: Any = None,
    least: Any = None,
    most: Any = None,
    below: Any = None,
    one_of: Any = None,
) -> T:
    """A hyper-parameter: its default, what it is, what it may be. Checked in fit, shown by `distpu methods NAME`."""
    rules = {"above": above, "least": least, "most": most, "below": below, "one_of": one_of}
    return field(default=default, metadata={"help": help, **{k: v for k, v in rules.items() if v is not None}})


def check_parameters(estimator: Any) -> None:
    """All fields of an estimator by their rules, and the prior, which all estimators have."""
    for f in fields(estimator):
        _check_parameter(f, getattr(estimator, f.name))
    share = estimator.prior
    number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
    if not number and not (isinstance(share, str) and share == "auto"):
        raise ValueError(f"prior={share!r} must be a number strictly between 0 and 1, or 'auto'")
    if number and not 0 < share < 1:
        raise ValueError(f"prior={share} must lie strictly between 0 and 1 (or be 'auto')")


def _check_parameter(f: Field, value: Any) -> None:
    """One rule table for all fields: the type of the default, and the bounds beside it."""
    rules = f.metadata
    if "one_of" in rules and value not in rules["one_of"]:
        near = difflib.get_close_matches(str(value), [str(v) for v in rules["one_of"]], 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{f.name}={value!r} must be one of {', '.join(map(repr, rules['one_of']))}{hint}")
    bounds = {k: rules[k] for k in ("above", "least", "most", "below") if k in rules}
    numeric = isinstance(f.default, (int, float)) and not isinstance(f.default, bool)
    if not (bounds or numeric) or (value is None and f.default is None):
        return
    whole = isinstance(f.default, int)
    number = isinstance(value, (int, np.integer)) if whole else isinstance(value, (int, float, np.number))
    if not number or isinstance(value, bool) or np.isinf(value):
        raise ValueError(f"{f.name}={value!r} must be {'a whole number' if whole else 'a finite number'}")
    words = {"above": "above", "least": "at least", "most": "at most", "below": "below"}
    holds = {"above": value > bounds.get("above", -np.inf), "least": value >= bounds.get("least", -np.inf)}
    holds |= {"most": value <= bounds.get("most", np.inf), "below": value < bounds.get("below", np.inf)}
    if not all(holds[k] for k in bounds):
        rule = " and ".join(f"{words[k]} {v}" for k, v in bounds.items())
        raise ValueError(f"{f.name}={value} must be {rule}")


def refuse_infinite(x: np.ndarray, names: Any) -> None:
    if x.dtype == np.uint8:
        return
    # one cheap pass, on all threads; only a bad sum needs a look at every value
    if all(bool(part.sum().isfinite()) for part in as_tensor(x).split(2**16)):
        return
    for what, bad in (("NaN", np.isnan(x)), ("infinity (or a value too large for float32)", np.isinf(x))):
        if bad.any():
            place = [int(i) for i in np.argwhere(bad)[0]]
            column = f"column {names[place[1]]!r}" if names is not None and x.ndim == 2 else f"position {place[1:]}"
            rows = int(bad.any(axis=tuple(range(1, x.ndim))).sum())
            raise ValueError(
                f"Input X contains {what}: {int(bad.sum())} in {rows} rows, "
                f"first in row {place[0]}, {column}; fill them in or drop those rows"
            )


def as_tensor(x: np.ndarray) -> torch.Tensor:
    """The same memory, to be read only: a memory map stays one."""
    if min(x.strides, default=0) < 0:  # a reversed view; torch knows none
        x = x.copy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(x)


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
        f"X has shape {shape}; rows are (n, features), images (n, height, width), (n, channels, height, width) "
        f"or (n, height, width, channels) with 1, 3 or 4 channels"
    )


def as_channels_first(x: np.ndarray, layout: str) -> np.ndarray:
    if layout == "NHW":
        return x[:, None]
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if layout == "NHWC" else x


def find_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(f"device={name!r} is not there ({str(error).splitlines()[0]}); use 'auto' or 'cpu'") from None
    return device
