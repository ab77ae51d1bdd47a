"""Scores rows by a trained network, in chunks of one size."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from . import parallel
from .stream import stream


@torch.no_grad()
def logits(model: nn.Module, x: Tensor, device: torch.device | str | None = None) -> Tensor:
    """Return the logits of all rows, in eval mode, on the model's device. x may be on another device.

    All chunks have one size; the last one is padded with zero rows. A matrix product of another shape rounds
    differently, and the score of a row must not depend on the rows that are scored with it.
    """
    device = torch.device(device) if device is not None else next(model.parameters(), x).device
    limit = 2**18 if device.type == "cpu" else 2**23  # small on a CPU: even one row takes a whole chunk's time
    size = 2 ** int(math.log2(min(max(limit // math.prod(x.shape[1:]), 1), 256 if device.type == "cpu" else 8192)))
    training, out = model.training, torch.zeros(len(x), device=device)
    model.eval()
    chunks = [slice(start, start + size) for start in range(0, len(x), size)]
    with parallel.whole():  # ranks share the chunks, not the rows of a chunk
        for where, part in stream(x, parallel.own(chunks), device):
            n = len(part)
            if n < size:
                part = torch.cat([part, part.new_zeros(size - n, *part.shape[1:])])
            out[where] = model(part)[:n]
    model.train(training)
    return out if parallel.ranks() == 1 else parallel.add_up(out)
