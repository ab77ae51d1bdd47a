"""A Run is what a method is handed: the data, fresh networks, and named stages that are logged, saved and resumed."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from . import checkpoint, nets, train
from .data import PUData
from .folder import Row, log_lines, read_log
from .train import Epoch, Objective, Recipe


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
        self._watched = unlabelled[:: max(1, math.ceil(len(unlabelled) / 2048))]  # enough for a share to a percent

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
