"""TableMethod: the base of methods on tables. One model per fold scores the rows that it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.validation import validate_data

from ..datasets.draw import folds
from ..estimator import PUEstimator
from ..files.run_folder import RunFolder
from ..inputs import numbers
from ..kinds import refuse_no_numbers
from ..looked import before, estimate_now, trained_on
from ..params import param
from ..prior import Estimate, estimated_from_scores
from ..progress import Bar
from ..threshold import cut_at
from ..train.launch import refuse_several
from ..weights import counted
from ._wrapper import fingerprint, one_thread, row_keys

NARROW = 100  # columns; a sparse table of no more is small, and as an array it gives the same results as the array
ROWS = 50_000  # of one call of a model; the scores of a million rows need little memory then


@dataclass(eq=False, repr=False, kw_only=True)
class TableMethod(PUEstimator):
    """A method on tables of numbers, dense (NaN for blanks) or sparse. Images are flattened. `fit` also sets:

    oof_scores_  the raw score of each row by a model that was not fitted on it
    """

    scores_held_out = True
    kept: ClassVar[tuple[str, ...]] = ()  # models and arrays that `_learn` sets and a folder stores

    folds: int = param(5, "number of folds; each model is fitted without one of them", least=2)

    def _learn(self, x: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        """Fit the models and call `_settle` with the out-of-fold scores. This is the method."""
        raise NotImplementedError

    def _score(self, x: Any) -> np.ndarray:
        """Return the raw scores of rows, as checked: log-odds, or any scale on which the order counts."""
        raise NotImplementedError

    # ----------------------------------------------------------- fit, predict

    def _check_learner(self) -> None:
        refuse_several(f"{self.name} trains no network")

    def _train(self, rows: Any, s: np.ndarray, sets: dict[str, Any], folder: RunFolder | None, seed: int) -> None:
        self._labels = s
        with Bar(self.progress in ("auto", True)) as self._bar, one_thread():
            self._learn(rows, trained_on(s), np.random.RandomState(seed))
        del self._bar

    def _raw_scores(self, rows: Any) -> np.ndarray:
        with one_thread():
            parts = [self._score(rows[start : start + ROWS]) for start in range(0, rows.shape[0], ROWS)]
        return np.concatenate(parts) if parts else np.empty(0)

    # ------------------------------------------------------ what methods call

    def _folds(self, x: Any, s: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Return the fold of each row. Equal rows share a fold. Few different labelled rows give fewer folds."""
        key = row_keys(x)
        different, others = len(np.unique(key[s == 1])), len(np.unique(key[s == 0]))
        if min(different, others) < 2:
            which = "labelled positives" if different < 2 else "unlabelled rows"
            raise ValueError(
                f"{type(self).__name__} needs at least 2 different {which}; X has {min(different, others)}"
            )
        return folds(key[:, None], s, min(self.folds, different, others), random.randint(2**31 - 1))

    def _settle(self, z: np.ndarray, s: np.ndarray, prior: float | None = None) -> None:
        """Set what follows from the out-of-fold scores: the prior, unless the method found it before, and the cut."""
        self.oof_scores_ = self._held_out = z
        self.prior_ = self._find_prior(z, s, None) if prior is None else prior
        i, found = counted(z, self._labels, self._weight), self.prior_estimate_
        if found is None or found.to_call is None:
            self.threshold_ = cut_at(z[i][self._labels[i] == 0], self.prior_)
        else:  # a share of all rows that were unlabelled before anybody looked
            self.threshold_ = cut_at(z[i][self._labels[i] != 1], found.to_call)

    def _estimated(self, z: Any, s: np.ndarray) -> Estimate:
        """Estimate the prior from the method's own out-of-fold scores, which rank better than a forest's."""
        first = before(self._labels)
        i = counted(z, first, self._weight)
        found = self._estimated_from(z[i][first[i] == 1], z[i][first[i] == 0])
        return estimate_now(found, self._labels, self._weight)

    def _estimated_from(self, z_p: np.ndarray, z_u: np.ndarray) -> Estimate:
        return estimated_from_scores(self.prior, z_p, z_u)

    def _place(self, rows: Any, seen: np.ndarray) -> None:
        score = np.empty(rows.shape[0])
        rest = np.setdiff1d(np.arange(len(score)), seen)
        score[seen], score[rest] = self.oof_scores_, self._raw_scores(rows[rest])  # no model was fitted on the rest
        self.oof_scores_ = score

    # -------------------------------------------------------- save and load

    def _write_model(self, folder: RunFolder) -> None:
        folder.keep_models({name: getattr(self, name) for name in self.kept}, type(self).__name__)

    def _read_model(self, folder: RunFolder) -> None:
        for name, value in folder.models(self.kept).items():
            setattr(self, name, value)

    def _fingerprint(self, rows: Any) -> int:
        return fingerprint(rows)

    # ---------------------------------------------------------------- checks

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Return X as float32 numbers. `reset` stores its width and column names; else they are compared."""
        refuse_no_numbers(X)
        x = numbers(X)
        if x is None:
            validate_data(self, X, reset=reset, dtype=np.float32, ensure_all_finite="allow-nan", allow_nd=True)
            raise ValueError(f"{type(self).__name__} takes numbers; encode the other columns, or leave them out")
        if x.ndim > 2:
            x = x.reshape(len(x), -1)
        x = csr_matrix(x) if issparse(x) else x.astype(np.float32, copy=False)  # LightGBM refuses a sparse array
        if issparse(x) and x.shape[1] <= NARROW:
            x = x.toarray()
        validate_data(self, x if x is not X and not hasattr(X, "columns") else X, reset=reset, skip_check_array=True)
        if x.shape[0] < (2 if reset else 1) or not x.shape[1]:
            validate_data(self, X, reset=reset, ensure_min_samples=2 if reset else 1)  # raises scikit-learn's message
        return x

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
