"""One run, and what judges settings without true labels."""

import dataclasses
import json

import numpy as np
import pytest

from distpu import datasets, metrics
from distpu.datasets.draw import draw_pu
from distpu.study import runs


def test_rows_that_lie_apart_judge_what_the_others_taught():
    data = datasets.load("digits")
    data = dataclasses.replace(data, apart=np.arange(len(data.x)) >= 700)
    settings = {"epochs": 2, "device": "cpu"}
    found = runs.judge("nnpu", data, folds_of="apart", seed=100, settings=settings, every_epoch=True)
    index, s = draw_pu(data.y, data.labelled, seed=100)
    prior, out = float(data.y[index][s == 0].mean()), index >= 700  # with the unlabelled copies of labelled rows
    classifier = runs.make("nnpu", {"prior": prior, "random_state": 100, **settings})
    z = classifier.fit(data.x[index][~out], s[~out]).decision_function(data.x[index][out])
    assert found.metrics["pu_accuracy"] == metrics.pu_accuracy(s[out], z, prior)
    assert found.folds == "apart"
    for name in ("pu_accuracy", "pu_auc"):
        (path,) = found.by_epoch[name].values()  # nnPU has one stage
        assert len(path) == 2
        assert path[-1] == pytest.approx(found.metrics[name], abs=1e-4)

    with pytest.raises(ValueError, match="digits names none; give a number of folds"):
        runs.judge("nnpu", datasets.load("digits"), folds_of="apart", seed=100, settings=settings)


def test_an_epoch_is_chosen_on_the_rows_that_lie_apart(tmp_path):
    data = datasets.load("digits")
    data = dataclasses.replace(data, apart=np.arange(len(data.x)) >= 700)
    found = runs.simulate("nnpu", data, tmp_path / "run", held_out=10, settings={"epochs": 2, "device": "cpu"})
    index, s = draw_pu(data.y, data.labelled)
    assert found.labelled == s[index < 700].sum()
    assert found.held_out == "apart"


@pytest.mark.parametrize("method", ["nnpu", "naive"])
def test_held_out_rows_choose_the_epoch_also_where_the_prior_is_estimated(method, tmp_path):
    settings = {"epochs": 6, "device": "cpu"}
    found = runs.simulate(
        method, datasets.load("digits"), tmp_path / "run", held_out=10, prior="auto", settings=settings
    )
    assert found.prior_told == "auto"
    assert found.keep == "pu" and found.epoch in range(1, 7)
    log = [json.loads(row) for row in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert all(0.5 < row["pu_accuracy"] <= 1 for row in log[-1:])
    if method == "nnpu":  # judged by the prior that it has estimated
        assert found.prior == json.loads((tmp_path / "run/prior.json").read_text())["prior"]


def test_results_of_version_0_1_0_can_be_read(tmp_path):
    found = runs.simulate("nnpu", datasets.load("digits"), tmp_path / "run", settings={"epochs": 1, "device": "cpu"})
    row = found.to_json()
    old = {**row, "settings": {"labelled": row.pop("labelled"), "scenario": row.pop("scenario"), **row["settings"]}}
    del old["labelled"], old["scenario"]
    assert runs.Result.from_json(old) == found
