"""Scores on Ray: the pieces of a local run, each once and in order, also when a node is lost."""

import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from distpu import BlendPU, load, predict_file
from distpu.on_ray import Here
from distpu.predictions.on_nodes import Plan
from distpu.predictions.streaming import Job
from terminal import distpu, refused
from two_nodes import two_nodes


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a small blend and Parquet files of new rows, some of which hold a word that training did not."""
    place = tmp_path_factory.mktemp("nodes")
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(4000, 3)) + (np.arange(4000) % 3 == 0)[:, None], columns=list("abc"))
    X["kind"] = random.choice(["x", "y", "z"], len(X))
    s = (np.arange(len(X)) % 6 == 0).astype(int)
    BlendPU(random_state=0, folds=2, bags=2, trees=10).fit(X[:1000], s[:1000], folder=place / "run")
    X.loc[2500, "kind"] = "never seen"
    X["name"] = [f"row {i}" for i in range(len(X))]
    (place / "new/month=2").mkdir(parents=True)
    for name, part in (("b", X[:1111]), ("c", X[1111:1111]), ("month=2/a", X[1111:])):
        part.to_parquet(place / f"new/{name}.parquet", row_group_size=700)
    return place


def job_of(place, size=150):
    return Job(load(place / "run"), str(place / "new"), "name", size, None, False, False, None)


@pytest.mark.parametrize("done", [0, 1, 5, 8, 9, 27])
@pytest.mark.parametrize("slots", [1, 3, 100])
def test_the_tasks_have_every_piece_once_and_in_order(place, done, slots):
    plan = Plan.of(job_of(place))
    units = list(plan.units(done, slots))
    found = [(unit.file.name, unit.first + i) for unit in units for i in range(unit.count)]
    assert found == [*(("b.parquet", i) for i in range(8)), *(("a.parquet", i) for i in range(20))][done:]
    first = {"b.parquet": 0, "a.parquet": 1111}
    assert all(unit.start == first[unit.file.name] + 150 * unit.first for unit in units)


@pytest.mark.parametrize("done, start", [(0, 0), (9, 1111 + 150)])
def test_a_plan_gives_the_pieces_of_a_local_run(place, done, start):
    new = "cells that are not as in training: 'kind' \\(1 new categories, such as 'never seen'\\)"
    with pytest.warns(UserWarning, match=new):
        here = list(job_of(place).scored(done, start))
    with pytest.warns(UserWarning, match=new):
        planned = list(Plan.of(job_of(place)).scored(Here(), done, start))
    assert [one.to_bytes() for one in planned] == [one.to_bytes() for one in here]


def test_a_pipe_and_other_kinds_of_data_are_refused(place, tmp_path):
    run, new = str(place / "run"), str(place / "new")
    assert "--pool ray needs --out FILE" in refused(distpu("predict", run, new, "--pool", "ray"))
    pd.read_parquet(place / "new/b.parquet").to_csv(tmp_path / "new.csv")
    command = ["predict", run, str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv"), "--pool", "ray"]
    assert "--pool ray scores Parquet files" in refused(distpu(*command))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:cells that are not as in training")
def test_a_node_is_killed_in_the_middle_of_scoring(place, tmp_path, monkeypatch):
    part = tmp_path / ".ray.parquet.part"
    with two_nodes(monkeypatch) as kill:
        killer = threading.Thread(target=_when_some_are_scored, args=(part, kill))
        killer.start()
        told = {"id": "name", "rows_at_a_time": 40, "progress": False}
        done = predict_file(place / "run", place / "new", tmp_path / "ray.parquet", pool="ray", **told)
        killer.join()
        again = predict_file(place / "run", place / "new", tmp_path / "again.csv", pool="ray", **told)
    here = predict_file(place / "run", place / "new", tmp_path / "here.parquet", **told)
    predict_file(place / "run", place / "new", tmp_path / "here.csv", **told)
    assert (done.rows, done.positive) == (again.rows, again.positive) == (here.rows, here.positive)
    assert pd.read_parquet(tmp_path / "ray.parquet")["id"].tolist() == [f"row {i}" for i in range(4000)]
    assert (tmp_path / "ray.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    assert not part.exists()


def _when_some_are_scored(part: Path, kill):
    end = time.monotonic() + 120
    while not (part.exists() and part.stat().st_size > 3000):
        time.sleep(0.02)
        assert time.monotonic() < end, "nothing was scored"
    kill()
