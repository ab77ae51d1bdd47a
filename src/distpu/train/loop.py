"""The only training loop. Methods call it; it knows none of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .data import Batch, PUData
from .sampling import SAMPLINGS


@dataclass(frozen=True)
class Recipe:
    """How one stage is trained: Adam, with a cosine from lr to floor * lr, stepped once an epoch."""

    epochs: int
    lr: float = 5e-4
    weight_decay: float = 5e-3  # coupled L2 on every parameter
    batch_size: int = 256
    floor: float = 0.0
    period: int | None = None  # length of the cosine in epochs; the stage's own length when None
    sampling: str = "mixed"
    labelled: int = 16  # labelled rows in a batch, for sampling="paired"
    betas: tuple[float, float] = (0.9, 0.999)

    def rate(self, epoch: int) -> float:
        cosine = (1 + math.cos(math.pi * epoch / (self.period or self.epochs))) / 2
        return self.lr * (self.floor + (1 - self.floor) * cosine)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        parameters = [p for p in model.parameters() if p.requires_grad]
        cuda = parameters[0].device.type == "cuda"
        lr = torch.tensor(self.lr, device=parameters[0].device) if cuda else self.lr  # a captured step reads it there
        decay = self.weight_decay
        return torch.optim.Adam(parameters, lr, self.betas, weight_decay=decay, fused=True, capturable=cuda)


class Objective(nn.Module):
    """What a stage minimises. What must outlive a batch is a buffer: then a killed run resumes by itself."""

    many_shapes = False  # whether its batches come in ever new sizes, for each of which a network would be compiled

    def rows(self, s: Tensor) -> Tensor:
        """Numbers of the rows that the next epoch visits: all, unless a method says otherwise."""
        return torch.arange(len(s), device=s.device)

    def batches(self, s: Tensor, recipe: Recipe) -> Tensor | Iterable[Tensor]:
        """Row numbers of each step of the next epoch."""
        return SAMPLINGS[recipe.sampling](self.rows(s), s, recipe)

    def scorer(self, model: nn.Module) -> nn.Module:
        """The network that an epoch is judged by: the model, or the first of several."""
        return next(iter(model.values())) if isinstance(model, nn.ModuleDict) else model

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        """Named terms, which the loop sums and logs. progress = epoch / epochs, in [0, 1)."""
        raise NotImplementedError


class Risk(Objective):
    """An objective without state: one term, a function of the batch's logits and labels."""

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
    """One training step, eager, and the sums of its terms."""

    def __init__(self, model: nn.Module, objective: Objective, optimizer: torch.optim.Optimizer, device: torch.device):
        self.model, self.objective, self.optimizer = model, objective, optimizer
        self.progress = torch.zeros((), device=device)
        self.sums = torch.zeros((), device=device)
        self.count, self.names = 0, ()

    def begin(self, progress: float, rate: float) -> None:
        """A new epoch."""
        self.model.train()
        self.objective.train()
        self.progress.fill_(progress)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):  # a captured step reads it there
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.sums.zero_()
        self.count = 0

    def __call__(self, batch: Batch) -> None:
        self._train(batch)
        self.count += 1

    def means(self) -> dict[str, float]:
        """Of the terms, over the epoch's steps: the one place where the host waits for the device."""
        return dict(zip(self.names, (self.sums / self.count).tolist(), strict=True))

    def _train(self, batch: Batch) -> None:
        terms = self.objective(self.model, batch, self.progress)
        values = torch.stack([*terms.values()])
        self.optimizer.zero_grad()
        values.sum().backward()
        self.optimizer.step()
        if self.sums.shape != values.shape:
            self.sums, self.names = torch.zeros_like(values), tuple(terms)
        self.sums += values.detach()


def epochs(step: Step, data: PUData, recipe: Recipe, first: int = 0) -> Iterator[Epoch]:
    """Train; hand the caller each epoch as it ends. The caller's for-body is what other loops call callbacks."""
    for number in range(first, recipe.epochs):
        step.begin(number / recipe.epochs, recipe.rate(number))
        for batch in data.batches(step.objective.batches(data.s, recipe)):
            step(batch)
        yield Epoch(number, recipe.epochs, recipe.rate(number), step.means())
