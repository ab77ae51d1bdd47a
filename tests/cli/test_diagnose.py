"""`distpu diagnose`."""

import json

import numpy as np
import pandas as pd

from terminal import distpu, done, refused


def test_a_diagnosis_in_sentences_with_a_picture_and_json(here):
    out = done("diagnose", "table.csv", "--label", "fraud", "--plot", "look.png", "--json", "look.json")
    head, *_ = out.splitlines()
    table = pd.read_csv("table.csv")
    labelled = int((table["fraud"] == 1).sum())
    assert head == f"table.csv: {labelled:,} labelled and {len(table) - labelled:,} unlabelled rows"
    for name in ("labelling", "give-away", "separability", "labelled rows", "copies", "row order", "prior"):
        assert f" {name}  " in out, out
    assert (here / "look.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((here / "look.json").read_text())
    assert written["labelled"] == labelled and len(written["findings"]) == 7
    assert "picture: look.png" in out and "json: look.json" in out


def test_whatever_is_found_the_exit_code_is_0(here):
    table = pd.read_csv("table.csv")
    table = table.sort_values("fraud").assign(id=np.arange(len(table)))
    table.to_csv("sorted.csv", index=False)
    ended = distpu("diagnose", "sorted.csv", "--label", "fraud", "--prior", "0.4")
    assert (ended.code, ended.err) == (0, "")
    flat = " ".join(ended.out.split())
    assert "WARNING give-away There are ranges of column 'id'" in flat
    assert "You say that 0.4 of the unlabelled rows are positive" in flat
    assert "-> Is the value known before anybody knows the label?" in flat
    assert "next:" not in flat


def test_a_large_table_is_sampled_and_the_output_says_so(here, monkeypatch):
    monkeypatch.setattr("distpu.diagnosis.MAX_ROWS", 200)
    out = done("diagnose", "table.csv", "--label", "fraud")
    assert "A sample of 200 rows was scored." in out


def test_mistakes(here):
    told = ("diagnose", "table.csv", "--label", "fraud")
    assert "--prior 2 must lie strictly between 0 and 1" in refused(*told, "--prior", "2")
    assert "table.csv would overwrite the data" in refused(*told, "--json", "table.csv")
    assert "needs a label column; add --label COLUMN" in refused("diagnose", "table.csv")
    assert "'tabel' is neither a file nor a data set" in refused("diagnose", "tabel")
    assert "has no column 'fruad'; did you mean 'fraud'?" in refused("diagnose", "table.csv", "--label", "fruad")
