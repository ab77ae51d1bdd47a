"""The search for settings: what is searched, how it is judged, what is left after a kill."""

import json
from dataclasses import fields

import numpy as np
import optuna
import pytest
from sklearn.linear_model import LogisticRegression

import distpu.tune as tuning
from distpu import METHODS, BaggingPU, tune_settings
from distpu.judge import Judge
from distpu.methods import make
from distpu.metrics import Metric
from distpu.params import paper_value
from distpu.tune import COMPLETE, FAILED, PRUNED, honest_gain, search_space
from small import NETWORKS

FAST = {"n_estimators": 10}


def search(toy, trials=8, **told):
    X, s, _ = toy
    return tune_settings(X, s, "bagging-pu", **{"trials": trials, "prior": 0.4, "settings": FAST, **told})


def same(a, b):
    """Whether two searches have the same trials, but for the time they took."""
    return [(t.settings, t.state, t.values, t.error) for t in a.trials] == [
        (t.settings, t.state, t.values, t.error) for t in b.trials
    ]


# ------------------------------------------------------------------ what is searched


SEARCHED = [name for name in METHODS if search_space(name)]


@pytest.mark.parametrize("name", SEARCHED)
def test_every_search_range_holds_valid_settings_and_the_default(name):
    space, cls = search_space(name), METHODS[name]
    ranges = {setting: tuning._range(optuna, where) for setting, where in space.items()}
    for seed in range(5):
        drawn = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed)).ask(ranges).params
        make(name, {setting: tuning._short(value) for setting, value in drawn.items()})  # refuses a wrong setting
    for setting, where in space.items():
        if isinstance(where, tuple):
            low, high = where[:2]
            assert low < high and type(low) is type(high) and where[2:] in ((), ("log",))
            for end in (low, high):
                make(name, {setting: end})
    for f in fields(cls):
        if f.name in space:
            values = [paper_value(f), *(p[f.name] for p in cls.presets.values() if f.name in p)]
            assert all(tuning._holds(ranges[f.name], value) for value in values), f.name


def test_networks_and_wrappers_are_searched():
    assert {*NETWORKS, "elkan-noto", "bagging-pu", "two-step"} <= set(SEARCHED)


def test_a_method_without_search_ranges_is_not_searched(toy, monkeypatch):
    X, s, _ = toy
    monkeypatch.setattr(tuning, "search_space", lambda *_: {})
    with pytest.raises(ValueError, match="nnpu has no setting to search; name another method, or fit it as it is"):
        tune_settings(X, s, "nnpu", prior=0.4)


def test_the_classifier_inside_is_searched_unless_it_is_told():
    assert "estimator__min_samples_leaf" in search_space("bagging-pu")
    assert set(search_space("bagging-pu", {"estimator": LogisticRegression()})) == {"max_samples"}
    assert "lr" not in search_space("dist-pu", {"lr": 1e-3}) and "epochs" in search_space("dist-pu", {"lr": 1e-3})


def test_a_setting_of_the_classifier_inside_can_be_given_by_name():
    model = make("bagging-pu", {"estimator__min_samples_leaf": 7, "n_estimators": 3})
    assert model.estimator.min_samples_leaf == 7 and model.estimator.max_features == "sqrt"
    with pytest.raises(ValueError, match="DecisionTreeClassifier, the classifier inside bagging-pu, has no setting "
                       "'min_samples_leav'; did you mean 'min_samples_leaf'?"):  # fmt: skip
        make("bagging-pu", {"estimator__min_samples_leav": 7})
    with pytest.raises(ValueError, match="nnpu has no setting 'estimator__lr'"):
        make("nnpu", {"estimator__lr": 7})


# -------------------------------------------------------------------------- a search


def test_a_search_starts_with_the_default_and_judges_as_compare_does(toy):
    X, s, _ = toy
    found = search(toy)
    assert [t.number for t in found.trials] == list(range(8)) and found.default.settings == {}
    judge = Judge.of(X, s, 0.4)
    told = {"prior": 0.4, "random_state": 0, **FAST}
    for trial in (found.default, found.best):
        *_, z = judge.scores(lambda trial=trial: make("bagging-pu", {**told, **trial.settings}))
        assert trial.value == judge.value(z) and trial.error == judge.value(z).error
    assert found.best.value == max(t.value for t in found.trials if t.state == COMPLETE) >= found.default.value
    assert set(found.trials[1].settings) == set(search_space("bagging-pu"))


def test_a_seed_gives_the_same_search_and_another_seed_another(toy):
    first = search(toy, 3)
    assert same(first, search(toy, 3))
    assert not same(first, search(toy, 3, random_state=1))


def test_a_killed_search_goes_on_to_the_same_trials(toy, tmp_path, monkeypatch):
    whole = search(toy, 10, folder=tmp_path / "whole")

    def killed(trial, best):
        if trial.number == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(toy, 10, folder=tmp_path / "cut", report=killed)
    log = tmp_path / "cut/trials.jsonl"
    log.write_bytes(log.read_bytes()[:-20])  # the kill tore the last line
    continued = search(toy, 10, folder=tmp_path / "cut")
    assert same(whole, continued) and (whole.gain, whole.error) == (continued.gain, continued.error)
    assert len(log.read_text().splitlines()) == 10

    def no_more(*_):
        pytest.fail("judged again")

    monkeypatch.setattr(BaggingPU, "_learn", no_more)
    assert same(search(toy, 10, folder=tmp_path / "cut"), whole)


def test_damaged_scores_are_made_again(toy, tmp_path):
    first = search(toy, 4, folder=tmp_path)
    (tmp_path / "trial-0002.npz").write_bytes(b"damaged")
    seen = []
    again = search(toy, 4, folder=tmp_path, report=lambda trial, best: seen.append(trial.number))
    assert seen == [2, 3] and same(first, again)


def test_a_folder_of_another_search_is_refused(toy, tmp_path):
    X, s, _ = toy
    search(toy, 2, folder=tmp_path)
    with pytest.raises(ValueError, match="made with other parameters: search_metric='pu_auc' .there: 'pu_accuracy'."):
        search(toy, 2, folder=tmp_path, metric="pu_auc")
    with pytest.raises(ValueError, match="search_folds=4 .there: 3."):
        search(toy, 2, folder=tmp_path, k=4)
    with pytest.raises(ValueError, match="made with other parameters"):
        BaggingPU(prior=0.4, random_state=0).fit(X, s, folder=tmp_path)


def test_a_bad_trial_is_pruned_after_a_fold(toy, monkeypatch):
    monkeypatch.setattr(tuning, "FULL", 2)
    found = search(toy, 14)
    pruned = [t for t in found.trials if t.state == PRUNED]
    assert pruned
    for trial in pruned:
        fold = len(trial.values) - 1
        before = [t.values[fold] for t in found.trials[: trial.number] if t.state == COMPLETE]
        assert fold < 2 and trial.value < np.median(before)


def test_a_trial_that_fails_says_why_and_stops_no_other(toy, monkeypatch):
    learn = BaggingPU._learn

    def fails(self, *args):
        if self.estimator is not None and self.estimator.min_samples_leaf > 10:
            raise FloatingPointError("too\nlarge")
        learn(self, *args)

    monkeypatch.setattr(BaggingPU, "_learn", fails)
    found = search(toy)
    failed = [t for t in found.trials if t.state == FAILED]
    assert failed and all(t.why == "too large" and not t.values for t in failed)
    assert found.best not in failed and len(found.trials) == 8


def test_settings_that_make_no_difference_have_no_importance(toy, monkeypatch):
    monkeypatch.setattr(Judge, "value", lambda self, z, s=None: Metric(0.5, 0.1))
    assert search(toy, 12).importance == {}


def test_a_default_that_fails_ends_the_search(toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="bagging-pu cannot be fitted with its default settings: .*NaN"):
        tune_settings(np.where(X > 3, np.nan, X), s, "bagging-pu", trials=2, prior=0.4,
                      settings={"estimator": LogisticRegression()})  # fmt: skip


def test_a_time_budget_ends_the_search_and_counts_the_time_before_a_kill(toy, tmp_path):
    search(toy, 3, folder=tmp_path)
    log = tmp_path / "trials.jsonl"
    rows = [json.loads(line) | {"seconds": 50.0} for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(search(toy, None, minutes=2.5, folder=tmp_path).trials) == 3
    assert len(search(toy, 4, minutes=3, folder=tmp_path).trials) == 4


def test_a_network_is_searched_too(toy):
    X, s, _ = toy
    found = tune_settings(X, s, "nnpu", trials=3, prior=0.4, settings={"epochs": 2, "batch_size": 64})
    assert all(set(t.settings) == {"lr", "weight_decay"} for t in found.trials[1:])
    assert found.model().get_params()["epochs"] == 2


# ---------------------------------------------------------------------------- the gain


def scored(gains, seed=0):
    """A judge, and scores of trials: a default and others, each better by so much. Scores are noise otherwise."""
    random = np.random.default_rng(seed)
    s, y = np.repeat([1, 0], [100, 900]), np.concatenate([np.ones(100), random.random(900) < 0.3])
    scores = {i: random.normal(size=1000) + (2 * y - 1) * (0.5 + gain) for i, gain in enumerate([0, *gains])}
    judge = Judge(None, s, 0.3, np.zeros(1000, dtype=int))
    best = max(scores, key=lambda i: judge.value(scores[i]))
    return judge, scores, best


def test_the_best_of_many_equal_settings_gains_nothing(monkeypatch):
    monkeypatch.setattr(tuning, "ROUNDS", 15)
    seen, gains, errors = [], [], []
    for seed in range(30):
        judge, scores, best = scored([0] * 8, seed)
        gain, error = honest_gain(judge, judge.s, scores, best, 0)
        seen.append(float(judge.value(scores[best])) - float(judge.value(scores[0])))
        gains.append(gain)
        errors.append(error)
    seen, gains, errors = map(np.array, (seen, gains, errors))
    assert seen.mean() > 0.03 and abs(gains.mean()) < 0.02  # the rows that chose the best praise it, others do not
    assert (gains > errors).mean() < 0.75 * (seen > errors).mean()


def test_a_real_gain_is_found():
    judge, scores, best = scored([0, 1.0, 0])
    gain, error = honest_gain(judge, judge.s, scores, best, 0)
    assert best == 2 and gain > 3 * error
    assert abs(gain - 0.2417) < 2 * error  # Phi(1.5) - Phi(0.5)
    assert honest_gain(judge, judge.s, scores, 0, 0) == (0.0, 0.0)


def test_the_default_is_recommended_where_the_gain_is_small(toy):
    found = search(toy, 6)
    told = {"prior": 0.4, "random_state": 0, **FAST}
    for gain, error in ((0.02, 0.01), (0.01, 0.02)):
        of = type(found)(**{**vars(found), "gain": gain, "error": error})
        assert of.worth == (gain > error)
        wanted = make("bagging-pu", {**told, **(found.best.settings if of.worth else {})})
        assert repr(of.model()) == repr(wanted)


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"trials": 0}, "trials=0 must be at least 1"),
        ({"minutes": 0}, "minutes=0 must be above 0"),
        ({"metric": "prior_gap"}, "there is no PU scorer 'prior_gap'; did you mean 'neg_prior_gap'?"),
        ({"scenario": "both"}, "scenario='both' is not known"),
        ({"settings": {"n_estimator": 3}}, "did you mean 'n_estimators'?"),
        ({"settings": {"estimator": LogisticRegression(), "max_samples": 5}}, "has no setting left to search"),
    ],
)
def test_a_search_that_cannot_be_made_says_why(toy, told, message):
    with pytest.raises(ValueError) as error:
        search(toy, **told)
    assert message in str(error.value)


def test_supervised_learning_is_not_searched(toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="pn is no PU method"):
        tune_settings(X, s, "pn", prior=0.4)


def test_without_optuna_the_error_says_what_to_type(toy, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(ModuleNotFoundError, match='tuning needs optuna; type: pip install "distpu.tune."'):
        search(toy)


def test_the_table_default_can_be_tuned(toy):
    X, s, _ = toy
    assert set(search_space("blend-pu")) == {"leaf", "rounds", "leaves", "ridge"}
    settings = dict(trees=4, bags=1, folds=2)
    found = tune_settings(X, s, "blend-pu", prior=0.4, trials=2, settings=settings)
    assert len(found.trials) == 2 and set(found.trials[1].settings) == {"leaf", "rounds", "leaves", "ridge"}
