"""What a network does to its input first, and the constants for it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from .choice import auto_network, takes_imagenet

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


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
            scaling = "imagenet" if images and bytes_ and takes_imagenet(name, shape) else "standard"
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
