"""Spies (Liu et al., 2002) tell the prior while a network learns: labelled rows that learn as unlabelled ones.

    S: one labelled row in so many, drawn at random;   spies and unlabelled rows learn alike
    q_S(c), q_U(c) = shares of the spies and of the unlabelled rows with a score >= c
    b = BBE (prior/bbe.py) of these two;   f = the first estimate;   w = half the width of the interval of each
    prior <- (f / w_f^2 + b / w_b^2) / (1 / w_f^2 + 1 / w_b^2),   if the scores tell the classes apart (separable.py)
    share of positives among all that learn as unlabelled:   (prior n_U + n_S) / (n_U + n_S)

The network learns spies as it learns unlabelled rows. So a spy's score is a random draw from the scores of the hidden
positives, although nothing is held out. (Where unlabelled rows are copies of labelled ones, as in the paper's
protocol, a few hidden positives score higher than that.) The first estimate comes from a network that has seen little;
this one comes from the network that learns, and costs one pass over the rows. A hundred spies may be a lucky draw, so
the first estimate counts too.

Differs from spies as two-step methods use them (two_step.py): they look for negatives, these for the prior.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from ..prior import Estimate, estimated_from_scores
from ..train.data import PUData
from ..train.scoring import logits

LEAST = 50  # spies; fewer tell less than the first estimate does. As many rows must stay labelled
NARROWEST = 0.01  # half an interval: with few different rows a narrower one may be wrong


class Spies(nn.Module):
    """Which labelled rows are spies, and the newest prior that they tell. A checkpoint holds both."""

    spy: Tensor  # (n,) whether a row is one
    active: Tensor  # whether they learn as unlabelled rows
    prior: Tensor  # the newest
    z: Tensor  # (n,) the scores that gave it; NaN: it is the first estimate

    def __init__(self, spy: Tensor, s: Tensor, first: Estimate):
        super().__init__()
        self.first, self.n_s, self.n_u = first, int(spy.sum()), int((s == 0).sum())
        self.register_buffer("spy", spy)
        self.register_buffer("active", torch.ones_like(spy[0]))
        self.register_buffer("prior", torch.full_like(s[0], first.prior))
        self.register_buffer("z", torch.full_like(s, torch.nan))

    @classmethod
    def among(cls, data: PUData, one_in: int, first: Estimate) -> Spies | None:
        """Draw them. None: too few labelled rows for it, or too many copies of one row among them."""
        labelled = int((data.s == 1).sum())
        if not one_in or labelled < LEAST * one_in:
            return None
        spy = (data.folds(one_in) == 0) & (data.s == 1)  # copies of a row are all spies, or none is
        return cls(spy, data.s, first) if LEAST // 2 <= int(spy.sum()) <= labelled - LEAST else None

    @property
    def share(self) -> Tensor:
        """The share of positives among the rows that learn as unlabelled ones."""
        spies = self.n_s * self.active
        return (self.prior * self.n_u + spies) / (self.n_u + spies)

    def hide(self, s: Tensor, index: Tensor | slice = slice(None)) -> Tensor:
        """Return the labels s of the rows `index` as training takes them."""
        return torch.where(self.active & self.spy[index], 0.0, s)

    def look(self, net: nn.Module, data: PUData, last: bool) -> None:
        """Estimate the prior from the network's scores. After the last look the spies are labelled rows again."""
        z = logits(net, data.x, data.s.device)
        found = self._from(z, data.s)
        if found.two_sided:
            self.z.copy_(z)
            self.prior.fill_(found.prior)
        if last:
            self.active.fill_(False)

    def estimate(self, s: Tensor) -> Estimate | None:
        """Return the newest estimate. None: no look could tell."""
        return None if bool(self.z.isnan().any()) else self._from(self.z, s)

    def _from(self, z: Tensor, s: Tensor) -> Estimate:
        z_s, z_u = (z[rows].cpu().double().numpy() for rows in (self.spy, s == 0))
        found = together(self.first, estimated_from_scores("bbe", z_s, z_u))
        labelled = int((s == 1).sum())
        return replace(found, label_frequency=labelled / (labelled + found.prior * len(z_u)))


def together(first: Estimate, found: Estimate) -> Estimate:
    """Return `found` moved towards the first estimate, by the widths of the intervals. Its own width stays."""
    if first.interval is None or found.interval is None:
        return found
    widths = [max(NARROWEST, (high - low) / 2) for low, high in (first.interval, found.interval)]
    weights = [1 / width**2 for width in widths]
    prior = (weights[0] * first.prior + weights[1] * found.prior) / sum(weights)
    low, high = (end + prior - found.prior for end in found.interval)
    return replace(found, prior=prior, interval=(max(low, 0.0), min(high, 1.0)))
