"""Self-PU (Chen, Chen, Chen, Yuan, Gong, Chen, Wang: Self-PU: Self Boosted and Calibrated Positive-Unlabeled Training,
ICML 2020).

    two students k = 1, 2 with teachers; p_k = sigma(z_k);  R = nnPU's risk:  R_p + R_n, or -R_n where R_n < 0
    t = epoch / epochs;  T_k = the rows that student k trusts: none at first

    warm-up, t < 5 %      minimise R on all rows
    self-paced            every 5 %: T_k <- the n highest and the n lowest z_k of unlabelled rows, n = n_U t trusted_k;
                          each epoch: first E_T[H(p_k)], then R on all other rows, the labelled ones among them
    distillation, >= 25 % T_k stays.  R + m,  m = E[(p_k - p_other)^2], where m < gate R;  and on all rows
                          + c(t) E[(p_k - p_teacher)^2],   c(t) = consistency exp(-sharpness (1 - (t - start)/length)^2)
    H(p_k) is for trusted rows that student k scores on the side of 1/2 that they are trusted for; the others get the
    cross-entropy with the label they are trusted for, because H would push them further to the wrong side.
    A teacher's weights are the mean of its student's weights after each pass of the distillation. Teacher 1 of the last
    epoch predicts; with predicts="better", the teacher with less R on the training rows (in the paper: on clean rows).

    With clean rows the self-paced epochs minimise, on the other rows, R with each row's loss times w0, plus E[w1 H(p)]:
    w = max(0, -d v / d eps), where v is the cross-entropy of the clean rows after a step of size virtual_step along
    the slope of this loss with weights eps, at eps = 0. Rows of U get w0 + w1 = 1 as long as the w1 before them sum to
    less than calibrated_share of the batch; the rest of U and P get (1, 0).

Assumes: labelled rows are a random draw from the positives. The prior is needed. Calibration needs rows with true
labels, fit's clean_rows and clean_labels. The paper's schedule is epochs=200. All times are shares of the epochs, which
at 200 epochs give the paper's times.

Differs from its public code in five points. There H is for all trusted rows; a student that calls all rows alike when
trust begins then stays so, though it ranks well (docs/log/2026-11.md). There the teacher never teaches, because a
softmax over a single logit is always 1. There the clean rows are the test set, whose entropy is minimised. There the
inner entropy of the calibration has the wrong sign. There the test set chooses the best of four networks over all
epochs. Two points are as in that code: the prior of the rows outside T_k stays the same, though T_k takes as many
positives as negatives, and the gate is for a batch, while in the paper it is for a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.utils import _safe_indexing
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..inputs import read_labels
from ..params import param, tuned
from ..train.data import Batch, PUData, mean_where
from ..train.loop import Objective, Recipe
from ..train.parallel import whole
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ..weights import refuse
from ._network import NetworkMethod
from ._parts import Teacher, binary_entropy, nonnegative, pu_risks, sigmoid_loss


def most_certain(z: Tensor, s: Tensor, n: int) -> Tensor:
    """1 for the n unlabelled rows of highest logit, -1 for the n of lowest, 0 for all others."""
    unlabelled = torch.nonzero(s == 0).flatten()
    order = unlabelled[z[unlabelled].argsort(stable=True)]
    trusted = torch.zeros_like(s, dtype=torch.int8)
    trusted[order[:n]] = -1
    trusted[order[len(order) - n :]] = 1
    return trusted


def trusted_size(n_unlabelled: int, t: float, trusted: float) -> int:
    """Return n, the number of trusted rows on either side. At least one unlabelled row is left."""
    return min(int(n_unlabelled * t * trusted + 1e-9), (n_unlabelled - 1) // 2)


def gated_distillation(z: Tensor, z_other: Tensor, positive: Tensor, negative: Tensor, gate: float) -> Tensor:
    """m = E[(p - p_other)^2] if m < gate R, else 0. The other student gets no gradient."""
    m = squared_difference(z, z_other)
    risk = torch.where(negative < 0, -negative, positive + negative)  # what nnPU minimises, not what it reports
    return torch.where(m < gate * risk, m, 0.0)


def squared_difference(z: Tensor, z_other: Tensor) -> Tensor:
    return (z.sigmoid() - z_other.sigmoid().detach()).square().mean()


@dataclass(eq=False, repr=False, kw_only=True)
class SelfPU(NetworkMethod):
    """Two students trust the rows they are surest of, and learn from each other and from their own averages."""

    name = "self-pu"
    paper = "Chen et al., Self-PU: Self Boosted and Calibrated Positive-Unlabeled Training, ICML 2020"
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(epochs=40)}

    sampling: str = tuned("stratified", "labelled rows in a batch of the rest: left to chance, or evenly spread",
                          one_of=tuple(SAMPLINGS))  # fmt: skip
    warm_up: float = param(0.05, "share of the epochs before the first rows are trusted", least=0, most=1)
    every: float = param(0.05, "share of the epochs after which the trusted rows are chosen anew", above=0, most=1)
    distil_from: float = param(0.25, "share of the epochs before distillation", least=0, most=1)
    trusted_1: float = param(0.4, "for student 1, n = unlabelled rows * epoch / epochs * this", least=0)
    trusted_2: float = param(0.6, "the same as trusted_1, for student 2", least=0)
    trusted_loss: str = param("entropy", "loss on trusted rows: 'entropy' of those on their side of 1/2, or "
                              "cross-entropy with the 'label' they got", one_of=("entropy", "label"))  # fmt: skip
    gate: float = param(0.1, "students learn from each other where m < gate * R", least=0)
    consistency: float = param(0.3, "weight of the teacher's term at the end of its ramp", least=0,
                               search=(0.03, 1.0, "log"))  # fmt: skip
    ramp_start: float = param(0.15, "share of the epochs before the ramp of the teacher's term", least=0)
    ramp_length: float = param(2.0, "length of the ramp in shares of the epochs; above 1 it does not end", above=0)
    ramp_sharpness: float = param(5.0, "sharpness of the ramp", least=0)
    decay: float = param(0.999, "highest share of its own weights that a teacher keeps in a step", least=0, most=1)
    predicts: str = param("first", "the teacher that predicts: the 'first', or the 'better' one by R on all rows",
                          one_of=("first", "better"))  # fmt: skip
    virtual_step: float = param(1e-3, "with clean rows: size of the virtual step", above=0)
    calibrated_share: float = param(1 / 16, "with clean rows: bound of the sum of w1 in a batch, per row", least=0)
    least_weight: float = param(1e-10, "with clean rows: added to w0, so that w0 + w1 > 0", above=0)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        clean_rows: Any = None,
        clean_labels: Any = None,
        folder: str | Path | None = None,
        **refused: Any,
    ) -> NetworkMethod:
        """Learn from PU labels. Rows with true labels of both classes, if given, calibrate the training."""
        refuse(self.name, refused)
        if (clean_rows is None) != (clean_labels is None):
            raise ValueError("clean_rows and clean_labels go together; give both or none")
        if clean_rows is None:
            return self._fit(X, y, folder)
        rows = clean_rows.detach().cpu().numpy() if isinstance(clean_rows, Tensor) else clean_rows
        labels, _ = read_labels(clean_labels, self.pos_label)
        if pd.isna(np.asarray(clean_labels)).any():
            raise ValueError("clean_labels has missing values; give the true label of every clean row")
        if len(labels) != len(rows):
            raise ValueError(f"clean_rows has {len(rows)} rows, but clean_labels has {len(labels)}; give one per row")
        positives, negatives = (_safe_indexing(rows, np.flatnonzero(labels == label)) for label in (1, 0))
        return self._fit(X, y, folder, clean_positives=positives, clean_negatives=negatives)

    def _learn(self, run: Run) -> nn.Module:
        students = nn.ModuleDict({"1": run.net(), "2": run.net()})
        objective = SelfPaced(self, students, run.data)
        for epoch in run.epochs("self-pu", students, objective, self._recipe()):
            if epoch.number in range(*self._self_paced()):
                objective.trust(epoch.number / self.epochs)
        return objective.scorer(students)

    def _self_paced(self) -> tuple[int, int, int]:
        """Return the first self-paced epoch, the first epoch of the distillation, and the epochs between choices."""
        first, end, every = (round(share * self.epochs) for share in (self.warm_up, self.distil_from, self.every))
        return first, max(1, end), max(1, every)


def weighted_risks(z: Tensor, s: Tensor, prior: float, w: Tensor | float = 1.0) -> tuple[Tensor, Tensor]:
    """(R_p, R_n) with each row's loss times its weight. The means divide by the number of rows, not by the weights."""
    P, U, as_positive, as_negative = s == 1, s == 0, w * sigmoid_loss(z), w * sigmoid_loss(-z)
    return prior * mean_where(as_positive, P), mean_where(as_negative, U) - prior * mean_where(as_negative, P)


def meta_weights(
    net: nn.Module, batch: Batch, prior: float, x_clean: Tensor, v: Callable[[Tensor], Tensor], step: float
) -> Tensor:
    """(b, 2): max(0, -d v / d eps) at eps = 0; v is a function of the clean rows' logits after the virtual step."""
    eps = batch.x.new_zeros(len(batch.s), 2, requires_grad=True)
    weights, buffers = dict(net.named_parameters()), {k: b.clone() for k, b in net.named_buffers()}  # copies
    z = functional_call(net, {**weights, **buffers}, batch.x)
    loss = sum(weighted_risks(z, batch.s, prior, eps[:, 0])) + (eps[:, 1] * binary_entropy(z)).mean()
    slopes = torch.autograd.grad(loss, [*weights.values()], create_graph=True)
    stepped = {name: w - step * g for (name, w), g in zip(weights.items(), slopes, strict=True)}
    training = net.training
    z_clean = functional_call(net.eval(), {**stepped, **buffers}, x_clean)  # eval: BatchNorm may see few clean rows
    net.train(training)
    return -torch.autograd.grad(v(z_clean), eps)[0].clamp(max=0)


def row_weights(w: Tensor, s: Tensor, budget: float, least: float) -> Tensor:
    """(b, 2): rows of U get w0 + w1 = 1 until the w1 before them reach the budget; all other rows get (1, 0)."""
    w0, w1 = w.unbind(1)
    w1 = torch.where(s == 0, w1 / (w0 + least + w1), 0.0)
    w1 = torch.where(w1.cumsum(0) - w1 < budget, w1, 0.0)
    return torch.stack([1 - w1, w1], 1)


def consistency_weight(of: SelfPU, t: Tensor) -> Tensor:
    """c(t) = consistency exp(-sharpness (1 - (t - start)/length)^2)."""
    ramp = ((t - of.ramp_start) / of.ramp_length).clamp(max=1)
    return of.consistency * torch.exp(-of.ramp_sharpness * (1 - ramp).square())


class SelfPaced(Objective):
    """Each step trains one student. Passes over the trusted rows of both come first, then passes over the rest."""

    many_shapes = True  # every choice of trusted rows changes the sizes of all four passes
    trusted: Tensor  # (2, n): 1 a row that the student trusts to be positive, -1 negative, 0 not trusted
    epoch: Tensor
    teachers: Any  # nn.ModuleList of Teacher

    def __init__(self, of: SelfPU, students: nn.ModuleDict, data: PUData):
        super().__init__()
        self.of, self.data = of, data
        self.students = tuple(students.values())  # a tuple, since the loop saves them as the model
        self.teachers = nn.ModuleList(Teacher(net, of.decay) for net in self.students)
        self.register_buffer("trusted", torch.zeros(2, len(data), dtype=torch.int8))
        self.register_buffer("epoch", torch.zeros((), dtype=torch.long))
        self.k, self.trusting, self.calibrating, self.distilling = 0, False, False, False
        clean = [data.extra[name] for name in ("clean_positives", "clean_negatives") if name in data.extra]
        self.clean = torch.cat(clean) if clean else None
        self.n_clean_positives = len(clean[0]) if clean else 0

    def trust(self, t: float) -> None:
        """Choose each student's trusted rows from scratch, so that a row trusted before may be dropped."""
        s, n_unlabelled = self.data.s, int((self.data.s == 0).sum())
        for k, share in enumerate((self.of.trusted_1, self.of.trusted_2)):
            z = logits(self.students[k], self.data.x)
            self.trusted[k] = most_certain(z, s, trusted_size(n_unlabelled, t, share))

    def batches(self, s: Tensor, recipe: Recipe) -> Iterator[Tensor]:
        number, (start, distil, _) = int(self.epoch), self.of._self_paced()
        self.calibrating = self.clean is not None and start <= number < distil
        self.distilling = number >= distil
        for trusting, sampling in ((True, "mixed"), (False, recipe.sampling)):
            for k in (0, 1):
                rows = torch.nonzero((self.trusted[k] != 0) == trusting).flatten()
                if len(rows):
                    self.k, self.trusting = k, trusting
                    yield from SAMPLINGS[sampling](rows, s, recipe)
                    if self.distilling:
                        self.teachers[k].follow(self.students[k])
                    else:
                        self.teachers[k].restart(self.students[k])
        self.epoch += 1

    def networks(self, model: nn.Module) -> list[nn.Module]:
        return [model, self.teachers]

    def scorer(self, model: nn.Module) -> nn.Module:
        first, second = (teacher.get_submodule("net") for teacher in self.teachers)
        return min(first, second, key=self.risk) if self.of.predicts == "better" else first

    def risk(self, net: nn.Module) -> float:
        """Return R on all training rows, in eval mode."""
        z = logits(net, self.data.x)
        return nonnegative(*pu_risks(z, self.data.s, self.data.prior)).item()

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        net, other = self.students[self.k], self.students[1 - self.k]
        w = self.calibrated(net, batch) if self.calibrating and not self.trusting else None
        z = net(batch.x)
        terms = dict.fromkeys(("nnpu", "trusted", "distillation", "teacher"), z.new_zeros(()))
        if self.trusting:
            terms["trusted"] = self.trusted_risk(z, batch.index)
        else:
            risks = weighted_risks(z, batch.s, self.data.prior, 1.0 if w is None else w[:, 0])
            terms["nnpu"] = nonnegative(*risks)
            if w is not None:
                terms["trusted"] = (w[:, 1] * binary_entropy(z)).mean()
            if self.distilling:
                with torch.no_grad():
                    z_other = other(batch.x)
                terms["distillation"] = gated_distillation(z, z_other, *risks, self.of.gate)
        if self.distilling:
            taught = squared_difference(z, self.teachers[self.k](batch.x))
            terms["teacher"] = consistency_weight(self.of, progress) * taught
        return terms

    def trusted_risk(self, z: Tensor, index: Tensor) -> Tensor:
        """Return the loss on trusted rows. Entropy would push a row on the wrong side of 1/2 further from its label."""
        label = (self.trusted[self.k, index] == 1).to(z.dtype)
        by_label = bce(z, label, reduction="none")
        if self.of.trusted_loss == "entropy":
            return torch.where((z >= 0) == (label == 1), binary_entropy(z), by_label).mean()
        return by_label.mean()

    def calibrated(self, net: nn.Module, batch: Batch) -> Tensor:
        assert self.clean is not None
        drawn = torch.randperm(len(self.clean), device=self.clean.device)[: len(batch.index)]
        y = (drawn < self.n_clean_positives).float()
        x_clean = self.clean[drawn].float()
        with whole():  # on several ranks too: the virtual step is along the slope of the whole batch
            w = meta_weights(net, batch, self.data.prior, x_clean, lambda z: bce(z, y), self.of.virtual_step)
        return row_weights(w, batch.s, self.of.calibrated_share * len(batch.s), self.of.least_weight)
