"""NcPU (Zhao, Tu, Zheng, Wang, Wang, Feagin, Jiao: Noisy-Pair Robust Representation Alignment for Positive-Unlabeled
Learning, ICLR 2026). Rows of one class are drawn together in the space of features, and prototypes there name the class
of unlabelled rows.

    p = sigma(z) on a weak view;  q, k = unit vectors of two strong views, of the network and of its moving average
    r = softmax(q . mu_+, q . mu_-);   mu_c <- m mu_c + (1-m) q for each row of the class c that p says, then |mu_c| = 1
    y_i <- b y_i + (1-b) [r_+ > r_-],   y = 1 on P always;  at first y = 0 on U:        a row's label, kept over epochs
    theta <- m theta + (1-m) E_U[max(p, 1-p)],   rho <- m rho + (1-m) E_U[(p, 1-p)]
    gate:  a row of U counts as y = 0 in this step where 1-p >= theta_-,   theta_- = theta rho_- / max(rho)
    minimise  E_P[BCE(p, y)] + E_U[BCE(p, y)] + omega L_pairs + mu E[H(p)],     L_pairs = NoiSNCL (_pairs.py), mask by p

    In the first `start` share of the epochs labels stay, the gate is open, and a row is paired with itself alone.

Assumes: labelled rows are a random draw from the positives, and views that keep the class; tables have no views. No
prior is needed. With b = 0.99 a row of U needs 69 votes, one an epoch, to change sides. `keep_label` is b for 1,300
epochs; a shorter run takes keep_label^(1300/epochs), so that its labels move as far.

Differs from its public code, known by its equations only: one logit replaces the two of a softmax. Each pair's loss is
finite by a small constant; pairs='clamped' has that code's clamp of coordinates. Gradients are not clipped. The last
epoch predicts, where that code keeps the best on the test set. Batches have labelled rows spread evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.functional import normalize

from .. import nets
from ..params import param, tuned
from ..train.data import Batch, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ._network import NetworkMethod
from ._pairs import clamped, on_sphere, pair_loss, predictor, projector, same_class
from ._parts import Memory, Teacher, binary_entropy

EPOCHS = 1300  # of the paper's schedule, which keep_label belongs to


def moved_prototypes(mu: Tensor, q: Tensor, positive: Tensor, m: float) -> Tensor:
    """(2, d): mu_c <- m mu_c + (1-m) q for the rows of class c one after the other, in the order of the batch.

    All at once: m^n mu_c + (1-m) sum_j m^(rows of c after j) q_j, where n counts the rows of c.
    """
    rows = torch.stack([positive, ~positive]).to(q.dtype)  # (2, n)
    after = rows.flip(1).cumsum(1).flip(1) - rows
    weights = rows * (1 - m) * m**after
    return m ** rows.sum(1, keepdim=True) * mu + weights @ q


def thresholds(theta: Tensor, rho: Tensor) -> Tensor:
    """theta_c = theta rho_c / max(rho)."""
    return theta * rho / rho.max()


def gated(y: Tensor, p: Tensor, unlabelled: Tensor, threshold: Tensor) -> Tensor:
    """y, but 0 on the unlabelled rows that are surely negative. The stored label stays: the gate can open again."""
    return torch.where(unlabelled & (1 - p >= threshold), 0.0, y)


@dataclass(eq=False, repr=False, kw_only=True)
class NcPU(NetworkMethod):
    """Rows of one class are drawn together, and prototypes label the unlabelled rows. For images; needs no prior."""

    name = "ncpu"
    paper = "Zhao et al., Noisy-Pair Robust Representation Alignment for Positive-Unlabeled Learning, ICLR 2026"
    needs_prior = False
    presets = {"small": dict(epochs=100, lr=0.01, weight_decay=1e-4)}

    epochs: int = tuned(400, "passes over the rows; the paper has 1,300", least=1, search=(50, 1300, "log"))
    views: Any = param(
        "auto", "random views of the images: 'auto' by the kind of images, 'none', or a function of a batch"
    )
    lr: float = tuned(1e-3, "initial learning rate of SGD; a cosine brings it to a thousandth", above=0,
                     search=(1e-4, 0.1, "log"))  # fmt: skip
    weight_decay: float = tuned(1e-3, "L2 penalty on every parameter", least=0, search=(1e-5, 1e-2, "log"))
    sampling: str = tuned("stratified", "labelled rows in a batch: left to chance, or evenly spread",
                          one_of=tuple(SAMPLINGS))  # fmt: skip
    start: float = param(30 / EPOCHS, "share of the epochs before labels change", least=0, most=1)
    pair_weight: float = param(50.0, "omega, weight of the pair loss", least=0, search=(5.0, 100.0, "log"))
    pairs: str = param("eps", "how the root of a pair's distance stays finite: a small constant, or the public code's "
                       "clamp", one_of=("eps", "clamped"))  # fmt: skip
    entropy: float = param(5.0, "mu, which rises from 0 until labels change; 0.5 in the paper for CIFAR-100", least=0,
                           search=(0.05, 10.0, "log"))  # fmt: skip
    keep: float = param(0.99, "m, of prototypes and thresholds in a step", least=0, below=1)
    keep_label: float = param(
        0.99, "b for 1,300 epochs; in E epochs it is this to the power 1,300 / E", least=0, below=1
    )
    hidden: int = param(2048, "width of the layer between features and the vectors of pairs", least=1)
    decay: float = param(0.99, "share of its own weights that the moving average keeps in a step", least=0, below=1)
    ceiling: float = param(0.8, "highest theta", above=0.5, below=1)

    def _passes(self) -> int:
        return round(2.4 * self.epochs)

    def _learn(self, run: Run) -> nn.Module:
        net, device = run.net(), run.data.s.device
        width = nets.head_of(net.get_submodule("body")).in_features
        heads = {"projector": projector(width, self.hidden).to(device), "predictor": predictor().to(device)}
        model = nn.ModuleDict({"net": net, **heads})
        run.train("ncpu", model, Aligned(self, model, run), self._recipe(optimiser="sgd", floor=1e-3))
        return model["net"]


class Aligned(Objective):
    draws_views = True
    mu: Tensor  # (2, 128) prototypes: of positives, of negatives
    theta: Tensor
    rho: Tensor  # (2,)

    def __init__(self, of: NcPU, model: nn.ModuleDict, run: Run):
        super().__init__()
        self.of, self.views = of, run.views
        self.keep_label = of.keep_label ** (EPOCHS / of.epochs)
        self.target = Teacher(nn.Sequential(Features(model["net"]), model["projector"]), of.decay)
        self.target.steps.fill_(1e6)  # it starts as a copy and keeps `decay` from the first step on
        self.label = Memory(run.data.s)
        self.register_buffer("mu", torch.zeros(2, 128))
        self.register_buffer("theta", torch.tensor(0.5))
        self.register_buffer("rho", torch.tensor([0.5, 0.5]))

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        net, P, U = model.get_submodule("net"), batch.s == 1, batch.s == 0
        started = progress >= self.of.start
        z = net(self.views.part(batch.x))
        p = torch.sigmoid(z.detach())
        features, _ = net.features(self.views.pair(batch.x))  # type: ignore[operator]
        q = on_sphere(model.get_submodule("predictor")(model.get_submodule("projector")(features)))
        votes = self.voted(q.detach(), p, P)
        self.move_thresholds(p, U)

        y = self.label(batch.index)
        y = torch.where(started & U, self.keep_label * y + (1 - self.keep_label) * votes, y)
        self.label.remember(batch.index, y)
        y = torch.where(started, gated(y, p, U, thresholds(self.theta, self.rho)[1]), y)
        ce = bce(z, y, reduction="none")

        pairs = torch.where(started, same_class(p) >= 0.5, torch.eye(len(p), dtype=torch.bool, device=p.device))
        rise = (progress / max(self.of.start, 1e-9)).clamp(max=1)
        return {
            "labels": mean_where(ce, P) + mean_where(ce, U),
            "pairs": self.of.pair_weight * self.pair_loss(q, self.target_vectors(model, batch.x), pairs),
            "entropy": self.of.entropy * rise * binary_entropy(z).mean(),
        }

    @torch.no_grad()
    def voted(self, q: Tensor, p: Tensor, labelled: Tensor) -> Tensor:
        """Return 1 for the rows that are nearer to the positives' prototype as it was; then move the prototypes."""
        near = q @ self.mu.T
        moved = moved_prototypes(self.mu, q, labelled | (p > 0.5), self.of.keep)
        self.mu.copy_(normalize(moved, dim=1))
        return (near[:, 0] > near[:, 1]).to(p.dtype)

    @torch.no_grad()
    def move_thresholds(self, p: Tensor, unlabelled: Tensor) -> None:
        m, sure = self.of.keep, mean_where(torch.maximum(p, 1 - p), unlabelled)
        self.theta.copy_((m * self.theta + (1 - m) * sure).clamp(0, self.of.ceiling))
        mean = mean_where(p, unlabelled)
        self.rho.copy_(m * self.rho + (1 - m) * torch.stack([mean, 1 - mean]))

    @torch.no_grad()
    def target_vectors(self, model: nn.Module, x: Tensor) -> Tensor:
        """k, of another strong view. The moving average takes the step before this one in first."""
        self.target.follow(nn.Sequential(Features(model.get_submodule("net")), model.get_submodule("projector")))
        return on_sphere(self.target(self.views.pair(x)))

    def pair_loss(self, q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
        if self.of.pairs == "clamped":
            return pair_loss(clamped(q), clamped(k), mask, eps=0.0)
        return pair_loss(q, k, mask)


class Features(nn.Module):
    """A network up to its last layer."""

    def __init__(self, net: nn.Module):
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        return self.net.features(x)[0]  # type: ignore[operator]
