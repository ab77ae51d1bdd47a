"""Every method: calibrated probabilities, chosen cuts, and their way into a folder and back."""

import json
import shutil

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import distpu
from distpu import METHODS, NNPU, PUSB, BaggingPU, ElkanNoto, Naive, TwoStep
from distpu.files import atomic
from distpu.threshold import Calibration
from small import NETWORKS, small, small_net

CALIBRATED = [name for name, cls in METHODS.items() if not cls.supervised]
SMALLEST = {"batch_size": 64, "network": small_net}


def quick(name, **settings):
    """A method with so few epochs that it hardly learns: what is tested here holds for any scores."""
    if name in NETWORKS:
        short = {k: 2 for k in METHODS[name].__dataclass_fields__ if k.endswith("epochs")}
        settings = {**SMALLEST, **short, **settings}
    return small(name, **{"prior": 0.4, **settings})


@pytest.mark.parametrize("name", CALIBRATED)
def test_calibrated_probabilities_and_a_chosen_cut_of_every_method(name, toy, tmp_path):
    X, s, _ = toy
    fitted = quick(name, calibrate=True, threshold="recall=0.6").fit(X, s)
    z, p = fitted.decision_function(X), fitted.predict_proba(X)
    assert (np.diff(p[np.argsort(z, kind="stable"), 1]) >= 0).all() and (p >= 0).all() and (p <= 1).all()
    np.testing.assert_array_equal(z >= 0, fitted.predict(X) == 1)
    held_out = fitted.cut_.held_out
    assert held_out.total == 270 and held_out.labelled.rows in (6, 30)  # a fifth, or all of them
    table = held_out.unlabelled
    assert table.sums(fitted.cut_.calibration).sum() / table.rows == pytest.approx(0.4, abs=1e-3)
    assert fitted.expected_.recall >= 0.6 and fitted.expected_.hidden == pytest.approx(108)

    loaded = distpu.load(fitted.save(tmp_path / "model"), network=small_net if name in NETWORKS else None)
    np.testing.assert_array_equal(loaded.predict_proba(X), p)
    np.testing.assert_array_equal(loaded.decision_function(X), z)
    assert loaded.cut_ == fitted.cut_ and str(loaded.expected_) == str(fitted.expected_)
    assert loaded.threshold == "recall=0.6" and loaded.calibrate is True

    own = fitted.set_threshold("auto").decision_function(X)
    np.testing.assert_array_equal(own, fitted._decide(fitted._raw_scores(fitted._check_rows(X, reset=False))))
    np.testing.assert_array_equal(fitted.predict_proba(X), p)  # a cut moves no probability
    fitted.set_threshold("rows=270")
    assert fitted.expected_.rows == 270
    if name in ("nnpu", "bagging-pu", "elkan-noto", "two-step"):
        again = quick(name, calibrate=True, threshold="recall=0.6").fit(X, s)
        np.testing.assert_array_equal(again.predict_proba(X), p)


@pytest.mark.parametrize("name", ["bagging-pu", "blend-pu", "elkan-noto", "two-step"])
def test_a_method_that_holds_rows_out_is_calibrated_by_auto(name, toy):
    X, s, _ = toy
    p, of_auto = (quick(name, calibrate=told).fit(X, s).predict_proba(X) for told in (True, "auto"))
    np.testing.assert_array_equal(of_auto, p)


@pytest.mark.parametrize("name", ["dist-pu", "vpu"])
def test_a_network_is_not_calibrated_unless_asked(name, toy):
    X, s, _ = toy
    plain = quick(name).fit(X, s)
    assert plain.cut_ is None and plain.expected_ is None
    np.testing.assert_array_equal(plain.predict_proba(X), quick(name, calibrate=False).fit(X, s).predict_proba(X))
    with pytest.raises(
        ValueError, match=r"threshold='half' needs held-out rows, and \w+ was fitted without; fit again"
    ):
        plain.set_threshold("half")
    plain.set_threshold("auto")


@pytest.mark.parametrize("cls", [BaggingPU, ElkanNoto, TwoStep])
def test_a_wrapper_decides_as_without_calibration(cls, toy):
    X, s, _ = toy
    few = {"n_estimators": 10} if cls is BaggingPU else {}
    make = lambda **told: cls(LogisticRegression(), prior=0.4, random_state=0, **few, **told)  # noqa: E731
    fitted, plain = make().fit(X, s), make(calibrate=False).fit(X, s)
    if cls is not ElkanNoto:  # whose calibrate=False takes the isotonic regression away too
        np.testing.assert_array_equal(fitted.decision_function(X), plain.decision_function(X))
    assert plain.cut_ is None and not fitted.cut_.chosen
    assert fitted.predict_proba(X)[s == 0, 1].mean() == pytest.approx(0.4, abs=0.05)


def test_probabilities_of_a_single_set_are_those_among_all_rows(toy):
    X, s, _ = toy
    p, q = (ElkanNoto(LogisticRegression(), prior=0.4, scenario=scenario, random_state=0).fit(X, s).predict_proba(X)
            for scenario in ("case-control", "single-set"))  # fmt: skip
    share = (30 + 0.4 * 270) / 300
    odds = share / (1 - share) * 0.6 / 0.4
    np.testing.assert_allclose(q[:, 1] / q[:, 0], odds * p[:, 1] / p[:, 0], rtol=1e-6)


def test_a_method_without_a_prior_gets_one_to_calibrate_by(toy):
    X, s, _ = toy
    fitted = Naive(epochs=2, network=small_net, calibrate=True, random_state=0).fit(X, s)
    assert 0.2 < fitted.prior_ < 0.6 and fitted.cut_.prior == fitted.prior_


def test_the_prior_that_was_told_calibrates_where_a_method_goes_on_to_its_own(toy):
    X, s, _ = toy
    fitted = quick("tedn", prior=0.25, calibrate=True).fit(X, s)
    assert fitted.cut_.prior == 0.25 != fitted.prior_


def test_what_cannot_be(toy):
    X, s, _ = toy
    for settings, message in (
        ({"threshold": "precison=0.9"}, "did you mean 'precision'"),
        ({"threshold": "half", "calibrate": False}, "threshold='half' needs held-out rows, but calibrate=False"),
        ({"calibrate": "yes"}, "calibrate='yes' must be one of 'auto', True, False"),
    ):
        with pytest.raises(ValueError, match=message):
            NNPU(**settings).fit(X, s)
    with pytest.raises(ValueError, match="threshold_on='scored' lets the rows being scored set the cut"):
        PUSB(threshold_on="scored", calibrate=True).fit(X, s)
    with pytest.raises(ValueError, match="pn learns from true labels"):
        METHODS["pn"](threshold="half").fit(X, s)
    one = np.flatnonzero(s)[:1]
    few = np.concatenate([one, np.flatnonzero(s == 0)])
    with pytest.raises(ValueError, match="needs rows to hold out: at least 2 different labelled positives"):
        quick("nnpu", calibrate=True).fit(X[few], s[few])
    with pytest.raises(ValueError, match="needs rows to hold out"):
        quick("bagging-pu", threshold="half").fit(X[few], s[few])
    assert quick("bagging-pu").fit(X[few], s[few]).cut_ is None  # nobody asked for a calibration


# ------------------------------------------------------------------ folders


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    random = np.random.default_rng(0)
    X, s = random.normal(size=(60, 2)), np.arange(60) < 20
    X[:40] += 1
    path = tmp_path_factory.mktemp("cut") / "run"
    ElkanNoto(LogisticRegression(), prior=0.4, threshold="half", random_state=0).fit(X, s, folder=path)
    return path


def changed(value, path, new):
    *way, last = path.split(".")
    for key in way:
        value = value[key]
    if new is None:
        del value[last]
    else:
        value[last] = new


NAN, HUGE = float("nan"), 10**400
WRONG = {
    "": [3, "x", [], True],
    "prior": [None, "x", 0, 1, 1.5, NAN, True, HUGE],
    "own": [None, "x", NAN, True],
    "at": [None, "x", float("inf"), []],
    "choice": [None, 3, "x", "precision=2", "\ud800"],
    "calibration": [None, 3, []],
    "calibration.spread": [None, 0, -1.0, "x", NAN],
    "calibration.slope": [None, -0.1, NAN],
    "calibration.z": [None, [], 3, [3.0], ["x"], [NAN], [[0.0]]],
    "calibration.p": [None, [], [0.5], "x"],
    "held_out": [None, 3],
    "held_out.total": [None, -3, 0, 1.5, True, HUGE, "x"],
    "held_out.labelled": [None, {}, []],
    "held_out.labelled.z": [None, [], [1.0, 0.0], [1.0]],
    "held_out.unlabelled.above": [None, [], [1, 2], [1.5], [True], [HUGE]],
}


@pytest.mark.parametrize("path", WRONG)
def test_a_cut_in_model_json_that_cannot_be_is_refused(path, folder, tmp_path):
    run = shutil.copytree(folder, tmp_path / "run")
    file = run / "model.json"
    distpu.load(run)
    for new in WRONG[path]:
        value = json.loads((folder / "model.json").read_text())
        del value["sha256"]
        changed(value, f"cut.{path}".rstrip("."), new)
        value["sha256"] = atomic._sum(json.loads(json.dumps(value)))
        file.write_text(json.dumps(value))
        with pytest.raises(ValueError) as error:
            distpu.load(run)
        assert str(file) in str(error.value) and "the folder is damaged" in str(error.value), (new, str(error.value))
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("rule", ["z must rise", "above must fall", "p must not fall", "z must not fall"])
def test_numbers_that_contradict_each_other_are_refused(rule, folder, tmp_path):
    run = shutil.copytree(folder, tmp_path / "run")
    value = json.loads((run / "model.json").read_text())
    del value["sha256"]
    table, calibration = value["cut"]["held_out"]["unlabelled"], value["cut"]["calibration"]
    turned = {"z must rise": table["z"], "above must fall": table["above"], "p must not fall": calibration["p"],
              "z must not fall": calibration["z"]}[rule]  # fmt: skip
    turned.reverse()
    value["sha256"] = atomic._sum(json.loads(json.dumps(value)))
    (run / "model.json").write_text(json.dumps(value))
    with pytest.raises(ValueError, match=rule):
        distpu.load(run)


def test_a_folder_from_before_has_no_cut_and_its_own_probabilities(folder, tmp_path):
    run = shutil.copytree(folder, tmp_path / "run")
    value = json.loads((run / "model.json").read_text())
    del value["sha256"], value["cut"]
    value["sha256"] = atomic._sum(json.loads(json.dumps(value)))
    (run / "model.json").write_text(json.dumps(value))
    loaded = distpu.load(run)
    X = np.random.default_rng(1).normal(size=(9, 2))
    assert loaded.cut_ is None and loaded.predict_proba(X).shape == (9, 2)


def test_defaults_leave_no_trace_in_a_config(folder, toy, tmp_path):
    """Folders that were begun before these parameters go on."""
    assert json.loads((folder / "config.json").read_text())["params"]["threshold"] == "half"
    X, s, _ = toy
    quick("nnpu").fit(X, s, folder=tmp_path / "run")
    told = json.loads((tmp_path / "run/config.json").read_text())["params"]
    assert not {"threshold", "calibrate", "rise"} & told.keys()
    quick("dist-pu-plus", rise=0).fit(X, s, folder=tmp_path / "plus")  # its own default is another one
    assert json.loads((tmp_path / "plus/config.json").read_text())["params"]["rise"] == 0


def test_a_calibration_is_found_again_bit_for_bit(folder):
    stored = json.loads((folder / "model.json").read_text())["cut"]
    assert Calibration.from_json(stored["calibration"]).as_json() == stored["calibration"]
