import numpy as np
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score

import distpu
from distpu import LLGC
from distpu.methods.llgc import consistent, graph, without_itself

CHAIN = csr_matrix([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=float)


def test_a_chain_by_hand():
    Y = np.array([1.0, 0, 0])
    np.testing.assert_allclose(consistent(CHAIN, Y, 0.5), [0.5833333333, 0.2357022604, 0.0833333333], atol=1e-8)
    F = consistent(CHAIN, Y, 0.99)
    np.testing.assert_allclose(F, [0.2562562814, 0.3517767404, 0.2462562814], atol=1e-8)
    assert F.argmax() == 1  # by its degree


def test_divided_by_the_root_of_the_degree_rows_are_in_order_of_distance():
    x = np.array([0, 1, 2.5, 4])
    W = np.exp(-((x[:, None] - x) ** 2) / 2) - np.eye(4)
    F = consistent(csr_matrix(W), np.array([1.0, 0, 0, 0]), 0.99)
    np.testing.assert_allclose(F, [0.2560607320, 0.2995425285, 0.2510051465, 0.1731685733], atol=1e-8)
    expected = [0.3174082356, 0.3085785336, 0.3014673158, 0.2987010907]
    np.testing.assert_allclose(F / np.sqrt(W.sum(1)), expected, atol=1e-8)


def test_the_graph_is_symmetric_and_has_no_ties_to_itself():
    near, distance = np.array([[0, 1], [1, 2], [2, 1]]), np.array([[0, 1.0], [0, 0.5], [0, 0.5]])
    near, distance = without_itself(near, distance)
    assert near.ravel().tolist() == [1, 2, 1]
    W = graph(near, distance, np.array([1.0, 2.0, 1.0])).toarray()
    np.testing.assert_allclose(W, W.T)
    np.testing.assert_allclose([W[0, 1], W[1, 2], W[0, 2], W[0, 0]], [np.exp(-0.5), np.exp(-0.125), 0, 0])


def test_copies_do_not_hide_a_row_from_itself():
    near, _ = without_itself(np.array([[1, 2], [0, 2], [0, 1]]), np.zeros((3, 2)))  # three copies
    assert near.ravel().tolist() == [1, 0, 0]


def moons(random, rows=400):
    """Two rings, which no line separates: X, y, and five labelled rows."""
    y = np.arange(rows) % 2
    angle = random.uniform(0, 2 * np.pi, rows)
    X = np.c_[np.cos(angle), np.sin(angle)] * (1 + 2 * y)[:, None] + random.normal(scale=0.1, size=(rows, 2))
    return X, y, (np.isin(np.arange(rows), np.flatnonzero(y)[::20])).astype(int)


def test_ten_labels_spread_along_a_ring():
    X, y, s = moons(np.random.default_rng(0))
    fitted = LLGC(prior=0.47, random_state=0).fit(X, s)
    assert s.sum() == 10 and (fitted.predict(X) == y).mean() > 0.98
    new, truth, _ = moons(np.random.default_rng(1))
    assert (fitted.predict(new) == truth).mean() > 0.98  # new rows, by their neighbours


def test_a_graph_of_a_part_of_the_rows_ranks_the_others_too():
    X, y, s = moons(np.random.default_rng(0), 2000)
    fitted = LLGC(prior=0.47, most_rows=300, random_state=0).fit(X, s)
    assert fitted.rows_.shape[0] == 300 and roc_auc_score(y, fitted.decision_function(X)) > 0.98
    assert np.isfinite(fitted.oof_scores_).all()


def test_a_sparse_table_is_saved_and_loaded(tmp_path):
    random = np.random.default_rng(0)
    y = np.arange(200) < 90
    rates = np.where(y[:, None], [0.4] * 60 + [0.05] * 60, [0.05] * 60 + [0.4] * 60)
    X = csr_matrix(random.poisson(rates).astype(float))
    s = (np.arange(200) < 20).astype(int)
    fitted = LLGC(prior=0.4, random_state=0).fit(X, s)
    assert roc_auc_score(y[20:], fitted.decision_function(X)[20:]) > 0.95
    loaded = distpu.load(fitted.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))
