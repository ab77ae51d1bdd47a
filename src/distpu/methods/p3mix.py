"""P3Mix-C (Li, Li, Feng, Ouyang: Who Is Your Right Mixup Partner in Positive and Unlabeled Learning, ICLR 2022). Mixup
with chosen partners: an unlabelled row that the network is unsure of is mixed with a labelled row near the boundary.

    p = sigma(z);   pool = the k labelled rows of highest entropy H(p), chosen anew after each epoch
    y = 1 on P;  on U  y = [p >= gamma];          marginal rows: those of U with 1 - gamma <= p <= gamma
    partner of a marginal row: a random row of the pool, whose y is 1;  of any other row: a random row of the batch
    x' = lam x + (1-lam) x_partner,  y' likewise;   lam ~ Beta(alpha, alpha), folded to lam >= 1/2, one for a batch
    minimise  E_P[BCE(p', y')] + beta E_U[BCE(p', y')] + kappa E[H(p')]

    In the first `start` epochs y = 0 on all of U, and every partner is a random row of the batch.

Assumes: labelled rows are a random draw from the positives. No prior is needed, and none sets the cut: the share called
positive may be far from the prior.

Differs from its public code: there is none of the authors. Two benchmarks have it and disagree about its settings.
The defaults are PUBench's, with beta = 1 and one cosine in place of a rate that is halved. Rows are mixed as they come
in, not inside the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..params import param, tuned
from ..train.data import Batch, PUData, mean_where
from ..train.loop import Objective, Recipe
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import binary_entropy

FURTHEST = math.log((1 - 1e-4) / 1e-4)  # logits are clamped so that p lies between 1e-4 and 1 - 1e-4


def corrected(p: Tensor, s: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """Return y of each row, and a mask of the marginal rows."""
    y = torch.where(s == 1, 1.0, (p >= gamma).to(p.dtype))
    return y, (s == 0) & (p >= 1 - gamma) & (p <= gamma)


def most_uncertain(z: Tensor, s: Tensor, k: int) -> Tensor:
    """Return the numbers of the k labelled rows of highest entropy."""
    return torch.where(s == 1, binary_entropy(z), -torch.inf).topk(k).indices


def mixed_risk(z: Tensor, y: Tensor, s: Tensor, beta: float, kappa: float) -> dict[str, Tensor]:
    """The three terms for the logits and the targets of mixed rows."""
    losses = bce(z, y, reduction="none")
    return {
        "labelled": mean_where(losses, s == 1),
        "unlabelled": beta * mean_where(losses, s == 0),
        "entropy": kappa * binary_entropy(z).mean(),
    }


@dataclass(eq=False, repr=False, kw_only=True)
class P3Mix(NetworkMethod):
    """Mixup with chosen partners, and corrected labels of unlabelled rows. Needs no prior."""

    name = "p3mix"
    paper = "Li et al., Who Is Your Right Mixup Partner in Positive and Unlabeled Learning, ICLR 2022"
    needs_prior = False
    presets = {"small": dict(epochs=40)}

    epochs: int = tuned(100, "passes over the rows, the start included", least=1, search=(5, 200, "log"))
    start: int = param(5, "epochs of plain Mixup, before labels are corrected", least=0)
    gamma: float = param(0.8, "an unlabelled row of at least this score counts as positive", above=0.5, below=1,
                         search=(0.7, 0.95))  # fmt: skip
    pool: int = param(96, "k, how many labelled rows near the boundary are partners", least=1)
    alpha: float = param(1.0, "Mixup weights are Beta(alpha, alpha)", above=0, search=(0.1, 6.0, "log"))
    beta: float = param(1.0, "weight of the unlabelled rows", least=0)
    kappa: float = param(0.1, "weight of the mixed rows' entropy", least=0, search=(0.01, 1.0, "log"))
    sampling: str = tuned("stratified", "labelled rows in a batch: left to chance, or evenly spread",
                          one_of=tuple(SAMPLINGS))  # fmt: skip

    def _passes(self) -> int:
        return round(1.4 * self.epochs)

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        objective = Partners(self, run.data)
        for _ in run.epochs("p3mix", model, objective, self._recipe()):
            objective.choose(model)
        return model


class Partners(Objective):
    pool: Tensor  # (k, ...) the rows of the pool
    epoch: Tensor

    def __init__(self, of: P3Mix, data: PUData):
        super().__init__()
        self.of, self.data, self.correcting = of, data, False
        self.k = min(of.pool, int((data.s == 1).sum()))
        self.register_buffer("pool", torch.zeros(self.k, *data.x.shape[1:]))
        self.register_buffer("epoch", torch.zeros((), dtype=torch.long))

    def choose(self, model: nn.Module) -> None:
        """Choose the pool from the labelled rows only: an uncertain unlabelled row may be a negative."""
        rows = most_uncertain(logits(model, self.data.x), self.data.s, self.k)
        self.pool.copy_(self.data.rows(rows))

    def batches(self, s: Tensor, recipe: Recipe) -> Any:
        self.correcting = int(self.epoch) >= max(1, self.of.start)  # before the first epoch ends there is no pool
        self.epoch += 1
        return super().batches(s, recipe)

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        n, device = len(batch.s), batch.s.device
        y, marginal = batch.s, torch.zeros_like(batch.s, dtype=torch.bool)
        if self.correcting:
            with torch.no_grad():
                y, marginal = corrected(torch.sigmoid(model(batch.x)), batch.s, self.of.gamma)
        other, chosen = torch.randint(n, (n,), device=device), torch.randint(self.k, (n,), device=device)
        from_pool = marginal.view(-1, *[1] * (batch.x.dim() - 1))
        x_partner = torch.where(from_pool, self.pool[chosen], batch.x[other])
        y_partner = torch.where(marginal, 1.0, y[other])
        alpha = torch.full((), self.of.alpha, device=device)
        lam = torch.distributions.Beta(alpha, alpha, validate_args=False).sample()
        lam = torch.maximum(lam, 1 - lam)
        z = model(torch.lerp(x_partner, batch.x, lam)).clamp(-FURTHEST, FURTHEST)
        return mixed_risk(z, torch.lerp(y_partner, y, lam), batch.s, self.of.beta, self.of.kappa)
