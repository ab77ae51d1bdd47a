"""Compares methods without negatives, by PU metrics on held-out PU rows; makes scorers and folds for scikit-learn."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing as take

from . import metrics
from .datasets.draw import folds
from .encode import TableEncoder, encoded
from .estimator import PUEstimator
from .inputs import read_labels
from .kinds import short
from .methods import make, method_class
from .methods._wrapper import row_hashes
from .metrics import Metric
from .on_ray import Here, check_pool, opened
from .params import near
from .prior import estimate_prior, is_number, share_of

FOLDS = 3


@dataclass(frozen=True)
class Judge:
    """Judges models on a user's own rows without negatives. Each row is scored once, by a model not trained on it.

    The default metric is the PU accuracy among rows like the unlabelled ones (scenario "case-control"). These rows
    are what a user asks about. The labelled rows have their answer already. This holds too where the labelled rows
    were taken out of the population: given the labels, the labelled rows are a draw from the positives, and the
    unlabelled rows are a separate draw that holds a share `prior` of positives. The scenario "single-set" judges by the
    population of all rows, labelled and unlabelled, for a model that will score new rows of that population.
    """

    X: Any
    s: np.ndarray
    prior: float  # share of positives among the unlabelled rows; the same for every model that is judged
    fold: np.ndarray  # of each row
    metric: str = "pu_accuracy"  # one of SCORERS: more is better
    scenario: str = "case-control"

    @classmethod
    def of(
        cls,
        X: Any,
        s: np.ndarray,
        prior: float,
        k: int = FOLDS,
        random_state: int = 0,
        metric: str = "pu_accuracy",
        scenario: str = "case-control",
    ) -> Judge:
        """Make a judge with k folds, or with fewer folds where fewer different rows are labelled."""
        keys = _keys(X)
        different = len(np.unique(keys[s == 1]))
        if different < 2:
            raise ValueError(f"judging needs at least 2 different labelled positives, y marks {different}; label more")
        fold = folds(keys[:, None], s, min(k, different), random_state)
        return cls(X, s, prior, fold, metric, scenario)

    @property
    def folds(self) -> int:
        return int(self.fold.max()) + 1

    def scores(self, model: Callable[[], PUEstimator], pool: Any = None, shared: Any = None) -> Iterator[np.ndarray]:
        """Yield, after each fold, the scores of the rows held out so far. Other rows have NaN.

        A pool of on_ray fits the folds, for which `shared` is this judge as the pool shares it; else this process does.
        """
        pool, shared = (Here(), self) if pool is None else (pool, shared)
        z = np.full(len(self.s), np.nan)
        for i, score in enumerate(pool.in_order(fold_scores, ((shared, model, i) for i in range(self.folds)))):
            z[self.fold == i] = score
            yield z.copy()

    def value(self, z: np.ndarray, s: np.ndarray | None = None) -> Metric:
        """Return the metric of scores, more is better, over the rows that have a score. `s`: of other rows than all."""
        s, scored = self.s if s is None else s, ~np.isnan(z)
        return more_is_better(self.metric, s[scored], z[scored], self.prior, self.scenario)


def fold_scores(judge: Judge, model: Callable[[], PUEstimator], fold: int) -> np.ndarray:
    """Return the scores of the rows of a fold by a model of the other folds."""
    out, rest = np.flatnonzero(judge.fold == fold), np.flatnonzero(judge.fold != fold)
    fitted = model().fit(take(judge.X, rest), judge.s[rest])
    with warnings.catch_warnings():  # a fold may lack rare categories: no news to a user
        warnings.filterwarnings("ignore", "cells that are not as in training", UserWarning)
        return fitted.decision_function(take(judge.X, out))


@dataclass(frozen=True)
class Judged:
    """The metrics of a method on held-out PU rows. Each row is scored once, by a model not trained on it."""

    method: str
    pu_accuracy: float  # estimated accuracy among rows like the unlabelled ones, given the prior
    error: float  # standard error of pu_accuracy
    pu_auc: float  # labelled against unlabelled rows
    called: float  # share of the unlabelled rows called positive
    seconds: float


def compare_methods(
    X: Any,
    y: Any,
    methods: Iterable[str],
    *,
    prior: Any = "auto",
    preset: str = "auto",
    pos_label: Any = None,
    random_state: int = 0,
    k: int = FOLDS,
    pool: str = "local",
    encode: Any = "auto",
) -> Iterator[Judged | tuple[str, str]]:
    """Yield the metrics of each method on a user's own rows, or (name, reason) if the method fails.

    All methods get the same prior. It is given, or estimated once. PU accuracy is that among rows like the unlabelled
    ones: these rows are what a user asks about, whether the labelled rows were taken out of them or not.

    pool    "local": one method after the other; "ray": methods side by side on a Ray cluster, with the same results
    encode  how a data frame becomes numbers, as every method takes it
    """
    check_pool(pool)
    s, _ = read_labels(y, pos_label)
    judge = Judge.of(X, s, share_of(prior, rows_for_prior(X, s, prior, encode), s), k, random_state)
    with opened(pool, "comparing on Ray") as nodes:
        shared = nodes.share(judge)
        tasks = [(shared, name, told_to(name, judge.prior, random_state, preset, encode)) for name in methods]
        yield from nodes.in_order(_judged, tasks)


def _judged(judge: Judge, name: str, told: dict[str, Any]) -> Judged | tuple[str, str]:
    start, z, s = time.perf_counter(), np.empty(0), judge.s
    try:
        for scores in judge.scores(partial(make, name, told)):
            z = scores
    except (ValueError, FloatingPointError) as why:
        return name, " ".join(str(why).split())
    seconds = time.perf_counter() - start
    accuracy, auc = judge.value(z), metrics.pu_auc(s, z)
    return Judged(name, float(accuracy), accuracy.error, float(auc), float((z[s == 0] >= 0).mean()), seconds)


def rows_for_prior(X: Any, s: np.ndarray, prior: Any, encode: Any) -> Any:
    """Return the rows that the prior is estimated on: numbers, if the user has an encoder. A number needs no rows."""
    return encoded(X, s, encode)[0] if isinstance(encode, TableEncoder) and not is_number(prior) else X


def told_to(name: str, prior: float, random_state: int, preset: str = "auto", encode: Any = "auto") -> dict[str, Any]:
    """Return what every method is told that is judged: the prior, the seed, and the preset if it has presets."""
    told: dict[str, Any] = {"prior": prior, "random_state": random_state}
    if isinstance(encode, TableEncoder):
        told["encode"] = encode
    return {**told, "preset": preset} if method_class(name).trains_network else told


def best(judged: Iterable[Judged]) -> list[Judged]:
    """Return the method of highest PU accuracy, then those within one standard error of it."""
    order = sorted(judged, key=lambda one: (-one.pu_accuracy, -one.pu_auc))
    return [one for one in order if one.pu_accuracy >= order[0].pu_accuracy - order[0].error] if order else []


# ---------------------------------------------------------------- for scikit-learn

LESS_IS_BETTER = ("pu_unbiased_risk", "pu_non_negative_risk", "prior_gap")  # as scorers they are negated
SCORERS = tuple(f"neg_{name}" if name in LESS_IS_BETTER else name for name in metrics.PU_METRICS)
LEAST = 30  # labelled rows for a prior of a fold's own: with 10 it is 0.12 too high where classes are far apart
NO_PRIOR = ("pu_recall", "pu_auc", "lee_liu")


@dataclass(frozen=True)
class PUScorer:
    """A PU metric as scikit-learn calls it: `scorer(estimator, X, y)`, y with PU labels. More is better."""

    name: str
    prior: float | str | None
    scenario: str
    pos_label: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        s, (_, positive) = read_labels(y, self.pos_label)
        prior = _prior_of(X, s) if isinstance(self.prior, str) else self.prior
        return float(more_is_better(self.name, s, _decisions(estimator, X, positive), prior, self.scenario))


def check_scorer(name: str) -> None:
    if name not in SCORERS:
        hint = f"; did you mean 'neg_{name}'?" if name in LESS_IS_BETTER else near(name, SCORERS)
        raise ValueError(f"there is no PU scorer {name!r}{hint}; known: {', '.join(SCORERS)}")


def check_scenario(scenario: str) -> None:
    if scenario not in metrics.SCENARIOS:
        known = ", ".join(map(repr, metrics.SCENARIOS))
        raise ValueError(f"scenario={scenario!r} is not known; use one of {known}")


def more_is_better(name: str, s: np.ndarray, z: np.ndarray, prior: float | None, scenario: str) -> Metric:
    """Return the metric of a scorer's name, with its standard error."""
    metric = metrics.PU_METRICS[name.removeprefix("neg_")]
    told = {"prior": prior, "scenario": scenario}
    found = metric(s, z, **{k: told[k] for k in told if k in _names(metric)})
    if name == "neg_prior_gap":
        return Metric(-abs(float(found)), found.error)
    return Metric(-float(found), found.error) if name.startswith("neg_") else found


def make_pu_scorer(
    name: str, *, prior: float | str | None = None, scenario: str = "case-control", pos_label: Any = None
) -> PUScorer:
    """Make a scorer of a metric without negatives, for `GridSearchCV(..., scoring=...)` and `cross_val_score`.

    name       "pu_accuracy", "pu_precision", "pu_recall", "pu_f1", "pu_roc_auc", "pu_average_precision", "pu_auc",
               "pu_proxy_accuracy", "lee_liu", "neg_pu_unbiased_risk", "neg_pu_non_negative_risk" or "neg_prior_gap"
    prior      share of positives among the unlabelled rows, or "auto"; "pu_recall", "pu_auc" and "lee_liu" do without
    scenario   "case-control": the population is that of the unlabelled rows; "single-set": that of all rows
    pos_label  the labelled positives' value in y, where y holds other values than 1 and 0, -1, False or missing

    y holds PU labels, and a row is called positive where `predict` calls it so. Give the folds with
    `cv=PUStratifiedKFold()`: each fold needs labelled rows.

    prior="auto" estimates the prior from the rows that are scored, with a forest of its own. It does not ask the model:
    all models that are scored on the same rows get the same prior. A fold must have at least 30 labelled rows. One
    estimate on all rows, `prior=distpu.estimate_prior(X, y)`, is more precise and takes less time.
    """
    check_scorer(name)
    if prior is None and name not in NO_PRIOR:
        raise ValueError(
            f"{name!r} needs prior=, the share of positives among the unlabelled rows; "
            "distpu.estimate_prior(X, y) estimates it"
        )
    if isinstance(prior, str) and prior != "auto":
        raise ValueError(f"prior={prior!r} must be a number strictly between 0 and 1, or 'auto'")
    if prior is not None and not isinstance(prior, str) and not 0 < prior < 1:
        raise ValueError(f"prior={short(prior)} must lie strictly between 0 and 1")
    check_scenario(scenario)
    return PUScorer(name, prior, scenario, pos_label)


_PRIORS: dict[
    bytes, float
] = {}  # estimates by checksum of the rows: the models of a search are scored on the same folds


def _prior_of(X: Any, s: np.ndarray) -> float:
    """Return the prior estimated from rows that are scored, once for the same rows."""
    labelled = int(s.sum())
    if labelled < LEAST:
        raise ValueError(
            f"prior='auto' needs at least {LEAST} labelled rows among those that are scored, and they have {labelled}; "
            "estimate it once on all rows: prior=distpu.estimate_prior(X, y)"
        )
    key = hashlib.sha256(np.ascontiguousarray(_hashes(X)).astype(str).tobytes() + s.tobytes()).digest()
    if key not in _PRIORS:
        if len(_PRIORS) >= 64:
            _PRIORS.pop(next(iter(_PRIORS)))
        _PRIORS[key] = estimate_prior(X, s)
    return _PRIORS[key]


def _keys(X: Any) -> np.ndarray:
    return pd.factorize(_hashes(X))[0]


def _hashes(X: Any) -> np.ndarray:
    return row_hashes(X.reshape(len(X), -1) if getattr(X, "ndim", 2) > 2 else X)  # images are rows of pixels here


def _names(metric: Any) -> list[str]:
    return list(signature(metric).parameters)


def _decisions(estimator: Any, X: Any, positive: Any) -> np.ndarray:
    """Return the rows' scores, called positive from 0 on: decisions, or probabilities less 1/2."""
    if hasattr(estimator, "decision_function"):
        z = np.asarray(estimator.decision_function(X), dtype=float)
    else:
        z = np.asarray(estimator.predict_proba(X), dtype=float)[:, 1] - 0.5
    classes = getattr(estimator, "classes_", [None])  # scikit-learn sorts them, so the positive one may come first
    return -z if classes[0] == positive else z


class PUStratifiedKFold(BaseCrossValidator):
    """Folds for PU labels: labelled and unlabelled rows are spread evenly, and equal rows stay in one fold.

    A labelled row whose unlabelled copy is held out would lend the copy its label. A fold without a labelled row could
    not be judged.

    n_splits      folds; at most as many as there are different labelled rows
    random_state  seed of the shuffling
    pos_label     the labelled positives' value in y, where y holds other values than 1 and 0, -1, False or missing
    """

    def __init__(self, n_splits: int = 5, *, random_state: int = 0, pos_label: Any = None) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits={n_splits} must be at least 2: one fold is held out, the others are trained on")
        self.n_splits = n_splits
        self.random_state = random_state
        self.pos_label = pos_label

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[np.ndarray]:
        s, _ = read_labels(y, self.pos_label)
        keys = _keys(X)
        labelled = len(np.unique(keys[s == 1]))
        if labelled < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} needs as many different labelled rows; y marks {labelled}: "
                + (f"use n_splits={labelled}" if labelled > 1 else "label more rows")
            )
        fold = folds(keys[:, None], s, self.n_splits, self.random_state)
        if len(np.unique(fold[s == 0])) < self.n_splits:
            raise ValueError(f"n_splits={self.n_splits} leaves a fold without an unlabelled row; use fewer folds")
        for i in range(self.n_splits):
            yield fold == i
