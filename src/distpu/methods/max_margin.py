"""Maximum-margin clustering for PU data (Chaudhari and Shevade: Learning from Positive and Unlabelled Examples Using
Maximum Margin Clustering, ICONIP 2012). The labels of the unlabelled rows are unknowns of a support vector machine.

    min over w and y_U in {-1, +1}:   1/2 |w|^2 + C [ sum_P l(z) + c_U sum_U l(y z) ],   z = w f(x),  l(z) = (1 - z)_+^2
    subject to                        a share prior of y_U is +1

    start:   w from P against U, both with the same total weight
    repeat:  y_U = +1 on the rows that score highest, a share prior of U, and -1 on the others
             w = the minimum for these labels
    until no label changes; c_U rises from 0.01 to 1 over the first rounds, so that P decides first

f(x) are random features of a Gaussian kernel, or the columns themselves with kernel="linear". The search ends in a
local minimum, so one starts from each fold's rows, and the mean of their scores counts.

Assumes: labelled positives are a random draw from all positives, a wide margin separates the classes, and the prior
is right: exactly that share is called positive.

Differs from its public code: there is none. The paper solves a relaxed problem with the hinge loss; this alternation,
the squared hinge, which freezes less, and the rise of c_U are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..params import param
from ._folded import Features, FoldedMethod, Linear, descend


def relabelled(z: np.ndarray, prior: float) -> np.ndarray:
    """Return y_U: +1 on the share prior of the rows that score highest, at least one row on each side."""
    most = min(max(1, round(prior * len(z))), max(1, len(z) - 1))
    y = np.full(len(z), -1.0)
    y[np.argsort(-z, kind="stable")[:most]] = 1.0
    return y


def fitted(f: Any, y: np.ndarray, c: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the w that minimises 1/2 |w|^2 + sum c l(y z), starting from w. The last weight, the bias, is free."""

    def value_and_slope(w: np.ndarray) -> tuple[float, np.ndarray]:
        lacks = np.maximum(1 - y * (f @ w), 0)
        ridge = np.append(w[:-1], 0)
        return float(ridge @ ridge / 2 + c @ lacks**2), ridge - f.T @ (2 * c * y * lacks)

    return descend(value_and_slope, w)


class Margin(Linear):
    def __init__(self, features: Features, C: float, rounds: int) -> None:
        super().__init__(features)
        self.C, self.rounds = C, rounds

    def weights(self, f: Any, s: np.ndarray, prior: float, random: np.random.RandomState) -> np.ndarray:
        P, U = s == 1, s == 0
        y = np.where(P, 1.0, -1.0)
        w = fitted(f, y, self.C * np.where(P, 1.0, P.sum() / U.sum()), np.zeros(f.shape[1]))
        rising = np.geomspace(0.01, 1, max(2, self.rounds // 4))
        for i in range(self.rounds):
            before, y[U] = y[U], relabelled((f @ w)[U], prior)
            if i >= len(rising) and (y[U] == before).all():
                break
            w = fitted(f, y, self.C * np.where(P, 1.0, rising[min(i, len(rising) - 1)]), w)
        return w


@dataclass(eq=False, repr=False, kw_only=True)
class MaxMarginPU(FoldedMethod):
    """A support vector machine that relabels the unlabelled rows until its labels stand still."""

    name = "max-margin"
    paper = (
        "Chaudhari and Shevade, Learning from Positive and Unlabelled Examples Using Maximum Margin Clustering, 2012"
    )

    kernel: str = param("gaussian", "features: random ones of a Gaussian kernel, or the columns as they are",
                        one_of=("gaussian", "linear"))  # fmt: skip
    C: float = param(1.0, "what a row inside the margin costs", above=0, search=(0.01, 100.0, "log"))
    rounds: int = param(20, "how often labels are given anew, at most", least=2)

    def _member(self) -> Margin:
        return Margin(Features(self.kernel == "gaussian"), self.C, self.rounds)
