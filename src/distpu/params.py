"""A setting's default, range and help in one place; and "did you mean"."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from dataclasses import Field, field, fields
from typing import Any, TypeVar

import numpy as np

from .kinds import Shown, short

T = TypeVar("T")
MOST = 1000  # characters of a setting
Search = tuple[Any, ...] | list[Any]  # (low, high), (low, high, "log") or a list of values


def param(
    default: T,
    help: str,
    *,
    above: Any = None,
    least: Any = None,
    most: Any = None,
    below: Any = None,
    one_of: Any = None,
    search: Search | None = None,
) -> T:
    """Declare a hyper-parameter with its default, its help and its range.

    fit checks the range. `distpu methods NAME` shows all three. `search` says where `distpu tune` looks:
    (low, high), for whole numbers if both are whole; (low, high, "log") for steps by factors; or a list of values.
    """
    rules = {"above": above, "least": least, "most": most, "below": below, "one_of": one_of, "search": search}
    return field(default=default, metadata={"help": help, **{k: v for k, v in rules.items() if v is not None}})


def tuned(value: T, help: str, **rules: Any) -> T:
    """Declare a hyper-parameter that a preset may set. `value` is the paper's; None means the preset's value."""
    plain: Any = param(value, help, **rules)
    return field(default=None, metadata={**plain.metadata, "paper": value})  # type: ignore[return-value]


def paper_value(f: Field) -> Any:
    """Return the paper's value of a field, or its default if presets do not set it."""
    return f.metadata.get("paper", f.default)


def resolved(cls: Any, preset: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return all settings that presets may set: as told, else the preset's value, else the paper's.

    A preset may also set a field with a default of its own, such as the network, where the user left the default.
    """
    known = {f.name: f.metadata["paper"] for f in fields(cls) if "paper" in f.metadata}
    left = {f.name for f in fields(cls) if f.name in known or str(told.get(f.name, f.default)) == str(f.default)}
    given = {**cls.on_a_cpu, **cls.presets.get(preset, {})} if preset == "cpu" else cls.presets.get(preset, {})
    chosen = known | {name: value for name, value in given.items() if name in left}
    return chosen | {name: value for name, value in told.items() if name in known and value is not None}


def near(name: object, known: Iterable[object]) -> str:
    """Return the hint "; did you mean ...?", or "" if no known name is close."""
    close = _nearest(name, known)
    return "" if close is None else f"; did you mean {close!r}?"


def near_each(names: Sequence[object], known: Iterable[object]) -> str:
    """Return the hint for several names, "; did you mean 'a' for 'A', 'b' for 'B'?"."""
    known = list(known)
    if len(names) == 1:
        return near(names[0], known)
    pairs = [f"{close!r} for {name!r}" for name in names if (close := _nearest(name, known)) is not None]
    return f"; did you mean {', '.join(pairs)}?" if pairs else ""


def _nearest(name: object, known: Iterable[object]) -> str | None:
    """Return the closest of the known names, whatever their case is and the blanks around them."""
    folded = {str(one).strip().casefold(): str(one) for one in known}
    close = difflib.get_close_matches(str(name).strip().casefold(), folded, 1)
    return folded[close[0]] if close else None


def need(module: str, extra: str, what: str) -> Any:
    """Import an optional package. If it is missing, the error says what to type."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        name = {"PIL": "pillow"}.get(error.name, error.name)
        raise ModuleNotFoundError(
            f'{what} needs {name}; type: pip install "distpu[{extra}]"', name=error.name
        ) from None


def check_parameters(estimator: Any) -> None:
    """Check each field of an estimator by its rules."""
    for f in fields(estimator):
        check_parameter(f, getattr(estimator, f.name))


def check_parameter(f: Field, value: Any) -> None:
    """Check one field: a number must have the type of the default and lie within the bounds."""
    rules, default = f.metadata, paper_value(f)
    if value is None and f.default is None:
        return
    if "one_of" in rules and value not in rules["one_of"]:
        allowed = rules["one_of"]
        raise ValueError(
            f"{f.name}={short(value)} must be one of {', '.join(map(repr, allowed))}{near(value, allowed)}"
        )
    bounds = {k: rules[k] for k in ("above", "least", "most", "below") if k in rules}
    numeric = isinstance(default, (int, float)) and not isinstance(default, bool)
    if not (bounds or numeric):
        if isinstance(value, str) and len(value) > MOST and not f.name.endswith(("_label", "pretrained")):
            raise ValueError(f"{f.name}={short(value)} is a text of {len(value):,} characters; no setting is that long")
        return
    whole = isinstance(default, int)
    number = isinstance(value, (int, np.integer)) if whole else isinstance(value, (int, float, np.number))
    if not number or isinstance(value, bool) or np.isinf(value):
        raise ValueError(f"{f.name}={short(value)} must be {'a whole number' if whole else 'a finite number'}")
    words = {"above": "above", "least": "at least", "most": "at most", "below": "below"}
    holds = {"above": value > bounds.get("above", -np.inf), "least": value >= bounds.get("least", -np.inf)}
    holds |= {"most": value <= bounds.get("most", np.inf), "below": value < bounds.get("below", np.inf)}
    if not all(holds[k] for k in bounds):
        rule = " and ".join(f"{words[k]} {v}" for k, v in bounds.items())
        raise ValueError(f"{f.name}={short(Shown(value))} must be {rule}")
