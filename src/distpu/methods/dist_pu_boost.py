"""DistPUBoost: the label-distribution risk of Dist-PU (Zhao et al., CVPR 2022) as the objective of boosted trees.

    z = logit(prior) + the sum of the trees;  p = sigma(z);  q = p (1 - p);  d = E_U[p] - prior

    R_lab = 2 prior |E_P[p] - 1| + |d|_tau            |d|_tau = d^2 / (2 tau) if |d| <= tau, else |d| - tau / 2
    R     = R_lab + mu E_U[H(p)]

    gradient   labelled row:    -2 prior q / n_P
               unlabelled row:  (clip(d / tau, -1, 1) - mu z) q / n_U
    curvature  labelled row:    2 prior max(q, floor) / n_P;   unlabelled row:  max(q, floor) / n_U

    each round fits a tree to both and adds it with the rate lr. A tree sees a share `rows` of P, `ratio` n_P rows of U
    (at least 1,000) and a share `columns` of the columns, drawn for it; its rows are weighted to stand for all rows
    fold k = 1 .. K:  `bags` boosters learn the other folds;  a row's score is the mean z of boosters that never saw it
    cut: a share prior of the out-of-fold scores of U lies above;  a new row's score is the mean over all boosters

E_P and E_U are means over all rows of a fit, so they are exact. The network sees batches instead. Rows
that a person looked at stay in U, as they were drawn with it. Negatives N and positives F among them add
(n_N E_N[p] + n_F E_F[1 - p]) / n_U to R, and every tree sees them.

Assumes: labelled rows drawn at random from the positives; the prior, which the predicted share is tied to. Unless it is
given, it is estimated from out-of-fold scores of PU bagging, which needs none.

Differs from its public code: there is none for trees. The paper's |d| has no curvature and a gradient that flips
from round to round, so |d| is rounded within tau of 0. Mixup is left out: docs/methods/dist-pu-boost.md has the
measurements.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from ..files.run_folder import RunFolder
from ..looked import FOUND, NEGATIVE, share_before
from ..params import param
from ..prior import is_number
from ._members import drawn, of, scores_before
from ._table import TableMethod
from ._weighted import Weighted

TAU, FLOOR = 0.02, 0.01  # defaults of the fields below
LEAST = 1000  # unlabelled rows that a tree sees, at least, if there are so many


def shares(s: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return what a row counts in the mean of its kind, E_P or E_U. Rows that were looked at are rows of U."""
    w = np.ones(len(s)) if weight is None else weight
    return w / np.where(s == 1, w[s == 1].sum(), w[s != 1].sum())


def risk(
    z: np.ndarray, s: np.ndarray, prior: float, mu: float, tau: float = TAU, weight: np.ndarray | None = None
) -> float:
    """R = 2 prior |E_P[p] - 1| + |E_U[p] - prior|_tau + mu E_U[H(p)] + (n_N E_N[p] + n_F E_F[1 - p]) / n_U."""
    p, P, U, N, F, w = expit(z), s == 1, s != 1, s == NEGATIVE, s == FOUND, shares(s, weight)
    d = abs(w[U] @ p[U] - prior)
    rounded = d * d / (2 * tau) if d <= tau else d - tau / 2
    entropy = np.logaddexp(0, z[U]) - z[U] * p[U]
    return float(2 * prior * (1 - w[P] @ p[P]) + rounded + mu * (w[U] @ entropy) + w[N] @ p[N] + w[F] @ (1 - p[F]))


def gradient(
    z: np.ndarray, s: np.ndarray, prior: float, mu: float, tau: float = TAU, floor: float = FLOOR, weight: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient and the curvature of R by each row's z. R is not convex; the curvature is a stand-in."""
    p, P, U, w = expit(z), s == 1, s != 1, shares(s, weight)
    q = p * (1 - p)
    pull = np.clip((w[U] @ p[U] - prior) / tau, -1, 1)
    known = np.where(s == NEGATIVE, 1.0, np.where(s == FOUND, -1.0, 0.0))
    slope, w = np.where(P, -1.0, pull - mu * z + known), w * np.where(P, 2 * prior, 1)
    return w * slope * q, w * np.maximum(q, floor)


def tree_weights(s: np.ndarray, rows: float, ratio: float, random: np.random.RandomState) -> np.ndarray:
    """Return the weights of the rows for one tree: 0 if not drawn, else n_P or n_U / how many are drawn of P or U.

    Every tree sees the rows that were looked at.
    """
    P, U = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    weight = np.isin(s, (NEGATIVE, FOUND)).astype(float)
    for all_of, n in (P, rows * len(P)), (U, max(LEAST, ratio * len(P))):
        n = min(len(all_of), max(1, round(n)))
        weight[random.choice(all_of, n, replace=False)] = len(all_of) / n
    return weight


@dataclass(eq=False, repr=False, kw_only=True)
class DistPUBoost(Weighted, TableMethod):
    """Dist-PU on tables: boosted trees (LightGBM) that align the predicted label distribution with the prior."""

    name = "dist-pu-boost"
    paper = "distpu's own: boosting with the risk of Zhao et al., Dist-PU, CVPR 2022"
    takes_negatives = True
    kept = ("trees_", "start_", "oof_scores_")

    rounds: int = param(150, "trees of a booster", least=1, search=(50, 400, "log"))
    lr: float = param(0.1, "what a tree counts", above=0, search=(0.02, 0.3, "log"))
    leaves: int = param(15, "leaves of a tree", least=2, search=(7, 63, "log"))
    least_rows: int = param(5, "rows of a leaf, at least", least=1, search=(2, 50, "log"))
    rows: float = param(0.8, "share of the labelled rows that a tree sees", above=0, most=1)
    ratio: float = param(3.0, "unlabelled rows that a tree sees, for each labelled row; 1,000 at least", above=0)
    columns: float = param(0.6, "share of the columns that a tree sees", above=0, most=1, search=(0.3, 1.0))
    shrink: float = param(1.0, "L2 penalty on the values of the leaves", least=0, search=(0.1, 30.0, "log"))
    entropy: float = param(0.05, "mu, weight of the entropy", least=0, search=(1e-3, 0.3, "log"))
    tau: float = param(TAU, "a predicted share this near to the prior is pulled in proportion", above=0)
    floor: float = param(FLOOR, "least p (1 - p) in the curvature, which bounds the steps of sure rows", above=0)
    bags: int = param(4, "boosters of a fold, with other rows and columns each", least=1)
    most_rows: int = param(10_000, "rows of one booster, at most; each booster draws its own", least=100)

    def _learn(self, x: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        fold = self._folds(x, s, random)
        prior = self._find_prior(self._first_scores(x, s, fold, random), s, None)
        s, first = self._labels, share_before(prior, self._labels, self._weight)
        looked = np.where(s == FOUND, NEGATIVE, s)  # each booster sees all of these rows
        K, z = fold.max() + 1, np.zeros(len(s))
        self.start_ = float(logit(first))
        self.boosters_: list[Any] = []
        for k in range(K):
            rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            for b in range(self.bags):
                seen = np.sort(rest[drawn(looked[rest], self.most_rows, np.inf, random)])
                booster = self._boosted(x[seen], s[seen], first, random.randint(2**31 - 1), of(self._weight, seen))
                z[out] += self._log_odds(booster, x[out]) / self.bags
                self.boosters_.append(booster)
                self._bar.update(self.name, k * self.bags + b + 1, K * self.bags)
        self.trees_ = [booster.model_to_string() for booster in self.boosters_]  # the form that a folder stores
        self._settle(z, s, prior)

    def _first_scores(self, x: Any, s: np.ndarray, fold: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Return out-of-fold scores that need no prior, from which the prior is estimated unless it is given."""
        if is_number(self.prior):
            return np.empty(len(s))
        return scores_before(x, self._labels, fold, random, self._weight)

    def _boosted(self, x: Any, s: np.ndarray, prior: float, seed: int, weight: np.ndarray | None = None) -> Any:
        """Return a booster of R on these rows."""
        import lightgbm

        random = np.random.RandomState(seed)

        def objective(z: np.ndarray, _: Any) -> tuple[np.ndarray, np.ndarray]:
            g, h = gradient(z, s, prior, self.entropy, self.tau, self.floor, weight)
            drawn = len(s) * tree_weights(s, self.rows, self.ratio, random)  # LightGBM's penalties are for sums
            return drawn * g, drawn * h

        start = np.full(len(s), logit(prior))
        settings = self._settings(seed) | {"objective": objective}
        return lightgbm.train(settings, lightgbm.Dataset(x, s, init_score=start), self.rounds)

    def _settings(self, seed: int) -> dict[str, Any]:
        return dict(
            learning_rate=self.lr,
            num_leaves=self.leaves,
            min_child_samples=self.least_rows,
            min_sum_hessian_in_leaf=1e-3,
            feature_fraction=self.columns,
            lambda_l2=self.shrink,
            feature_pre_filter=False,  # a small table may have no column that LightGBM deems worth a split
            min_data_in_bin=1,
            seed=seed,
            num_threads=1,
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
        )

    def _log_odds(self, booster: Any, x: Any) -> np.ndarray:
        return self.start_ + booster.predict(x, raw_score=True, num_threads=1)

    def _score(self, x: Any) -> np.ndarray:
        return np.mean([self._log_odds(booster, x) for booster in self.boosters_], axis=0)

    def _read_model(self, folder: RunFolder) -> None:
        import lightgbm

        super()._read_model(folder)
        self.boosters_ = [lightgbm.Booster(model_str=text) for text in self.trees_]
