"""(TED)^n (Garg, Wu, Smola, Balakrishnan, Lipton: "Mixture Proportion Estimation and PU Learning: A Modern Approach",
NeurIPS 2021). CVIR whose prior is estimated again after each epoch: ranking and prior improve each other.

    q_P(c), q_U(c) = share of held-out scores >= c,   eps = sqrt(ln(4/delta) / 2 n_P) + sqrt(ln(4/delta) / 2 n_U)
    prior <- q_U(c^) / q_P(c^),   c^ = argmin_c [q_U(c) + (1 + gamma) eps] / q_P(c)          (BBE, after each epoch)
    warm start:  1/2 E_P[l(z)] + 1/2 E_U[l(-z)]
    each epoch:  K = U without its floor(prior n_U) highest z;   w E_P[l(z)] + (1 - w) E_K[l(-z)]           (CVIR)

Assumes: labelled rows are a random draw from all positives, and in some region almost all rows are positive; without
such a region the estimate is too high. No prior is needed. A prior that is given is used in the first epoch after the
warm start only; then it is estimated. prior_ is the last estimate, and prior_path_ has the estimate after each epoch.
With few labelled rows very few are held out, and the estimate is poor. `cvir` with prior='auto' holds no row out, and
did better on digits with 30 and 50 labelled rows.

Differs from its public code: there BBE sees the test set. Here BBE sees rows held out of the training set, and equal
rows are on the same side. An estimate above `ceiling` counts as `ceiling`, so that unlabelled rows are always left.
The other differences are those of `cvir`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..params import param
from ..prior import inside_unit
from ..prior.bbe import bbe
from ..train.data import PUData
from ..train.run import Run
from ..train.scoring import logits
from .cvir import CVIR, Inliers


def held_out(data: PUData, one_in: int) -> Tensor:
    """Return a mask of the rows for the estimate. Equal rows are all in the mask or all outside."""
    s, held = data.s, data.folds(one_in) == 0
    if any(not (s[part] == label).any() for part in (held, ~held) for label in (0, 1)):
        raise ValueError(
            f"held_out={one_in} leaves no labelled or no unlabelled row to learn or to estimate from; "
            "tedn needs 2 different rows of each; use cvir with a prior, which needs 1"
        )
    return held


class Estimated(Inliers):
    """CVIR's objective, which also stores the estimates made so far."""

    many_shapes = True  # each new prior leaves another number of rows
    path: Tensor

    def __init__(self, among: Tensor, epochs: int):
        super().__init__(among)
        self.register_buffer("path", torch.zeros(epochs, device=among.device))


@dataclass(eq=False, repr=False, kw_only=True)
class TEDn(CVIR):
    """Alternates between CVIR and BBE's estimate of the prior. No prior is needed."""

    name = "tedn"
    needs_prior = False
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(warm_up_epochs=3, epochs=12, sampling="stratified")}
    also_fitted = ("prior_path_",)

    held_out: int = param(5, "one row in this many is held out for the estimate", least=2)
    delta: float = param(0.1, "BBE's bound holds with probability 1 - delta", above=0, below=1)
    gamma: float = param(0.01, "BBE's bound is multiplied by 1 + gamma", least=0)
    ceiling: float = param(0.95, "highest prior; an estimate above it is lowered to it", above=0, below=1)

    def _learn(self, run: Run) -> nn.Module:
        model, data = run.net(), run.data
        held = held_out(data, self.held_out)
        objective = Estimated(~held, self.warm_up_epochs + self.epochs)

        for epoch in run.epochs("warm-up", model, objective, self._warm_up(data.s[~held])):
            objective.path[epoch.number] = self._estimate(logits(model, data.x), data.s, held)
        start = objective.path[self.warm_up_epochs - 1].item() if math.isnan(data.prior) else data.prior
        objective.set_aside(logits(model, data.x), data.s, start, self.weights)

        for epoch in run.epochs("tedn", model, objective, self._paired(data.s[~held])):
            z = logits(model, data.x)
            prior = self._estimate(z, data.s, held)
            objective.path[self.warm_up_epochs + epoch.number] = prior
            objective.set_aside(z, data.s, prior, self.weights)

        self.prior_path_ = objective.path.tolist()
        self.prior_ = self.prior_path_[-1]
        return model

    def _estimate(self, z: Tensor, s: Tensor, held: Tensor) -> float:
        z_p, z_u = (z[held & (s == label)].cpu().double().numpy() for label in (1, 0))
        return min(inside_unit(bbe(z_p, z_u, self.delta, self.gamma), s[held].cpu().numpy()), self.ceiling)
