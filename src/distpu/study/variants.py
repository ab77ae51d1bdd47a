"""Readings of Dist-PU: where the paper's text and its public code differ, or table 3 takes a part away.

Each class overrides one function of DistPU, which follows the code. An experiment names a reading beside the method:
method = "dist-pu", reading = "naive-once".
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ..methods._parts import drawn_in_batch, mixup, pn_risks, random_negatives
from ..methods.dist_pu import DistPU, label_distribution_risk
from ..train.data import Batch, PUData


class NaiveOnce(DistPU):
    """Table 3 without the alignment: labelled rows against as many unlabelled ones, drawn once for both stages."""

    name = "dist-pu/naive-once"

    def _risk(self, data: PUData) -> nn.Module:
        return DrawnOnce(data.s)


class NaiveBatch(DistPU):
    """Table 3 without the alignment: labelled rows against as many unlabelled ones, drawn from each batch."""

    name = "dist-pu/naive-batch"

    def _risk(self, data: PUData) -> nn.Module:
        return DrawnFromBatch()


class PaperScale(DistPU):
    """R_lab as the text has it. The code divides it by 2 prior."""

    name = "dist-pu/paper-scale"

    def _risk(self, data: PUData) -> nn.Module:
        return PlainAlignment(data.prior)


class OwnCosine(DistPU):
    """The cosine of the warm-up's learning rate spans the warm-up, as the text implies."""

    name = "dist-pu/own-cosine"

    def _warm_up_period(self) -> int:
        return self.warm_up_epochs


class ClampedWarmUp(DistPU):
    """Logits are clamped everywhere in the warm-up, as the text says."""

    name = "dist-pu/clamped-warm-up"

    def _warm_up_logits(self, z: Tensor) -> Tensor:
        return self._clamped(z)


class EntropyFalls(DistPU):
    """The text says that the weight of the entropy is annealed: mu(t) falls as (1 + cos(t pi)) / 2."""

    name = "dist-pu/entropy-falls"

    def _entropy_weight(self, progress: Tensor) -> Tensor:
        return self.entropy * (1 + torch.cos(progress * math.pi)) / 2


class CurrentTargets(DistPU):
    """A row's pseudo-label is its score now, as in the text. The code takes the score of one epoch ago."""

    name = "dist-pu/current-targets"

    def _pseudo_labels(self, model: nn.Module, batch: Batch, stored: Tensor) -> Tensor:
        return self._clamped(model(batch.x)).sigmoid().detach()


class LabelledByScore(DistPU):
    """The Mixup target of a labelled row is its score, as the text reads. The code takes 1."""

    name = "dist-pu/labelled-by-score"

    def _targets(self, s: Tensor, pseudo: Tensor) -> Tensor:
        return pseudo


class FoldedMixup(DistPU):
    """The text replaces lambda by max(lambda, 1 - lambda). The code does not."""

    name = "dist-pu/folded-mixup"

    def _mixed(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return mixup(x, y, self.alpha, fold=True)


READINGS: dict[str, dict[str, type[DistPU]]] = {
    "dist-pu": {
        "naive-once": NaiveOnce,
        "naive-batch": NaiveBatch,
        "paper-scale": PaperScale,
        "own-cosine": OwnCosine,
        "clamped-warm-up": ClampedWarmUp,
        "entropy-falls": EntropyFalls,
        "current-targets": CurrentTargets,
        "labelled-by-score": LabelledByScore,
        "folded-mixup": FoldedMixup,
    }
}


# ------------------------------------------------------------------ the risks


class DrawnOnce(nn.Module):
    """The naive loss. label: 1 on labelled rows, 0 on the drawn ones, which stand in for negatives, -1 on the rest."""

    label: Tensor

    def __init__(self, s: Tensor):
        super().__init__()
        label = torch.where(s == 1, 1, -1)
        label[random_negatives(s)] = 0
        self.register_buffer("label", label)

    def forward(self, z: Tensor, batch: Batch) -> Tensor:
        return torch.stack(pn_risks(z, self.label[batch.index])).sum()


class DrawnFromBatch(nn.Module):
    """The naive loss of a batch's labelled rows and as many of its others."""

    def forward(self, z: Tensor, batch: Batch) -> Tensor:
        return torch.stack(pn_risks(z, drawn_in_batch(batch.s))).sum()


class PlainAlignment(nn.Module):
    """R_lab."""

    def __init__(self, prior: float):
        super().__init__()
        self.prior = prior

    def forward(self, z: Tensor, batch: Batch) -> Tensor:
        return label_distribution_risk(z.sigmoid(), batch.s, self.prior)
