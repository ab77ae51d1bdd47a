"""How many of the unlabelled rows are positive? Class-prior estimators on out-of-fold scores.

All of them need some region that is almost purely positive. Where there is none they return
kappa* = inf p_U / p_P, the largest share consistent with the data; PU data alone cannot tell the two apart.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from ..train.data import folds

PriorEstimator = Callable[[np.ndarray, np.ndarray], float]  # (scores of labelled, scores of unlabelled) -> share


def bbe(z_p: np.ndarray, z_u: np.ndarray, delta: float = 0.1, gamma: float = 0.01) -> float:
    """Best bin estimation (Garg et al., NeurIPS 2021).

    q(c) = share of scores >= c;  eps = sqrt(ln(4/delta) / 2 n_P) + sqrt(ln(4/delta) / 2 n_U)
    c^ = argmin_c [q_U(c) + (1 + gamma) eps] / q_P(c);   prior = q_U(c^) / q_P(c^)
    """
    z_p, z_u = np.sort(z_p), np.sort(z_u)
    eps = sum(math.sqrt(math.log(4 / delta) / (2 * len(z))) for z in (z_p, z_u))
    cuts = np.unique(np.concatenate([z_p, z_u]))
    cuts = cuts[cuts <= z_p[-1]]  # above it q_P is 0
    q_p = 1 - np.searchsorted(z_p, cuts) / len(z_p)
    q_u = 1 - np.searchsorted(z_u, cuts) / len(z_u)
    best = np.argmin((q_u + (1 + gamma) * eps) / q_p)
    return float(np.clip(q_u[best] / q_p[best], 0, 1))


ESTIMATORS: dict[str, PriorEstimator] = {"bbe": bbe}

FOLDS, TREES, MAX_ROWS, MAX_FEATURES = 5, 200, 20_000, 50
# Six draws of breast-cancer at a true 0.30: of 5 labelled rows 0.28 to 1.0, of 10 0.24 to 0.66, of 20 0.31 to 0.38
FEW = 20


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


_recent: OrderedDict[str, float] = OrderedDict()  # ten methods on one data set need one estimate


def estimate_prior(x: np.ndarray, s: np.ndarray, estimator: str = "bbe") -> float:
    """Share of positives among the unlabelled rows, kept strictly between 0 and 1."""
    if (s == 1).sum() < 2:
        raise ValueError(
            "prior='auto' needs at least 2 labelled positives to estimate from; give the prior as a number"
        )
    key = hashlib.sha256(np.ascontiguousarray(x).data).hexdigest() + hashlib.sha256(s.tobytes()).hexdigest() + estimator
    if key not in _recent:
        share = ESTIMATORS[estimator](*out_of_fold_scores(x, s))
        least = 1 / (1 + int((s == 0).sum()))
        _recent[key] = min(max(share, least), 1 - least)
        if (labelled := int((s == 1).sum())) < FEW:
            warnings.warn(
                f"the prior is estimated at {_recent[key]:.2g} from {labelled} labelled positives: below {FEW} such an "
                "estimate may be off by a factor of two or more; give the prior as a number if you know it",
                UserWarning,
                stacklevel=2,
            )
        while len(_recent) > 64:
            _recent.popitem(last=False)
    return _recent[key]
