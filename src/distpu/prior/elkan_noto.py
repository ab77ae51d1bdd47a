"""Elkan and Noto: Learning Classifiers from Only Positive and Unlabeled Data, KDD 2008. Estimators e1 and the ratio.

    c = E_P[z]                           z = P(s=1 | x), the scores of labelled rows by models that never saw them
    e1:     prior = n_P (1 - c) / (c n_U)          prior = (1 - c) / c where the classifier's classes are balanced
    ratio:  prior = E_U[z] / E_P[z]

z must be a probability. The paper calibrates z by Platt's sigmoid. Here an isotonic regression on the scores at hand
does that; calibrate=False takes the scores as they are. Overlap of the classes or a weak classifier lowers c, so that
the prior is too large.
"""

from __future__ import annotations

import numpy as np


def elkan_noto(z_p: np.ndarray, z_u: np.ndarray, calibrate: bool = True, balanced: bool = False) -> float:
    """Estimator e1: the mean score of labelled rows is c = P(s=1 | y=1), and c gives the prior."""
    if calibrate:
        z_p, z_u = _calibrated(z_p, z_u)
    c = float(np.mean(z_p))
    if c <= 0:
        return 1.0
    return float(np.clip((1 - c) / c if balanced else len(z_p) * (1 - c) / (c * len(z_u)), 0, 1))


def ratio(z_p: np.ndarray, z_u: np.ndarray) -> float:
    """The mean score of unlabelled rows over that of labelled rows: an upper bound where z is an increasing score."""
    c = float(np.mean(z_p))
    return float(np.clip(np.mean(z_u) / c, 0, 1)) if c > 0 else 1.0


def _calibrated(z_p: np.ndarray, z_u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.isotonic import IsotonicRegression

    z, s = np.concatenate([z_p, z_u]), np.repeat([1.0, 0.0], [len(z_p), len(z_u)])
    g = IsotonicRegression().fit_transform(z, s)
    return g[: len(z_p)], g[len(z_p) :]
