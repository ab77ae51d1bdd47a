"""A Run is what a method is handed: the data, fresh networks, and named stages that are logged, saved and resumed."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import nets
from ..files.run_folder import Json, RunFolder
from . import checkpoint, parallel
from . import loop as train
from .data import PUData
from .device import Speed, with_threads, work_of_a_row
from .loop import Epoch, Objective, Recipe
from .scoring import logits
from .validation import Best, Validation
from .views import PLAIN, Views

SLOWEST = 1e9  # floating-point operations per second; less work than a minute of that needs no word
Report = Callable[[str, Epoch], None]  # told of every epoch, for a progress bar
Observe = Callable[[nn.Module, float], dict[str, float]]  # network, prior -> figures for the log; they change nothing


class Run:
    def __init__(
        self,
        data: PUData,
        build: Callable[[], nets.Network],
        folder: RunFolder | None = None,
        report: Report | None = None,
        speed: Speed | None = None,
        observe: Observe | None = None,
        validation: Validation | None = None,
        views: Views = PLAIN,
    ):
        self.data, self.speed, self.views = data, speed or Speed(), views
        self.history: list[Json] = []
        self._validation = validation
        self._build, self._folder, self._report, self._observe = build, folder, report, observe
        self._logged = folder.log() if folder else None  # what a killed run has logged
        some = torch.arange(0, len(data), max(1, len(data) // 10_000) if data.blocks else 1, device=data.s.device)
        unlabelled = some[data.s[some] == 0]
        watched = unlabelled[:: max(1, math.ceil(len(unlabelled) / 2048))]  # enough for a share to a percent
        self._watched = data.rows(watched).to(data.s.device)
        self._work = 0.0  # of one row's pass through a network
        self._start = time.monotonic() - (folder.seconds() if folder else 0.0)  # the time before a kill counts too

    def net(self) -> nn.Module:
        """A fresh network on the data's device."""
        device = self.data.s.device
        net = self._build().to(device)
        self._work = self._work or work_of_a_row(net, self._watched[:2])
        net.in_bfloat16 = self.speed.bfloat16(device, self._work)
        return net

    def expected_time(self, passes: int, batch_size: int) -> str:
        """Say how long training takes on this CPU, by the time of a batch; '' where it is a minute or less."""
        x = self._watched[:batch_size].float()
        if x.device.type != "cpu" or x.dim() != 4 or len(x) < 2 or parallel.ranks() > 1:
            return ""
        with torch.random.fork_rng(devices=[]):  # the weights of this network are not those that are trained
            net = self.net()
        rows = passes * len(self.data)
        if 3 * self._work * rows / SLOWEST < 60:
            return ""
        taken = [self._seconds(net, x) for _ in range(3)]
        minutes = min(taken) / len(x) * rows / 60
        return f"training takes about {minutes:.0f} minutes on this CPU" if minutes > 1 else ""

    @staticmethod
    def _seconds(net: nn.Module, x: Tensor) -> float:
        start = time.perf_counter()
        net(x).mean().backward()
        return time.perf_counter() - start

    def train(self, stage: str, model: nn.Module, objective: Objective, recipe: Recipe) -> None:
        for _ in self.epochs(stage, model, objective, recipe):
            pass

    def epochs(self, stage: str, model: nn.Module, objective: Objective, recipe: Recipe) -> Iterator[Epoch]:
        """Train a stage. A finished one is restored and yields nothing; a started one goes on where it was.

        The body of the caller's loop runs before the epoch is saved: what it changes must be in buffers.
        """
        objective.to(self.data.s.device)
        optimizer = recipe.optimizer(model)
        validation = self._validation if self._validation and self._validation.chooses(stage) else None
        if validation:
            best = Best(objective.networks(model))
            objective.add_module("best_epoch", best)  # so that a checkpoint has it
        first = self._restore(stage, recipe.epochs, model, objective, optimizer)
        work = 3 * self._work * len(self.data) * recipe.epochs
        compiled = self.speed.compiled(self.data.s.device, work, objective.many_shapes)
        for part in (*model.modules(), *objective.modules()):
            if isinstance(part, nets.Network):
                part.in_compiled_code = compiled
        cost, saved = 0.0, -math.inf
        view = None if objective.draws_views or self.views is PLAIN else self.views.weak
        step = self.speed.step(model, objective, optimizer, self.data.s.device, view)
        trained = train.epochs(step, self.data, recipe, first)
        for epoch in with_threads(trained, self.data.s.device, self._work * recipe.batch_size):
            parallel.level(model)
            self._refuse_nan(stage, epoch, model)
            value = validation.value(objective.scorer(model), self.data.prior) if validation else None
            self._log(stage, epoch, objective.scorer(model), {} if value is None else {"validation": value})
            yield epoch
            last = epoch.number + 1 == recipe.epochs
            if value is not None:
                best.see(value)
                if last:
                    best.give_back()
            start = time.monotonic()
            if self._folder and (last or start - saved > 50 * cost):  # saving takes at most 2 % of the time
                self._save(stage, epoch.number + 1, model, objective, optimizer)
                saved = time.monotonic()
                cost = saved - start

    def _log(self, stage: str, epoch: Epoch, net: nn.Module, figures: dict[str, float]) -> None:
        with torch.autocast(self.data.s.device.type, torch.bfloat16, enabled=getattr(net, "in_bfloat16", False)):
            positive = (logits(net, self._watched) >= 0).float().mean().item()
        row = {
            "stage": stage,
            "epoch": epoch.number,
            "lr": epoch.lr,
            "predicted_prior": positive,
            **epoch.terms,
            **figures,
            **self._observed(net),
        }
        if self._folder and self._logged is not None:
            self._folder.rewrite_log(self.history)
            self._logged = None
        self.history.append(row)
        if self._folder:
            self._folder.append_to_log(row)
        if self._report:
            self._report(stage, epoch)

    def _observed(self, net: nn.Module) -> dict[str, float]:
        start = time.monotonic()
        figures = self._observe(net, self.data.prior) if self._observe else {}
        self._start += time.monotonic() - start  # no part of the training
        return figures

    def _refuse_nan(self, stage: str, epoch: Epoch, model: nn.Module) -> None:
        bad = [name for name, value in epoch.terms.items() if not math.isfinite(value)]
        if not bad and bool(torch.stack([p.isfinite().all() for p in model.parameters()]).all()):
            return
        what = f"the loss term {bad[0]!r} became {epoch.terms[bad[0]]}" if bad else "the weights became infinite or NaN"
        kept = self._folder.newest_checkpoint() if self._folder else None
        where = f" (the last good state is kept: {kept})" if kept else ""
        raise FloatingPointError(
            f"{what} in stage {stage!r}, epoch {epoch.number + 1} of {epoch.of}, at lr={epoch.lr:.3g}; "
            f"lower the learning rate{', in another folder,' if kept else ''} or look for extreme values in X{where}"
        )

    def _save(self, stage: str, done: int, *parts: Any) -> None:
        assert self._folder is not None
        self._folder.keep_checkpoint(stage, checkpoint.pack(*parts), done)
        self._folder.keep_seconds(time.monotonic() - self._start)

    def _restore(self, stage: str, epochs: int, *parts: Any) -> int:
        """Load the newest good checkpoint of the stage; return how many of its epochs are done."""
        if not self._folder:
            return 0
        for path in self._folder.checkpoints(stage):
            try:
                state, done = self._folder.checkpoint(path, stage, epochs)
                self._unpack(path, state, *parts)
            except FileNotFoundError:
                continue
            except ValueError as error:
                warnings.warn(f"{error}; going on from the state before it", RuntimeWarning, stacklevel=4)
                continue
            self._recall(stage, done)
            return done
        self._recall(stage, 0)
        return 0

    def _unpack(self, path: Path, *parts: Any) -> None:
        try:
            checkpoint.unpack(*parts)
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error})") from None

    def _recall(self, stage: str, done: int) -> None:
        """Take back the log of a restored stage. What was logged after its checkpoint is cut off by the next line."""
        self.history += [row for row in self._logged or [] if row["stage"] == stage and row["epoch"] < done]
