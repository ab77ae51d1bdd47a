"""BlendPU: out-of-fold scores, weights, blanks, sparse tables, and a file without pickle."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score

import distpu
from distpu import BlendPU
from distpu.methods import _members
from distpu.methods._members import Boosted, Forest, Kernel, drawn

QUICK = {"folds": 2, "trees": 8, "bags": 2, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    random = np.random.default_rng(0)
    y = (np.arange(300) % 3 == 0).astype(int)
    X = random.normal(size=(300, 5)).astype(np.float32) + 1.5 * y[:, None]
    s = y * (np.arange(300) % 2 == 0)
    return BlendPU(**QUICK).fit(X, s), X, s, y


def test_scores_rank_and_the_cut_calls_the_share_of_the_estimate(fitted):
    model, X, s, y = fitted
    hidden = s == 0
    assert roc_auc_score(y[hidden], model.oof_scores_[hidden]) > 0.95
    called = (model.oof_scores_[hidden] >= model.threshold_).mean()
    assert called == pytest.approx(model.prior_estimate_.to_call, abs=0.01)
    assert model.prior_ == pytest.approx(y[hidden].mean(), abs=0.12)
    assert model.prior_interval_[0] < model.prior_ < model.prior_interval_[1]


def test_a_given_prior_is_the_share_that_is_called(fitted):
    _, X, s, _ = fitted
    model = BlendPU(**QUICK, prior=0.4).fit(X, s)
    assert (model.oof_scores_[s == 0] >= model.threshold_).mean() == pytest.approx(0.4, abs=0.01)


def test_out_of_fold_scores_are_those_of_the_models_that_did_not_see_the_row(fitted):
    model, X, s, _ = fitted
    by_fold = [np.column_stack([member.scores(X) for member in fold]) for fold in model.members_]
    blended = np.array([model._blended(Z) for Z in by_fold])
    assert np.isclose(blended, model.oof_scores_).any(0).all()
    np.testing.assert_allclose(model._raw_scores(X), model._blended(np.mean(by_fold, axis=0)), atol=1e-6)


def test_the_weights_are_a_ridge_of_labelled_against_unlabelled(fitted):
    model, X, s, _ = fitted
    assert model.weights_.shape == (5,) and (model.weights_[:4] > 0).all()
    random = np.random.default_rng(1)
    Z = np.column_stack([s + 0.1 * random.normal(size=300), random.normal(size=300)])
    other = BlendPU()
    other._weigh(Z, s)
    assert other.weights_[0] > 5 * abs(other.weights_[1])


@pytest.mark.parametrize("wide", [500, 4])
@pytest.mark.parametrize("member", [Forest(10), Forest(10, extra=True), Boosted(3), Kernel()])
def test_every_member_takes_blanks_and_sparse_rows(member, wide, fitted, monkeypatch):
    _, X, s, y = fitted
    monkeypatch.setattr(_members, "MOST", 120)  # so that rows are drawn
    monkeypatch.setattr(_members, "WIDE", wide)
    blank = X.copy()
    blank[::7, 2] = np.nan
    blank[:, 4] = np.nan
    for x in (X, blank, csr_matrix(X)):
        z = member.fit(x, s, np.random.RandomState(0)).scores(x)
        assert np.isfinite(z).all() and roc_auc_score(y, z) > 0.9


def test_drawn_rows_hold_all_labelled_ones_that_fit():
    s = np.r_[np.ones(10, int), np.zeros(1000, int)]
    rows = drawn(s, 100, 3, np.random.RandomState(0))
    assert len(rows) == len(set(rows)) == 40 and s[rows].sum() == 10
    assert len(drawn(s, 100, np.inf, np.random.RandomState(0))) == 100
    assert s[drawn(s, 12, 5, np.random.RandomState(0))].sum() == 6


def test_a_folder_gives_the_same_bits(fitted, tmp_path):
    model, X, _, _ = fitted
    model.save(tmp_path / "model")
    loaded = distpu.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.prior_interval_ == model.prior_interval_


def test_a_narrow_table_gives_the_same_in_every_container(fitted):
    model, X, s, _ = fitted
    for x in (csr_matrix(X), pd.DataFrame(X), X.tolist()):
        np.testing.assert_array_equal(BlendPU(**QUICK).fit(x, s).oof_scores_, model.oof_scores_)


def test_a_wide_sparse_table_stays_sparse(fitted, monkeypatch):
    _, X, s, y = fitted
    wide = csr_matrix(np.hstack([X, np.zeros((300, 600))]))
    monkeypatch.setattr(csr_matrix, "toarray", lambda *_: pytest.fail("made dense"))
    z = BlendPU(**QUICK).fit(wide, s).oof_scores_
    assert roc_auc_score(y[s == 0], z[s == 0]) > 0.9


def test_other_columns_than_numbers_are_refused():
    X = np.array([["a", 1], ["b", 2], ["c", 3], ["d", 4]], dtype=object)
    with pytest.raises(
        ValueError, match="could not convert string to float|takes numbers|holds texts, where numbers are wanted"
    ):
        BlendPU().fit(X, [1, 1, 0, 0])
