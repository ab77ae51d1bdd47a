import numpy as np
import pytest
from scipy.sparse import csr_matrix

from distpu import KLDCE
from distpu.methods.kldce import exact_centroid, median_of_means, moved, risk, rounded_hinge, shares

X_P, X_U, H = np.array([(1.0, 0), (0, 1)]), np.array([(1.0, 1), (-1, 0), (0, -2)]), 0.3


def test_shares_and_centroids_by_hand():
    q = 0.2857142857  # the share of positives among the unlabelled rows: k h / ((1 - h)(n - k))
    p, h = shares(5, 2, q)
    assert (p, h, 1 - 2 * p * h) == pytest.approx((0.5714285714, H, 0.6571428571))
    np.testing.assert_allclose(exact_centroid(X_P.mean(0), X_U.mean(0), q), [0.2857142857, 0.6190476190], atol=1e-9)
    np.testing.assert_allclose(-X_U.mean(0), [0, 1 / 3])


def test_risk_by_hand():
    m = np.array([0, 1 / 3]) / 0.6571428571
    assert risk(np.array([0.5, -0.2]), X_P, X_U, m, 0.1) == pytest.approx(0.9994347826)


def test_the_centroid_moves_to_the_rim_of_the_ellipsoid():
    spread = np.array([[2 / 9, 1 / 9], [1 / 9, 14 / 27]])
    np.testing.assert_allclose(np.cov(X_U.T, bias=True) / 3, spread)
    m = np.array([0, 1 / 3])
    best = moved(m, spread, np.array([0.5, -0.2]), 0.1)
    np.testing.assert_allclose(best, [0.6921814844, 0.0874267533], atol=1e-9)
    assert (best - m) @ spread @ (best - m) == pytest.approx(0.1)
    assert moved(m, spread, np.zeros(2), 0.1) is m


def test_median_of_means_leaves_the_distance_to_itself_out():
    assert median_of_means(-X_U) == 1  # with it all three would tie


def test_the_exact_centroid_is_unbiased_and_the_papers_is_not():
    random = np.random.default_rng(0)
    n = 400_000
    y = random.random(n) < 0.5
    x = random.normal(size=(n, 2)) + np.where(y[:, None], (2, 0), (0, 1))
    s = y & (random.random(n) >= 0.4)
    truth = (np.where(y, 1, -1)[:, None] * x)[~s].mean(0)
    p, h = 0.5, 0.4
    np.testing.assert_allclose(truth, [0.576, -0.713], atol=0.01)
    exact = exact_centroid(x[s].mean(0), x[~s].mean(0), y[~s].mean())
    np.testing.assert_allclose(exact, truth, atol=0.01)
    np.testing.assert_allclose(-x[~s].mean(0) / (1 - 2 * p * h), [-0.956, -1.189], atol=0.01)


def test_the_rounded_hinge_is_the_hinge_away_from_its_corner_and_has_its_slope():
    z = np.array([-3.0, 0.5, 0.95, 1.0, 1.07, 1.5])
    value, slope = rounded_hinge(z)
    np.testing.assert_allclose(value[[0, 1, 5]], [4, 0.5, 0])
    h = 1e-6
    np.testing.assert_allclose(slope, (rounded_hinge(z + h)[0] - rounded_hinge(z - h)[0]) / (2 * h), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_exact_centroids_learn_the_toy_and_sparse_rows_alike(kernel, toy, tmp_path):
    X, s, y = toy
    fitted = KLDCE(prior=0.4, kernel=kernel, folds=2, random_state=0).fit(X, s)
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.9
    wide = csr_matrix(np.c_[np.maximum(X, 0), np.zeros((len(X), 100))])
    learnt = KLDCE(prior=0.4, kernel=kernel, folds=2, random_state=0).fit(wide, s)
    # .90 to .92 by seed and processor: sparse rows are not centred. Rows called by chance would give .52.
    assert (learnt.predict(wide) == y)[s == 0].mean() > 0.85


def test_the_papers_centroid_needs_few_hidden_positives(toy):
    X, s, y = toy
    fitted = KLDCE(prior=0.4, centroid="paper", kernel="linear", folds=2, random_state=0).fit(X, s)
    assert np.isfinite(fitted.decision_function(X)).all()
    with pytest.raises(ValueError, match="divides by 1 - 2ph = .* use centroid='exact'"):
        KLDCE(prior=0.7, centroid="paper", folds=2).fit(X, s)
