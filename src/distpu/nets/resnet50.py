"""ResNet-50, which the paper uses for Alzheimer."""

from __future__ import annotations

from torch import Tensor, nn

from .mlp import Shape


def projection(n_in: int, n_out: int, stride: int) -> nn.Module | None:
    """Return what brings a block's input to the shape of its output; None where the input has that shape."""
    if stride == 1 and n_in == n_out:
        return None
    return nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))


class Bottleneck(nn.Module):
    def __init__(self, n_in: int, width: int, stride: int):
        super().__init__()
        n_out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(n_in, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, n_out, 1, bias=False), nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = projection(n_in, n_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet50(nn.Module):
    """ResNet-50 with one output. Parameter names equal torchvision's, so its published weights load, except `fc`."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._layer(width, width, 3, 1)
        self.layer2 = self._layer(4 * width, 2 * width, 4, 2)
        self.layer3 = self._layer(8 * width, 4 * width, 6, 2)
        self.layer4 = self._layer(16 * width, 8 * width, 3, 2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(32 * width, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    @staticmethod
    def _layer(n_in: int, width: int, blocks: int, stride: int) -> nn.Sequential:
        rest = [Bottleneck(4 * width, width, 1) for _ in range(blocks - 1)]
        return nn.Sequential(Bottleneck(n_in, width, stride), *rest)

    def before_head(self, x: Tensor) -> Tensor:
        x = x.expand(-1, 3, -1, -1)  # a grey image has one channel, and the published weights need three
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.avgpool(x).flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.before_head(x))


def resnet50(shape: Shape) -> nn.Module:
    return ResNet50()
