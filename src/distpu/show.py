"""What a run folder holds and how it was made, from its JSON files: no model is loaded."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from .files import atomic
from .files.run_folder import RunFolder
from .methods import METHODS
from .params import near


def describe(folder: str | Path) -> dict[str, Any]:
    """Return the facts of a finished run folder as plain values for JSON."""
    run = RunFolder(folder)
    run.check_finished()
    config = run.config()
    if not (run.path / RunFolder.MODEL).exists():
        raise ValueError(f"{folder} holds no model (it has no {RunFolder.MODEL}), so there is nothing to show")
    fitted, _ = atomic.read_signed(run.path / RunFolder.MODEL)
    name = config["method"]
    return {
        "folder": str(folder),
        "method": {"name": name, "what": _first_line(name)},
        "data": config["data"],
        "classes": fitted.get("classes"),
        "prior": _prior(fitted, config["params"]),
        "cut": _cut(fitted),
        "called": _called(run),
        "columns": _columns(run, fitted),
        "settings": {**config["params"], **(fitted.get("settings") or {})},
        "preset": fitted.get("preset"),
        "seed": config.get("seed"),
        "versions": config.get("versions", {}),
        "seconds": run.seconds() or None,
        "files": {one.name: one.stat().st_size for one in sorted(run.path.iterdir()) if one.is_file()},
    }


def _first_line(method: str) -> str:
    """Return what a method is, from its source: importing PyTorch for a sentence would take seconds."""
    place = METHODS.place(method) if method in METHODS else None
    if place is None:
        return f"a method that this version of distpu does not know{near(method, METHODS)}"
    module, cls = place.split(".")
    tree = ast.parse((Path(__file__).parent / f"methods/{module}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == cls:
            return (ast.get_docstring(node) or "").split("\n")[0]
    return ""


def _prior(fitted: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    found = fitted.get("estimate") or {}
    told = {"share": fitted.get("prior"), "asked": params.get("prior"), "estimator": found.get("name")}
    return told | {key: found.get(key) for key in ("interval", "level", "two_sided")}


def _called(run: RunFolder) -> int | None:
    """Return how many unlabelled rows the fit called positive, as scores.csv and the page say; None without a page."""
    if not (run.path / RunFolder.FACTS).exists():
        return None
    found = run.facts().get("called")
    return found if isinstance(found, int) else None


def _cut(fitted: dict[str, Any]) -> dict[str, Any] | None:
    """Return the cut and what it should give on the unlabelled rows; None where the method has no held-out rows."""
    if fitted.get("cut") is None:
        return None
    from .threshold import FittedCut

    cut = FittedCut.from_json(fitted["cut"])
    interval = (fitted.get("estimate") or {}).get("interval")
    given = cut.expected(None if interval is None else tuple(interval))
    return {"choice": cut.choice, "score": cut.at, "expected": str(given), **given.as_json()}


def _columns(run: RunFolder, fitted: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return each column and what was done to it; None where rows have no named columns."""
    if (run.path / RunFolder.ENCODER).exists():
        state, _ = atomic.read_signed(run.path / RunFolder.ENCODER, "columns")
        keys = {"name": "name", "kind": "kind", "what": "done", "used": "used", "width": "width"}
        return [{key: column.get(own) for key, own in keys.items()} for column in state["columns"]]
    names = fitted.get("feature_names_in")
    if names is None:
        return None
    return [{"name": name, "kind": "number", "what": "taken as it is", "used": True, "width": 1} for name in names]
