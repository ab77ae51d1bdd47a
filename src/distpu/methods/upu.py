"""uPU (du Plessis, Niu, Sugiyama: NIPS 2014 and ICML 2015). The unbiased risk; plain gradient, may go below 0.

    R = prior E_P[l(z)] + E_U[l(-z)] - prior E_P[l(-z)]

With l(z) + l(-z) = 1 (sigmoid) this is the form of 2014:       R = 2 prior E_P[l(z)] + E_U[l(-z)] - prior
With l(z) - l(-z) = -z (logistic, double hinge) that of 2015:   R = -prior E_P[z] + E_U[l(-z)]
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ..estimator import PUClassifier, param
from ..parts import LOSSES, pu_risks
from ..run import Run
from ..train import Risk


def upu_risk(z: Tensor, s: Tensor, prior: float, loss: str = "sigmoid") -> Tensor:
    """R = prior E_P[l(z)] + E_U[l(-z)] - prior E_P[l(-z)]."""
    positive, negative = pu_risks(z, s, prior, loss)
    return positive + negative


@dataclass(eq=False, repr=False, kw_only=True)
class UPU(PUClassifier):
    """The unbiased risk estimator. Long training drives it below zero and the recall down."""

    name = "upu"
    paper = "du Plessis, Niu, Sugiyama, Analysis of Learning from Positive and Unlabeled Data, NIPS 2014"
    presets = {  # searched on held-out PU rows (LOG.md)
        "small": dict(epochs=10),
        "fashion-mnist": dict(epochs=3, sampling="stratified"),
    }

    loss: str = param("sigmoid", "surrogate l(z)", one_of=tuple(LOSSES))

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        risk = Risk("upu", lambda z, s: upu_risk(z, s, run.data.prior, self.loss))
        run.train("upu", model, risk, self._recipe())
        return model
