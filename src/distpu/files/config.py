"""config.json of a run: the rules of its values, and how two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .fitted import settings

Json = dict[str, Any]

CONFIG_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "method": (lambda v: isinstance(v, str), "a string"),
    "params": (settings, "names with a string, a number, true, false or null each"),
    "data": (lambda v: isinstance(v, dict), "names with values"),
    "seed": (lambda v: type(v) is int and 0 <= v < 2**32, "a whole number from 0"),
}


def differences(old: Json, new: Json) -> list[str]:
    """What of parameters and data differs. Device, progress and the name of a preset may change before a resume."""

    def pairs(a: Json, b: Json, keys: Iterable[str]) -> str:
        return ", ".join(f"{k}={b.get(k)!r} (there: {a.get(k)!r})" for k in keys if a.get(k) != b.get(k))

    a, b = ({"method": config["method"], **config["params"]} for config in (old, new))
    params = pairs(a, b, [k for k in sorted(a | b) if k not in ("device", "progress", "preset")])
    a, b = old["data"], new["data"]
    data = pairs(a, b, ("dataset", "rows", "shape", "labelled", "scenario"))
    if not data and a != b:  # only checksums differ, whose values tell a reader nothing
        sums = [k for k in sorted(a | b) if a.get(k) != b.get(k)]
        data = f"as many rows, other {' and '.join(sums).replace('fingerprint', 'values')}"
    return [f"{what}: {text}" for what, text in (("parameters", params), ("data", data)) if text]
