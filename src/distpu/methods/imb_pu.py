"""ImbPU, or ImbalancednnPU (Su, Chen, Xu: "Positive-Unlabeled Learning from Imbalanced Data", IJCAI 2021).

The nnPU risk for data in which target_prior of the rows are positive, estimated from data in which prior of them are:

    R_p = target_prior E_P[l(z)]
    R_n = (1 - target_prior) / (1 - prior) (E_U[l(-z)] - prior E_P[l(-z)])
    R_n >= -beta:  minimise R_p + R_n;   R_n < -beta:  step along -gamma grad R_n alone, and report R_p - beta

At target_prior = prior this is nnPU, in value and gradient. With a target above the prior, more rows are predicted
positive than the prior says: the rule is for balanced classes, where recall counts as much as precision.

Assumes: labelled rows are a random draw from the positives. The prior is needed.

Differs from its public code: in nothing that matters. That code draws batches of exactly 10 labelled and 500 unlabelled
rows, fixes the target at 0.5 and trains at a constant rate. Here the target is a setting and the trainer is shared.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ..params import param
from ..train.loop import Risk
from ..train.run import Run
from ._network import NetworkMethod
from ._parts import LOSSES, nonnegative, pu_risks


def imbpu_risks(
    z: Tensor, s: Tensor, prior: float, target_prior: float = 0.5, loss: str = "sigmoid"
) -> tuple[Tensor, Tensor]:
    """(R_p, R_n) at target_prior: nnPU's risks, each times the new share of its class over the old one."""
    positive, negative = pu_risks(z, s, prior, loss)
    return target_prior / prior * positive, (1 - target_prior) / (1 - prior) * negative


@dataclass(eq=False, repr=False, kw_only=True)
class ImbPU(NetworkMethod):
    """nnPU with its two class risks reweighted to a balanced (or any other) share of positives."""

    name = "imb-pu"
    paper = "Su, Chen, Xu, Positive-Unlabeled Learning from Imbalanced Data, IJCAI 2021"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(epochs=3, sampling="stratified")}

    target_prior: float = param(0.5, "share of positives that the risk is reweighted to; the prior gives nnPU",
                                above=0, below=1, search=(0.1, 0.9))  # fmt: skip
    loss: str = param("sigmoid", "surrogate l(z)", one_of=tuple(LOSSES))
    beta: float = param(0.0, "how far below 0 the negative risk may go", least=0)
    gamma: float = param(1.0, "size of the step back when the negative risk is below -beta", least=0, most=1)

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        run.train("imb-pu", model, Risk("imb-pu", lambda z, s: self._risk(z, s, run.data.prior)), self._recipe())
        return model

    def _risk(self, z: Tensor, s: Tensor, prior: float) -> Tensor:
        return nonnegative(*imbpu_risks(z, s, prior, self.target_prior, self.loss), self.beta, self.gamma)
