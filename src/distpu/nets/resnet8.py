"""ResNet-8: a small residual network for images on a CPU."""

from __future__ import annotations

from torch import nn

from .mlp import Shape
from .resnet18 import Block, conv3

MAP = 16  # side of the feature map that the first block sees, more or less: it sets the work of an image


def resnet8(shape: Shape, width: int = 48) -> nn.Module:
    """A stem that halves the image until its side is about MAP, three blocks, one logit."""
    channels, rows, columns = shape
    halvings, side = 0, max(rows, columns)
    while side >= 2 * MAP:
        halvings, side = halvings + 1, (side + 1) // 2
    stem: list[nn.Module] = []
    for number in range(max(halvings, 1)):
        out = width if number + 1 >= halvings else width // 2
        stem += [conv3(channels, out, 2 if halvings else 1), nn.BatchNorm2d(out), nn.ReLU(True)]
        channels = out
    blocks = [Block(width, width, 1), Block(width, 2 * width, 2), Block(2 * width, 4 * width, 2)]
    net = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 1))
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return net
