"""Dist-PU (Zhao, Xu, Jiang, Wen, Huang: Positive-Unlabeled Learning from a Label Distribution Perspective, CVPR 2022).

    p = sigma(z);  the predicted label distribution must meet the true one on labelled (P) and unlabelled (U) rows:

    R_lab = 2 prior |E_P[p] - 1| + |E_U[p] - prior|
    warm-up:  R_lab + mu E_U[H(p)]
    mixup:    R_lab + mu(t) E_U[H(p)] + nu E[BCE(p', y')] + gamma E[H(p')]

    (x', y') = Mixup of rows and their pseudo-labels: 1 on labelled rows, elsewhere the score the row had last time.

Assumes: labelled rows drawn at random from the positives; the prior, which the predicted share is tied to.

Differs from its public code: in nothing that matters. The published weights belong to that code's scale of the risk,
R_lab / (2 prior). Where code and paper differ, a parameter below says so: its default is the code's value, which gives
the published numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..params import param, tuned
from ..train.data import Batch, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import Memory, binary_entropy, drawn_in_batch, mixup, pn_risks, random_negatives


def label_distribution_risk(p: Tensor, s: Tensor, prior: float) -> Tensor:
    """R_lab = 2 prior |E_P[p] - 1| + |E_U[p] - prior|."""
    on_labelled = mean_where(1 - p, s == 1)  # |E_P[p] - 1|, since p <= 1; 0 in a batch without labelled rows
    return 2 * prior * on_labelled + (mean_where(p, s == 0) - prior).abs()


@dataclass(eq=False, repr=False, kw_only=True)
class DistPU(NetworkMethod):
    """Label distribution alignment with entropy minimisation and Mixup. Defaults: the settings for CIFAR-10."""

    name = "dist-pu"
    paper = "Zhao et al., Dist-PU: Positive-Unlabeled Learning from a Label Distribution Perspective, CVPR 2022"

    # The paper gives CIFAR-10's settings only. These were searched in its ranges, on held-out PU rows (LOG.md).
    presets = {
        "small": dict(
            warm_up_epochs=20, epochs=40, warm_up_entropy=0.1, entropy=0.1, mixup=0.3, mixed_entropy=0.3, alpha=0.1
        ),
        "fashion-mnist": dict(
            warm_up_epochs=5, epochs=15, batch_size=512, sampling="stratified", warm_up_lr=1e-4, lr=5e-4, alpha=0.1,
            warm_up_entropy=0.1, entropy=0.1, mixed_entropy=0.3, warm_up_weight_decay=5e-4, weight_decay=1e-4,
        ),
    }  # fmt: skip

    # stages and optimiser
    warm_up_epochs: int = tuned(60, "epochs without Mixup; the text says 'several'", least=0)
    epochs: int = tuned(60, "epochs with Mixup", least=0)
    warm_up_lr: float = tuned(5e-4, "learning rate of the warm-up", above=0)
    lr: float = tuned(5e-5, "learning rate with Mixup; the text gives 5e-4 for all", above=0)
    lr_floor: float = param(0.7, "with Mixup the cosine ends at this share of lr; the text implies 0", least=0, most=1)
    warm_up_weight_decay: float = tuned(5e-3, "L2 penalty in the warm-up", least=0)
    weight_decay: float = tuned(1e-3, "L2 penalty with Mixup; the text gives 5e-3 for all", least=0)
    warm_up_period: str = param("epochs", "the warm-up's cosine spans `epochs`; the text implies its own length",
                                one_of=("epochs", "warm_up_epochs"))  # fmt: skip

    # the objective
    alignment: bool = param(
        True,
        "R_lab; False, for ablation: the naive loss, P against as many drawn rows of U",
        one_of=(True, False),
    )
    base: str = param("once", "without R_lab: the rows of U are drawn 'once', or from each 'batch'",
                      one_of=("once", "batch"))  # fmt: skip
    scale: str = param("code", "'code': R_lab / (2 prior), which the weights below belong to; 'paper': R_lab",
                       one_of=("code", "paper"))  # fmt: skip
    warm_up_entropy: float = tuned(2e-3, "mu in the warm-up, constant", least=0)
    entropy: float = tuned(4e-3, "mu with Mixup, at the end of its schedule", least=0)
    entropy_schedule: str = param("rise", "'rise': mu (1 - cos(t pi/2)) from 0; the text says 'annealing': 'fall'",
                                  one_of=("rise", "fall"))  # fmt: skip
    mixup: float = tuned(5.0, "nu, weight of the Mixup term", least=0)
    mixed_entropy: float = tuned(0.04, "gamma, weight of the mixed rows' entropy; the text prints it with a minus")
    alpha: float = tuned(6.0, "Mixup weights are Beta(alpha, alpha)", above=0)
    fold: bool = param(
        False, "the text replaces lambda by max(lambda, 1 - lambda); the code does not", one_of=(False, True)
    )
    targets: str = param("stored", "pseudo-labels: a row's score of one epoch ago, or its 'current' one as in the text",
                         one_of=("stored", "current"))  # fmt: skip
    labelled_target: str = param("one", "Mixup target of labelled rows: 1, or their 'score' as the text reads",
                                 one_of=("one", "score"))  # fmt: skip
    clamp: float = param(10.0, "logits are clamped to +-clamp", above=0)
    clamp_warm_up: bool = param(False, "the code clamps the warm-up's logits in the entropy only; the text everywhere",
                                one_of=(False, True))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        period = getattr(self, self.warm_up_period) or None
        warm_up = self._recipe(
            epochs=self.warm_up_epochs,
            lr=self.warm_up_lr,
            weight_decay=self.warm_up_weight_decay,
            period=period,
        )
        naive = in_place_of_alignment(run.data.s) if not self.alignment and self.base == "once" else None
        run.train("warm-up", model, WarmUp(self, run.data.prior, naive), warm_up)
        pseudo = Memory(logits(model, run.data.x).sigmoid())
        run.train("mixup", model, Mixed(self, run.data.prior, pseudo, naive), self._recipe(floor=self.lr_floor))
        return model


def in_place_of_alignment(s: Tensor) -> Tensor:
    """For the ablation: 1 on P, 0 on as many rows of U, which stand in for negatives, -1 on the rest."""
    label = torch.where(s == 1, 1, -1)
    label[random_negatives(s)] = 0
    return label


class WarmUp(Objective):
    naive: Tensor | None

    def __init__(self, of: DistPU, prior: float, naive: Tensor | None = None):
        super().__init__()
        self.of, self.prior = of, prior
        self.register_buffer("naive", naive)

    def risk(self, z: Tensor, batch: Batch) -> Tensor:
        if not self.of.alignment:
            label = drawn_in_batch(batch.s) if self.naive is None else self.naive[batch.index]
            return torch.stack(pn_risks(z, label)).sum()
        scale = 2 * self.prior if self.of.scale == "code" else 1.0
        return label_distribution_risk(z.sigmoid(), batch.s, self.prior) / scale

    def clamped(self, z: Tensor) -> Tensor:
        return z.clamp(-self.of.clamp, self.of.clamp)

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        z = model(batch.x)
        entropy = mean_where(binary_entropy(self.clamped(z)), batch.s == 0)
        return {
            "lab": self.risk(self.clamped(z) if self.of.clamp_warm_up else z, batch),
            "entropy": self.of.warm_up_entropy * entropy,
        }


class Mixed(WarmUp):
    def __init__(self, of: DistPU, prior: float, pseudo: Memory, naive: Tensor | None = None):
        super().__init__(of, prior, naive)
        self.pseudo = pseudo

    def target(self, model: nn.Module, batch: Batch) -> Tensor:
        y = self.pseudo(batch.index)
        if self.of.targets == "current":
            y = self.clamped(model(batch.x)).sigmoid().detach()
        return torch.where(batch.s == 1, 1.0, y) if self.of.labelled_target == "one" else y

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        mixed = self.mixed(model, batch) if self.of.mixup or self.of.mixed_entropy else {}
        z = self.clamped(model(batch.x))  # after the mixed pass, as in the code: BatchNorm sees both in this order
        self.pseudo.remember(batch.index, z.sigmoid())
        return {
            "lab": self.risk(z, batch),
            "entropy": entropy_weight(self.of, progress) * mean_where(binary_entropy(z), batch.s == 0),
            **mixed,
        }

    def mixed(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        x_mixed, y_mixed = mixup(batch.x, self.target(model, batch), self.of.alpha, self.of.fold)
        z_mixed = self.clamped(model(x_mixed))
        return {
            "mixup": self.of.mixup * bce(z_mixed, y_mixed),
            "mixed_entropy": self.of.mixed_entropy * binary_entropy(z_mixed).mean(),
        }


def entropy_weight(of: DistPU, progress: Tensor) -> Tensor:
    """mu(t): rises as 1 - cos(t pi/2), or falls as the half cosine (1 + cos(t pi)) / 2."""
    if of.entropy_schedule == "rise":
        return of.entropy * (1 - torch.cos(progress * math.pi / 2))
    return of.entropy * (1 + torch.cos(progress * math.pi)) / 2
