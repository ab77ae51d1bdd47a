import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.special import expit, logit

from distpu import DistPUBoost
from distpu.methods.dist_pu import label_distribution_risk
from distpu.methods.dist_pu_boost import gradient, risk, tree_weights

Z = np.array([0.3, -1.2, 2.0, -0.4, 1.1, -2.5, 0.0])
S = np.array([1, 1, 0, 0, 0, 0, 0])
NEAR = float(expit(Z[2:]).mean())  # a prior that the predicted share meets, so that d lies within tau


def numeric(function, z, step=1e-5):
    """The derivative of a function of z by each element of z."""
    up, down = z + step * np.eye(len(z)), z - step * np.eye(len(z))
    return np.array([function(a) - function(b) for a, b in zip(up, down, strict=True)]) / (2 * step)


@pytest.mark.parametrize("prior", [0.1, NEAR + 0.007, NEAR - 0.007, 0.9])
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_the_gradient_is_that_of_the_written_risk(prior, mu):
    g, _ = gradient(Z, S, prior, mu)
    np.testing.assert_allclose(g, numeric(lambda z: risk(z, S, prior, mu), Z), atol=1e-8)


def test_the_curvature_is_that_of_a_cross_entropy_with_the_weights_of_the_risk():
    def cross_entropy(z):  # its second derivative is q, whatever the label
        on_p, on_u = np.logaddexp(0, -z[S == 1]).mean(), np.logaddexp(0, z[S == 0]).mean()
        return 2 * 0.3 * on_p + on_u

    slope = lambda z: numeric(cross_entropy, z, 1e-4)  # noqa: E731
    second = [(slope(Z + step) - slope(Z - step))[i] / 2e-3 for i, step in enumerate(1e-3 * np.eye(len(Z)))]
    _, h = gradient(Z, S, 0.3, 0.1)
    np.testing.assert_allclose(h, second, rtol=1e-4)


def test_a_labelled_row_by_hand():
    p = 1 / (1 + np.exp(1.2))
    g, h = gradient(Z, S, 0.3, 0.2)
    assert g[1] == pytest.approx(-2 * 0.3 * p * (1 - p) / 2)  # E_P is a mean over two rows
    assert h[1] == -g[1]


def test_an_unlabelled_row_by_hand():
    p = 1 / (1 + np.exp(-2.0))
    g, h = gradient(Z, S, NEAR - 0.005, 0.2, tau=0.02)
    assert g[2] == pytest.approx((0.25 - 0.2 * 2.0) * p * (1 - p) / 5)
    assert h[2] == pytest.approx(p * (1 - p) / 5)


def test_sure_rows_keep_some_curvature():
    _, h = gradient(np.array([9.0, -9.0]), np.array([1, 0]), 0.5, 0.0, floor=0.04)
    np.testing.assert_allclose(h, [0.04, 0.04])


def test_away_from_the_kink_the_risk_is_that_of_the_network():
    told, p = 0.2, torch.from_numpy(expit(Z))
    expected = float(label_distribution_risk(p, torch.from_numpy(S), told))
    assert risk(Z, S, told, 0.0, tau=0.02) == pytest.approx(expected - 0.01)
    assert risk(Z, S, told, 0.0, tau=1e-9) == pytest.approx(expected)


def test_the_order_of_the_rows_does_not_matter():
    order = np.array([4, 0, 6, 2, 5, 1, 3])
    assert risk(Z[order], S[order], 0.3, 0.1) == pytest.approx(risk(Z, S, 0.3, 0.1))
    for a, b in zip(gradient(Z[order], S[order], 0.3, 0.1), gradient(Z, S, 0.3, 0.1), strict=True):
        np.testing.assert_allclose(a, b[order])


def test_the_rows_of_a_tree_stand_for_all_rows():
    s = np.repeat([1, 0], [500, 4000])
    weight = tree_weights(s, 0.8, 3, np.random.RandomState(0))
    assert np.count_nonzero(weight[s == 1]) == 400 and np.count_nonzero(weight[s == 0]) == 1500
    assert weight[s == 1].sum() == pytest.approx(500) and weight[s == 0].sum() == pytest.approx(4000)
    scarce = tree_weights(np.repeat([1, 0], [20, 4000]), 0.8, 3, np.random.RandomState(0))
    assert np.count_nonzero(scarce[20:]) == 1000  # 60 rows would say too little of U
    few = tree_weights(np.array([1, 1, 0, 0]), 0.1, 9, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(few), [0, 1, 1, 2])  # one labelled row at least, no row twice


@pytest.mark.parametrize("told", [0.2, 0.4, 0.6])
def test_boosting_lowers_the_risk_and_meets_the_prior(told, toy):
    X, s, _ = toy
    method = DistPUBoost(rows=1.0, bags=1, rounds=40)
    method.start_ = logit(told)
    z = method._log_odds(method._boosted(X, s, told, 0), X)
    start = risk(np.full(len(s), logit(told)), s, told, method.entropy)
    assert risk(z, s, told, method.entropy) < 0.5 * start
    assert expit(z[s == 0]).mean() == pytest.approx(told, abs=0.04)


@pytest.mark.parametrize("told", [0.2, 0.4])
def test_the_share_called_is_the_prior(told, toy):
    X, s, _ = toy
    fitted = DistPUBoost(prior=told, folds=3, bags=2, rounds=30, random_state=0).fit(X, s)
    called = fitted.oof_scores_[s == 0] >= fitted.threshold_
    assert fitted.prior_ == told
    assert called.mean() == pytest.approx(told, abs=2 / (s == 0).sum())


def test_no_row_is_scored_by_a_booster_that_saw_it(toy):
    X, s, _ = toy
    noise = np.random.RandomState(0).normal(size=(len(s), 30))
    fitted = DistPUBoost(prior=0.4, bags=1, random_state=0).fit(noise, s)
    p, u = fitted.oof_scores_[s == 1], fitted.oof_scores_[s == 0]
    assert (p[:, None] > u).mean() < 0.65  # noise ranks labelled rows no higher
    seen = fitted._raw_scores(noise.astype(np.float32))
    assert (seen[s == 1][:, None] > seen[s == 0]).mean() > 0.9  # four of five boosters have seen these rows


def test_a_large_table_is_drawn_from(toy):
    X, s, _ = toy
    settings = dict(prior=0.4, folds=2, bags=1, rounds=5, random_state=0)
    sizes = []

    class Watched(DistPUBoost):
        def _boosted(self, x, s, prior, seed, weight=None):
            sizes.append((len(s), int(s.sum())))
            return super()._boosted(x, s, prior, seed, weight)

    Watched(most_rows=100, **settings).fit(X, s)
    assert [rows for rows, _ in sizes] == [100, 100]
    assert min(labelled for _, labelled in sizes) >= min(50, s.sum() // 2 - 1)


def test_sparse_and_dense_rows_agree(toy):
    X, s, _ = toy
    X = np.where(np.abs(X) < 0.5, 0, X)
    settings = dict(prior=0.4, folds=2, bags=1, rounds=20, random_state=0)
    dense, sparse = DistPUBoost(**settings).fit(X, s), DistPUBoost(**settings).fit(csr_matrix(X), s)
    assert np.corrcoef(dense.oof_scores_, sparse.oof_scores_)[0, 1] > 0.9


def test_blanks_are_taken(toy):
    X, s, y = toy
    X = np.where(np.random.RandomState(0).rand(*X.shape) < 0.1, np.nan, X)
    fitted = DistPUBoost(prior=0.4, folds=2, bags=1, random_state=0).fit(X, s)
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.8
