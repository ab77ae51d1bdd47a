"""Cuts the rows of an epoch into batches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .loop import Recipe


def steps_of(rows: int, batch_size: int, least: int = 2) -> int:
    """Return the number of batches of an epoch: none has more than batch_size rows, and none fewer than `least`."""
    return min(math.ceil(rows / batch_size), max(1, rows // least))


def _cut(order: Tensor, batch_size: int, least: int = 2) -> Tensor:
    """Return (steps, size): batches of one size <= batch_size. The few rows left over differ from epoch to epoch.

    All batches have one shape, so that a step can be recorded. A smaller last batch might also have a single row,
    which BatchNorm cannot take.
    """
    steps = steps_of(len(order), batch_size, least)
    size = len(order) // steps
    return order[: steps * size].view(steps, size)


def _shuffled(rows: Tensor) -> Tensor:
    return rows[torch.randperm(len(rows), device=rows.device)]


def mixed(rows: Tensor, s: Tensor, recipe: Recipe) -> Tensor:
    """Shuffle the rows. Chance decides how many labelled rows a batch has, as in the public code."""
    return _cut(_shuffled(rows), recipe.batch_size)


def stratified(rows: Tensor, s: Tensor, recipe: Recipe) -> Tensor:
    """Shuffle the rows, but space labelled rows evenly: numbers of labelled rows in batches differ by at most one."""
    return _cut(rows[evenly(s[rows])], recipe.batch_size)


def evenly(s: Tensor) -> Tensor:
    """Return the places of rows in random order, but with labelled rows spaced evenly."""
    order = torch.randperm(len(s), device=s.device)
    labelled = s[order] == 1
    rank = torch.where(labelled, labelled.cumsum(0), (~labelled).cumsum(0))
    share = torch.where(labelled, labelled.sum(), (~labelled).sum())
    return order[torch.argsort((rank - 0.5) / share, stable=True)]


def paired(rows: Tensor, s: Tensor, recipe: Recipe) -> Tensor:
    """Put `labelled` labelled rows into every batch, repeating them. Each unlabelled row comes once."""
    labelled, unlabelled = rows[s[rows] == 1], rows[s[rows] == 0]
    u = _cut(_shuffled(unlabelled), max(1, recipe.batch_size - recipe.labelled), least=1)
    p = labelled[repeated(len(labelled), len(u), recipe.labelled, rows.device)]
    return torch.cat([p, u], dim=1)


def repeated(rows: int, steps: int, count: int, device: torch.device) -> Tensor:
    """Return (steps, count): places of rows in random order, each as often as any other."""
    wanted = steps * count
    turns = [torch.randperm(rows, device=device) for _ in range(math.ceil(wanted / rows))]
    return torch.cat(turns)[:wanted].view(steps, count) if turns else torch.empty(0, count, dtype=torch.long)


SAMPLINGS = {"mixed": mixed, "stratified": stratified, "paired": paired}
