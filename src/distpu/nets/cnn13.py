"""The 13-layer CNN that the paper uses for CIFAR-10."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from .mlp import Shape, kaiming


class Conv(nn.Conv2d):
    """A convolution before BatchNorm, faster than a plain one and with the same result.

    In training the bias is not added: BatchNorm subtracts the mean over the batch, and the bias with it, so the bias
    has no gradient and stays 0. On a GPU the channels are padded to a multiple of 8, which tensor cores need.
    """

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int):
        super().__init__(n_in, n_out, kernel, stride, kernel // 2)
        assert self.bias is not None
        self.bias.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self.weight, None if self.training else self.bias
        more_in, more_out = (-self.in_channels % 8, -self.out_channels % 8) if x.device.type == "cuda" else (0, 0)
        if more_in or more_out:
            x, weight = pad(x, (0, 0, 0, 0, 0, more_in)), pad(weight, (0, 0, 0, 0, 0, more_in, 0, more_out))
            bias = None if bias is None else pad(bias, (0, more_out))
        z = conv2d(x, weight, bias, self.stride, self.padding)
        return z[:, : self.out_channels] if more_out else z


def cnn13(shape: Shape, width: int = 96) -> nn.Module:
    """The paper's "13-layer CNN" for CIFAR-10: 9 convolutions, 3 linear layers; 3,015,255 parameters at 3x32x32."""
    channels, rows, columns = shape
    plan = [
        (width, 3, 1),
        (width, 3, 1),
        (width, 3, 2),
        (2 * width, 3, 1),
        (2 * width, 3, 1),
        (2 * width, 3, 2),
        (2 * width, 3, 1),
        (2 * width, 1, 1),
        (10, 1, 1),
    ]
    layers: list[nn.Module] = []
    for out, kernel, stride in plan:
        layers += [Conv(channels, out, kernel, stride), nn.BatchNorm2d(out), nn.ReLU()]
        channels = out
    flat = 10 * math.ceil(rows / 4) * math.ceil(columns / 4)
    head = [
        nn.Flatten(),
        nn.Linear(flat, 1000),
        nn.ReLU(),
        nn.Linear(1000, 1000),
        nn.ReLU(),
        nn.Linear(1000, 1),
    ]
    return kaiming(nn.Sequential(*layers, *head))
