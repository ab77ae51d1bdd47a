"""Imports point down, and heavy ones come late."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src/distpu"
LAYERS = [
    {"cli"},
    {"study", "plots"},
    {"serve"},
    {"predictions", "show", "export"},
    {"answer"},
    {"report", "tune", "saved", "diagnosis"},
    {"judge"},
    {"methods"},
    {"estimator", "train"},
    {"prior", "threshold", "nets"},
    {"encode"},
    {"datasets", "metrics", "inputs"},
    {"looked", "on_ray"},
    {"files", "params", "progress", "weights"},
    {"notebook", "kinds"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
NO_TORCH = ["estimator", "prior", "threshold", "inputs", "datasets", "params", "metrics", "files", "progress", "cli"]
NO_TORCH += ["kinds", "encode", "diagnosis", "weights", "looked"]


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Modules of distpu that a file imports, absolute or relative, within functions too; without the leading distpu."""
    package, found = path.relative_to(SRC).parent.parts, set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name.removeprefix("distpu.") for a in node.names if a.name.split(".")[0] == "distpu"}
        elif isinstance(node, ast.ImportFrom):
            base = ["distpu", *package][: len(package) + 2 - node.level] if node.level else []
            parts = [*base, *(node.module.split(".") if node.module else [])]
            if parts[:1] == ["distpu"]:
                found |= {".".join([*parts[1:], a.name]) for a in node.names}
    return found - {"__version__"}


FILES = [p for p in sorted(SRC.rglob("*.py")) if room_of(p) not in ("__init__", "__main__")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_down(path):
    room = room_of(path)
    assert room in LEVEL, f"add the room {room!r} to LAYERS above"
    for module in imported(path):
        other = module.split(".")[0]
        assert other == room or LEVEL[other] > LEVEL[room], f"{room} may not import {module}"
        if room == "report":
            assert other in ("report", "files", "metrics", "params"), f"report may not import {module}"
        if room == "methods" and other == "methods":
            name = module.split(".")[1]
            own = (SRC / "methods" / f"{name}.py").exists() or name in ("make", "METHODS", "method_class")
            assert own and (name.startswith("_") or path.name == "__init__.py" or name in EXTENDS.get(path.stem, ()))


EXTENDS = {
    "imb_pu": ("nnpu",),
    "pusb": ("nnpu",),
    "apu": ("nnpu",),
    "tedn": ("cvir",),
    "auto": ("method_class",),
}  # the paper that each extends


def test_files_are_rooms_one_can_see_through():
    long = {str(p.relative_to(SRC)): n for p in FILES if (n := len(p.read_text().splitlines())) > 420}
    assert not long


@pytest.mark.parametrize("room", NO_TORCH)
def test_no_torch_is_loaded_by_what_promises_so(room):
    code = f"import sys, distpu.{room}; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


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
    for cls in distpu.METHODS.values():
        assert getattr(distpu, cls.__name__) is cls  # as `distpu methods NAME` tells a reader to import it
    with pytest.raises(AttributeError, match="no attribute 'DistPUU'"):
        _ = distpu.DistPUU
