"""Estimates metrics of the ranking, without negatives and without a cut."""

from __future__ import annotations

import numpy as np

from ._rows import Metric, population, rows, share, standard_error


def pu_auc(s: np.ndarray, z: np.ndarray) -> Metric:
    """Return the AUC of labelled against unlabelled rows, uncorrected: within [0, 1].

    Population: positives against unlabelled rows.
    Assumes that the labelled rows are a random draw from the positives. It needs no prior and orders models as the true
    AUC does.
    """
    s, z = rows(s, z)
    below, above = _placements(s, z)
    return Metric(below.mean(), standard_error(below, above, 0.5))


def pu_roc_auc(s: np.ndarray, z: np.ndarray, prior: float) -> Metric:
    """Estimate the probability that a positive scores above a negative, ties counted half: within [0, 1].

        AUC of labelled against unlabelled = prior / 2 + (1 - prior) AUC

    Population: positives against negatives, which are the same in both scenarios.
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. It must be the
    share among the unlabelled rows: the share among all rows of a single set gives an AUC above the truth.
    """
    s, z = rows(s, z)
    prior = share(prior)
    below, above = _placements(s, z)
    error = standard_error(below / (1 - prior), above / (1 - prior), 0.5)
    return Metric(np.clip((below.mean() - prior / 2) / (1 - prior), 0, 1), error)


def pu_average_precision(s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control") -> Metric:
    """Estimate the area under precision over recall: the positives' mean precision at their score; within [0, 1].

        mean over labelled i of   min(1, theta r(z_i) / q(z_i))      r(t), q(t): r and q at the threshold t

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. The top of the
    ranking decides, so the error is large where few unlabelled rows score as high as the labelled ones. Estimates above
    1 there are cut to 1. The mean is too low by that, and too high where few rows are labelled: by up to half a
    standard error on simulated rows.
    """
    s, z = rows(s, z)
    prior = share(prior)
    theta, w = population(s, prior, scenario)
    p, u = np.sort(z[s == 1]), np.sort(z[s == 0])
    n_p, n_u = len(p), len(u)
    r = (n_p - np.searchsorted(p, p)) / n_p
    r_u = (n_u - np.searchsorted(u, p)) / n_u
    q = w * r + (1 - w) * r_u
    free = q > theta * r  # elsewhere the precision is 1 whatever a row more would do
    precision = np.where(free, theta * r / np.where(free, q, 1), 1.0)
    by_r = np.where(free, theta / np.where(free, q, 1), 0.0) / n_p
    by_q = np.where(free, -theta * r / np.where(free, q, 1) ** 2, 0.0) / n_p
    up_to_p, up_to_u = np.searchsorted(p, p, side="right"), np.searchsorted(p, u, side="right")
    sum_r, sum_q = np.concatenate([[0], np.cumsum(by_r)]), np.concatenate([[0], np.cumsum(by_q)])
    labelled = precision + sum_r[up_to_p] + w * sum_q[up_to_p]  # what each row adds to the mean, to first order
    by_w = (by_r * r * (1 - prior) / theta + by_q * (r - r_u)).sum()
    return Metric(precision.mean(), standard_error(labelled, (1 - w) * sum_q[up_to_u], 0.5, by_w, w))


def _placements(s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of unlabelled rows below each labelled row, and of labelled rows above each unlabelled row."""
    p, u = np.sort(z[s == 1]), np.sort(z[s == 0])
    below = (np.searchsorted(u, p) + np.searchsorted(u, p, side="right")) / (2 * len(u))
    above = 1 - (np.searchsorted(p, u) + np.searchsorted(p, u, side="right")) / (2 * len(p))
    return below, above
