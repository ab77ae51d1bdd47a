"""The only training loop. Methods call the loop; the loop knows no method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from . import blocks, parallel
from .data import Batch, PUData
from .sampling import SAMPLINGS


@dataclass(frozen=True)
class Recipe:
    """How one stage is trained. The rate falls once an epoch along a cosine from lr to floor * lr."""

    epochs: int
    lr: float = 5e-4
    weight_decay: float = 5e-3  # coupled L2 on every parameter
    decay_all: bool = True  # False: no L2 on biases and on the weights of normalising layers
    batch_size: int = 256
    floor: float = 0.0
    period: int | None = None  # length of the cosine in epochs; the stage's own length when None
    sampling: str = "mixed"
    labelled: int = 16  # labelled rows in a batch, for sampling="paired"
    optimiser: str = "adam"  # or "sgd": with Nesterov's momentum
    betas: tuple[float, float] = (0.9, 0.999)  # of Adam
    momentum: float = 0.9  # of SGD
    rise: int = 0  # epochs in which the rate rises linearly from 0, step by step, below the cosine

    def rate(self, epoch: int, done: float = 1.0) -> float:
        """Return the rate when a share of the epoch is done. It changes within an epoch only while it rises."""
        cosine = (1 + math.cos(math.pi * epoch / (self.period or self.epochs))) / 2
        rate = self.lr * (self.floor + (1 - self.floor) * cosine)
        return rate * (epoch + done) / self.rise if epoch < self.rise else rate

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        parameters = [p for p in model.parameters() if p.requires_grad]
        cuda = parameters[0].device.type == "cuda"
        lr = torch.tensor(self.lr, device=parameters[0].device) if cuda else self.lr  # a recorded step needs a tensor
        decay = self.weight_decay
        groups: list[dict[str, Any]] = [{"params": parameters}]
        if not self.decay_all:  # a weight has two axes or more; a bias and a norm's weight have one
            few, many = ([p for p in parameters if (p.dim() > 1) == weights] for weights in (False, True))
            groups = [{"params": many}, {"params": few, "weight_decay": 0.0}]
        if self.optimiser == "sgd":
            return torch.optim.SGD(groups, lr, self.momentum, weight_decay=decay, nesterov=True, fused=True)
        return torch.optim.Adam(groups, lr, self.betas, weight_decay=decay, fused=True, capturable=cuda)


class Objective(nn.Module):
    """What a stage minimises. Whatever must outlive a batch is a buffer, so that a killed run can be resumed."""

    many_shapes = False  # whether batches come in ever new sizes: a network would be compiled for each
    draws_views = False  # whether it draws its own views of the images; else its batches are weak views

    def rows(self, s: Tensor) -> Tensor:
        """Return the numbers of the rows that the next epoch visits. By default it visits all rows."""
        return torch.arange(len(s), device=s.device)

    def batches(self, s: Tensor, recipe: Recipe) -> Tensor | Iterable[Tensor]:
        """Return the row numbers of each step of the next epoch."""
        return SAMPLINGS[recipe.sampling](self.rows(s), s, recipe)

    def scorer(self, model: nn.Module) -> nn.Module:
        """Return the network whose scores are logged after each epoch: the model, or the first of several."""
        return next(iter(model.values())) if isinstance(model, nn.ModuleDict) else model

    def networks(self, model: nn.Module) -> list[nn.Module]:
        """Return the networks whose epoch is chosen on held-out rows: the model, and those that the scorer needs."""
        return [model]

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        """Return named terms. The loop minimises their sum and logs each one. progress = epoch / epochs, in [0, 1)."""
        raise NotImplementedError


class Risk(Objective):
    """An objective without state. Its one term is a function of the batch's logits and labels."""

    def __init__(self, name: str, risk: Callable[[Tensor, Tensor], Tensor]):
        super().__init__()
        self.name, self.risk = name, risk

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        return {self.name: self.risk(model(batch.x), batch.s)}


@dataclass(frozen=True)
class Epoch:
    number: int  # counted from 0
    of: int
    lr: float
    terms: dict[str, float]  # mean over the epoch's batches


class Step:
    """One eager training step. It also sums the terms over an epoch."""

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
        view: Callable[[Tensor], Tensor] | None = None,
    ):
        self.model, self.objective, self.optimizer, self.view = model, objective, optimizer, view
        self.progress = torch.zeros((), device=device)
        self.sums = torch.zeros((), device=device)
        self.count, self.names = 0, ()

    def begin(self, progress: float, rate: float) -> None:
        """Begin an epoch."""
        self.model.train()
        self.objective.train()
        self.progress.fill_(progress)
        self.take_rate(rate)
        self.sums.zero_()
        self.count = 0

    def take_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):  # a recorded step reads the rate from this tensor
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def __call__(self, batch: Batch) -> None:
        self._train(batch)
        self.count += 1

    def means(self) -> dict[str, float]:
        """Return the mean of each term over the epoch. Only here the host waits for the device."""
        return dict(zip(self.names, (self.sums / self.count).tolist(), strict=True))

    def _train(self, batch: Batch) -> None:
        if self.view is not None:
            batch = replace(batch, x=self.view(batch.x))
        terms = self.objective(self.model, batch, self.progress)
        values = torch.stack([*terms.values()])
        self.optimizer.zero_grad()
        values.sum().backward()
        parallel.average_gradients(p for group in self.optimizer.param_groups for p in group["params"])
        self.optimizer.step()
        if self.sums.shape != values.shape:
            self.sums, self.names = torch.zeros_like(values), tuple(terms)
        self.sums += values.detach()


def epochs(step: Step, data: PUData, recipe: Recipe, first: int = 0) -> Iterator[Epoch]:
    """Train, and yield each epoch when it ends. The body of the caller's for loop takes the place of callbacks."""
    for number in range(first, recipe.epochs):
        step.begin(number / recipe.epochs, recipe.rate(number))
        batches, rows = _batches(step.objective, data, recipe)
        seen = 0
        for batch in batches:
            if number < recipe.rise:
                seen += len(batch.s)
                step.take_rate(recipe.rate(number, min(1.0, seen / rows)))
            step(batch)
        yield Epoch(number, recipe.epochs, recipe.rate(number), step.means())


def _batches(objective: Objective, data: PUData, recipe: Recipe) -> tuple[Iterator[Batch], int]:
    """Return the batches of an epoch, and how many rows they have together.

    An objective that cuts its batches itself reads rows on disk one by one. One that yields them does not say how many
    rows will come; they count as many as the data have.
    """
    kind = type(objective)
    if not data.blocks or kind.batches is not Objective.batches:
        indices = objective.batches(data.s, recipe)
        return data.batches(indices), indices.numel() if isinstance(indices, Tensor) else len(data)
    visits = None
    if kind.rows is not Objective.rows:
        visits = torch.zeros_like(data.s, dtype=torch.bool)
        visits[objective.rows(data.s)] = True
    return blocks.batches(data, recipe, visits), blocks.visited(data, recipe, visits)
