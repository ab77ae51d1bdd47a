"""Metrics against the specification's fixture and against the truth."""

import numpy as np
import pytest

from distpu import metrics
from fixture import U_A, P, prior, s

z = np.array(P + U_A)


def test_pu_accuracy_and_pu_auc_of_the_fixture():
    np.testing.assert_allclose(metrics.pu_accuracy(s.numpy(), z, prior), 1.1333333333 - prior, atol=1e-10)
    np.testing.assert_allclose(metrics.pu_auc(s.numpy(), z), 0.7333333333, atol=1e-10)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_without_negatives_they_estimate_what_true_labels_say(share):
    random = np.random.default_rng(0)
    y = random.random(400_000) < share
    score = random.normal(size=len(y)) + 1.5 * y - 0.5
    labelled = random.normal(size=100_000) + 1.0  # more positives from the same distribution
    t = np.concatenate([np.zeros(len(y)), np.ones(len(labelled))])
    scores = np.concatenate([score, labelled])
    accuracy = ((score >= 0) == y).mean()
    np.testing.assert_allclose(metrics.pu_accuracy(t, scores, share), accuracy, atol=0.01)
    auc = metrics.evaluate(y.astype(int), score)["auc"]  # against U it is (1 - share) AUC + share / 2
    np.testing.assert_allclose(metrics.pu_auc(t, scores), (1 - share) * auc + share / 2, atol=0.01)
