"""A run folder: config.json, metrics.jsonl, checkpoints, seconds.json, model.json, model.safetensors; last, `done`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from . import atomic, tensors
from .lock import lock, unwritable

Row = dict[str, Any]  # one line of metrics.jsonl, or what a JSON file holds


def log_lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_log(path: Path) -> Iterator[Row]:
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return  # torn by a kill: it and nothing after it counts


@contextmanager
def open_folder(path: str | Path, config: Row) -> Iterator[tuple[Path, Row, bool]]:
    """Make a run folder, or open the one that is there, and hold it: (folder, its config, whether it is finished).

    A folder made with other parameters or other data is refused, with what differs, once something was learned in it.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    known = folder / "config.json"
    if not known.exists() and any(p.name not in (".lock", "config.json.tmp") for p in folder.iterdir()):
        raise ValueError(f"{folder} is not empty and is not a run folder (no config.json); name a new folder")
    with lock(folder):
        finished = (folder / "done").exists()
        if known.exists():
            there = atomic.read_json(known, "method", "params", "data")
            differ = _differences(there, config)
            if not differ:
                yield folder, there, finished
                return
            if finished or any(folder.glob("stage-*.safetensors")):
                raise ValueError(f"{folder} was made with other {'; other '.join(differ)}; name another folder")
            (folder / "prior.json").unlink(missing_ok=True)  # a first try that came to nothing blocks no second
        atomic.write_json(known, config)
        yield folder, config, False


def _differences(old: Row, new: Row) -> list[str]:
    """What of parameters and data differs; device and progress may change between start and resume."""

    def pairs(a: Row, b: Row, keys: Iterable[str]) -> str:
        return ", ".join(f"{k}={b.get(k)!r} (there: {a.get(k)!r})" for k in keys if a.get(k) != b.get(k))

    a, b = ({"method": config["method"], **config["params"]} for config in (old, new))
    params = pairs(a, b, [k for k in sorted(a | b) if k not in ("device", "progress", "preset")])
    a, b = old["data"], new["data"]
    data = pairs(a, b, ("dataset", "rows", "shape", "labelled", "scenario"))
    if not data and a != b:  # what is left are checksums, which tell a reader nothing
        sums = [k for k in sorted(a | b) if a.get(k) != b.get(k)]
        data = f"as many rows, other {' and '.join(sums).replace('fingerprint', 'values')}"
    return [f"{what}: {text}" for what, text in (("parameters", params), ("data", data)) if text]


def finish(folder: Path, model: nn.Module, fitted: Row) -> None:
    """Write the model, then `done`; the checkpoints have served."""
    tensors.save(folder / "model.safetensors", dict(model.state_dict()))
    atomic.write_json(folder / "model.json", fitted)
    atomic.write(folder / "done", b"")
    for path in folder.glob("stage-*.safetensors*"):
        path.unlink()


def spent(folder: Path) -> float:
    """Seconds of training up to the newest checkpoint: a run that was stopped says how long it took in all."""
    try:
        return float(json.loads((folder / "seconds.json").read_text())["seconds"])
    except (OSError, ValueError, TypeError, KeyError):  # none, or none to read: no reason to refuse the run
        return 0.0
