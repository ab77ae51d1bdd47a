"""FoldedMethod: the base of methods on tables that fit one model per fold and average the models' scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..estimator import PUEstimator
from ..prior import Estimate
from ._table import TableMethod


@dataclass(eq=False, repr=False, kw_only=True)
class FoldedMethod(TableMethod):
    """A method whose member learns the rows of the other folds; a new row's score is the mean over the members.

    A member is a class with `fit(x, s, prior, random)`, `scores(x)` and `state`, which holds plain values and
    scikit-learn objects only, so that a folder can store it without pickle.
    """

    kept = ("states_", "oof_scores_")

    def _member(self) -> Any:
        """Return an unfitted member. This is the method."""
        raise NotImplementedError

    def _learn(self, x: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        prior, fold = self._find_prior(x, s, None), self._folds(x, s, random)
        z, self.members_ = np.empty(len(s)), []
        for k in range(fold.max() + 1):
            rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            member = self._member().fit(x[rest], s[rest], prior, random)
            z[out] = member.scores(x[out])
            self.members_.append(member)
            self._bar.update(self.name, k + 1, fold.max() + 1)
        self.states_ = [member.state for member in self.members_]
        self._settle(z, s, prior)

    def _score(self, x: Any) -> np.ndarray:
        return np.mean([member.scores(x) for member in self.members_], axis=0)

    def _estimated(self, rows: Any, s: np.ndarray) -> Estimate:
        """Estimate the prior from the rows: a member needs it before it has scores."""
        return PUEstimator._estimated(self, rows, s)

    def _read_model(self, folder: Any) -> None:
        super()._read_model(folder)
        self.members_ = []
        for state in self.states_:
            member = self._member()
            member.state = state
            self.members_.append(member)


class Standard:
    """Standardised columns, or features of a Gaussian kernel on them. A blank is the column's mean.

    A sparse table is scaled by the largest value of each column and stays sparse; it has no kernel.
    """

    def __init__(self, kernel: bool, features: int = 200) -> None:
        self.kernel, self.features = kernel, features

    def fit(self, x: Any, random: np.random.RandomState) -> Standard:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.metrics.pairwise import euclidean_distances
        from sklearn.preprocessing import MaxAbsScaler, StandardScaler

        if issparse(x):
            self.state: list[Any] = [MaxAbsScaler().fit(x), None]
            return self
        x = _without_blank_columns(x)
        self.state = [StandardScaler().fit(x), None]
        if self.kernel:
            x = np.nan_to_num(self.state[0].transform(x))
            few = x[random.permutation(len(x))[:500]]
            d = euclidean_distances(few, squared=True)
            width = float(np.median(d[d > 0])) if (d > 0).any() else 1.0  # the median heuristic
            kernel = Nystroem(
                gamma=1 / width, n_components=min(self.features, len(x)), random_state=random.randint(2**31 - 1)
            )
            self.state[1] = kernel.fit(x)
        return self

    def transform(self, x: Any) -> Any:
        """Return the features, with a column of ones last."""
        scaler, kernel = self.state
        if issparse(x):
            from scipy.sparse import csr_matrix, hstack

            return csr_matrix(hstack([scaler.transform(x), np.ones((x.shape[0], 1))]))
        x = np.nan_to_num(scaler.transform(_without_blank_columns(x)))
        return np.column_stack([x if kernel is None else kernel.transform(x), np.ones(len(x))])


def _without_blank_columns(x: np.ndarray) -> np.ndarray:
    """Return x in float64, with 0 in columns of blanks alone: such a column has no mean."""
    x = x.astype(float)
    return np.where(np.isnan(x).all(0), 0.0, x) if len(x) else x
