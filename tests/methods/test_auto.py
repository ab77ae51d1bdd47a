"""AutoPU takes the method that suits the data, and does what that method does."""

import numpy as np
import pytest

import distpu
from distpu import AutoPU, BlendPU, DistPU
from distpu.answer import fit_file
from distpu.methods import check_told, make, method_class
from distpu.methods.auto import suited

QUICK = {"folds": 2, "trees": 8, "bags": 2}


@pytest.fixture
def quick(monkeypatch):
    """The method for tables has few trees."""
    monkeypatch.setattr(BlendPU.__init__, "__kwdefaults__", {**BlendPU.__init__.__kwdefaults__, **QUICK})


def test_a_table_gets_blend_pu_and_images_get_dist_pu_unless_few_small_and_grey():
    assert suited(np.zeros((5, 3))) == "blend-pu" and suited([[1.0, 2.0]]) == "blend-pu"
    assert suited(np.zeros((10_000, 8, 8))) == "blend-pu" and suited(np.zeros((5, 1, 32, 32))) == "blend-pu"
    for shape in ((10_001, 8, 8), (5, 3, 32, 32), (5, 64, 64)):
        assert suited(np.zeros(shape)) == "dist-pu"


def test_it_does_what_the_chosen_method_does(quick, toy, tmp_path):
    X, s, y = toy
    auto = AutoPU(random_state=0).fit(X, s, folder=tmp_path / "run")
    blend = BlendPU(random_state=0, **QUICK).fit(X, s)
    assert isinstance(auto.chosen_, BlendPU) and auto.method_ == "blend-pu"
    np.testing.assert_array_equal(auto.decision_function(X), blend.decision_function(X))
    np.testing.assert_array_equal(auto.predict_proba(X), blend.predict_proba(X))
    assert auto.prior_ == blend.prior_ and auto.prior_interval_ == blend.prior_interval_
    loaded = distpu.load(tmp_path / "run")
    assert isinstance(loaded, BlendPU)
    np.testing.assert_array_equal(loaded.decision_function(X), blend.decision_function(X))
    few = auto.set_threshold("rows=20").predict(X[s == 0]) == 1
    assert 10 < few.sum() < 30 and y[s == 0][few].mean() > 0.9


def test_a_setting_of_one_method_asks_for_its_name():
    assert method_class("auto") is AutoPU
    with pytest.raises(ValueError, match="'epochs' is a setting of dist-pu and .* more, .*: --method dist-pu"):
        make("auto", {"epochs": 3})
    with pytest.raises(ValueError, match="did you mean 'auto'"):
        method_class("autp")


def test_images_in_python(monkeypatch):
    asked = []
    monkeypatch.setattr(DistPU, "fit", lambda self, X, y, folder=None: asked.append(X.shape) or self)
    AutoPU().fit(np.zeros((10, 3, 32, 32)), np.arange(10) < 3)
    assert asked == [(10, 3, 32, 32)]


def test_few_small_grey_images_are_learnt_as_a_table(quick, toy):
    X, s, _ = toy
    model = AutoPU(random_state=0).fit(X.reshape(len(X), 2, 3), s)
    assert model.method_ == "blend-pu"
    np.testing.assert_array_equal(model.predict(X.reshape(len(X), 2, 3)), AutoPU(random_state=0).fit(X, s).predict(X))


def test_the_ranked_rows_have_out_of_fold_scores(quick, toy, tmp_path):
    """A model that took a row for a negative would score the row too low."""
    X, s, _ = toy
    np.savez(tmp_path / "t.npz", X=X, y=s)
    answer = fit_file(tmp_path / "t.npz")
    decision, _ = answer.model._judged(answer.model.oof_scores_)
    rows = answer.ranked["id"].to_numpy()
    np.testing.assert_array_equal(answer.ranked["decision"].to_numpy(), decision[rows] >= 0)
    assert answer.predicted == pytest.approx(answer.model.prior_estimate_.to_call * (s == 0).sum(), abs=2)
    assert answer.model.prior_interval_[0] <= answer.prior <= answer.model.prior_interval_[1]


def test_a_setting_names_the_method_that_takes_it():
    with pytest.raises(ValueError, match="'trees' is a setting of blend-pu.*: --method blend-pu"):
        check_told("auto", {"trees": 8})
    check_told("blend-pu", {"trees": 8})
    with pytest.raises(ValueError, match="no method has a setting 'treees'; did you mean 'trees'"):
        check_told("auto", {"treees": 8})
