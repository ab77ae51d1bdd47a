"""Estimates risks without negatives."""

from __future__ import annotations

import numpy as np

from ._rows import Metric, population, rows, share, standard_error


def sigmoid_loss(margin: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(margin))."""
    return (1 - np.tanh(margin / 2)) / 2


def zero_one_loss(margin: np.ndarray) -> np.ndarray:
    """Return 1 where the margin is negative, 1/2 at zero, 0 elsewhere: l(margin) + l(-margin) = 1."""
    return (1 - np.sign(margin)) / 2


LOSSES = {"sigmoid": sigmoid_loss, "zero-one": zero_one_loss}


def pu_unbiased_risk(
    s: np.ndarray,
    z: np.ndarray,
    prior: float,
    scenario: str = "case-control",
    threshold: float = 0.0,
    loss: str = "sigmoid",
) -> Metric:
    """Estimate the uPU risk: theta E_P l(z) + E l(-z) - theta E_P l(-z); z less the threshold, E over the population.

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. It is unbiased, so
    it stays within [-theta, 1 + theta] and not within [0, 1]: a negative value says that the model has learnt its rows
    by heart, or that the prior is too high.
    """
    return _risk(s, z, prior, scenario, threshold, loss, bounded=False)


def pu_non_negative_risk(
    s: np.ndarray,
    z: np.ndarray,
    prior: float,
    scenario: str = "case-control",
    threshold: float = 0.0,
    loss: str = "sigmoid",
) -> Metric:
    """Estimate the nnPU risk: theta E_P l(z) + max(0, E l(-z) - theta E_P l(-z)), within [0, 1 + theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes what `pu_unbiased_risk` assumes. The part of the negatives is kept from going below 0, so the risk of a
    model without errors is estimated too high on few rows.
    """
    return _risk(s, z, prior, scenario, threshold, loss, bounded=True)


def _risk(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str, threshold: float, loss: str, bounded: bool
) -> Metric:
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not known; use one of {', '.join(map(repr, LOSSES))}")
    s, z = rows(s, z)
    prior = share(prior)
    theta, w = population(s, prior, scenario)
    right, wrong = LOSSES[loss](z - threshold), LOSSES[loss](threshold - z)
    positive = theta * right[s == 1]
    labelled, unlabelled = (w - theta) * wrong[s == 1], (1 - w) * wrong[s == 0]
    negative = labelled.mean() + unlabelled.mean()
    by_w = prior * wrong[s == 1].mean() - wrong[s == 0].mean()
    if bounded and negative < 0:
        labelled, unlabelled, negative, by_w = np.zeros_like(labelled), np.zeros_like(unlabelled), 0.0, 0.0
    by_w += (1 - prior) * right[s == 1].mean()
    return Metric(positive.mean() + negative, standard_error(positive + labelled, unlabelled, 0.5 + theta, by_w, w))
