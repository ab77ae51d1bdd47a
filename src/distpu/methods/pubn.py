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

Assumes: P is a random draw from the positives. The prior is needed. bN may be any part of the negatives. They are rows
of X with the label `neg_label`, which give rho themselves, or rows given to fit as `biased_negatives`. With these, rho
must be known: the share of all rows that are such negatives.

Differs from its public code: the epoch kept is the last one in both steps; that code chooses one on held-out PU rows.
The trainer is the shared one; that code has Adam with amsgrad, lr 1e-3, L2 1e-4, two drops of the rate, 200 epochs in
each step and batches of 10 P, 100 U (and 10 bN). Where sigma is a divisor it is at least `least_sigma`: one row with a
tiny sigma would outweigh all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..files.run_folder import RunFolder
from ..looked import before, estimate_now, trained_on
from ..params import param, tuned
from ..prior import Estimate
from ..train.data import Batch, PUData, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.scoring import logits
from ..weights import refuse
from ._network import NetworkMethod
from ._parts import Memory, logistic_loss, nonnegative, pu_risks

BN = -1  # the value of s for a biased negative, beside 1 labelled positive and 0 unlabelled


def posterior_risks(z: Tensor, s: Tensor, prior: float, rho: float = 0.0) -> tuple[Tensor, Tensor]:
    """(R_p, R_n) of step 1: the logistic PU risks, with P and bN as positives."""
    positive, negative = pu_risks(z, s, prior, "logistic")
    return (
        positive + rho * mean_where(logistic_loss(z), s == BN),
        negative - rho * mean_where(logistic_loss(-z), s == BN),
    )


def cut(sigma: Tensor, s: Tensor, tau: float, prior: float, rho: float = 0.0) -> float:
    """Return eta, the percentile of sigma over U. As in the public code, the percentage is a whole number."""
    percent = int(100 * tau * (1 - prior - rho) + 1e-9)  # 45.9 gives 45, but 63 that rounding made 62.999... gives 63
    return float(np.percentile(sigma[s == 0].cpu().double().numpy(), percent))


def negative_weights(sigma: Tensor, s: Tensor, eta: float, least: float = 0.0) -> Tensor:
    """Return w, the weight of l(-z), for each row."""
    trusted, divisor = sigma > eta, sigma.clamp(min=least)
    on_p = torch.where(trusted, (1 - sigma) / divisor, 0.0)
    on_n = torch.where(trusted, 1 / divisor, 1.0)
    on_u = torch.where(trusted, 0.0, 1 - sigma)
    return torch.where(s == 1, on_p, torch.where(s == BN, on_n, on_u))


def weighted_risks(z: Tensor, s: Tensor, w: Tensor, prior: float, rho: float = 0.0) -> tuple[Tensor, Tensor, Tensor]:
    """The three terms of step 2, on P, bN and U. Each mean is over all rows of its kind, with those of weight 0."""
    as_positive, as_negative = logistic_loss(z), w * logistic_loss(-z)
    return (
        prior * mean_where(as_positive + as_negative, s == 1),
        rho * mean_where(as_negative, s == BN),
        mean_where(as_negative, s == 0),
    )


@dataclass(eq=False, repr=False, kw_only=True)
class PUbN(NetworkMethod):
    """Learns a posterior by nnPU, then a classifier weighted by the posterior. It can also use biased negatives."""

    name = "pubn"
    paper = "Hsieh et al., Classification from Positive, Unlabeled and Biased Negative Data, ICML 2019"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(posterior_epochs=12, epochs=12, sampling="stratified")}
    preparing = ("posterior",)
    takes_negatives = True

    posterior_epochs: int = tuned(60, "passes over the rows in step 1", least=1, search=(3, 100, "log"))
    epochs: int = tuned(60, "passes over the rows in step 2", least=1, search=(3, 100, "log"))
    tau: float = param(0.9, "share of the negatives in U that step 2 learns as negatives", least=0, most=1,
                       search=(0.5, 1.0))  # fmt: skip
    rho: float | None = param(None, "p(y=-1, selected), the share of biased negatives among all rows; needed with them",
                              above=0, below=1)  # fmt: skip
    least_sigma: float = param(1e-3, "least value of sigma where it is a divisor", least=0, most=1)

    def fit(
        self, X: Any, y: Any, *, biased_negatives: Any = None, folder: str | Path | None = None, **refused: Any
    ) -> NetworkMethod:
        """Learn from PU labels and, if given, from rows known to be negative, which may be a biased sample."""
        refuse(self.name, refused)
        if biased_negatives is not None and self.rho is None:
            raise ValueError("biased_negatives need rho, the share of such rows among all, but rho=None; give rho")
        if biased_negatives is None and self.neg_label is None and self.rho is not None:
            raise ValueError(f"rho={self.rho} needs biased negatives; give them to fit as biased_negatives=")
        return self._fit(X, y, folder, biased_negatives=biased_negatives)

    def _train(self, rows: Any, s: np.ndarray, sets: dict[str, Any], folder: RunFolder | None, seed: int) -> None:
        """Take confirmed negatives for biased ones. They stay among the unlabelled rows, which they were drawn from."""
        self._labels, negative = s, s == BN
        if negative.any():
            given = sets.get("biased_negatives")
            found = rows[negative] if given is None else np.concatenate([rows[negative], given])
            sets = {**sets, "biased_negatives": found}
            self.rho = self.rho or float(negative.sum() / (s <= 0).sum())
        super()._train(rows, np.where(negative, 0, trained_on(s)), sets, folder, seed)
        self.prior_ *= float((s <= 0).sum() / (s == 0).sum())  # training had the negatives among the unlabelled rows

    def _find_prior(self, rows: Any, s: np.ndarray, folder: RunFolder | None) -> float:
        """Return the share of positives among the unlabelled rows and the confirmed negatives."""
        labels = self._labels
        return super()._find_prior(rows, s, folder) * float((labels == 0).sum() / (labels <= 0).sum())

    def _estimated(self, rows: Any, s: np.ndarray) -> Estimate:
        return estimate_now(super()._estimated(rows, before(self._labels)), self._labels, None)

    def _learn(self, run: Run) -> nn.Module:
        data, prior, rho = run.data, run.data.prior, self.rho or 0.0
        if prior + rho >= 1:
            raise ValueError(f"prior={prior:.4g} and rho={rho} must sum to less than 1; lower one of them")
        first = run.net()
        run.train("posterior", first, Posterior(data, rho), self._recipe(epochs=self.posterior_epochs))

        rows = [data.x, *data.extra.values()]  # numbered as in Joint: the biased negatives come last
        sigma = torch.cat([logits(first, x) for x in rows]).sigmoid()
        s = torch.cat([data.s, data.s.new_full((len(sigma) - len(data),), BN)])
        w = negative_weights(sigma, s, cut(sigma, s, self.tau, prior, rho), self.least_sigma)

        model = run.net()
        run.train("pubn", model, Weighted(data, rho, Memory(w)), self._recipe())
        return model


class Joint(Objective):
    """Adds a random share of the biased negatives to each batch, so that all rows pass the network together."""

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
