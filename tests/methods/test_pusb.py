import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.metrics import precision_score, recall_score

import distpu
from distpu import METHODS
from distpu.methods.nnpu import nnpu_risk
from distpu.methods.pusb import above_cut, cut, just_below, positives
from distpu.train import scoring
from distpu.train.loop import Risk
from fixture import close, finite_difference, gradient, logits, prior, s
from small import small

SCORES = np.array([0.9, -1.2, 0.1, 2.3, -0.4, 0.7, -2, 1.1, 0.05, -0.9])


def trained_risk(monkeypatch, toy, **settings):
    """The risk that `_learn` hands to the loop."""
    X, labels, _ = toy
    seen = []
    init = Risk.__init__
    monkeypatch.setattr(Risk, "__init__", lambda self, name, risk: (seen.append(risk), init(self, name, risk))[1])
    small("pusb", prior=prior, epochs=1, **settings).fit(X, labels)
    return seen[0]


def test_it_minimises_the_logistic_risk(monkeypatch, toy):
    z = logits("A")
    risk = trained_risk(monkeypatch, toy)
    close(risk(z, s), 0.4088305611, 1e-10)
    close(gradient(risk(z, s), z), finite_difference(lambda v: risk(v, s), z), 1e-8)


def test_where_the_bound_bites_it_ascends_the_negative_part(monkeypatch, toy):
    z = logits("B")
    risk = trained_risk(monkeypatch, toy)(z, s)
    close(risk, 0.2552355577, 1e-10)  # reads as R_p
    labelled = [0.1174396104, 0.0829945775, 0.0358588562]
    unlabelled = [-0.0094851746, -0.015171636, -0.003597242, -0.0364851048, -0.0058624462]
    close(gradient(risk, z), labelled + unlabelled, 1e-10)  # but steps along -grad R_n; max(0, R_n) would not


def test_beta_and_gamma_reach_the_risk(monkeypatch, toy):
    z = logits("B")
    risk = trained_risk(monkeypatch, toy, beta=0.1, gamma=0.5)
    expected = nnpu_risk(z, s, prior, 0.1, 0.5, "logistic")
    close(risk(z, s), expected)
    close(gradient(risk(z, s), z), gradient(expected, z))


def test_extreme_logits_do_not_overflow():
    z = torch.tensor([-2000.0, 2000.0], requires_grad=True)
    risk = nnpu_risk(z, torch.tensor([1.0, 0.0]), prior, loss="logistic")
    assert torch.isfinite(risk) and torch.isfinite(gradient(risk, z)).all()


def test_the_cut_of_ten_scores():
    assert cut(SCORES, 0.4) == 0.7
    assert np.flatnonzero(SCORES >= cut(SCORES, 0.4)).tolist() == [0, 3, 5, 7]  # > would lose the row at the cut
    assert np.flatnonzero(above_cut(SCORES, 0.4) >= 0).tolist() == [0, 3, 5, 7]
    close(above_cut(SCORES, 0.4), SCORES - 0.7)


@pytest.mark.parametrize(
    ("n", "share", "k"),
    [(10_000, 0.4, 4000), (1279, 0.5, 640), (10, 0.4, 4), (100, 0.29, 29), (1000, 0.9, 100 * 9), (1, 0.01, 1)],
)
def test_the_count_does_not_hang_on_rounding(n, share, k):
    assert positives(n, share) == k
    z = np.random.default_rng(0).normal(size=n)
    assert (above_cut(z, share) >= 0).sum() == k == (z >= cut(z, share)).sum()


def test_a_share_of_nothing_still_names_a_cut():
    assert positives(10, 1e-12) == 1 and cut(SCORES, 1e-12) == 2.3


def test_ties_at_the_cut_go_to_the_first_rows():
    z = np.array([1.0, 2.0, 1.0, 0.0, 1.0])
    above = above_cut(z, 0.4)  # two of five: the 2 and the first 1
    assert (above >= 0).tolist() == [True, True, False, False, False]
    assert (expit(above) >= 0.5).tolist() == [True, True, False, False, False]  # a probability tells it too
    assert above[3] < above[2] == above[4]  # what ties stays above what scores less
    assert (above_cut(np.zeros(10), 0.3) >= 0).sum() == 3


def test_with_as_many_positives_as_the_prior_says_precision_is_recall():
    random = np.random.default_rng(0)
    y = random.permutation(np.arange(1000) < 400)
    predicted = above_cut(random.normal(size=1000).round(1) + y, 0.4) >= 0  # rounded: with ties
    assert 0.4 < precision_score(y, predicted) < 1
    assert precision_score(y, predicted) == recall_score(y, predicted)


def test_the_cut_is_taken_on_the_unlabelled_training_rows(toy):
    X, labels, _ = toy
    fitted = small("pusb", prior=0.4).fit(X, labels)
    z = scoring.logits(fitted.model_, torch.from_numpy(X).float()).double().numpy()
    theta = cut(z[labels == 0], 0.4)
    assert fitted.threshold_ == just_below(theta)
    np.testing.assert_array_equal(fitted.predict(X), z >= theta)
    assert fitted.predict_proba(X)[z == theta, 1] > 0.5  # the row at the cut is positive in every reading
    assert fitted.predict(X[labels == 0]).sum() == positives(270, 0.4) == 108
    assert fitted.predict(X[labels == 1]).mean() > 0.5  # not cut at the prior's quantile: nearly all are positive
    np.testing.assert_array_equal(fitted.decision_function(X), z - fitted.threshold_)


def test_the_cut_on_the_scored_rows(toy, tmp_path):
    X, labels, _ = toy
    fitted = small("pusb", prior=0.4, threshold_on="scored", network="mlp").fit(X, labels)
    for rows in (X[:50], X[50:], X[labels == 1], X[:1]):
        z, p = fitted.decision_function(rows), fitted.predict_proba(rows)[:, 1]
        assert fitted.predict(rows).sum() == positives(len(rows), 0.4)
        np.testing.assert_array_equal(z > 0, fitted.predict(rows) == 1)
        assert (np.diff(p[np.argsort(z)]) >= 0).all()
        np.testing.assert_array_equal(p > 0.5, z >= 0)
    loaded = distpu.load(fitted.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


@pytest.mark.parametrize("theta", [0.7, -3.2, 1e3, 1e-6, -1e-6])
def test_the_threshold_parts_neighbouring_logits(theta):
    theta = np.float32(theta)
    lower = np.nextafter(theta, np.float32(-np.inf))
    assert float(lower) < just_below(float(theta)) < float(theta)


def test_both_cuts_rank_alike(toy):
    X, labels, _ = toy
    a, b = (small("pusb", prior=0.4, threshold_on=on).fit(X, labels) for on in ("unlabelled", "scored"))
    np.testing.assert_array_equal(np.argsort(a.decision_function(X)), np.argsort(b.decision_function(X)))


def test_the_default_can_be_fitted_and_checked_row_by_row():
    assert METHODS["pusb"]().threshold_on == "unlabelled"
    with pytest.raises(ValueError, match="threshold_on='test' must be one of"):
        METHODS["pusb"](threshold_on="test").fit(np.eye(4), [1, 0, 0, 0])
