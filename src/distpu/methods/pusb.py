"""PUSB (Kato, Teshima, Honda: "Learning from Positive and Unlabeled Data with a Selection Bias", ICLR 2019).

    rank by z:  nnPU with the logistic loss l(z) = log(1 + exp(-z))
        R_p = prior E_P[l(z)],   R_n = E_U[l(-z)] - prior E_P[l(-z)]
        R_n >= -beta:  minimise R_p + R_n;   R_n < -beta:  step along -gamma grad R_n alone

    cut at the prior's quantile:  positive where z >= theta
        theta = the k-th highest of n scores,   k = n - floor(n (1 - prior))

threshold_on="unlabelled" takes theta from the unlabelled training rows: it is part of the model.
threshold_on="scored" takes the k highest of whatever rows are scored together, as its public code and the
Dist-PU paper's table do with the test rows: with prior * n positives among them, precision equals recall. The answer
for a row then depends on the rows beside it, and one row alone is always positive.

Assumes: labelled positives may be picked with a bias, as long as a row that is likelier to be positive is likelier to
be picked (the order is kept); unlabelled rows are a fair sample; needs the prior, on which the cut hangs entirely.

Differs from its public code: that code predicts z > theta, one row fewer, and leaves BatchNorm in training mode when
it scores; here z >= theta and the running statistics. Equal scores at the cut go to the earlier row where rows are
counted ("scored"). Its schedule, Adam at 1e-5 for 100 epochs, gives way to the shared one.
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
    """k = n - floor(n (1 - prior)), safe from rounding: 10000 rows at 0.4 are 4000. At least 1."""
    return max(1, n - math.floor(n * (1 - prior) + 1e-9))


def cut(z: np.ndarray, prior: float) -> float:
    """theta: the k-th highest score."""
    k = positives(len(z), prior)
    return float(np.partition(z, len(z) - k)[len(z) - k])


def just_below(theta: float) -> float:
    """Halfway to the next lower float32, which logits are: theta is positive by z > 0 as well as by z >= 0."""
    return (theta + float(np.nextafter(np.float32(theta), np.float32(-np.inf)))) / 2


def above_cut(z: np.ndarray, prior: float) -> np.ndarray:
    """z - theta, above 0 on exactly the k highest rows: of those that tie at theta, on the first ones."""
    order, k = np.argsort(-z, kind="stable"), positives(len(z), prior)
    above = z - cut(z, prior)
    above[order[:k]] = np.maximum(above[order[:k]], TIE)
    above[order[k:]] = np.minimum(above[order[k:]], -TIE)
    return above


@dataclass(eq=False, repr=False, kw_only=True)
class PUSB(NetworkMethod):
    """A ranking, and a cut that lets through as many rows as the prior says."""

    name = "pusb"
    paper = "Kato, Teshima, Honda, Learning from Positive and Unlabeled Data with a Selection Bias, ICLR 2019"
    presets = {"fashion-mnist": dict(epochs=12, sampling="stratified")}  # searched on held-out PU rows (LOG.md)

    threshold_on: str = param("unlabelled", "rows that set the cut: unlabelled training rows, or those being scored",
                              one_of=("unlabelled", "scored"))  # fmt: skip
    beta: float = param(0.0, "how far below 0 the negative risk may go", least=0)
    gamma: float = param(1.0, "size of the step back when it goes below", least=0, most=1)

    def _learn(self, run: Run) -> nn.Module:
        model, prior = run.net(), run.data.prior
        risk = Risk("pusb", lambda z, s: nnpu_risk(z, s, prior, self.beta, self.gamma, loss="logistic"))
        run.train("rank", model, risk, self._recipe())
        unlabelled = logits(model, run.data.x)[run.data.s == 0]
        self.threshold_ = just_below(cut(unlabelled.cpu().double().numpy(), prior))
        return model

    def _decide(self, z: np.ndarray) -> np.ndarray:
        return above_cut(z, self.prior_) if self.threshold_on == "scored" else z - self.threshold_
