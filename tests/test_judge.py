"""Methods judged without negatives, and scikit-learn's searches with PU labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from distpu import BaggingPU, PUStratifiedKFold, draw_pu, make_pu_scorer, metrics
from distpu.judge import SCORERS, Judge, Judged, best, compare_methods


def test_methods_are_judged_on_rows_they_did_not_see(toy):
    X, s, y = toy
    judged = list(compare_methods(X, s, ["elkan-noto", "bagging-pu"], prior=0.4))
    assert [one.method for one in judged] == ["elkan-noto", "bagging-pu"]
    for one in judged:
        assert 0.75 < one.pu_accuracy <= 1 and one.pu_auc > 0.7 and 0.2 < one.called < 0.6 and 0 < one.error < 0.1


@pytest.mark.parametrize("kind", [list, np.array])
def test_a_column_of_vectors_is_judged(toy, kind):
    X, s, _ = toy
    frame = pd.DataFrame({"vector": [kind(row) for row in X.tolist()]})
    (one,), (same,) = (compare_methods(rows, s, ["elkan-noto"], prior=0.4) for rows in (frame, X))
    assert one.pu_auc == pytest.approx(same.pu_auc, abs=0.1)


def test_a_ranking_without_information_is_judged_as_such(toy):
    _, s, _ = toy
    noise = np.random.default_rng(3).normal(size=(300, 4))
    (one,) = compare_methods(noise, s, ["bagging-pu"], prior=0.4)
    assert one.pu_accuracy < 0.7 and abs(one.pu_auc - 0.5) < 0.25


def test_a_method_that_fails_says_why_and_stops_no_other(toy):
    X, s, _ = toy
    broken = X.copy()
    broken[3, 2] = np.nan
    first, second = compare_methods(broken, s, ["nnpu", "bagging-pu"], prior=0.4)
    assert first[0] == "nnpu" and "contains NaN" in first[1]
    assert isinstance(second, Judged)


def test_the_best_and_those_within_its_error():
    def one(name, accuracy):
        return Judged(name, accuracy, 0.02, 0.8, 0.4, 1.0)

    assert [j.method for j in best([one("a", 0.85), one("b", 0.9), one("c", 0.885)])] == ["b", "c"]
    assert best([]) == []


def test_the_standard_error_is_that_of_repeated_draws():
    random = np.random.default_rng(0)
    found = []
    for _ in range(400):
        s = (np.arange(400) < 100).astype(int)
        y = np.where(s == 1, 1, random.random(400) < 0.4)
        found.append(metrics.pu_accuracy(s, random.normal(size=400) + 2 * y - 1, 0.4))
    assert np.mean([one.error for one in found]) == pytest.approx(np.std(found), rel=0.15)


def test_the_standard_error_is_that_of_two_shares():
    s, z = np.repeat([1, 0], [10, 50]), np.concatenate([np.arange(10) - 2.0, np.arange(50) - 30.0])
    expected = np.sqrt(4 * 0.4**2 * 0.8 * 0.2 / 10 + 0.6 * 0.4 / 50)  # 8 of 10 labelled, 20 of 50 unlabelled called
    assert metrics.pu_accuracy(s, z, 0.4).error == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------------- scorers


def test_a_scorer_is_its_metric(toy):
    X, s, _ = toy
    model = BaggingPU(n_estimators=10, prior=0.4, random_state=0).fit(X, s)
    z = model.decision_function(X)
    for scenario in metrics.SCENARIOS:
        expected = {
            "pu_accuracy": metrics.pu_accuracy(s, z, 0.3, scenario),
            "pu_precision": metrics.pu_precision(s, z, 0.3, scenario),
            "pu_recall": metrics.pu_recall(s, z),
            "pu_f1": metrics.pu_f1(s, z, 0.3, scenario),
            "pu_roc_auc": metrics.pu_roc_auc(s, z, 0.3),
            "pu_average_precision": metrics.pu_average_precision(s, z, 0.3, scenario),
            "pu_auc": metrics.pu_auc(s, z),
            "pu_proxy_accuracy": metrics.pu_proxy_accuracy(s, z, 0.3, scenario),
            "neg_pu_unbiased_risk": -metrics.pu_unbiased_risk(s, z, 0.3, scenario),
            "neg_pu_non_negative_risk": -metrics.pu_non_negative_risk(s, z, 0.3, scenario),
            "lee_liu": metrics.lee_liu(s, z, 0.3, scenario),
            "neg_prior_gap": -abs(metrics.prior_gap(s, z, 0.3, scenario)),
        }
        assert list(expected) == list(SCORERS)
        for name, value in expected.items():
            scorer = make_pu_scorer(name, prior=0.3, scenario=scenario)
            assert pickle.loads(pickle.dumps(scorer))(model, X, s) == float(value), name
            assert type(scorer(model, X, s)) is float


SPELLINGS = {
    "1, -1": lambda s: np.where(s == 1, 1, -1),
    "booleans": lambda s: s == 1,
    "missing": lambda s: np.where(s == 1, 1.0, np.nan),
    "a series": lambda s: pd.Series(s),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_labels_in_any_spelling_score_the_same(toy, spelling):
    X, s, _ = toy
    y, cv = SPELLINGS[spelling](s), PUStratifiedKFold(3)
    scorer, model = make_pu_scorer("pu_f1", prior=0.4), BaggingPU(n_estimators=10, prior=0.4, random_state=0)
    plain = cross_val_score(model, X, s, scoring=scorer, cv=cv)
    np.testing.assert_array_equal(cross_val_score(model, X, y, scoring=scorer, cv=cv), plain)
    assert (plain > 0.6).all() and (plain <= 1).all()


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(20, random_state=0)])
def test_scikit_learns_own_classifiers_are_scored_too(toy, model):
    """With names the positive class may come first: its scores are turned round."""
    X, s, _ = toy
    scores = []
    for positive, other in ((1, 0), ("case", "unknown"), ("known", "a row")):
        y = np.where(s == 1, positive, other)
        told = {"pos_label": positive}
        scorer, cv = make_pu_scorer("pu_roc_auc", prior=0.4, **told), PUStratifiedKFold(3, **told)
        scores.append(cross_val_score(model, X, y, scoring=scorer, cv=cv))
    assert np.mean(scores[0]) > 0.8
    np.testing.assert_allclose(scores[0], scores[2])
    np.testing.assert_allclose(scores[0], scores[1], atol=0.2 if hasattr(model, "n_estimators") else 1e-9)


def test_a_grid_search_without_negatives(toy):
    """It must prefer bags that find the positives to a single stump's guess."""
    X, s, y = toy
    scoring = {name: make_pu_scorer(name, prior=0.4, scenario="single-set") for name in SCORERS}
    search = GridSearchCV(
        BaggingPU(prior=0.4, random_state=0),
        {"n_estimators": [1, 30]},
        scoring=scoring,
        refit="pu_roc_auc",
        cv=PUStratifiedKFold(3),
        error_score="raise",
    ).fit(X, s)
    assert search.best_params_ == {"n_estimators": 30}
    assert (search.predict(X) == y).mean() > 0.85
    for name in SCORERS:
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all(), name


def test_a_cross_validated_metric_is_near_the_truth(toy):
    X, s, y = toy
    found = cross_validate(
        BaggingPU(n_estimators=30, prior=0.4, random_state=0),
        X,
        s,
        scoring=make_pu_scorer("pu_accuracy", prior=0.4),
        cv=PUStratifiedKFold(5),
        return_estimator=True,
        return_indices=True,
    )
    folds = zip(found["estimator"], found["indices"]["test"], strict=True)
    hidden = [(model.predict(X[out]) == y[out])[s[out] == 0].mean() for model, out in folds]
    assert np.mean(found["test_score"]) == pytest.approx(np.mean(hidden), abs=0.06)


@pytest.mark.parametrize(
    "name, told, why",
    [
        ("pu_f2", {"prior": 0.3}, "there is no PU scorer 'pu_f2'; did you mean 'pu_f1'"),
        ("prior_gap", {"prior": 0.3}, "there is no PU scorer 'prior_gap'; did you mean 'neg_prior_gap'"),
        ("pu_f1", {}, "'pu_f1' needs prior=, the share of positives among the unlabelled rows"),
        ("pu_f1", {"prior": "bbe"}, "prior='bbe' must be a number strictly between 0 and 1, or 'auto'"),
        ("pu_f1", {"prior": 30}, "prior=30 must lie strictly between 0 and 1"),
        ("pu_f1", {"prior": 10**400}, r"^prior=10+\.\.\.0+ must lie strictly between 0 and 1$"),
        ("pu_f1", {"prior": 0.3, "scenario": "single"}, "scenario='single' is not known; use one of 'case-control'"),
    ],
)
def test_a_scorer_that_cannot_be_made_says_why(name, told, why):
    with pytest.raises(ValueError, match=why):
        make_pu_scorer(name, **told)


@pytest.mark.parametrize("name", ["pu_recall", "pu_auc", "lee_liu"])
def test_a_scorer_without_a_prior(name, toy):
    X, s, _ = toy
    model = BaggingPU(n_estimators=5, prior=0.4, random_state=0).fit(X, s)
    assert make_pu_scorer(name)(model, X, s) > 0.5


def test_a_scorers_own_prior_is_estimated_once_from_the_rows(toy, monkeypatch):
    X, s, _ = toy
    asked = []

    def estimated(X, s):
        asked.append(len(s))
        return 0.4

    monkeypatch.setattr("distpu.judge.estimate_prior", estimated)
    monkeypatch.setattr("distpu.judge._PRIORS", {})
    scorer = make_pu_scorer("pu_f1", prior="auto")
    for trees in (5, 10):
        model = BaggingPU(n_estimators=trees, prior=0.4, random_state=0).fit(X, s)
        assert scorer(model, X, s) == make_pu_scorer("pu_f1", prior=0.4)(model, X, s)
    assert asked == [300]  # the model is not asked: one estimate for the same rows
    scorer(model, np.concatenate([X, X]), np.concatenate([s, s]))
    assert asked == [300, 600]
    with pytest.raises(ValueError, match="needs at least 30 labelled rows among those that are scored"):
        cross_val_score(model, X, s, scoring=scorer, cv=PUStratifiedKFold(3), error_score="raise")


# ------------------------------------------------------------------------ folds


def test_folds_hold_labelled_and_unlabelled_rows_evenly(toy):
    X, s, _ = toy
    cv = PUStratifiedKFold(4, random_state=1)
    assert cv.get_n_splits() == 4 and "n_splits=4" in repr(cv)
    outs = [out for _, out in cv.split(X, s)]
    assert sorted(np.concatenate(outs)) == list(range(300))
    assert sorted(s[out].sum() for out in outs) == [7, 7, 8, 8]
    assert {len(out) for out in outs} <= {74, 75, 76}
    for rest, out in cv.split(X, s):
        assert not set(rest) & set(out) and len(rest) + len(out) == 300


def test_the_copies_of_a_row_stay_in_one_fold(toy):
    X, _, y = toy
    index, s = draw_pu(y, 40, seed=0)  # case-control: every labelled row has an unlabelled copy
    for rest, out in PUStratifiedKFold(5).split(X[index], s):
        assert not set(index[rest]) & set(index[out])
        assert s[out].sum() == 8


def test_the_container_does_not_change_a_fold(toy):
    X, s, _ = toy
    plain = [out.tolist() for _, out in PUStratifiedKFold(3).split(X, s)]
    for held in (pd.DataFrame(X), csr_matrix(X), X.reshape(300, 2, 3)):
        assert [out.tolist() for _, out in PUStratifiedKFold(3).split(held, pd.Series(s))] == plain
    assert [out.tolist() for _, out in PUStratifiedKFold(3, random_state=1).split(X, s)] != plain


def test_folds_that_cannot_be_made_say_why(toy):
    X, s, _ = toy
    few = s * (np.cumsum(s) <= 3)
    with pytest.raises(ValueError, match="n_splits=5 needs as many different labelled rows; y marks 3: use n_splits=3"):
        list(PUStratifiedKFold(5).split(X, few))
    with pytest.raises(ValueError, match="y marks 1: label more rows"):
        list(PUStratifiedKFold(2).split(X, s * (np.cumsum(s) <= 1)))
    with pytest.raises(ValueError, match="leaves a fold without an unlabelled row"):
        list(PUStratifiedKFold(3).split(X[:6], np.array([1, 1, 1, 1, 0, 0])))
    with pytest.raises(ValueError, match="n_splits=1 must be at least 2"):
        PUStratifiedKFold(1)


def test_the_preset_is_told_to_the_methods_that_have_one(toy):
    X, s, _ = toy
    (failed,) = compare_methods(X, s, ["nnpu"], prior=0.4, preset="nonsense")
    assert failed[0] == "nnpu" and "nnpu has no preset 'nonsense'" in failed[1]


# ------------------------------------------------------------------------ whose accuracy


def test_pu_accuracy_is_that_of_the_unlabelled_rows_where_the_labelled_rows_were_taken_out_of_them():
    """A user's table is a single set. The judge's default still estimates the accuracy among the unlabelled rows."""
    random, unlabelled, everyone, judged, of_all = np.random.default_rng(0), [], [], [], []
    for _ in range(300):
        y = random.random(600) < 0.5
        s = (y & (random.random(600) < 0.4)).astype(int)
        z = random.normal(size=600) + 2.0 * y - 0.6  # the cut is not in the middle: the two populations differ
        right, prior = (z >= 0) == y, y[s == 0].mean()
        unlabelled.append(right[s == 0].mean())
        everyone.append(right.mean())
        judged.append(metrics.pu_accuracy(s, z, prior))
        of_all.append(metrics.pu_accuracy(s, z, prior, "single-set"))
    assert np.mean(judged) == pytest.approx(np.mean(unlabelled), abs=0.004)
    assert np.mean(of_all) == pytest.approx(np.mean(everyone), abs=0.004)
    assert np.mean(everyone) - np.mean(unlabelled) > 0.02  # or the test could not tell them apart


def test_a_judge_scores_each_row_once_and_keeps_copies_together(toy):
    X, s, _ = toy
    judge = Judge.of(np.concatenate([X, X[:50]]), np.concatenate([s, 0 * s[:50]]), 0.4, k=3)
    assert judge.folds == 3 and (judge.fold[:50] == judge.fold[300:]).all()
    seen = list(judge.scores(lambda: BaggingPU(n_estimators=5, prior=0.4, random_state=0)))
    for i, z in enumerate(seen):
        assert (~np.isnan(z) == (judge.fold <= i)).all()
    part = judge.fold == 0
    assert judge.value(seen[0]) == metrics.pu_accuracy(judge.s[part], seen[0][part], 0.4)
    with pytest.raises(ValueError, match="at least 2 different labelled positives, y marks 1; label more"):
        Judge.of(X, s * (np.cumsum(s) <= 1), 0.4)
