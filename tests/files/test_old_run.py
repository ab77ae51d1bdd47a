"""Run folders made by commit 18d6569 still work: a finished one predicts the same, a stopped one goes on."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from torch import nn

from distpu import NNPU, load

OLD = Path(__file__).with_name("old-run")


def old_net(shape):
    return nn.Sequential(nn.Linear(shape[0], 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1), nn.Flatten(0))


old_net.__module__ = "test_old_run"  # as the folders name it, however pytest imports this file


def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) + (np.arange(60) < 30)[:, None]
    return pd.DataFrame(X.round(3), columns=["amount", "age", "visits"]), np.where(np.arange(60) < 20, "yes", "no")


def classifier():
    return NNPU(prior=0.3, epochs=6, batch_size=20, network=old_net, random_state=1, pos_label="yes")


@pytest.fixture
def old(tmp_path):
    return shutil.copytree(OLD, tmp_path / "old")


def assert_as_before(fitted):
    X, _ = rows()
    before = np.array(json.loads((OLD / "decision.json").read_text()))
    np.testing.assert_allclose(fitted.decision_function(X), before, atol=1e-5)  # another machine rounds otherwise
    assert fitted.predict(X).tolist() == np.where(before >= 0, "yes", "no").tolist()
    assert len(fitted.history_) == 6 and fitted.feature_names_in_.tolist() == list(X.columns)


def test_a_finished_folder_predicts_as_before(old):
    assert_as_before(load(old / "finished", network=old_net))


def test_a_finished_folder_is_not_trained_again(old, monkeypatch):
    monkeypatch.setattr(NNPU, "_learn", lambda self, run: pytest.fail("trained again"))
    assert_as_before(classifier().fit(*rows(), folder=old / "finished"))


def test_a_stopped_folder_goes_on(old):
    stopped = old / "stopped"
    assert not (stopped / "done").exists() and (stopped / "stage-nnpu.safetensors").exists()
    assert_as_before(classifier().fit(*rows(), folder=stopped))
    assert (stopped / "done").exists()
