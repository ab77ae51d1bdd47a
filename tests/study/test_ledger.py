"""Lines: read, found, merged, kept."""

import dataclasses
import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from distpu import Naive
from distpu.cli import app
from distpu.study import experiment as experiments
from distpu.study import ledger, reproduce
from distpu.study.experiment import Cell
from study.tiny import REPOSITORY, SEARCH, TINY, line, lines_in, run


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
    assert ledger.read_lines(path) == lines_in(made[0])
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"runs.jsonl is not UTF-8 text"):
        ledger.read_lines(path)


def test_lines_that_fit_no_cell_any_more_are_set_aside_and_come_back(made, tmp_path):
    shutil.copytree(made[0] / "results", tmp_path / "results")
    toml, place = tmp_path / "tiny.toml", tmp_path / "results/tiny"
    before = (place / "runs.jsonl").read_text()
    toml.write_text(TINY.replace("epochs = 3", "epochs = 4"))
    for _ in range(2):
        run(tmp_path, str(toml), "--show")
        assert len(lines_in(tmp_path)) == 6
        aside = ledger.read_lines(place / "set-aside.jsonl")
        assert [line["method"] for line in aside] == ["nnpu"] * 6
    toml.write_text(TINY)
    run(tmp_path, str(toml), "--show")
    assert (place / "runs.jsonl").read_text() == before


def test_two_commands_at_once_keep_each_others_lines(made, tmp_path):
    tiny = experiments.read(str(made[0] / "tiny.toml"))
    lines = ledger.known_lines(tiny, made[0] / "results")
    naive, nnpu = ([line for line in lines if line["method"] == method] for method in ("naive", "nnpu"))
    assert ledger.keep_lines(tiny, tmp_path, naive) == naive
    assert ledger.keep_lines(tiny, tmp_path, nnpu) == lines  # it had read none of the others when it began
    assert ledger.known_lines(tiny, tmp_path) == lines
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: ledger.keep_lines(tiny, tmp_path / "many", [line]), 5 * lines))
    assert ledger.known_lines(tiny, tmp_path / "many") == lines


def test_lines_of_others_that_are_no_runs_are_let_be(made, tmp_path):
    (tmp_path / "else").mkdir()
    (tmp_path / "else/x.jsonl").write_text('{"a": 1}\n')
    assert ledger.known_lines(experiments.read(str(made[0] / "tiny.toml")), tmp_path) == []


def test_runs_of_another_protocol_are_no_runs_of_a_cell(made):
    tiny = experiments.read(str(made[0] / "tiny.toml"))
    line = next(line for line in lines_in(made[0]) if line["method"] == "nnpu" and line["keep"] == "last")
    assert ledger.fits(tiny, tiny.cells[1], line)
    for other in ({"labelled": 10}, {"labelled": 90}, {"scenario": "single-set"}):
        assert not ledger.fits(tiny, tiny.cells[1], {**line, "settings": {**line["settings"], **other}})
    held_out = next(line for line in lines_in(made[0]) if line["method"] == "nnpu" and line["keep"] == "pu")
    assert held_out["settings"]["labelled"] == 90
    assert ledger.fits(tiny, tiny.cells[1], held_out)


def test_a_setting_that_is_called_labelled_too_is_the_methods_own():
    cell = Cell("pulda", "digits", {"labelled": 8})
    tiny = dataclasses.replace(experiments.read(str(REPOSITORY / "table-2.toml")), cells=[cell])
    told = line(cell, prior_told=0.4)
    assert ledger.fits(tiny, cell, told)
    assert not ledger.fits(tiny, cell, {**told, "settings": {"labelled": 16}})


def test_other_settings_are_another_run(made, tmp_path):
    folder, _ = made
    changed = experiments.read(str(folder / "tiny.toml"))
    nnpu = changed.cells[1]
    line = next(line for line in lines_in(folder) if line["method"] == "nnpu")
    assert ledger.fits(changed, nnpu, line)
    for other in (
        Cell("nnpu", "digits", {**nnpu.settings, "lr": 2e-3}),
        Cell("nnpu", "digits", {}),
        Cell("upu", "digits", nnpu.settings),
        Cell("nnpu", "cifar-10", nnpu.settings),
        Cell("nnpu", "digits", nnpu.settings, prior=0.3),
    ):
        assert not ledger.fits(changed, other, line)
    assert ledger.fits(changed, Cell("nnpu", "digits", nnpu.settings, prior=line["true_prior"]), line)
    assert not ledger.fits(changed, nnpu, {**line, "prior_told": 0.3})  # the cell wants the true prior
    defaults = {**nnpu.settings, "beta": 0.0, "weight_decay": 5e-3}
    assert ledger.fits(changed, Cell("nnpu", "digits", defaults), line)  # told or left out, it is the same
    assert ledger.fits(changed, nnpu, {**line, "prior": 0.3})  # what a method then estimates is its own matter


def test_a_run_serves_every_experiment_that_wants_it(made, tmp_path):
    folder, _ = made
    (tmp_path / "curve.toml").write_text(
        TINY.replace("comparison", "prior-curves").replace('"nnpu"\nlabel', '"nnpu"\nvariant = "a"\nlabel')
    )
    experiment = experiments.read(str(tmp_path / "curve.toml"))
    lines = ledger.known_lines(experiment, folder / "results")
    assert reproduce.missing(experiment, lines) == []
    nnpu = [line for line in lines if line["method"] == "nnpu" and line["keep"] == "last"]
    assert {(line["experiment"], line["variant"]) for line in nnpu} == {("curve", "a")}
    assert len(nnpu[0]["predicted_prior"]) == 3
    assert sum(nnpu[0]["wrong"]) <= nnpu[0]["training_rows"] == 901


def test_of_anothers_runs_it_takes_the_seeds_and_epochs_it_asks_for(made, tmp_path):
    folder, _ = made
    asked = TINY.replace("seeds = 2", "seeds = [1, 7]").replace('"last", "oracle", "pu"', '"last", "oracle"')
    (tmp_path / "other.toml").write_text(asked)
    experiment = experiments.read(str(tmp_path / "other.toml"))
    lines = ledger.known_lines(experiment, folder / "results")
    assert {(line["seed"], line["keep"]) for line in lines} == {(1, "last"), (1, "oracle")}
    assert {run.seed for run in reproduce.missing(experiment, lines)} == {7}


def test_a_changed_default_makes_no_old_line_its_own(made, monkeypatch):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    lines = lines_in(folder)
    assert lines[0]["settings"]["lr"] == 5e-4  # told by nobody
    assert not reproduce.missing(experiment, ledger.known_lines(experiment, folder / "results"))
    field = next(f for f in dataclasses.fields(Naive) if f.name == "lr")
    monkeypatch.setattr(field, "metadata", {**field.metadata, "paper": 1e-3})
    left = reproduce.missing(experiment, ledger.known_lines(experiment, folder / "results"))
    assert {run.cell.method for run in left} == {"naive"}


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
    assert ledger.known_lines(experiment, there.parent) == lines
    assert reproduce.missing(experiment, lines) == []


def test_a_line_of_other_folds_is_another_run(tmp_path):
    (tmp_path / "tiny-search.toml").write_text(SEARCH)
    run(tmp_path, str(tmp_path / "tiny-search.toml"))
    (tmp_path / "tiny-search.toml").write_text("folds = 3\n" + SEARCH)
    again = experiments.read(str(tmp_path / "tiny-search.toml"))
    assert ledger.known_lines(again, tmp_path / "results") == []
