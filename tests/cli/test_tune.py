"""`distpu tune`."""

import json

import pytest

from distpu import tune_settings
from terminal import distpu, done, refused

FILE = ("tune", "table.csv", "--label", "fraud")
SEARCH = (*FILE, "--method", "bagging-pu", "--prior", "0.4", "--set", "n_estimators=10")
FOLDER = "runs/table-bagging-pu-tune-seed0"


def test_tune_is_the_librarys_search(here, toy, no_training):
    X, s, _ = toy
    ended = distpu(*SEARCH, "--trials", "5", "--plot", "trials.png")
    assert ended.code == 0 and ended.err.count("trial ") >= 5 and "best" in ended.err
    found = tune_settings(X, s, "bagging-pu", trials=5, prior=0.4, settings={"n_estimators": 10})
    rows = [json.loads(line) for line in (here / FOLDER / "trials.jsonl").read_text().splitlines()]
    assert [row["settings"] for row in rows] == [trial.settings for trial in found.trials]
    head, default = ended.out.splitlines()[1:3]
    assert "PU accuracy" in head
    assert default.split()[:4] == ["default", f"{found.default.value:.4f}", "±", f"{found.default.error:.4f}"]
    assert "5 trials: " in ended.out and max(len(line) for line in ended.out.splitlines()[:-1]) <= 80
    assert (here / "trials.png").read_bytes().startswith(b"\x89PNG")
    no_training()
    assert done(*SEARCH, "--trials", "5").splitlines()[1:3] == [head, default]  # nothing is judged again


@pytest.mark.parametrize("worth", [True, False])
def test_tune_says_whether_the_gain_is_larger_than_its_error_and_what_to_type(here, monkeypatch, worth):
    monkeypatch.setattr("distpu.tune.honest_gain", lambda *_: (0.02, 0.01) if worth else (0.01, 0.02))
    monkeypatch.setattr("distpu.tune._Search.best", property(lambda self: self.complete[-1]))
    text = done(*SEARCH, "--trials", "3")
    prose, command = " ".join(text.split()), text.splitlines()[-1]
    rows = [json.loads(line) for line in (here / FOLDER / "trials.jsonl").read_text().splitlines()]
    start = "next:  distpu fit table.csv --label fraud --method bagging-pu --prior 0.4 --set n_estimators=10"
    if worth:
        assert "gains +0.0200 ± 0.0100" in prose and "larger than its standard error: take these settings" in prose
        assert command == start + "".join(f" --set {k}={v}" for k, v in rows[-1]["settings"].items())
    else:
        assert "The gain is not larger than its standard error: take the default" in prose
        assert command == start
    ended = distpu(*command.split()[2:])  # it is a command that runs
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tune", "table.csv"), "table.csv needs a label column; add --label COLUMN"),
        ((*SEARCH, "--metric", "accuracy"), "there is no PU scorer 'accuracy'; did you mean 'pu_accuracy'?"),
        ((*FILE, "--method", "bagging"), "did you mean 'bagging-pu'?"),
        ((*SEARCH, "--preset", "paper"), "bagging-pu has no presets; leave --preset out"),
        ((*FILE, "--prior", "true"), "--prior true is for named data sets"),
    ],
)
def test_tune_refuses_what_it_cannot_do(here, arguments, message):
    assert message in refused(*arguments)
