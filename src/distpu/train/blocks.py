"""Epochs over rows on disk: a few random blocks of neighbouring rows at a time are read, mixed and cut into batches.

Rows drawn one by one would be read from all over the disk. Here a read has thousands of rows, memory holds AT_ONCE
blocks, and a row meets rows of other blocks in each epoch. No list of all row numbers is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .data import Batch, PUData
from .sampling import evenly, repeated, steps_of

if TYPE_CHECKING:
    from .loop import Recipe

BLOCK, BYTES = 4096, 2**20  # neighbouring rows that are read at once, at most, and their size
AT_ONCE = 64  # blocks that are mixed with each other


def batches(data: PUData, recipe: Recipe, visits: Tensor | None = None) -> Iterator[Batch]:
    """Yield the batches of an epoch, all of one size. The few rows left over differ from epoch to epoch.

    visits  a mask of the rows that the epoch visits; None: all
    """
    _, size = _sizes(data, recipe, visits)
    if recipe.sampling == "paired":
        unlabelled = data.s == 0 if visits is None else visits & (data.s == 0)
        labelled = data[torch.nonzero(data.s == 1 if visits is None else visits & (data.s == 1)).flatten()]
        for part in _cut(data, unlabelled, size, evenly_spaced=False):
            drawn = repeated(len(labelled.s), len(part), recipe.labelled, data.s.device)
            yield from (_joined(_taken(labelled, p), u) for p, u in zip(drawn, part, strict=True))
        return
    for part in _cut(data, visits, size, recipe.sampling == "stratified"):
        yield from part


def visited(data: PUData, recipe: Recipe, visits: Tensor | None = None) -> int:
    """Return how many rows the batches of an epoch have together. A labelled row that comes twice counts twice."""
    count, size = _sizes(data, recipe, visits)
    return count // size * (size + (recipe.labelled if recipe.sampling == "paired" else 0))


def _sizes(data: PUData, recipe: Recipe, visits: Tensor | None) -> tuple[int, int]:
    """Return how many rows are shuffled, and how many of them a batch has; of 'paired' only unlabelled ones."""
    if recipe.sampling == "paired":
        count = int((data.s == 0 if visits is None else visits & (data.s == 0)).sum())
        return count, count // steps_of(count, max(1, recipe.batch_size - recipe.labelled), least=1)
    count = len(data) if visits is None else int(visits.sum())
    return count, count // steps_of(count, recipe.batch_size)


def _cut(data: PUData, visits: Tensor | None, size: int, evenly_spaced: bool) -> Iterator[list[Batch]]:
    """Yield the batches of AT_ONCE random blocks at a time. Rows left over go into the next blocks' batches."""
    left: Batch | None = None
    block = max(1, min(BLOCK, BYTES // max(1, data.x[:1].nbytes)))
    for group in torch.randperm(math.ceil(len(data) / block)).split(AT_ONCE):
        rows = _read(data, group * block, block, visits)
        rows = rows if left is None else _joined(left, rows)
        order = evenly(rows.s) if evenly_spaced else torch.randperm(len(rows.s), device=rows.s.device)
        whole = len(order) // size * size
        yield [_taken(rows, chosen) for chosen in order[:whole].view(-1, size)]
        left = _taken(rows, order[whole:])


def _read(data: PUData, starts: Tensor, block: int, visits: Tensor | None) -> Batch:
    """Return the rows of some blocks, on the device that trains."""
    spans = [(start, min(start + block, len(data))) for start in starts.tolist()]
    index = torch.cat([torch.arange(*span, device=data.s.device) for span in spans])
    rows = Batch(index, torch.cat([data.x[a:b] for a, b in spans]).to(data.s.device).float(), data.s[index])
    data.forget()
    return rows if visits is None else _taken(rows, torch.nonzero(visits[index]).flatten())


def _taken(rows: Batch, places: Tensor) -> Batch:
    return Batch(rows.index[places], rows.x[places], rows.s[places])


def _joined(first: Batch, second: Batch) -> Batch:
    pairs = (first.index, second.index), (first.x, second.x), (first.s, second.s)
    return Batch(*(torch.cat(pair) for pair in pairs))
