"""Scores of rows by models that never saw them."""

from __future__ import annotations

import numpy as np

from ..datasets.draw import folds

FOLDS, TREES, MAX_ROWS, MAX_FEATURES = 5, 200, 20_000, 50


def out_of_fold_scores(x: np.ndarray, s: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores P(labelled | x) of a random forest that never saw the row: (labelled rows', unlabelled rows').

    Beyond MAX_ROWS rows a sample is scored: the estimate is as sure as the number of labelled rows lets it be, and
    a forest on all rows costs minutes. Images, and tables wider than MAX_FEATURES columns by a factor of ten, are
    reduced to MAX_FEATURES principal components first: a tree splits on one pixel at a time, and single pixels say
    little while the components carry most of the variance.
    """
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(seed)
    positive, unlabelled = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    p = random.permutation(positive)[: MAX_ROWS // 2]
    u = random.permutation(unlabelled)[: MAX_ROWS - len(p)]
    rows = np.concatenate([p, u])
    z, s = np.ascontiguousarray(x[rows].reshape(len(rows), -1), dtype=np.float32), s[rows]
    fold = folds(z, s, min(FOLDS, len(p)), seed)
    if x.ndim > 2 or z.shape[1] > 10 * MAX_FEATURES:
        size = min(MAX_FEATURES, *z.shape)
        z = PCA(size, svd_solver="randomized", random_state=seed).fit_transform(z)
    score = np.empty(len(z))
    for k in range(fold.max() + 1):
        if not s[fold != k].any():  # every labelled row is a copy of one and the same
            raise ValueError("prior='auto' needs at least 2 different labelled positives; give the prior as a number")
        forest = RandomForestClassifier(TREES, n_jobs=-1 if len(z) > 2000 else 1, random_state=seed)
        forest.fit(z[fold != k], s[fold != k])
        score[fold == k] = forest.predict_proba(z[fold == k])[:, 1]
    return score[s == 1], score[s == 0]
