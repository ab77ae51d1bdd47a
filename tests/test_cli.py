"""Flows through the command line, each in a folder of its own."""

import csv
import json
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import distpu as package
from distpu import METHODS, datasets
from distpu.cli import commands
from distpu.params import paper_value
from distpu.study import runs as bench
from small import NETWORKS
from terminal import distpu, done

SHORT = ("--set", "epochs=2", "--set", "warm_up_epochs=2")


@pytest.fixture
def here(toy, tmp_path, monkeypatch):
    """An empty working folder with table.csv: columns a to f, and 'fraud', which is 1 or empty."""
    monkeypatch.chdir(tmp_path)
    X, s, _ = toy
    table = pd.DataFrame(X, columns=list("abcdef"))
    table["fraud"] = np.where(s == 1, 1, np.nan)
    table.to_csv("table.csv", index=False)
    return tmp_path


@pytest.fixture
def no_training(monkeypatch):
    def forbid():
        for cls in METHODS.values():
            monkeypatch.setattr(cls, "_learn", lambda self, run: pytest.fail("trained again"))

    return forbid


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


# ------------------------------------------------------------------- help


def test_the_command_line_imports_late():
    code = "import sys, distpu.cli; print({'torch', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_real_process():
    run = [sys.executable, "-m", "distpu"]
    version = subprocess.run([*run, "--version"], capture_output=True, text=True)
    assert (version.returncode, version.stdout) == (0, f"distpu {package.__version__}\n")
    mistake = subprocess.run([*run, "fit", "digits", "--set", "epochs"], capture_output=True, text=True)
    assert (mistake.returncode, mistake.stdout) == (2, "")
    assert mistake.stderr == "distpu: --set epochs must read field=value, such as --set epochs=20\n"


def test_help_comes_with_an_example():
    assert distpu() == distpu("--help")
    assert "distpu fit table.csv --label fraud" in done("--help")
    for command in ("fit", "predict", "demo", "reproduce", "compare", "methods", "data"):
        assert command in done("--help")
        assert f"\n      distpu {command}" in done(command, "--help")  # an example on a line of its own
    assert "..." not in done("--help").split("Commands:")[1]  # no summary is cut off


# ---------------------------------------------------------------- own file


def test_from_a_table_to_scores_of_new_rows(here, toy, no_training):
    _, s, y = toy
    fit = ("fit", "table.csv", "--label", "fraud", *SHORT)
    first = done(*fit)
    assert "30 labelled positives, 270 unlabelled rows; dist-pu, trained in" in first
    folder = here / "runs/table-dist-pu-seed0"
    share = json.loads((folder / "model.json").read_text())["prior"]
    assert f"hidden among the unlabelled rows: {share:.1%} (estimated), about {270 * share:.0f} rows" in first
    ranked = rows_of((folder / "ranked.csv").read_text())
    assert sorted(int(r["row"]) for r in ranked) == np.flatnonzero(s == 0).tolist()
    p = [float(r["probability"]) for r in ranked]
    assert p == sorted(p, reverse=True) and y[[int(r["row"]) for r in ranked[:20]]].mean() > 0.9
    positive = sum(r["positive"] == "1" for r in ranked)
    assert positive == sum(value >= 0.5 for value in p) and 0 < positive < 270
    assert f"predicted positive: {positive} of 270 unlabelled rows" in first
    assert all(f"\n{r['row']:<3}  {value:.3f}\n" in first for r, value in zip(ranked[:10], p, strict=False))
    assert "runs/table-dist-pu-seed0/ranked.csv" in first and "next: " in first
    assert "distpu predict runs/table-dist-pu-seed0 FILE" in first

    no_training()
    again = done(*fit)
    assert "finished before, not trained again" in again
    assert again.splitlines()[1:] == first.splitlines()[1:]

    new = pd.read_csv("table.csv")[list("fbdace")]  # another order, another column
    new.insert(2, "customer", "Jo")
    new.to_csv("new.csv", index=False)
    scores = rows_of(done("predict", folder, "new.csv"))
    assert [int(r["row"]) for r in scores] == list(range(300))
    by_row = {r["row"]: r for r in scores}
    assert all(by_row[r["row"]] == r for r in ranked)
    assert "300 rows scored" in done("predict", folder, "new.csv", "--out", "out/scores.csv")
    assert rows_of((here / "out/scores.csv").read_text()) == scores


def test_a_given_prior_and_a_method_without_one(here):
    common = ("fit", "table.csv", "--label", "fraud", "--set", "epochs=2")
    assert "40.0% (given), about 108 rows" in done(*common, "--method", "nnpu", "--prior", "0.4")
    naive = done(*common, "--method", "naive")
    assert "hidden" not in naive and "predicted positive" in naive


@pytest.mark.parametrize(
    ("column", "option"),
    [
        (lambda s: s, ()),
        (lambda s: 2 * s - 1, ()),
        (lambda s: s == 1, ()),
        (lambda s: np.where(s == 1, True, None), ()),
        (lambda s: np.where(s == 1, "fraud", None), ()),
        (lambda s: np.where(s == 1, "fraud", "unknown"), ("--positive", "fraud")),
        (lambda s: np.where(s == 1, "a", "b"), ("--positive", "a")),
        (lambda s: 2 - s, ("--positive", "1")),
        (lambda s: np.where(s == 1, 7.5, np.nan), ("--positive", "7.5")),
        (lambda s: s == 0, ("--positive", "false")),
        (lambda s: np.where(s == 1, "a", "b"), ("--set", "pos_label=a")),
    ],
)
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_labels_in_many_spellings(here, toy, monkeypatch, column, option, end):
    table = pd.read_csv("table.csv").assign(fraud=column(toy[1]))
    table.to_csv("other.csv", index=False) if end == "csv" else table.to_parquet("other.parquet")
    seen = []

    def watched(X, y, method, folder, settings):
        seen.append(bench.read_labels(y, settings["pos_label"])[0])
        raise ValueError("enough")

    monkeypatch.setattr(bench, "fit_table", watched)
    assert distpu("fit", f"other.{end}", "--label", "fraud", *option).err == "distpu: enough\n"
    np.testing.assert_array_equal(seen[0], toy[1])


def test_images_in_an_npz(here):
    random = np.random.default_rng(0)
    s = np.arange(80) < 20
    images = random.integers(0, 256, size=(80, 8, 8), dtype=np.uint8)
    images[:40] //= 4
    np.savez("images.npz", X=images, y=s)
    fit = ("fit", "images.npz", "--prior", "0.3", "--folder", "run", *SHORT)
    assert "20 labelled positives, 60 unlabelled rows" in done(*fit)
    np.savez("new.npz", X=images[::-1])
    scores = rows_of(done("predict", "run", "new.npz"))
    ranked = {79 - int(r["row"]): r["probability"] for r in rows_of((here / "run/ranked.csv").read_text())}
    assert len(ranked) == 60 and all(scores[row]["probability"] == p for row, p in ranked.items())


def test_read_takes_only_the_columns_asked_for(here):
    table = pd.read_csv("table.csv").assign(name="Jo")
    table.to_csv("more.csv", index=False)
    table.to_parquet("more.parquet")
    for path in ("more.csv", "more.parquet"):
        X, y = datasets.read(path, columns=["c", "a"])
        assert list(X) == ["c", "a"] and y is None
        np.testing.assert_allclose(X["a"], table["a"])
        with pytest.raises(ValueError, match=r"has no columns 'z', 'y' \(it has 'a'"):
            datasets.read(path, columns=["z", "a", "y"])
        with pytest.raises(ValueError, match=r"has no column 'nam'; did you mean 'name'\?"):
            datasets.read(path, columns=["a", "nam"])
    np.savez("rows.npz", X=np.ones((3, 2)))
    assert datasets.read("rows.npz", columns=["ignored"])[0].shape == (3, 2)


# ------------------------------------------------------------- named sets


def test_a_named_data_set(here, no_training):
    fit = ("fit", "digits", "--labelled", "60", "--seed", "3", *SHORT)
    text = done(*fit)
    folder = here / "runs/digits-dist-pu-seed3"
    result = json.loads((folder / "result.json").read_text())
    assert result["settings"]["labelled"] == 60 and result["seed"] == 3
    assert result["prior"] == result["true_prior"] == 447 / 901  # the true one, unless told otherwise
    lines = dict(line.split(maxsplit=1) for line in text.splitlines()[1:7])
    assert lines == {name: f"{100 * result[name]:.2f}" for name in commands.METRICS}
    no_training()
    again = done(*fit)
    assert again.splitlines()[:8] == text.splitlines()[:8] and "not trained again" in again
    scores = rows_of(done("predict", folder, "digits"))
    predicted = np.array([int(r["positive"]) for r in scores])
    assert np.mean(predicted == datasets.load("digits").y_test) == pytest.approx(result["accuracy"])


def test_demo(tmp_path, monkeypatch, no_training):
    tiny = {"dist-pu": {"warm_up_epochs": 1, "epochs": 1}, "nnpu": {"epochs": 1}, "naive": {"epochs": 1}}
    monkeypatch.setattr(bench, "settings_for", lambda method, *_: tiny[method])
    demo = ("demo", "--folder", tmp_path, "--prior", "true", "--seeds", "2")
    ended = distpu(*demo)
    assert ended.code == 0 and ended.err.count("test accuracy") == 3
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    lines = ended.out.splitlines()
    header = next(line for line in lines if "dist-pu" in line)
    assert header.split() == list(tiny)
    accuracy = next(line for line in lines if line.startswith("accuracy"))
    assert accuracy.count("±") == 3 and len(accuracy) <= 80
    runs = {f"{m}-seed{seed}" for m in tiny for seed in (0, 1)}
    assert {p.name for p in tmp_path.iterdir()} == {*runs, "demo.png"}
    assert all((tmp_path / run / "result.json").exists() for run in runs)

    (tmp_path / "mine.txt").write_text("keep")
    before = (tmp_path / "nnpu-seed0/done").stat().st_mtime_ns
    distpu(*demo, "--fresh")
    assert (tmp_path / "nnpu-seed0/done").stat().st_mtime_ns > before
    assert (tmp_path / "mine.txt").read_text() == "keep"
    no_training()
    second = distpu(*demo)
    assert second.code == 0 and second.err == ended.err
    assert [x for x in second.out.splitlines() if "seconds" not in x] == [x for x in lines if "seconds" not in x]


# ------------------------------------------------------------------- lists


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lists_cut_nothing_off(columns, tmp_path):
    root = tmp_path / "a-folder-with-a-rather-long-name" / "and-another"
    text = done("data", "--data-root", root, columns=columns)
    lines = [line.split() for line in text.splitlines()]
    for info in datasets.catalog(root):
        line = next(line for line in lines if line and line[0] == info.name)
        assert {str(info.train), str(info.test), str(info.labelled), "x".join(map(str, info.shape))} <= set(line)
        assert info.where in text or str(root) in text  # a path in one piece
    listed = done("methods", columns=columns)
    assert [line.split(" ")[0] for line in listed.splitlines()[1:-2] if line[0] != " "] == [*METHODS]
    for printed in (listed, done("methods", "dist-pu", columns=columns)):
        assert "…" not in printed and max(map(len, printed.splitlines())) <= max(columns, 68)


def test_a_method_shows_its_settings():
    text = done("methods", "dist-pu")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for field in fields(METHODS["dist-pu"]):
        assert [field.name, str(paper_value(field))] in [line[:2] for line in lines]
    assert "R_lab = 2 prior |E_P[p] - 1| + |E_U[p] - prior|" in text
    assert "CVPR 2022" in text and "from distpu import DistPU" in text
    flat = " ".join(text.split())
    assert "(at least 0 and at most 1)" in flat and "(rise, fall)" in flat
    for name in METHODS:
        assert done("methods", name).startswith(name)


# ------------------------------------------------------------- how it ends


def test_a_stop_says_that_it_can_go_on(monkeypatch):
    def stopped(root):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "data", stopped)
    ended = distpu("data")
    assert ended.code == 130 and ended.err == "distpu: stopped; the same command goes on where it was\n"


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    def broken(root):
        raise RuntimeError("a bug")

    monkeypatch.setattr(commands, "data", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        distpu("data")


def test_a_warning_is_one_line_on_stderr(monkeypatch):
    import warnings

    def warns(root):
        warnings.warn("two\nlines", UserWarning, stacklevel=1)

    monkeypatch.setattr(commands, "data", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert distpu("data") == (0, "", "distpu: two lines\n")


def test_compare(here, monkeypatch, no_training):
    monkeypatch.setattr(bench, "settings_for", lambda method, *_: {"epochs": 2} if method in NETWORKS else {})
    command = ("compare", "digits", "--methods", "nnpu,pn,elkan-noto", "--seeds", "2", "--jobs", "1")
    text = done(*command)
    rows = [json.loads(line) for line in (here / "runs/compare-digits/runs.jsonl").read_text().splitlines()]
    assert [(r["method"], r["seed"]) for r in rows] == [(m, k) for m in ("nnpu", "pn", "elkan-noto") for k in (0, 1)]
    for line, method in zip(text.splitlines()[2:5], ("nnpu", "pn", "elkan-noto"), strict=True):
        mean = np.mean([100 * r["accuracy"] for r in rows if r["method"] == method])
        assert line.split()[:2] == [method, f"{mean:.2f}"] and len(line) <= 80
    assert np.mean([r["accuracy"] for r in rows if r["method"] == "pn"]) > 0.8  # it alone sees the true labels
    assert (here / "runs/compare-digits/table.md").read_text().count("|") == 5 * 10
    no_training()
    assert done(*command) == text


def test_compare_goes_on_when_a_run_fails(here, monkeypatch):
    monkeypatch.setattr(bench, "settings_for", lambda method, *_: {"lr": 1e30, "epochs": 2} if method == "nnpu" else {})
    ended = distpu("compare", "breast-cancer", "--methods", "nnpu,elkan-noto", "--seeds", "1", "--jobs", "1")
    assert ended.code == 2 and "elkan-noto" in ended.out
    assert "1 of 2 runs failed: nnpu, seed 0:" in ended.err and "in stage 'nnpu', epoch 1" in ended.err


def test_compare_in_processes_gives_what_one_process_gives(here):
    command = ("compare", "breast-cancer", "--methods", "elkan-noto", "--seeds", "2")
    done(*command, "--jobs", "1", "--folder", here / "one")
    done(*command, "--jobs", "2", "--folder", here / "two")

    def accuracies(name):
        return [json.loads(line)["accuracy"] for line in (here / name / "runs.jsonl").read_text().splitlines()]

    assert accuracies("one") == accuracies("two")


def test_presets():
    assert bench.settings_for("dist-pu", "fashion-mnist", 60000)["epochs"] == 15
    assert bench.settings_for("dist-pu", "digits", 901) == bench.settings_for("dist-pu", "", 0, "small") != {}
    assert (
        bench.settings_for("dist-pu", "cifar-10", 50000) == bench.settings_for("dist-pu", "digits", 901, "paper") == {}
    )
    for method, cls in METHODS.items():
        for preset in cls.presets.values():
            bench.make(method, preset)  # every preset holds settings that exist and are allowed
    with pytest.raises(ValueError, match="dist-pu has no preset 'smal'; did you mean 'small'"):
        bench.settings_for("dist-pu", "digits", 901, "smal")


def test_a_wrappers_finished_run_is_not_taken_for_another_protocol(here):
    command = (
        "compare",
        "breast-cancer",
        "--methods",
        "elkan-noto",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--folder",
        here / "c",
    )
    first = done(*command)
    assert done(*command) == first
    ended = distpu(*command, "--labelled", "10")
    assert ended.code == 2 and "made with other data: rows=295 (there: 335), labelled=10 (there: 50)" in ended.err
    ended = distpu(*command, "--prior", "0.2")
    assert ended.code == 2 and "prior=0.2 (there: 0.37" in ended.err


def test_a_result_says_which_epoch_it_kept(here, monkeypatch):
    monkeypatch.setattr(bench, "settings_for", lambda method, *_: {"epochs": 2})
    done("compare", "breast-cancer", "--methods", "vpu,nnpu", "--seeds", "1", "--jobs", "1")
    rows = [json.loads(line) for line in (here / "runs/compare-breast-cancer/runs.jsonl").read_text().splitlines()]
    assert {r["method"]: r["keep"] for r in rows} == {"vpu": "pu", "nnpu": "last"}
