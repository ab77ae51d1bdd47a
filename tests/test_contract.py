"""What every method must do. A new method is found here through METHODS; it needs no line of its own."""

import json
import pickle
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import distpu
from distpu import METHODS
from distpu.methods._folded import FoldedMethod
from distpu.train.run import Run
from small import NETWORKS, interrupt, small, small_net

every_method = pytest.mark.parametrize("name", METHODS)
every_network = pytest.mark.parametrize("name", NETWORKS)
COVER = ("dist-pu", "bagging-pu")  # a network and a wrapper: both bases


def weights(classifier):
    if not hasattr(classifier, "model_"):  # a wrapper: what it says of some rows stands for its models
        x = np.random.default_rng(1).normal(size=(50, classifier.n_features_in_))
        return {"scores": torch.from_numpy(classifier.decision_function(x))}
    return {k: v.clone() for k, v in classifier.model_.state_dict().items()}


def assert_same_bits(a, b):
    assert a.keys() == b.keys()
    for key in a:
        assert torch.equal(a[key], b[key]), key


def expected_failures(estimator):
    """A weighted row and repeated rows give other folds and bags; tests/test_weights.py compares results."""
    if isinstance(estimator, (FoldedMethod, distpu.LLGC)):
        return {"check_classifiers_train": "the cut, the prior's quantile, need not lie at a probability of 1/2"}
    if not estimator.takes_weights:
        return {}
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": "bags are drawn from rows" for kind in kinds}


@pytest.mark.filterwarnings("ignore:y holds:UserWarning")  # scikit-learn's checks feed labels such as {'one', 'two'}
@parametrize_with_checks([small(name) for name in COVER], expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y holds:UserWarning")
@parametrize_with_checks(
    [small(name) for name in METHODS if name not in COVER], expected_failed_checks=expected_failures
)
def test_scikit_learn_with_every_other_method(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y holds:UserWarning")
@parametrize_with_checks([cls() for cls in METHODS.values()], expected_failed_checks=expected_failures)
def test_scikit_learn_with_default_settings(estimator, check):
    check(estimator)


@every_method
def test_learns_a_toy(name, toy):
    X, s, y = toy
    labels = y if METHODS[name].supervised else s
    classifier = small(name, prior=0.4, epochs=20).fit(X, labels)
    hidden = s == 0
    assert roc_auc_score(y[hidden], classifier.decision_function(X[hidden])) > 0.9
    assert (classifier.predict(X) == y)[hidden].mean() > 0.8
    p = classifier.predict_proba(X)
    assert p.shape == (300, 2) and (p >= 0).all() and (p <= 1).all()
    np.testing.assert_allclose(p.sum(1), 1)
    np.testing.assert_array_equal(classifier.decision_function(X) >= 0, classifier.predict(X) == 1)


@every_method
def test_same_seed_same_bits_other_seed_other_bits(name, toy):
    X, s, _ = toy
    a, b, c = (small(name, prior=0.4, random_state=seed).fit(X, s) for seed in (1, 1, 2))
    assert_same_bits(weights(a), weights(b))
    assert not np.array_equal(a.decision_function(X), c.decision_function(X))


@every_method
def test_a_fit_leaves_the_global_random_state_alone(name, toy):
    X, s, _ = toy
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    small(name, prior=0.4).fit(X, s)
    assert torch.equal(torch.rand(3), expected)


@every_method
def test_clone_pickle_pipeline_and_search(name, toy):
    X, s, _ = toy
    classifier = small(name, prior=0.4)
    assert clone(classifier).get_params() == classifier.get_params()
    fitted = clone(classifier).fit(X, s)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    if name not in COVER:  # pipelines and searches ask of the base what it asks of every method
        return
    assert make_pipeline(StandardScaler(), clone(classifier)).fit(X, s).score(X, s) > 0.4
    assert np.isfinite(cross_val_score(classifier, X, s, cv=2, scoring="roc_auc")).all()
    search = GridSearchCV(classifier, {"prior": [0.3, 0.4]}, cv=2, scoring="roc_auc").fit(X, s)
    assert search.best_params_["prior"] in (0.3, 0.4)


@every_method
def test_save_and_load(name, toy, tmp_path):
    X, s, _ = toy
    fitted = small(name, prior=0.4, network="mlp").fit(X, s)
    loaded = distpu.load(fitted.save(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.get_params() == fitted.get_params()
    assert getattr(loaded, "history_", None) == getattr(fitted, "history_", None)
    assert (loaded.prior_, loaded.threshold_) == (fitted.prior_, fitted.threshold_)
    assert type(loaded) is type(fitted)


@every_network
def test_an_interrupted_run_ends_with_the_same_bits(name, toy, tmp_path, monkeypatch):
    X, s, _ = toy
    whole = small(name, prior=0.4).fit(X, s, folder=tmp_path / "whole")
    calls = interrupt(monkeypatch, 3, 11)  # the second one lies in the second stage of the methods that have two
    for _ in range(3):
        try:
            resumed = small(name, prior=0.4).fit(X, s, folder=tmp_path / "broken")
        except KeyboardInterrupt:
            assert not (tmp_path / "broken" / "done").exists()
    assert len(calls) > 3
    assert_same_bits(weights(whole), weights(resumed))
    assert (tmp_path / "whole/metrics.jsonl").read_text() == (tmp_path / "broken/metrics.jsonl").read_text()
    assert whole.history_ == resumed.history_


@every_method
def test_a_finished_folder_is_not_trained_again(name, toy, tmp_path, monkeypatch):
    X, s, _ = toy
    first = small(name, prior=0.4).fit(X, s, folder=tmp_path / "run")
    monkeypatch.setattr(METHODS[name], "_learn", lambda self, *_: pytest.fail("trained again"))
    again = small(name, prior=0.4).fit(X, s, folder=tmp_path / "run")
    assert_same_bits(weights(first), weights(again))
    network = ["config.json", "done", "metrics.jsonl", "model.json", "model.safetensors", "seconds.json"]
    there = sorted(p.name for p in (tmp_path / "run").iterdir() if not p.name.startswith("."))
    assert there == (network if name in NETWORKS else ["config.json", "done", "model.json", "model.skops"])


@every_network
def test_nothing_kept_between_batches_carries_a_gradient(name, toy, monkeypatch):
    X, s, _ = toy
    seen, epochs = [], Run.epochs

    def watched(self, stage, model, objective, recipe):
        yield from epochs(self, stage, model, objective, recipe)
        seen.append(stage)
        assert not any(b.requires_grad or b.grad_fn for b in [*objective.buffers(), *model.buffers()])

    monkeypatch.setattr(Run, "epochs", watched)
    small(name, prior=0.4).fit(X, s)
    assert seen


@every_method
def test_every_setting_says_what_it_is(name):
    cls = METHODS[name]
    assert cls.name == name and cls.paper and cls.__doc__
    page = sys.modules[cls.__module__].__doc__  # what `distpu methods NAME` prints
    assert "Assumes:" in page and "Differs from its public code" in page
    for field in fields(cls):
        assert field.metadata.get("help"), field.name


@every_network
def test_images_in_any_layout_give_the_same_scores(name):
    random = np.random.default_rng(0)
    s = (np.arange(60) < 20).astype(int)
    nchw = random.integers(0, 256, size=(60, 3, 8, 8), dtype=np.uint8)
    nchw[:30] //= 2
    settings = dict(prior=0.3, network=small_net)
    a = small(name, **settings).fit(nchw, s)
    nhwc = np.ascontiguousarray(nchw.transpose(0, 2, 3, 1))
    b = small(name, **settings).fit(torch.from_numpy(nhwc), torch.from_numpy(s))
    np.testing.assert_array_equal(a.decision_function(nchw), b.decision_function(nhwc))
    assert a.shape_ == b.shape_ == (3, 8, 8)


@every_method
def test_config_is_plain_json_with_versions(name, toy, tmp_path):
    X, s, _ = toy
    small(name, prior=0.4).fit(X, s, folder=tmp_path / "run")
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["method"] == name and config["params"]["prior"] == 0.4
    assert config["versions"]["torch"] == torch.__version__
