"""What a user may pass, checked once at the border: parameters by the rules beside them, rows, the device."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import Field, field, fields
from typing import Any, TypeVar

import numpy as np

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


def near(name: object, known: Iterable[object]) -> str:
    """The hint "; did you mean ...?", or nothing where no known name is close."""
    close = difflib.get_close_matches(str(name), [str(one) for one in known], 1)
    return f"; did you mean {close[0]!r}?" if close else ""


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
        allowed = rules["one_of"]
        raise ValueError(f"{f.name}={value!r} must be one of {', '.join(map(repr, allowed))}{near(value, allowed)}")
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
