"""HolisticPU (Wang, Wan, Geng, Li, Chen: Beyond Myopia: Learning from Positive and Unlabeled Data through Holistic
Predictive Trends, NeurIPS 2023). While a network learns that unlabelled rows are negative, the scores of the hidden
positives fall later and less. The trend of a row's score over the epochs tells the two kinds apart.

    first network:   1/2 E_P[CE(weak)] + 1/2 E_P[CE(strong)] + E_U[CE(weak, 0)],    CE on P with labels smoothed by rho
    trend of a row:  2 / (T (T-1)) sum_{i<j} sgn(d) log(1 + |d| + d^2/2),   d = 2 (p_j - p_i),   p_i = score in epoch i
    U is split in two by its trends, at the break of least squared error:  y = 1 above the break
    second network:  E_P[CE(weak)] + E_U[BCE(weak, lam y)] + E_U[CE(strong, [p >= 1/2]) where p or 1-p is >= sure]
                     lam = (epoch / epochs)^power;  p = score of the weak view

Assumes: labelled rows are a random draw from the positives, and negatives are learnt faster than hidden positives are
unlearnt. No prior is needed; prior_ is the share of U above the break. Tables have no views: both views are the row.

Differs from its public code: the trend is the paper's, where that code takes neighbouring epochs only. The break is
that code's (Jenks); the paper divides each side's error by its size, which may cut off a single extreme row
(split='paper'). Scores are taken on plain rows, by the averaged network. An epoch is a pass over U. The rate falls
along our cosine, to the same end. The last epoch predicts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..params import param, tuned
from ..train.data import Batch, mean_where
from ..train.loop import Objective
from ..train.run import Run
from ..train.sampling import SAMPLINGS
from ..train.scoring import logits
from ..train.views import Views
from ._network import NetworkMethod
from ._parts import Average

END = math.cos(7 * math.pi / 16)  # share of the rate that the public schedule ends with


def trend(p: Tensor) -> Tensor:
    """Return the trend of each row from its scores (T, n): positive where they rise."""
    total, count = torch.zeros_like(p[0]), len(p)
    for i in range(count - 1):
        d = 2 * (p[i + 1 :] - p[i])
        total += (d.sign() * torch.log1p(d.abs() + d.square() / 2)).sum(0)
    return total * 2 / (count * (count - 1)) if count > 1 else total


def break_of(values: Tensor, per_row: bool = False) -> Tensor:
    """Return the least value of the upper of two groups. Their squared errors are least in sum.

    per_row: each group's error is divided by its size first.
    """
    v = values.double().sort().values
    n = torch.arange(1, len(v), device=v.device)
    sums, squares = (x.cumsum(0)[:-1] for x in (v, v.square()))
    low = squares - sums.square() / n
    high = (v.square().sum() - squares) - (v.sum() - sums).square() / (len(v) - n)
    cost = low / n + high / (len(v) - n) if per_row else low + high
    return v[cost.argmin() + 1].to(values.dtype)


def pseudo_weight(epoch: Tensor | float, epochs: int, power: float) -> Tensor | float:
    """lam = (epoch / epochs)^power."""
    return (epoch / epochs) ** power


@dataclass(eq=False, repr=False, kw_only=True)
class HolisticPU(NetworkMethod):
    """Splits the unlabelled rows by the trend of their scores, then learns from the split. Needs no prior."""

    name = "holistic-pu"
    paper = "Wang et al., Beyond Myopia: Learning from Positive and Unlabeled Data through Holistic Predictive Trends, "
    paper += "NeurIPS 2023"
    needs_prior = False
    preparing = ("trend",)

    trend_epochs: int = tuned(15, "epochs of the first network, whose scores give the trends", least=2,
                              search=(5, 40, "log"))  # fmt: skip
    epochs: int = tuned(25, "epochs of the second network", least=1, search=(5, 60, "log"))
    lr: float = tuned(1.5e-3, "initial learning rate of SGD with Nesterov's momentum; a cosine brings it to a fifth",
                     above=0, search=(1e-4, 0.1, "log"))  # fmt: skip
    weight_decay: float = tuned(5e-4, "L2 penalty, not on biases and norms", least=0, search=(1e-6, 1e-2, "log"))
    batch_size: int = tuned(128, "rows in a step, the labelled ones included", least=2)
    labelled: int = tuned(64, "labelled rows in a step, for sampling='paired'", least=1)
    sampling: str = tuned("paired", "labelled rows in a batch: as many as `labelled`, left to chance, or evenly spread",
                          one_of=tuple(SAMPLINGS))  # fmt: skip
    views: str = param(
        "auto", "random views of the images: 'auto' by the kind of images, 'weak', 'none', or a function"
    )
    smoothing: float = param(0.1, "rho, of the labels of P for the first network", least=0, below=0.5)
    decay: float = param(0.999, "highest share of its own weights that the averaged first network keeps in a step",
                         least=0, below=1)  # fmt: skip
    split: str = param("jenks", "what the break minimises: the squared error ('jenks'), or the 'paper''s, by size",
                       one_of=("jenks", "paper"))  # fmt: skip
    power: float = param(0.8, "how fast the split is trusted", above=0)
    sure: float = param(0.9, "least certainty of a row that teaches its strong view", above=0.5, most=1)

    def _passes(self) -> int:
        return 2 * (self.trend_epochs + self.epochs)

    def _learn(self, run: Run) -> nn.Module:
        data = run.data
        common = dict(optimiser="sgd", decay_all=False, floor=END, labelled=self.labelled)
        first = run.net()
        watched = AsNegatives(self, first, run)
        recipe = self._recipe(epochs=self.trend_epochs, **common)
        for epoch in run.epochs("trend", first, watched, recipe):
            watched.scores[epoch.number] = logits(watched.average.net, data.x).sigmoid()
        U = data.s == 0
        trends = trend(watched.scores)
        y = torch.where(U, (trends >= break_of(trends[U], self.split == "paper")).to(data.s.dtype), 1.0)
        if math.isnan(data.prior):  # none was told
            self.prior_ = float(mean_where(y, U).clamp(1 / (1 + U.sum()), 1 - 1 / (1 + U.sum())))
        model = run.net()
        run.train("holistic-pu", model, Split(self, y, run.views), self._recipe(**common))
        return model


class AsNegatives(Objective):
    """The first network: P against all of U. The scores of its average are kept, epoch by epoch."""

    draws_views = True
    scores: Tensor  # (epochs, n)

    def __init__(self, of: HolisticPU, net: nn.Module, run: Run):
        super().__init__()
        self.smoothing, self.views, self.average = of.smoothing, run.views, Average(net, of.decay)
        self.register_buffer("scores", torch.zeros(of.trend_epochs, len(run.data)))

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        self.average.follow(model)
        P, U = batch.s == 1, batch.s == 0
        weak, strong = model(self.views.weak(batch.x)), model(self.views.strong(batch.x))
        y = torch.full_like(weak, 1 - self.smoothing)
        on_p = (mean_where(bce(z, y, reduction="none"), P) for z in (weak, strong))
        return {
            "labelled": sum(on_p, weak.new_zeros(())) / 2,
            "unlabelled": mean_where(bce(weak, torch.zeros_like(weak), reduction="none"), U),
        }


class Split(Objective):
    """The second network: U by the split, more and more, and strong views by what the network is sure of."""

    draws_views = True
    y: Tensor

    def __init__(self, of: HolisticPU, y: Tensor, views: Views):
        super().__init__()
        self.of, self.views = of, views
        self.register_buffer("y", y)

    def forward(self, model: nn.Module, batch: Batch, progress: Tensor) -> dict[str, Tensor]:
        P, U = batch.s == 1, batch.s == 0
        weak, strong = model(self.views.weak(batch.x)), model(self.views.strong(batch.x))
        lam = pseudo_weight(progress * self.of.epochs, self.of.epochs, self.of.power)
        y = torch.where(P, 1.0, lam * self.y[batch.index])
        losses = bce(weak, y, reduction="none")
        p = torch.sigmoid(weak.detach())
        sure = U & (torch.maximum(p, 1 - p) >= self.of.sure)
        taught = bce(strong, (p >= 0.5).to(p.dtype), reduction="none")
        return {
            "labelled": mean_where(losses, P),
            "unlabelled": mean_where(losses, U),
            "consistency": (taught * sure).sum() / U.sum().clamp(min=1),
        }
