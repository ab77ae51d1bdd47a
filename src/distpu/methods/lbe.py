"""LBE (Gong, Wang, Liu, Han, You, Yang, Tao: "Instance-Dependent Positive and Unlabeled Learning with Labeling Bias
Estimation", TPAMI 2022). Some positives are likelier to be labelled than others; a second network learns which.

    h(x) = P(y=1|x) = sigma(z),   eta(x) = P(s=1|y=1,x) = sigma(e);   a negative is never labelled
    start:  h:  1/2 E_P[-log h] + 1/2 E_U[-log(1-h)];   eta:  mean [-s log eta - (1-s) log(1-eta)]
    E:      q = P(y=1|x,s) = 1 on P,   (1-eta) h / ((1-eta) h + (1-h)) = sigma(z - log(1 + exp(e))) on U
    M:      mean [-q log h - (1-q) log(1-h)]  +  mean q [-s log eta - (1-s) log(1-eta)]

h learns from P and from the `kept` share of U whose losses are smallest. eta learns from all rows, weighed by q.

Assumes: the rows are one draw, in which some positives were labelled by a rule that may depend on the row. LBE needs no
prior; prior_ is the mean of q over U. The likelihood depends on the product h eta only, so the start decides where h
ends. The start must be short, and an M step must take several epochs (`m_epochs`).

Differs from its public code, known through the copy in PU-Bench: labelled rows are never dropped for their loss. eta
starts at the labelled rows' true share instead of equal weights. M steps are epochs of the shared trainer instead of
steps on a tenth of the rows. docs/methods/lbe.md has the reasons and the measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.functional import softplus

from ..params import param, tuned
from ..train.data import Batch, PUData, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import pn_risks


def posterior(z: Tensor, e: Tensor, s: Tensor) -> Tensor:
    """E: q = P(y=1|x,s)."""
    return torch.where(s == 1, 1.0, torch.sigmoid(z - softplus(e)))


def class_losses(z: Tensor, q: Tensor) -> Tensor:
    """M, each row's part for h: -q log h - (1-q) log(1-h)."""
    return bce(z, q, reduction="none")


def labelling_losses(e: Tensor, s: Tensor, q: Tensor) -> Tensor:
    """M, each row's part for eta, weighed by q: the label of a negative says nothing about eta."""
    return q * bce(e, s, reduction="none")


def small_losses(losses: Tensor, s: Tensor, share: float) -> Tensor:
    """Return a mask of P and of the share of U whose losses are smallest."""
    unlabelled = torch.where(s == 0, losses, torch.inf).sort().values
    last = (share * (s == 0).sum()).round().long().clamp(min=1) - 1
    return (s == 1) | (losses <= unlabelled.gather(0, last.view(1)))


class Start(Objective):
    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        positive, negative = pn_risks(model.get_submodule("h")(batch.x), batch.s)
        return {"h": positive + negative, "eta": bce(model.get_submodule("eta")(batch.x), batch.s)}


class EM(Objective):
    q: Tensor

    def __init__(self, s: Tensor, kept: float):
        super().__init__()
        self.kept = kept
        self.register_buffer("q", torch.zeros_like(s))

    def expect(self, model: nn.ModuleDict, data: PUData) -> None:
        z, e = (logits(model[name], data.x) for name in ("h", "eta"))
        self.q.copy_(posterior(z, e, data.s))

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        q = self.q[batch.index]
        losses = class_losses(model.get_submodule("h")(batch.x), q)
        return {
            "h": mean_where(losses, small_losses(losses.detach(), batch.s, self.kept)),
            "eta": labelling_losses(model.get_submodule("eta")(batch.x), batch.s, q).mean(),
        }


@dataclass(eq=False, repr=False, kw_only=True)
class LBE(NetworkMethod):
    """Expectation-maximisation with a network for the class and one for the chance that a positive is labelled."""

    name = "lbe"
    paper = "Gong et al., Instance-Dependent Positive and Unlabeled Learning with Labeling Bias Estimation, TPAMI 2022"
    needs_prior = False
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(warm_up_epochs=1, epochs=6, m_epochs=2)}
    preparing = ("warm-up",)

    warm_up_epochs: int = tuned(3, "epochs in which both networks learn which rows are labelled", least=1,
                                search=(1, 20, "log"))  # fmt: skip
    m_epochs: int = tuned(20, "epochs of an M step, from one E step to the next", least=1, search=(1, 30, "log"))
    kept: float = param(0.8, "share of the unlabelled rows that h learns from, those of smallest loss", above=0, most=1,
                        search=(0.5, 1.0))  # fmt: skip
    sampling: str = tuned("stratified", "labelled rows in a batch: left to chance, or evenly spread; 'paired' distorts "
                          "eta", one_of=tuple(SAMPLINGS))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model, data = nn.ModuleDict({"h": run.net(), "eta": run.net()}), run.data
        run.train("warm-up", model, Start(), self._recipe(epochs=self.warm_up_epochs, floor=1.0))
        em = EM(data.s, self.kept)
        em.expect(model, data)
        for epoch in run.epochs("em", model, em, self._recipe()):
            if (epoch.number + 1) % self.m_epochs == 0:
                em.expect(model, data)
        em.expect(model, data)
        if math.isnan(data.prior):  # none was told
            self.prior_ = float(mean_where(em.q, data.s == 0))
        return model["h"]
