"""Cuts the rows of an epoch into batches."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .loop import Recipe


def _cut(order: Tensor, batch_size: int, least: int = 2) -> Tensor:
    """Return (steps, size): batches of one size <= batch_size. The few rows left over differ from epoch to epoch.

    All batches have one shape, so that a step can be recorded. A smaller last batch might also have a single row,
    which BatchNorm cannot take.
    """
    steps = min(math.ceil(len(order) / batch_size), max(1, len(order) // least))
    size = len(order) // steps
    return order[: steps * size].view(steps, size)


def _shuffled(rows: Tensor) -> Tensor:
    return rows[torch.randperm(len(rows), device=rows.device)]


def mixed(rows: Tensor, s: Tensor, recipe: Recipe) -> Tensor:
    """Shuffle the rows. Chance decides how many labelled rows a batch has, as in the public code."""
    return _cut(_shuffled(rows), recipe.batch_size)


def stratified(rows: Tensor, s: Tensor, recipe: Recipe) -> Tensor:
    """Shuffle the rows, but space labelled rows evenly: numbers of labelled rows in batches differ by at most one."""
    rows = _shuffled(rows)
    labelled = s[rows] == 1
    rank = torch.where(labelled, labelled.cumsum(0), (~labelled).cumsum(0))
    share = torch.where(labelled, labelled.sum(), (~labelled).sum())
    return _cut(rows[torch.argsort((rank - 0.5) / share, stable=True)], recipe.batch_size)


def paired(rows: Tensor, s: Tensor, recipe: Recipe) -> Tensor:
    """Put `labelled` labelled rows into every batch, repeating them. Each unlabelled row comes once."""
    labelled, unlabelled = rows[s[rows] == 1], rows[s[rows] == 0]
    u = _cut(_shuffled(unlabelled), max(1, recipe.batch_size - recipe.labelled), least=1)
    wanted = len(u) * recipe.labelled
    p = torch.cat([_shuffled(labelled) for _ in range(math.ceil(wanted / len(labelled)))])[:wanted]
    return torch.cat([p.view(len(u), recipe.labelled), u], dim=1)


SAMPLINGS = {"mixed": mixed, "stratified": stratified, "paired": paired}
