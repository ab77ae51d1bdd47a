"""Wrapper: the base of PU methods around any scikit-learn classifier. The classifier inside checks the rows."""

from __future__ import annotations

import time
import zlib
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils import _safe_indexing as take
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..datasets.draw import folds
from ..estimator import PUEstimator
from ..files import models
from ..files.run_folder import RunFolder
from ..inputs import numbers
from ..params import param
from ..prior import PRIORS, estimate_prior, inside_unit
from ..prior.scores import FOLDS
from ..progress import Bar

FEW = 20_000  # rows; boosting on 20,000 x 30 takes 0.42 s on one thread and 0.37 on two, on 100,000 1.48 and 0.96
TINY = 1e-6  # probabilities are kept this far from 0 and 1 before their log-odds are taken
KEPT_FROM = 1.0  # seconds a fit must take for its model to be kept for a resume


@dataclass(eq=False, repr=False)
class Wrapper(PUEstimator):
    """A PU method around any classifier with `fit` and `predict_proba` (or `decision_function`).

    `fit` takes rows as the classifier inside takes them: arrays, pandas or polars frames, sparse matrices, texts;
    images are flattened. The classifier inside sees 1 and 0. After it also:

    estimators_  the fitted classifiers inside, whose scores are averaged
    """

    needs_prior: ClassVar[bool] = False
    kept: ClassVar[tuple[str, ...]] = ()  # models and arrays that `_learn` sets beside estimators_, saved with them

    estimator: Any = param(None, "the classifier inside: any with fit and predict_proba or decision_function")
    _: KW_ONLY

    def _default(self) -> Any:
        """The classifier inside when none is given."""
        raise NotImplementedError

    def _learn(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        """The method: fit classifiers into estimators_, set prior_, threshold_ and what `_decide` needs."""
        raise NotImplementedError

    # ----------------------------------------------------------- fit, predict

    def _train(self, rows: Any, s: np.ndarray, sets: dict[str, Any], folder: RunFolder | None, seed: int) -> None:
        self._folder, self._number = folder, 0
        with Bar(self.progress in ("auto", True)) as self._bar:
            self._learn(rows, s, np.random.RandomState(self.random_state if type(self.random_state) is int else seed))
        del self._bar
        if folder:
            self._finish(folder)

    def _raw_scores(self, rows: Any) -> np.ndarray:
        return np.mean([scores(model, rows) for model in self.estimators_], axis=0)

    # -------------------------------------------------------- save and load

    def _write_model(self, folder: RunFolder) -> None:
        state = {name: getattr(self, name) for name in self._model_names()}
        folder.keep_models(state, type(self).__name__)

    def _read_model(self, folder: RunFolder) -> None:
        for name, value in folder.models(self._model_names()).items():
            setattr(self, name, value)

    def _model_names(self) -> tuple[str, ...]:
        return ("estimator", "estimators_", *self.kept)

    def _with_network(self, network: Any, path: Path) -> None:
        self.estimator = None  # the config names it; the model file has it
        if network is not None:
            raise ValueError(f"{path} holds {self.name}, which trains no network; leave network= out")

    def _fingerprint(self, rows: Any) -> int:
        parts = (rows.data, rows.indices, rows.indptr) if issparse(rows) else (row_hashes(rows),)
        crc = 0
        for part in parts:
            crc = zlib.crc32(np.ascontiguousarray(part).tobytes(), crc)
        return crc

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inside = getattr(self._default() if self.estimator is None else self.estimator, "__sklearn_tags__", None)
        if inside is not None:  # a classifier of another library may have none
            for what in ("sparse", "allow_nan", "categorical", "string"):
                setattr(tags.input_tags, what, getattr(inside().input_tags, what))
        return tags

    # ------------------------------------------------------ what methods call

    def _fresh(self, random: np.random.RandomState) -> Any:
        """An unfitted copy of the classifier inside, with a seed wherever it takes one and has none."""
        model = self._default() if self.estimator is None else clone(self.estimator)
        if not hasattr(model, "get_params"):
            return model
        params = model.get_params()
        names = sorted(k for k in params if k == "random_state" or k.endswith("__random_state"))
        seeds = {k: random.randint(2**31 - 1) for k in names if params[k] is None}
        return model.set_params(**seeds) if seeds else model

    def _fit_one(self, X: Any, rows: np.ndarray, s: np.ndarray, random: np.random.RandomState, of: int) -> Any:
        """A classifier of s == 1 against s == 0, fitted on those rows: one `of` so many.

        With a folder, a model that took long is kept there: a killed run finds it and goes on to the same bits, since
        the random state is the same whether a model is fitted or found.
        """
        model, self._number = self._fresh(random), self._number + 1
        kept = self._folder.part(self._number) if self._folder else None
        if kept is not None:
            return kept
        start = time.monotonic()
        with few_threads(len(rows)):
            model.fit(take(X, rows), s)
        if self._folder and time.monotonic() - start > KEPT_FROM and models.can_hold(model):
            self._folder.keep_part(self._number, model, type(self).__name__)
        self._bar.update(self.name, self._number, of)
        return model

    def _folds(self, X: Any, s: np.ndarray, k: int, random: np.random.RandomState) -> np.ndarray:
        """Fold of each row, equal rows in one; fewer than k where there are fewer different labelled rows."""
        key = row_keys(X)
        different = len(np.unique(key[s == 1]))
        if different < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 different labelled positives; y marks {different}"
            )
        return folds(key[:, None], s, min(k, different), random.randint(2**31 - 1))

    def _cross_fitted(
        self, X: Any, s: np.ndarray, k: int, random: np.random.RandomState
    ) -> tuple[list[Any], np.ndarray]:
        """A model per fold, fitted on the other folds, and each row's score by the model that did not see it."""
        fold, score, fitted = self._folds(X, s, k, random), np.empty(len(s)), []
        for i in range(fold.max() + 1):
            out, rest = np.flatnonzero(fold == i), np.flatnonzero(fold != i)
            if s[rest].all():
                raise ValueError(f"{type(self).__name__} needs at least 2 different unlabelled rows; y leaves fewer")
            fitted.append(self._fit_one(X, rest, s[rest], random, fold.max() + 1))
            score[out] = scores(fitted[-1], take(X, out))
        return fitted, score

    def _prior_from(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> float:
        """The prior as a number: given, or BBE on a forest's scores; where X is not numbers, on this method's own."""
        if self.prior != "auto":
            return float(self.prior)
        if numbers(X) is not None:
            return estimate_prior(X, s)
        score = self._held_out_scores(X, s, random)
        return inside_unit(PRIORS["bbe"](score[s == 1], score[s == 0]), s)

    def _held_out_scores(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Each row's score by models that did not see it."""
        return self._cross_fitted(X, s, FOLDS, random)[1]

    # ---------------------------------------------------------------- checks

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """X as the classifier inside will get it; remembers (reset) or enforces its width and column names."""
        if hasattr(X, "detach"):  # torch
            X = X.detach().cpu().numpy()
        if not is_frame(X):
            X = check_array(
                X,
                accept_sparse="csr",
                dtype=None,
                ensure_2d=not is_texts(X),
                allow_nd=True,
                ensure_all_finite=False,
                ensure_min_samples=2 if reset else 1,
                input_name="X",
                estimator=self,
            )
            X = X.reshape(len(X), -1) if X.ndim > 2 else X
        elif 0 in X.shape:
            check_array(np.empty(X.shape))  # raises, in scikit-learn's words
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X


@lru_cache(maxsize=1)
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def few_threads(rows: int) -> Any:
    """One OpenMP thread for few rows: those of gradient boosting spin, and stall where cores are shared.

    Two fits of 569 rows at a time on two cores: not done after 60 s, with one thread each 2.3 s.
    """
    return _pools().limit(limits=1, user_api="openmp") if rows < FEW else nullcontext()


def scores(model: Any, X: Any) -> np.ndarray:
    """The fitted classifier's scores of class 1: probabilities where it has them, else decision values."""
    with few_threads(X.shape[0] if hasattr(X, "shape") else len(X)):
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X), dtype=float)[:, 1]
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(X), dtype=float)
    raise ValueError(
        f"estimator={type(model).__name__} has neither predict_proba nor decision_function; "
        "give a classifier that scores rows, such as RandomForestClassifier() or LogisticRegression()"
    )


def log_odds(score: np.ndarray, models: list[Any]) -> np.ndarray:
    """Scores of those models on the whole line: log-odds of probabilities; decision values as they are."""
    return logit(np.clip(score, TINY, 1 - TINY)) if hasattr(models[0], "predict_proba") else score


def is_frame(X: Any) -> bool:
    return _from(X, "pandas", "polars") and hasattr(X, "columns")


def is_texts(X: Any) -> bool:
    return (isinstance(X, (list, tuple)) or _from(X, "numpy", "pandas", "polars")) and all(
        isinstance(x, str) for x in X
    )


def _from(X: Any, *packages: str) -> bool:
    return type(X).__module__.split(".")[0] in packages


def row_keys(X: Any) -> np.ndarray:
    """One number per row, equal for equal rows; in order of appearance, so that no container changes a fold."""
    return pd.factorize(row_hashes(X))[0]


def row_hashes(X: Any) -> np.ndarray:
    """A value per row, equal for equal rows."""
    if issparse(X):
        X = X.sorted_indices()
        spans = zip(X.indptr, X.indptr[1:], strict=False)
        return np.array([X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in spans], dtype=object)
    if hasattr(X, "hash_rows"):  # polars
        return X.hash_rows().to_numpy()
    return pd.util.hash_pandas_object(pd.DataFrame(X), index=False, categorize=False).to_numpy()
