"""Experiments: TOML in, missing runs made, tables and figures out."""

import dataclasses
import json
import math
import multiprocessing
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from distpu import Naive, datasets, metrics
from distpu.cli import app
from distpu.datasets.draw import draw_pu
from distpu.files.lock import lock
from distpu.study import experiment as experiments
from distpu.study import figures, reproduce, tables
from distpu.study import runs as bench
from distpu.study.experiment import Cell
from distpu.study.tables import Figure
from distpu.train.run import Run
from terminal import distpu

REPOSITORY = Path(__file__).parents[1] / "experiments"
TINY = """
title = "A tiny comparison"
show = "comparison"
seeds = 2
keeps = ["last", "oracle", "pu"]
against = "nnpu"

[settings.digits]
batch_size = 64

[[cells]]
method = "naive"
dataset = "digits"
settings = { epochs = 2 }
published = { accuracy = [70.0, 2.0], auc = [90.0, 1.0] }

[[cells]]
method = "nnpu"
label = "nnPU"
datasets = ["digits"]
[cells.digits]
settings = { epochs = 3, lr = 1e-3 }
"""


def run(folder, *arguments):
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--results", str(folder / "results"), "--runs",
                                    str(folder / "runs"), "--jobs", "1"])  # fmt: skip
    assert done.exit_code == 0, done.output
    return done


def lines_in(folder, name="tiny"):
    return [json.loads(line) for line in (folder / "results" / name / "runs.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    (folder / "tiny.toml").write_text(TINY)
    return folder, run(folder, str(folder / "tiny.toml"))


def test_every_run_and_kept_epoch_has_a_line(made):
    folder, done = made
    lines = lines_in(folder)
    found = {(line["method"], line["seed"], line["keep"]) for line in lines}
    assert found == {(m, s, k) for m in ("naive", "nnpu") for s in (0, 1) for k in ("last", "oracle", "pu")}
    for line in lines:
        assert line["experiment"] == "tiny"
        assert line["dataset"] == "digits"
        assert all(0 <= line[metric] <= 1 for metric in experiments.METRICS)
        assert {"settings", "versions", "device", "seconds"} <= set(line)
        assert "variant" not in line
    by = {(line["method"], line["seed"], line["keep"]): line for line in lines}
    for method, epochs in (("naive", 2), ("nnpu", 3)):
        assert by[method, 0, "oracle"]["accuracy"] >= by[method, 0, "last"]["accuracy"]
        assert 1 <= by[method, 0, "pu"]["epoch"] <= by[method, 0, "pu"]["epochs"] == epochs
        held_out = by[method, 0, "last"]["settings"]["labelled"] - by[method, 0, "pu"]["settings"]["labelled"]
        assert held_out == 10  # of 100: the run that chooses its epoch learns from fewer rows
    assert "naive" in done.output
    assert "70.00±2.00" in done.output
    assert max(map(len, done.stdout.splitlines()[1:-1])) <= 80


def test_a_second_time_nothing_is_made_and_a_lost_line_is(made):
    folder, _ = made
    again = run(folder, str(folder / "tiny.toml"), "--seeds", "1")
    assert "nothing to make, 4 runs in" in again.output
    assert "±" not in again.output.split("deviation")[1].split("nnPU")[0].split("naive")[1].split()[0]  # one seed's
    path = folder / "results/tiny/runs.jsonl"
    text = path.read_text()
    path.write_text("".join(line for line in text.splitlines(True) if '"nnpu"' not in line or '"seed": 1' not in line))
    more = run(folder, str(folder / "tiny.toml"))
    assert (
        "2 runs to make" in more.output
    )  # the plain run and the one with held-out rows; their folders still know them
    assert sorted(path.read_text().splitlines()) == sorted(text.splitlines())


def test_fresh_runs_stand_beside_the_kept_ones_and_leave_them(made):
    folder, _ = made
    path = folder / "results/tiny/runs.jsonl"
    before = path.read_bytes()
    for _ in range(2):
        done = run(folder, str(folder / "tiny.toml"), "--only", "nnpu:digits", "--seeds", "1", "--fresh")
        assert "2 runs to make" in done.output
        assert "deviation, made now" in done.output
        now, kept = done.output.split("deviation, kept in")
        assert now.split("nnPU")[1].split()[:2] == kept.split("nnPU")[1].split()[:2]  # the same seed, the same bits
    assert path.read_bytes() == before


def test_show_makes_no_run(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    done = run(tmp_path, str(tmp_path / "tiny.toml"), "--show")
    assert "to make" not in done.output
    assert "**Missing:** 8 runs" in (tmp_path / "results/tiny/README.md").read_text()
    asked = CliRunner().invoke(app, ["reproduce", "tiny", "--show", "--fresh"])
    assert "give one of them" in str(asked.exception)


def test_what_there_is_is_shown_first_and_data_that_is_missing_stops_no_other(made, tmp_path):
    folder, _ = made
    shutil.copytree(folder / "results", tmp_path / "results")
    more = TINY.replace("seeds = 2", "seeds = 3").replace('keeps = ["last", "oracle", "pu"]', "")
    other = '\n[[cells]]\nmethod = "naive"\ndataset = "alzheimer"\nsettings = { epochs = 1 }\n'
    (tmp_path / "tiny.toml").write_text(more + other)
    arguments = [str(tmp_path / "tiny.toml"), "--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    ended = distpu("reproduce", *arguments, "--jobs", "1", "--data-root", str(tmp_path))
    assert ended.code == 2
    assert "3 runs on alzheimer: " in ended.err
    assert ended.err.count("not all runs could be made") == 1
    so_far, now = ended.out.split("deviation, so far")[1], ended.out.split("digits: test metrics")[-1]
    assert "nnPU (2)" in so_far
    assert "nnPU (2)" not in now
    assert {line["seed"] for line in lines_in(tmp_path)} == {0, 1, 2}


def test_runs_that_another_command_makes_are_no_failures_once_they_are_there(made, tmp_path, monkeypatch):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    there = experiments.known_lines(experiment, folder / "results")

    def busy(tasks, jobs):
        for task in tasks:
            if task.method == "naive":  # it is done elsewhere while this one waits
                experiments.keep_lines(experiment, tmp_path, [li for li in there if li["method"] == "naive"])
            yield task, "is being trained by another process"

    monkeypatch.setattr(bench, "compare", busy)
    lines, failed = reproduce.reproduce(experiment, experiment, 1, None, tmp_path, tmp_path / "runs")
    assert {line["method"] for line in lines} == {"naive"}
    assert len(failed) == 4
    assert all("nnpu" in text and "another process" in text for text in failed)


@pytest.mark.parametrize(
    ("passed", "made", "left", "jobs", "expected"),
    [(60, 1, 1, 2, 0), (10, 1, 11, 2, 50), (10, 2, 10, 2, 50), (30, 3, 3, 1, 30), (9, 3, 0, 2, 0)],
)
def test_the_time_left_knows_that_runs_go_side_by_side(passed, made, left, jobs, expected):
    assert reproduce.time_left(passed, made, left, jobs) == pytest.approx(expected)


@pytest.mark.parametrize("gpu", [False, True])
def test_hours_on_a_cpu_are_announced(gpu, monkeypatch, capsys):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    small, large = (SimpleNamespace(name=name, x=np.zeros((1, *shape))) for name, shape in
                    (("digits", (1, 8, 8)), ("cifar-10", (3, 32, 32))))  # fmt: skip
    reproduce._warn_of_hours([small])
    assert capsys.readouterr().err == ""
    reproduce._warn_of_hours([small, large])
    assert ("a run on cifar-10 takes hours" in capsys.readouterr().err) == (not gpu)


def test_a_killed_command_goes_on(tmp_path):
    (tmp_path / "tiny.toml").write_text(
        TINY.replace('keeps = ["last", "oracle", "pu"]', "").replace("epochs = 3", "epochs = 9")
    )
    where = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "1"]
    command = [sys.executable, "-m", "distpu", "reproduce", str(tmp_path / "tiny.toml"), *where]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for text in first.stderr:
        if text.startswith("1/4"):
            break
    first.kill()
    first.communicate()
    before = lines_in(tmp_path) if (tmp_path / "results/tiny/runs.jsonl").exists() else []
    assert len(before) < 4
    run(tmp_path, str(tmp_path / "tiny.toml"))
    lines = lines_in(tmp_path)
    assert {(line["method"], line["seed"]) for line in lines} == {(m, s) for m in ("naive", "nnpu") for s in (0, 1)}
    assert all(line in lines for line in before)


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_command_that_is_killed_takes_its_workers_with_it(how, tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY.replace("epochs = 2", "epochs = 2000"))
    where = ["--results", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), "--jobs", "2"]
    command = [sys.executable, "-m", "distpu", "reproduce", str(tmp_path / "tiny.toml"), *where]
    first = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (logs := list(tmp_path.glob("runs/tiny/digits-naive-seed*/metrics.jsonl"))):
        assert first.poll() is None
        time.sleep(0.1)
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
    while not list(tmp_path.glob("runs/tiny/digits-naive-seed*/metrics.jsonl")):
        assert first.poll() is None
        time.sleep(0.1)
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does: the command and its workers
    _, err = first.communicate(timeout=60)
    assert first.returncode == 130
    assert "goes on where it was" in err
    assert "Traceback" not in err
    started = {path.parent.name.rsplit("-", 1)[0] for path in tmp_path.glob("runs/tiny/*/config.json")}
    assert len(started) < 8, started
    for log in tmp_path.glob("runs/tiny/*/metrics.jsonl"):
        with lock(log.parent):
            pass


def test_a_worker_that_is_killed_is_a_run_that_failed(tmp_path):
    tasks = [
        bench.Task("naive", "digits", None, tmp_path / str(seed), seed, {"prior": "true"}, {"epochs": 2000})
        for seed in (0, 1)
    ]
    threading.Timer(0.5, _kill_the_children, [tmp_path]).start()
    ended = [result for _, result in bench.compare(tasks, 2)]
    assert len(ended) == 2
    assert all("was killed" in result and "--jobs 1" in result for result in ended)


def _kill_the_children(folder):
    while not list(folder.glob("*/metrics.jsonl")):
        time.sleep(0.1)
    for child in multiprocessing.active_children():
        child.kill()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace("\n", "x\n", 1), "runs.jsonl, line 1 is not a JSON object"),
        (lambda text: "<<<<<<< HEAD\n" + text, "line 1 is not a JSON object ('<<<<<<< HEAD')"),
        (lambda text: text + "3\n", "is not a JSON object ('3')"),
        (lambda text: text[:-20], "mend the line or delete it"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_and_nothing_is_lost(damage, message, made, tmp_path):
    path = tmp_path / "results/tiny/runs.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(damage((made[0] / "results/tiny/runs.jsonl").read_text()))
    before = path.read_bytes()
    arguments = [str(made[0] / "tiny.toml"), "--show", "--results", str(tmp_path / "results")]
    done = CliRunner().invoke(app, ["reproduce", *arguments])
    assert message in str(done.exception)
    assert path.read_bytes() == before


def test_blank_lines_do_no_harm_and_a_file_that_is_no_text_is_named(made, tmp_path):
    path = tmp_path / "runs.jsonl"
    text = (made[0] / "results/tiny/runs.jsonl").read_text()
    path.write_text(text.replace("\n", "\n\n"))
    assert experiments.read_lines(path) == lines_in(made[0])
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"runs.jsonl is not UTF-8 text"):
        experiments.read_lines(path)


def test_lines_that_fit_no_cell_any_more_are_set_aside_and_come_back(made, tmp_path):
    shutil.copytree(made[0] / "results", tmp_path / "results")
    toml, place = tmp_path / "tiny.toml", tmp_path / "results/tiny"
    before = (place / "runs.jsonl").read_text()
    toml.write_text(TINY.replace("epochs = 3", "epochs = 4"))
    for _ in range(2):
        run(tmp_path, str(toml), "--show")
        assert len(lines_in(tmp_path)) == 6
        aside = experiments.read_lines(place / "set-aside.jsonl")
        assert [line["method"] for line in aside] == ["nnpu"] * 6
    toml.write_text(TINY)
    run(tmp_path, str(toml), "--show")
    assert (place / "runs.jsonl").read_text() == before


def test_two_commands_at_once_keep_each_others_lines(made, tmp_path):
    tiny = experiments.read(str(made[0] / "tiny.toml"))
    lines = experiments.known_lines(tiny, made[0] / "results")
    naive, nnpu = ([line for line in lines if line["method"] == method] for method in ("naive", "nnpu"))
    assert experiments.keep_lines(tiny, tmp_path, naive) == naive
    assert experiments.keep_lines(tiny, tmp_path, nnpu) == lines  # it had read none of the others when it began
    assert experiments.known_lines(tiny, tmp_path) == lines
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: experiments.keep_lines(tiny, tmp_path / "many", [line]), 5 * lines))
    assert experiments.known_lines(tiny, tmp_path / "many") == lines


def test_lines_of_others_that_are_no_runs_are_let_be(made, tmp_path):
    (tmp_path / "else").mkdir()
    (tmp_path / "else/x.jsonl").write_text('{"a": 1}\n')
    assert experiments.known_lines(experiments.read(str(made[0] / "tiny.toml")), tmp_path) == []


def test_runs_of_another_protocol_are_no_runs_of_a_cell(made):
    tiny = experiments.read(str(made[0] / "tiny.toml"))
    line = next(line for line in lines_in(made[0]) if line["method"] == "nnpu" and line["keep"] == "last")
    assert experiments.fits(tiny, tiny.cells[1], line)
    for other in ({"labelled": 10}, {"labelled": 90}, {"scenario": "single-set"}):
        assert not experiments.fits(tiny, tiny.cells[1], {**line, "settings": {**line["settings"], **other}})
    held_out = next(line for line in lines_in(made[0]) if line["method"] == "nnpu" and line["keep"] == "pu")
    assert held_out["settings"]["labelled"] == 90
    assert experiments.fits(tiny, tiny.cells[1], held_out)


def test_a_setting_that_is_called_labelled_too_is_the_methods_own():
    cell = Cell("pulda", "digits", {"labelled": 8})
    tiny = dataclasses.replace(experiments.read(str(REPOSITORY / "table-2.toml")), cells=[cell])
    told = line(cell, prior_told=0.4)
    assert experiments.fits(tiny, cell, told)
    assert not experiments.fits(tiny, cell, {**told, "settings": {"labelled": 16}})


def test_other_settings_are_another_run(made, tmp_path):
    folder, _ = made
    changed = experiments.read(str(folder / "tiny.toml"))
    nnpu = changed.cells[1]
    line = next(line for line in lines_in(folder) if line["method"] == "nnpu")
    assert experiments.fits(changed, nnpu, line)
    for other in (
        Cell("nnpu", "digits", {**nnpu.settings, "lr": 2e-3}),
        Cell("nnpu", "digits", {}),
        Cell("upu", "digits", nnpu.settings),
        Cell("nnpu", "cifar-10", nnpu.settings),
        Cell("nnpu", "digits", nnpu.settings, prior=0.3),
    ):
        assert not experiments.fits(changed, other, line)
    assert experiments.fits(changed, Cell("nnpu", "digits", nnpu.settings, prior=line["true_prior"]), line)
    assert not experiments.fits(changed, nnpu, {**line, "prior_told": 0.3})  # the cell wants the true prior
    defaults = {**nnpu.settings, "beta": 0.0, "weight_decay": 5e-3}
    assert experiments.fits(changed, Cell("nnpu", "digits", defaults), line)  # told or left out, it is the same
    assert experiments.fits(changed, nnpu, {**line, "prior": 0.3})  # what a method then estimates is its own matter


def test_a_run_serves_every_experiment_that_wants_it(made, tmp_path):
    folder, _ = made
    (tmp_path / "curve.toml").write_text(
        TINY.replace("comparison", "prior-curves").replace('"nnpu"\nlabel', '"nnpu"\nvariant = "a"\nlabel')
    )
    experiment = experiments.read(str(tmp_path / "curve.toml"))
    lines = experiments.known_lines(experiment, folder / "results")
    assert experiments.missing(experiment, lines) == []
    nnpu = [line for line in lines if line["method"] == "nnpu" and line["keep"] == "last"]
    assert {(line["experiment"], line["variant"]) for line in nnpu} == {("curve", "a")}
    assert len(nnpu[0]["predicted_prior"]) == 3
    assert sum(nnpu[0]["wrong"]) <= nnpu[0]["training_rows"] == 901


def test_of_anothers_runs_it_takes_the_seeds_and_epochs_it_asks_for(made, tmp_path):
    folder, _ = made
    asked = TINY.replace("seeds = 2", "seeds = [1, 7]").replace('"last", "oracle", "pu"', '"last", "oracle"')
    (tmp_path / "other.toml").write_text(asked)
    experiment = experiments.read(str(tmp_path / "other.toml"))
    lines = experiments.known_lines(experiment, folder / "results")
    assert {(line["seed"], line["keep"]) for line in lines} == {(1, "last"), (1, "oracle")}
    assert {run.seed for run in experiments.missing(experiment, lines)} == {7}


def test_a_method_that_chooses_its_epoch_by_itself_gets_no_second_run(tmp_path):
    for held_out, runs in ((0.1, 2), (0.0, 4)):
        text = TINY.replace('"naive"', '"vpu"').replace("epochs = 2", f"epochs = 2, held_out = {held_out}")
        (tmp_path / "vpu.toml").write_text(text)
        experiment = experiments.read(str(tmp_path / "vpu.toml"))
        assert len([run for run in experiments.wanted(experiment) if run.cell.method == "vpu"]) == runs


def test_a_changed_default_makes_no_old_line_its_own(made, monkeypatch):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    lines = lines_in(folder)
    assert lines[0]["settings"]["lr"] == 5e-4  # told by nobody
    assert not experiments.missing(experiment, experiments.known_lines(experiment, folder / "results"))
    field = next(f for f in dataclasses.fields(Naive) if f.name == "lr")
    monkeypatch.setattr(field, "metadata", {**field.metadata, "paper": 1e-3})
    left = experiments.missing(experiment, experiments.known_lines(experiment, folder / "results"))
    assert {run.cell.method for run in left} == {"naive"}


def test_a_changed_setting_is_made_again(tmp_path):
    short = TINY.replace('keeps = ["last", "oracle", "pu"]', "").replace("seeds = 2", "seeds = 1")
    for epochs in (1, 2, 1):
        (tmp_path / "tiny.toml").write_text(short.replace("epochs = 2", f"epochs = {epochs}"))
        run(tmp_path, str(tmp_path / "tiny.toml"), "--only", "naive")
        assert [line["settings"]["epochs"] for line in lines_in(tmp_path)] == [epochs]
    assert len(list((tmp_path / "runs/tiny").iterdir())) == 2


def test_lines_of_seeds_that_the_file_no_longer_names_are_kept_and_not_counted(made, tmp_path):
    folder, _ = made
    shutil.copytree(folder / "results", tmp_path / "results")
    (tmp_path / "tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = [1, 2]"))
    done = run(tmp_path, str(tmp_path / "tiny.toml"), "--show")
    assert "nnPU (1)" in done.output
    assert "| nnPU (1) |" in (tmp_path / "results/tiny/table.md").read_text()
    assert {line["seed"] for line in lines_in(tmp_path)} == {0, 1}


def test_a_page_names_the_command_that_made_it(made):
    folder, _ = made
    assert f"`distpu reproduce {folder}/tiny.toml` makes" in (folder / "results/tiny/README.md").read_text()


@pytest.mark.parametrize("name", ["tiny", "from-other"])
def test_a_folder_copied_into_another_is_read_whole_and_counts(name, made, tmp_path):
    folder, _ = made
    shutil.copytree(folder / "results/tiny", tmp_path / "results/tiny" / name)
    (tmp_path / "tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = [1]"))
    older = [{**line, "seconds": -1.0} for line in lines_in(folder)]
    (tmp_path / "results/tiny/runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in older))
    run(tmp_path, str(tmp_path / "tiny.toml"), "--show")
    assert lines_in(tmp_path) == lines_in(folder)


def test_run_folders_below_the_results_are_no_results(made, tmp_path):
    folder, _ = made
    (tmp_path / "tiny.toml").write_text(TINY)
    shutil.copytree(folder / "results/tiny", tmp_path / "results/tiny")
    shutil.copytree(folder / "results/tiny", tmp_path / "results/xruns/fresh/results/tiny")
    torn = tmp_path / "results/xruns/tiny/metrics.jsonl"
    torn.parent.mkdir()
    torn.write_text('{"torn')
    path = tmp_path / "results/xruns/fresh/results/tiny/runs.jsonl"
    path.write_text(path.read_text().replace('"seconds": ', '"seconds": 1'))
    run(tmp_path, str(tmp_path / "tiny.toml"), "--show")
    assert lines_in(tmp_path) == lines_in(folder)


def test_a_wrapper_has_no_epoch_to_choose(tmp_path):
    text = TINY.replace('against = "nnpu"', "").split("[[cells]]")[0]
    text = (
        text.replace("[settings.digits]\nbatch_size = 64\n", "")
        + '[[cells]]\nmethod = "elkan-noto"\ndataset = "digits"\n'
    )
    (tmp_path / "tiny.toml").write_text(text)
    run(tmp_path, str(tmp_path / "tiny.toml"))
    assert [(line["keep"], line["settings"]["labelled"]) for line in lines_in(tmp_path)] == [("last", 100)] * 2
    assert "nothing to make" in run(tmp_path, str(tmp_path / "tiny.toml")).output


def test_failures_of_like_names_are_all_told(tmp_path, monkeypatch):
    cells = "".join(f'[[cells]]\nmethod = "naive"\ndataset = "digits"\nvariant = "{v}"\n' for v in ("a b", "a-b"))
    (tmp_path / "two.toml").write_text(f'title = "two"\nshow = "comparison"\nseeds = 1\n{cells}')
    experiment = experiments.read(str(tmp_path / "two.toml"))
    monkeypatch.setattr(bench, "compare", lambda tasks, jobs: ((task, "broken") for task in tasks))
    _, failed = reproduce.reproduce(experiment, experiment, 1, None, tmp_path, tmp_path / "runs")
    assert len(failed) == 2


def test_whoever_stops_reading_ends_the_workers_and_nobody_else(tmp_path):
    other = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    tasks = [
        bench.Task("naive", "digits", None, tmp_path / str(seed), seed, {"prior": "true"}, {"epochs": epochs})
        for seed, epochs in enumerate((1, 5000, 5000))
    ]
    ended = bench.compare(tasks, 2)
    next(ended)
    other.start()
    ended.close()
    assert multiprocessing.active_children() == [other]
    other.kill()
    other.join()


def test_runs_merge_by_copying_files(made, tmp_path):
    folder, _ = made
    lines = lines_in(folder)
    there = tmp_path / "results/tiny"
    there.mkdir(parents=True)
    (there / "from-a.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines if x["seed"] == 0))
    (there / "from-b.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines if x["seed"] == 1))
    experiment = experiments.read(str(folder / "tiny.toml"))
    assert experiments.known_lines(experiment, there.parent) == lines
    assert experiments.missing(experiment, lines) == []


def test_a_part_can_be_asked_for(made):
    folder, _ = made
    whole = experiments.read(str(folder / "tiny.toml"))
    part = whole.chosen("nnpu:digits", 1)
    assert [cell.method for cell in part.cells] == ["nnpu"]
    assert part.seeds == [0]
    assert len(whole.chosen("digits", None).cells) == 2
    with pytest.raises(ValueError, match="--only 'nnpuu' names nothing in tiny; did you mean 'nnpu'"):
        whole.chosen("nnpuu", None)


def test_the_results_folder_has_all_that_is_promised(made):
    folder = made[0] / "results/tiny"
    assert {path.name for path in folder.iterdir()} == {"README.md", "runs.jsonl", "table.csv", "table.md", "table.tex"}
    page = (folder / "README.md").read_text()
    for text in ("# A tiny comparison", "tiny.toml` makes", "## Ours, last epoch", "## Beside the paper", "torch",
                 "## Which epoch", "uses test labels", "70.00 ± 2.00", "paired t-test"):  # fmt: skip
        assert text in page
    assert "Missing" not in page
    assert (folder / "table.tex").read_text().count(r"\\") == 3
    rows = (folder / "table.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 3 * 6


def test_missing_runs_are_stated(made):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    lines = [line for line in lines_in(folder) if line["method"] == "naive"]
    page = tables.page(experiment, lines, [])
    assert "**Missing:** 4 runs (nnpu:digits seeds 0/1, nnpu:digits (keep pu) seeds 0/1)" in page


def test_a_row_on_few_seeds_says_on_how_many(made):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    lines = [line for line in lines_in(folder) if line["method"] == "naive" or line["seed"] == 0]
    page = tables.page(experiment, lines, [])
    assert "| naive |" in page
    assert "| nnPU (1) |" in page
    assert "(n): on n of 2 seeds so far." in page
    assert tables.beside_briefly(experiment, lines, "digits")[1][1][0] == "nnPU (1)"
    assert tables.few_seeds(experiment, lines_in(folder)) == ""


SEARCH = """
title = "A tiny search"
show = "search"
seeds = [100]

[[cells]]
method = "nnpu"
dataset = "digits"

[vary]
epochs = [1, 6]
"""


def test_a_search_looks_at_no_test_row(tmp_path, monkeypatch):
    def refused(*_):
        raise AssertionError("true labels were asked for")

    monkeypatch.setattr("distpu.metrics.evaluate", refused)
    (tmp_path / "tiny-search.toml").write_text(SEARCH)
    done = run(tmp_path, str(tmp_path / "tiny-search.toml"))
    lines = lines_in(tmp_path, "tiny-search")
    assert [line["variant"] for line in lines] == ["epochs=1", "epochs=6"]
    assert all(set(line).isdisjoint((*experiments.METRICS, "by_epoch")) for line in lines)
    assert lines[1]["pu_accuracy"] > lines[0]["pu_accuracy"]
    assert done.output.index("epochs=6") < done.output.index("epochs=1")  # the best first
    head = next(line for line in done.output.splitlines() if line.startswith("method"))
    assert head.split("  ")[-1].strip() == "variant"  # last, for it may be long and wraps there
    assert "no true label is looked at" in (tmp_path / "results/tiny-search/README.md").read_text()
    assert "nothing to make" in run(tmp_path, str(tmp_path / "tiny-search.toml")).output


def test_rows_that_lie_apart_judge_what_the_others_taught():
    data = datasets.load("digits")
    data = dataclasses.replace(data, apart=np.arange(len(data.x)) >= 700)
    settings = {"epochs": 2, "device": "cpu"}
    found = bench.judge("nnpu", data, folds_of="apart", seed=100, settings=settings, every_epoch=True)
    index, s = draw_pu(data.y, data.labelled, seed=100)
    prior, out = float(data.y[index][s == 0].mean()), index >= 700  # with the unlabelled copies of labelled rows
    classifier = bench.make("nnpu", {"prior": prior, "random_state": 100, **settings})
    z = classifier.fit(data.x[index][~out], s[~out]).decision_function(data.x[index][out])
    assert found["pu_accuracy"] == metrics.pu_accuracy(s[out], z, prior)
    assert found["folds"] == "apart"
    for name in ("pu_accuracy", "pu_auc"):
        (path,) = found["by_epoch"][name].values()  # nnPU has one stage
        assert len(path) == 2
        assert path[-1] == pytest.approx(found[name], abs=1e-4)

    with pytest.raises(ValueError, match="digits names none; give a number of folds"):
        bench.judge("nnpu", datasets.load("digits"), folds_of="apart", seed=100, settings=settings)


def test_an_epoch_is_chosen_on_the_rows_that_lie_apart(tmp_path):
    data = datasets.load("digits")
    data = dataclasses.replace(data, apart=np.arange(len(data.x)) >= 700)
    found = bench.simulate("nnpu", data, tmp_path / "run", held_out=10, settings={"epochs": 2, "device": "cpu"})
    index, s = draw_pu(data.y, data.labelled)
    assert found["settings"]["labelled"] == s[index < 700].sum()
    assert found["held_out"] == "apart"


@pytest.mark.parametrize("told", ['"halves"', "1", "2.0"])
def test_folds_that_cannot_be_are_refused(tmp_path, told):
    (tmp_path / "my.toml").write_text(f"folds = {told}\n" + SEARCH)
    with pytest.raises(ValueError, match="must be a number from 2 on, or 'apart'"):
        experiments.read(str(tmp_path / "my.toml"))


def test_folds_are_refused_outside_a_search(tmp_path):
    (tmp_path / "my.toml").write_text("folds = 3\n" + TINY)
    with pytest.raises(ValueError, match="belongs to show = 'search'"):
        experiments.read(str(tmp_path / "my.toml"))


def test_a_line_of_other_folds_is_another_run(tmp_path):
    (tmp_path / "tiny-search.toml").write_text(SEARCH)
    run(tmp_path, str(tmp_path / "tiny-search.toml"))
    (tmp_path / "tiny-search.toml").write_text("folds = 3\n" + SEARCH)
    again = experiments.read(str(tmp_path / "tiny-search.toml"))
    assert experiments.known_lines(again, tmp_path / "results") == []


MIXUPS = """
title = "Weights with Mixup"
seeds = [100]

[settings.digits]
warm_up_epochs = 2
epochs = 2

[[cells]]
method = "dist-pu"
dataset = "digits"

[[cells]]
method = "dist-pu"
dataset = "digits"
variant = "alpha 1"
settings = { alpha = 1.0 }

[[cells]]
method = "dist-pu"
dataset = "digits"
variant = "the warm-up alone"
settings = { epochs = 0 }

[[cells]]
method = "dist-pu"
dataset = "digits"
variant = "mu 0.1 in the warm-up"
settings = { warm_up_entropy = 0.1 }

[[cells]]
method = "dist-pu"
dataset = "digits"
variant = "no alignment"
settings = { alignment = false }

[[cells]]
method = "dist-pu"
dataset = "digits"
variant = "no alignment, no Mixup"
settings = { alignment = false, mixup = 0.0 }
"""


@pytest.mark.parametrize("kind, folds", [('show = "search"\nevery_epoch = true', 2), ('show = "ablation"', 1)])
def test_a_warm_up_that_variants_share_gives_the_same_bits(tmp_path, monkeypatch, kind, folds):
    """tools/shared_warm_up.py, with which a search on Alzheimer and most of the ablation were made."""
    (tmp_path / "mixups.toml").write_text(kind + MIXUPS)
    run(tmp_path / "plain", str(tmp_path / "mixups.toml"))
    stages, train = [], Run.epochs

    def noted(self, stage, *rest):
        stages.append(stage)
        return train(self, stage, *rest)

    monkeypatch.setattr(Run, "epochs", noted)
    tool = runpy.run_path(str(REPOSITORY.parent / "tools/shared_warm_up.py"))
    monkeypatch.setattr(Run, "epochs", tool["epochs"])
    run(tmp_path / "shared", str(tmp_path / "mixups.toml"))
    assert stages.count("warm-up") == 3 * folds  # the first three variants share one, the last two, and one has its own
    assert stages.count("mixup") == 6 * folds
    plain, shared = (lines_in(tmp_path / place, "mixups") for place in ("plain", "shared"))
    for line in (*plain, *shared):
        del line["seconds"]
    assert plain == shared


def test_a_search_keeps_every_epoch_where_it_is_asked_to(tmp_path):
    (tmp_path / "tiny-search.toml").write_text("every_epoch = true\n" + SEARCH)
    run(tmp_path, str(tmp_path / "tiny-search.toml"))
    paths = [line["by_epoch"]["pu_auc"] for line in lines_in(tmp_path, "tiny-search")]
    assert [[*map(len, path.values())] for path in paths] == [[1], [6]]


# ------------------------------------------------------------------ the tables


def test_a_mean_its_deviation_and_the_papers():
    ours = Figure({0: 90.0, 1: 92.0, 2: 91.0})
    assert str(ours) == "91.00 ± 1.00"
    difference, within = tables.versus(ours, [92.0, 0.5])  # error: sqrt(1/3 + 0.25/5) = 0.619
    assert difference == -1.0
    assert within
    assert tables.versus(ours, [92.3, 0.5])[1] is False
    assert tables.versus(Figure({0: 90.0}), [92.0, 0.5]) == (-2.0, None)


@pytest.mark.parametrize(
    "other, sign",
    [
        ({0: 80.0, 1: 81.1, 2: 82.0, 3: 83.2}, "✓"),
        ({0: 99.0, 1: 99.1, 2: 99.3, 3: 99.4}, "✗"),
        ({0: 91.0, 1: 89.0, 2: 92.5, 3: 91.0}, ""),
        ({0: 89.0, 1: 90.0, 2: 91.0, 3: 92.0}, "✓"),  # by exactly 1 each time
        ({0: 90.0, 1: 91.0, 2: 92.0, 3: 93.0}, ""),
        ({7: 10.0}, ""),  # no seed in common
    ],
)
def test_significance_is_paired_by_seed(other, sign):
    assert tables.mark(Figure({0: 90.0, 1: 91.0, 2: 92.0, 3: 93.0}), Figure(other)) == sign


def test_best_and_second_best_share_their_places():
    figures_ = [Figure({0: 1.0}), None, Figure({0: 3.0}), Figure({0: 3.0}), Figure({0: 2.0})]
    assert tables.best(figures_) == ({2, 3}, {4})
    assert tables.best([None, Figure({0: 3.0})]) == (set(), set())  # the only one is not the best


# -------------------------------------------------------------------- figures


def line(cell, seed=0, **more):
    metrics = dict.fromkeys(experiments.METRICS, 0.5 + 0.01 * seed)
    head = {"dataset": cell.dataset, "method": cell.method, "variant": cell.variant, "seed": seed, "keep": "last"}
    return {**head, **metrics, "seconds": 1.0, "true_prior": 0.4, "prior": 0.4, "settings": cell.settings, **more}


@pytest.mark.parametrize(
    "name",
    ["figure-1", "figure-3", "figure-4", "figure-5", "figure-6", "prior-sensitivity", "prior-fashion-mnist", "bound"],
)
def test_every_figure_can_be_drawn(name, tmp_path):
    experiment = experiments.read(str(REPOSITORY / f"{name}.toml"))
    extra = {
        "prior-curves": {"predicted_prior": [0.5, 0.4, 0.3]},
        "wrong-scores": {"wrong": [3] * 20, "training_rows": 90},
    }
    lines = [line(cell, seed, **extra.get(experiment.show, {})) for cell in experiment.cells for seed in (0, 1)]
    reproduce.write(experiment, lines, tmp_path)
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert (tmp_path / name / f"figure.{kind}").read_bytes().startswith(start)
    assert "![figure.png](figure.png)" in (tmp_path / name / "README.md").read_text()


def test_a_setting_that_is_a_word_can_vary(tmp_path):
    text = TINY.replace("comparison", "lines") + '\n[vary]\nsampling = ["mixed", "stratified"]\n'
    (tmp_path / "words.toml").write_text(text)
    experiment = experiments.read(str(tmp_path / "words.toml"))
    assert [cell.variant for cell in experiment.cells][:2] == ["sampling=mixed", "sampling=stratified"]
    lines = [line(cell, seed) for cell in experiment.cells for seed in (0, 1)]
    assert figures.draw(experiment, lines, tmp_path) == ["figure.png"]
    assert set(figures.FIGURES) < set(experiments.SHOWS)


def test_figures_without_lines_are_not_drawn(tmp_path):
    assert figures.draw(experiments.read(str(REPOSITORY / "figure-1.toml")), [], tmp_path) == []


def test_the_bound_of_the_proposition():
    e = math.sqrt(math.log(4 / 0.05) / (2 * 100))
    by_hand = 2 * 0.1 + 8 * 0.4 * math.sqrt(5 / 100) + 12 * 0.4 * e + 4 * math.sqrt(5 / 400) + 6 * e / 2
    assert figures.bound(0.1, 0.4, 100, 400, vc=5, delta=0.05) == pytest.approx(by_hand)
    gaps = figures.bound(0.0, 0.4, np.array([100, 10_000]), 400, vc=5, delta=0.05)
    assert gaps[1] < gaps[0]


# ------------------------------------------------------------- the repository's


def test_the_experiments_of_the_paper_are_whole():
    table = experiments.read(str(REPOSITORY / "table-2.toml"))
    assert len(table.cells) == 33
    assert all(set(cell.published) == set(experiments.METRICS) for cell in table.cells)
    cell = next(cell for cell in table.cells if cell.key == ("alzheimer", "vpu", ""))
    assert cell.published["recall"] == [76.68, 3.60]
    assert cell.settings["batch_size"] == 128
    assert len(experiments.read(str(REPOSITORY / "table-3.toml")).cells) == 8
    assert len(experiments.read(str(REPOSITORY / "figure-6.toml")).cells) == 9


def test_a_grid_sets_what_it_names():
    cells = experiments.read(str(REPOSITORY / "figure-4.toml")).cells
    assert [cell.variant for cell in cells][:3] == ["entropy=0", "entropy=0.004", "entropy=0.02"]
    assert cells[1].settings["warm_up_entropy"] == cells[1].settings["entropy"] == 0.004
    priors = experiments.read(str(REPOSITORY / "prior-sensitivity.toml")).cells
    assert priors[0].prior == 0.2
    assert "prior" not in priors[0].settings


@pytest.mark.parametrize(
    "change, message",
    [
        (("title = ", "# title = "), "has no 'title' where one is needed"),
        (("epochs = 2", "epoch = 2"), "naive has no setting 'epoch'; did you mean 'epochs'?"),
        (('method = "naive"', 'method = "naiv"'), "method 'naiv' is not known; did you mean 'naive'?"),
        (("seeds = 2", "seeds = "), "is not valid TOML"),
        (('"comparison"', '"comparisons"'), "show = 'comparisons' is not known; did you mean 'comparison'?"),
        (('"oracle"', '"orakle"'), "keeps = 'orakle' is not known; did you mean 'oracle'?"),
        (("seeds = 2", "seeds = 0"), "seeds = 0 must be a number from 1 on"),
        (("seeds = 2", 'seeds = "2"'), "seeds = '2' must be a number from 1 on"),
        (("seeds = 2", "seed = 2"), "an experiment has no key 'seed'; did you mean 'seeds'?"),
        (("settings = { epochs = 2 }", "setting = { epochs = 2 }"), "no key 'setting'; did you mean 'settings'?"),
        (("[settings.digits]", "[settings.digit]"), "settings has no key 'digit'; did you mean 'digits'?"),
        (("settings = { epochs = 2 }", "digits.epochs = 2"), "cells.digits has no key 'epochs'"),
        (("seeds = 2", "vary = { epochs = 3 }"), "vary has epochs = 3; it must be a list"),
        (('["last", "oracle", "pu"]', '"last"'), "an experiment has keeps = 'last'; it must be a list"),
        (('dataset = "digits"', 'datasets = "digits"'), "a cell has datasets = 'digits'; it must be a list"),
        (("[[cells]]", "[[cell]]"), "an experiment has no key 'cell'; did you mean 'cells'?"),
        (("settings = { epochs = 2 }", "settings = 2"), "a cell has settings = 2; it must be a table"),
        (("seeds = 2", "every_epoch = true"), "every_epoch = True belongs to show = 'search', this is 'comparison'"),
    ],
)
def test_a_wrong_file_is_told_what_is_wrong(change, message, tmp_path):
    (tmp_path / "wrong.toml").write_text(TINY.replace(*change))
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        experiments.read(str(tmp_path / "wrong.toml"))


def test_a_figure_over_a_setting_has_one_data_set(tmp_path):
    text = 'title = "t"\nshow = "lines"\n[[cells]]\nmethod = "naive"\n{}\n[vary]\nepochs = [1, 2]\n'
    (tmp_path / "t.toml").write_text(text.format('datasets = ["digits", "breast-cancer"]'))
    with pytest.raises(ValueError, match="'lines' draws one data set, this has breast-cancer, digits"):
        experiments.read(str(tmp_path / "t.toml"))
    (tmp_path / "t.toml").write_text(text.format('dataset = ["digits"]'))
    with pytest.raises(ValueError, match=r"dataset = \['digits'\]; it must be a text"):
        experiments.read(str(tmp_path / "t.toml"))


def test_cells_are_a_list_and_there_are_some(tmp_path):
    """[cells] for [[cells]], and a file that ends before them: no table without a row."""
    head, cell = 'title = "t"\nshow = "comparison"\n', 'method = "naive"\ndataset = "digits"\n'
    for text, message in ((head + "[cells]\n" + cell, "it must be a list"), (head, "has no 'cells' where")):
        (tmp_path / "wrong.toml").write_text(text)
        with pytest.raises(ValueError, match=message):
            experiments.read(str(tmp_path / "wrong.toml"))


NAIVE = '[[cells]]\nmethod = "naive"\ndataset = "digits"\n'


@pytest.mark.parametrize(
    ("show", "text", "message"),
    [
        ("comparison", NAIVE + NAIVE, "two cells are naive on digits and would share their lines; give each"),
        ("comparison", NAIVE + "settings = { prior = 0.2 }", "has prior among its settings; that is for prior = ..."),
        ("comparison", NAIVE + "settings = { random_state = 7 }", "has random_state among its settings; that is for"),
        ("comparison", NAIVE + 'prior = "half"', "prior = 'half'; it must be 'true', 'auto' or lie between 0 and 1"),
        ("comparison", NAIVE + "prior = 2", "prior = 2; it must be"),
        ("comparison", NAIVE + "prior = [0.2]", "prior = [0.2]; it must be"),
        ("comparison", NAIVE + "published = { acc = [90.0, 1.0] }", "published 'acc'; did you mean 'auc'? (one of"),
        ("comparison", NAIVE + "published = { accuracy = 90 }", "accuracy = 90; it must be [mean, deviation]"),
        ("comparison", NAIVE + "published = { accuracy = [90] }", "accuracy = [90]; it must be [mean, deviation]"),
        ("comparison", NAIVE.replace("digits", "digit"), "data set 'digit' is not known; did you mean 'digits'?"),
        ("comparison", "cells = [1]", "cells has 1; it must hold tables, [[cells]]"),
        ("comparison", "cells = []", "there are no cells; name a method and a data set"),
        ("comparison", 'against = "nope"\n' + NAIVE, "against = 'nope' is not among the methods here"),
        ("comparison", "seeds = true\n" + NAIVE, "seeds = True must be a number"),
        ("comparison", "seeds = [0, 0]\n" + NAIVE, "seeds = [0, 0] names one twice"),
        ("comparison", "settings = { digits = 3 }\n" + NAIVE, "settings has digits = 3; it must be a table"),
        ("lines", NAIVE, "show = 'lines' needs one setting or more under [vary]"),
        ("lines", NAIVE + "[vary]\nlr = []", "there are no cells"),
        ("heatmap", NAIVE + "[vary]\nlr = [0.1]", "show = 'heatmap' needs two settings under [vary]"),
        ("heatmap", 'axes = ["a"]\n' + NAIVE + "[vary]\nlr = [0.1]\nepochs = [1]", "axes = ['a'] must hold two names"),
        ("wrong-scores", NAIVE, "show = 'wrong-scores' needs two cells"),
        ("prior-curves", "panels = [1, 2]\n" + NAIVE, "panels = [1, 2] must hold two lists of methods"),
        ("bound", "vc = 10", "show = 'bound' needs prior, vc, delta"),
        ("search", NAIVE.replace("naive", "bagging-pu"), "show = 'search' needs methods that train networks"),
    ],
)
def test_what_would_fail_after_the_runs_is_refused_before_them(show, text, message, tmp_path):
    (tmp_path / "wrong.toml").write_text(f'title = "t"\nshow = "{show}"\n{text}\n')
    with pytest.raises(ValueError, match=re.escape(message)):
        experiments.read(str(tmp_path / "wrong.toml"))


def test_values_that_differ_little_are_two_cells(tmp_path):
    text = f'title = "t"\nshow = "lines"\n{NAIVE}[vary]\nlr = [0.00012345678, 0.00012345679, 0.001]\n'
    (tmp_path / "near.toml").write_text(text)
    cells = experiments.read(str(tmp_path / "near.toml")).cells
    assert [cell.variant for cell in cells] == ["lr=0.00012345678", "lr=0.00012345679", "lr=0.001"]


def test_a_part_of_what_has_no_runs_is_refused():
    with pytest.raises(ValueError, match="names nothing in bound.*it has no runs; leave --only out"):
        experiments.read("bound").chosen("nnpu", None)


def test_names_are_written_as_latex_wants_them():
    cell = Cell("naive", "digits", {}, label="B & SVM_1 #2, 5 %")
    tiny = dataclasses.replace(experiments.read("table-2"), cells=[cell], options={})
    row = tables.table_latex(tiny, [line(cell)]).splitlines()[4]
    assert row.startswith(r"digits & B \& SVM\_1 \#2, 5 \% (1) & ")
    assert row.replace(r"\&", "").count("&") == 7
    odd = dataclasses.replace(cell, label=r"(TED)^n ~$x{1} a|b <\c")
    row = tables.table_latex(dataclasses.replace(tiny, cells=[odd]), [line(odd)]).splitlines()[4]
    assert row.startswith(
        r"digits & (TED)\textasciicircum{}n \textasciitilde{}\$x\{1\} a$|$b $<$\textbackslash{}c (1) & "
    )
    bars = tables.table_markdown(dataclasses.replace(tiny, cells=[odd]), [line(odd)]).splitlines()[4]
    assert bars.replace(r"\|", "").count("|") == 8


def test_a_fresh_run_that_was_stopped_goes_on(made, monkeypatch):
    folder, asked = made[0], [str(made[0] / "tiny.toml"), "--only", "naive", "--seeds", "1", "--fresh"]
    with monkeypatch.context() as patched:
        patched.setattr(reproduce.experiments, "lines_of", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        where = ["--results", str(folder / "results"), "--runs", str(folder / "runs"), "--jobs", "1"]
        CliRunner().invoke(app, ["reproduce", *asked, *where])
    results = list((folder / "runs/fresh").glob("*/tiny/digits-naive-seed0-*/result.json"))
    assert len(results) == 1
    before = results[0].stat().st_mtime_ns
    run(folder, *asked)
    assert results[0].stat().st_mtime_ns == before  # not made again
    run(folder, *asked)
    assert results[0].stat().st_mtime_ns > before  # now it is


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match="no experiment 'table2'; did you mean 'table-2'"):
        experiments.read("table2")


def test_the_list_says_what_is_done():
    done = CliRunner().invoke(app, ["reproduce"])
    assert done.exit_code == 0
    for name in ("table-2", "table-3", "figure-1", "figure-6", "prior-sensitivity", "bound", "extra"):
        assert name in done.output
