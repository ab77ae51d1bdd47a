"""Lines and their keys: read, found, merged, kept."""

import dataclasses
import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from distpu import Naive, datasets
from distpu.cli import app
from distpu.study import experiment as experiments
from distpu.study import ledger, reproduce
from distpu.study.experiment import Cell
from distpu.study.ledger import Ledger, Line
from study.tiny import REPOSITORY, SEARCH, TINY, known, line, lines_in, run


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text.replace("\n", "x\n", 1), "runs.jsonl, line 1 is not a JSON object"),
        (lambda text: "<<<<<<< HEAD\n" + text, "line 1 is not a JSON object ('<<<<<<< HEAD')"),
        (lambda text: text + "3\n", "is not a JSON object ('3')"),
        (lambda text: text[:-20], "mend the line or delete it"),
        (lambda text: text.replace('"seed"', '"sead"', 1), "line 1 has the field 'sead', which this version"),
        (lambda text: text.replace('"seed": 0, ', "", 1), "line 1 has no field 'seed'; mend the line or delete it"),
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
    assert ledger.read_rows(path) == lines_in(made[0])
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"runs.jsonl is not UTF-8 text"):
        ledger.read_rows(path)


def test_a_line_comes_back_from_json_as_it_was(made):
    for row in lines_in(made[0]):
        assert Line.from_json(row).to_json() == row
        assert list(row)[:2] == ["key", "experiment"]


# ------------------------------------------------------------------- the keys


NNPU = Cell("nnpu", "digits", {"epochs": 3})


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(NNPU, settings={"epochs": 4}),
        dataclasses.replace(NNPU, settings={}),
        dataclasses.replace(NNPU, method="upu"),
        dataclasses.replace(NNPU, dataset="cifar-10"),
        dataclasses.replace(NNPU, prior=0.3),
        dataclasses.replace(NNPU, prior="auto"),
        dataclasses.replace(NNPU, labelled=10),
        dataclasses.replace(NNPU, scenario="single-set"),
        dataclasses.replace(NNPU, folds=2),
        dataclasses.replace(NNPU, folds=2).choosing,
        NNPU.choosing,
    ],
)
def test_whatever_makes_another_run_makes_another_key(other):
    assert other.key != NNPU.key
    assert len(other.key) == 12


@pytest.mark.parametrize(
    "same",
    [
        dataclasses.replace(NNPU, settings={"epochs": 3, "beta": 0.0, "weight_decay": 5e-3}),  # told or left out
        dataclasses.replace(NNPU, settings={"epochs": 3, "beta": 0}),  # 0 and 0.0
        dataclasses.replace(NNPU, variant="a", label="b", published={"auc": [1.0, 2.0]}),  # names
        dataclasses.replace(NNPU, labelled=datasets.info("digits").labelled),
    ],
)
def test_the_same_run_has_the_same_key(same):
    assert same.key == NNPU.key


def test_a_key_is_the_same_tomorrow(monkeypatch):
    """A key that changed without a change of the cell would lose every line that is committed."""
    monkeypatch.setattr(experiments, "resolved", lambda _: {"lr": 0.001, "epochs": 3, "beta": 0.0})
    told = (
        '["nnpu", {"beta": 0, "epochs": 3, "lr": 0.001}, "digits", '
        '{"folds": null, "held_out": 0, "labelled": 100, "prior": "true", "scenario": "case-control"}]'
    )
    assert Cell("nnpu", "digits", {}).key == hashlib.sha256(told.encode()).hexdigest()[:12]


def test_a_setting_that_is_added_later_changes_no_key_where_it_changes_nothing(monkeypatch):
    before = NNPU.key
    settings = experiments.resolved(NNPU.make())
    monkeypatch.setattr(experiments, "resolved", lambda _: {**settings, "momentum": 0.9})
    assert dataclasses.replace(NNPU).key != before
    monkeypatch.setitem(experiments.AS_BEFORE, "momentum", 0.9)
    assert dataclasses.replace(NNPU).key == before
    monkeypatch.setitem(experiments.AS_BEFORE, "momentum", 0.5)
    assert dataclasses.replace(NNPU).key != before


def test_a_setting_that_is_called_labelled_too_is_the_methods_own():
    keys = {Cell("pulda", "digits", {"labelled": n}, labelled=m).key for n in (8, 16) for m in (50, 100)}
    assert len(keys) == 4


def test_a_changed_default_makes_no_old_line_its_own(made, monkeypatch):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    assert lines_in(folder)[0]["settings"]["lr"] == 5e-4  # told by nobody
    assert not reproduce.missing(experiment, known(experiment, folder / "results"))
    field = next(f for f in dataclasses.fields(Naive) if f.name == "lr")
    monkeypatch.setattr(field, "metadata", {**field.metadata, "paper": 1e-3})
    experiment = experiments.read(str(folder / "tiny.toml"))
    left = reproduce.missing(experiment, known(experiment, folder / "results"))
    assert {run.cell.method for run in left} == {"naive"}


def test_a_line_of_other_folds_is_another_run(tmp_path):
    (tmp_path / "tiny-search.toml").write_text(SEARCH)
    run(tmp_path, str(tmp_path / "tiny-search.toml"))
    assert len(known(experiments.read(str(tmp_path / "tiny-search.toml")), tmp_path / "results")) == 2
    (tmp_path / "tiny-search.toml").write_text("folds = 3\n" + SEARCH)
    assert known(experiments.read(str(tmp_path / "tiny-search.toml")), tmp_path / "results") == []


def test_every_committed_run_of_an_experiment_is_found():
    """Lines that were made before there were keys got theirs once; none may be lost since."""
    for name, runs in (("table-2", 440), ("table-3", 40), ("ablation-readings", 28), ("extra", 84), ("figure-1", 15)):
        experiment = experiments.read(name)
        assert len(known(experiment, REPOSITORY / "results")) == runs, name


# ---------------------------------------------------------------- the folders


def test_a_line_that_no_cell_asks_for_stays_in_its_file(made, tmp_path):
    shutil.copytree(made[0] / "results", tmp_path / "results")
    toml, place = tmp_path / "tiny.toml", tmp_path / "results/tiny"
    before = (place / "runs.jsonl").read_text()
    toml.write_text(TINY.replace("epochs = 3", "epochs = 4"))
    done = run(tmp_path, str(toml), "--show")
    assert "70.00±2.00" in done.output
    assert "**Missing:** 4 runs (nnpu:digits" in (place / "README.md").read_text()
    assert (place / "runs.jsonl").read_text() == before
    toml.write_text(TINY)
    run(tmp_path, str(toml), "--show")
    assert "Missing" not in (place / "README.md").read_text()


def test_objects_without_a_key_are_let_be(made, tmp_path):
    tiny = experiments.read(str(made[0] / "tiny.toml"))
    for name in ("else", "tiny"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "runs.jsonl").write_text('{"a": 1}\n')
    assert known(tiny, tmp_path) == []
    Ledger(tmp_path, "tiny").keep(known(tiny, made[0] / "results"))
    rows = [json.loads(row) for row in (tmp_path / "tiny/runs.jsonl").read_text().splitlines()]
    assert rows == [{"a": 1}, *lines_in(made[0])]


def test_two_commands_at_once_keep_each_others_lines(made, tmp_path):
    tiny = experiments.read(str(made[0] / "tiny.toml"))
    lines = known(tiny, made[0] / "results")
    naive, nnpu = ([line for line in lines if line.method == method] for method in ("naive", "nnpu"))
    Ledger(tmp_path, "tiny").keep(naive)
    assert known(tiny, tmp_path) == naive
    Ledger(tmp_path, "tiny").keep(nnpu)  # it had read none of the others when it began
    assert known(tiny, tmp_path) == lines
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda line: Ledger(tmp_path / "many", "tiny").keep([line]), 5 * lines))
    assert known(tiny, tmp_path / "many") == lines


def test_a_run_serves_every_experiment_that_wants_it(made, tmp_path):
    folder, _ = made
    (tmp_path / "curve.toml").write_text(
        TINY.replace("comparison", "prior-curves").replace('"nnpu"\nlabel', '"nnpu"\nvariant = "a"\nlabel')
    )
    experiment = experiments.read(str(tmp_path / "curve.toml"))
    lines = known(experiment, folder / "results")
    assert reproduce.missing(experiment, lines) == []
    nnpu = [line for line in lines if line.method == "nnpu" and line.keep == "last"]
    assert {(line.experiment, line.variant) for line in nnpu} == {("tiny", None)}  # as it was made
    assert len(nnpu[0].predicted_prior) == 3
    assert sum(nnpu[0].wrong) <= nnpu[0].training_rows == 901


def test_of_two_lines_for_one_run_the_folders_own_counts(tmp_path):
    tiny = dataclasses.replace(experiments.read("table-2"), name="m", folder="", cells=[NNPU])
    for name, seconds in (("a", 1.0), ("m", 2.0), ("z", 3.0)):
        Ledger(tmp_path, name).keep([line(NNPU, seconds=seconds)])
    assert [found.seconds for found in known(tiny, tmp_path)] == [2.0]


def test_of_anothers_runs_it_takes_the_seeds_and_epochs_it_asks_for(made, tmp_path):
    folder, _ = made
    asked = TINY.replace("seeds = 2", "seeds = [1, 7]").replace('"last", "oracle", "pu"', '"last", "oracle"')
    (tmp_path / "other.toml").write_text(asked)
    experiment = experiments.read(str(tmp_path / "other.toml"))
    lines = known(experiment, folder / "results")
    assert {(line.seed, line.keep) for line in lines} == {(1, "last"), (1, "oracle")}
    assert {run.seed for run in reproduce.missing(experiment, lines)} == {7}


def test_lines_of_seeds_that_the_file_no_longer_names_are_kept_and_not_counted(made, tmp_path):
    folder, _ = made
    shutil.copytree(folder / "results", tmp_path / "results")
    (tmp_path / "tiny.toml").write_text(TINY.replace("seeds = 2", "seeds = [1, 2]"))
    done = run(tmp_path, str(tmp_path / "tiny.toml"), "--show")
    assert "nnPU (1)" in done.output
    assert "| nnPU (1) |" in (tmp_path / "results/tiny/table.md").read_text()
    assert {line["seed"] for line in lines_in(tmp_path)} == {0, 1}


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


def test_runs_merge_by_copying_files(made, tmp_path):
    folder, _ = made
    lines = lines_in(folder)
    there = tmp_path / "results/tiny"
    there.mkdir(parents=True)
    (there / "from-a.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines if x["seed"] == 0))
    (there / "from-b.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines if x["seed"] == 1))
    experiment = experiments.read(str(folder / "tiny.toml"))
    found = known(experiment, there.parent)
    assert found == known(experiment, folder / "results")
    assert reproduce.missing(experiment, found) == []


@pytest.mark.parametrize("name", ["table-2", "table-3", "extra"])
def test_lines_kept_in_the_repository_are_found_by_todays_keys(name):
    """A setting that is new to a method must be in estimator.ADDED, or `distpu reproduce` makes all runs again."""
    experiment = experiments.read(name)
    lines = (REPOSITORY / "results/paper" / name / "runs.jsonl").read_text().splitlines()
    assert {json.loads(line)["key"] for line in lines} <= experiment.keys
