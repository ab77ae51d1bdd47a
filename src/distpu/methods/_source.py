"""Reads a method's settings from its source text: importing a method takes seconds, a mistake is told at once."""

from __future__ import annotations

import ast
from dataclasses import Field, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HOMES = {"PUEstimator": HERE.parent / "estimator.py"}  # of base classes outside this room


def settings_of(place: str) -> dict[str, Field | None]:
    """Return the settings of a method at "module.Class": a field with its default and rules, or None if unreadable."""
    module, name = place.split(".")
    return _fields(HERE / f"{module}.py", name)


def _fields(path: Path, name: str) -> dict[str, Field | None]:
    tree = _tree(path)
    (cls,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found: dict[str, Field | None] = {}
    for base in cls.bases:
        if isinstance(base, ast.Name) and (home := _home(tree, path, base.id)) is not None:
            found |= _fields(home, base.id)
    for node in cls.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            hint = ast.unparse(node.annotation)
            if "ClassVar" not in hint and "KW_ONLY" not in hint and node.value is not None:
                found[node.target.id] = _field(node.target.id, node.value)
    return found


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _home(tree: ast.Module, path: Path, name: str) -> Path | None:
    """Return the file of a class; None for classes of other packages, which declare no settings."""
    if any(isinstance(node, ast.ClassDef) and node.name == name for node in tree.body):
        return path
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level and any(a.name == name for a in node.names):
            return HOMES.get(name) or (HERE / f"{node.module}.py" if path.parent == HERE else None)
    return None


def _field(name: str, value: ast.expr) -> Field | None:
    """Return the dataclass field that param(...) or tuned(...) makes; None if a part of it is no literal."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("param", "tuned")):
        return None
    try:
        default = ast.literal_eval(value.args[0])
        rules = {k.arg: ast.literal_eval(k.value) for k in value.keywords if k.arg != "search"}
    except ValueError:
        return None
    if value.func.id == "tuned":
        rules["paper"], default = default, None
    made: Any = field(default=default, metadata=rules)
    made.name = name
    return made
