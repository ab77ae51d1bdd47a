"""aPU (Hammoudeh, Lowd: Learning from Positive and Unlabeled Data with Arbitrary Positive Shift, NeurIPS 2020).

    P = labelled positives, U = unlabelled rows of the source (prior), T = unlabelled rows of the target (target_prior)
    kappa = (1 - target_prior) / (1 - prior);   l = `loss`, the sigmoid loss

    step 1:  sigma(x) ~ p(y=1|x) in the source: the sigmoid of a network that minimises, with the logistic loss,
             prior E_P[l(z)] + |E_U[l(-z)] - prior E_P[l(-z)]|;   then sigma is frozen
    step 2:  a fresh network minimises, with W+ = E_U[(1-sigma) l(z)] and W- = E_U[(1-sigma) l(-z)],
             variant="apnu":  (1-rho) target_prior E_P[l(z)] + kappa W- + rho |E_T[l(z)] - kappa W+|
             variant="wuu":   the same with rho = 1: P is used in step 1 only
    or, without step 1,
             variant="purr":  |E_T[l(z)] - R+| + R-,   R+ = kappa |E_U[l(z)] - prior E_P[l(z)]|,   R- likewise of -z

Without target rows T = U. Then wuu is distillation, E_U[sigma l(z) + (1-sigma) l(-z)], and purr is nnPU with
correction="abs" wherever E_U[l(z)] >= prior E_P[l(z)].

Assumes: source and target have the same density of negatives; their densities of positives may differ in any way. Both
priors are needed. The unlabelled rows of X are the source. `target_unlabelled` in fit is the target, and aPU then
predicts for the target.

A sigma far below the prior makes a network that calls no row positive a point of rest of step 2: level=True holds
its mean at the prior.

Differs from its public code: the epoch kept is the last one; that code holds out 1/6 of the rows and keeps the epoch
with the least risk on them. The trainer is the shared one; that code has AdamW with amsgrad, lr 1e-3, 200 epochs, batch
5000. Step 1 has half the epochs of step 2, since a longer training makes sigma too sure of the rows it was trained on.
By default each batch has its share of labelled rows (sampling="stratified"): a batch without them has no positive risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..params import param, tuned
from ..train.data import Batch, mean_where
from ..train.loop import Objective, Risk
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ..weights import refuse
from ._network import NetworkMethod
from ._parts import LOSSES, Memory
from .nnpu import abspu_risk


@dataclass(frozen=True)
class Shift:
    """What the risks need to know about source and target."""

    prior: float
    target_prior: float
    loss: str = "sigmoid"

    @property
    def kappa(self) -> float:
        return (1 - self.target_prior) / (1 - self.prior)

    def target_mean(self, z: Tensor, s: Tensor, z_target: Tensor | None) -> Tensor:
        """E_T[l(z)]; T = U when there are no target rows."""
        l = LOSSES[self.loss]  # noqa: E741
        return mean_where(l(z), s == 0) if z_target is None else l(z_target).mean()


def levelled(z: Tensor, s: Tensor, prior: float) -> Tensor:
    """Return sigma(z + b), with the b that makes its mean over U the prior, by bisection."""
    u = z[s == 0].double()
    low, high = (float(edge) - 40 * sign for edge, sign in ((-u.max(), 1), (-u.min(), -1)))
    for _ in range(100):
        b = (low + high) / 2
        low, high = (b, high) if (u + b).sigmoid().mean() < prior else (low, b)
    return (z + b).sigmoid()


def apnu_risk(z: Tensor, s: Tensor, sigma: Tensor, z_target: Tensor | None, shift: Shift, rho: float) -> Tensor:
    """(1-rho) target_prior E_P[l(z)] + kappa W- + rho |E_T[l(z)] - kappa W+|; with rho = 1 it is wUU."""
    l, U = LOSSES[shift.loss], s == 0  # noqa: E741
    W_plus, W_minus = mean_where((1 - sigma) * l(z), U), mean_where((1 - sigma) * l(-z), U)
    on_labelled = shift.target_prior * mean_where(l(z), s == 1)
    on_target = (shift.target_mean(z, s, z_target) - shift.kappa * W_plus).abs()
    return (1 - rho) * on_labelled + shift.kappa * W_minus + rho * on_target


def purr_risk(z: Tensor, s: Tensor, z_target: Tensor | None, shift: Shift) -> Tensor:
    """|E_T[l(z)] - R+| + R-,  R+- = kappa |E_U[l(+-z)] - prior E_P[l(+-z)]|."""
    l, P, U = LOSSES[shift.loss], s == 1, s == 0  # noqa: E741
    R_plus = shift.kappa * (mean_where(l(z), U) - shift.prior * mean_where(l(z), P)).abs()
    R_minus = shift.kappa * (mean_where(l(-z), U) - shift.prior * mean_where(l(-z), P)).abs()
    return (shift.target_mean(z, s, z_target) - R_plus).abs() + R_minus


@dataclass(eq=False, repr=False, kw_only=True)
class APU(NetworkMethod):
    """Labelled positives may differ from the positives to be found; only the negatives must be alike."""

    name = "apu"
    paper = "Hammoudeh and Lowd, Learning from Positive and Unlabeled Data with Arbitrary Positive Shift, NeurIPS 2020"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(posterior_epochs=6, epochs=12)}
    preparing = ("posterior",)

    variant: str = param("apnu", "the risk of step 2; 'purr' has no step 1",
                         one_of=("apnu", "wuu", "purr"))  # fmt: skip
    rho: float = param(0.5, "for 'apnu': 0 learns the positives from P alone, 1 from the target rows", least=0, most=1,
                       search=(0.0, 1.0))  # fmt: skip
    target_prior: float | None = param(None, "share of positives among the target rows; None means that of `prior`",
                                       above=0, below=1)  # fmt: skip
    loss: str = param("sigmoid", "surrogate l(z) of step 2; step 1 has the logistic loss", one_of=tuple(LOSSES))
    level: bool = param(False, "moves sigma's logits so that its mean over the unlabelled rows is the prior; if step 1 "
                        "ends far below, step 2 may call no row positive", one_of=(False, True))  # fmt: skip
    posterior_epochs: int = tuned(30, "passes over the rows in step 1", least=1, search=(3, 100, "log"))
    epochs: int = tuned(60, "passes over the rows in step 2", least=1, search=(3, 100, "log"))
    sampling: str = tuned("stratified", "labelled rows in a batch: left to chance, or evenly spread",
                          one_of=tuple(SAMPLINGS))  # fmt: skip

    def fit(
        self, X: Any, y: Any, *, target_unlabelled: Any = None, folder: str | Path | None = None, **refused: Any
    ) -> NetworkMethod:
        """Learn from PU labels. With `target_unlabelled`, rows of another population, learn to predict for those."""
        refuse(self.name, refused)
        if target_unlabelled is None and self.target_prior is not None:
            raise ValueError(
                f"target_prior={self.target_prior} needs target rows; give them to fit as target_unlabelled="
            )
        return self._fit(X, y, folder, target_unlabelled=target_unlabelled)

    def _learn(self, run: Run) -> nn.Module:
        data, target = run.data, run.data.extra.get("target_unlabelled")
        shift = Shift(data.prior, data.prior if self.target_prior is None else self.target_prior, self.loss)
        if self.variant == "purr":
            objective: Objective = Purr(target, shift)
        else:
            first = run.net()
            risk = Risk("posterior", lambda z, s: abspu_risk(z, s, data.prior, "logistic"))
            run.train("posterior", first, risk, self._recipe(epochs=self.posterior_epochs))
            z = logits(first, data.x)
            sigma = Memory(levelled(z, data.s, data.prior) if self.level else z.sigmoid())
            objective = Apnu(target, shift, sigma, self.rho if self.variant == "apnu" else 1.0)
        model = run.net()
        run.train(self.variant, model, objective, self._recipe())
        return model


class Purr(Objective):
    def __init__(self, target: Tensor | None, shift: Shift):
        super().__init__()
        self.target, self.shift = target, shift

    def logits(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return the logits of the batch and of as many random target rows. BatchNorm must see both in one pass."""
        if self.target is None:
            return model(batch.x), None
        drawn = torch.randint(len(self.target), batch.index.shape, device=batch.s.device)
        z, z_target = model(torch.cat([batch.x, self.target[drawn].float()])).chunk(2)
        return z, z_target

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        z, z_target = self.logits(model, batch)
        return {"purr": purr_risk(z, batch.s, z_target, self.shift)}


class Apnu(Purr):
    def __init__(self, target: Tensor | None, shift: Shift, sigma: Memory, rho: float):
        super().__init__(target, shift)
        self.sigma, self.rho = sigma, rho

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        z, z_target = self.logits(model, batch)
        return {"apu": apnu_risk(z, batch.s, self.sigma(batch.index), z_target, self.shift, self.rho)}
