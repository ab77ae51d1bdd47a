"""The naive baseline: unlabelled rows, drawn at random, stand in for negatives.

    R = mean BCE over P (target 1) and N (target 0),   N = ratio * |P| unlabelled rows

With as many rows of N as of P the rule p >= 1/2 means P(y=1|x) > prior; with all of U nothing would reach 1/2.
negatives="all" sees all of U in every epoch and still weighs it no more than P: R = (E_P[l(z)] + E_U[l(-z)]) / 2.

Assumes: few positives among the unlabelled rows; where there are many it finds few of them. Needs no prior.

Differs from its public code: there is none. The Dist-PU paper says "randomly sampled unlabeled data" and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..estimator import PUClassifier, param
from ..parts import pn_risks
from ..run import Run
from ..train import Risk


class RandomNegatives(Risk):
    """Cross-entropy of P against a draw from U: a new one each epoch, or (redraw=False) one for the whole run."""

    drawn: Tensor

    def __init__(self, s: Tensor, ratio: float, redraw: bool):
        super().__init__("bce", bce)
        self.ratio, self.redraw = ratio, redraw
        self.register_buffer("drawn", self.draw(s))

    def draw(self, s: Tensor) -> Tensor:
        unlabelled = torch.nonzero(s == 0).flatten()
        size = min(len(unlabelled), max(1, round(self.ratio * int((s == 1).sum()))))
        return unlabelled[torch.randperm(len(unlabelled), device=s.device)[:size]]

    def rows(self, s: Tensor) -> Tensor:
        if self.redraw:
            self.drawn.copy_(self.draw(s))
        return torch.cat([torch.nonzero(s == 1).flatten(), self.drawn])


@dataclass(eq=False, repr=False, kw_only=True)
class Naive(PUClassifier):
    """Positives against randomly drawn unlabelled rows. The baseline that every PU method must beat."""

    name = "naive"
    paper = "no paper of its own; the baseline of the Dist-PU paper's table"
    needs_prior = False
    presets = {  # searched on held-out PU rows (LOG.md)
        "small": dict(epochs=10, negatives="all"),
        "fashion-mnist": dict(epochs=1, negatives="all", sampling="stratified"),
    }

    ratio: float = param(1.0, "rows drawn as negatives, per labelled positive", above=0)
    negatives: str = param("redrawn", "drawn anew each epoch, drawn once ('fixed'), or 'all' unlabelled rows",
                           one_of=("redrawn", "fixed", "all"))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        objective: Risk = Risk("bce", lambda z, s: torch.stack(pn_risks(z, s)).sum())
        if self.negatives != "all":
            objective = RandomNegatives(run.data.s, self.ratio, redraw=self.negatives == "redrawn")
        run.train("naive", model, objective, self._recipe())
        return model
