"""CVIR (Garg, Wu, Smola, Balakrishnan, Lipton: "Mixture Proportion Estimation and PU Learning: A Modern Approach",
NeurIPS 2021). Conditional value ignoring risk: the unlabelled rows that look positive do not count as negatives.

    warm start:  1/2 E_P[l(z)] + 1/2 E_U[l(-z)],   l(z) = log(1 + exp(-z))
    each epoch:  K = U without its floor(prior n_U) highest z, scored in eval mode before the epoch
                 w E_P[l(z)] + (1 - w) E_K[l(-z)],   w = prior, or 1/2

Assumes: labelled rows are a random draw from all positives. The prior is given or estimated. The network must learn
to rank rows before it memorises the unlabelled ones: the warm start relies on this. If K holds negatives only, w =
prior weighs the two classes as the unlabelled rows do, so that 1/2 is the right cut.

Differs from its public code: there w = 1/2, which is right at prior = 1/2 (`weights="half"`). There an epoch ends with
the shorter of P and U; here P is repeated until each row of K was seen once. There random augmentations of the rows are
ranked; here the rows themselves. There SGD runs for 1000 epochs or more at a constant rate; here the trainer is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from ..params import param, tuned
from ..train.data import Batch
from ..train.loop import Objective, Recipe
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import pn_risks


def without_highest(z: Tensor, s: Tensor, prior: float, among: Tensor) -> Tensor:
    """Return the mask `among` without its floor(prior n_U) unlabelled rows of highest z. Of equals, the first go."""
    unlabelled = torch.nonzero(among & (s == 0)).flatten()
    drop = min(int(prior * len(unlabelled) + 1e-9), len(unlabelled) - 1)  # 0.29 of 100 are 29; at least one row stays
    highest = z[unlabelled].argsort(descending=True, stable=True)[:drop]
    kept = among.clone()
    kept[unlabelled[highest]] = False
    return kept


class Inliers(Objective):
    """P against the unlabelled rows kept. Before the first ranking these are all rows of `among`, and w = 1/2."""

    among: Tensor
    kept: Tensor
    weight: Tensor

    def __init__(self, among: Tensor):
        super().__init__()
        self.register_buffer("among", among)
        self.register_buffer("kept", among.clone())
        self.register_buffer("weight", torch.tensor(0.5, device=among.device))

    def set_aside(self, z: Tensor, s: Tensor, prior: float, weights: str) -> None:
        """Choose the rows and the weight of the next epoch."""
        self.kept.copy_(without_highest(z, s, prior, self.among))
        self.weight.fill_(prior if weights == "prior" else 0.5)

    def rows(self, s: Tensor) -> Tensor:
        return torch.nonzero(self.kept).flatten()

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        positive, negative = pn_risks(model(batch.x), batch.s, self.weight)
        return {"positive": positive, "negative": negative}


@dataclass(eq=False, repr=False, kw_only=True)
class CVIR(NetworkMethod):
    """In each epoch the unlabelled rows that look most positive are left out, as many as the prior says."""

    name = "cvir"
    paper = "Garg et al., Mixture Proportion Estimation and PU Learning: A Modern Approach, NeurIPS 2021"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(warm_up_epochs=3, epochs=6, sampling="stratified", weights="half")}
    preparing = ("warm-up",)

    warm_up_epochs: int = tuned(3, "epochs of P against all of U before the first ranking", least=1,
                                search=(1, 20, "log"))  # fmt: skip
    weights: str = tuned("prior", "w: 'prior', or 'half' as in the paper", one_of=("prior", "half"),
                         search=["prior", "half"])  # fmt: skip
    sampling: str = tuned("paired", "'paired' puts labelled rows into every batch", one_of=tuple(SAMPLINGS))
    labelled_share: float = param(
        0.1, "share of labelled rows in a 'paired' batch; a batch has all of them if they are fewer", above=0, below=1
    )
    lr_floor: float = param(0.0, "the cosine ends at this share of lr; 1: constant, as in the paper", least=0, most=1)

    def _learn(self, run: Run) -> nn.Module:
        model, data = run.net(), run.data
        objective = Inliers(torch.ones_like(data.s, dtype=torch.bool))
        run.train("warm-up", model, objective, self._warm_up(data.s))
        objective.set_aside(logits(model, data.x), data.s, data.prior, self.weights)
        for _ in run.epochs("cvir", model, objective, self._paired(data.s)):
            objective.set_aside(logits(model, data.x), data.s, data.prior, self.weights)
        return model

    def _warm_up(self, s: Tensor) -> Recipe:
        return replace(self._paired(s), epochs=self.warm_up_epochs, floor=1.0)

    def _paired(self, s: Tensor) -> Recipe:
        labelled = max(1, min(int(self.labelled_share * self.batch_size), int((s == 1).sum())))
        return self._recipe(labelled=labelled, floor=self.lr_floor)
