"""PN: ordinary supervised learning on true labels, the ceiling that PU methods are measured against.

    R = mean BCE(z, y)

Assumes: y holds the true label of every row, 1 positive and 0 negative. This is no PU method: from PU labels it would
learn that every unlabelled row is negative. It is for comparisons on data whose labels are known. No prior is needed.

Differs from its public code: there is none. The network and the trainer are those of the other methods.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from ..train.loop import Risk
from ..train.run import Run
from ._network import NetworkMethod


@dataclass(eq=False, repr=False, kw_only=True)
class PN(NetworkMethod):
    """The supervised ceiling. It is no PU method: y must hold the true labels (1 positive, 0 negative)."""

    name = "pn"
    paper = "no paper of its own; cross-entropy on all true labels"
    needs_prior = False
    supervised = True

    def _learn(self, run: Run) -> nn.Module:
        model = run.net()
        run.train("pn", model, Risk("bce", bce), self._recipe())
        return model
