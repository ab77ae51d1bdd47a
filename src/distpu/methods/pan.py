"""PAN (Hu, Le, Liu, Ji, Ma, Zhao, Yan: Predictive Adversarial Learning from Positive and Unlabeled Data, AAAI 2021).

    D = sigma(d) = "looks labelled", a discriminator;   C = sigma(c), the classifier
    V = E_P[log D] + E_U[log(1 - D)] + weight E_U[(log(1 - C) - log C) (2D - 1)]
      = E_P[log D] + E_U[log(1 - D)] + weight E_U[-c (2D - 1)]

    D maximises V, C minimises it. The last term is KL(D || C) - KL(D || 1 - C): C is to agree with D, and D is to find
    rows on which C is wrong. Predict positive where c >= 0.

The slope of C's term is constant in c, so c would grow without bound where D > 1/2. In that term c is
cap tanh(c / cap) instead. The weight does not change what C learns, since C has no other term; C's own is left at 1.

Assumes: one sample, whose labelled rows are a random draw from the positives. No prior is needed, and nothing ties the
share of predicted positives to one; a prior that is given as a number sets the cut, so that this share of U lies above.
D learns by heart which rows are labelled if trained for long, and C follows D: train briefly.

Differs from its public code: C and D step on the same batch, at once. Means take the place of sums, on which a weight
of 1e-4 with batches of 64 is 6e-3. That code lets D learn from U rows that score below the mean D only, and adds 0.01
inside each log; both are left out, since neither is in the paper. The cap is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ..params import param, tuned
from ..threshold import cut_at
from ..train.data import Batch, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ._network import NetworkMethod


def adversarial_value(d: Tensor, c: Tensor, s: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the three terms of V without the weight: E_P[log D], E_U[log(1 - D)], E_U[-c (2D - 1)]."""
    P, U = s == 1, s == 0
    agreement = mean_where(-c * (2 * torch.sigmoid(d) - 1), U)
    return mean_where(logsigmoid(d), P), mean_where(logsigmoid(-d), U), agreement


class Adversaries(Objective):
    def __init__(self, weight: float, cap: float):
        super().__init__()
        self.weight, self.cap = weight, cap

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        d, c = (model.get_submodule(name)(batch.x) for name in ("discriminator", "classifier"))
        c = self.cap * torch.tanh(c / self.cap)
        labelled, unlabelled, told = adversarial_value(d, c.detach(), batch.s)
        *_, heard = adversarial_value(d.detach(), c, batch.s)
        return {"discriminator": -(labelled + unlabelled + self.weight * told), "classifier": heard}


@dataclass(eq=False, repr=False, kw_only=True)
class PAN(NetworkMethod):
    """A classifier and a discriminator that play against each other. It needs no prior."""

    name = "pan"
    paper = "Hu et al., Predictive Adversarial Learning from Positive and Unlabeled Data, AAAI 2021"
    needs_prior = False

    epochs: int = tuned(20, "passes over the rows", least=1, search=(3, 100, "log"))
    weight: float = param(0.01, "weight of D's part of the agreement of C and D", least=0, search=(1e-4, 1.0, "log"))
    cap: float = param(5.0, "bound of c in the agreement", above=0)
    beta_1: float = param(0.5, "Adam's decay of the mean gradient", least=0, below=1)
    sampling: str = tuned("stratified", "labelled rows in a batch: left to chance ('mixed'), spread evenly "
                          "('stratified'), or a fixed number in each ('paired')", one_of=tuple(SAMPLINGS))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model = nn.ModuleDict({"classifier": run.net(), "discriminator": run.net()})
        run.train("adversaries", model, Adversaries(self.weight, self.cap), self._recipe(betas=(self.beta_1, 0.999)))
        z = logits(model["classifier"], run.data.x)[run.data.s == 0].cpu().double().numpy()
        if math.isnan(run.data.prior):  # none was told
            self.prior_ = float((z >= 0).mean().clip(1e-6, 1 - 1e-6))
        else:
            self.threshold_ = cut_at(z, run.data.prior)
        return model["classifier"]
