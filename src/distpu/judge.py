"""Compares methods without negatives, by PU metrics on held-out PU rows; makes scorers and folds for scikit-learn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing as take

from . import metrics
from .datasets.draw import folds
from .inputs import read_labels
from .methods import make, method_class
from .methods._wrapper import row_keys
from .params import near
from .prior import share_of

FOLDS = 3


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
) -> Iterator[Judged | tuple[str, str]]:
    """Yield the metrics of each method on a user's own rows, or (name, reason) if the method fails.

    All methods get the same prior. It is given, or estimated once.
    """
    s, _ = read_labels(y, pos_label)
    share = share_of(prior, X, s)
    fold = folds(row_keys(X)[:, None], s, min(k, int(s.sum())), random_state)
    for name in methods:
        start, z = time.perf_counter(), np.empty(len(s))
        told: dict[str, Any] = {"prior": share, "random_state": random_state}
        if method_class(name).trains_network:
            told["preset"] = preset
        try:
            for i in range(fold.max() + 1):
                model = make(name, told)
                out, rest = np.flatnonzero(fold == i), np.flatnonzero(fold != i)
                model.fit(take(X, rest), s[rest])
                z[out] = model.decision_function(take(X, out))
        except (ValueError, FloatingPointError) as why:
            yield name, " ".join(str(why).split())
            continue
        seconds = time.perf_counter() - start
        accuracy, auc = metrics.pu_accuracy(s, z, share), metrics.pu_auc(s, z)
        yield Judged(name, float(accuracy), accuracy.error, float(auc), float((z[s == 0] >= 0).mean()), seconds)


def best(judged: Iterable[Judged]) -> list[Judged]:
    """Return the method of highest PU accuracy, then those within one standard error of it."""
    order = sorted(judged, key=lambda one: (-one.pu_accuracy, -one.pu_auc))
    return [one for one in order if one.pu_accuracy >= order[0].pu_accuracy - order[0].error] if order else []


# ---------------------------------------------------------------- for scikit-learn

LESS_IS_BETTER = ("pu_unbiased_risk", "pu_non_negative_risk", "prior_gap")  # as scorers they are negated
SCORERS = tuple(f"neg_{name}" if name in LESS_IS_BETTER else name for name in metrics.PU_METRICS)
NO_PRIOR = ("pu_recall", "pu_auc", "lee_liu")


@dataclass(frozen=True)
class PUScorer:
    """A PU metric as scikit-learn calls it: `scorer(estimator, X, y)`, y with PU labels. More is better."""

    name: str
    prior: float | None
    scenario: str
    pos_label: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        s, (_, positive) = read_labels(y, self.pos_label)
        metric = metrics.PU_METRICS[self.name.removeprefix("neg_")]
        told = {"prior": self.prior, "scenario": self.scenario}
        found = metric(s, _decisions(estimator, X, positive), **{k: told[k] for k in told if k in _names(metric)})
        return -abs(float(found)) if self.name == "neg_prior_gap" else float(-found if "neg_" in self.name else found)


def make_pu_scorer(
    name: str, *, prior: float | None = None, scenario: str = "case-control", pos_label: Any = None
) -> PUScorer:
    """Make a scorer of a metric without negatives, for `GridSearchCV(..., scoring=...)` and `cross_val_score`.

    name       "pu_accuracy", "pu_precision", "pu_recall", "pu_f1", "pu_roc_auc", "pu_average_precision", "pu_auc",
               "pu_proxy_accuracy", "lee_liu", "neg_pu_unbiased_risk", "neg_pu_non_negative_risk" or "neg_prior_gap"
    prior      share of positives among the unlabelled rows; "pu_recall", "pu_auc" and "lee_liu" do without
    scenario   "case-control": the population is that of the unlabelled rows; "single-set": that of all rows
    pos_label  the labelled positives' value in y, where y holds other values than 1 and 0, -1, False or missing

    y holds PU labels, and a row is called positive where `predict` calls it so. Give the folds with
    `cv=PUStratifiedKFold()`: each fold needs labelled rows.
    """
    if name not in SCORERS:
        hint = f"; did you mean 'neg_{name}'?" if name in LESS_IS_BETTER else near(name, SCORERS)
        raise ValueError(f"there is no PU scorer {name!r}{hint}; known: {', '.join(SCORERS)}")
    if prior is None and name not in NO_PRIOR:
        raise ValueError(
            f"{name!r} needs prior=, the share of positives among the unlabelled rows; "
            "distpu.estimate_prior(X, y) estimates it"
        )
    if prior is not None and not 0 < prior < 1:
        raise ValueError(f"prior={prior} must lie strictly between 0 and 1")
    if scenario not in metrics.SCENARIOS:
        known = ", ".join(map(repr, metrics.SCENARIOS))
        raise ValueError(f"scenario={scenario!r} is not known; use one of {known}")
    return PUScorer(name, prior, scenario, pos_label)


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
        keys = row_keys(X.reshape(len(X), -1) if getattr(X, "ndim", 2) > 2 else X)  # images are rows of pixels here
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
