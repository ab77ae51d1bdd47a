"""kill -9 at random moments, again and again: the same command goes on, and the files have the same bits."""

import random
import shutil
import signal
import time

import pytest

from faults.conftest import METHODS, assert_same, content, fit
from faults.forked import Started, run, slept

pytestmark = pytest.mark.faults
EXPERIMENT = """
title = "Killed"
show = "comparison"
seeds = 2
keeps = ["last"]

[[cells]]
method = "naive"
dataset = "digits"
settings = { epochs = 3 }
published = { accuracy = [70.0, 2.0] }

[[cells]]
method = "nnpu"
dataset = "digits"
settings = { epochs = 3 }
"""


def timed(words, place):
    run("--version", place=place)  # the first process waits until the forking one has imported everything
    start = time.monotonic()
    ended = run(*words, place=place)
    assert ended.code == 0, ended.err
    return time.monotonic() - start


def kill_until_done(words, seconds, part, draw, place):
    """Start, kill after a random time, start again. Return when a process ends by itself."""
    for _ in range(40):
        process = Started(*words, place=place)
        slept(draw.uniform(0, 1.05 * seconds) if part.on else 0 if part.tried else seconds / 2)
        if part.on or not part.tried:
            process.signal(signal.SIGKILL)
        ended = process.ended()
        part.tried += ended.code == -signal.SIGKILL
        if ended.code != -signal.SIGKILL:
            assert ended.code == 0, ended.err
            return
    ended = run(*words, place=place)
    assert ended.code == 0, ended.err


@pytest.mark.parametrize("method", METHODS)
def test_fit(method, table, tmp_path, part):
    seconds = timed(fit(method, table, tmp_path / "whole"), tmp_path)
    count, draw = part(f"kill -9 of `fit`, {method}", 25, 0.043), random.Random(method)
    rounds = 0
    while count.on or not rounds:
        folder = tmp_path / f"run-{rounds}"
        kill_until_done(fit(method, table, folder), seconds, count, draw, tmp_path)
        assert_same(folder, tmp_path / "whole")
        shutil.rmtree(folder)
        rounds += 1
    count.note = f"{rounds} runs ended with the same bits"


def test_predict(table, tmp_path, part):
    import pandas as pd

    assert run(*fit("nnpu", table, tmp_path / "model"), place=tmp_path).code == 0
    rows = pd.concat([pd.read_csv(table)] * 900, ignore_index=True)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for ending in ("csv", "parquet"):
        words = ["predict", tmp_path / "model", tmp_path / "rows.csv", "--out"]
        seconds = timed([*words, tmp_path / f"whole.{ending}"], tmp_path)
        count, draw = part(f"kill -9 of `predict` to .{ending}", 15, 0.021), random.Random(ending)
        rounds = 0
        while count.on or not rounds:
            out = tmp_path / f"out.{ending}"
            kill_until_done([*words, out], seconds, count, draw, tmp_path)
            assert out.read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()
            assert not list(tmp_path.glob(".*.part"))
            out.unlink()
            rounds += 1
        count.note = f"{rounds} files ended with the same bits"


def line_of(text):
    """The lines of a ledger without the seconds that a run took."""
    import json

    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in text.splitlines()]


def test_compare(tmp_path, part):
    def words(folder):
        return ["compare", "digits", "--methods", "elkan-noto,naive", "--seeds", "2", "--jobs", "1", "--folder", folder]

    seconds = timed(words(tmp_path / "whole"), tmp_path)
    count, draw = part("kill -9 of `compare`", 15, 0.057), random.Random(1)
    rounds = 0
    while count.on or not rounds:
        folder = tmp_path / f"runs-{rounds}"
        kill_until_done(words(folder), seconds, count, draw, tmp_path)
        for whole in (tmp_path / "whole").iterdir():
            if whole.is_dir():
                here, there = content(folder / whole.name), content(whole)
                assert here.pop("result.json") and there.pop("result.json")  # it has the seconds
                assert here == there
        a, b = ((place / "runs.jsonl").read_text() for place in (folder, tmp_path / "whole"))
        assert line_of(a) == line_of(b)
        rounds += 1
    count.note = f"{rounds} comparisons ended with the same bits"


def test_reproduce(tmp_path, part):
    (tmp_path / "killed.toml").write_text(EXPERIMENT)

    def words(name):
        own = ["--results", tmp_path / name / "results", "--runs", tmp_path / name / "runs", "--jobs", "1"]
        return ["reproduce", tmp_path / "killed.toml", *own]

    seconds = timed(words("whole"), tmp_path)
    count, draw = part("kill -9 of `reproduce`", 15, 0.057), random.Random(2)
    rounds = 0
    while count.on or not rounds:
        kill_until_done(words(str(rounds)), seconds, count, draw, tmp_path)
        a, b = ((tmp_path / name / "results/killed/runs.jsonl").read_text() for name in (str(rounds), "whole"))
        assert line_of(a) == line_of(b)
        for whole in (tmp_path / "whole/runs/killed").iterdir():
            here, there = content(tmp_path / str(rounds) / "runs/killed" / whole.name), content(whole)
            assert here.pop("result.json") and there.pop("result.json")
            assert here == there
        rounds += 1
    count.note = f"{rounds} experiments ended with the same lines and bits"
