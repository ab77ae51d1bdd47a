"""`distpu next`, and its way back into `distpu fit`."""

import json
import shlex
from pathlib import Path

import pandas as pd

from terminal import done, refused

SMALL = ("--method", "blend-pu", "--no-report")
for pair in ("trees=8", "bags=2", "folds=2"):
    SMALL += ("--set", pair)


def test_from_fit_to_next_to_fit(here, toy):
    *_, y = toy
    out = done("fit", "table.csv", "--label", "fraud", "--folder", "first", *SMALL)
    assert "\nrows most worth a look:  distpu next first --data table.csv --out looked.csv\n" in out
    shown = done("next", "first", "-n", 4)
    assert shown.count("likely") == shown.count("unsure") == 2 and "--out looked.csv" in shown
    out = done("next", "first", "-n", 30, "--data", "table.csv", "--out", "looked.csv")
    header, *lines = out.splitlines()
    assert header.split()[:6] == ["id", "rank", "probability", "why", "a", "b"]  # the columns of the file are shown
    assert sum("likely" in one for one in lines[:20]) == sum("unsure" in one for one in lines[:20]) == 10
    assert "30 rows, 15 likely and 15 unsure: looked.csv" in out and "--looked looked.csv" in " ".join(out.split())
    looked = pd.read_csv("looked.csv", dtype={"verdict": object})
    assert {*"abcdef"} <= set(looked) and looked["verdict"].isna().all()
    looked["verdict"] = ["yes" if y[i] else "no" for i in looked["id"]]
    looked.to_csv("looked.csv", index=False)
    out = done("fit", "table.csv", "--label", "fraud", "--looked", "looked.csv", "--folder", "second", *SMALL)
    found = (looked["verdict"] == "yes").sum()
    assert f"240 unlabelled rows, 30 rows looked at ({found} found positive)" in " ".join(out.split())
    assert "may hold verdicts" in refused("next", "first", "--out", "looked.csv")


def test_the_columns_that_matter_are_shown_first(here):
    rows = pd.read_csv("table.csv")
    rows.insert(0, "same", "x")
    rows.to_csv("table.csv", index=False)
    done("fit", "table.csv", "--label", "fraud", "--folder", "run", *SMALL[:2], *SMALL[3:])
    facts = json.loads(Path("run/report.json").read_text())
    header = done("next", "run", "-n", 4, "--data", "table.csv").splitlines()[0].split()
    assert "same" not in header and header[4:6] == facts["top"]["columns"][:2]


def test_the_commands_to_go_on_with_can_be_pasted_whatever_the_names(here):
    """The file has a space in its name; its folder is too long for a line of 80 characters and has hyphens."""
    place = "my data and-a-name-that-is-long-enough-to-be-broken-at-a-hyphen-somewhere"
    pd.read_csv("table.csv").rename(columns={"a": "row name"}).to_csv("my table.csv", index=False)
    told = done("fit", "my table.csv", "--label", "fraud", "--folder", place, "--id", "row name", *SMALL)
    command = next(line for line in told.splitlines() if "distpu next" in line).partition("distpu ")[2]
    assert f"\nscore new rows:  distpu predict '{place}' FILE\n" in told
    assert "50 rows, 25 likely and 25 unsure: looked.csv" in done(*shlex.split(command))
    assert {"id", "b", "verdict"} <= set(pd.read_csv("looked.csv"))


def test_mistakes_are_one_line(here):
    assert "has no scores.csv" in refused("next", "nowhere")
    assert "add --data FILE" in refused("next", "nowhere", "--id", "name")
    assert "--id are for files" in refused("fit", "digits", "--looked", "looked.csv")
    fit = ("fit", "table.csv", "--label", "fraud", "--folder", "run")
    assert "negative=no is not in column 'fraud'" in refused(*fit, "--negative", "no")
    assert "looked.csv" in refused(*fit, "--looked", "looked.csv")
    table = pd.read_csv("table.csv").astype({"fraud": object})
    table.loc[table["fraud"].isna().to_numpy().nonzero()[0][:20], "fraud"] = "no"
    table.to_csv("marked.csv", index=False)
    told = refused("fit", "marked.csv", "--label", "fraud", "--negative", "no", "--method", "elkan-noto")
    assert "elkan-noto cannot use the 20 rows of neg_label='no'; use one of blend-pu" in told
