"""Network: the input scaling and the network proper, its body, in one module."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

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
    # how several processes share a pass: (function of rows, rows) -> what it gives for all rows (train/parallel.py)
    spread: ClassVar[Any] = None
    teaches = False  # whether its scores in eval mode are targets of training, and may be computed as fast as training

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
        return self._logits(self._passed(x, _through), len(x))

    def features(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the last layer gets, (n, d), and the logits, by one pass."""
        features, z = self._passed(x, _with_features)
        return features.float(), self._logits(z, len(x))

    def _passed(self, x: Tensor, through: Callable[..., Any]) -> Any:
        if self.spread is not None:
            return self.spread(lambda own: self._through(own, through), x)
        return self._through(x, through)

    def _through(self, x: Tensor, through: Callable[..., Any]) -> Any:
        x = (x.float() - self.mean) / self.scale if self.scaled else x.float()
        if self.scaled and x.dim() == 2:
            x = x.clamp(-FURTHEST, FURTHEST)  # in a table, one sentinel value must not dominate a batch
        if self.images and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        fast = self.training or self.teaches
        if self.in_compiled_code and fast:
            through = _compiled(through)
        if self.in_bfloat16 and fast:
            with torch.autocast(x.device.type, torch.bfloat16):
                return through(self.body, x)
        return through(self.body, x)

    def _logits(self, z: Tensor, n: int) -> Tensor:
        if z.numel() != n:
            raise ValueError(
                f"the network returns {tuple(z.shape)} for {n} rows; it must return one logit per row, "
                f"shape (n,) or (n, 1)"
            )
        return z.float().reshape(n)


def head_of(body: nn.Module) -> nn.Linear:
    """Return the last layer of a network whose features a method asks for."""
    head = body[-1] if isinstance(body, nn.Sequential) and len(body) else getattr(body, "fc", None)
    if not isinstance(head, nn.Linear) or not (isinstance(body, nn.Sequential) or hasattr(body, "before_head")):
        raise ValueError(
            f"network {type(body).__name__} does not show its features; give a torch.nn.Sequential that ends in "
            "Linear, or a module with before_head(x) and a Linear named fc"
        )
    return head


def _through(body: nn.Module, x: Tensor) -> Tensor:
    return body(x)


def _with_features(body: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    if not isinstance(body, nn.Sequential):
        x = body.before_head(x)
        return x, body.fc(x)
    *layers, head = body
    for layer in layers:
        x = layer(x)
    return x, head(x)


@functools.cache
def _compiled(through: Callable[..., Any]) -> Callable[..., Any]:
    """Return one compiled function for all networks.

    Networks with the same layers share its machine code, in the process and on disk. Each shape gets code of its own.
    By default torch would compile code for any shape when a process meets a second one, and the bits of a run would
    depend on the runs before it.
    """
    import torch._dynamo

    torch._dynamo.config.cache_size_limit = max(64, torch._dynamo.config.cache_size_limit)
    return torch.compile(through, dynamic=False)
