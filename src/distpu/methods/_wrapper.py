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
from sklearn.utils.validation import has_fit_parameter, validate_data

from ..datasets.draw import folds
from ..estimator import PUEstimator
from ..files import models
from ..files.run_folder import RunFolder
from ..inputs import numbers
from ..kinds import refuse_no_numbers, short
from ..params import Search, near, param
from ..prior import Estimate, estimated, estimated_from_scores
from ..prior.scores import FOLDS
from ..progress import Bar
from ..train.launch import refuse_several
from ..weights import counted
from ._weighted import Weighted

FEW = 20_000  # rows; with fewer, a second thread saves little time in boosting
TINY = 1e-6  # probabilities are kept this far from 0 and 1 before their log-odds are taken
BOOSTING: dict[str, Search] = {  # where to look for settings of gradient boosting
    "learning_rate": (0.01, 0.3, "log"),
    "max_iter": (20, 400, "log"),
    "max_leaf_nodes": (4, 64, "log"),
    "min_samples_leaf": (5, 100, "log"),
    "l2_regularization": (0.0, 10.0),
}
KEPT_FROM = 1.0  # seconds; a model that took longer to fit is stored for a resume


@dataclass(eq=False, repr=False)
class Wrapper(Weighted, PUEstimator):
    """A PU method around any classifier with `fit` and `predict_proba` (or `decision_function`).

    `fit` takes rows as the classifier inside takes them: arrays, pandas or polars frames, sparse matrices, texts;
    images are flattened. The classifier inside sees the labels 1 and 0. `fit` also sets:

    estimators_  the fitted classifiers inside, whose scores are averaged
    """

    needs_prior: ClassVar[bool] = False
    per_row: ClassVar[str | None] = None  # what has a decision for each row of a fit
    search_inside: ClassVar[dict[str, Search]] = {}  # where `distpu tune` looks for settings of the default classifier
    kept: ClassVar[tuple[str, ...]] = ()  # models and arrays besides estimators_ that `_learn` sets and a folder stores

    estimator: Any = param(None, "the classifier inside: any with fit and predict_proba or decision_function")
    _: KW_ONLY

    def _default(self) -> Any:
        """Return the classifier inside for estimator=None."""
        raise NotImplementedError

    def _learn(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        """Fit classifiers into estimators_; set prior_, threshold_ and what `_decide` needs. This is the method."""
        raise NotImplementedError

    # ----------------------------------------------------------- fit, predict

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.estimator is not None and (isinstance(self.estimator, type) or not hasattr(self.estimator, "fit")):
            raise ValueError(
                f"estimator={short(self.estimator)} is no classifier; give one, such as RandomForestClassifier(), or "
                "leave estimator= out"
            )

    def _check_learner(self) -> None:
        refuse_several(f"{self.name} trains no network")

    def _train(self, rows: Any, s: np.ndarray, sets: dict[str, Any], folder: RunFolder | None, seed: int) -> None:
        if folder:  # a classifier that has no safe file is refused before it takes hours to fit
            models.content_of(self.estimator, type(self).__name__)
        if self._weight is not None and not has_fit_parameter(self._fresh(np.random.RandomState(0)), "sample_weight"):
            inside = type(self.estimator).__name__
            raise ValueError(
                f"estimator={inside} takes no sample_weight; leave the weights out, or take a classifier whose fit has "
                "them, such as HistGradientBoostingClassifier()"
            )
        self._folder, self._number = folder, 0
        with Bar(self.progress in ("auto", True)) as self._bar:
            self._learn(rows, s, np.random.RandomState(self.random_state if type(self.random_state) is int else seed))
        del self._bar

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
        self.estimator = None  # the config has its name only; the model file has the classifier
        super()._with_network(network, path)

    def _row_keys(self, rows: Any) -> np.ndarray:
        return row_keys(rows)[:, None]

    def _fingerprint(self, rows: Any) -> int:
        return fingerprint(rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inside = getattr(self._default() if self.estimator is None else self.estimator, "__sklearn_tags__", None)
        if inside is not None:  # a classifier of another library may have none
            for what in ("sparse", "allow_nan", "categorical", "string"):
                setattr(tags.input_tags, what, getattr(inside().input_tags, what))
        return tags

    # ------------------------------------------------------ what methods call

    def _with_inside(self, settings: dict[str, Any]) -> None:
        """Take settings of the classifier inside, named as that classifier names them."""
        model = self._default() if self.estimator is None else clone(self.estimator)
        known = model.get_params()
        for name in settings:
            if name not in known:
                what = f"{type(model).__name__}, the classifier inside {self.name},"
                raise ValueError(f"{what} has no setting {name!r}{near(name, known)}")
        self.estimator = model.set_params(**settings)

    def _fresh(self, random: np.random.RandomState) -> Any:
        """Return an unfitted copy of the classifier inside. A random_state of None gets a seed."""
        model = self._default() if self.estimator is None else clone(self.estimator)
        if not hasattr(model, "get_params"):
            return model
        params = model.get_params()
        names = sorted(k for k in params if k == "random_state" or k.endswith("__random_state"))
        seeds = {k: random.randint(2**31 - 1) for k in names if params[k] is None}
        return model.set_params(**seeds) if seeds else model

    def _fit_one(self, X: Any, rows: np.ndarray, s: np.ndarray, random: np.random.RandomState, of: int) -> Any:
        """Fit a classifier of s == 1 against s == 0 on the given rows. It is one of `of` classifiers.

        A model that took long is stored in the folder, if there is one, so that a killed run need not fit it again.
        The resumed run gives the same bits: the random state advances alike whether a model is fitted or found.
        """
        model, self._number = self._fresh(random), self._number + 1
        kept = self._folder.part(self._number) if self._folder else None
        if kept is not None:
            return kept
        start = time.monotonic()
        with few_threads(len(rows)):
            weights = {} if self._weight is None else {"sample_weight": self._weight[rows]}
            model.fit(self._without_blank_columns(take(X, rows)), s, **weights)
        if self._folder and time.monotonic() - start > KEPT_FROM:
            self._folder.keep_part(self._number, model, type(self).__name__)
        self._bar.update(self.name, self._number, of)
        return model

    def _without_blank_columns(self, X: Any) -> Any:
        """Return X with 0 in columns of blanks alone: no tree splits on them, and scikit-learn 1.9 fails on them.

        This is for the classifier inside that a method takes by default. A user's own gets the rows as they are.
        """
        if self.estimator is not None or issparse(X):
            return X
        if _from(X, "pandas") and is_frame(X):
            some = X.isna().all()
            return X.mask(X.isna() & some, 0.0) if some.any() else X
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
            return X
        blank = np.isnan(X).all(0)
        return np.where(blank, 0, X).astype(X.dtype) if blank.any() else X

    def _folds(self, X: Any, s: np.ndarray, k: int, random: np.random.RandomState) -> np.ndarray:
        """Return the fold of each row. Equal rows share a fold. Few different labelled rows give fewer than k folds."""
        key = row_keys(X)
        different = len(np.unique(key[s == 1]))
        if different < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 different labelled positives, y marks {different}; label more"
            )
        return folds(key[:, None], s, min(k, different), random.randint(2**31 - 1))

    def _cross_fitted(
        self, X: Any, s: np.ndarray, k: int, random: np.random.RandomState
    ) -> tuple[list[Any], np.ndarray]:
        """Fit one model per fold, on the other folds. Return the models, and each row's score by its fold's model."""
        fold, score, fitted = self._folds(X, s, k, random), np.empty(len(s)), []
        for i in range(fold.max() + 1):
            out, rest = np.flatnonzero(fold == i), np.flatnonzero(fold != i)
            if s[rest].all():
                raise ValueError(
                    f"{type(self).__name__} needs at least 2 different unlabelled rows; add some to X and y"
                )
            fitted.append(self._fit_one(X, rest, s[rest], random, fold.max() + 1))
            score[out] = scores(fitted[-1], take(X, out))
        return fitted, score

    def _prior_from(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> float:
        """Return the prior: given or estimated. NaN: nothing was told, and the method finds its own."""
        self._random = random
        return self._find_prior(X, s, None)  # not from the folder: a resumed run must draw the same random numbers

    def _estimated(self, rows: Any, s: np.ndarray) -> Estimate:
        """The estimator takes the rows, or this method's own held-out scores if rows are no numbers or have weights."""
        if self._weight is None and (x := numbers(rows)) is not None:
            return estimated(self.prior, x, s)
        score = self._held_out_scores(rows, s, self._random)
        i = counted(score, s, self._weight)
        score, s = score[i], s[i]
        return estimated_from_scores(self.prior, score[s == 1], score[s == 0])

    def _place(self, rows: Any, seen: np.ndarray) -> None:
        if self.per_row is None:
            return
        decision = np.empty(rows.shape[0] if hasattr(rows, "shape") else len(rows))
        rest = np.setdiff1d(np.arange(len(decision)), seen)
        decision[seen] = getattr(self, self.per_row)
        decision[rest] = self._decide(self._raw_scores(take(rows, rest)))  # no model was fitted on the rest
        setattr(self, self.per_row, decision)

    def _held_out_scores(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> np.ndarray:
        """Return each row's score by models that were not fitted on it."""
        return self._cross_fitted(X, s, FOLDS, random)[1]

    # ---------------------------------------------------------------- checks

    def _encodes(self) -> bool:
        """Return whether a frame is encoded. A pipeline of the user's own gets the frame as it is."""
        if self.encode == "auto" and self.estimator is not None:
            return not any(hasattr(one, "steps") or hasattr(one, "transformers") for one in self._inside())
        return super()._encodes()

    def _inside(self) -> list[Any]:
        """Return the classifier inside, and the objects that are its parameters."""
        params = self.estimator.get_params() if hasattr(self.estimator, "get_params") else {}
        return [self.estimator, *params.values()]

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Return X for the classifier inside. `reset` stores its width and column names; else they are compared."""
        if self.estimator is None:
            refuse_no_numbers(X)
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
            check_array(np.empty(X.shape))  # raises scikit-learn's own message
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X


@lru_cache(maxsize=1)
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def few_threads(rows: int) -> Any:
    """Limit OpenMP to one thread for few rows.

    The threads of gradient boosting spin while they wait, so several fits on shared cores stall each other: two fits of
    569 rows on two cores took over 60 s, and 2.3 s with one thread each.
    """
    return _pools().limit(limits=1, user_api="openmp") if rows < FEW else nullcontext()


def one_thread() -> Any:
    """Limit OpenMP and BLAS to one thread: on small matrices, their threads spin and gain nothing."""
    return _pools().limit(limits=1)


def scores(model: Any, X: Any) -> np.ndarray:
    """Return a fitted classifier's scores of class 1: probabilities if it has them, else decision values."""
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
    """Return the log-odds of the models' probabilities. Decision values are returned as they are."""
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
    """Number the rows by first appearance, equal rows alike, so that an array and a frame give the same folds."""
    return pd.factorize(row_hashes(X))[0]


def row_hashes(X: Any) -> np.ndarray:
    """Return a value for each row, equal for equal rows."""
    if issparse(X):
        X = X.sorted_indices()
        spans = zip(X.indptr, X.indptr[1:], strict=False)
        return np.array([X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in spans], dtype=object)
    if hasattr(X, "hash_rows"):  # polars
        return X.hash_rows().to_numpy()
    frame = pd.DataFrame(X)
    try:
        return pd.util.hash_pandas_object(frame, index=False, categorize=False).to_numpy()
    except (TypeError, ValueError):  # vectors in cells
        texts = frame.apply(lambda column: column.map(_vector_as_text) if column.dtype == object else column)
        return pd.util.hash_pandas_object(texts, index=False, categorize=False).to_numpy()


def _vector_as_text(value: Any) -> Any:
    return str(list(value)) if isinstance(value, list | tuple | np.ndarray) else value


def fingerprint(X: Any) -> int:
    """Return a checksum of all rows."""
    crc = 0
    for part in (X.data, X.indices, X.indptr) if issparse(X) else (row_hashes(X),):
        crc = zlib.crc32(np.ascontiguousarray(part).tobytes(), crc)
    return crc
