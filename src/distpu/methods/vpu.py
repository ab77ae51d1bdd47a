"""VPU (Chen, Liu, Wang, Zhao, Wu: A Variational Approach for Learning from Positive and Unlabeled Data, NeurIPS 2020).

    Phi = sigma(z);  X = the unlabelled rows;  P = labelled rows, drawn to as many as the batch has of X

    L_var = log E_X[Phi] - E_P[log Phi]
    L_reg = E[(log Phi' - log Phi(x'))^2],   x' = lam x + (1-lam) x_P,   Phi' = lam Phi(x) + (1-lam),
            lam ~ Beta(alpha, alpha), one for a batch
    minimise L_var + weight L_reg;   predict positive where Phi / peak >= 1/2,   peak = max of Phi over X and P

L_var is least where Phi is p(y=1|x) times any constant. No prior enters. The peak takes the constant out again.

Assumes: P is a random draw from the positives, and some rows have p(y=1|x) = 1; else every probability is too high.
VPU needs no prior and does not use one that is given. The network soon memorises few labelled rows, so the epoch kept
is the one with the least L_var on rows held out.

Differs from its public code: the rows held out are not trained on. X is the unlabelled rows; in that code X is
all rows, which here would count the labelled positives twice. The weight, the rate, the epochs and the batch size are
our own. docs/methods/vpu.md has the values of both, the reasons and the measurements.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import log_expit, logit
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ..params import param, tuned
from ..train.data import Batch, PUData
from ..train.loop import Objective, Recipe
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ._network import NetworkMethod


def variational_risk(z: Tensor, z_p: Tensor) -> Tensor:
    """L_var = log E_X[Phi] - E_P[log Phi]."""
    return torch.logsumexp(logsigmoid(z), 0) - math.log(len(z)) - logsigmoid(z_p).mean()


def consistency(z: Tensor, z_mixed: Tensor, lam: Tensor, detach: bool = False) -> Tensor:
    """L_reg = E[(log Phi' - log Phi(x'))^2],  Phi' = lam Phi(x) + (1-lam)."""
    target = torch.logaddexp(lam.log() + logsigmoid(z), (1 - lam).log())
    return ((target.detach() if detach else target) - logsigmoid(z_mixed)).square().mean()


@dataclass(eq=False, repr=False, kw_only=True)
class VPU(NetworkMethod):
    """The variational approach. It needs no prior."""

    name = "vpu"
    paper = "Chen et al., A Variational Approach for Learning from Positive and Unlabeled Data, NeurIPS 2020"
    needs_prior = False
    also_fitted = ("peak_",)
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(weight=20.0, lr=3e-4)}

    beta_1: float = param(0.5, "Adam's decay of the mean gradient", least=0, below=1)
    beta_2: float = param(0.99, "Adam's decay of the mean squared gradient", least=0, below=1)
    weight_decay: float = tuned(0.0, "L2 penalty on every parameter, BatchNorm and biases too", least=0,
                               search=(0.0, 0.03))  # fmt: skip
    weight: float = tuned(5.0, "weight of L_reg", least=0, search=(0.5, 50.0, "log"))
    alpha: float = param(0.3, "Mixup weights are Beta(alpha, alpha)", above=0, search=(0.05, 2.0, "log"))
    population: str = param("unlabelled", "rows X of the input distribution: 'unlabelled', or 'all' when labelled rows "
                            "are not repeated among the unlabelled ones", one_of=("unlabelled", "all"))  # fmt: skip
    detach: bool = param(False, "no gradient through L_reg's target; the public code has one", one_of=(False, True))
    steps: int = param(30, "most steps in an epoch", least=1)
    held_out: float = param(0.1, "about this share of the rows is held out to choose the epoch kept; 0 keeps the last",
                            least=0, most=0.5)  # fmt: skip
    peak_quantile: float = param(1.0, "peak is this quantile of Phi over all rows; 1 is the maximum", above=0, most=1)
    certainty: float = param(1 - 1e-6, "the probability of a row whose Phi is the peak", above=0.5, below=1)

    @property
    def keeps(self) -> str:  # type: ignore[override]
        return "pu" if self.held_out or self.validation_fraction else "last"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.held_out and self.validation_fraction:
            raise ValueError(
                f"held_out={self.held_out} and validation_fraction={self.validation_fraction} both choose the epoch "
                "kept; set one of them to 0"
            )

    def _learn(self, run: Run) -> nn.Module:
        model, held = run.net(), self._held_out(run.data)
        objective = Variational(self, run.data, held, copy.deepcopy(model))
        for _ in run.epochs("vpu", model, objective, self._recipe(betas=(self.beta_1, self.beta_2))):
            objective.keep_if_best(model)
        phi = logits(objective.best, run.data.x).cpu().double().sigmoid().numpy()
        self.peak_ = float(np.quantile(phi, self.peak_quantile))
        return objective.best

    def _in_x(self, s: Tensor) -> Tensor:
        return s == 0 if self.population == "unlabelled" else torch.ones_like(s, dtype=torch.bool)

    def _held_out(self, data: PUData) -> Tensor:
        """Return a mask of the rows that choose the epoch; empty if no labelled row would be left to train on."""
        none = torch.zeros_like(data.s, dtype=torch.bool)
        if self.held_out == 0:
            return none
        held = data.folds(round(1 / self.held_out)) == 0
        return held if bool((data.s[~held] == 1).any()) else none

    def _decide(self, z: np.ndarray) -> np.ndarray:
        """Return the logit of Phi / peak. Above `certainty` it rises as z does: no probability is 1, and ranks stay."""
        inside = np.minimum(z, logit(self.certainty * self.peak_))
        log_p = log_expit(inside) - np.log(self.peak_)
        return log_p - np.log1p(-np.exp(log_p)) + (z - inside)


class Variational(Objective):
    least: Tensor

    def __init__(self, of: VPU, data: PUData, held: Tensor, best: nn.Module):
        super().__init__()
        self.of, self.best = of, best.requires_grad_(False)
        self.positives = data.rows(~held & (data.s == 1)).to(data.s.device)
        in_x = of._in_x(data.s)
        self.learnt = torch.nonzero(~held & in_x).flatten()
        self.held_x, self.held_p = data.rows(held & in_x), data.rows(held & (data.s == 1))
        self.register_buffer("least", torch.tensor(math.inf))

    def rows(self, s: Tensor) -> Tensor:
        return self.learnt

    def batches(self, s: Tensor, recipe: Recipe) -> Tensor:
        shuffled = SAMPLINGS[recipe.sampling if self.of.population == "all" else "mixed"]
        return shuffled(self.learnt, s, recipe)[: self.of.steps]

    def networks(self, model: nn.Module) -> list[nn.Module]:
        return [model, self.best]

    def keep_if_best(self, model: nn.Module) -> None:
        if len(self.held_x):
            risk = variational_risk(logits(model, self.held_x), logits(model, self.held_p))
            if risk > self.least:
                return
            self.least.copy_(risk)
        self.best.load_state_dict(model.state_dict())

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        drawn = torch.randint(len(self.positives), batch.index.shape, device=batch.s.device)
        x_p = self.positives[drawn].float()
        alpha = torch.full((), self.of.alpha, device=batch.s.device)
        lam = torch.distributions.Beta(alpha, alpha, validate_args=False).sample()
        z, z_p = model(torch.cat([batch.x, x_p])).chunk(2)  # one pass for X and P, one for the mixed rows
        z_mixed = model(lam * batch.x + (1 - lam) * x_p)
        return {
            "variational": variational_risk(z, z_p),
            "consistency": self.of.weight * consistency(z, z_mixed, lam, self.of.detach),
        }
