"""A weight is how many rows a row stands for."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import distpu
from distpu import METHODS, AutoPU, BlendPU, DistPU, TwoStep
from distpu.methods.dist_pu_boost import gradient, risk
from distpu.prior.binormal import binormal
from distpu.threshold import Calibration, HeldOut, cut_at
from distpu.weights import ABLE, MOST, counted, read_weights, total
from small import small

UNABLE = [name for name in METHODS if name not in ABLE]


def pu_rows(n=600, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.35).astype(int)
    X = random.normal(size=(n, 4)) + y[:, None] * np.array([2.0, 1.5, 0, 0])
    return X, ((y == 1) & (random.random(n) < 0.4)).astype(int), y


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], r"shape \(2,\), but X has 3 rows"),
        ([[1], [1], [1]], r"shape \(3, 1\), but X has 3 rows"),
        ([1, -2, 3], r"1 negative weights, first in row 1 \(-2.0\)"),
        ([1, 2, np.nan], "1 NaN or infinite weights, first in row 2"),
        ([1, np.inf, 1], "1 NaN or infinite weights, first in row 1"),
        ([0, 0, 0], "zero for every row"),
        (["a", "b", "c"], "no numbers"),
    ],
)
def test_bad_weights_are_one_clear_line(weight, message):
    with pytest.raises(ValueError, match=message) as told:
        read_weights(weight, 3)
    assert "\n" not in str(told.value)


def test_weights_of_any_kind_are_read_and_ones_are_no_weights():
    for given in ([1, 2, 0.5], np.array([1, 2, 0.5]), pd.Series([1, 2, 0.5]), torch.tensor([1, 2, 0.5])):
        np.testing.assert_array_equal(read_weights(given, 3), [1, 2, 0.5])
    assert read_weights(None, 3) is None and read_weights([1, 1, 1], 3) is None
    np.testing.assert_array_equal(read_weights(2, 3), [2, 2, 2])


def test_whole_weights_count_scores_as_repeated_rows_do():
    random = np.random.default_rng(0)
    z, s, weight = random.normal(size=200).round(1), random.integers(0, 2, 200), random.integers(1, 6, 200)
    i = counted(z, s, weight.astype(float))
    np.testing.assert_array_equal(np.bincount(i, minlength=200), weight)
    r = np.repeat(np.arange(200), weight)
    (p, u), (rp, ru) = ((z[k][s[k] == 1], z[k][s[k] == 0]) for k in (i, r))
    assert binormal(p, u) == binormal(rp, ru) and cut_at(u, 0.3) == cut_at(ru, 0.3)
    assert HeldOut.of(p, u) == HeldOut.of(rp, ru)
    at = np.linspace(-3, 3, 50)
    np.testing.assert_allclose(Calibration.fit(p, u, 0.3)(at), Calibration.fit(rp, ru, 0.3)(at), rtol=1e-9)


def test_other_weights_count_to_the_nearest_row_and_large_ones_are_bounded():
    random = np.random.default_rng(1)
    z, s, weight = random.normal(size=500), np.zeros(500, dtype=int), random.exponential(3.0, 500)
    i = counted(z, s, weight)
    assert len(i) == round(weight.sum()) == total(weight, s == 0)
    for cut in (-1.0, 0.0, 1.5):
        assert abs(np.mean(z[i] < cut) - weight[z < cut].sum() / weight.sum()) <= 1 / len(i)
    assert len(counted(z, s, weight * 1e6)) == MOST
    assert len(counted(z, s, weight / 1e6)) == 500  # a small sum loses no row


@pytest.mark.parametrize("name", ABLE)
def test_whole_weights_learn_nearly_what_repeated_rows_teach(name):
    X, s, y = pu_rows()
    weight = np.random.default_rng(1).integers(0, 4, len(s))
    i = np.repeat(np.arange(len(s)), weight)
    told = {"prior": 0.25} if name in ("elkan-noto", "two-step") else {}  # their own estimates vary a lot by the seed
    weighted = small(name, **told).fit(X, s, sample_weight=weight)
    repeated = small(name, **told).fit(X[i], s[i])
    assert abs(weighted.prior_ - repeated.prior_) < 0.08
    assert weighted.expected_.unlabelled == repeated.expected_.unlabelled == (s[i] == 0).sum()
    a, b = (pd.Series(model.decision_function(X)).rank() for model in (weighted, repeated))
    assert a.corr(b) > 0.85
    assert np.mean(weighted.predict(X) == repeated.predict(X)) > 0.85
    assert roc_auc_score(y[s == 0], a[s == 0]) > 0.85


@pytest.mark.parametrize("name", ABLE)
def test_a_row_of_weight_zero_is_absent(name):
    X, s, _ = pu_rows(300)
    weight = np.ones(len(s))
    weight[::3] = 0
    seen = np.flatnonzero(weight)
    labels = s.copy()
    labels[0] = 1 - labels[0]  # what such a row is labelled must not matter
    a = small(name, prior=0.3).fit(X, labels, sample_weight=weight)
    b = small(name, prior=0.3).fit(X[seen], s[seen], sample_weight=weight[seen])
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert a.cut_ == b.cut_
    for what in ("oof_scores_", "oof_decision_function_", "oob_decision_function_"):
        if hasattr(a, what):
            assert len(getattr(a, what)) == len(X)
            np.testing.assert_array_equal(getattr(a, what)[seen], getattr(b, what))
            assert np.isfinite(getattr(a, what)[weight == 0]).all()
    if name == "two-step":
        np.testing.assert_array_equal(a.reliable_negatives_, seen[b.reliable_negatives_])


def test_weights_move_the_prior():
    X, s, y = pu_rows(900)
    weight = np.where((s == 0) & (y == 1), 3.0, 1.0)  # each hidden positive stands for three
    plain, weighted = (BlendPU(random_state=0).fit(X, s, sample_weight=w) for w in (None, weight))
    true = [np.average(y[s == 0], weights=w[s == 0]) for w in (np.ones(len(s)), weight)]
    assert true[1] > true[0] + 0.2
    assert abs((weighted.prior_ - plain.prior_) - (true[1] - true[0])) < 0.08
    assert weighted.expected_.hidden == pytest.approx(weighted.prior_ * weight[s == 0].sum())


def test_boosting_weighs_a_row_as_so_many_rows():
    random = np.random.default_rng(0)
    z, s, weight = random.normal(size=40), np.arange(40) % 4 // 3, random.integers(1, 4, 40)
    i = np.repeat(np.arange(40), weight)
    assert np.isclose(risk(z, s, 0.3, 0.1, weight=weight), risk(z[i], s[i], 0.3, 0.1))
    for mine, repeated in zip(gradient(z, s, 0.3, 0.1, weight=weight), gradient(z[i], s[i], 0.3, 0.1), strict=True):
        np.testing.assert_allclose(mine, np.bincount(i, repeated))


def test_the_list_of_methods_that_take_weights():
    assert {name for name, cls in METHODS.items() if cls.takes_weights} == set(ABLE)


@pytest.mark.parametrize("name", UNABLE)
def test_another_method_refuses_weights_and_names_methods_that_take_them(name):
    X, s, _ = pu_rows(60)
    with pytest.raises(ValueError, match=f"{name} takes no sample_weight.*blend-pu, dist-pu-boost"):
        METHODS[name]().fit(X, s, sample_weight=np.full(60, 2.0))
    with pytest.raises(TypeError, match="takes no argument 'weights'"):
        METHODS[name]().fit(X, s, weights=np.full(60, 2.0))


def test_a_classifier_without_weights_is_refused():
    X, s, _ = pu_rows(120)
    with pytest.raises(ValueError, match="estimator=KNeighborsClassifier takes no sample_weight"):
        TwoStep(KNeighborsClassifier()).fit(X, s, sample_weight=s + 1)
    TwoStep(GaussianNB()).fit(X, s, sample_weight=s + 1)


def test_a_folder_belongs_to_its_weights(tmp_path):
    X, s, _ = pu_rows(200)
    first = small("blend-pu").fit(X, s, sample_weight=s + 1, folder=tmp_path / "run")
    again = small("blend-pu").fit(X, s, sample_weight=s + 1, folder=tmp_path / "run")
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    assert "weights" in json.loads((tmp_path / "run/config.json").read_text())["data"]
    for other in (None, 3 * s + 1):
        with pytest.raises(ValueError, match="other"):
            small("blend-pu").fit(X, s, sample_weight=other, folder=tmp_path / "run")
    assert distpu.load(tmp_path / "run").expected_ == first.expected_


def test_auto_passes_weights_on():
    X, s, _ = pu_rows(200)
    settings = dict(random_state=0)
    a = AutoPU(**settings).fit(X, s, sample_weight=s + 1)
    b = BlendPU(**settings).fit(X, s, sample_weight=s + 1)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ValueError, match="dist-pu takes no sample_weight"):
        AutoPU().fit(np.zeros((20, 3, 32, 32)), np.arange(20) % 2, sample_weight=np.full(20, 2.0))
    assert not DistPU.takes_weights
