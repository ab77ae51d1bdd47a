"""uPU (du Plessis, Niu, Sugiyama: NIPS 2014 and ICML 2015). The unbiased risk, which may go below 0.

    R = prior E_P[l(z)] + E_U[l(-z)] - prior E_P[l(-z)]

    form="2014", where l(z) + l(-z) = 1 (sigmoid):                    R = 2 prior E_P[l(z)] + E_U[l(-z)] - prior
    form="2015", where l(z) - l(-z) = -z (logistic, double hinge):    R = -prior E_P[z] + E_U[l(-z)]

For their losses, both forms equal the general one in value and gradient.

Assumes: labelled rows are a random draw from the positives. The prior is needed.

Differs from its public code: the code of 2015 fits kernel models by convex programs. Here Adam trains any network, with
the sigmoid loss, as in the comparisons of nnPU, Self-PU and Dist-PU. The epoch kept is the last one, so train briefly.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from ..params import param
from ..train.data import mean_where
from ..train.loop import Risk
from ..train.run import Run
from ._network import NetworkMethod
from ._parts import LOSSES, pu_risks


def upu_risk(z: Tensor, s: Tensor, prior: float, loss: str = "sigmoid") -> Tensor:
    """R = prior E_P[l(z)] + E_U[l(-z)] - prior E_P[l(-z)]."""
    positive, negative = pu_risks(z, s, prior, loss)
    return positive + negative


def upu_risk_2014(z: Tensor, s: Tensor, prior: float, loss: str = "sigmoid") -> Tensor:
    """R = 2 prior E_P[l(z)] + E_U[l(-z)] - prior, for l(z) + l(-z) = 1."""
    return 2 * prior * mean_where(LOSSES[loss](z), s == 1) + mean_where(LOSSES[loss](-z), s == 0) - prior


def upu_risk_2015(z: Tensor, s: Tensor, prior: float, loss: str = "logistic") -> Tensor:
    """R = -prior E_P[z] + E_U[l(-z)], for l(z) - l(-z) = -z."""
    return -prior * mean_where(z, s == 1) + mean_where(LOSSES[loss](-z), s == 0)


FORMS = {"general": upu_risk, "2014": upu_risk_2014, "2015": upu_risk_2015}


@dataclass(eq=False, repr=False, kw_only=True)
class UPU(NetworkMethod):
    """The unbiased risk estimator. Long training drives the risk below 0 and lowers the recall."""

    name = "upu"
    paper = "du Plessis, Niu, Sugiyama, Analysis of Learning from Positive and Unlabeled Data, NIPS 2014"
    # Searched on held-out PU rows: docs/log/2026-11.md#small-data-settings-of-the-other-methods-kept
    # and docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {
        "small": dict(epochs=10),
        "fashion-mnist": dict(epochs=3, sampling="stratified"),
    }

    loss: str = param("sigmoid", "surrogate l(z)", one_of=tuple(LOSSES))
    form: str = param("general", "how R is written; '2014' is for the sigmoid loss, '2015' for the others",
                      one_of=tuple(FORMS))  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.form != "general" and (self.form == "2014") != (self.loss == "sigmoid"):
            raise ValueError(f"form={self.form!r} does not hold for loss={self.loss!r}; use form='general'")

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        risk = Risk("upu", lambda z, s: FORMS[self.form](z, s, run.data.prior, self.loss))
        run.train("upu", model, risk, self._recipe())
        return model
