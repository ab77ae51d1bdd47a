"""nnPU (Kiryo, Niu, du Plessis, Sugiyama: "Positive-Unlabeled Learning with Non-Negative Risk Estimator", NIPS 2017).

    R_p = prior E_P[l(z)],   R_n = E_U[l(-z)] - prior E_P[l(-z)]
    R_n >= -beta:  minimise R_p + R_n
    R_n <  -beta:  step along -gamma grad R_n alone, and report R_p - beta

This is not R_p + max(0, R_n): there the gradient of R_p would stay and that of R_n vanish.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..estimator import PUClassifier, param
from ..parts import LOSSES, pu_risks, reads_as
from ..run import Run
from ..train import Risk


def nnpu_risk(
    z: Tensor, s: Tensor, prior: float, beta: float = 0.0, gamma: float = 1.0, loss: str = "sigmoid"
) -> Tensor:
    """Reads as R_p + R_n, or R_p - beta where the bound bites; differentiates as R_p + R_n, or -gamma R_n."""
    positive, negative = pu_risks(z, s, prior, loss)
    bites = negative < -beta
    value = torch.where(bites, positive - beta, positive + negative)
    slope = torch.where(bites, -gamma * negative, positive + negative)
    return reads_as(value, slope)


@dataclass(eq=False, repr=False, kw_only=True)
class NNPU(PUClassifier):
    """The non-negative risk estimator."""

    name = "nnpu"
    paper = "Kiryo et al., Positive-Unlabeled Learning with Non-Negative Risk Estimator, NIPS 2017"

    loss: str = param("sigmoid", "surrogate l(z)", one_of=tuple(LOSSES))
    beta: float = param(0.0, "how far below 0 the negative risk may go", least=0)
    gamma: float = param(1.0, "size of the step back when it goes below", least=0, most=1)

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        prior, beta, gamma = run.data.prior, self.beta, self.gamma
        risk = Risk("nnpu", lambda z, s: nnpu_risk(z, s, prior, beta, gamma, self.loss))
        run.train("nnpu", model, risk, self._recipe())
        return model
