"""`distpu diagnose`."""

import json

import numpy as np
import pandas as pd
import pytest

from distpu import fit_file
from terminal import distpu, done, refused


@pytest.fixture
def quick(monkeypatch):
    """The default method with fewer trees."""
    monkeypatch.setattr("distpu.diagnosis.default.SETTINGS", {"trees": 20, "bags": 3, "folds": 3})


@pytest.mark.usefixtures("quick")
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


@pytest.mark.usefixtures("quick")
def test_whatever_is_found_the_exit_code_is_0(here):
    table = pd.read_csv("table.csv")
    table = table.sort_values("fraud").assign(id=np.arange(len(table)))
    table.to_csv("sorted.csv", index=False)
    ended = distpu("diagnose", "sorted.csv", "--label", "fraud", "--prior", "0.9")
    assert (ended.code, ended.err) == (0, "")
    flat = " ".join(ended.out.split())
    assert "look give-away " in flat and "distpu fit leaves 'id' out" in flat
    assert "You say that 90 % of the unlabelled rows are positive" in flat
    assert "next:" not in flat
    kept = distpu("diagnose", "sorted.csv", "--label", "fraud", "--keep", "id")
    flat = " ".join(kept.out.split())
    assert "WARNING give-away There are ranges of column 'id'" in flat
    assert "-> Is the value known before anybody knows the label?" in flat and "--drop COLUMN" in flat


@pytest.mark.usefixtures("quick")
def test_a_large_table_is_sampled_and_the_output_says_so(here, monkeypatch):
    monkeypatch.setattr("distpu.diagnosis.MAX_ROWS", 200)
    out = done("diagnose", "table.csv", "--label", "fraud")
    assert "Columns and labelling were tested on a sample of 200 rows" in out


def test_diagnose_prior_and_fit_say_the_same_number(here):
    """On a table whose classes overlap, scores of a forest gave another prior than those of the blend."""
    random = np.random.default_rng(0)
    y = random.random(600) < 0.2
    table = pd.DataFrame(random.normal(size=(600, 3)) + 0.9 * y[:, None], columns=list("abc"))
    table["town"], table["fraud"] = random.choice(["Ulm", "Bonn"], 600), (y & (random.random(600) < 0.5)).astype(int)
    table.to_csv("mixed.csv", index=False)
    answer = fit_file("mixed.csv", "fraud", drop=["c"])
    told = ("mixed.csv", "--label", "fraud", "--drop", "c")
    done("diagnose", *told, "--json", "look.json")
    written = json.loads((here / "look.json").read_text())
    assert written["prior"] == answer.prior
    assert next(one for one in written["findings"] if one["name"] == "prior")["numbers"]["called"] == answer.predicted
    out = done("prior", *told, "--estimators", "dedpul,auto", "--bootstrap", "5")
    assert out.splitlines()[1].split()[:2] == ["auto", f"{answer.prior:.3f}"]
    flat = " ".join(out.split())
    assert "binormal is what distpu fit takes" in flat
    assert flat.endswith("distpu fit mixed.csv --label fraud --drop c")


def test_mistakes(here):
    told = ("diagnose", "table.csv", "--label", "fraud")
    assert "--prior 2 must lie strictly between 0 and 1" in refused(*told, "--prior", "2")
    assert "table.csv would overwrite the data" in refused(*told, "--json", "table.csv")
    assert "needs a label column; add --label COLUMN" in refused("diagnose", "table.csv")
    assert "'tabel' is neither a file nor a data set" in refused("diagnose", "tabel")
    assert "has no column 'fruad'; did you mean 'fraud'?" in refused("diagnose", "table.csv", "--label", "fruad")
