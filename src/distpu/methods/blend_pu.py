"""BlendPU: the default for tables. Four scorers of labelled against unlabelled rows, blended by held-out PU rows.

    for fold k = 1 .. K:  four members learn labelled (P) against unlabelled rows (U) of the other folds:
        forest      random forest, P and U balanced in every bootstrap sample
        extra       extremely randomised trees, balanced alike
        boosted     the mean of 12 boosted-tree models, each on P and 3 |P| rows of U (PU bagging)
        kernel      logistic regression on random features of a Gaussian kernel
    Z[i, m] = log-odds of row i by member m of row i's fold, which was not fitted on row i

    weights:  ridge logistic regression of P against U on the standardised columns of Z
    z = Z w;  prior pi = posterior mean of the binormal model of z (prior/binormal.py)
    cut:  the share of z_U above it has the largest expected accuracy + F1 by that model; a given pi is that share
    if z_U has a deep gap within pi's interval, the share q_U above it is called and pi = q_U / q_P (prior/gap.py)
    a new row's score is the mean over the K folds

Assumes: labelled positives are a random draw from all positives. No negatives and no prior are needed. No scorer is
best everywhere: trees win on tables with wild values, the kernel on smooth ones. The ridge weighs them by what held-out
PU rows say, and returns to nearly equal weights where few rows are labelled.

Differs from its public code: there is none; the method is our own. docs/methods/blend-pu.md has the experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..looked import any_looked_at
from ..params import param
from ..prior import Estimate, is_number
from ..prior.gap import at_gap
from ._members import Boosted, Forest, Kernel, of, scores_before, with_negatives
from ._table import TableMethod
from ._weighted import Weighted
from ._wrapper import one_thread


@dataclass(eq=False, repr=False, kw_only=True)
class BlendPU(Weighted, TableMethod):
    """Blends a forest, extra trees, bagged boosting and a kernel model by held-out PU rows. The default for tables."""

    name = "blend-pu"
    paper = "distpu's own: a stack (Wolpert 1992) of PU bagging (Mordelet and Vert 2014) and balanced forests"
    takes_negatives = True
    kept = ("states_", "center_", "spread_", "weights_", "oof_scores_")

    trees: int = param(60, "trees of a forest, of which each fold has two", least=2)
    bags: int = param(12, "boosted models of a fold, each on other unlabelled rows", least=1)
    leaf: int = param(5, "rows of a leaf of the forests, at least", least=1, search=(1, 50, "log"))
    rounds: int = param(40, "trees of a boosted model", least=1, search=(10, 200, "log"))
    leaves: int = param(8, "leaves of these trees", least=2, search=(3, 32, "log"))
    ridge: float = param(0.01, "C of the regression that weighs the members; small: weights are nearly equal", above=0,
                         search=(1e-4, 1.0, "log"))  # fmt: skip

    def _members(self) -> dict[str, Any]:
        """Return unfitted members."""
        return {
            "forest": Forest(self.trees, leaf=self.leaf),
            "extra": Forest(self.trees, extra=True, leaf=self.leaf),
            "boosted": Boosted(self.bags, self.rounds, self.leaves),
            "kernel": Kernel(),
        }

    def _learn(self, x: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        fold, M = self._folds(x, s, random), len(self._members())
        K, Z = fold.max() + 1, np.empty((len(s), M))
        self.members_: list[list[Any]] = []
        for k in range(K):
            rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            fitted = self._members()
            for m, (name, member) in enumerate(fitted.items()):
                member.fit(x[rest], s[rest], random, of(self._weight, rest))
                Z[out, m] = member.scores(x[out])
                self._bar.update(f"{self.name} {name}", k * M + m + 1, K * M)
            self.members_.append([*fitted.values()])
        self.states_ = [[member.state for member in fitted] for fitted in self.members_]
        self._weigh(Z, s)
        prior = None
        if any_looked_at(self._labels) and not is_number(self.prior):
            prior = self._find_prior(scores_before(x, self._labels, fold, random, self._weight), s, None)
        self._settle(self._blended(Z), s, prior)

    def _weigh(self, Z: np.ndarray, s: np.ndarray) -> None:
        from sklearn.linear_model import LogisticRegression

        weight = with_negatives(self._weight, s)
        self.center_ = np.average(Z, 0, weight)
        self.spread_ = np.maximum(np.sqrt(np.average((Z - self.center_) ** 2, 0, weight)), 1e-9)
        standard = (Z - self.center_) / self.spread_
        model = LogisticRegression(C=self.ridge, class_weight="balanced").fit(standard, s == 1, weight)
        self.weights_ = np.append(model.coef_[0], model.intercept_)

    def _estimated_from(self, z_p: np.ndarray, z_u: np.ndarray) -> Estimate:
        found = super()._estimated_from(z_p, z_u)
        return at_gap(found, z_p, z_u)

    def _blended(self, Z: np.ndarray) -> np.ndarray:
        return (Z - self.center_) / self.spread_ @ self.weights_[:-1] + self.weights_[-1]

    def _score(self, x: Any) -> np.ndarray:
        return self._blended(np.mean([self._scores_of(k, x) for k in range(len(self.members_))], axis=0))

    def _scores_of(self, k: int, x: Any) -> np.ndarray:
        return np.column_stack([member.scores(x) for member in self.members_[k]])

    def _scores_alike(self, x: Any, first: int) -> np.ndarray:
        """Return raw scores of rows number first, first + 1, ...: of each row by the members of one fold.

        The rows that were learnt have such scores, which the cut and the probabilities come from.
        """
        K = len(self.members_)
        Z, turn = np.empty((x.shape[0], len(self.members_[0]))), (first + np.arange(x.shape[0])) % K
        with one_thread():
            for k in range(K):
                rows = np.flatnonzero(turn == k)
                if len(rows):
                    Z[rows] = self._scores_of(k, x[rows])
        return self._blended(Z)

    def _read_model(self, folder: Any) -> None:
        super()._read_model(folder)
        self.members_ = []
        for states in self.states_:
            fitted = [*self._members().values()]
            for member, state in zip(fitted, states, strict=True):
                member.state = state
            self.members_.append(fitted)
