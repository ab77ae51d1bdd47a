"""The classic PU methods around any scikit-learn classifier: their equations, and what every one of them must do."""

import pickle
from collections import OrderedDict
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.sparse import csr_array, csr_matrix
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import distpu
from distpu import METHODS, BaggingPU, ElkanNoto, TwoStep, datasets, prior
from distpu.datasets.draw import draw_pu
from distpu.methods import _wrapper
from distpu.methods._wrapper import row_keys
from distpu.prior import scores
from distpu.threshold import cut_at

WRAPPERS = {name: METHODS[name] for name in ("elkan-noto", "bagging-pu", "two-step")}
every_wrapper = pytest.mark.parametrize("name", WRAPPERS)


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """The prior's forest with few trees, and its memory of estimates kept apart from other tests'."""
    monkeypatch.setattr(scores, "TREES", 20)
    monkeypatch.setattr(prior.estimator, "_recent", OrderedDict())


def tree():
    return DecisionTreeClassifier(max_depth=4, min_samples_leaf=3)


def logistic():
    return LogisticRegression(solver="liblinear")  # the default's BLAS threads cost more than the fit


def small(name, estimator=None, **settings):
    few = {"n_estimators": 10, "calibrate": False} if name == "bagging-pu" else {}  # tests/threshold calibrates
    estimator = tree() if estimator is None else estimator
    return WRAPPERS[name](estimator, **{"random_state": 0, **few, **settings})


class Known(ClassifierMixin, BaseEstimator):
    """Learns nothing: the score is the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


class ByHeart(Known):
    """Knows its training rows by their first column: what was fitted as 1 scores .9, as 0 .1, and others .4."""

    def fit(self, X, y):
        self.rows_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        return super().fit(X, y)

    def predict_proba(self, X):
        p = np.array([{1: 0.9, 0: 0.1, None: 0.4}[self.rows_.get(x)] for x in X[:, 0].tolist()])
        return np.column_stack([1 - p, p])


class Foreign(BaseEstimator):
    """As another library's: no classes_, no tags of a classifier, labels 0 and 1 only."""

    def __init__(self, depth=3):
        self.depth = depth

    def fit(self, X, y):
        assert y.dtype.kind == "i" and set(y.tolist()) == {0, 1}
        self.tree_ = DecisionTreeClassifier(max_depth=self.depth, random_state=0).fit(np.asarray(X), y)
        return self

    def predict_proba(self, X):
        return self.tree_.predict_proba(np.asarray(X)).astype(np.float32)


# ------------------------------------------------------------- scikit-learn


@pytest.mark.slow  # the contract runs these checks for bagging-pu
@pytest.mark.filterwarnings("ignore:y holds:UserWarning")  # scikit-learn's checks feed labels such as {'one', 'two'}
@parametrize_with_checks(
    [small(name) for name in WRAPPERS] + [small(name, LinearSVC()) for name in WRAPPERS]  # no expected failures
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y holds:UserWarning")
@parametrize_with_checks([cls() for cls in WRAPPERS.values()])
def test_scikit_learn_with_default_settings(estimator, check):
    check(estimator)


# -------------------------------------------------------------- Elkan-Noto

Z_P, Z_U = [0.95, 0.9, 0.8, 0.6], [0.92, 0.85, 0.5, 0.3, 0.2, 0.1]  # the specification's toy scores


def toy_scores():
    return np.array([*Z_P, *Z_U])[:, None], np.array([1] * 4 + [0] * 6)


def test_elkan_noto_by_hand():
    X, s = toy_scores()
    fitted = ElkanNoto(Known(), calibrate=False).fit(X, s)
    c = 0.8125  # mean of Z_P
    assert fitted.c_ == pytest.approx(c, abs=1e-12)
    assert fitted.prior_ == pytest.approx(4 / 6 * 0.2307692308, abs=1e-9)  # n_P / n_U (1 - c) / c
    g = np.array(Z_U)
    expected = np.minimum((1 - c) / c * g / (1 - g), 1)
    np.testing.assert_allclose(fitted.predict_proba(X)[4:, 1], expected, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X)[4:], expected >= 0.5)
    np.testing.assert_allclose(fitted.oof_decision_function_, fitted.decision_function(X), atol=1e-9)


def test_elkan_noto_single_set_divides_by_c():
    X, s = toy_scores()
    fitted = ElkanNoto(Known(), calibrate=False, scenario="single-set").fit(X, s)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], np.minimum(X[:, 0] / 0.8125, 1), atol=1e-9)


def test_the_two_conversions_agree_at_a_sure_positive_and_belong_to_their_populations():
    """Two kinds of rows, sure positives and sure negatives: the mean probability is the share in each population."""
    X = np.repeat([[0.25], [0.0001]], [40, 60], axis=0)  # 10 of 40 positives are labelled: g = c = 1/4
    s = (np.arange(100) < 10).astype(int)
    kinds = {k: ElkanNoto(Known(), calibrate=False, scenario=k, folds=2) for k in ("case-control", "single-set")}
    for scenario, share in (("case-control", 30 / 90), ("single-set", 40 / 100)):
        X[:, 0] += np.linspace(0, 1e-9, 100)  # different rows, so that there are folds
        p = kinds[scenario].fit(X, s).predict_proba(X)[:, 1]
        assert kinds[scenario].prior_ == pytest.approx(30 / 90, abs=1e-6)
        population = p[s == 0] if scenario == "case-control" else p
        assert population.mean() == pytest.approx(share, abs=1e-3)


def test_elkan_noto_takes_c_from_a_given_prior():
    X, s = toy_scores()
    fitted = ElkanNoto(Known(), prior=0.5).fit(X, s)
    assert fitted.c_ == pytest.approx(4 / (4 + 0.5 * 6)) and fitted.prior_ == 0.5


def test_labelled_rows_are_scored_by_models_that_did_not_see_them_or_a_copy():
    X = np.arange(60.0)[:, None]
    X[40:50] = X[:10]  # case-control: the labelled rows are also among the unlabelled
    s = (np.arange(60) < 10).astype(int)
    fitted = ElkanNoto(ByHeart(), calibrate=False).fit(X, s)
    assert fitted.prior_ == pytest.approx(min(10 * 0.6 / (0.4 * 50), 1))  # c = .4: nobody was recognised
    assert len(fitted.estimators_) == 5


def test_after_calibration_both_estimates_of_the_prior_agree(toy):
    X, s, _ = toy
    fitted = ElkanNoto(logistic(), random_state=0).fit(X, s)
    g = expit(fitted.oof_decision_function_ - np.log(2 * (1 - fitted.c_) / fitted.c_))
    assert g.sum() == pytest.approx(s.sum(), abs=1e-3)
    assert g[s == 1].mean() == pytest.approx(fitted.c_, abs=1e-4)
    assert g[s == 0].mean() / g[s == 1].mean() == pytest.approx(fitted.prior_, abs=1e-4)


def test_only_the_order_of_the_scores_counts(toy):
    """Overconfidence, class weights, decision values on any scale: all the same after calibration."""
    X, s, _ = toy
    score = expit(X.sum(1) - 8)[:, None]
    fitted = {power: ElkanNoto(Known(), random_state=0) for power in (1, 3)}
    for power, classifier in fitted.items():
        classifier.fit(score**power, s)
    assert fitted[1].prior_ == pytest.approx(fitted[3].prior_, abs=1e-6)
    np.testing.assert_array_equal(fitted[1].predict(score), fitted[3].predict(score**3))


def test_steps_of_the_calibration_keep_the_order(toy):
    X, s, y = toy
    fitted = ElkanNoto(LinearSVC(), random_state=0).fit(X, s)
    raw = np.mean([model.decision_function(X) for model in fitted.estimators_], axis=0)
    np.testing.assert_array_equal(np.argsort(fitted.decision_function(X)), np.argsort(raw))
    assert (fitted._probability(fitted.decision_function(X)) == 1).sum() > 1  # cut off, but not in the decision values


def test_calibration_saves_an_overconfident_classifier():
    data = datasets.load("digits")
    index, s = draw_pu(data.y, 100)
    accuracy, share = {}, {}
    for calibrate in (True, False):
        fitted = ElkanNoto(HistGradientBoostingClassifier(), folds=3, calibrate=calibrate, random_state=0)
        guess = fitted.fit(data.x[index], s).predict(data.x_test)
        accuracy[calibrate], share[calibrate] = (guess == data.y_test).mean(), guess.mean()
    assert share[False] < 0.3 < 0.4 < share[True] < 0.7  # half of them are positive
    assert accuracy[True] > accuracy[False] + 0.1


# -------------------------------------------------------------- Bagging PU


def test_the_cut_lies_between_scores_and_takes_the_nearest_share():
    z = np.array([0.0] * 6 + [1.0, 1.0, 2.0, 3.0])
    for share, cut in ((0.1, 2.5), (0.21, 1.5), (0.35, 0.5), (0.9, 0.5), (0.001, 2.5)):
        assert cut_at(z, share) == cut
    assert expit(1.0 - cut_at(np.ones(5), 0.3)) == pytest.approx(0.3)  # nothing to tell rows apart by


def test_bagging_draws_as_many_unlabelled_rows_as_there_are_labelled():
    random = np.random.default_rng(0)
    X, s = random.random((100, 2)), (np.arange(100) < 12).astype(int)

    def drawn(max_samples):
        fitted = BaggingPU(ByHeart(), n_estimators=20, max_samples=max_samples, prior=0.3, random_state=0).fit(X, s)
        kinds = [list(model.rows_.values()) for model in fitted.estimators_]
        assert all(sum(kind) == 12 for kind in kinds)  # every labelled row, once
        return np.array([len(kind) - 12 for kind in kinds])  # different unlabelled rows

    assert (drawn(None) <= 12).all() and drawn(None).max() == 12 and drawn(7).max() == 7
    assert drawn(1.0).mean() == pytest.approx(88 * (1 - np.exp(-1)), rel=0.05) and drawn(0.25).max() <= 22


def test_out_of_bag_scores_come_from_models_that_did_not_see_the_row():
    X, s = np.arange(50.0)[:, None], (np.arange(50) < 10).astype(int)
    fitted = BaggingPU(ByHeart(), n_estimators=30, prior=0.25, random_state=0).fit(X, s)
    oob = fitted.oob_decision_function_
    assert np.isnan(oob[:10]).all()  # labelled rows are in every bag
    np.testing.assert_allclose(expit(oob[10:]), 0.25)  # .4 each, which tells nothing: the prior
    assert (fitted.decision_function(X)[10:] < oob[10:]).all()  # in the bag they were known by heart


def test_bagging_calls_the_priors_share_of_the_unlabelled_rows_positive(toy):
    X, s, _ = toy
    for share in (0.1, 0.4, 0.7):
        fitted = BaggingPU(logistic(), n_estimators=20, prior=share, random_state=0).fit(X, s)
        oob = fitted.oob_decision_function_[s == 0]
        assert (oob >= 0).mean() == pytest.approx(share, abs=0.01) and fitted.prior_ == share


def test_bagging_with_one_tiny_draw_still_has_a_cut():
    X, s = np.arange(4.0)[:, None], np.array([1, 1, 0, 0])
    fitted = BaggingPU(n_estimators=1, max_samples=50, prior=0.5, random_state=0).fit(X, s)
    assert np.isnan(fitted.oob_decision_function_).all() and np.isfinite(fitted.decision_function(X)).all()


def test_the_prior_is_estimated_as_elsewhere_where_rows_are_numbers(toy):
    X, s, _ = toy
    expected = prior.estimate_prior(X.astype(np.float32), s)
    for rows in (X, X.tolist(), pd.DataFrame(X), X.astype(object)):
        assert small("bagging-pu").fit(rows, s).prior_ == expected


def test_small_draws_beat_pulearns_default():
    """Draws as large as the unlabelled set, and a cut at 1/2: fewer well-ranked rows, and next to no positives."""
    data = datasets.load("digits")
    index, s = draw_pu(data.y, 100)
    auc, share = {}, {}
    for size in (None, 1.0):
        fitted = BaggingPU(DecisionTreeClassifier(), n_estimators=40, max_samples=size, prior=0.5, random_state=0)
        fitted.set_params(calibrate=False).fit(data.x[index], s)
        votes = np.mean([model.predict_proba(data.x_test)[:, 1] for model in fitted.estimators_], axis=0)
        auc[size], share[size] = roc_auc_score(data.y_test, votes), (votes >= 0.5).mean()
        assert 0.35 < (fitted.predict(data.x_test) == 1).mean() < 0.6  # our cut holds for both
    assert auc[None] > auc[1.0] + 0.02 and share[1.0] < 0.05


# ----------------------------------------------------------------- two-step


class Watched(Known):
    """Keeps the labels it was fitted with, by row."""

    fits: list = []

    def fit(self, X, y):
        self.fits.append(dict(zip(X[:, 1].tolist(), y.tolist(), strict=True)))
        return super().fit(X, y)


@pytest.fixture
def watched(monkeypatch):
    monkeypatch.setattr(Watched, "fits", [])
    return Watched


def scored(z_p, z_u):
    """Rows with a score, a number each, and their labels."""
    z = np.array([*z_p, *z_u])
    return np.column_stack([z, np.arange(len(z))]), (np.arange(len(z)) < len(z_p)).astype(int)


def test_every_labelled_row_is_a_spy_once(watched):
    X, s = scored(np.linspace(0.6, 0.9, 20), np.linspace(0.1, 0.8, 50))
    TwoStep(watched(), spies=0.2, calibrate=False, random_state=0).fit(X, s)
    *first, second = watched.fits
    assert len(first) == 5
    for fit in first:
        assert sum(fit[i] for i in range(20)) == 16 and not any(fit[i] for i in range(20, 70))
    hidden = np.sum([[fit[i] == 0 for i in range(20)] for fit in first], axis=0)
    assert (hidden == 1).all()
    assert all(second[i] == 1 for i in range(20))


def test_reliable_negatives_score_below_the_spies(watched):
    X, s = scored([0.9, 0.8, 0.7, 0.6, 0.2], [0.95, 0.65, 0.5, 0.3, 0.1])
    fitted = TwoStep(watched(), noise=0.25, calibrate=False, random_state=0).fit(X, s)
    assert fitted.reliable_negatives_.tolist() == [7, 8, 9]  # below .6, which a quarter of the spies does not reach
    assert watched.fits[-1] == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 7: 0, 8: 0, 9: 0}  # .95 and .65 are left out
    assert TwoStep(Known(), noise=0.0, random_state=0).fit(X, s).reliable_negatives_.tolist() == [9]


def test_there_are_always_reliable_negatives():
    X, s = scored([0.1, 0.2, 0.3], np.linspace(0.4, 0.9, 40))  # all spies score lowest
    fitted = TwoStep(Known(), random_state=0).fit(X, s)
    assert fitted.reliable_negatives_.tolist() == [3, 4]  # 5 % of 40, the lowest
    X, s = scored([0.5] * 3, [0.5] * 40)  # nothing to tell rows apart by
    found = {tuple(TwoStep(Known(), random_state=seed).fit(X, s).reliable_negatives_) for seed in range(4)}
    assert len(found) > 1 and {len(rows) for rows in found} == {2}


def test_a_second_round_takes_confident_rows(watched):
    X, s = scored([0.9, 0.8, 0.7, 0.6], [0.95, 0.65, 0.75, 0.05, 0.1])
    once = TwoStep(Known(), random_state=0).fit(X, s)
    assert once.reliable_negatives_.tolist() == [7, 8]
    TwoStep(watched(), confident=0.7, calibrate=False, random_state=0).fit(X, s)
    assert watched.fits[-1] == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 6: 1, 7: 0, 8: 0}


def test_two_step_decides_at_one_half_or_by_the_prior():
    X, s = scored([0.9, 0.8, 0.65, 0.55], [0.95, 0.7, 0.6, 0.3, 0.2, 0.1, 0.05, 0.01])
    auto = TwoStep(Known(), random_state=0).fit(X, s)
    np.testing.assert_array_equal(auto.predict(X), X[:, 0] >= 0.5)
    assert auto.prior_ == 3 / 8
    X, s = scored([0.9, 0.85, 0.8, 0.75], [0.95, 0.7, 0.65, 0.6, 0.55, 0.1, 0.05, 0.01])
    rare = TwoStep(Known(), random_state=0).fit(X, s)  # five of eight lie above 1/2; the spies say one in eight
    assert rare.predict(X)[4:].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    X, s = scored([0.9, 0.8, 0.65, 0.55], [0.95, 0.7, 0.6, 0.3, 0.2, 0.1, 0.05, 0.01])
    given = TwoStep(Known(), prior=0.5, random_state=0).fit(X, s)
    assert given.predict(X)[4:].tolist() == [1, 1, 1, 1, 0, 0, 0, 0] and given.prior_ == 0.5


# ----------------------------------------------------------- all three alike


@every_wrapper
@pytest.mark.parametrize("estimator", [None, LinearSVC(), Foreign()], ids=["tree", "no predict_proba", "foreign"])
def test_learns_a_toy(name, estimator, toy):
    X, s, y = toy
    fitted = small(name, estimator).fit(X, s)
    hidden = s == 0
    z, p = fitted.decision_function(X), fitted.predict_proba(X)
    assert roc_auc_score(y[hidden], z[hidden]) > 0.85
    assert (fitted.predict(X) == y)[hidden].mean() > 0.75
    assert p.shape == (300, 2) and (p >= 0).all() and (p <= 1).all() and 0 < fitted.prior_ < 1
    np.testing.assert_allclose(p.sum(1), 1)
    assert (np.diff(p[np.argsort(z), 1]) >= 0).all()
    np.testing.assert_array_equal(z >= 0, fitted.predict(X) == 1)
    assert fitted.n_features_in_ == 6 and fitted.classes_.tolist() == [0, 1]


@every_wrapper
@pytest.mark.parametrize("scenario", ["case-control", "single-set"])
@pytest.mark.parametrize("dataset", ["digits", "breast-cancer"])
def test_no_wrapper_calls_almost_all_rows_negative(name, scenario, dataset):
    data = datasets.load(dataset)
    index, s = draw_pu(data.y, data.labelled, scenario)
    inside = {} if name == "bagging-pu" else {"estimator": HistGradientBoostingClassifier(max_iter=20)}
    fitted = WRAPPERS[name](random_state=0, **inside).fit(data.x[index], s)
    share = (fitted.predict(data.x_test) == 1).mean()
    assert roc_auc_score(data.y_test, fitted.decision_function(data.x_test)) > 0.9
    assert 0.5 < share / data.y_test.mean() < 1.5
    assert (fitted.predict(data.x_test) == data.y_test).mean() > 0.8


@every_wrapper
@pytest.mark.parametrize("inside", [DecisionTreeClassifier(max_features=1), make_pipeline(StandardScaler(), tree())])
def test_same_seed_same_results(name, inside, toy):
    X, s, _ = toy
    np.random.seed(5)
    expected = np.random.rand()
    np.random.seed(5)
    a, b, c = (small(name, inside, prior=0.4, random_state=seed).fit(X, s).decision_function(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    assert np.random.rand() == expected  # the global state is left alone


def test_a_seed_of_the_classifier_inside_is_kept(toy):
    X, s, _ = toy
    fitted = ElkanNoto(DecisionTreeClassifier(random_state=7), random_state=0).fit(X, s)
    assert {model.random_state for model in fitted.estimators_} == {7}
    seeded = ElkanNoto(make_pipeline(StandardScaler(), tree()), random_state=0).fit(X, s)
    assert len({model[-1].random_state for model in seeded.estimators_}) == 5


@every_wrapper
def test_clone_pickle_pipeline_and_search(name, toy):
    X, s, _ = toy
    classifier = small(name, prior=0.4)
    inside = classifier.estimator
    fitted = clone(classifier).fit(X, s)
    assert fitted.estimator is not inside and not hasattr(inside, "tree_")
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert make_pipeline(StandardScaler(), clone(classifier)).fit(X, s).score(X, s) > 0.4
    assert np.isfinite(cross_val_score(classifier, X, s, cv=2, scoring="roc_auc")).all()
    search = GridSearchCV(classifier, {"estimator__max_depth": [1, 3]}, cv=2, scoring="roc_auc").fit(X, s)
    assert search.best_params_["estimator__max_depth"] in (1, 3)


@every_wrapper
@pytest.mark.parametrize(
    "encode, classes",
    [
        (lambda s: np.where(s == 1, 1, -1), [-1, 1]),
        (lambda s: s == 1, [False, True]),
        (lambda s: np.where(s == 1, 1.0, np.nan), [0, 1]),
        (lambda s: np.where(s == 1, "a known one", "who knows"), ["who knows", "a known one"]),
        (lambda s: torch.from_numpy(s), [0, 1]),
    ],
)
def test_labels_in_the_users_own_words(name, encode, classes, toy):
    X, s, _ = toy
    expected = small(name, prior=0.4).fit(X, s).predict(X)
    own = small(name, prior=0.4, pos_label="a known one" if "who knows" in classes else None).fit(X, encode(s))
    assert own.classes_.tolist() == classes
    np.testing.assert_array_equal(own.predict(X), own.classes_[expected])


@every_wrapper
@pytest.mark.parametrize("inside", [tree(), HistGradientBoostingClassifier(max_iter=5)], ids=["tree", "boosting"])
def test_arrays_and_frames_give_the_same_scores_and_no_warnings(name, inside, toy):
    X, s, _ = toy
    names = [f"c{i}" for i in range(6)]
    expected = small(name, inside, prior=0.4).fit(X, s).decision_function(X)
    shuffled = pd.DataFrame(X, columns=names, index=np.arange(300)[::-1] * 3)
    for rows in (shuffled, pl.DataFrame(X, schema=names), X.tolist(), torch.from_numpy(X)):
        fitted = small(name, inside, prior=0.4).fit(rows, s)
        np.testing.assert_allclose(fitted.decision_function(rows), expected)
    assert not hasattr(fitted, "feature_names_in_")
    fitted = small(name, inside, prior=0.4).fit(shuffled, pd.Series(s))
    assert fitted.feature_names_in_.tolist() == names
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(shuffled[names[::-1]])


@every_wrapper
def test_gaps_categories_sparse_rows_texts_and_images_where_the_classifier_takes_them(name, toy):
    X, s, y = toy
    gaps = X.copy()
    gaps[::7, 2] = np.nan
    boosting = HistGradientBoostingClassifier(max_iter=10)
    letters = pd.Series(np.where(X[:, 0] > 1, "high", "low"), dtype="category")
    frame = pd.DataFrame({"level": letters, "x": X[:, 1], "z": gaps[:, 2]})
    words = [" ".join(f"w{i}{'+' if v > 1 else '-'}" for i, v in enumerate(row)) for row in X]
    texts = make_pipeline(CountVectorizer(token_pattern=r"\S+"), logistic())
    encoded = make_pipeline(OneHotEncoder(handle_unknown="ignore"), logistic())
    cases = [
        (boosting, gaps),
        (boosting, frame),
        (logistic(), csr_matrix(X)),
        (logistic(), csr_array(X)),
        (texts, words),
        (texts, pd.Series(words)),
        (encoded, np.where(X > 1, "high", "low").astype(object)),
        (tree(), X.reshape(300, 1, 2, 3)),
    ]
    for inside, rows in cases:
        fitted = small(name, inside).fit(rows, s)  # prior='auto' too
        assert roc_auc_score(y, fitted.decision_function(rows)) > 0.8
        assert 0 < fitted.prior_ < 1
    for inside, rows, told in (
        (logistic(), gaps, {}),
        (boosting, csr_matrix(X), {}),
        (tree(), frame, {"encode": False}),
    ):
        with pytest.raises((ValueError, TypeError), match="NaN|[Ss]parse|string"):  # the classifier's own words
            small(name, inside, **told).fit(rows, s)
    assert roc_auc_score(y, small(name, tree()).fit(frame, s).decision_function(frame)) > 0.8  # encoded


def test_equal_rows_have_one_key_in_every_container():
    rows = [[1.0, 2.0], [0.0, 3.0], [1.0, 2.0], [np.nan, 1.0], [np.nan, 1.0], [0.0, 3.0]]
    expected = [0, 1, 0, 2, 2, 1]
    for X in (np.array(rows), pd.DataFrame(rows), pl.DataFrame(rows, orient="row"), csr_matrix(rows)):
        assert row_keys(X).tolist() == expected
    assert row_keys(np.array(["b", "a", "b"], dtype=object)).tolist() == [0, 1, 0]


@every_wrapper
def test_a_classifier_that_scores_nothing_is_refused(name, toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="LinearRegression has neither predict_proba nor decision_function; give"):
        small(name, LinearRegression(), prior=0.4).fit(X, s)


@pytest.mark.parametrize("given", ["x", 1, RandomForestClassifier], ids=["text", "number", "class"])
def test_what_is_no_classifier_is_refused(given, toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="^estimator=.* is no classifier; give one, such as RandomForestClassifier()"):
        small("elkan-noto", given).fit(X, s)


INSIDE = {
    "default": None,
    "forest": RandomForestClassifier(10),
    "linear": LogisticRegression(),
    "decision values": LinearSVC(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
}


@every_wrapper
@pytest.mark.parametrize("inside", INSIDE)
def test_save_and_load_without_pickle(name, inside, toy, tmp_path):
    X, s, _ = toy
    fitted = small(name, INSIDE[inside], prior=0.4).fit(X, s)
    loaded = distpu.load(fitted.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert repr(loaded.estimator) == repr(fitted.estimator)
    assert b"pickle" not in b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())


@every_wrapper
def test_a_classifier_that_has_no_safe_file_is_refused_by_name(name, toy, tmp_path):
    X, s, _ = toy
    fitted = small(name, Known(), prior=0.4).fit(X, s)
    with pytest.raises(ValueError, match=r"holds .*Known, which has no file that is safe to load; .*joblib\.dump"):
        fitted.save(tmp_path / "model")


def die_at_the_third_fit(monkeypatch):
    """Break off the third fit of a tree, once. Returns the list of fits."""
    fit, calls = DecisionTreeClassifier.fit, []

    def dies(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(DecisionTreeClassifier, "fit", dies)
    return calls


@every_wrapper
def test_a_killed_fit_goes_on_to_the_same_bits(name, toy, tmp_path, monkeypatch):
    X, s, _ = toy
    whole = small(name, prior=0.4).fit(X, s)
    monkeypatch.setattr(_wrapper, "KEPT_FROM", -1.0)  # keep every model, however quick
    calls = die_at_the_third_fit(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        small(name, prior=0.4).fit(X, s, folder=tmp_path / "run")
    assert len(list((tmp_path / "run").glob("part-*.skops"))) == 2
    resumed = small(name, prior=0.4).fit(X, s, folder=tmp_path / "run")
    np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))
    made = len(calls)
    small(name, prior=0.4).fit(X, s)
    assert made == (len(calls) - made) + 1  # the two that were kept were not fitted again; the third was, once more
    assert not list((tmp_path / "run").glob("part-*"))


@every_wrapper
def test_says_what_it_is(name):
    cls = WRAPPERS[name]
    assert cls.name == name and cls.paper and cls.__doc__
    assert all(f.metadata.get("help") for f in fields(cls))
    assert cls(RandomForestClassifier()).estimator is not None and cls().get_params()["prior"] == "auto"


@pytest.mark.parametrize(
    "wrapper, message",
    [
        (ElkanNoto(prior=1.3), "prior=1.3 must lie strictly between 0 and 1"),
        (ElkanNoto(prior="bb"), "prior='bb' must be .*, or the name of an estimator; did you mean 'bbe'"),
        (ElkanNoto(folds=1), "folds=1 must be at least 2"),
        (ElkanNoto(scenario="single_set"), "did you mean 'single-set'"),
        (BaggingPU(n_estimators=0), "n_estimators=0 must be at least 1"),
        (BaggingPU(max_samples=0), "max_samples=0 must be None, a whole number"),
        (BaggingPU(max_samples=1.5), "max_samples=1.5 must be None, a whole number"),
        (BaggingPU(max_samples="all"), "max_samples='all' must be None"),
        (TwoStep(spies=0.8), "spies=0.8 must be above 0 and at most 0.5"),
        (TwoStep(confident=0.2), "confident=0.2 must be at least 0.5 and below 1"),
    ],
)
def test_wrong_settings_are_named(wrapper, message, toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match=message):
        wrapper.fit(X, s)


@every_wrapper
def test_too_few_rows_are_named(name, toy):
    X, s, _ = toy
    one = (np.arange(300) == 0).astype(int)
    with pytest.raises(ValueError, match="at least 2 (different )?labelled positives"):
        small(name).fit(X, one)
    with pytest.raises(ValueError, match="X has 300 rows, but y has 20 labels"):
        small(name).fit(X, s[:20])


def test_one_unlabelled_row_is_too_few_for_folds():
    with pytest.raises(ValueError, match="at least 2 different unlabelled rows"):
        ElkanNoto(tree()).fit(np.arange(6.0)[:, None], [1, 1, 1, 1, 1, 0])


@pytest.mark.parametrize("how", ["blank", "sparse", "texts"])
@pytest.mark.parametrize("seed", range(3))
def test_bagging_with_a_blank_a_sparse_matrix_or_texts_finds_no_prior_of_1(how, seed, toy):
    X, s, y = toy
    inside = None
    if how == "blank":
        X = X.copy()
        X[7, 1] = np.nan
    elif how == "sparse":
        X = csr_matrix(np.where(np.abs(X) < 0.5, 0, X))
    else:
        X = np.array([" ".join(f"w{int(v)}" for v in row) for row in X])
        inside = make_pipeline(CountVectorizer(), DecisionTreeClassifier(max_features="sqrt"))
    fitted = BaggingPU(inside, n_estimators=20, random_state=seed).fit(X, s)
    assert 0.2 < fitted.prior_ < 0.75  # 0.4 is true
    assert (fitted.predict(X) == 1)[s == 0].mean() < 0.8


@pytest.mark.parametrize(("cls", "before"), [(ElkanNoto, 0.25), (TwoStep, 0.39)])
def test_a_rare_class_is_not_called_a_third_of_the_rows(cls, before):
    """2 % are positive and overlap with the rest. The ranking is fair; the cut once called over a quarter positive."""
    random = np.random.default_rng(100)
    y = np.r_[np.ones(300), np.zeros(9_700)].astype(int)  # 100 labelled, 200 hidden
    X = random.normal(size=(10_000, 6))
    X[:, :4] += 0.7 * y[:, None]
    s = (np.arange(10_000) < 100).astype(int)
    fitted = cls(HistGradientBoostingClassifier(max_iter=30), random_state=0).fit(X, s)
    decision = fitted.decision_function(X)[s == 0]
    assert roc_auc_score(y[s == 0], decision) > 0.75
    assert (decision >= 0).mean() < 0.65 * before


def test_two_step_with_few_labelled_rows_finds_more_than_a_handful():
    random = np.random.default_rng(30)
    y = np.r_[np.ones(230), np.zeros(9_800)].astype(int)  # 30 labelled, 200 hidden
    X = random.normal(size=(len(y), 6))
    X[:, :4] += 2.0 * y[:, None]
    s = (np.arange(len(y)) < 30).astype(int)
    called = TwoStep(calibrate=False, random_state=0).fit(X, s).decision_function(X)[s == 0] >= 0
    assert called[y[s == 0] == 1].mean() > 0.2  # at its own cut: 0.015
    assert called.mean() < 0.1


def test_parts_of_a_killed_fit_are_not_taken_for_other_data(toy, tmp_path, monkeypatch):
    X, s, _ = toy
    monkeypatch.setattr(_wrapper, "KEPT_FROM", -1.0)
    die_at_the_third_fit(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        small("bagging-pu", prior=0.4).fit(X, s, folder=tmp_path / "run")
    with pytest.raises(ValueError, match="was made with other data: .*; name another folder"):
        small("bagging-pu", prior=0.4).fit(X + 1, s, folder=tmp_path / "run")


@every_wrapper
def test_a_classifier_without_a_safe_file_is_refused_before_it_is_fitted(name, toy, tmp_path, monkeypatch):
    X, s, _ = toy
    monkeypatch.setattr(Known, "fit", lambda self, X, y: pytest.fail("fitted"))
    with pytest.raises(ValueError, match="holds .*Known, which has no file that is safe to load"):
        small(name, Known(), prior=0.4).fit(X, s, folder=tmp_path / "run")


@every_wrapper
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_a_column_of_blanks_changes_nothing_but_the_width(name, kind, toy):
    """scikit-learn 1.9's boosting fails on such a column."""
    X, s, _ = toy
    blank = kind(np.column_stack([X, np.full(len(X), np.nan)]))
    fitted = WRAPPERS[name](random_state=0).fit(blank, s)
    assert fitted.n_features_in_ == X.shape[1] + 1
    assert roc_auc_score(s, fitted.decision_function(blank)) > 0.8
