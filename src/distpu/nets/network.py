"""A body behind its own input scaling."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .scaling import FURTHEST


class Network(nn.Module):
    """A body behind its own input scaling, so that a saved model is complete; logits come out as (n,), in float32.

    How a pass is computed is no part of the model: in training in bfloat16, compiled, as asked; a score in float32.
    """

    mean: Tensor
    scale: Tensor
    in_bfloat16 = False
    in_compiled_code = False

    def __init__(self, body: nn.Module, mean: Tensor, scale: Tensor):
        super().__init__()
        self.body = body
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)
        self.scaled = bool((mean != 0).any() or (scale != 1).any())
        self.images = any(isinstance(layer, nn.Conv2d) for layer in body.modules())
        if self.images:
            # what convolutions are fastest in, on GPU and CPU
            body.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> Tensor:
        x = (x.float() - self.mean) / self.scale if self.scaled else x.float()
        if self.scaled and x.dim() == 2:
            x = x.clamp(-FURTHEST, FURTHEST)  # of a table: one sentinel value must not drown a batch
        if self.images and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        through = _compiled() if self.in_compiled_code and self.training else _through
        if self.in_bfloat16 and self.training:
            with torch.autocast(x.device.type, torch.bfloat16):
                z = through(self.body, x)
        else:
            z = through(self.body, x)
        if z.numel() != len(x):
            raise ValueError(
                f"the network returns {tuple(z.shape)} for {len(x)} rows; it must return one logit per row, "
                f"shape (n,) or (n, 1)"
            )
        return z.float().reshape(len(x))


def _through(body: nn.Module, x: Tensor) -> Tensor:
    return body(x)


@functools.cache
def _compiled() -> Callable[[nn.Module, Tensor], Tensor]:
    """One function for all networks: those of the same layers share its code, in the process and on disk.

    Code for one shape each: else the second shape of a process gets code for any, and a run's bits hang on its past.
    """
    import torch._dynamo

    torch._dynamo.config.cache_size_limit = max(64, torch._dynamo.config.cache_size_limit)
    return torch.compile(_through, dynamic=False)
