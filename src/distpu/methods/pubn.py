"""PUbN (Hsieh, Niu, Sugiyama: Classification from Positive, Unlabeled and Biased Negative Data, ICML 2019).

    bN = biased negatives, if there are any; rho = p(y=-1, selected as bN); without them rho = 0 (the paper's PUbN\\N)
    l(z) = log(1 + exp(-z));  E_P, E_U, E_N = means over labelled, unlabelled rows and biased negatives

    step 1:  sigma(x) ~ p(y=1 or selected | x), by nnPU with P and bN as positives
             R_p = prior E_P[l(z)] + rho E_N[l(z)],   R_n = E_U[l(-z)] - prior E_P[l(-z)] - rho E_N[l(-z)]
             R_n >= 0: minimise R_p + R_n;   R_n < 0: minimise -R_n;   then sigma is frozen
    step 2:  a fresh network minimises, with weights w that stay fixed,
             prior E_P[l(z) + w l(-z)] + rho E_N[w l(-z)] + E_U[w l(-z)]
             w on P:   (1-sigma)/sigma where sigma > eta, else 0
             w on U:   1-sigma where sigma <= eta, else 0
             w on bN:  1/sigma where sigma > eta, else 1
             eta = the percentile of sigma over U below which a share of tau (1 - prior - rho) of U lies

Assumes: P drawn at random from the positives; the prior. bN, given to fit as `biased_negatives`, may be any part of
the negatives, but rho, the share of all rows that are such negatives, must then be known.

Differs from its public code: the last epoch of both steps is kept, where that code chooses one on held-out PU rows.
The trainer is the shared one; theirs: Adam with amsgrad, lr 1e-3, L2 1e-4, two drops of the rate, 200 epochs each step,
batches of 10 P, 100 U (and 10 bN). A sigma below `least_sigma` is not divided by: one such row would outweigh all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..params import param, tuned
from ..train.data import Batch, PUData, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import Memory, logistic_loss, nonnegative, pu_risks

BN = -1  # what s says of a biased negative; 1 labelled positive, 0 unlabelled


def posterior_risks(z: Tensor, s: Tensor, prior: float, rho: float = 0.0) -> tuple[Tensor, Tensor]:
    """(R_p, R_n) of step 1: the logistic PU risks, with P and bN as positives."""
    positive, negative = pu_risks(z, s, prior, "logistic")
    return (
        positive + rho * mean_where(logistic_loss(z), s == BN),
        negative - rho * mean_where(logistic_loss(-z), s == BN),
    )


def cut(sigma: Tensor, s: Tensor, tau: float, prior: float, rho: float = 0.0) -> float:
    """eta: the percentile of sigma over U, whole percents only, as in the public code."""
    percent = int(100 * tau * (1 - prior - rho) + 1e-9)  # 45.9 is 45, but 62.999... that stands for 63 is 63
    return float(np.percentile(sigma[s == 0].cpu().double().numpy(), percent))


def negative_weights(sigma: Tensor, s: Tensor, eta: float, least: float = 0.0) -> Tensor:
    """w, the weight of l(-z) for each row."""
    trusted, divisor = sigma > eta, sigma.clamp(min=least)
    on_p = torch.where(trusted, (1 - sigma) / divisor, 0.0)
    on_n = torch.where(trusted, 1 / divisor, 1.0)
    on_u = torch.where(trusted, 0.0, 1 - sigma)
    return torch.where(s == 1, on_p, torch.where(s == BN, on_n, on_u))


def weighted_risks(z: Tensor, s: Tensor, w: Tensor, prior: float, rho: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """The three terms of step 2, on P, bN and U. Each mean is over all rows of its kind, also those of weight 0."""
    as_positive, as_negative = logistic_loss(z), w * logistic_loss(-z)
    return (
        prior * mean_where(as_positive + as_negative, s == 1),
        rho * mean_where(as_negative, s == BN),
        mean_where(as_negative, s == 0),
    )


@dataclass(eq=False, repr=False, kw_only=True)
class PUbN(NetworkMethod):
    """Two steps: a posterior by nnPU, then a classifier weighted by it; takes biased negatives where there are some."""

    name = "pubn"
    paper = "Hsieh et al., Classification from Positive, Unlabeled and Biased Negative Data, ICML 2019"
    presets = {
        "fashion-mnist": dict(posterior_epochs=12, epochs=12, sampling="stratified")
    }  # searched on held-out PU rows (LOG.md)

    posterior_epochs: int = tuned(60, "passes over the rows in step 1", least=1)
    epochs: int = tuned(60, "passes over the rows in step 2", least=1)
    tau: float = param(0.9, "share of the negatives in U that step 2 takes from U", least=0, most=1)
    rho: float | None = param(None, "p(y=-1, selected): to be given with biased negatives", above=0, below=1)
    least_sigma: float = param(1e-3, "sigma is raised to this where it is divided by", least=0, most=1)

    def fit(self, X: Any, y: Any, *, biased_negatives: Any = None, folder: str | Path | None = None) -> NetworkMethod:
        """Learn from PU labels and, where there are some, rows known to be negative, of whatever kind."""
        if biased_negatives is not None and self.rho is None:
            raise ValueError("rho=None is not enough for biased_negatives; give rho, the share of such rows among all")
        if biased_negatives is None and self.rho is not None:
            raise ValueError(f"rho={self.rho} tells of biased negatives; give them to fit as biased_negatives=")
        return self._fit(X, y, folder, biased_negatives=biased_negatives)

    def _learn(self, run: Run) -> nn.Module:
        data, prior, rho = run.data, run.data.prior, self.rho or 0.0
        if prior + rho >= 1:
            raise ValueError(f"prior={prior:.4g} and rho={rho} must sum to less than 1; lower one of them")
        first = run.net()
        run.train("posterior", first, Posterior(data, rho), self._recipe(epochs=self.posterior_epochs))

        rows = [data.x, *data.extra.values()]  # as Joint numbers them: the biased negatives last
        sigma = torch.cat([logits(first, x) for x in rows]).sigmoid()
        s = torch.cat([data.s, data.s.new_full((len(sigma) - len(data),), BN)])
        w = negative_weights(sigma, s, cut(sigma, s, self.tau, prior, rho), self.least_sigma)

        model = run.net()
        run.train("pubn", model, Weighted(data, rho, Memory(w)), self._recipe())
        return model


class Joint(Objective):
    """Each batch gets its share of the biased negatives, drawn at random; all pass the network together."""

    def __init__(self, data: PUData, rho: float):
        super().__init__()
        self.prior, self.rho, self.n = data.prior, rho, len(data)
        self.negatives = data.extra.get("biased_negatives")

    def joined(self, batch: Batch) -> Batch:
        if self.negatives is None:
            return batch
        size = math.ceil(len(batch.index) * len(self.negatives) / self.n)
        drawn = torch.randint(len(self.negatives), (size,), device=batch.s.device)
        return Batch(
            torch.cat([batch.index, self.n + drawn]),
            torch.cat([batch.x, self.negatives[drawn].float()]),
            torch.cat([batch.s, batch.s.new_full((size,), BN)]),
        )


class Posterior(Joint):
    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        batch = self.joined(batch)
        return {"posterior": nonnegative(*posterior_risks(model(batch.x), batch.s, self.prior, self.rho))}


class Weighted(Joint):
    def __init__(self, data: PUData, rho: float, weights: Memory):
        super().__init__(data, rho)
        self.weights = weights

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        batch = self.joined(batch)
        terms = weighted_risks(model(batch.x), batch.s, self.weights(batch.index), self.prior, self.rho)
        return dict(zip(("labelled", "biased_negatives", "unlabelled"), terms, strict=True))
