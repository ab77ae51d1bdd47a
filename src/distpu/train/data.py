"""PU data as tensors, and batches of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from ..datasets.draw import folds
from .stream import AHEAD, stream


@dataclass(frozen=True)
class Batch:
    """The rows of one step. By the index, a method can store something for each row without a change of the loop."""

    index: Tensor  # (b,) row numbers in the data
    x: Tensor  # (b, ...) float
    s: Tensor  # (b,) 1 labelled positive, 0 unlabelled


@dataclass(frozen=True)
class PUData:
    """All rows. They lie on the device that trains; if x does not fit there, x stays in host memory."""

    x: Tensor  # (n, ...) as the user gave it: uint8 images stay uint8, since the network scales them
    s: Tensor  # (n,) float: 1 labelled positive, 0 unlabelled; on the device that trains
    prior: float  # share of positives among the unlabelled rows
    extra: dict[str, Tensor] = field(default_factory=dict)  # other row sets that a method's fit takes
    blocks: bool = False  # whether x lies on disk and an epoch is shuffled by blocks (blocks.py)
    forget: Callable[[], None] = lambda: None  # takes the pages of x that were read out of this process's memory

    def __len__(self) -> int:
        return len(self.s)

    def rows(self, chosen: Tensor) -> Tensor:
        """Return rows by a mask or by their numbers, on the device of x."""
        return self.x[chosen.to(self.x.device)]

    def __getitem__(self, index: Tensor) -> Batch:
        return next(self.batches([index]))

    def batches(self, indices: Tensor | Iterable[Tensor]) -> Iterator[Batch]:
        """Yield the batch of each index, on the device that trains."""
        ahead = 1  # a generator may change the objective between two batches, so it must not run ahead
        if isinstance(indices, Tensor):
            indices, ahead = indices.to(self.x.device), AHEAD
        for index, x in stream(self.x, indices, self.s.device, ahead):
            index = index.to(self.s.device)
            # Mixup needs floats. It may mix rows before the network scales them, because scaling is affine.
            yield Batch(index, x.float(), self.s.index_select(0, index))

    def folds(self, k: int) -> Tensor:
        """Return the fold of each row. Equal rows share a fold.

        The seed is drawn from torch's generator, so a method calls this before its first stage.
        """
        fold = folds(self.x.cpu().numpy(), self.s.cpu().numpy(), k, seed=int(torch.randint(2**31 - 1, ())))
        return torch.from_numpy(fold).to(self.s.device)

    def to(self, device: torch.device) -> PUData:
        """Move the data to the device, except an x that would take more than half of the memory free there."""
        extra = {name: rows.to(device) for name, rows in self.extra.items()}
        x = self.x.to(device) if fits(self.x, device) and not self.blocks else self.x
        return replace(self, x=x, s=self.s.to(device), extra=extra)


def fits(x: Tensor, device: torch.device) -> bool:
    return device.type != "cuda" or x.nbytes <= torch.cuda.mem_get_info(device)[0] / 2


def mean_where(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the values where mask holds, or 0 if it holds nowhere. Static shapes, no device sync."""
    mask = mask.to(values.dtype)
    return (values * mask).sum() / mask.sum().clamp(min=1)
