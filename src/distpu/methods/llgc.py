"""Local and global consistency (Zhou, Bousquet, Lal, Weston, Schoelkopf, NIPS 2003), seeded by labelled rows alone.

    W_ij = exp(-|x_i - x_j|^2 / (r_i r_j)) for neighbours i, j, else 0;   d_i = sum_j W_ij;   S = D^-1/2 W D^-1/2
    F    = (1 - alpha) (I - alpha S)^-1 Y,   Y = 1 on the labelled rows, else 0
    v_i  = F_i / sqrt(d_i)
    score of a row = log of the mean of v over its neighbours, weighed as W

As alpha nears 1, F nears sqrt(d) whatever the seeds, so with seeds of one class F ranks rows by their degree; v does
not. i and j are neighbours if one is among the `neighbours` rows nearest to the other; r_i is the distance to the last.
The cut is the prior's quantile of scores in which a labelled row's own fold gives no seeds. A graph of more than
`most_rows` rows is made of a random part of the unlabelled ones. New rows need no new graph: their neighbours tell.

Assumes: near rows have the same class, and labelled positives lie in every cluster of positives. Columns are
standardised, and a blank is the mean; a sparse table has cosine distances. Pixels do not suit: use features of a
network. The prior is needed for the cut only.

Differs from its public code: scikit-learn's LabelSpreading needs labels of both classes. The paper's W has one width
for all rows, and its graph all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix, diags, eye, issparse
from scipy.sparse.linalg import cg

from ..estimator import PUEstimator
from ..files.run_folder import RunFolder
from ..params import param
from ..prior import Estimate
from ._reliable import scale_of, standardised
from ._table import TableMethod

LEAST = 1e-12  # keeps the log finite for a row that no seed reaches


def consistent(W: Any, Y: np.ndarray, alpha: float) -> np.ndarray:
    """F = (1 - alpha) (I - alpha S)^-1 Y, by conjugate gradients."""
    d = np.asarray(W.sum(1)).ravel()
    half = diags(1 / np.sqrt(np.maximum(d, LEAST)))
    F, _ = cg(eye(len(Y)) - alpha * (half @ W @ half), (1 - alpha) * Y, rtol=1e-10, maxiter=1000)
    return F


def graph(near: np.ndarray, distance: np.ndarray, width: np.ndarray) -> Any:
    """W of rows whose neighbours, without themselves, are `near` at `distance`. It is symmetric."""
    n, k = near.shape
    W = np.exp(-(distance**2) / (width[:, None] * width[near]))
    half = coo_matrix((W.ravel(), (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n)).tocsr()
    return half.maximum(half.T)


def without_itself(near: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours of rows among themselves, less the row itself, or the last one if copies hide it."""
    itself = near == np.arange(len(near))[:, None]
    itself[~itself.any(1), -1] = True
    return near[~itself].reshape(len(near), -1), distance[~itself].reshape(len(near), -1)


@dataclass(eq=False, repr=False, kw_only=True)
class LLGC(TableMethod):
    """Spreads the labels along a graph of neighbours until near rows agree."""

    name = "llgc"
    paper = "Zhou et al., Learning with Local and Global Consistency, NIPS 2003"
    kept = ("scale_", "rows_", "widths_", "values_", "oof_scores_")

    neighbours: int = param(10, "rows that a row is tied to", least=1, search=(3, 50, "log"))
    alpha: float = param(0.99, "how far a label spreads", above=0, below=1, search=[0.5, 0.8, 0.9, 0.99])
    most_rows: int = param(20_000, "rows of the graph", least=10)

    def _learn(self, x: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        prior, fold = self._find_prior(x, s, None), self._folds(x, s, random)
        self.scale_ = None if issparse(x) else np.array(scale_of(x))
        x = self._scaled(x)
        inside = np.flatnonzero(s == 1)
        others = random.permutation(np.flatnonzero(s == 0))[: max(2, self.most_rows - len(inside))]
        inside = np.sort(np.append(inside, others))
        label, own = s[inside], fold[inside]
        self.rows_: Any = x[inside]
        near, distance = self._near(self.rows_, min(self.neighbours + 1, len(inside)))
        near, distance = without_itself(near, distance)
        self.widths_ = np.maximum(distance[:, -1], LEAST + 1e-6 * np.median(distance[:, -1]))
        W = graph(near, distance, self.widths_)
        root = np.sqrt(np.maximum(np.asarray(W.sum(1)).ravel(), LEAST))
        z = np.empty(len(s))
        for k in range(fold.max() + 1):
            v = self._values(W, root, (label == 1) & (own != k))
            here = own == k
            z[inside[here]] = self._mean_around(v, near[here], distance[here])
            apart = np.setdiff1d(np.flatnonzero(fold == k), inside)
            if len(apart):
                z[apart] = self._mean_around(v, *self._near(x[apart], min(self.neighbours, len(inside))))
            self._bar.update(self.name, k + 1, fold.max() + 1)
        self.values_ = self._values(W, root, label == 1)
        self._settle(z, s, prior)

    def _values(self, W: Any, root: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """v, divided by the number of seeds, so that a fold's values compare with those of all seeds."""
        return np.maximum(consistent(W, seeds.astype(float), self.alpha), 0) / root / seeds.sum() * len(seeds)

    def _near(self, x: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.neighbors import NearestNeighbors

        metric = "cosine" if issparse(x) else "euclidean"
        distance, near = NearestNeighbors(n_neighbors=k, metric=metric).fit(self.rows_).kneighbors(x)
        return near, distance

    def _mean_around(self, v: np.ndarray, near: np.ndarray, distance: np.ndarray) -> np.ndarray:
        width = np.maximum(distance[:, -1:], self.widths_.min())
        weight = np.exp(-(distance**2) / (width * self.widths_[near])) + LEAST
        return np.log((weight * v[near]).sum(1) / weight.sum(1) + LEAST)

    def _score(self, x: Any) -> np.ndarray:
        return self._mean_around(self.values_, *self._near(self._scaled(x), min(self.neighbours, self.rows_.shape[0])))

    def _scaled(self, x: Any) -> Any:
        return csr_matrix(x) if self.scale_ is None else standardised(x.astype(float), *self.scale_)

    def _write_model(self, folder: RunFolder) -> None:
        rows = self.rows_
        if issparse(rows):  # a folder stores no sparse matrix, but its parts
            self.rows_ = [rows.data, rows.indices, rows.indptr, np.array(rows.shape)]
        super()._write_model(folder)
        self.rows_ = rows

    def _read_model(self, folder: RunFolder) -> None:
        super()._read_model(folder)
        if isinstance(self.rows_, list):
            data, indices, indptr, shape = self.rows_
            self.rows_ = csr_matrix((data, indices, indptr), shape=tuple(shape))
            self.rows_.check_format(full_check=True)  # compiled code follows the indices without a look

    def _estimated(self, rows: Any, s: np.ndarray) -> Estimate:
        return PUEstimator._estimated(self, rows, s)  # from the rows: a graph of few labels ranks worse than a forest
