"""PU data as tensors, batches of it, and drawing a PU set from a labelled one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .stream import AHEAD, stream

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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


def folds(x: np.ndarray, s: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Fold of each row: labelled and unlabelled rows spread evenly over k folds, equal rows in one.

    A labelled row whose unlabelled copy is held out would lend it its label (the paper's protocol has such copies).
    """
    flat = np.ascontiguousarray(x.reshape(len(x), -1))
    _, group = np.unique(flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))), return_inverse=True)
    group = group.ravel()
    labelled = np.zeros(group.max() + 1, dtype=bool)
    labelled[group[s == 1]] = True
    fold, random = np.empty(len(labelled), dtype=np.int64), np.random.default_rng(seed)
    for kind in (labelled, ~labelled):
        fold[kind] = random.permutation(kind.sum()) % k
    return fold[group]


SCENARIOS = ("case-control", "single-set")


def draw_pu(
    y: ArrayLike, labelled: int, scenario: str = "case-control", seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Hide the labels of a labelled set: `labelled` positives, drawn with the seed, stay known.

    Returns row numbers and PU labels `(index, s)`: train on `X[index], s`; `y[index]` is the truth.

    scenario="case-control"  the drawn positives also remain among the unlabelled rows, as the paper does it:
                             the original row is marked, a copy of it is appended as unlabelled
    scenario="single-set"    they are taken out of the unlabelled rows, as in a user's own table
    """
    y = np.asarray(y)
    positives = np.flatnonzero(y == 1)
    if scenario not in SCENARIOS:
        raise ValueError(f"scenario={scenario!r} is not known; use one of {', '.join(map(repr, SCENARIOS))}")
    if not 1 <= labelled <= len(positives):
        raise ValueError(
            f"labelled={labelled} must lie between 1 and the {len(positives)} positives there are (y == 1)"
        )
    chosen = np.random.default_rng(seed).choice(positives, labelled, replace=False)
    index = np.arange(len(y))
    if scenario == "case-control":
        index = np.concatenate([index, chosen])
    s = np.zeros(len(index), dtype=np.int64)
    s[chosen] = 1
    if not (s == 0).any():
        raise ValueError(f"labelled={labelled} leaves no unlabelled row; label fewer positives")
    return index, s


def unlabelled_prior(population: float, n_labelled: int, n_unlabelled: int) -> float:
    """Share of positives among the unlabelled rows, when the labelled positives were taken out of a population.

    `prior` means the unlabelled rows' own share everywhere in distpu. A share known for the population, labelled
    rows included, becomes that share here: (population * n - n_labelled) / n_unlabelled.
    """
    prior = (population * (n_labelled + n_unlabelled) - n_labelled) / n_unlabelled
    if not 0 < prior < 1:
        raise ValueError(
            f"population={population} with {n_labelled} labelled and {n_unlabelled} unlabelled rows gives a "
            f"share of {prior:.4g} among the unlabelled; it must lie strictly between 0 and 1"
        )
    return prior
