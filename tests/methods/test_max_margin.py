import numpy as np
from sklearn.metrics import roc_auc_score

from distpu import MaxMarginPU
from distpu.methods.max_margin import fitted, relabelled
from distpu.threshold import cut_at


def test_relabelling_by_hand():
    z = np.array([0.9, -0.2, 0.4, -0.8, 0.1])
    assert np.flatnonzero(relabelled(z, 0.4) > 0).tolist() == [0, 2]
    assert 0.1 < cut_at(z, 0.4) < 0.4
    assert relabelled(z, 1e-9).tolist() == [1, -1, -1, -1, -1] and (relabelled(z, 1.0) < 0).sum() == 1


def test_the_weights_are_those_of_a_support_vector_machine_with_squared_hinge():
    from sklearn.svm import LinearSVC

    random = np.random.default_rng(0)
    f = np.c_[random.normal(size=(80, 3)), np.ones(80)]
    y = np.where(f[:, 0] + random.normal(size=80) > 0, 1.0, -1.0)
    c = np.where(y > 0, 2.0, 0.5)
    w = fitted(f, y, c, np.zeros(4))
    svm = LinearSVC(C=2.0, intercept_scaling=1e4, tol=1e-10, dual=False).fit(f[:, :3], y, sample_weight=c / 2.0 * 1.0)
    np.testing.assert_allclose(w[:3], svm.coef_[0], atol=2e-3)  # both minimise 1/2 |w|^2 + sum c l


def test_relabelling_finds_the_gap_that_p_against_u_misses():
    """Labelled rows are a few of one wide cluster. The gap between the clusters is far from them."""
    random = np.random.default_rng(0)
    y = np.arange(400) < 160
    X = np.c_[np.where(y, random.normal(3, 0.4, 400), random.normal(0, 0.4, 400)), random.normal(0, 3, 400)]
    s = (np.arange(400) < 8).astype(int)
    fit = MaxMarginPU(prior=0.39, kernel="linear", folds=2, random_state=0).fit(X, s)
    assert (fit.predict(X) == y)[s == 0].mean() > 0.98
    assert roc_auc_score(y[s == 0], fit.decision_function(X)[s == 0]) > 0.99
