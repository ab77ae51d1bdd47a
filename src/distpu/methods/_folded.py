"""FoldedMethod: the base of methods on tables that fit one model per fold and average the models' scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse

from ..estimator import PUEstimator
from ..prior import Estimate
from ._table import TableMethod

WIDTH = 500  # rows whose distances give the width of the kernel


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


class Features:
    """Standardised columns, or random features of a Gaussian kernel on them. A blank is the column's mean.

    The columns of a sparse table are scaled by their largest value and stay sparse. For the kernel each row of it is
    brought to length 1, so that distance is a matter of which columns a row has.
    """

    def __init__(self, kernel: bool, count: int = 200) -> None:
        self.kernel, self.count = kernel, count

    def fit(self, x: Any, random: np.random.RandomState) -> Features:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.metrics.pairwise import euclidean_distances
        from sklearn.preprocessing import MaxAbsScaler, StandardScaler

        self.state: list[Any] = [MaxAbsScaler().fit(x) if issparse(x) else StandardScaler().fit(_filled(x)), None]
        if self.kernel:
            x = self._scaled(x)
            d = euclidean_distances(x[random.permutation(x.shape[0])[:WIDTH]], squared=True)
            width = float(np.median(d[d > 0])) if (d > 0).any() else 1.0  # the median heuristic
            count, seed = min(self.count, x.shape[0]), random.randint(2**31 - 1)
            kernel = self.state[1] = Nystroem(gamma=1 / width, n_components=count, random_state=seed).fit(x)
            if issparse(kernel.components_):  # a folder stores no sparse matrix
                kernel.components_ = kernel.components_.toarray()
        return self

    def __call__(self, x: Any) -> Any:
        """Return the features, with a column of ones last."""
        x, kernel = self._scaled(x), self.state[1]
        if kernel is not None:
            x = kernel.transform(x)
        ones = np.ones((x.shape[0], 1))
        return csr_matrix(hstack([x, ones])) if issparse(x) else np.hstack([x, ones])

    def _scaled(self, x: Any) -> Any:
        from sklearn.preprocessing import normalize

        if not issparse(x):
            return np.nan_to_num(self.state[0].transform(_filled(x)))
        scaled = self.state[0].transform(x)
        return normalize(scaled) if self.kernel else scaled


def _filled(x: np.ndarray) -> np.ndarray:
    """Return x in float64, with 0 in columns of blanks alone: such a column has no mean."""
    x = x.astype(float)
    return np.where(np.isnan(x).all(0), 0.0, x)


class Linear:
    """A member that is linear in features: `weights` finds the weights of the features and, last, the intercept."""

    def __init__(self, features: Features) -> None:
        self.features = features

    def weights(self, f: Any, s: np.ndarray, prior: float, random: np.random.RandomState) -> np.ndarray:
        raise NotImplementedError

    def fit(self, x: Any, s: np.ndarray, prior: float, random: np.random.RandomState) -> Any:
        f = self.features.fit(x, random)(x)
        self.state: list[Any] = [self.weights(f, s, prior, random), self.features.state]
        return self

    def scores(self, x: Any) -> np.ndarray:
        w, features = self.state
        self.features.state = features
        return np.asarray(self.features(x) @ w, dtype=float)


def descend(value_and_slope: Any, w: np.ndarray) -> np.ndarray:
    """Return the weights of least value, by L-BFGS from w."""
    from scipy.optimize import minimize

    return minimize(value_and_slope, w, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
