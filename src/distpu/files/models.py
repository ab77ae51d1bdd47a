"""scikit-learn models without pickle: skops files, read with a closed list of types. Nothing in a file is executed."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import atomic, boosters

# skops trusts scikit-learn's and numpy's own types. These two hold the arrays of trees, which are checked below.
TRUSTED = ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor", "sklearn.tree._tree.Tree"]

BRIDGE = "sklearn.externals.array_api_compat.torch"  # importing it imports torch
SCHEMA = "schema.json"
MOST_NESTED = 200  # levels of lists, dicts and objects; a pipeline in a pipeline takes about five each


def save(path: Path, state: dict[str, Any], owner: str) -> None:
    """Write the objects of a fitted method; refuse those that `load` would not read back."""
    atomic.write(path, content_of(state, owner))


def content_of(state: Any, owner: str) -> bytes:
    """The bytes of a file; ValueError, naming what the owner holds, where `load` would not read them back."""
    try:
        content = canonical(_skops().dumps(state))
        strange = _strange(content)
    except ImportError:
        raise
    except Exception as error:
        strange = [f"an object that skops cannot write ({str(error).splitlines()[0]})"]
    if strange:
        raise ValueError(
            f"{owner} holds {', '.join(strange)}, which has no file that is safe to load; fit without a folder and "
            "keep the model with joblib.dump, whose files can run code when they are loaded"
        )
    return content


def canonical(content: bytes) -> bytes:
    """The same file, of which equal models give equal bytes.

    skops calls objects and their files by their place in memory, and a zip tells the time. Here they are numbered in
    the order of the schema. Equal values of JSON, such as two zeros, get one number: whether they are one object or
    two is left to chance.
    """
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}

    def renumber(node: Any) -> None:
        if isinstance(node, dict):
            if "__id__" in node:
                key = ("value", str(node["content"])) if node.get("is_json") else ("object", node["__id__"])
                node["__id__"] = numbers.setdefault(key, len(numbers))
            if isinstance(node.get("file"), str) and node["file"] in there:
                node["file"] = files.setdefault(node["file"], f"{len(files)}{Path(node['file']).suffix}")
        for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            renumber(inner)

    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        there = frozenset(old.namelist())
        schema = json.loads(old.read(SCHEMA))
        renumber(schema)
        parts = {name: _without_gaps(old.read(before)) for before, name in files.items()}
        for name, part in {**parts, SCHEMA: json.dumps(schema).encode()}.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            new.writestr(entry, part, zipfile.ZIP_DEFLATED, compresslevel=1)
    return packed.getvalue()


def _without_gaps(content: bytes) -> bytes:
    """The file of an array with zeros between its fields. A tree's nodes hold there what was in memory by chance."""
    if b"('', '|V" not in content[:4096]:  # as the header names a gap
        return content
    array = np.load(io.BytesIO(content), allow_pickle=False)
    clean = np.zeros(array.shape, array.dtype)
    for name in array.dtype.names or ():
        clean[name] = array[name]
    return content[: len(content) - clean.nbytes] + clean.tobytes()  # np.save would copy chance into the gaps again


def load(path: Path) -> dict[str, Any]:
    """The objects of a file; ValueError, naming it, where it is damaged or holds types that are not on the list."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; {atomic.REMEDY}")
    try:
        content = atomic.read(path)
        strange = _strange(content)
        if strange:
            raise ValueError(f"it holds {', '.join(strange)}, which is not on the list of types that are loaded")
        state = _skops().loads(content, trusted=TRUSTED)
        _check_trees(state)
    except ImportError:
        raise
    except Exception as error:  # a damaged zip, JSON or array fails in more ways than can be listed
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path} cannot be used ({reason}); {atomic.REMEDY}") from None
    return state


def _strange(content: bytes) -> list[str]:
    return [name for name in _skops().get_untrusted_types(data=content) if name not in TRUSTED]


def _skops() -> Any:
    try:
        with _without_torch():
            import skops.io
    except ImportError:
        raise ImportError("saving a method around a scikit-learn model needs skops: pip install skops") from None
    return skops.io


@contextmanager
def _without_torch() -> Iterator[None]:
    """Keep skops, which imports every package in scikit-learn when it is imported, from importing torch by that."""
    if BRIDGE in sys.modules or "skops.io" in sys.modules:
        yield
        return
    stand_in = sys.modules[BRIDGE] = ModuleType(BRIDGE)
    try:
        yield
    finally:
        if sys.modules.get(BRIDGE) is stand_in:
            del sys.modules[BRIDGE]


def _check_trees(found: Any, columns: int = 0, depth: int = 0) -> None:
    """Children and columns of every tree lie inside it: compiled code follows them without a look."""
    if depth > MOST_NESTED:
        raise ValueError("its objects are nested too deeply to be checked")
    kind = type(found).__name__
    if kind == "Tree":
        inner = found.children_left >= 0
        children = np.concatenate([found.children_left[inner], found.children_right[inner]])
        own = np.concatenate([np.flatnonzero(inner)] * 2)
        _refuse(children, own, found.node_count, found.feature[inner], found.n_features)
    elif kind == "TreePredictor":
        nodes = found.nodes
        inner = nodes["is_leaf"] == 0
        children = np.concatenate([nodes["left"][inner], nodes["right"][inner]]).astype(np.int64)
        own = np.concatenate([np.flatnonzero(inner)] * 2)
        _refuse(children, own, len(nodes), nodes["feature_idx"][inner], columns)
    elif isinstance(found, str) and found.startswith(boosters.START):
        boosters.check(found)
    elif isinstance(found, dict):
        for value in found.values():
            _check_trees(value, columns, depth + 1)
    elif isinstance(found, (list, tuple)) or (isinstance(found, np.ndarray) and found.dtype == object):
        for value in found:
            _check_trees(value, columns, depth + 1)
    elif hasattr(found, "__dict__"):
        _check_trees(vars(found), getattr(found, "n_features_in_", columns), depth + 1)


def _refuse(children: np.ndarray, own: np.ndarray, nodes: int, columns: np.ndarray, n_columns: int) -> None:
    # a child has a higher number than its parent, so that no path goes round
    if (children <= own).any() or (children >= nodes).any() or (columns < 0).any() or (columns >= n_columns).any():
        raise ValueError("a tree points outside itself")
