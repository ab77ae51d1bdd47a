"""The naive baseline: unlabelled rows, drawn at random, stand in for negatives.

    R = mean BCE over P (target 1) and N (target 0),   N = ratio * |P| unlabelled rows

With as many rows of N as of P the rule p >= 1/2 means P(y=1|x) > prior; with all of U nothing would reach 1/2.
N is drawn once. Drawn anew each epoch ("redrawn") or from each "batch" of P and U (ratio is then 1), or negatives =
"all", R = (E_P[l(z)] + E_U[l(-z)]) / 2, the rows of P come back more often than those of U: a network that learns rows
by heart learns P so, and calls all else negative.

Assumes: few positives among the unlabelled rows. Needs no prior.

Differs from its public code: there is none. The Dist-PU paper says "randomly sampled unlabeled data" and no more. Of
the readings but "batch", not searched yet, this one is the best by PU accuracy on Fashion-MNIST and digits (LOG.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..params import param
from ..train.loop import Risk
from ..train.run import Run
from ._network import NetworkMethod
from ._parts import drawn_in_batch, pn_risks, random_negatives


class RandomNegatives(Risk):
    """Cross-entropy of P against a draw from U: one for the whole run, or a new one each epoch."""

    drawn: Tensor

    def __init__(self, s: Tensor, ratio: float, redraw: bool):
        super().__init__("bce", bce)
        self.ratio, self.redraw = ratio, redraw
        self.register_buffer("drawn", random_negatives(s, ratio))

    def rows(self, s: Tensor) -> Tensor:
        if self.redraw:
            self.drawn.copy_(random_negatives(s, self.ratio))
        return torch.cat([torch.nonzero(s == 1).flatten(), self.drawn])


@dataclass(eq=False, repr=False, kw_only=True)
class Naive(NetworkMethod):
    """Positives against randomly drawn unlabelled rows. The baseline that every PU method must beat."""

    name = "naive"
    paper = "no paper of its own; the baseline of the Dist-PU paper's table"
    needs_prior = False
    presets = {"fashion-mnist": dict(epochs=15)}  # searched on held-out PU rows (LOG.md)

    ratio: float = param(1.0, "rows drawn as negatives, per labelled positive", above=0)
    negatives: str = param("fixed", "drawn once, anew each epoch ('redrawn') or 'batch', or 'all' unlabelled rows",
                           one_of=("fixed", "redrawn", "batch", "all"))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        drawn = drawn_in_batch if self.negatives == "batch" else lambda s: s
        objective: Risk = Risk("bce", lambda z, s: torch.stack(pn_risks(z, drawn(s))).sum())
        if self.negatives in ("fixed", "redrawn"):
            objective = RandomNegatives(run.data.s, self.ratio, redraw=self.negatives == "redrawn")
        run.train("naive", model, objective, self._recipe())
        return model
