"""Scores of rows by a trained network, in chunks of one size."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .stream import stream


@torch.no_grad()
def logits(model: nn.Module, x: Tensor, device: torch.device | str | None = None) -> Tensor:
    """Logits of all rows, in eval mode, in chunks of one fixed size, on the model's device wherever x is.

    The last chunk is padded with zero rows: a matrix product of another shape rounds differently, and a row's score
    must not depend on the rows it is scored with.
    """
    device = torch.device(device) if device is not None else next(model.parameters(), x).device
    limit = 2**18 if device.type == "cpu" else 2**23  # one row alone costs a whole chunk, so small ones on the CPU
    size = 2 ** int(math.log2(min(max(limit // math.prod(x.shape[1:]), 1), 256 if device.type == "cpu" else 8192)))
    training, out = model.training, torch.empty(len(x), device=device)
    model.eval()
    for where, part in stream(x, [slice(start, start + size) for start in range(0, len(x), size)], device):
        n = len(part)
        if n < size:
            part = torch.cat([part, part.new_zeros(size - n, *part.shape[1:])])
        out[where] = model(part)[:n]
    model.train(training)
    return out
