"""The naive baseline: unlabelled rows, drawn at random, are taken for negatives.

    R = mean BCE over P (target 1) and N (target 0),   N = ratio * |P| unlabelled rows

If N has as many rows as P, the rule p >= 1/2 means P(y=1|x) > prior. If N were all of U, no row would reach 1/2.

negatives="fixed" draws N once. "redrawn" draws N anew in each epoch. "batch" draws N from each batch of P and U, with
ratio 1. "all" takes all of U, with R = (E_P[l(z)] + E_U[l(-z)]) / 2. In the last three, a row of P counts for more
than a row of U: a network that memorises rows then memorises P and calls all other rows negative.

Assumes: there are few positives among the unlabelled rows. No prior is needed.

Differs from its public code: there is none. The Dist-PU paper only says "randomly sampled unlabeled data". "fixed" is
the best reading by PU accuracy on Fashion-MNIST and digits; "batch" was not searched:
docs/log/2026-11.md#a-third-reading-of-the-naive-baseline-kept
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
    """Cross-entropy of P against a draw from U, which is made once, or anew in each epoch."""

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
    # Searched on held-out PU rows: docs/log/2026-11.md#a-third-reading-of-the-naive-baseline-kept
    presets = {"fashion-mnist": dict(epochs=15)}

    ratio: float = param(1.0, "number of rows drawn as negatives for each labelled positive", above=0)
    negatives: str = param("fixed", "drawn once ('fixed'), in each epoch ('redrawn'), in each 'batch', or 'all' of U",
                           one_of=("fixed", "redrawn", "batch", "all"))  # fmt: skip

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        drawn = drawn_in_batch if self.negatives == "batch" else lambda s: s
        objective: Risk = Risk("bce", lambda z, s: torch.stack(pn_risks(z, drawn(s))).sum())
        if self.negatives in ("fixed", "redrawn"):
            objective = RandomNegatives(run.data.s, self.ratio, redraw=self.negatives == "redrawn")
        run.train("naive", model, objective, self._recipe())
        return model
