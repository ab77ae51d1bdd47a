"""Scores rows by models that were not trained on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..datasets.draw import folds

FOLDS, TREES, LEAF, MAX_ROWS, MAX_FEATURES = 5, 200, 5, 20_000, 50
DENSE = 50_000_000  # values; a wide sparse table with more is not made dense


def out_of_fold_scores(x: Any, s: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores P(labelled | x) of the labelled and of the unlabelled rows.

    A random forest that was trained on the other folds scores each row. Of more than MAX_ROWS rows a sample is scored:
    a forest on all rows takes minutes, and the number of labelled rows limits the precision anyway. Images, and tables
    of more than 10 MAX_FEATURES columns, are first reduced to MAX_FEATURES principal components: a tree splits on one
    pixel at a time and a single pixel says little, while the components carry most of the variance. A sparse table has
    the scores of the same table as an array. The forest itself handles missing values.
    """
    from sklearn.ensemble import RandomForestClassifier

    rows = _sampled(s, seed)
    s = s[rows]
    z, fold = _few_columns(x[rows], s, min(FOLDS, int(s.sum())), seed)
    score = np.empty(len(s))
    for k in range(fold.max() + 1):
        if len(np.unique(s[fold != k])) < 2:  # equal rows share a fold, so all rows of a kind may lie in one
            raise ValueError(
                "prior='auto' needs at least 2 different labelled positives and 2 different unlabelled rows; give the "
                "prior as a number"
            )
        forest = RandomForestClassifier(
            TREES, min_samples_leaf=LEAF, n_jobs=-1 if len(z) > 2000 else 1, random_state=seed
        )
        forest.fit(z[fold != k], s[fold != k])
        score[fold == k] = forest.predict_proba(z[fold == k])[:, 1]
    return score[s == 1], score[s == 0]


def _sampled(s: np.ndarray, seed: int) -> np.ndarray:
    """Return the numbers of at most MAX_ROWS rows in random order, the labelled rows first: half of them at most."""
    random = np.random.default_rng(seed)
    p = random.permutation(np.flatnonzero(s == 1))[: MAX_ROWS // 2]
    return np.concatenate([p, random.permutation(np.flatnonzero(s == 0))[: MAX_ROWS - len(p)]])


def _without_blanks(z: np.ndarray) -> np.ndarray:
    """Return z with each NaN replaced by the median of its column."""
    return np.where(np.isnan(z), np.nanmedian(z, axis=0), z) if np.isnan(z).any() else z


def _few_columns(x: Any, s: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows as a table that a forest can take, and the fold of each row."""
    from sklearn.decomposition import PCA, TruncatedSVD

    if hasattr(x, "indptr") and x.shape[1] > 10 * MAX_FEATURES and x.shape[0] * x.shape[1] > DENSE:
        x.data = np.where(np.isnan(x.data), 0, x.data)  # the median of a column that is mostly 0
        z = TruncatedSVD(min(MAX_FEATURES, x.shape[1] - 1), random_state=seed).fit_transform(x).astype(np.float32)
        return z, folds(z, s, k, seed)
    z = x.toarray() if hasattr(x, "indptr") else x
    images = z.ndim > 2
    z = np.ascontiguousarray(z.reshape(len(z), -1), dtype=np.float32) + np.float32(0)  # -0.0 and 0.0 are equal rows
    fold = folds(z, s, k, seed)
    if images or z.shape[1] > 10 * MAX_FEATURES:
        z = _without_blanks(z)
        z = PCA(min(MAX_FEATURES, *z.shape), svd_solver="randomized", random_state=seed).fit_transform(z)
    return z, fold


def filled_rows(x: Any, s: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The labelled and the unlabelled rows as tables without blanks, MAX_ROWS rows at most; wide ones are reduced.

    A blank becomes the median of its column, because distances and ranges know no blank. Wild values are tamed.
    """
    rows = np.sort(_sampled(s, seed))
    z, _ = _few_columns(x[rows], s[rows], 2, seed)
    z = _tamed(_without_blanks(z[:, ~np.isnan(z).all(0)].astype(np.float64)))
    return z[s[rows] == 1], z[s[rows] == 0]


def _tamed(z: np.ndarray) -> np.ndarray:
    """Move values beyond a column's 1st and 99th percentile there; a column whose percentiles are equal stays.

    Four wild values among 15,000 rows set the scale of a column otherwise: all rows lie in one quarter of its range.
    """
    low, high = np.quantile(z, [0.01, 0.99], axis=0)
    varies = high > low  # a rare 1 among zeros is no wild value
    return np.clip(z, np.where(varies, low, -np.inf), np.where(varies, high, np.inf))
