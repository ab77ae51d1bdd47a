"""ResNet-18 for small images: a 3x3 stem without pooling, as CIFAR-10 needs it. In two orders of its layers."""

from __future__ import annotations

from torch import Tensor, nn

from .mlp import Shape
from .resnet50 import projection


def conv3(n_in: int, n_out: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)


class Block(nn.Module):
    """Two convolutions, each with BatchNorm after it, and a shortcut."""

    def __init__(self, n_in: int, n_out: int, stride: int):
        super().__init__()
        self.conv1, self.bn1 = conv3(n_in, n_out, stride), nn.BatchNorm2d(n_out)
        self.conv2, self.bn2 = conv3(n_out, n_out), nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = projection(n_in, n_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + shortcut)


class PreActBlock(nn.Module):
    """Two convolutions, each with BatchNorm and ReLU before it. The shortcut's convolution has no BatchNorm."""

    def __init__(self, n_in: int, n_out: int, stride: int):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(n_in), conv3(n_in, n_out, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(n_out), conv3(n_out, n_out)
        self.relu = nn.ReLU()
        self.downsample: nn.Module | None = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Conv2d(n_in, n_out, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        first = self.relu(self.bn1(x))
        shortcut = x if self.downsample is None else self.downsample(first)
        return self.conv2(self.relu(self.bn2(self.conv1(first)))) + shortcut


class ResNet18(nn.Module):
    """ResNet-18 with one output. Its pre-activation form is NcPU's: the pooling follows the last sum directly."""

    def __init__(self, channels: int, block: type[nn.Module] = Block, width: int = 64) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = conv3(channels, width), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        sizes = [width, width, 2 * width, 4 * width, 8 * width]
        self.layers = nn.Sequential(
            *(
                nn.Sequential(block(n_in, n_out, stride), block(n_out, n_out, 1))
                for n_in, n_out, stride in zip(sizes, sizes[1:], (1, 2, 2, 2), strict=False)
            )
        )
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8 * width, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def before_head(self, x: Tensor) -> Tensor:
        return self.avgpool(self.layers(self.relu(self.bn1(self.conv1(x))))).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.before_head(x))


def resnet18(shape: Shape) -> nn.Module:
    return ResNet18(shape[0])


def preact_resnet18(shape: Shape) -> nn.Module:
    return ResNet18(shape[0], PreActBlock)
