"""Experiments as a whole: TOML in, missing runs made, tables and pages out."""

import shutil
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from distpu.cli import app
from distpu.metrics import METRICS
from distpu.study import experiment as experiments
from distpu.study import reproduce
from distpu.study.ledger import Ledger
from distpu.study.places import Results
from distpu.study.pool import Pool
from study.tiny import SEARCH, TINY, known, lines_in, run
from terminal import distpu


def test_every_run_and_kept_epoch_has_a_line(made):
    folder, done = made
    lines = lines_in(folder)
    found = {(line["method"], line["seed"], line["keep"]) for line in lines}
    assert found == {(m, s, k) for m in ("naive", "nnpu") for s in (0, 1) for k in ("last", "oracle", "pu")}
    for line in lines:
        assert line["experiment"] == "tiny"
        assert line["dataset"] == "digits"
        assert all(0 <= line[metric] <= 1 for metric in METRICS)
        assert {"settings", "versions", "device", "seconds"} <= set(line)
        assert "variant" not in line
    by = {(line["method"], line["seed"], line["keep"]): line for line in lines}
    for method, epochs in (("naive", 2), ("nnpu", 3)):
        assert by[method, 0, "oracle"]["accuracy"] >= by[method, 0, "last"]["accuracy"]
        assert 1 <= by[method, 0, "pu"]["epoch"] <= by[method, 0, "pu"]["epochs"] == epochs
        held_out = by[method, 0, "last"]["labelled"] - by[method, 0, "pu"]["labelled"]
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
    there = known(experiment, folder / "results")

    def busy(self, tasks):
        for task in tasks:
            if task.cell.method == "naive":  # it is done elsewhere while this one waits
                Ledger(tmp_path, "tiny").keep([line for line in there if line.method == "naive"])
            yield task, "is being trained by another process"

    monkeypatch.setattr(Pool, "run", busy)
    lines, failed = reproduce.reproduce(experiment, experiment, 1, None, Results(tmp_path), tmp_path / "runs")
    assert {line.method for line in lines} == {"naive"}
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
    stop = threading.Timer(60, first.kill)  # a command that says nothing must not hang the suite
    stop.start()
    said = next((text for text in first.stderr if text.startswith("1/4")), None)
    stop.cancel()
    first.kill()
    assert said is not None
    first.communicate()
    before = lines_in(tmp_path) if (tmp_path / "results/tiny/runs.jsonl").exists() else []
    assert len(before) < 4
    run(tmp_path, str(tmp_path / "tiny.toml"))
    lines = lines_in(tmp_path)
    assert {(line["method"], line["seed"]) for line in lines} == {(m, s) for m in ("naive", "nnpu") for s in (0, 1)}
    assert all(line in lines for line in before)


def test_a_method_that_chooses_its_epoch_by_itself_gets_no_second_run(tmp_path):
    for held_out, runs in ((0.1, 2), (0.0, 4)):
        text = TINY.replace('"naive"', '"vpu"').replace("epochs = 2", f"epochs = 2, held_out = {held_out}")
        (tmp_path / "vpu.toml").write_text(text)
        experiment = experiments.read(str(tmp_path / "vpu.toml"))
        assert len([run for run in reproduce.wanted(experiment) if run.cell.method == "vpu"]) == runs


def test_a_changed_setting_is_made_again(tmp_path):
    short = TINY.replace('keeps = ["last", "oracle", "pu"]', "").replace("seeds = 2", "seeds = 1")
    for epochs in (1, 2, 1):
        (tmp_path / "tiny.toml").write_text(short.replace("epochs = 2", f"epochs = {epochs}"))
        run(tmp_path, str(tmp_path / "tiny.toml"), "--only", "naive")
        assert epochs in [line["settings"]["epochs"] for line in lines_in(tmp_path)]
    assert len(list((tmp_path / "runs/tiny").iterdir())) == 2


def test_a_page_names_the_command_that_made_it(made):
    folder, _ = made
    assert f"`distpu reproduce {folder}/tiny.toml` makes" in (folder / "results/tiny/README.md").read_text()


def test_a_wrapper_has_no_epoch_to_choose(tmp_path):
    text = TINY.replace('against = "nnpu"', "").split("[[cells]]")[0]
    text = (
        text.replace("[settings.digits]\nbatch_size = 64\n", "")
        + '[[cells]]\nmethod = "elkan-noto"\ndataset = "digits"\n'
    )
    (tmp_path / "tiny.toml").write_text(text)
    run(tmp_path, str(tmp_path / "tiny.toml"))
    assert [(line["keep"], line["labelled"]) for line in lines_in(tmp_path)] == [("last", 100)] * 2
    assert "nothing to make" in run(tmp_path, str(tmp_path / "tiny.toml")).output


def test_failures_of_like_names_are_all_told(tmp_path, monkeypatch):
    cells = "".join(f'[[cells]]\nmethod = "naive"\ndataset = "digits"\nvariant = "{v}"\n' for v in ("a b", "a-b"))
    (tmp_path / "two.toml").write_text(f'title = "two"\nshow = "comparison"\nseeds = 1\n{cells}')
    experiment = experiments.read(str(tmp_path / "two.toml"))
    monkeypatch.setattr(Pool, "run", lambda self, tasks: ((task, "broken") for task in tasks))
    _, failed = reproduce.reproduce(experiment, experiment, 1, None, Results(tmp_path), tmp_path / "runs")
    assert len(failed) == 2


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
    lines = [line for line in known(experiment, folder / "results") if line.method == "naive"]
    page = reproduce.page(experiment, lines, [])
    assert "**Missing:** 4 runs (nnpu:digits seeds 0/1, nnpu:digits (keep pu) seeds 0/1)" in page


def test_a_search_looks_at_no_test_row(tmp_path, monkeypatch):
    def refused(*_):
        raise AssertionError("true labels were asked for")

    monkeypatch.setattr("distpu.metrics.evaluate", refused)
    (tmp_path / "tiny-search.toml").write_text(SEARCH)
    done = run(tmp_path, str(tmp_path / "tiny-search.toml"))
    lines = lines_in(tmp_path, "tiny-search")
    assert [line["variant"] for line in lines] == ["epochs=1", "epochs=6"]
    assert all(set(line).isdisjoint((*METRICS, "by_epoch")) for line in lines)
    assert lines[1]["pu_accuracy"] > lines[0]["pu_accuracy"]
    assert done.output.index("epochs=6") < done.output.index("epochs=1")  # the best first
    head = next(line for line in done.output.splitlines() if line.startswith("method"))
    assert head.split("  ")[-1].strip() == "variant"  # last, for it may be long and wraps there
    assert "no true label is looked at" in (tmp_path / "results/tiny-search/README.md").read_text()
    assert "nothing to make" in run(tmp_path, str(tmp_path / "tiny-search.toml")).output


def test_a_search_keeps_every_epoch_where_it_is_asked_to(tmp_path):
    (tmp_path / "tiny-search.toml").write_text("every_epoch = true\n" + SEARCH)
    run(tmp_path, str(tmp_path / "tiny-search.toml"))
    paths = [line["by_epoch"]["pu_auc"] for line in lines_in(tmp_path, "tiny-search")]
    assert [[*map(len, path.values())] for path in paths] == [[1], [6]]


def test_a_fresh_run_that_was_stopped_goes_on(made, monkeypatch):
    folder, asked = made[0], [str(made[0] / "tiny.toml"), "--only", "naive", "--seeds", "1", "--fresh"]
    with monkeypatch.context() as patched:
        patched.setattr(reproduce, "lines_of", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        where = ["--results", str(folder / "results"), "--runs", str(folder / "runs"), "--jobs", "1"]
        CliRunner().invoke(app, ["reproduce", *asked, *where])
    results = list((folder / "runs/fresh").glob("*/tiny/digits-naive-seed0-*/result.json"))
    assert len(results) == 1
    before = results[0].stat().st_mtime_ns
    run(folder, *asked)
    assert results[0].stat().st_mtime_ns == before  # not made again
    run(folder, *asked)
    assert results[0].stat().st_mtime_ns > before  # now it is


def test_the_list_says_what_is_done():
    done = CliRunner().invoke(app, ["reproduce"])
    assert done.exit_code == 0
    for name in ("table-2", "table-3", "figure-1", "figure-6", "prior-sensitivity", "bound", "extra"):
        assert name in done.output
