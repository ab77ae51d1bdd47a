"""Runs on Ray: the same results as in one process, also without a disk in common and when a node is lost."""

import json
import os
import threading
import time

import pytest
from typer.testing import CliRunner

from distpu import datasets
from distpu.cli import app
from distpu.files.run_folder import RunFolder
from distpu.study.experiment import Cell
from distpu.study.pool import Task, opened, run_task
from distpu.study.ray_pool import bring, on_node
from two_nodes import two_nodes


def told(result):
    return {name: value for name, value in result.to_json().items() if name != "seconds"}


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in (".lock", "seconds.json")}


def test_a_node_without_our_disk_sends_the_files_of_its_run(tmp_path):
    task = Task(Cell("naive", "digits", {"epochs": 2}), 0, tmp_path / "sent")
    result, sent = on_node(task, datasets.load("digits"), "a token that nobody wrote")
    assert not task.folder.exists()
    bring(task.folder, sent)
    here = run_task(Task(task.cell, 0, tmp_path / "here"))
    assert told(result) == told(here)
    same = ("config.json", "metrics.jsonl", "model.safetensors", "scores.npz", "done")
    assert {name: files(task.folder)[name] for name in same} == {name: files(tmp_path / "here")[name] for name in same}
    assert run_task(task) == result  # the folder is finished


def test_a_run_that_cannot_be_made_is_told_and_leaves_nothing(tmp_path):
    task = Task(Cell("naive", "digits", {"lr": -1.0}), 0, tmp_path / "sent")
    why, sent = on_node(task, datasets.load("digits"), "a token that nobody wrote")
    assert "lr=-1.0 must be above 0" in why and not sent and not task.folder.exists()


def _when_both_train(folder, kill):
    """Kill a node when it and the other one are in the middle of a run."""
    end = time.monotonic() + 120
    while len(list(folder.glob("*/metrics.jsonl"))) < 2:
        time.sleep(0.05)
        assert time.monotonic() < end, "no two runs began"
    assert not list(folder.glob("*/done"))
    kill()


@pytest.mark.slow
def test_a_table_made_on_ray_with_a_node_killed_has_all_lines_once(tmp_path, monkeypatch):
    text = 'title = "Two"\nshow = "comparison"\nseeds = 2\nkeeps = ["last"]\n'
    for method in ("naive", "nnpu"):
        text += f'[[cells]]\nmethod = "{method}"\ndataset = "digits"\nsettings = {{ epochs = 100, batch_size = 64 }}\n'
    (tmp_path / "two.toml").write_text(text)
    lines = {}
    for pool in ("ray", "local"):
        where = ["--results", str(tmp_path / pool / "results"), "--runs", str(tmp_path / pool / "runs"), "--pool", pool]
        if pool == "ray":
            with two_nodes(monkeypatch) as kill:
                killer = threading.Thread(target=_when_both_train, args=(tmp_path / "ray/runs/two", kill))
                killer.start()
                done = CliRunner().invoke(app, ["reproduce", str(tmp_path / "two.toml"), *where])
                killer.join()
        else:
            done = CliRunner().invoke(app, ["reproduce", str(tmp_path / "two.toml"), *where, "--jobs", "2"])
        assert done.exit_code == 0, done.output
        found = [json.loads(line) for line in (tmp_path / pool / "results/two/runs.jsonl").read_text().splitlines()]
        lines[pool] = [{k: v for k, v in line.items() if k != "seconds"} for line in found]
    assert len(lines["ray"]) == 4
    assert lines["ray"] == lines["local"]
    for run in (tmp_path / "ray/runs/two").iterdir():
        weights = [tmp_path / pool / "runs/two" / run.name / RunFolder.WEIGHTS for pool in ("ray", "local")]
        assert weights[0].read_bytes() == weights[1].read_bytes()


def test_an_address_where_nobody_listens_is_refused_at_once(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(ValueError, match="no Ray cluster answers at RAY_ADDRESS=127.0.0.1:9"):
        with opened("ray", None, [], 1):
            pass
    assert os.environ["RAY_ADDRESS"] == "127.0.0.1:9"


def test_an_unknown_pool_is_refused_by_name():
    done = CliRunner().invoke(app, ["compare", "digits", "--pool", "rai"])
    assert "did you mean 'ray'?" in str(done.exception)
