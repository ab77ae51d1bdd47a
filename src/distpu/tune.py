"""Compares methods without negatives, by PU metrics on held-out PU rows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing as take

from . import metrics
from .datasets.draw import folds
from .inputs import read_labels
from .methods import make, method_class
from .methods._wrapper import row_keys
from .prior import estimate_prior

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
    prior: float | str = "auto",
    preset: str = "auto",
    pos_label: Any = None,
    random_state: int = 0,
    k: int = FOLDS,
) -> Iterator[Judged | tuple[str, str]]:
    """Yield the metrics of each method on a user's own rows, or (name, reason) if the method fails.

    All methods get the same prior. It is given, or estimated once.
    """
    s, _ = read_labels(y, pos_label)
    share = estimate_prior(X, s) if prior == "auto" else float(prior)
    fold = folds(row_keys(X)[:, None], s, min(k, int(s.sum())), random_state)
    for name in methods:
        start, z = time.perf_counter(), np.empty(len(s))
        told: dict[str, Any] = {"prior": share, "random_state": random_state}
        if hasattr(method_class(name), "preset"):
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
        accuracy, error = metrics.pu_accuracy(s, z, share), _error(s, z, share)
        yield Judged(name, accuracy, error, metrics.pu_auc(s, z), float((z[s == 0] >= 0).mean()), seconds)


def _error(s: np.ndarray, z: np.ndarray, prior: float) -> float:
    """Return the standard error of PU accuracy, 2 prior P_P(z >= 0) + P_U(z < 0) - prior.

    Its two shares are of separate rows, so their variances add.
    """
    found, n_p, n_u = (z[s == 1] >= 0).mean(), (s == 1).sum(), (s == 0).sum()
    left = (z[s == 0] < 0).mean()
    return float(np.sqrt(4 * prior**2 * found * (1 - found) / n_p + left * (1 - left) / n_u))


def best(judged: Iterable[Judged]) -> list[Judged]:
    """Return the method of highest PU accuracy, then those within one standard error of it."""
    order = sorted(judged, key=lambda one: (-one.pu_accuracy, -one.pu_auc))
    return [one for one in order if one.pu_accuracy >= order[0].pu_accuracy - order[0].error] if order else []
