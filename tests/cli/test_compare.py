"""`distpu compare`."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from distpu import METHODS
from distpu.judge import compare_methods
from distpu.study import runs as bench
from small import NETWORKS
from terminal import distpu, done, refused


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


def test_compare_on_a_file_of_ones_own(here, toy):
    """Its rows have no true label: methods are judged by PU accuracy, and one is named to take."""
    methods = ("--methods", "elkan-noto,bagging-pu")
    ended = distpu("compare", "table.csv", "--label", "fraud", "--prior", "0.4", *methods)
    assert ended.code == 0
    assert ended.err.count("PU accuracy") == 2
    head, first, second = ended.out.splitlines()[1:4]
    assert head.split("  ")[0] == "method" and "PU accuracy" in head
    names = [first.split()[0], second.split()[0]]
    assert sorted(names) == ["bagging-pu", "elkan-noto"]
    assert float(first.split()[1]) >= float(second.split()[1]) > 60
    assert f"take {names[0]}: its PU accuracy is the highest" in " ".join(ended.out.split())
    assert ended.out.splitlines()[-1] == f"next:  distpu fit table.csv --label fraud --method {names[0]}"
    assert not (here / "runs").exists()
    assert max(map(len, ended.out.splitlines())) <= 80


def test_compare_on_a_file_is_the_librarys_comparison(here, toy):
    X, s, _ = toy
    (one,) = compare_methods(X, s, ["elkan-noto"], prior=0.4)
    text = done("compare", "table.csv", "--label", "fraud", "--prior", "0.4", "--methods", "elkan-noto")
    row = next(row.split() for row in text.splitlines() if row.startswith("elkan-noto"))
    assert row[1:4] == [f"{100 * one.pu_accuracy:.1f}", "±", f"{100 * one.error:.1f}"]
    assert row[4:6] == [f"{100 * one.pu_auc:.1f}", f"{100 * one.called:.1f}"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table.csv",), "table.csv needs a label column; add --label COLUMN"),
        (("table.csv", "--label", "fraud", "--seeds", "3"), "--seeds is for named data sets"),
        (("table.csv", "--label", "fraud", "--prior", "true"), "--prior true is for named data sets"),
        (("table.csv", "--label", "fraud", "--methods", "nnpuu"), "did you mean 'nnpu'?"),
        (("table.csv", "--label", "fraud", "--methods", "pn"), "pn is no PU method: it takes every unlabelled row"),
        (("digit",), "'digit' is neither a file nor a data set; did you mean 'digits'?"),
        (("digits", "--label", "fraud"), "--label, --positive, --drop, --keep and --id are for files"),
    ],
)
def test_compare_refuses_what_does_not_belong_together(here, arguments, message):
    assert message in refused("compare", *arguments)


def test_compare_on_a_file_goes_on_when_a_method_fails(here, monkeypatch):
    def fail(self, run):
        raise ValueError("the loss is NaN in epoch 3")

    monkeypatch.setattr(METHODS["nnpu"], "_learn", fail)
    ended = distpu("compare", "table.csv", "--label", "fraud", "--prior", "0.4", "--methods", "nnpu,bagging-pu")
    assert ended.code == 2 and "take bagging-pu" in ended.out
    assert "1 of 2 methods failed: nnpu: " in ended.err and "NaN" in ended.err


def test_compare_and_tune_leave_columns_out(here, toy):
    """As fit does, and the command that they print leaves the same columns out."""
    X, s, _ = toy
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    copy = frame.assign(number=[f"row {i}" for i in range(len(s))], outcome=s * 2.0, known=s)
    frame.assign(known=s).to_csv("plain.csv", index=False)
    copy.to_csv("more.csv", index=False)
    plain = done("compare", "plain.csv", "--label", "known", "--methods", "elkan-noto")
    more = done(
        "compare", "more.csv", "--label", "known", "--methods", "elkan-noto", "--drop", "outcome", "--id", "number"
    )
    assert [line.split()[:3] for line in more.splitlines()[2:4]] == [
        line.split()[:3] for line in plain.splitlines()[2:4]
    ]
    assert "--id number --drop outcome --method elkan-noto" in more
    tuned = done("tune", "more.csv", "--label", "known", "--drop", "outcome", "--id", "number", "--trials", "2",
                 "--set", "n_estimators=10")  # fmt: skip
    assert "next:  distpu fit more.csv --label known --id number --drop outcome --method bagging-pu" in tuned
    assert "no column 'outcom'" in refused("compare", "more.csv", "--label", "known", "--keep", "outcom")
    assert "no column 'outcom'" in refused("compare", "more.csv", "--label", "known", "--drop", "outcom")
    assert "leave no column" in refused("compare", "plain.csv", "--label", "known", "--drop", ",".join(frame))
    assert "are for files" in refused("compare", "digits", "--drop", "c0")


def test_compare_and_tune_use_a_column_that_looks_like_an_id(here, toy):
    """As fit does with --keep: here the row's number tells the class, and nothing else does."""
    _, s, y = toy
    random = np.random.default_rng(0)
    number = np.empty(len(s), dtype=int)
    number[np.argsort(y + random.normal(0, 0.2, len(s)))] = 1000 + np.arange(len(s))
    pd.DataFrame({"row_id": number, "noise": random.normal(size=len(s)), "known": s}).to_csv("n.csv", index=False)

    def auc(*more):
        told = ("compare", "n.csv", "--label", "known", "--methods", "elkan-noto", "--prior", "0.4")
        out = done(*told, *more)
        return float(re.search(r"elkan-noto +[\d.]+ ± [\d.]+ +([\d.]+)", out)[1]), out

    (without, _), (kept, out) = auc(), auc("--keep", "row_id")
    assert kept > without + 10
    assert "next:  distpu fit n.csv --label known --keep row_id --method elkan-noto" in out
    for out_too in ("--drop", "--id"):
        said = refused("compare", "n.csv", "--label", "known", "--keep", "row_id", out_too, "row_id")
        assert "column 'row_id' is to be kept and to be left out; name it once" in said
    tuned = done("tune", "n.csv", "--label", "known", "--keep", "row_id", "--trials", "2", "--set", "n_estimators=10")
    assert "next:  distpu fit n.csv --label known --keep row_id --method bagging-pu" in tuned
