"""Choices without negatives: methods judged by PU metrics on held-out PU rows."""

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
from .methods import make
from .methods._wrapper import row_keys
from .prior import estimate_prior

FOLDS = 3


@dataclass(frozen=True)
class Judged:
    """A method on held-out PU rows. Each row is scored once, by a model that did not see it."""

    method: str
    pu_accuracy: float  # estimated accuracy among rows such as the unlabelled ones, at the prior
    error: float  # its standard error
    pu_auc: float  # labelled against unlabelled rows
    called: float  # share of the unlabelled rows called positive
    seconds: float


def compare_methods(
    X: Any,
    y: Any,
    methods: Iterable[str],
    *,
    prior: float | str = "auto",
    pos_label: Any = None,
    random_state: int = 0,
    k: int = FOLDS,
) -> Iterator[Judged | tuple[str, str]]:
    """Judge methods on a user's own rows, one after the other; a method that fails gives (name, why).

    The prior is one number for all of them: given, or estimated once.
    """
    s, _ = read_labels(y, pos_label)
    share = estimate_prior(X, s) if prior == "auto" else float(prior)
    fold = folds(row_keys(X)[:, None], s, min(k, int(s.sum())), random_state)
    for name in methods:
        start, z = time.perf_counter(), np.empty(len(s))
        try:
            for i in range(fold.max() + 1):
                model = make(name, {"prior": share, "random_state": random_state})
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
    """Standard error of PU accuracy: of 2 prior P_P(z >= 0) and of P_U(z < 0), which are shares of separate rows."""
    found, n_p, n_u = (z[s == 1] >= 0).mean(), (s == 1).sum(), (s == 0).sum()
    left = (z[s == 0] < 0).mean()
    return float(np.sqrt(4 * prior**2 * found * (1 - found) / n_p + left * (1 - left) / n_u))


def best(judged: Iterable[Judged]) -> list[Judged]:
    """The best by PU accuracy first, then those whose PU accuracy is within one standard error of it."""
    order = sorted(judged, key=lambda one: (-one.pu_accuracy, -one.pu_auc))
    return [one for one in order if one.pu_accuracy >= order[0].pu_accuracy - order[0].error] if order else []
