"""The papers' networks. Each is built from the shape of one row and returns logits of shape (n,)."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from ..train.stream import stream

Shape = tuple[int, ...]
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _kaiming(net: nn.Module) -> nn.Module:
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
    return _kaiming(nn.Sequential(*layers, nn.Linear(width, 1)))


class Conv(nn.Conv2d):
    """A convolution before BatchNorm: fast, and the same as a plain one.

    BatchNorm subtracts the mean over the batch and with it the bias, whose gradient is 0: in training it is not added,
    and stays what it was, 0. On a GPU channels are padded to a multiple of 8, which tensor cores want.
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
    return _kaiming(nn.Sequential(*layers, *head))


class Bottleneck(nn.Module):
    def __init__(self, n_in: int, width: int, stride: int):
        super().__init__()
        n_out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(n_in, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, n_out, 1, bias=False), nn.BatchNorm2d(n_out)
        self.relu = nn.ReLU(inplace=True)
        self.downsample: nn.Module | None = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + shortcut)


class ResNet50(nn.Module):
    """ResNet-50 with one output. Parameter names equal torchvision's, so its published weights load (less `fc`)."""

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

    def forward(self, x: Tensor) -> Tensor:
        x = x.expand(-1, 3, -1, -1)  # grey images have one channel, the published weights want three
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def resnet50(shape: Shape) -> nn.Module:
    return ResNet50()


NETWORKS: dict[str, Callable[[Shape], nn.Module]] = {"mlp": mlp, "cnn-13": cnn13, "resnet-50": resnet50}
NEEDS_IMAGES = {"cnn-13": (1, 3, 4), "resnet-50": (1, 3)}  # network -> channels it takes


def auto_network(shape: Shape) -> str:
    """The network the paper takes for such rows: tables and small grey images mlp, small colour images cnn-13."""
    if len(shape) == 1 or (shape[0] == 1 and max(shape[1:]) <= 48):
        return "mlp"
    return "cnn-13" if max(shape[1:]) <= 48 else "resnet-50"


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


def body(network: str | Callable[..., nn.Module], shape: Shape) -> nn.Module:
    """A fresh body: a known name, "auto", or the user's callable (called with the row shape if it takes one)."""
    if callable(network):
        takes_shape = any(
            p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            for p in inspect.signature(network).parameters.values()
        )
        made = network(shape) if takes_shape else network()
        if not isinstance(made, nn.Module):
            raise ValueError(f"network={network!r} returned {type(made).__name__}; it must return a torch.nn.Module")
        return made
    return NETWORKS[_known(network, shape)](shape)


def check(network: str | Callable[..., nn.Module], scaling: str, shape: Shape) -> None:
    """Refuse a network or a scaling that cannot take rows of such a shape."""
    name = None if callable(network) else _known(network, shape)
    if scaling == "imagenet" and not _takes_imagenet(name, shape):
        raise ValueError(f"scaling='imagenet' takes images with 3 channels, rows have shape {shape}; use 'auto'")


def _takes_imagenet(name: str | None, shape: Shape) -> bool:
    """Three channels; or one, which the three constants turn into three, as resnet-50 wants them."""
    return len(shape) == 3 and (shape[0] == 3 or (shape[0] == 1 and name == "resnet-50"))


def _known(network: str, shape: Shape) -> str:
    name = auto_network(shape) if network == "auto" else network
    if name not in NETWORKS:
        near = difflib.get_close_matches(str(name), NETWORKS, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(
            f"network={name!r} is not known; {hint}use 'auto', {', '.join(map(repr, NETWORKS))} or a callable"
        )
    channels = NEEDS_IMAGES.get(name)
    if channels and (len(shape) != 3 or shape[0] not in channels):
        raise ValueError(f"network={name!r} takes images with {channels} channels, rows have shape {shape}; use 'mlp'")
    return name


# Of a column of a table, what lies further than this many widths of its middle half from its median counts as if it lay
# there when the column's mean and deviation are taken; scaled values are cut off at FURTHEST. One 999999 among 2,000
# values had squeezed all others into one point (LOG.md). From FAR widths on the user is told.
WIDTHS, FURTHEST, FAR = 20, 50.0, 100
SCALINGS = ("auto", "standard", "imagenet", "unit", "none")


def scaling_constants(
    scaling: str, x: Tensor, network: str | Callable[..., nn.Module] = "auto"
) -> tuple[Tensor, Tensor]:
    """(mean, scale) that a Network subtracts and divides by.

    standard  columns (tables) or channels (images) to mean 0, standard deviation 1 over the training rows; in a table
              without the pull of values far out
    imagenet  x / 255, then ImageNet's mean and deviation per channel, as the paper does for CIFAR-10 and Alzheimer
    unit      x / 255
    none      as it is: the paper's public code feeds F-MNIST as raw 0..255
    """
    images, bytes_ = x.dim() == 4, x.dtype == torch.uint8
    if scaling == "auto":
        shape = tuple(x.shape[1:])
        name = auto_network(shape) if network == "auto" else None if callable(network) else network
        if images and bytes_ and auto_network(shape) == "mlp":
            scaling = "none"
        else:
            scaling = "imagenet" if images and bytes_ and _takes_imagenet(name, shape) else "standard"
    if scaling == "imagenet":
        mean, std = torch.tensor(IMAGENET_MEAN), torch.tensor(IMAGENET_STD)
        return 255 * mean.view(3, 1, 1), 255 * std.view(3, 1, 1)
    if scaling == "standard":
        axes = (0, 2, 3) if images else (0,)
        count = x.numel() / (x.shape[1])
        low, high = (None, None) if images or bytes_ else near_the_middle(x)
        chunks = x.split(2**16)  # in double, but never the whole table at once

        def read(chunk: Tensor) -> Tensor:
            return chunk.double() if low is None else chunk.double().clamp(low, high)

        mean = torch.stack([read(c).sum(axes) for c in chunks]).sum(0) / count
        column = mean.view(-1, 1, 1) if images else mean
        var = torch.stack([(read(c) - column).square().sum(axes) for c in chunks]).sum(0) / count
        std = var.sqrt().view_as(column)
        std = torch.where(std > 1e-12 * column.abs(), std, torch.ones_like(std))  # a constant column: 0, not NaN
        return column.float(), std.float()
    return torch.zeros(()), torch.tensor(255.0 if scaling == "unit" else 1.0)


def quartiles(x: np.ndarray | Tensor) -> np.ndarray:
    """Of each column of a table, (3, columns), by some ten thousand of its rows."""
    some = x[:: max(1, len(x) // 10_000)]
    return np.percentile(some.double().cpu().numpy() if isinstance(some, Tensor) else some, [25, 50, 75], axis=0)


def near_the_middle(x: Tensor) -> tuple[Tensor, Tensor]:
    """(lowest, highest) value of each column that counts as it is; a column that is mostly one value is let be."""
    low, middle, high = torch.from_numpy(quartiles(x)).to(x.device)
    width = torch.where(high > low, WIDTHS * (high - low), math.inf)
    return middle - width, middle + width


def warn_of_far_values(x: np.ndarray, names: Sequence[str] | None) -> None:
    """They are cut off; but what they mean the user knows: a sentinel, or a column to be logged."""
    if x.dtype == np.uint8 or not x.size:
        return
    low, middle, high = quartiles(x)
    furthest = np.maximum(x.max(axis=0) - middle, middle - x.min(axis=0))
    for column in np.flatnonzero((high > low) & (furthest > FAR * (high - low)))[:3]:
        which = f"column {names[column]!r}" if names is not None else f"column {column}"
        values = x[:, column]
        value = values[np.abs(values - middle[column]).argmax()]
        warnings.warn(
            f"{which} has {value:g}, where half of its values lie between {low[column]:g} and {high[column]:g}; values "
            "so far out are cut off: if they mean something take the column's logarithm, if not clear them",
            UserWarning,
            stacklevel=5,
        )


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
