"""Network: the input scaling and the network proper, its body, in one module."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .scaling import FURTHEST


class Network(nn.Module):
    """Scales its input and passes it through the body. Returns logits of shape (n,) in float32.

    The scaling is part of the module, so that a saved model is complete. bfloat16 and compiled code are used in
    training only, when `in_bfloat16` and `in_compiled_code` ask for them. Scores are always computed in float32.
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
            # the memory layout in which convolutions are fastest, on a GPU and on a CPU
            body.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> Tensor:
        x = (x.float() - self.mean) / self.scale if self.scaled else x.float()
        if self.scaled and x.dim() == 2:
            x = x.clamp(-FURTHEST, FURTHEST)  # in a table, one sentinel value must not dominate a batch
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
    """Return one compiled function for all networks.

    Networks with the same layers share its machine code, in the process and on disk. Each shape gets code of its own.
    By default torch would compile code for any shape when a process meets a second one, and the bits of a run would
    depend on the runs before it.
    """
    import torch._dynamo

    torch._dynamo.config.cache_size_limit = max(64, torch._dynamo.config.cache_size_limit)
    return torch.compile(_through, dynamic=False)
