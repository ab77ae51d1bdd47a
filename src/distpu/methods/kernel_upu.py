"""Kernel uPU: the unbiased risk with the squared loss, in closed form, and the prior by gradient thresholding (KM2).

    z = a f(x),  l(z) = (1 - z)^2 / 4;  H = E_U[f f'],  h_P = E_P[f],  h_U = E_U[f]
    J(a) = prior E_P[l(z) - l(-z)] + E_U[l(-z)] = -prior h_P a + a'H a / 4 + h_U a / 2 + 1/4
    a    = (H / 2 + ridge I)^-1 (prior h_P - h_U / 2)

f(x) are random features of a Gaussian kernel. The ridge is the one of the list with the least J on rows held out.
prior="auto" is KM2 here (Ramaswamy, Scott and Tewari, ICML 2016): the share at which the gradient of the distance from
U - share P to the nearest distribution passes a threshold.

This stands in for CAPU (Chang, Du and Zhang: Positive Unlabeled Learning with Class-prior Approximation, IJCAI 2020),
whose full text could not be had. Its abstract says: a convex formulation, no prior and no negatives, the prior by the
optimal solution of gradient thresholding, the classifier by the empirical unbiased risk, both at once. The rest is our
reconstruction: the squared loss, the kernel features, KM2's threshold, and that the prior comes first. J is not least
at the true prior, so descending J in both is no way to find them.

Assumes: labelled positives are a random draw from all positives, and some rows are surely positive, for KM2.

Differs from its public code: there is none of CAPU.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..params import param
from ..prior import Estimate
from ._folded import Features, FoldedMethod, Linear

RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
HELD_OUT = 5  # one row in so many chooses the ridge


def closed_form(H: np.ndarray, h_p: np.ndarray, h_u: np.ndarray, prior: float, ridge: float) -> np.ndarray:
    """a = (H / 2 + ridge I)^-1 (prior h_P - h_U / 2)."""
    return np.linalg.solve(H / 2 + ridge * np.eye(len(H)), prior * h_p - h_u / 2)


def risk(a: np.ndarray, H: np.ndarray, h_p: np.ndarray, h_u: np.ndarray, prior: float) -> float:
    """J(a) = -prior h_P a + a'H a / 4 + h_U a / 2 + 1/4."""
    return float(-prior * h_p @ a + a @ H @ a / 4 + h_u @ a / 2 + 0.25)


class Squared(Linear):
    def __init__(self, features: Features, ridge: float | None) -> None:
        super().__init__(features)
        self.ridge = ridge

    def weights(self, f: Any, s: np.ndarray, prior: float, random: np.random.RandomState) -> np.ndarray:
        def moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            u = f[rows & (s == 0)]
            return u.T @ u / len(u), f[rows & (s == 1)].mean(0), u.mean(0)

        everywhere, ridge = np.ones(len(s), dtype=bool), self.ridge
        held = np.zeros(len(s), dtype=bool)
        for kind in (0, 1):
            held[random.permutation(np.flatnonzero(s == kind))[: (s == kind).sum() // HELD_OUT]] = True
        if ridge is None and {0, 1} <= set(s[held].tolist()):
            learnt, judged = moments(~held), moments(held)
            ridge = min(RIDGES, key=lambda r: risk(closed_form(*learnt, prior, r), *judged, prior))
        return closed_form(*moments(everywhere), prior, ridge or RIDGES[-2])


@dataclass(eq=False, repr=False, kw_only=True)
class KernelUPU(FoldedMethod):
    """The unbiased risk on features of a kernel, solved at once. It stands in for CAPU."""

    name = "kernel-upu"
    paper = "distpu's own: uPU (du Plessis et al., ICML 2015) with the prior by KM2, after the abstract of CAPU, 2020"

    ridge: Any = param(None, "penalty on the weights; None chooses it on held-out PU rows", above=0)
    features: int = param(200, "random features of the Gaussian kernel, at most", least=1)

    def _member(self) -> Squared:
        return Squared(Features(True, self.features), self.ridge)

    def _estimated(self, rows: Any, s: np.ndarray) -> Estimate:
        told = copy.copy(self)
        told.prior = "km2" if self.prior == "auto" else self.prior
        return super(KernelUPU, told)._estimated(rows, s)
