"""Rows that a person looked at: confirmed negatives, and positives that were found."""

import json

import numpy as np
import pytest

import distpu
from distpu import METHODS, AutoPU, BlendPU, DistPUBoost, PUbN
from distpu.inputs import read_labels
from distpu.looked import ABLE, estimate_now, share_before, share_now, trained_on
from distpu.methods._members import NEGATIVE, drawn, with_negatives
from distpu.methods.dist_pu_boost import gradient, risk, tree_weights
from distpu.prior import Estimate
from distpu.threshold import calibration_error
from pages import blocks
from small import small


def rows(n=1500, seed=0):
    random = np.random.default_rng(seed)
    y = (random.random(n) < 0.3).astype(int)
    X = random.normal(size=(n, 4)) + y[:, None] * np.array([1.8, 1.4, 0, 0])
    return X, ((y == 1) & (random.random(n) < 0.25)).astype(int), y


def marked(s, y, score, k=50):
    """A person looks at the k unlabelled rows of highest score. Returns their labels as text."""
    unlabelled = np.flatnonzero(s == 0)
    top = unlabelled[np.argsort(-score[unlabelled])][:k]
    labels = np.where(s == 1, "known", "").astype(object)
    labels[top] = np.where(y[top] == 1, "yes", "no")
    return labels


KNOWN = dict(pos_label="known", neg_label="no", found_label="yes")


@pytest.mark.parametrize(
    ("y", "told", "s"),
    [
        ([1, 0, -1, 1, 0], dict(neg_label=-1), [1, 0, -1, 1, 0]),
        ([1, 0, "no", 1, 0], dict(neg_label="no"), [1, 0, -1, 1, 0]),
        ([1, None, 0, 2], dict(neg_label=0, found_label=2), [1, 0, -1, 2]),
        (["known", "", "no", "yes"], KNOWN, [1, 0, -1, 2]),
        ([True, None, False], dict(neg_label=False), [1, 0, -1]),
        ([1, 0, 1], dict(neg_label="no"), [1, 0, 1]),  # a fold of a search may have none
    ],
)
def test_labels_of_rows_that_were_looked_at(y, told, s):
    found, classes = read_labels(np.array(y, dtype=object), **told)
    np.testing.assert_array_equal(found, s)
    assert len(classes) == 2


@pytest.mark.parametrize(
    ("y", "told", "message"),
    [
        ([1, 0, -1], dict(neg_label=1), "neg_label=1 is what pos_label says too"),
        (["a", "b"], dict(pos_label="a", neg_label="a"), "neg_label='a' is what pos_label says too"),
        ([1, 0, 2], dict(neg_label=2, found_label=2), "found_label=2 is what neg_label says too"),
        ([1, -1], dict(neg_label=-1), "beside the rows that were looked at.*no unlabelled row"),
    ],
)
def test_labels_that_cannot_be(y, told, message):
    with pytest.raises(ValueError, match=message):
        read_labels(np.array(y), **told)


def test_shares_before_and_after_a_look():
    s = np.array([1] * 4 + [0] * 20 + [-1] * 3 + [2] * 2)  # 25 rows were unlabelled
    assert share_before(0.2, s, None) == pytest.approx((0.2 * 20 + 2) / 25)
    assert share_now((0.2 * 20 + 2) / 25, s, None) == pytest.approx(0.2)
    assert share_now(0.01, s, None) == pytest.approx(0.5 / 21)  # more were found than were thought to be there
    weight = np.where(s == 2, 3.0, 1.0)
    assert share_before(0.2, s, weight) == pytest.approx((0.2 * 20 + 6) / 29)
    assert share_before(0.2, np.array([1, 0, 0]), None) == 0.2
    found = estimate_now(Estimate(0.24, (0.12, 0.4), 0.5, "binormal"), s, None)
    assert found.prior == pytest.approx(0.2) and found.interval == pytest.approx((0.05, 0.4))
    assert found.label_frequency == pytest.approx(6 / 10) and "looked at" in found.note
    np.testing.assert_array_equal(trained_on(s) == 1, (s == 1) | (s == 2))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ABLE])
def test_a_method_that_cannot_use_such_rows_says_which_can(name):
    X, s, y = rows(60)
    labels = marked(s, y, X[:, 2], 20)
    with pytest.raises(ValueError, match=f"^{name} cannot use .* rows of neg_label='no'; use one of blend-pu, dist-pu"):
        METHODS[name](**KNOWN).fit(X, labels)
    with pytest.raises(ValueError, match=f"^{name} cannot use .* rows of found_label='yes'"):
        METHODS[name](**KNOWN).fit(X, np.where(labels == "no", "", labels))


def test_the_list_of_methods_that_can():
    assert {name for name, cls in METHODS.items() if cls.takes_negatives} == set(ABLE)


def test_hidden_positives_are_counted_right_after_a_look_at_the_top():
    """Without found_label the same marks leave few positives: the labelled ones seem to be apart from the rest."""
    true, told, naive = [], [], []
    for seed in range(4):
        X, s, y = rows(1000, seed)
        labels = marked(s, y, X[:, 0])
        assert {"yes", "no"} <= set(labels[labels != ""]) and (labels == "yes").sum() > 30
        settings = dict(trees=20, bags=3, folds=3, random_state=seed)
        model = BlendPU(**KNOWN, **settings).fit(X, labels)
        plain = BlendPU(pos_label="known", **settings).fit(X, np.where(labels == "yes", "known", labels))
        true.append(y[labels == ""].sum())
        told.append(model.expected_.hidden)
        naive.append(plain.prior_ * (labels == "").sum())
        assert model.expected_.unlabelled == (labels == "").sum()
        low, high = model.expected_.hidden_interval
        assert low < true[-1] < high
    assert abs(np.mean(told) / np.mean(true) - 1) < 0.25
    assert np.mean(naive) < 0.5 * np.mean(true)


def test_probabilities_of_the_rows_that_are_left_are_still_right():
    X, s, y = rows(3000)
    labels = marked(s, y, X[:, 0] + X[:, 1], 200)
    left = labels == ""
    share = float(y[left].mean())
    model = BlendPU(**KNOWN, trees=20, bags=3, folds=3, prior=share, random_state=0).fit(X, labels)
    p = model.cut_.calibration(model._calibrated_on(model.oof_scores_))[left]
    assert abs(p.mean() - share) < 0.03 and calibration_error(p, y[left]) < 0.06
    assert model.prior_ == share
    assert abs(model.expected_.precision - y[left & (model._decide(model.oof_scores_) >= 0)].mean()) < 0.1


@pytest.mark.parametrize("name", ["blend-pu", "dist-pu-boost"])
def test_confirmed_negatives_teach(name):
    """Half of the plane looks positive, but all rows there that were looked at are negative."""
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2)).astype(np.float32)
    labels = np.where((X[:, 0] > 0) & (random.random(600) < 0.3), "known", "").astype(object)
    there = np.flatnonzero((X[:, 0] > 0) & (X[:, 1] > 0.5))
    labels[there] = "no"
    labels[there[:5]] = ""
    told = dict(prior=0.3, pos_label="known")
    model = small(name, neg_label="no", **told).fit(X, labels)
    without = small(name, **told).fit(X, labels)
    here = (X[:, 0] > 0) & (X[:, 1] < -0.5)
    for each in (model, without):
        each.gap = np.median(each.decision_function(X[here])) - np.median(each.decision_function(X[there]))
    assert model.gap > without.gap + 0.1


def test_pubn_takes_them_for_biased_negatives_and_knows_rho():
    X, s, y = rows(300)
    labels = marked(s, y, X[:, 0], 60)
    model = small("pubn", **KNOWN, prior=0.2).fit(X, labels)
    assert model.prior_ == pytest.approx(0.2)  # among the rows that are left
    other = small("pubn", pos_label="known", prior=0.2, random_state=1).fit(X, labels)
    assert not np.allclose(model.decision_function(X), other.decision_function(X))
    assert PUbN(**KNOWN).rho is None


def test_members_weigh_confirmed_negatives_and_see_them_all():
    s = np.array([1] * 5 + [0] * 50 + [-1] * 4)
    np.testing.assert_array_equal(with_negatives(None, s), np.where(s == -1, NEGATIVE, 1))
    np.testing.assert_array_equal(with_negatives(np.full(59, 2.0), s), np.where(s == -1, 2 * NEGATIVE, 2))
    assert with_negatives(None, np.abs(s)) is None
    picked = drawn(s, 1000, 3, np.random.RandomState(0))
    assert {*np.flatnonzero(s == -1)} <= {*picked} and (s[picked] == 0).sum() == 15
    assert (tree_weights(s, 0.8, 3.0, np.random.RandomState(0))[s == -1] == 1).all()


def test_boosting_has_the_gradient_of_its_risk_with_negatives():
    random = np.random.default_rng(0)
    z, s = random.normal(size=40), np.repeat([1, 0, -1, 2], 10)
    g, _ = gradient(z, s, 0.3, 0.1)
    for i in range(40):
        step = 1e-6 * (np.arange(40) == i)
        slope = (risk(z + step, s, 0.3, 0.1) - risk(z - step, s, 0.3, 0.1)) / 2e-6
        assert g[i] == pytest.approx(slope, abs=1e-7)


def test_a_folder_knows_the_labels_and_restores_the_count(tmp_path):
    X, s, y = rows(300)
    labels = marked(s, y, X[:, 0])
    model = small("blend-pu", **KNOWN).fit(X, labels, folder=tmp_path / "run")
    assert distpu.load(tmp_path / "run").expected_ == model.expected_
    params = json.loads((tmp_path / "run/config.json").read_text())["params"]
    assert (params["neg_label"], params["found_label"]) == ("no", "yes")
    assert set(model.predict(X)) == {"known", ""}
    with pytest.raises(ValueError, match="other"):
        small("blend-pu", **KNOWN).fit(X, np.where(labels == "no", "", labels), folder=tmp_path / "run")


def test_auto_and_weights_go_along():
    X, s, y = rows(300)
    labels = marked(s, y, X[:, 0])
    model = AutoPU(**KNOWN, random_state=0).fit(X, labels, sample_weight=np.where(labels == "no", 2, 1))
    assert model.expected_.unlabelled == (labels == "").sum()
    assert DistPUBoost.takes_negatives and BlendPU.takes_negatives


def test_the_code_of_the_guide_runs(capsys):
    for block in blocks("docs/feedback.md"):
        exec(block, {})
    true, told = (int(word) for word in capsys.readouterr().out.replace(";", "").split() if word.isdigit())
    assert abs(told / true - 1) < 0.4
