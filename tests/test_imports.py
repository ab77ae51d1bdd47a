"""Imports point one way, and heavy ones come late."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src/distpu"
MAY_IMPORT = {  # module -> distpu modules it may import; within functions too
    "stream": set(),
    "data": {"stream"},
    "nets": {"stream"},
    "download": set(),
    "datasets": {"download"},
    "metrics": set(),
    "labels": set(),
    "checks": set(),
    "prior": {"data"},
    "checkpoint": set(),
    "parts": {"data"},
    "calibration": {"data", "parts"},
    "train": {"data"},
    "fast": {"data", "train"},
    "folder": {"checkpoint"},
    "progress": {"train"},
    "run": {"checkpoint", "fast", "folder", "nets", "train", "data"},
    "estimator": {
        "checkpoint",
        "checks",
        "data",
        "fast",
        "folder",
        "labels",
        "nets",
        "prior",
        "progress",
        "run",
        "train",
    }
    | {"methods"},  # inside load()
    "methods": {"calibration", "nets", "data", "estimator", "labels", "parts", "run", "train", "prior"},
    "wrappers": {"checks", "data", "labels", "prior"},
    "bench": {"checkpoint", "checks", "metrics", "data", "datasets", "estimator", "folder", "labels", "methods"}
    | {"nets", "wrappers"},
    "plots": {"checkpoint", "folder"},
    "experiments": {"bench", "checkpoint", "datasets", "folder", "metrics"},
    "tables": {"experiments", "metrics"},
    "figures": {"experiments", "metrics", "plots", "tables"},
    "reproduce": {"bench", "checkpoint", "datasets", "experiments", "figures", "progress", "tables"},
    "commands": {"bench", "checkpoint", "datasets", "estimator", "folder", "methods", "metrics", "plots", "progress"}
    | {"experiments", "reproduce", "tables"},
    "cli": {"commands", "datasets"},
}


def imported(path):
    """distpu modules that a file imports, by their first name."""
    depth = len(path.relative_to(SRC).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            yield from [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]


@pytest.mark.parametrize("path", sorted(SRC.rglob("*.py")), ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_one_way(path):
    module = path.relative_to(SRC).parts[0].removesuffix(".py")
    if module in ("__init__", "__main__"):
        return
    assert module in MAY_IMPORT, f"add {module} to the table above, and say what it may import"
    assert set(imported(path)) - {"__version__"} <= MAY_IMPORT[module]


@pytest.mark.parametrize("statement", ["import distpu", "import distpu.cli", "import distpu.datasets"])
def test_importing_pulls_in_nothing_heavy(statement):
    heavy = "{'torch', 'sklearn', 'pandas', 'scipy', 'matplotlib', 'pyarrow'}"
    code = f"import sys; {statement}; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_public_names():
    import distpu

    assert set(distpu.__all__) == set(distpu._HOME) <= set(dir(distpu))
    for name in distpu.__all__:
        assert getattr(distpu, name) is not None
    for cls in [*distpu.METHODS.values(), *distpu.WRAPPERS.values()]:
        assert getattr(distpu, cls.__name__) is cls  # as `distpu methods NAME` tells a reader to import it
    with pytest.raises(AttributeError, match="no attribute 'DistPUU'"):
        _ = distpu.DistPUU
