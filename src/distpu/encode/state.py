"""Rules for what a stored encoder may hold. It may come from a stranger: what breaks a rule is refused in one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Rules = dict[str, tuple[Callable[[Any], bool], str]]
LONG = 10_000_000  # most entries of a list


def is_number(v: Any) -> bool:
    return (type(v) is int and abs(v) < 2**63) or (type(v) is float and math.isfinite(v))


def is_text(v: Any) -> bool:
    """A string that can be printed: half of a surrogate pair cannot."""
    return type(v) is str and v.encode(errors="replace").decode() == v


def is_flag(v: Any) -> bool:
    return type(v) is bool


def is_whole(v: Any, least: int = 0, most: int = LONG) -> bool:
    return type(v) is int and least <= v <= most


def is_texts(v: Any) -> bool:
    return isinstance(v, list) and len(v) <= LONG and all(map(is_text, v))


def is_distinct(v: Any) -> bool:
    return is_texts(v) and len(set(v)) == len(v)


def is_numbers(v: Any) -> bool:
    return isinstance(v, list) and len(v) <= LONG and all(map(is_number, v))


def maybe(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda v: v is None or rule(v)


def one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda v: type(v) in {type(one) for one in values} and v in values


def check(state: Any, rules: Rules, where: str) -> None:
    """Refuse a state that lacks a key or has a value against its rule."""
    if not isinstance(state, dict):
        raise ValueError(f"{where} must be an object of names and values")
    for key, (holds, rule) in rules.items():
        if key not in state:
            raise ValueError(f"{where} has no {key!r}")
        if not holds(state[key]):
            shown = ascii(state[key])
            raise ValueError(f"{where}: {key}={shown if len(shown) <= 60 else shown[:60] + '...'} must be {rule}")


def array(arrays: dict[str, np.ndarray], name: str, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Return a stored array of this shape with finite float32 numbers."""
    found = arrays.get(name)
    if found is None or found.shape != shape or found.dtype != np.float32 or not np.isfinite(found).all():
        what = "missing" if found is None else f"of shape {found.shape} and type {found.dtype}"
        raise ValueError(f"{where}: the array {name!r} is {what} and must hold finite float32 numbers of shape {shape}")
    return found
