"""The constants by which a network scales its input."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..files.scratch import in_parts
from .choice import auto_network, takes_imagenet
from .outside import is_outside

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# The width of a column of a table is the distance between its quartiles. The mean and deviation of a column are taken
# with every value clipped to at most WIDTHS widths from the median; scaled values are clipped to +-FURTHEST. Otherwise
# one value of 999999 among 2,000 would squeeze all others into one point. A value beyond FAR widths brings a warning.
# Measured: docs/log/2026-11.md#values-far-out-in-a-table-kept
WIDTHS, FURTHEST, FAR = 20, 50.0, 100


SCALINGS = ("auto", "standard", "imagenet", "unit", "none")


def scaling_constants(
    scaling: str,
    x: Tensor,
    network: str | Callable[..., nn.Module] = "auto",
    forget: Callable[[], None] = lambda: None,
) -> tuple[Tensor, Tensor]:
    """Return (mean, scale): a Network computes (x - mean) / scale.

    standard  each column (table) or channel (images) gets mean 0 and standard deviation 1 over the training rows;
              values far out in a table are clipped first
    imagenet  x / 255, then ImageNet's mean and deviation per channel, as in the paper for CIFAR-10 and Alzheimer
    unit      x / 255
    none      x as it is: the paper's public code passes the bytes 0..255 of F-MNIST to the network
    """
    images, bytes_ = x.dim() == 4, x.dtype == torch.uint8
    if scaling == "auto":
        shape = tuple(x.shape[1:])
        name = auto_network(shape) if network == "auto" else None if callable(network) else network
        as_published = name != "resnet-8" and not is_outside(name)  # the others were compared with their papers
        if images and bytes_ and auto_network(shape) == "mlp" and as_published:
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
        chunks = x.split(2**16)  # float64 chunk by chunk, since all rows as float64 may not fit into memory

        def read(chunk: Tensor) -> Tensor:
            forget()  # the pages of the chunk before, if x is a memory map
            return chunk.double() if low is None else chunk.double().clamp(low, high)

        mean = torch.stack([read(c).sum(axes) for c in chunks]).sum(0) / count
        column = mean.view(-1, 1, 1) if images else mean
        var = torch.stack([(read(c) - column).square().sum(axes) for c in chunks]).sum(0) / count
        std = var.sqrt().view_as(column)
        std = torch.where(std > 1e-12 * column.abs(), std, torch.ones_like(std))  # a constant column becomes 0, not NaN
        return column.float(), std.float()
    return torch.zeros(()), torch.tensor(255.0 if scaling == "unit" else 1.0)


def quartiles(x: np.ndarray | Tensor) -> np.ndarray:
    """Return the quartiles of each column of a table, (3, columns), from about 10,000 of its rows."""
    some = x[:: max(1, len(x) // 10_000)]
    return np.percentile(some.double().cpu().numpy() if isinstance(some, Tensor) else some, [25, 50, 75], axis=0)


def near_the_middle(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the bounds (low, high) that each column is clipped to: infinite where half of the values are equal."""
    low, middle, high = torch.from_numpy(quartiles(x)).to(x.device)
    width = torch.where(high > low, WIDTHS * (high - low), math.inf)
    return middle - width, middle + width


def warn_of_far_values(x: np.ndarray, names: Sequence[str] | None) -> None:
    """Name the columns with values that are clipped: only the user knows whether such a value means something."""
    if x.dtype == np.uint8 or not x.size:
        return
    low, middle, high = quartiles(x)
    ends = np.array([(part.min(axis=0), part.max(axis=0)) for part in in_parts(x)])
    furthest = np.maximum(ends[:, 1].max(axis=0) - middle, middle - ends[:, 0].min(axis=0))
    for column in np.flatnonzero((high > low) & (furthest > FAR * (high - low)))[:3]:
        which = f"column {names[column]!r}" if names is not None else f"column {column}"
        values = x[:, column]
        value = values[np.abs(values - middle[column]).argmax()]
        warnings.warn(
            f"{which} has {value:g}, but half of its values lie between {low[column]:g} and {high[column]:g}; values "
            "so far out are clipped; take the column's logarithm if they are real, replace them if they are not",
            UserWarning,
            stacklevel=5,
        )
