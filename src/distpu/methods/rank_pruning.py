"""Rank pruning (Northcutt, Wu, Chuang: "Learning with Confident Examples: Rank Pruning for Robust Classification with
Noisy Labels", UAI 2017), for clean positives: s = 1 is always right, s = 0 is wrong on the hidden positives.

    q = P(s=1|x) of each row, by a network that was trained on the other folds; p_s = share of labelled rows
    LB = mean q of the labelled rows
    rho = P(s=0|y=1) = #{q >= LB, s=0} / #{q >= LB},   per fold, then averaged
    p_y = p_s / (1 - rho),   hidden share of positives P(y=1|s=0) = rho p_y / (1 - p_s)

    prune the hidden share of the unlabelled rows, those of highest q; N = the unlabelled rows left
    refit from scratch:  R = sum of w BCE(z, s) over P and N / sum of w,   w = 1 / (1 - rho) on P, 1 on N

prune_by="prior" sets the hidden share to a known prior, which gives rho = prior n_U / (n_P + prior n_U).

Assumes: every positive has the same chance of being labelled, and the two classes overlap little. No prior is needed:
rank pruning estimates its own, prior_ (except with prune_by="prior"). Only the order of q counts: with few labelled
rows its level means nothing, so no q is compared with 1/2 before the refit.

Differs from its public code: equal rows share a fold; otherwise the label of a row would reach its unlabelled copy. The
fold networks weigh P and U alike (fold_weights="none" does as that code): q is then monotone in P(s=1|x) and ranks
better with few labelled rows. The fold networks train briefly, since a long training memorises which rows are
unlabelled. rho is bounded so that p_y <= 1; that code clips rho at 0.9999, which lets p_y exceed 1. The trainer is
shared; that code stops early by held-out noisy labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..params import param, tuned
from ..train.loop import Risk
from ..train.run import Run
from ..train.scoring import logits
from ._network import NetworkMethod
from ._parts import pn_risks


def confident_noise_rate(q: Tensor, s: Tensor) -> Tensor:
    """rho = #{q >= LB, s=0} / #{q >= LB},  LB = mean q of the labelled rows. NaN where there are none."""
    confident = q >= q[s == 1].mean()
    return (s[confident] == 0).double().mean()


def prior_noise_rate(prior: float, n_p: int, n_u: int) -> float:
    """Return the rho that makes the hidden share equal to the prior."""
    return prior * n_u / (n_p + prior * n_u)


def hidden_share(rho: float, p_s: float) -> float:
    """P(y=1|s=0) = rho p_y / (1 - p_s),  p_y = p_s / (1 - rho)."""
    return rho * p_s / (1 - rho) / (1 - p_s)


def kept(q: Tensor, s: Tensor, share: float, least: int) -> Tensor:
    """Return a mask of P and of U without its share of highest q. All rows that tie at the cut stay."""
    u = q[s == 0]
    pruned = max(0, min(int(share * len(u) + 1e-9), len(u) - least))
    if not pruned:
        return torch.ones_like(s, dtype=torch.bool)
    cut = u.sort(descending=True).values[pruned]  # the highest q that stays
    return (s == 1) | (q <= cut)


def refit_risk(z: Tensor, s: Tensor, share: float) -> Tensor:
    """share E_P[l(z)] + (1 - share) E_N[l(-z)],  share = the weight of P in the sum of all weights."""
    positive, negative = pn_risks(z, s, share)
    return positive + negative


def balanced_risk(z: Tensor, s: Tensor) -> Tensor:
    """Cross-entropy with P and U of equal weight: z is monotone in P(s=1|x), and learned sooner if P is small."""
    return refit_risk(z, s, share=0.5)


class Among(Risk):
    """A risk on some of the rows."""

    chosen: Tensor

    def __init__(self, name: str, risk: Callable[[Tensor, Tensor], Tensor], chosen: Tensor):
        super().__init__(name, risk)
        self.register_buffer("chosen", torch.nonzero(chosen).flatten())

    def rows(self, s: Tensor) -> Tensor:
        return self.chosen


@dataclass(eq=False, repr=False, kw_only=True)
class RankPruning(NetworkMethod):
    """Drops the unlabelled rows that look most positive, then learns the other ones as negatives."""

    name = "rank-pruning"
    paper = "Northcutt, Wu, Chuang, Learning with Confident Examples: Rank Pruning, UAI 2017"
    needs_prior = False
    # Searched on held-out PU rows: docs/log/2026-11.md#the-baselines-schedules-on-fashion-mnist-kept
    presets = {"fashion-mnist": dict(epochs=3, fold_epochs=3, prune_by="prior")}
    preparing = ("fold",)

    prune_by: str = tuned("confident-counts", "how many rows to prune: by the paper's own estimate, or by the prior",
                          one_of=("confident-counts", "prior"))  # fmt: skip
    folds: int = param(3, "number of folds of the ranking", least=2)
    fold_epochs: int = tuned(10, "epochs of each fold's network; many epochs flatten the ranking", least=1,
                             search=(2, 50, "log"))  # fmt: skip
    fold_weights: str = param("balanced", "for the ranking, P weighs as much as U, or all rows weigh the same",
                              one_of=("balanced", "none"))  # fmt: skip
    least_left: int = param(10, "unlabelled rows that are never pruned", least=1)

    def _uses_prior(self) -> bool:
        return self.prune_by == "prior"

    def _learn(self, run: Run) -> nn.Module:
        s = run.data.s
        n_p, n = int(s.sum()), len(s)
        fold = self._fold(run)
        q = torch.empty(n, dtype=torch.float64, device=s.device)
        for k in fold.unique().tolist():
            q[fold == k] = self._out_of_fold(run, f"fold-{k + 1}", fold == k)
        if self.prune_by == "prior":
            rho = prior_noise_rate(run.data.prior, n_p, n - n_p)
        else:
            rates = torch.stack([confident_noise_rate(q[fold == k], s[fold == k]) for k in fold.unique()])
            rho = min(float(rates.nanmean()), 1 - n_p / n)  # p_y <= 1
            self.prior_ = min(1.0, hidden_share(rho, n_p / n))  # a rounding error above 1 would be refused by load
        left = kept(q, s, hidden_share(rho, n_p / n), self.least_left)
        weight = n_p / (1 - rho)
        share = weight / (weight + int(left.sum()) - n_p)
        model = run.net()
        run.train("refit", model, Among("bce", lambda z, s: refit_risk(z, s, share), left), self._recipe())
        return model

    def _fold(self, run: Run) -> Tensor:
        """Return the fold of each row. Every network must be trained on labelled and on unlabelled rows."""
        s = run.data.s
        k = min(self.folds, int((s == 1).sum()), int((s == 0).sum()))
        fold = run.data.folds(max(k, 2))
        if any(len(fold[s == kind].unique()) < 2 for kind in (0, 1)):
            raise ValueError(
                "rank-pruning needs at least 2 different labelled positives and 2 unlabelled rows; give more"
            )
        return fold

    def _out_of_fold(self, run: Run, stage: str, held_out: Tensor) -> Tensor:
        """Return P(s=1|x) of the held-out rows, from a network trained on the other rows."""
        model, risk = run.net(), balanced_risk if self.fold_weights == "balanced" else bce
        run.train(stage, model, Among("bce", risk, ~held_out), self._recipe(epochs=self.fold_epochs))
        return logits(model, run.data.rows(held_out)).double().sigmoid()
