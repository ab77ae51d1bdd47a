"""nnPU (Kiryo, Niu, du Plessis, Sugiyama: "Positive-Unlabeled Learning with Non-Negative Risk Estimator", NIPS 2017).

    R_p = prior E_P[l(z)],   R_n = E_U[l(-z)] - prior E_P[l(-z)]
    R_n >= -beta:  minimise R_p + R_n
    R_n <  -beta:  step along -gamma grad R_n alone, and report R_p - beta

correction="abs" minimises R_p + |R_n| instead (Hammoudeh and Lowd, NeurIPS 2020).

Assumes: labelled rows are a random draw from the positives. The prior is needed. A batch without labelled rows says
that all of its unlabelled rows are negative; sampling="stratified" spreads the labelled rows over the batches.

Differs from its public code: not in the risk. That code trains at a constant rate (1e-5 for CIFAR-10) for 100 epochs.
Here the trainer is shared, and its rate falls along a cosine.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ..params import param
from ..train.loop import Risk
from ..train.run import Run
from ._network import NetworkMethod
from ._parts import LOSSES, nonnegative, pu_risks


def nnpu_risk(
    z: Tensor, s: Tensor, prior: float, beta: float = 0.0, gamma: float = 1.0, loss: str = "sigmoid"
) -> Tensor:
    """Value: R_p + R_n, or R_p - beta where R_n < -beta. Gradient: that of R_p + R_n, or of -gamma R_n there."""
    return nonnegative(*pu_risks(z, s, prior, loss), beta, gamma)


def abspu_risk(z: Tensor, s: Tensor, prior: float, loss: str = "sigmoid") -> Tensor:
    """R_p + |R_n|."""
    positive, negative = pu_risks(z, s, prior, loss)
    return positive + negative.abs()


@dataclass(eq=False, repr=False, kw_only=True)
class NNPU(NetworkMethod):
    """The non-negative risk estimator."""

    name = "nnpu"
    paper = "Kiryo et al., Positive-Unlabeled Learning with Non-Negative Risk Estimator, NIPS 2017"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(epochs=3)}

    loss: str = param("sigmoid", "surrogate l(z)", one_of=tuple(LOSSES))
    beta: float = param(0.0, "how far below 0 the negative risk may go", least=0)
    gamma: float = param(1.0, "size of the step back when the negative risk is below -beta", least=0, most=1)
    correction: str = param("step-back", "'step-back' as in the paper, or 'abs', which minimises R_p + |R_n|",
                            one_of=("step-back", "abs"))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        run.train("nnpu", model, Risk("nnpu", lambda z, s: self._risk(z, s, run.data.prior)), self._recipe())
        return model

    def _risk(self, z: Tensor, s: Tensor, prior: float) -> Tensor:
        if self.correction == "abs":
            return abspu_risk(z, s, prior, self.loss)
        return nnpu_risk(z, s, prior, self.beta, self.gamma, self.loss)
