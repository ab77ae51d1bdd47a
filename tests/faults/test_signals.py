"""Signals, a stopped and continued process, two processes on one folder, a folder that goes away."""

import os
import random
import shutil
import signal
import time

import pytest

from faults.conftest import METHODS, assert_one_line, assert_same, fit
from faults.forked import Started, run, slept

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def wholes(table, tmp_path_factory):
    """A run of each method that nothing disturbs, and how long it takes."""
    place, seconds = tmp_path_factory.mktemp("wholes"), {}
    run("--version", place=place)  # the first process waits until the forking one has imported everything
    for method in METHODS:
        start = time.monotonic()
        assert run(*fit(method, table, place / method), place=place).code == 0
        seconds[method] = time.monotonic() - start
    return place, seconds


def finished(method, table, folder, wholes, place):
    ended = run(*fit(method, table, folder), place=place)
    assert ended.code == 0, ended.err
    assert_same(folder, wholes[0] / method)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_ends_it_without_a_traceback(name, table, wholes, tmp_path, part):
    count, draw = part(f"{name} at a random moment of `fit`", 12, 0.021), random.Random(name)
    number, hit = getattr(signal, name), 0
    while count.on:
        method = list(METHODS)[count.tried % len(METHODS)]
        process = Started(*fit(method, table, tmp_path / "run"), place=tmp_path)
        slept(draw.uniform(0, wholes[1][method]))
        process.signal(number)
        ended = process.ended()
        assert ended.code in ((0, 130, -number) if number == signal.SIGINT else (0, -number)), ended
        assert "Traceback" not in ended.err and ended.err.count("\n") <= 1, ended.err
        hit += ended.code != 0
        count.note = f"{hit} were ended by it, the others had written all"
        finished(method, table, tmp_path / "run", wholes, tmp_path)
        count.tried += 1


def test_a_stopped_process_goes_on(table, wholes, tmp_path, part):
    count, draw = part("SIGSTOP and SIGCONT of `fit`", 8, 0.014), random.Random(0)
    while count.on:
        method = list(METHODS)[count.tried % len(METHODS)]
        process = Started(*fit(method, table, tmp_path / "run"), place=tmp_path)
        slept(draw.uniform(0, wholes[1][method]))
        process.signal(signal.SIGSTOP)
        slept(0.2)
        process.signal(signal.SIGCONT)
        assert process.ended().code == 0
        finished(method, table, tmp_path / "run", wholes, tmp_path)
        count.tried += 1


def test_two_processes_on_one_folder(table, wholes, tmp_path, part):
    """One of them trains. The other one is refused, or finds the run finished."""
    count, draw = part("two `fit` on one folder", 8, 0.021), random.Random(0)
    refused = 0
    while count.on:
        method = list(METHODS)[count.tried % len(METHODS)]
        first = Started(*fit(method, table, tmp_path / "run"), place=tmp_path)
        slept(draw.uniform(0, 0.5 * wholes[1][method]))
        second = Started(*fit(method, table, tmp_path / "run"), place=tmp_path)
        ends = [first.ended(), second.ended()]
        assert 0 in [end.code for end in ends], ends
        for end in ends:
            if end.code:
                assert_one_line(end.err)
                assert end.code == 2 and "is being trained by another process" in end.err, end.err
                refused += 1
        finished(method, table, tmp_path / "run", wholes, tmp_path)
        count.tried += 1
    count.note = f"{refused} were refused in one line"


def test_two_predict_into_one_file(table, wholes, tmp_path, part):
    words = ["predict", wholes[0] / "nnpu", table, "--out", tmp_path / "out.csv"]
    assert run(*words, place=tmp_path).code == 0
    whole = (tmp_path / "out.csv").read_bytes()
    count = part("two `predict` into one file", 8, 0.014)
    while count.on:
        (tmp_path / "out.csv").unlink()
        both = [Started(*words, place=tmp_path) for _ in range(2)]
        ends = [one.ended() for one in both]
        assert 0 in [end.code for end in ends]
        for end in ends:
            assert end.code == 0 or "is being written by another process" in end.err, end.err
        assert (tmp_path / "out.csv").read_bytes() == whole and not list(tmp_path.glob(".out*"))
        count.tried += 1


def test_a_folder_that_is_removed(table, wholes, tmp_path, part):
    count, draw = part("the run folder removed while `fit` runs", 12, 0.021), random.Random(0)
    told = 0
    while count.on:
        method = list(METHODS)[count.tried % len(METHODS)]
        process = Started(*fit(method, table, tmp_path / "run"), place=tmp_path)
        slept(draw.uniform(0, wholes[1][method]))
        if (tmp_path / "run").exists():
            os.rename(tmp_path / "run", tmp_path / "gone")
        ended = process.ended()
        if ended.code:
            assert ended.code == 2
            assert_one_line(ended.err)
            told += 1
        shutil.rmtree(tmp_path / "gone", ignore_errors=True)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        finished(method, table, tmp_path / "run", wholes, tmp_path)
        count.tried += 1
    count.note = f"{told} ended in one line; the others had written all"
