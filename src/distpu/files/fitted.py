"""Fitted: what `predict` needs beside the weights (model.json). It is checked once, when it is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from . import atomic

COMMON = ("prior", "threshold", "classes", "n_features_in", "also", "feature_names_in")
OF_NETWORK = ("shape", "layout", "bytes")  # which a network needs
LAYOUTS = ("rows", "NHW", "NCHW", "NHWC")
CHANNELS = (1, 3, 4)
LARGEST_ROW = 2**28  # values of one row: 1 GB. More is damage, and must not be allocated


@dataclass(frozen=True)
class Fitted:
    prior: float | None  # None where the method needs none and none was given
    threshold: float  # on the logit
    classes: list[Any]  # [the unlabelled value, the positive value]
    n_features_in: int | None  # the second axis of the rows that were passed to fit; None where they have none
    also: dict[str, Any]  # what the method itself learnt beside the weights
    feature_names_in: list[str] | None
    estimate: dict[str, Any] | None = None  # of the prior; None where it was given, and in files of version 0.1
    cut: dict[str, Any] | None = None  # threshold.FittedCut; None without held-out rows, and in files of version 0.1
    encoded: int | None = None  # columns that the encoder of a frame makes; None where no frame was encoded
    # of a network; None for other methods
    shape: tuple[int, ...] | None = None  # of one row; images have their channels first
    layout: str | None = None  # of the rows that were passed to fit
    bytes: bool | None = None  # whether those rows were uint8
    preset: str | None = None  # which was taken; None in files of version 0.1
    settings: dict[str, Any] | None = None  # which it gave; None in files of version 0.1

    def write(self, path: Path) -> None:
        atomic.write_signed(path, asdict(self))

    @classmethod
    def read(cls, path: Path, also: Iterable[str] = (), of_network: bool = True) -> Fitted:
        """Read and check. `also` names what the method needs of the key of that name."""
        names = [field.name for field in fields(cls)]
        value, signed = atomic.read_signed(path, *COMMON, *(OF_NETWORK if of_network else ()))
        strange = [key for key in value if key not in names]
        if strange and not signed:  # the name of a key may be damaged; a later version signs its files
            raise ValueError(f"{path} has the unknown key {strange[0]!r}; {atomic.REMEDY}")
        for key, (holds, rule) in RULES.items():
            needed = key in COMMON or (of_network and key in OF_NETWORK)
            if (needed or value.get(key) is not None) and not holds(value[key]):
                raise ValueError(f"{path}: {key}={_short(value[key])} must be {rule}; {atomic.REMEDY}")
        known = {key: value[key] for key in names if key in value}
        fitted = cls(**{**known, "shape": tuple(value["shape"]) if of_network else None})
        fitted._check_together(path, also)
        return fitted

    def _check_together(self, path: Path, also: Iterable[str]) -> None:
        if self.shape is not None:
            self._check_shape(path, self.shape)
        names = self.feature_names_in
        if names is not None and len(names) != self.n_features_in:
            raise ValueError(
                f"{path}: feature_names_in has {len(names)} names and must have {self.n_features_in}; {atomic.REMEDY}"
            )
        lost = [name for name in also if name not in self.also]
        if lost:
            raise ValueError(f"{path}: also has no {lost[0]!r}, which the method needs; {atomic.REMEDY}")

    def _check_shape(self, path: Path, shape: tuple[int, ...]) -> None:
        if self.layout == "rows":
            fits = len(shape) == 1
        else:
            fits = len(shape) == 3 and shape[0] in ((1,) if self.layout == "NHW" else CHANNELS)
        if not fits:
            raise ValueError(f"{path}: shape={list(shape)} does not fit layout={self.layout!r}; {atomic.REMEDY}")
        axis = shape[1] if self.layout in ("NHW", "NHWC") else shape[0]
        key = "n_features_in" if self.encoded is None else "encoded"
        if (wide := getattr(self, key)) != axis:
            raise ValueError(f"{path}: {key}={wide} must be {axis}, as in shape; {atomic.REMEDY}")


def settings(value: Any) -> bool:
    """Whether this is a dict of what a parameter may be in JSON."""
    return isinstance(value, dict) and all(
        abs(v) < 2**63 if type(v) is int else isinstance(v, (str, float, bool, type(None))) for v in value.values()
    )


def _number(value: Any) -> bool:
    """Finite, and no boolean; a whole number of any length would not fit a float."""
    if type(value) is int:
        return abs(value) < 2**63
    return type(value) is float and math.isfinite(value)


def _text(value: Any) -> bool:
    """A string that can be printed: half of a surrogate pair cannot."""
    return type(value) is str and value.encode(errors="replace").decode() == value


def _whole(value: Any) -> bool:
    return type(value) is int and 1 <= value <= LARGEST_ROW


def _shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) in (1, 3) and all(map(_whole, value)) and _whole(math.prod(value))


def _classes(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2 or value[0] == value[1]:
        return False
    return any(all(map(kind, value)) for kind in (_number, _text, lambda v: type(v) is bool))


def _also(value: Any) -> bool:
    return isinstance(value, dict) and all(
        all(map(_number, v)) if isinstance(v, list) else _number(v) for v in value.values()
    )


def is_estimate(value: Any) -> bool:
    """Whether this is an estimate of the prior with all that prior.Estimate needs."""
    if not isinstance(value, dict) or not {"prior", "interval", "label_frequency", "name"} <= value.keys():
        return False
    ends = [0, 1] if value["interval"] is None else value["interval"]
    if not isinstance(ends, list) or len(ends) != 2 or not _text(value["name"]):
        return False
    return all(_number(v) and 0 <= v <= 1 for v in (value["prior"], value["label_frequency"], *ends))


def _cut(value: Any) -> bool:
    """Whether this has the form of threshold.FittedCut. What the numbers mean together is checked there."""
    if not _has(value, prior=_number, own=_number, at=_number, choice=_text, calibration=_dict, held_out=_dict):
        return False
    tables = {"labelled": _dict, "unlabelled": _dict, "total": _whole_number}
    platt = dict.fromkeys(("center", "spread", "slope", "intercept"), _number)
    return (
        _has(value["calibration"], z=_numbers, p=_numbers, **platt)
        and _has(value["held_out"], **tables)
        and all(_has(value["held_out"][kind], z=_numbers, above=_numbers) for kind in ("labelled", "unlabelled"))
    )


def _has(value: Any, **rules: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(key in value and holds(value[key]) for key, holds in rules.items())


def _dict(value: Any) -> bool:
    return isinstance(value, dict)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_number, value))


def _whole_number(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**63


def _names(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_text, value)))


RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "prior": (lambda v: v is None or (_number(v) and 0 <= v <= 1), "a number from 0 to 1, or null"),
    "threshold": (_number, "a finite number"),
    "classes": (_classes, "two different numbers, strings or booleans"),
    "shape": (_shape, f"one or three whole numbers from 1, whose product is at most {LARGEST_ROW}"),
    "layout": (lambda v: type(v) is str and v in LAYOUTS, f"one of {', '.join(LAYOUTS)}"),
    "bytes": (lambda v: type(v) is bool, "true or false"),
    "n_features_in": (lambda v: v is None or _whole(v), f"a whole number from 1 to {LARGEST_ROW}, or null"),
    "also": (_also, "names with a finite number or a list of such numbers each"),
    "feature_names_in": (_names, "a list of strings, or null"),
    "estimate": (is_estimate, "the prior's estimate with its interval, or null"),
    "cut": (_cut, "the held-out scores, their calibration and the cut, or null"),
    "encoded": (_whole, f"a whole number from 1 to {LARGEST_ROW}, or null"),
    "preset": (_text, "a string, or null"),
    "settings": (settings, "names with a string, a number, true, false or null each, or null"),
}


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
