"""`distpu compare`."""

import json

import numpy as np

from distpu.study import runs as bench
from small import NETWORKS
from terminal import distpu, done


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
