"""PUSB (Kato, Teshima, Honda: "Learning from Positive and Unlabeled Data with a Selection Bias", ICLR 2019).

    rank by z:  nnPU with the logistic loss l(z) = log(1 + exp(-z))
        R_p = prior E_P[l(z)],   R_n = E_U[l(-z)] - prior E_P[l(-z)]
        R_n >= -beta:  minimise R_p + R_n;   R_n < -beta:  step along -gamma grad R_n alone

    cut at the prior's quantile:  positive where z >= theta
        theta = the k-th highest of n scores,   k = n - floor(n (1 - prior))

threshold_on="unlabelled" takes theta from the unlabelled training rows, so that theta is part of the model.
threshold_on="scored" calls the k highest of the rows that are scored together positive. The public code and the table
of the Dist-PU paper do so with the test rows. If prior * n of these rows are positive, precision equals recall. The
answer for a row then depends on the other rows, and a row that is scored alone is always positive.

Assumes: the labelled positives may be a biased choice, as long as a row that is likelier to be positive is likelier to
be chosen. The unlabelled rows are a fair sample. The prior is needed: it alone decides the cut.

Differs from its public code: that code predicts z > theta, which is one row fewer, and leaves BatchNorm in training
mode when it scores. Here z >= theta, and BatchNorm uses its running statistics. With "scored", the earlier of two equal
scores at the cut is positive. The schedule of that code is Adam at 1e-5 for 100 epochs; here the trainer is shared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import nn

from ..params import param
from ..train.loop import Risk
from ..train.run import Run
from ..train.scoring import logits
from ._network import NetworkMethod
from .nnpu import nnpu_risk

TIE = 2.0**-50  # the least logit whose probability is not 1/2


def positives(n: int, prior: float) -> int:
    """Return k = n - floor(n (1 - prior)), at least 1. Rounding must not matter: 0.4 of 10000 rows are 4000."""
    return max(1, n - math.floor(n * (1 - prior) + 1e-9))


def cut(z: np.ndarray, prior: float) -> float:
    """Return theta, the k-th highest score."""
    k = positives(len(z), prior)
    return float(np.partition(z, len(z) - k)[len(z) - k])


def just_below(theta: float) -> float:
    """Return the value halfway between theta and the next lower float32.

    Logits are float32, so a row at theta is then positive by > as well as by >=.
    """
    return (theta + float(np.nextafter(np.float32(theta), np.float32(-np.inf)))) / 2


def above_cut(z: np.ndarray, prior: float) -> np.ndarray:
    """Return z - theta, moved by TIE so that exactly k rows are above 0. Of rows at theta, the first ones are."""
    order, k = np.argsort(-z, kind="stable"), positives(len(z), prior)
    above = z - cut(z, prior)
    above[order[:k]] = np.maximum(above[order[:k]], TIE)
    above[order[k:]] = np.minimum(above[order[k:]], -TIE)
    return above


@dataclass(eq=False, repr=False, kw_only=True)
class PUSB(NetworkMethod):
    """Ranks the rows, and cuts the ranking so that as many rows are positive as the prior says."""

    name = "pusb"
    paper = "Kato, Teshima, Honda, Learning from Positive and Unlabeled Data with a Selection Bias, ICLR 2019"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(epochs=12, sampling="stratified")}

    threshold_on: str = param("unlabelled", "rows that set the cut: unlabelled training rows, or the rows being scored",
                              one_of=("unlabelled", "scored"))  # fmt: skip
    beta: float = param(0.0, "how far below 0 the negative risk may go", least=0)
    gamma: float = param(1.0, "size of the step back when the negative risk is below -beta", least=0, most=1)

    def _learn(self, run: Run) -> nn.Module:
        model, prior = run.net(), run.data.prior
        risk = Risk("pusb", lambda z, s: nnpu_risk(z, s, prior, self.beta, self.gamma, loss="logistic"))
        run.train("rank", model, risk, self._recipe())
        unlabelled = logits(model, run.data.x)[run.data.s == 0]
        self.threshold_ = just_below(cut(unlabelled.cpu().double().numpy(), prior))
        return model

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.threshold_on == "scored" and self._calibrates():
            raise ValueError(
                "threshold_on='scored' lets the rows being scored set the cut; leave threshold= and calibrate= out, or "
                "take threshold_on='unlabelled'"
            )

    def _decide(self, z: np.ndarray) -> np.ndarray:
        return above_cut(z, self.prior_) if self.threshold_on == "scored" else z - self.threshold_
