"""Metrics with true labels."""

from __future__ import annotations

import numpy as np

from ..kinds import plain_scores

METRICS = ("accuracy", "precision", "recall", "f1", "auc", "ap")


def evaluate(y: np.ndarray, z: np.ndarray) -> dict[str, float]:
    """Return the paper's six metrics as fractions. y: true labels 0/1; z: logits, positive where z >= 0."""
    from sklearn.metrics import (
        average_precision_score,
        f1_score,
        precision_score,
        recall_score,
        roc_auc_score,
    )

    y, z = plain_scores(y, "y"), plain_scores(z, "z")
    predicted = (z >= 0).astype(int)
    return {
        "accuracy": float((predicted == y).mean()),
        "precision": float(precision_score(y, predicted, zero_division=0)),
        "recall": float(recall_score(y, predicted, zero_division=0)),
        "f1": float(f1_score(y, predicted, zero_division=0)),
        "auc": float(roc_auc_score(y, z)),
        "ap": float(average_precision_score(y, z)),
    }
