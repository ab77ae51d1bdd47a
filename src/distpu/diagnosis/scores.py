"""Scores rows out of fold, by boosted trees of labelled against unlabelled rows. A forest would take minutes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..datasets.draw import folds

FOLDS, ROUNDS = 4, 60
MAX_ROWS, MAX_COLUMNS, COMPONENTS = 20_000, 200, 50


def sampled(s: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Return the numbers of at most `most` rows, in order; at most half of them are labelled where a choice is made."""
    if len(s) <= most:
        return np.arange(len(s))
    random = np.random.default_rng(seed)
    p, u = (random.permutation(np.flatnonzero(s == kind)) for kind in (1, 0))
    p = p[: max(most // 2, most - len(u))]
    return np.sort(np.concatenate([p, u[: most - len(p)]]))


def dense(x: Any) -> np.ndarray:
    """Return rows as a table of float32; pixels of images become columns."""
    x = x.toarray() if hasattr(x, "indptr") else x
    return np.ascontiguousarray(x.reshape(len(x), -1), dtype=np.float32)


def components(x: Any, seed: int) -> np.ndarray:
    """Return the principal components of a wide table. A blank counts as the median of its column."""
    from sklearn.decomposition import PCA, TruncatedSVD

    if hasattr(x, "indptr"):
        return TruncatedSVD(COMPONENTS, random_state=seed).fit_transform(x).astype(np.float32)
    z = dense(x)
    if np.isnan(z).any():
        z = z[:, ~np.isnan(z).all(axis=0)]
        z = np.where(np.isnan(z), np.nanmedian(z, axis=0), z)
    count = min(COMPONENTS, *z.shape)
    return PCA(count, svd_solver="randomized", random_state=seed).fit_transform(z).astype(np.float32)


def fold_of(x: np.ndarray, s: np.ndarray, seed: int) -> np.ndarray:
    """Return the fold of each row. Equal rows share a fold; each fold leaves labelled rows in the others."""
    fold = folds(x, s, min(FOLDS, int(s.sum())), seed)
    if any(not s[fold != k].any() for k in range(fold.max() + 1)):
        raise ValueError("a diagnosis needs at least 2 different labelled rows; label more rows")
    return fold


def boosted(x: np.ndarray, s: np.ndarray, fold: np.ndarray, seed: int) -> np.ndarray:
    """Return a score of each row by trees that were not trained on the row's fold.

    Labelled rows weigh as much as unlabelled ones in sum. One thread and a fixed order give the same scores anywhere.
    """
    import lightgbm

    settings = {"objective": "binary", "learning_rate": 0.1, "num_leaves": 15, "min_data_in_leaf": 10, "max_bin": 63}
    settings |= {"feature_fraction": 0.6, "bagging_fraction": 0.8, "bagging_freq": 1, "seed": seed}
    settings |= {"verbosity": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True}
    z = np.empty(len(s))
    for k in range(fold.max() + 1):
        rest, out = np.flatnonzero(fold != k), fold == k
        labelled = int(s[rest].sum())
        weight = np.where(s[rest] == 1, (len(rest) - labelled) / labelled, 1.0)
        data = lightgbm.Dataset(x[rest], s[rest], weight=weight)
        z[out] = lightgbm.train(settings, data, ROUNDS).predict(x[out], raw_score=True)
    return z
