"""Metrics with true labels, and metrics that need no negatives.

The metrics without negatives take PU labels s (1 labelled positive, 0 unlabelled), scores z (a row is called positive
where z >= threshold) and the prior, which is the share of positives among the UNLABELLED rows. All of them assume that
the labelled rows are a random draw from the positives. They estimate a metric of one population:

scenario="case-control"  The labelled rows are a separate draw. The population is that of the unlabelled rows.
scenario="single-set"    The labelled rows were taken out of the population. The population is that of all rows,
                         labelled and unlabelled together.

    n_P, n_U   labelled and unlabelled rows
    r          share of the labelled rows called positive: the recall
    q          share of the population called positive
    theta      share of positives in the population: the prior, or (n_P + prior n_U) / (n_P + n_U) in a single set

Each returns a Metric: a float with its standard error. The error is that of drawing rows; the prior counts as known.
"""

from __future__ import annotations

from collections.abc import Callable

from ._rows import SCENARIOS, Metric
from .called import (
    lee_liu,
    precision_and_recall,
    prior_gap,
    pu_accuracy,
    pu_f1,
    pu_precision,
    pu_proxy_accuracy,
    pu_recall,
)
from .ranking import pu_auc, pu_average_precision, pu_roc_auc
from .risks import LOSSES, pu_non_negative_risk, pu_unbiased_risk, sigmoid_loss
from .true_labels import METRICS, evaluate

__all__ = [
    "LOSSES",
    "METRICS",
    "PU_METRICS",
    "SCENARIOS",
    "Metric",
    "evaluate",
    "lee_liu",
    "precision_and_recall",
    "prior_gap",
    "pu_accuracy",
    "pu_auc",
    "pu_average_precision",
    "pu_f1",
    "pu_non_negative_risk",
    "pu_precision",
    "pu_proxy_accuracy",
    "pu_recall",
    "pu_roc_auc",
    "pu_unbiased_risk",
    "sigmoid_loss",
]

PU_METRICS: dict[str, Callable[..., Metric]] = {
    one.__name__: one
    for one in (
        pu_accuracy,
        pu_precision,
        pu_recall,
        pu_f1,
        pu_roc_auc,
        pu_average_precision,
        pu_auc,
        pu_proxy_accuracy,
        pu_unbiased_risk,
        pu_non_negative_risk,
        lee_liu,
        prior_gap,
    )
}
