"""The multi-layer perceptron that the paper uses for Fashion-MNIST."""

from __future__ import annotations

import math

from torch import nn

Shape = tuple[int, ...]  # of one row


def kaiming(net: nn.Module) -> nn.Module:
    for layer in net.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return net


def mlp(shape: Shape, width: int = 300) -> nn.Module:
    """The paper's "6-layer MLP" for F-MNIST: four hidden layers with BatchNorm; 507,901 parameters for 784 inputs."""
    sizes = [math.prod(shape)] + [width] * 4
    layers: list[nn.Module] = [nn.Flatten()]
    for n_in, n_out in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(n_in, n_out, bias=False), nn.BatchNorm1d(n_out), nn.ReLU()]
    return kaiming(nn.Sequential(*layers, nn.Linear(width, 1)))
