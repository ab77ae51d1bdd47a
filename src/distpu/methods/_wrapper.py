"""Wrapper: what the PU methods around a scikit-learn classifier share. Rows are checked by the classifier inside."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing as take
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..datasets.draw import folds
from ..inputs import read_labels
from ..params import check_parameters, param
from ..prior import estimate_prior
from ..prior.bbe import bbe
from ..prior.scores import FOLDS

FEW = 20_000  # rows; boosting on 20,000 x 30 takes 0.42 s on one thread and 0.37 on two, on 100,000 1.48 and 0.96
TINY = 1e-6  # probabilities are kept this far from 0 and 1 before their log-odds are taken


@dataclass(eq=False, repr=False)
class Wrapper(ClassifierMixin, BaseEstimator):
    """A PU method around any classifier with `fit` and `predict_proba` (or `decision_function`).

    `fit(X, y)` takes rows as the classifier inside takes them (arrays, pandas or polars frames, sparse matrices, texts;
    images are flattened) and PU labels: 1 for labelled positives, 0 (or -1, False, missing) for unlabelled rows.
    The classifier inside sees 1 and 0. After it:

    prior_       share of positives among the unlabelled rows, given or estimated
    classes_     [the unlabelled value, the positive value], as in y
    estimators_  the fitted classifiers inside, whose scores are averaged
    """

    name: ClassVar[str]  # as in WRAPPERS
    paper: ClassVar[str]
    needs_prior: ClassVar[bool] = False

    estimator: Any = param(None, "the classifier inside: any with fit and predict_proba or decision_function")
    _: KW_ONLY
    prior: float | str = param(
        "auto", "share of positives among the unlabelled rows; 'auto': the method's own estimate"
    )
    pos_label: Any = param(None, "which of two label values marks the labelled positives, when it is not 1")
    random_state: Any = param(None, "seed; also given to the classifier inside, where that has none of its own")

    def _default(self) -> Any:
        """The classifier inside when none is given."""
        raise NotImplementedError

    def _learn(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> None:
        """The method: fit classifiers into estimators_, set prior_ and what `_decide` needs."""
        raise NotImplementedError

    def _decide(self, score: np.ndarray) -> np.ndarray:
        """Decision values of rows from the mean score of the classifiers inside: positive from 0 on."""
        raise NotImplementedError

    # ------------------------------------------------------------ scikit-learn

    def fit(self, X: Any, y: Any) -> Wrapper:
        self._check_parameters()
        if y is None:
            validate_data(self, X, y)  # raises, in scikit-learn's words
        X = self._rows(X, reset=True)
        s, self.classes_ = read_labels(y, self.pos_label)
        if len(s) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, but y has {len(s)} labels; give one label per row")
        self._learn(X, s, check_random_state(self.random_state))
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """(n,): from 0 on a row is predicted positive."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        return self._decide(np.mean([scores(model, X) for model in self.estimators_], axis=0))

    def _probability(self, decision: np.ndarray) -> np.ndarray:
        return expit(decision)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, 2): probability of [unlabelled value = negative, positive], as in the unlabelled rows' population."""
        p = self._probability(self.decision_function(X))
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> np.ndarray:
        """The user's own label values: the positive one where its probability is at least 1/2."""
        positive = self.decision_function(X) >= 0
        return self.classes_[positive.astype(int)]

    def save(self, folder: str | Path) -> NoReturn:
        raise ValueError(
            f"{type(self).__name__} holds scikit-learn models, for which there is no file format that is safe to load "
            "from anywhere; store it with joblib.dump, whose files may run code when loaded, or with skops.io.dump"
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = self.random_state is None
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

    def _fitted(self, X: Any, rows: np.ndarray, s: np.ndarray, random: np.random.RandomState) -> Any:
        """A classifier of s == 1 against s == 0, fitted on those rows."""
        model = self._fresh(random)
        with few_threads(len(rows)):
            model.fit(take(X, rows), s)
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
        fold, score, models = self._folds(X, s, k, random), np.empty(len(s)), []
        for i in range(fold.max() + 1):
            out, rest = np.flatnonzero(fold == i), np.flatnonzero(fold != i)
            if s[rest].all():
                raise ValueError(f"{type(self).__name__} needs at least 2 different unlabelled rows; y leaves fewer")
            models.append(self._fitted(X, rest, s[rest], random))
            score[out] = scores(models[-1], take(X, out))
        return models, score

    def _estimated_prior(self, X: Any, s: np.ndarray, random: np.random.RandomState) -> float:
        """BBE on a forest's scores where rows are finite numbers, else on those of the classifier inside."""
        x = numbers(X)
        if x is not None:
            return estimate_prior(x, s)
        _, score = self._cross_fitted(X, s, FOLDS, random)
        return inside_unit(bbe(score[s == 1], score[s == 0]), s)

    # ---------------------------------------------------------------- checks

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _rows(self, X: Any, reset: bool) -> Any:
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


def cut_at(z: np.ndarray, share: float) -> float:
    """The cut that leaves about this share of the log-odds above it, halfway between two different values.

    Halfway: trees give many rows one score, and a cut on such a score would take all of them or none. Where all rows
    have one score, the cut gives each of them the probability `share`.
    """
    values, count = np.unique(z.round(9), return_counts=True)  # means of equal scores differ in their last bit
    if len(values) < 2:
        return float(values[0] - logit(share))
    above = 1 - np.cumsum(count[:-1]) / len(z)
    i = np.argmin(np.abs(above - share))
    return float((values[i] + values[i + 1]) / 2)


def inside_unit(share: float, s: np.ndarray) -> float:
    """A share of the unlabelled rows, kept strictly between 0 and 1 as in distpu.prior."""
    least = 1 / (1 + int((s == 0).sum()))
    return float(min(max(share, least), 1 - least))


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
    if issparse(X):
        X = X.sorted_indices()
        spans = zip(X.indptr, X.indptr[1:], strict=False)
        rows = np.array([X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in spans], dtype=object)
    elif hasattr(X, "hash_rows"):  # polars
        rows = X.hash_rows().to_numpy()
    else:
        rows = pd.util.hash_pandas_object(pd.DataFrame(X), index=False, categorize=False).to_numpy()
    return pd.factorize(rows)[0]


def numbers(X: Any) -> np.ndarray | None:
    """X as float32, or None where it is not a dense table of finite numbers."""
    if issparse(X):
        return None
    try:
        with np.errstate(over="ignore"):
            x = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return x if x.ndim == 2 and np.isfinite(x).all() else None
