"""Runs in this process and in several; what happens to them when something is killed."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from distpu import datasets
from distpu.files.lock import lock
from distpu.study import pool
from distpu.study.experiment import Cell
from distpu.study.pool import Pool, Task
from study.tiny import TINY


def waited_for(folder, pattern, process=None, seconds=60):
    """The files of a pattern, as soon as there is one; fails when the process ends before or the time is over."""
    end = time.monotonic() + seconds
    while not (found := list(folder.glob(pattern))):
        assert process is None or process.poll() is None, "it ended without writing"
        assert time.monotonic() < end, f"no {pattern} after {seconds} s"
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("how", ["kill", pytest.param("terminate", marks=pytest.mark.slow)])
def test_a_command_that_is_killed_takes_its_workers_with_it(how, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY.replace("epochs = 2", "epochs = 2000"))
    where = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "2"]
    command = [sys.executable, "-m", "distpu", "reproduce", str(tmp_path / "tiny.toml"), *where]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    logs = waited_for(tmp_path, "runs/tiny/digits-naive-seed*/metrics.jsonl", first)
    getattr(first, how)()
    first.communicate(timeout=60)  # returns when no worker holds stderr any more
    for folder in {log.parent for log in logs}:
        with lock(folder):  # refused, where a worker is still at it
            pass


def test_ctrl_c_ends_what_runs_and_starts_nothing_more(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY.replace("epochs = 2", "epochs = 2000").replace("epochs = 3", "epochs = 4"))
    where = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "2"]
    command = [sys.executable, "-m", "distpu", "reproduce", str(tmp_path / "tiny.toml"), *where, "--only", "naive,nnpu"]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    waited_for(tmp_path, "runs/tiny/digits-naive-seed*/metrics.jsonl", first)
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does: the command and its workers
    _, err = first.communicate(timeout=60)
    assert first.returncode == 130
    assert "goes on from there" in err
    assert "Traceback" not in err
    started = {path.parent.name.rsplit("-", 1)[0] for path in tmp_path.glob("runs/tiny/*/config.json")}
    assert len(started) < 8, started
    for log in tmp_path.glob("runs/tiny/*/metrics.jsonl"):
        with lock(log.parent):
            pass


def test_a_run_whose_worker_is_killed_is_tried_again_and_no_other_one_notices(tmp_path, capsys):
    """The second try goes on from the first one's checkpoint, so its folder has the bits of a run that was let be."""
    tasks = [Task(Cell("naive", "digits", {"epochs": 60}), seed, tmp_path / str(seed)) for seed in (0, 1, 2)]
    workers = set()

    def kill_one():
        waited_for(tmp_path, "0/metrics.jsonl")
        held = [child for child in multiprocessing.active_children() if _works_in(child.pid, tmp_path / "0")]
        workers.update(child.pid for child in multiprocessing.active_children())
        held[0].kill()

    killer = threading.Thread(target=kill_one)
    killer.start()
    ended = {task.seed: result for task, result in Pool(2).run(tasks)}
    killer.join()
    assert sorted(ended) == [0, 1, 2] and all(result.metrics for result in ended.values()), ended
    assert len(workers) == 2
    assert capsys.readouterr().err == "naive seed 0: its process was killed; it is tried again\n"
    alone = Task(tasks[0].cell, 0, tmp_path / "alone")
    assert pool.run_task(alone).metrics == ended[0].metrics
    for name in ("model.safetensors", "metrics.jsonl", "scores.npz", "model.json"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes(), name


def _works_in(process, folder):
    """Whether a process holds the lock file of a folder open."""
    return str(folder / ".lock") in {
        os.readlink(one) for one in Path(f"/proc/{process}/fd").iterdir() if one.is_symlink() and os.path.exists(one)
    }


@pytest.mark.slow
def test_a_run_whose_worker_is_killed_each_time_has_failed(tmp_path):
    """A network that ends its process stands for a run that takes all the memory."""
    tasks = [
        Task(Cell("naive", "digits", {"epochs": 1}), 0, tmp_path / "0"),
        Task(Cell("naive", "digits", {"epochs": 1, "network": die}), 1, tmp_path / "1"),
        Task(Cell("naive", "digits", {"epochs": 1}), 2, tmp_path / "2"),
    ]
    ended = {task.seed: result for task, result in Pool(2).run(tasks)}
    assert ended[1] == pool.KILLED and "killed 3 times" in pool.KILLED and "--jobs 1" in pool.KILLED
    assert ended[0].metrics and ended[2].metrics


def die(shape):
    os.kill(os.getpid(), signal.SIGKILL)


def test_whoever_stops_reading_ends_the_workers_and_nobody_else(tmp_path):
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    tasks = [
        Task(Cell("naive", "digits", {"epochs": epochs}), seed, tmp_path / str(seed))
        for seed, epochs in enumerate((1, 5000, 5000))
    ]
    ended = Pool(2).run(tasks)
    next(ended)
    other.start()
    ended.close()
    assert multiprocessing.active_children() == [other]
    other.kill()
    other.join()


def test_one_job_loads_each_data_set_once(tmp_path, monkeypatch):
    """Runs of a table alternate between its data sets."""
    loads, load = [], datasets.load
    monkeypatch.setattr(datasets, "load", lambda name, root=None: (loads.append(name), load(name, root))[1])
    pool.loaded.cache_clear()
    tasks = [
        Task(Cell("elkan-noto", name, {"folds": 2}), seed, tmp_path / f"{name}-{seed}")
        for seed in (0, 1)
        for name in ("digits", "breast-cancer")
    ]
    assert [type(result).__name__ for _, result in Pool(1).run(tasks)] == ["Result"] * 4
    assert loads == ["digits", "breast-cancer"]
