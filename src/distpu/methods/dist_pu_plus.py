"""Dist-PU+ (our own, after Zhao et al., CVPR 2022, and NcPU, ICLR 2026). Dist-PU with strong views of images and an
averaged teacher. The teacher's targets are shifted until their decisions, not their mean, meet the prior.

    p = sigma(z);  z_T = logit of the averaged network on a weak view;  t = its target, 1 on labelled rows

    R_lab = 2 prior |E_P[p] - 1| + |E_U[p] - prior|,   divided by 2 prior
    tau <- a tau + (1-a) Q,  Q = (1-prior)-quantile of z_T on the unlabelled rows of a batch;  t = sigma((z_T - tau)/T)
    warm-up:  R_lab + mu E_U[H(p)]                                                              p on weak views
    joint:    R_lab + mu(u) E_U[H(p)] + nu E[BCE(p', t')] + eta E[BCE(p, t)] + omega L_pairs    p on strong views

    (x', t') = Mixup of strong views and their targets;  L_pairs = NoiSNCL (_pairs.py): rows of one class drawn together
    u = share of the joint epochs done;  mu(u) = mu (1 - cos(u pi/2))
    prior="auto", images: spies (_spies.py) give the prior again at u = 0, 1/8, 1/4, 1/2; then they are labelled again

A table has no views: its targets come from the averaged network on the same rows. One optimiser and one cosine serve
both parts. Options that a trial did not have are off by default: L_pairs, a memory of targets, a moving mean in R_lab.
The rate rises step by step in the first epoch: at full rate R_lab pushes all p to 1 within three steps. There the
sigmoid is flat, and the network may need epochs to come back.

Assumes: labelled rows are a random draw from the positives. An error of the prior moves the targets by as much.
Differs from its public code: there is none. A trial with other code is the source of the defaults; its figures are on
docs/methods/dist-pu-plus.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from .. import nets
from ..params import param, tuned
from ..train.data import Batch, mean_where
from ..train.loop import Objective, Recipe
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ._network import NetworkMethod
from ._pairs import on_sphere, pair_loss, predictor, projector, same_class
from ._parts import Average, Memory, MovingMean, binary_entropy, mixup
from ._spies import Spies

Share = float | Tensor  # of positives among the unlabelled rows: a tensor if it may change in training
LOOKS = (0, 1 / 8, 1 / 4, 1 / 2)  # u at which spies give the prior


def quantile_where(values: Tensor, mask: Tensor, share: Share) -> Tensor:
    """Return the quantile of the values where mask holds, between two values by a line. Static shapes, no sync."""
    ordered = torch.where(mask, values, torch.inf).sort().values
    at = share * (mask.sum() - 1).clamp(min=0)
    low, high = (ordered.gather(0, i.long().view(1)).view(()) for i in (at.floor(), at.ceil()))
    return torch.lerp(low, high, at - at.floor())


class ByQuantile(nn.Module):
    """t = sigma((z - tau) / T): as many targets above 1/2 as the prior says. tau follows the batches' quantiles."""

    tau: Tensor
    started: Tensor

    def __init__(self, temperature: float, keep: float):
        super().__init__()
        self.temperature, self.keep = temperature, keep
        self.register_buffer("tau", torch.zeros(()))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, z: Tensor, unlabelled: Tensor, prior: Share) -> Tensor:
        found = quantile_where(z, unlabelled, 1 - prior)
        self.tau.copy_(torch.where(self.started, self.keep * self.tau + (1 - self.keep) * found, found))
        self.started.fill_(True)
        return torch.sigmoid((z - self.tau) / self.temperature)


class ByMean(nn.Module):
    """t = sigma((z + b) / T): the targets' mean meets the prior. b <- b + (prior - E_U[t]) / 2 after each batch."""

    b: Tensor

    def __init__(self, temperature: float, keep: float):
        super().__init__()
        self.temperature = temperature
        self.register_buffer("b", torch.zeros(()))

    def forward(self, z: Tensor, unlabelled: Tensor, prior: Share) -> Tensor:
        t = torch.sigmoid((z + self.b) / self.temperature)
        self.b.add_((prior - mean_where(t, unlabelled)) / 2)
        return t


TARGETS = {"quantile": ByQuantile, "mean": ByMean}


@dataclass(eq=False, repr=False, kw_only=True)
class DistPUPlus(NetworkMethod):
    """Dist-PU with strong views, an averaged teacher, and targets cut at the prior's quantile. For images."""

    name = "dist-pu-plus"
    paper = "our own, after Zhao et al., CVPR 2022 (Dist-PU), and NcPU, ICLR 2026 (pairs)"

    # "paper" is the trial's row for the 13-layer CNN, "resnet-18" its row for that network. Test figures were in view
    # when the trial chose: docs/methods/dist-pu-plus.md. "fashion-mnist" is the pick of search-plus-fashion-mnist-2.
    presets = {
        "small": dict(warm_up_epochs=20, epochs=40, batch_size=144, labelled=16, warm_up_entropy=0.1, entropy=0.1),
        "resnet-18": dict(
            warm_up_epochs=6, epochs=80, optimiser="sgd", lr=0.03, decay_all=False, rise=2, temperature=0.4, alpha=1.0,
            warm_up_entropy=0.0, entropy=0.0,
        ),
        "fashion-mnist": dict(
            warm_up_epochs=10, epochs=90, lr=2e-4, batch_size=144, labelled=16, warm_up_entropy=0.0, entropy=0.0,
            mixup=1.0, keep=0.85,
        ),
    }  # fmt: skip

    # both parts
    warm_up_epochs: int = tuned(30, "epochs on weak views, before the teacher teaches", least=0,
                                search=(3, 60, "log"))  # fmt: skip
    epochs: int = tuned(90, "epochs on strong views with the teacher", least=1, search=(10, 400, "log"))
    views: Any = param(
        "auto", "random views of the images: 'auto' by the kind of images, 'weak', 'none', or a function"
    )
    optimiser: str = tuned("adam", "'adam', or 'sgd' with Nesterov's momentum", one_of=("adam", "sgd"))
    lr: float = tuned(5e-4, "initial learning rate; one cosine over all epochs brings it to 0", above=0,
                     search=(1e-4, 0.1, "log"))  # fmt: skip
    rise: int = tuned(1, "epochs in which the rate rises linearly from 0, step by step: at full rate the first steps "
                      "may push every score to 1, where R_lab has no slope", least=0)  # fmt: skip
    weight_decay: float = tuned(5e-4, "L2 penalty", least=0, search=(1e-5, 1e-2, "log"))
    decay_all: bool = tuned(True, "whether the L2 penalty is on biases and norms too", one_of=(True, False))
    batch_size: int = tuned(288, "rows in a step, the labelled ones included", least=2)
    sampling: str = tuned("paired", "labelled rows in a batch: as many as `labelled`, left to chance, or evenly spread",
                          one_of=tuple(SAMPLINGS))  # fmt: skip
    labelled: int = tuned(32, "labelled rows in a step, for sampling='paired'", least=1)

    # the objective
    keep: float = tuned(0.0, "share of E_U[p] that comes from earlier batches; 0 takes the mean of each batch", least=0,
                        below=1)  # fmt: skip
    warm_up_entropy: float = tuned(2e-3, "mu in the warm-up", least=0)
    entropy: float = tuned(4e-3, "mu at the end of its rise", least=0)
    mixup: float = tuned(5.0, "nu, weight of the Mixup term", least=0, search=(0.5, 10.0, "log"))
    alpha: float = tuned(0.5, "Mixup weights are Beta(alpha, alpha)", above=0, search=(0.1, 6.0, "log"))
    consistency: float = param(1.0, "eta, weight of the teacher's targets on the rows that are not mixed", least=0)
    pairs: float = param(0.0, "omega, weight of the pair loss; 0 leaves the pass that it takes out", least=0)

    hidden: int = param(2048, "width of the layer between features and the vectors of pairs", least=1)

    # the teacher
    decay: float = param(0.99, "share of its own weights that the teacher keeps in a step", least=0, below=1)
    targets: str = param("quantile", "what meets the prior: the targets' decisions ('quantile') or their 'mean'",
                         one_of=tuple(TARGETS))  # fmt: skip
    temperature: float = tuned(0.3, "T; below 1 it makes targets certain", above=0, search=(0.1, 1.0, "log"))
    target_keep: float = param(0.95, "a, share of tau that comes from earlier batches", least=0, below=1)
    memory: float = param(0.0, "share of a row's target that comes from earlier epochs", least=0, below=1)
    spies: int = param(4, "prior='auto' with images: one labelled row in so many learns as an unlabelled one in the "
                       "first half and tells the prior; 0 keeps the first estimate", least=0)  # fmt: skip
    predicts: str = param("student", "the network that predicts: the 'student' or its average, the 'teacher'",
                          one_of=("student", "teacher"))  # fmt: skip

    def preset_for(self, rows: int) -> str:
        told = super().preset_for(rows)
        if self.preset != "auto":
            return told
        if str(self.network).endswith("resnet-18"):
            return "resnet-18"
        grey = len(self.shape_) == 3 and nets.auto_network(self.shape_) == "mlp" and self.network in ("auto", "mlp")
        return "fashion-mnist" if grey and told == "paper" else told

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.spies == 1:
            raise ValueError("spies=1 would hide every label; use 0 for no spies, or one labelled row in 2 or more")

    def _passes(self) -> int:
        return self.warm_up_epochs + round((3.7 if self.pairs else 2.4) * self.epochs)

    def _learn(self, run: Run) -> nn.Module:
        model = nn.ModuleDict({"net": run.net()})
        if self.pairs:
            width, device = nets.head_of(model["net"].get_submodule("body")).in_features, run.data.s.device
            model["projector"], model["predictor"] = projector(width, self.hidden).to(device), predictor().to(device)
        looks = [self.warm_up_epochs + round(u * self.epochs) for u in LOOKS]
        spied = self.prior == "auto" and run.data.x.dim() == 4 and looks[-1] > 0  # without a look they never end
        first = self.prior_estimate_ if spied else None
        spies = None if first is None else Spies.among(run.data, self.spies, first)
        objective = WithTeacher(self, model, run, spies)
        recipe = self._recipe(
            epochs=self.warm_up_epochs + self.epochs,
            optimiser=self.optimiser,
            decay_all=self.decay_all,
            labelled=self.labelled,
        )
        for epoch in run.epochs("dist-pu-plus", model, objective, recipe):
            if spies is not None and epoch.number + 1 in looks:
                spies.look(model["net"], run.data, last=epoch.number + 1 == looks[-1])
        if spies is not None and (found := spies.estimate(run.data.s)) is not None:
            self.prior_ = found.prior
            self._take_estimate(found)
        return objective.scorer(model)


class WithTeacher(Objective):
    draws_views = True
    epoch: Tensor

    def __init__(self, of: DistPUPlus, model: nn.ModuleDict, run: Run, spies: Spies | None = None):
        super().__init__()
        self.of, self.views, self.told, self.spies = of, run.views, run.data.prior, spies
        self.teacher = Average(model["net"], of.decay)
        self.target_projector = Average(model["projector"], of.decay) if of.pairs else None
        self.calibrated = TARGETS[of.targets](of.temperature, of.target_keep)
        self.mean_p = MovingMean(of.keep)
        self.remembered = Memory(torch.full((len(run.data),), torch.nan))  # NaN: the row has had no target yet
        self.register_buffer("epoch", torch.zeros((), dtype=torch.long))
        self.joint = False

    def batches(self, s: Tensor, recipe: Recipe) -> Any:
        self.joint = int(self.epoch) >= self.of.warm_up_epochs  # a plain attribute: each part has its own recording
        self.epoch += 1
        return super().batches(s if self.spies is None else self.spies.hide(s), recipe)

    @property
    def prior(self) -> Share:
        """The share of positives among the rows that learn as unlabelled ones."""
        return self.told if self.spies is None else self.spies.share

    def scorer(self, model: nn.Module) -> nn.Module:
        return self.teacher.net if self.of.predicts == "teacher" else model.get_submodule("net")

    def networks(self, model: nn.Module) -> list[nn.Module]:
        return [model, self.teacher]

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        net, zero = model.get_submodule("net"), torch.zeros((), device=batch.s.device)
        if self.spies is not None:
            batch = replace(batch, s=self.spies.hide(batch.s, batch.index))
        self.teacher.follow(net)
        terms = dict.fromkeys(("lab", "entropy", "mixup", "consistency", "pairs"), zero)
        if not self.joint:
            z, terms["pairs"] = self.passed(model, self.views.weak(batch.x), batch.x, t=None)
            return terms | self.aligned(z, batch.s, self.of.warm_up_entropy)
        t = self.targets(batch)
        x = self.views.strong(batch.x)
        if self.of.mixup:
            x_mixed, t_mixed = mixup(x, t, self.of.alpha)
            terms["mixup"] = self.of.mixup * bce(net(x_mixed), t_mixed)
        z, terms["pairs"] = self.passed(model, x, batch.x, t)
        terms["consistency"] = self.of.consistency * bce(z, t)
        return terms | self.aligned(z, batch.s, self.of.entropy * (1 - torch.cos(self.done(progress) * math.pi / 2)))

    def done(self, progress: Tensor) -> Tensor:
        """u, the share of the joint epochs that is done."""
        start = self.of.warm_up_epochs / (self.of.warm_up_epochs + self.of.epochs)
        return (progress - start) / (1 - start)

    def aligned(self, z: Tensor, s: Tensor, mu: Tensor | float) -> dict[str, Tensor]:
        """R_lab / (2 prior) and the entropy. With `keep`, only the batch's own part of E_U[p] has a gradient."""
        p = torch.sigmoid(z)
        mean, new = self.mean_p(p, s == 0)
        lab = mean_where(1 - p, s == 1) + (mean - self.prior).abs() / (2 * self.prior * new)
        return {"lab": lab, "entropy": mu * mean_where(binary_entropy(z), s == 0)}

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """t: 1 on labelled rows, the teacher's calibrated score elsewhere, averaged over epochs if `memory` says so."""
        z = self.teacher(self.views.weak(batch.x))
        t = self.calibrated(z, batch.s == 0, self.prior)
        if self.of.memory:
            before = self.remembered(batch.index)
            t = torch.where(before.isnan(), t, self.of.memory * before + (1 - self.of.memory) * t)
            self.remembered.remember(batch.index, t)
        return torch.where(batch.s == 1, 1.0, t)

    def passed(self, model: nn.Module, view: Tensor, x: Tensor, t: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the logits of a view, and omega L_pairs: its features against the teacher's of another view.

        Without targets a row is compared with itself alone.
        """
        if self.target_projector is None:
            return model.get_submodule("net")(view), torch.zeros((), device=x.device)
        features, z = model.get_submodule("net").features(view)  # type: ignore[operator]
        self.target_projector.follow(model.get_submodule("projector"))
        with torch.no_grad():
            k = on_sphere(self.target_projector(self.teacher.features(self.views.pair(x))))
        q = on_sphere(model.get_submodule("predictor")(model.get_submodule("projector")(features)))
        mask = torch.eye(len(x), device=x.device) if t is None else same_class(t) >= 0.5
        return z, self.of.pairs * pair_loss(q, k, mask)
