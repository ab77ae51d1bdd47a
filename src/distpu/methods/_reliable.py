"""Reliable negatives: ways to find unlabelled rows that are surely negative, for the first of two steps.

    spy    t = the spies' score below which a share `noise` of them lies;  N = {U rows below t}      Liu et al. 2002
    1-dnf  F = {features more frequent in P than in U};  N = {U rows with no feature of F}           Yu et al. 2004
    knn    d(x) = mean distance to the k nearest labelled rows;  N = {U rows with the largest d}     Zhang and Zuo 2009

1-dnf and knn need columns. A word or a positive number of a sparse table is a feature. A column of a dense table gives
two features, above and below its median, so that a class of low values has features too. A blank is no feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from ..inputs import numbers
from ._wrapper import is_frame, is_texts

LIFT = 1.2  # in a dense table a feature of F is so many times as frequent in P; half of all are a little more frequent
CHUNK = 2_000  # rows whose distances are held at a time


def spy_bound(spies: np.ndarray, noise: float) -> float:
    """Return t, the least score such that a share `noise` of the spies lies below it."""
    return float(np.sort(spies)[min(int(round(noise * len(spies), 9)), len(spies) - 1)])


def columns(X: Any, what: str) -> Any:
    """Return the rows as numbers. Texts become counts of words."""
    if not is_frame(X) and is_texts(X):
        from sklearn.feature_extraction.text import CountVectorizer

        return csr_matrix(CountVectorizer().fit_transform(np.asarray(X).tolist()))
    x = numbers(X)
    if x is None:
        raise ValueError(f"reliable={what!r} needs columns of numbers, or texts; encode the columns, or use 'spy'")
    return csr_matrix(x) if issparse(x) else x.astype(float)


def features(x: Any) -> Any:
    """Return which row has which feature, as a sparse matrix of 0 and 1."""
    if issparse(x):
        return csr_matrix(x > 0, dtype=float)
    blank = np.isnan(x).all(0)
    middle = np.where(blank, 0, np.nanmedian(np.where(blank, 0, x), axis=0))
    return csr_matrix(np.hstack([x > middle, x < middle]), dtype=float)


def positive_features(has: Any, s: np.ndarray, lift: float = 1.0) -> np.ndarray:
    """F: return a mask of the features whose frequency in P is above `lift` times the frequency in U."""
    in_p, in_u = (np.asarray(has[s == kind].mean(0)).ravel() for kind in (1, 0))
    return in_p > lift * in_u


def one_dnf(x: Any, s: np.ndarray, least: int) -> np.ndarray:
    """Return numbers of the unlabelled rows with no feature of F; else of the `least` rows with fewest."""
    U, has = np.flatnonzero(s == 0), features(x)
    F = positive_features(has, s, 1.0 if issparse(x) else LIFT)
    count = np.asarray(has[U][:, F].sum(1)).ravel()
    none = U[count == 0]
    return none if len(none) else U[np.argsort(count, kind="stable")[:least]]


def distances(x: Any, s: np.ndarray, k: int) -> np.ndarray:
    """Return each row's mean distance to its k nearest labelled rows other than itself.

    Columns of a dense table are standardised, and a blank is the mean. A sparse table has cosine distances.
    """
    from sklearn.metrics.pairwise import cosine_distances, euclidean_distances

    far = cosine_distances if issparse(x) else euclidean_distances
    x = x if issparse(x) else standardised(x, *scale_of(x))
    P, found = np.flatnonzero(s == 1), np.empty(len(s))
    k = min(k, len(P) - 1)
    for start in range(0, len(s), CHUNK):
        rows = np.arange(start, min(start + CHUNK, len(s)))
        d = far(x[rows], x[P])
        d[rows[:, None] == P] = np.inf
        found[rows] = np.partition(d, k - 1, axis=1)[:, :k].mean(1)
    return found


def scale_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the deviation of each column, without blanks. A constant column has the deviation 1."""
    x = np.where(np.isnan(x).all(0), 0.0, x)
    spread = np.nanstd(x, axis=0, dtype=float)
    return np.nanmean(x, axis=0, dtype=float), np.where(spread > 0, spread, 1.0)


def standardised(x: np.ndarray, center: np.ndarray, spread: np.ndarray) -> np.ndarray:
    return np.nan_to_num((x - center) / spread)
