"""Damaged files of a run folder: every one is refused with one line, and none changes a prediction in silence."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import distpu
from distpu.files import atomic, tensors
from distpu.files.run_folder import RunFolder
from flipped import flips
from small import interrupt, small, small_net

X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["amount", "age", "visits"])
Y = np.where(np.arange(40) < 15, "yes", "no")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    small("pusb", prior=0.4, epochs=1, pos_label="yes").fit(X, Y, folder=folder)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


@pytest.mark.parametrize(("name", "step"), [("model.json", 1), ("config.json", 7)])
def test_every_flipped_bit_is_noticed_or_means_the_same(name, step, folder):
    path, run = folder / name, RunFolder(folder)
    read = run.fitted if name == "model.json" else run.config
    content, before = path.read_bytes(), read()
    refused = 0
    for damaged in flips(content, step):
        path.write_bytes(damaged)
        try:
            assert read() == before, damaged
        except ValueError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert refused > 0.99 * 8 * len(content) / step


def test_the_checksum_is_of_the_values_not_of_the_layout(folder):
    path = folder / "model.json"
    before = RunFolder(folder).fitted()
    path.write_text(json.dumps(dict(reversed(json.loads(path.read_text()).items()))))
    assert RunFolder(folder).fitted() == before


def test_a_damaged_prior_is_estimated_again(tmp_path):
    run = RunFolder(tmp_path)
    assert run.prior() is None
    found = {"prior": 0.25, "interval": [0.2, 0.3], "label_frequency": 0.4, "name": "bbe"}
    run.keep_prior(found)
    assert run.prior() == found
    for key, value in (
        ("interval", [0.2]),
        ("interval", 3),
        ("interval", ["a", 1]),
        ("label_frequency", 2),
        ("name", 1),
    ):
        run.keep_prior({**found, key: value})
        assert run.prior() is None
    for text in ("", "[]", '{"prior": "0.3"}', '{"prior": null}', '{"prior": NaN}', '{"prior": 1.5}', '{"prior": {}}'):
        (tmp_path / "prior.json").write_text(text)
        assert run.prior() is None
    (tmp_path / "prior.json").write_text('{"prior": 0.25}')  # as version 0.1 wrote it, without an interval
    assert run.prior() is None


def test_keys_that_are_no_strings_keep_the_checksum_valid(tmp_path):
    value = {"by epoch": {2: 0.5, 10: 0.25}, "none": None, "pair": (1, 2)}
    atomic.write_signed(tmp_path / "file", value)
    read, signed = atomic.read_signed(tmp_path / "file")
    assert signed and read == {"by epoch": {"2": 0.5, "10": 0.25}, "none": None, "pair": [1, 2]}


# ------------------------------------------------------------- inconsistent

NAN, HUGE, HALF = float("nan"), 10**400, "\ud800"
FORMS = {  # key of model.json: what it must not be
    "prior": ["0.4", [], {}, True, -0.1, 1.1, NAN, float("inf"), HUGE],
    "threshold": [None, "0", [], {}, True, NAN, float("inf"), -float("inf"), HUGE],
    "classes": [
        None, "no", {}, [], ["yes"], ["a", "b", "c"], [1, 1], ["yes", "yes"], [None, "yes"], [1, "yes"], [True, 1],
        [False, "x"], [NAN, 1], [[0], [1]], [HUGE, 1], [HALF, "yes"], [{}, 1],
    ],
    "shape": [
        None, 3, "3", {}, [], [0], [-3], [3.0], ["3"], [True], [None], [4], [3, 1], [1, 1, 3], [10**12], [2**28 + 1],
        [3, 3, 3, 3], [1, 10**6, 10**6], [[3]], [HUGE],
    ],
    "layout": [None, 3, "", "row", "NCHW", "NHW", "NHWC", [], {}, "ROWS"],
    "bytes": [None, 0, 1, "false", []],
    "n_features_in": [None, "3", 3.0, True, 0, -3, 4, 10**12, [3], HUGE],
    "also": [
        None, [], "x", 3, {"a": None}, {"a": "x"}, {"a": NAN}, {"a": [None]}, {"a": {"b": 1}}, {"a": [[1.0]]},
        {"a": True}, {"a": HUGE},
    ],
    "feature_names_in": [
        "abc", 3, {}, [], ["a"], [1, 2, 3], [None] * 3, ["a", "b", 3], list("abcd"), [["a"]] * 3, True,
        [HALF, "b", "c"],
    ],
    "preset": [3, [], {}, True, HALF],
    "settings": [3, [], "x", True, {"lr": []}, {"lr": {}}, {"epochs": HUGE}],
}  # fmt: skip
CASES = [(key, i) for key, values in FORMS.items() for i in range(len(values))]


def damage(path, change, signed):
    """Change what a JSON file holds. A signed one gets the checksum of its new content."""
    value = json.loads(path.read_text())
    del value["sha256"]
    change(value)
    if signed:
        value["sha256"] = atomic._sum(json.loads(json.dumps(value)))
    path.write_text(json.dumps(value))


def assert_refused(folder, *words, load=lambda folder: distpu.load(folder, network=small_net)):
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        load(folder)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600, str(error.value)
    for word in (str(folder), *words):
        assert word in str(error.value), str(error.value)


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("key", FORMS)
def test_forms_of_model_json_that_cannot_be(key, signed, finished, folder):
    for value in FORMS[key]:
        shutil.copy(finished / "model.json", folder / "model.json")
        damage(folder / "model.json", lambda fitted, value=value: fitted.update({key: value}), signed)
        assert_refused(folder, "model.json", "the folder is damaged, train into a new one")
    if key in ("preset", "settings"):  # version 0.1 wrote neither
        return
    shutil.copy(finished / "model.json", folder / "model.json")
    damage(folder / "model.json", lambda fitted: fitted.pop(key), signed)
    assert_refused(folder, f"model.json has no {key!r}; the folder is damaged")


def test_there_are_as_many_forms_as_were_found():
    assert len(CASES) >= 100


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[]", b"3", b'"x"', b"[" * 99999, b'{"sha256": 1}', b'{"sha256": null}', b"\xff"]
)
def test_files_that_hold_no_object(content, folder):
    (folder / "model.json").write_bytes(content)
    assert_refused(folder, "model.json", "the folder is damaged")


def test_an_unknown_key_without_a_checksum_is_damage_and_with_one_a_later_version(folder):
    damage(folder / "model.json", lambda fitted: fitted.update(later=1), signed=True)
    before = distpu.load(folder, network=small_net).predict_proba(X)
    damage(folder / "model.json", lambda fitted: None, signed=False)
    assert_refused(folder, "model.json has the unknown key 'later'")
    assert before.shape == (40, 2)


@pytest.mark.parametrize("name", ["vpu", "tedn"])
def test_a_method_without_what_it_also_learnt(name, tmp_path):
    small(name, prior=0.4, epochs=1).fit(X, Y == "yes").save(tmp_path / "run")
    distpu.load(tmp_path / "run", network=small_net).predict(X)
    damage(tmp_path / "run/model.json", lambda fitted: fitted.update(also={}), signed=True)
    assert_refused(tmp_path / "run", "model.json: also has no", "which the method needs")


def test_a_wrapper_needs_no_shape_and_is_checked_like_a_network(tmp_path):
    fitted = distpu.ElkanNoto(LogisticRegression(), random_state=0).fit(X, Y == "yes")
    fitted.save(tmp_path / "run")
    loaded = distpu.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    for change in (
        lambda fitted: fitted.update(threshold="x"),
        lambda fitted: fitted.update(also={}),
        lambda fitted: fitted.update(classes=[1]),
        lambda fitted: fitted.update(feature_names_in=["a"]),
    ):
        content = (tmp_path / "run/model.json").read_bytes()
        damage(tmp_path / "run/model.json", change, signed=True)
        assert_refused(tmp_path / "run", "model.json", "the folder is damaged", load=distpu.load)
        (tmp_path / "run/model.json").write_bytes(content)
    state = RunFolder(tmp_path / "run").models(fitted._model_names())
    for other in ({**state, "predict": 1}, {k: v for k, v in state.items() if k != "estimators_"}, {}):
        RunFolder(tmp_path / "run").keep_models(other, "ElkanNoto")
        assert_refused(tmp_path / "run", "model.skops is not of this method", load=distpu.load)
    (tmp_path / "run/model.skops").write_bytes(b"garbage")
    assert_refused(tmp_path / "run", "model.skops", "the folder is damaged", load=distpu.load)


CONFIGS = {
    "method": [None, 3, [], {}, True],
    "params": [None, [], "x", 3, {"network": []}, {"epochs": {}}, {"beta": "x"}, {"batch_size": "x"}, {"prior": "x"},
               {"prior": NAN}, {"threshold_on": "x"}, {"beta": HUGE}, {"gamma": NAN}, {"epochs": 1.5}],
    "data": [None, [], "x"],
    "seed": ["x", -1, 1.5, None, HUGE, True],
}  # fmt: skip


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("key", CONFIGS)
def test_forms_of_config_json_that_cannot_be(key, signed, finished, folder):
    for value in CONFIGS[key]:
        shutil.copy(finished / "config.json", folder / "config.json")
        change = (lambda c, v=value: c["params"].update(v)) if type(value) is dict and value else None
        damage(folder / "config.json", change or (lambda c, v=value: c.update({key: v})), signed)
        assert_refused(folder, "config.json" if not change else "")


def test_a_config_without_its_seed_is_refused_by_fit(folder):
    damage(folder / "config.json", lambda config: config.pop("seed"), signed=True)
    fit = small("pusb", prior=0.4, epochs=1, pos_label="yes").fit
    assert_refused(folder, "config.json has no 'seed'", load=lambda folder: fit(X, Y, folder=folder))


@pytest.mark.parametrize("network", ["mlp", "auto", "cnn-13", "resnet-50", 3, None, True, "mlp\n"])
def test_a_network_that_does_not_fit_is_one_line(network, folder):
    damage(folder / "config.json", lambda config: config["params"].update(network=network), signed=True)
    assert_refused(folder, load=distpu.load)


@pytest.mark.parametrize("shape", [[2**28], [1, 2**14, 2**14], [1, 48, 48]])
def test_a_shape_is_compared_with_the_weights_before_memory_is_taken(shape, folder):
    """An MLP for 2**28 values would take 320 GB."""

    def change(fitted):
        images = len(shape) == 3
        axis = shape[1] if images else shape[0]
        fitted.update(shape=shape, layout="NHW" if images else "rows", n_features_in=axis, feature_names_in=None)
        fitted.update(encoded=None)

    damage(folder / "model.json", change, signed=True)
    damage(folder / "config.json", lambda config: config["params"].update(network="mlp"), signed=True)
    assert_refused(folder, "do not fit network='mlp'", load=distpu.load)


WEIGHTS = {
    "no mean": lambda w: w.pop("mean"),
    "no scale": lambda w: w.pop("scale"),
    "long mean": lambda w: w.update(mean=torch.zeros(7)),
    "deep mean": lambda w: w.update(mean=torch.zeros(1, 3)),
    "whole mean": lambda w: w.update(mean=torch.zeros(3, dtype=torch.int64)),
    "long scale": lambda w: w.update(scale=torch.ones(3, 1, 1)),
    "one more": lambda w: w.update(other=torch.ones(3)),
    "one more in the body": lambda w: w.update({"body.other": torch.ones(3)}),
    "one less": lambda w: w.pop("body.1.weight"),
    "other shape": lambda w: w.update({"body.1.weight": torch.ones(24, 4)}),
    "other kind": lambda w: w.update({"body.1.weight": w["body.1.weight"].double()}),
    "nothing": lambda w: w.clear(),
}


@pytest.mark.parametrize("name", WEIGHTS)
def test_signed_weights_that_are_of_another_network(name, folder):
    weights = RunFolder(folder).weights()
    WEIGHTS[name](weights)
    tensors.save(folder / "model.safetensors", weights)
    assert_refused(folder, "do not fit network=small_net for rows of shape (3,)")


@pytest.mark.parametrize("layout", ["NHW", "NCHW", "NHWC"])
def test_images_of_every_layout_come_back(layout, tmp_path):
    size = {"NHW": (40, 9, 8), "NCHW": (40, 3, 9, 8), "NHWC": (40, 9, 8, 3)}[layout]
    images = np.random.default_rng(0).integers(0, 256, size=size, dtype=np.uint8)
    fitted = small("nnpu", prior=0.4, epochs=1).fit(images, Y == "yes")
    loaded = distpu.load(fitted.save(tmp_path / "run"), network=small_net)
    np.testing.assert_array_equal(loaded.predict_proba(images), fitted.predict_proba(images))


# -------------------------------------------------------------- checkpoints

STATES = {
    "no random state": lambda s: s.pop("random.cpu"),
    "a short random state": lambda s: s.update({"random.cpu": s["random.cpu"][:-1].clone()}),
    "a random state of floats": lambda s: s.update({"random.cpu": s["random.cpu"].float()}),
    "a random state of zeros": lambda s: s.update({"random.cpu": torch.zeros_like(s["random.cpu"])}),
    "no model": lambda s: [s.pop(k) for k in list(s) if k.startswith("model.")],
    "a tensor less": lambda s: s.pop("model.mean"),
    "a tensor more": lambda s: s.update({"model.more": torch.ones(1)}),
    "another shape": lambda s: s.update({"model.mean": torch.ones(7)}),
    "another kind": lambda s: s.update({"model.mean": s["model.mean"].double()}),
    "more of the objective": lambda s: s.update({"objective.more": torch.ones(1)}),
    "a slot of no parameter": lambda s: s.update({"optimizer.99.step": torch.ones(())}),
    "a slot of no number": lambda s: s.update({"optimizer.x.step": torch.ones(())}),
    "a negative slot": lambda s: s.update({"optimizer.-1.step": torch.ones(())}),
    "a slot less": lambda s: s.pop("optimizer.0.exp_avg"),
    "a slot more": lambda s: s.update({"optimizer.0.more": torch.ones(())}),
    "a slot of another shape": lambda s: s.update({"optimizer.0.exp_avg": torch.ones(1)}),
    "nothing": lambda s: s.clear(),
}
METAS = [
    {},
    {"stage": "rank"},
    *({"stage": "rank", "epochs_done": v} for v in ("1", -1, 0, 9, True, 1.5, None, [], NAN)),
]
METAS += [{"stage": v, "epochs_done": 1} for v in ("other", None, 3, [])]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run that was stopped in its fourth epoch, and the weights of the same run when nothing stops it."""
    place = tmp_path_factory.mktemp("stopped")
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 4)
        with pytest.raises(KeyboardInterrupt):
            fit(place / "run")
    fit(place / "whole")
    return place


def fit(folder):
    return small("pusb", prior=0.4, epochs=4, batch_size=20).fit(X, Y == "yes", folder=folder)


def assert_falls_back(stopped, folder):
    with pytest.warns(
        RuntimeWarning, match=r"^[^\n]*stage-rank.* is damaged \([^\n]*\); going on from the state before"
    ):
        fit(folder)
    assert (folder / "model.safetensors").read_bytes() == (stopped / "whole/model.safetensors").read_bytes()


@pytest.mark.parametrize("name", STATES)
def test_a_signed_checkpoint_of_something_else(name, stopped, tmp_path):
    folder = shutil.copytree(stopped / "run", tmp_path / "run")
    state, meta = tensors.load(folder / "stage-rank.safetensors")
    STATES[name](state)
    tensors.save(folder / "stage-rank.safetensors", state, **meta)
    assert_falls_back(stopped, folder)


@pytest.mark.parametrize("meta", METAS, ids=str)
def test_a_signed_checkpoint_with_other_epochs(meta, stopped, tmp_path):
    folder = shutil.copytree(stopped / "run", tmp_path / "run")
    state, _ = tensors.load(folder / "stage-rank.safetensors")
    tensors.save(folder / "stage-rank.safetensors", state, **meta)
    assert_falls_back(stopped, folder)


@pytest.mark.parametrize(
    "line", ["", "null", "[]", "3", '{"stage": 1, "epoch": 0}', '{"stage": "rank"}', "\xff\n", "[" * 9999]
)
def test_a_damaged_log_stops_no_run(line, stopped, tmp_path):
    folder = shutil.copytree(stopped / "run", tmp_path / "run")
    (folder / "metrics.jsonl").write_bytes(line.encode("latin1") + b"\n")
    fit(folder)
    assert (folder / "model.safetensors").read_bytes() == (stopped / "whole/model.safetensors").read_bytes()


def test_damaged_scores_and_results_are_one_line(tmp_path):
    run = RunFolder(tmp_path)
    run.keep_scores({"score": np.ones(3), "s": np.ones(3), "y": np.ones(3)})
    run.keep_result({"accuracy": 0.5})
    content = run.path.joinpath("scores.npz").read_bytes()
    assert run.scores().keys() == {"score", "s", "y"} and run.result() == {"accuracy": 0.5}
    for damaged in (b"", b"garbage", content[:-30], content[: len(content) // 2], content.replace(b"score", b"scare")):
        run.path.joinpath("scores.npz").write_bytes(damaged)
        assert_refused(tmp_path, "scores.npz is damaged", load=lambda folder: RunFolder(folder).scores())
    run.path.joinpath("result.json").write_text(run.path.joinpath("result.json").read_text().replace("0.5", "0.7"))
    assert_refused(tmp_path, "result.json was changed", load=lambda folder: RunFolder(folder).result())


def test_a_damaged_part_is_fitted_again(tmp_path):
    run = RunFolder(tmp_path)
    assert run.part(1) is None
    run.keep_part(1, np.arange(3), "BaggingPU")
    assert run.part(1).tolist() == [0, 1, 2]
    content = (tmp_path / "part-0001.skops").read_bytes()
    for damaged in (b"", b"garbage", content[:-9], content[: len(content) // 2]):
        (tmp_path / "part-0001.skops").write_bytes(damaged)
        assert run.part(1) is None
