"""PU data as tensors, batches of it, and drawing a PU set from a labelled one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..datasets.draw import folds
from .stream import AHEAD, stream

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Batch:
    """Rows of one step. The index lets a method keep something per row without touching the loop."""

    index: Tensor  # (b,) row numbers in the data
    x: Tensor  # (b, ...) float
    s: Tensor  # (b,) 1 labelled positive, 0 unlabelled


@dataclass(frozen=True)
class PUData:
    """All rows on one device, or, where they don't fit there, x in host memory; a batch is an index."""

    x: Tensor  # (n, ...) as the user gave them: uint8 images stay uint8, the network scales them
    s: Tensor  # (n,) float: 1 labelled positive, 0 unlabelled; on the device that trains
    prior: float  # share of positives among the unlabelled rows
    extra: dict[str, Tensor] = field(default_factory=dict)  # other row sets that a method's fit takes

    def __len__(self) -> int:
        return len(self.s)

    def rows(self, chosen: Tensor) -> Tensor:
        """Rows by a mask or by their numbers, where x is."""
        return self.x[chosen.to(self.x.device)]

    def __getitem__(self, index: Tensor) -> Batch:
        return next(self.batches([index]))

    def batches(self, indices: Tensor | Iterable[Tensor]) -> Iterator[Batch]:
        """The batch of each index, on the device."""
        ahead = 1  # a generator may change its objective between two batches: it is not asked before need
        if isinstance(indices, Tensor):
            indices, ahead = indices.to(self.x.device), AHEAD
        for index, x in stream(self.x, indices, self.s.device, ahead):
            index = index.to(self.s.device)
            # float before Mixup; mixing and the network's (affine) scaling commute, so the order does not matter
            yield Batch(index, x.float(), self.s.index_select(0, index))

    def folds(self, k: int) -> Tensor:
        """Fold of each row, equal rows in one. Seeded from torch's generator: ask before the first stage."""
        fold = folds(self.x.cpu().numpy(), self.s.cpu().numpy(), k, seed=int(torch.randint(2**31 - 1, ())))
        return torch.from_numpy(fold).to(self.s.device)

    def to(self, device: torch.device) -> PUData:
        """On the device; x stays in host memory when it would take more than half of what is free there."""
        extra = {name: rows.to(device) for name, rows in self.extra.items()}
        return PUData(self.x.to(device) if fits(self.x, device) else self.x, self.s.to(device), self.prior, extra)


def fits(x: Tensor, device: torch.device) -> bool:
    return device.type != "cuda" or x.nbytes <= torch.cuda.mem_get_info(device)[0] / 2


def mean_where(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values where mask holds; 0 when it holds nowhere. Static shapes, no device sync."""
    mask = mask.to(values.dtype)
    return (values * mask).sum() / mask.sum().clamp(min=1)
