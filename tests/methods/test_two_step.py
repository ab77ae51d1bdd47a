"""Reliable negatives by spies, by 1-DNF and by neighbours, and mapping convergence: the specification's values."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from distpu import TwoStep
from distpu.methods._reliable import distances, features, one_dnf, positive_features, scale_of, spy_bound, standardised


def logistic():
    return LogisticRegression(solver="liblinear")


def test_the_bound_of_the_spies_by_hand():
    spies, u = np.array([0.9, 0.6, 0.3, 0.2, 0.8]), np.array([0.1, 0.25, 0.3, 0.5])
    assert spy_bound(spies, 0.2) == 0.3  # one of five lies below
    assert np.flatnonzero(u < spy_bound(spies, 0.2)).tolist() == [0, 1]
    assert spy_bound(spies, 0.0) == 0.2 and spy_bound(np.arange(10.0), 0.3) == 3.0


def test_rows_below_the_median_are_the_rows_that_most_draws_vote_for():
    draws, bound = np.random.default_rng(0).random((7, 50)), 0.4
    np.testing.assert_array_equal(np.median(draws, axis=0) < bound, (draws < bound).sum(0) >= 4)


def test_one_dnf_by_hand():
    x = csr_matrix([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [0, 0, 1]], dtype=float)
    s = np.array([1, 1, 1, 0, 0, 0, 0])
    assert positive_features(features(x), s).tolist() == [True, True, False]
    assert one_dnf(x, s, 1).tolist() == [5, 6]


def test_one_dnf_without_a_row_that_lacks_all_takes_those_with_fewest():
    x = csr_matrix([[1, 1], [1, 1], [1, 1], [1, 0], [0, 1]], dtype=float)
    assert one_dnf(x, np.array([1, 1, 0, 0, 0]), 2).tolist() == [3, 4]


def test_a_dense_column_gives_a_feature_above_and_one_below_its_median():
    x = np.array([[1.0], [2.0], [9.0], [np.nan]])
    assert features(x).toarray().tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]


def test_distances_to_labelled_rows_by_hand(monkeypatch):
    monkeypatch.setattr("distpu.methods._reliable.standardised", lambda x, *_: x)
    x = np.array([(0, 0), (1, 0), (0, 1), (0.5, 0.5), (3, 3), (1, 1), (5, 0)])
    d = distances(x, np.array([1, 1, 1, 0, 0, 0, 0]), 2)
    np.testing.assert_allclose(d[3:], [0.7071067812, 3.6055512755, 1, 4.5], atol=1e-9)
    np.testing.assert_allclose(d[:3], [1, (1 + 2**0.5) / 2, (1 + 2**0.5) / 2])  # no row is its own neighbour


def test_blanks_and_constant_columns_are_the_mean():
    x = np.array([[1.0, np.nan, 5.0], [3.0, np.nan, 5.0], [np.nan, np.nan, 5.0]])
    np.testing.assert_allclose(standardised(x, *scale_of(x)), [[-1, 0, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("reliable", ["1-dnf", "knn"])
def test_reliable_negatives_are_negative(reliable, toy):
    X, s, y = toy
    fitted = TwoStep(logistic(), reliable=reliable, convergence=False, random_state=0).fit(X, s)
    N = fitted.reliable_negatives_
    assert len(N) > 10 and (s[N] == 0).all() and y[N].mean() < 0.06  # 0.4 of all unlabelled rows are positive
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.85


@pytest.mark.parametrize("reliable", ["1-dnf", "knn"])
def test_texts_are_read_as_words(reliable):
    random = np.random.default_rng(0)
    y = np.arange(200) < 100
    words = {True: "offer cheap win money the a", False: "meeting report the a lunch team"}
    texts = [" ".join(random.choice(words[bool(kind)].split(), 8)) for kind in y]
    s = (np.arange(200) < 30).astype(int)
    fitted = TwoStep(make_pipeline(CountVectorizer(), logistic()), reliable=reliable, random_state=0).fit(texts, s)
    assert (
        not y[fitted.reliable_negatives_].any() and roc_auc_score(y[30:], fitted.decision_function(texts[30:])) > 0.99
    )


def test_rows_without_numbers_are_refused():
    import pandas as pd

    X = pd.DataFrame({"a": ["x", "y"] * 20, "b": np.arange(40.0)})
    with pytest.raises(
        ValueError, match="column 'a' of X holds texts, where numbers are wanted; .* without encode=False"
    ):
        TwoStep(reliable="knn", encode=False).fit(X, np.arange(40) < 10)


class Creeps(ClassifierMixin, BaseEstimator):
    """Calls negative what lies below the largest negative it was fitted on, plus 1."""

    def fit(self, X, y):
        self.classes_, self.bound_ = np.unique(y), X[y == 0, 0].max() + 1
        return self

    def decision_function(self, X):
        return X[:, 0] - self.bound_ - 0.5


def test_convergence_moves_on_until_no_row_moves_and_stops_before_it_eats_the_positives():
    x = np.r_[np.linspace(15.1, 34, 20), np.arange(0, 40)][:, None]
    s = (np.arange(60) < 20).astype(int)
    start = np.arange(20, 25)
    grown = TwoStep(Creeps(), convergence=True)
    kept = {}
    for guard in (0.05, 1.0):
        grown.set_params(guard=guard)
        grown._folder, grown._number, grown._bar = None, 0, type("Bar", (), {"update": lambda *_: None})()
        kept[guard] = x[grown._converged(x, s, start, np.random.RandomState(0)), 0].max()
    assert 10 < kept[0.05] <= 16 < kept[1.0]  # labelled rows begin at 15.1; without the guard 20 rounds go on


def test_convergence_ends_where_a_gap_begins():
    x = np.r_[np.linspace(50, 60, 20), np.arange(0, 10), np.linspace(50, 60, 30)][:, None]
    s = (np.arange(60) < 20).astype(int)
    fitted = TwoStep(Creeps(), reliable="knn", convergence=True, calibrate=False, random_state=0).fit(x, s)
    assert set(fitted.reliable_negatives_) >= set(range(20, 30))
