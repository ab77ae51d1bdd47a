"""A Run is what a method is handed: the data, fresh networks, and named stages that are logged, saved and resumed."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from . import checkpoint, nets, train
from .data import PUData
from .train import Epoch, Objective, Recipe

Row = dict[str, Any]  # one line of metrics.jsonl


class Report(Protocol):
    """Whoever watches: told of every epoch, for a progress bar or a log."""

    def __call__(self, stage: str, epoch: Epoch) -> None: ...


class Run:
    def __init__(
        self,
        data: PUData,
        build: Callable[[], nn.Module],
        folder: Path | None = None,
        report: Report | None = None,
    ):
        self.data = data
        self.history: list[Row] = []
        self._build, self._folder, self._report = build, folder, report
        self._logged = list(read_log(folder / "metrics.jsonl")) if folder else None  # by a run that was killed
        unlabelled = torch.nonzero(data.s == 0).flatten()
        self._watched = unlabelled[:: max(1, math.ceil(len(unlabelled) / 4096))]

    def net(self) -> nn.Module:
        """A fresh network on the data's device."""
        return self._build().to(self.data.s.device)

    def train(self, stage: str, model: nn.Module, objective: Objective, recipe: Recipe) -> None:
        for _ in self.epochs(stage, model, objective, recipe):
            pass

    def epochs(self, stage: str, model: nn.Module, objective: Objective, recipe: Recipe) -> Iterator[Epoch]:
        """Train a stage. A finished one is restored and yields nothing; a started one goes on where it was.

        The body of the caller's loop runs before the epoch is saved: what it changes must be in buffers.
        """
        objective.to(self.data.s.device)
        optimizer = recipe.optimizer(model)
        first = self._restore(stage, model, objective, optimizer)
        cost, saved = 0.0, -math.inf
        for epoch in train.epochs(model, objective, self.data, recipe, optimizer, first):
            self._refuse_nan(stage, epoch, model)
            self._log(stage, epoch, model)
            yield epoch
            start = time.monotonic()
            last = epoch.number + 1 == recipe.epochs
            if self._folder and (last or start - saved > 20 * cost):  # saving takes at most 5 % of the time
                self._save(stage, epoch.number + 1, model, objective, optimizer)
                saved = time.monotonic()
                cost = saved - start

    def _log(self, stage: str, epoch: Epoch, model: nn.Module) -> None:
        net = next(iter(model.values())) if isinstance(model, nn.ModuleDict) else model
        positive = (nets.logits(net, self.data.x[self._watched]) >= 0).float().mean().item()
        row = {
            "stage": stage,
            "epoch": epoch.number,
            "lr": epoch.lr,
            "predicted_prior": positive,
            **epoch.terms,
        }
        if self._folder and self._logged is not None:
            checkpoint.write(self._folder / "metrics.jsonl", log_lines(self.history).encode())
            self._logged = None
        self.history.append(row)
        if self._folder:
            with open(self._folder / "metrics.jsonl", "a") as file:
                file.write(log_lines([row]))
        if self._report:
            self._report(stage, epoch)

    def _refuse_nan(self, stage: str, epoch: Epoch, model: nn.Module) -> None:
        bad = [name for name, value in epoch.terms.items() if not math.isfinite(value)]
        if not bad and all(bool(p.isfinite().all()) for p in model.parameters()):
            return
        what = f"the loss term {bad[0]!r} became {epoch.terms[bad[0]]}" if bad else "the weights became infinite or NaN"
        saved = self._folder.glob("stage-*.safetensors") if self._folder else []
        kept = max(saved, key=lambda path: path.stat().st_mtime_ns, default=None)
        where = f" (the last good state is kept: {kept})" if kept else ""
        raise FloatingPointError(
            f"{what} in stage {stage!r}, epoch {epoch.number + 1} of {epoch.of}, at lr={epoch.lr:.3g}; "
            f"lower the learning rate{', in another folder,' if kept else ''} or look for extreme values in X{where}"
        )

    def _save(self, stage: str, done: int, *parts: Any) -> None:
        assert self._folder is not None
        newest, before = _checkpoints(self._folder, stage)
        if newest.exists():
            os.replace(newest, before)
        checkpoint.save(newest, checkpoint.pack(*parts), stage=stage, epochs_done=done)

    def _restore(self, stage: str, *parts: Any) -> int:
        """Load the newest good checkpoint of the stage; return how many of its epochs are done."""
        if not self._folder:
            return 0
        for path in _checkpoints(self._folder, stage):
            try:
                tensors, meta = checkpoint.load(path)
            except FileNotFoundError:
                continue
            except ValueError as error:
                warnings.warn(f"{error}; going on from the state before it", RuntimeWarning, stacklevel=4)
                continue
            checkpoint.unpack(tensors, *parts)
            self._recall(stage, meta["epochs_done"])
            return meta["epochs_done"]
        self._recall(stage, 0)
        return 0

    def _recall(self, stage: str, done: int) -> None:
        """Take back the log of a restored stage. What was logged after its checkpoint is cut off by the next line."""
        self.history += [row for row in self._logged or [] if row["stage"] == stage and row["epoch"] < done]


def _checkpoints(folder: Path, stage: str) -> tuple[Path, Path]:
    """The newest checkpoint of a stage, and the one before it."""
    return folder / f"stage-{stage}.safetensors", folder / f"stage-{stage}.before.safetensors"


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
        raise _unwritable(folder, error) from None
    known = folder / "config.json"
    if not known.exists() and any(p.name not in (".lock", "config.json.tmp") for p in folder.iterdir()):
        raise ValueError(f"{folder} is not empty and is not a run folder (no config.json); name a new folder")
    with lock(folder):
        finished = (folder / "done").exists()
        if known.exists():
            there = checkpoint.read_json(known, "method", "params", "data")
            differ = _differences(there, config)
            if not differ:
                yield folder, there, finished
                return
            if finished or any(folder.glob("stage-*.safetensors")):
                raise ValueError(f"{folder} was made with other {'; other '.join(differ)}; name another folder")
            (folder / "prior.json").unlink(missing_ok=True)  # a first try that came to nothing blocks no second
        checkpoint.write_json(known, config)
        yield folder, config, False


def _differences(old: Row, new: Row) -> list[str]:
    """What of parameters and data differs; device and progress may change between start and resume."""

    def pairs(a: Row, b: Row, keys: Iterable[str]) -> str:
        return ", ".join(f"{k}={b.get(k)!r} (there: {a.get(k)!r})" for k in keys if a.get(k) != b.get(k))

    a, b = ({"method": config["method"], **config["params"]} for config in (old, new))
    params = pairs(a, b, [k for k in sorted(a | b) if k not in ("device", "progress")])
    a, b = old["data"], new["data"]
    data = pairs(a, b, ("rows", "shape", "labelled"))
    if not data and a != b:  # what is left are checksums, which tell a reader nothing
        sums = [k for k in sorted(a | b) if a.get(k) != b.get(k)]
        data = f"as many rows, other {' and '.join(sums).replace('fingerprint', 'values')}"
    return [f"{what}: {text}" for what, text in (("parameters", params), ("data", data)) if text]


def _unwritable(folder: Path, error: OSError) -> ValueError:
    return ValueError(f"{folder} cannot be written ({error.strerror}); name another folder")


def finish(folder: Path, model: nn.Module, fitted: Row) -> None:
    """Write the model, then `done`; the checkpoints have served."""
    checkpoint.save(folder / "model.safetensors", dict(model.state_dict()))
    checkpoint.write_json(folder / "model.json", fitted)
    checkpoint.write(folder / "done", b"")
    for path in folder.glob("stage-*.safetensors*"):
        path.unlink()


class lock:
    """One process per run folder. The operating system drops the lock with the process, also after kill -9."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __enter__(self) -> None:
        try:
            self.file = open(self.folder / ".lock", "w")
        except OSError as error:
            raise _unwritable(self.folder, error) from None
        try:
            import fcntl
        except ImportError:  # Windows has no flock; two trainings in one folder are then the user's care
            return
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise ValueError(
                f"{self.folder} is being trained by another process; wait for it or name another"
            ) from None

    def __exit__(self, *_: object) -> None:
        self.file.close()


@contextmanager
def busy(text: str, show: bool = True) -> Iterator[None]:
    """A spinner on a terminal's stderr for a step of unknown length."""
    if not (show and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


class Bar:
    """A progress bar on a terminal's stderr, for whatever takes longer than two seconds."""

    def __init__(self, title: str):
        self.title, self.start = title, time.monotonic()
        self.bar: Any = None
        self.tasks: dict[str, Any] = {}

    def __call__(self, stage: str, epoch: Epoch) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self.start < 2:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self.bar = Progress(
                *columns, TextColumn("{task.fields[loss]}"), console=Console(stderr=True), transient=True
            )
            self.bar.start()
        if stage not in self.tasks:
            self.tasks[stage] = self.bar.add_task(f"{self.title} {stage}", total=epoch.of, loss="")
        loss = f"loss {sum(epoch.terms.values()):.4f}"  # its terms, which the log has, would leave the bar no room
        self.bar.update(self.tasks[stage], completed=epoch.number + 1, loss=loss)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
