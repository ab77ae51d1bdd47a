"""`distpu fit` on a table, on images and on a named data set, each in a folder of its own."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from distpu import METHODS, BlendPU, datasets
from distpu.answer.words import percent
from distpu.inputs import read_labels
from distpu.metrics import METRICS
from distpu.prior import AUTO, PRIORS
from distpu.study import runs as bench
from terminal import distpu, done, refused

SHORT = ("--method", "dist-pu", "--set", "epochs=2", "--set", "warm_up_epochs=2")


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def test_from_a_table_to_scores_of_new_rows(here, toy, no_training):
    _, s, y = toy
    fit = ("fit", "table.csv", "--label", "fraud", *SHORT)
    first = done(*fit)
    assert first.startswith("300 rows: 30 labelled positives, 270 unlabelled rows; dist-pu, trained in ")
    folder = here / "runs/table-dist-pu-seed0"
    share = json.loads((folder / "model.json").read_text())["prior"]
    flat = " ".join(first.split())
    assert f"hidden positives about {270 * share:.0f} of 270 unlabelled rows (90 % interval: " in flat
    assert f"prior, their share {percent(share)} (90 % interval: " in flat and f"estimated by {AUTO}" in flat
    ranked = rows_of((folder / "scores.csv").read_text())
    assert list(ranked[0]) == ["id", "score", "probability", "rank", "decision"]
    assert sorted(int(r["id"]) for r in ranked) == np.flatnonzero(s == 0).tolist()
    assert [int(r["rank"]) for r in ranked] == list(range(1, 271))
    assert all((float(r["score"]) >= 0) == (r["decision"] == "1") for r in ranked)
    p = [float(r["probability"]) for r in ranked]
    assert p == sorted(p, reverse=True) and y[[int(r["id"]) for r in ranked[:20]]].mean() > 0.9
    positive = sum(r["decision"] == "1" for r in ranked)
    assert positive == sum(value >= 0.5 for value in p) and 0 < positive < 270
    assert f"called positive {positive} of 270 unlabelled rows" in flat
    table = pd.read_csv("table.csv")
    first_column = json.loads((folder / "report.json").read_text())["top"]["columns"][0]
    for r, value in zip(ranked[:10], p, strict=False):
        assert f"\n{r['id']:<3}  {value:.3f}        {table[first_column][int(r['id'])]:.6g}" in first
    assert "runs/table-dist-pu-seed0/scores.csv" in first and "next: " in first
    assert "distpu predict runs/table-dist-pu-seed0 FILE" in first

    no_training()
    again = done(*fit)
    assert "finished before, not trained again" in again
    assert again.splitlines()[1:] == first.splitlines()[1:]

    new = pd.read_csv("table.csv")[list("fbdace")]  # another order, another column
    new.insert(2, "customer", "Jo")
    new.to_csv("new.csv", index=False)
    scores = rows_of(done("predict", folder, "new.csv"))
    assert [int(r["id"]) for r in scores] == list(range(300))
    by_row = {r["id"]: r for r in scores}
    assert all(by_row[r["id"]]["probability"] == r["probability"] for r in ranked)
    assert "300 rows scored" in done("predict", folder, "new.csv", "--out", "out/scores.csv")
    assert rows_of((here / "out/scores.csv").read_text()) == scores


def test_a_given_prior_and_a_method_without_one(here):
    common = ("fit", "table.csv", "--label", "fraud", "--set", "epochs=2")
    told = " ".join(done(*common, "--method", "nnpu", "--prior", "0.4").split())
    assert "hidden positives about 108 of 270 unlabelled rows prior, their share 40 %, given" in told
    told = " ".join(done(*common, "--method", "nnpu", "--prior", "dedpul", "--folder", "by-name").split())
    assert ", estimated by dedpul" in told and "90 % interval:" in told and "0.9 is needed" in told
    own = done("fit", "table.csv", "--label", "fraud", "--method", "elkan-noto")
    assert ", the method's own estimate" in " ".join(own.split())
    message = refused(*common, "--method", "nnpu", "--prior", "dedpull")
    assert "did you mean 'dedpul'?" in message and all(name in message for name in PRIORS)
    naive = done(*common, "--method", "naive")
    assert "hidden" not in naive and "called positive" in naive


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

    def watched(self, X, y, folder):
        seen.append(read_labels(y, self.pos_label)[0])
        raise ValueError("enough")

    monkeypatch.setattr(BlendPU, "fit", watched)  # what a table gets
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
    ranked = {79 - int(r["id"]): r["probability"] for r in rows_of((here / "run/scores.csv").read_text())}
    assert len(ranked) == 60 and all(scores[row]["probability"] == p for row, p in ranked.items())


def test_a_named_data_set(here, no_training):
    fit = ("fit", "digits", "--labelled", "60", "--seed", "3", *SHORT)
    text = done(*fit)
    folder = here / "runs/digits-dist-pu-seed3"
    result = json.loads((folder / "result.json").read_text())
    assert result["labelled"] == 60 and result["seed"] == 3
    assert result["prior"] == result["true_prior"] == 447 / 901  # the true one, unless told otherwise
    lines = dict(line.split(maxsplit=1) for line in text.splitlines()[1:7])
    assert lines == {name: f"{100 * result[name]:.2f}" for name in METRICS}
    no_training()
    again = done(*fit)
    assert again.splitlines()[:8] == text.splitlines()[:8] and "not trained again" in again
    scores = rows_of(done("predict", folder, "digits"))
    predicted = np.array([int(r["decision"]) for r in scores])
    assert np.mean(predicted == datasets.load("digits").y_test) == pytest.approx(result["accuracy"])


def test_presets():
    assert bench.settings_for("dist-pu", "fashion-mnist", 60000)["epochs"] == 15
    assert bench.settings_for("dist-pu", "digits", 901) == bench.settings_for("dist-pu", "digits", 901, "small") != {}
    assert bench.settings_for("dist-pu", "alzheimer", 5121) == {}  # few rows, but for a ResNet-50
    assert (
        bench.settings_for("dist-pu", "cifar-10", 50000) == bench.settings_for("dist-pu", "digits", 901, "paper") == {}
    )
    for method, cls in METHODS.items():
        for preset in cls.presets.values():
            bench.make(method, preset)  # every preset holds settings that exist and are allowed
    with pytest.raises(ValueError, match="dist-pu has no preset 'smal'; did you mean 'small'"):
        bench.settings_for("dist-pu", "digits", 901, "smal")


def test_the_settings_that_are_printed_are_those_that_were_used(here, toy):
    X, s, _ = toy
    pd.DataFrame(X).assign(fraud=s).to_csv("t.csv", index=False)
    text = " ".join(done("fit", "t.csv", "--label", "fraud", "--prior", "0.4", *SHORT).split())
    assert "preset 'small'; settings other than the paper's: " in text
    assert "epochs=2," in text and "warm_up_epochs=2," in text and "epochs=40" not in text


def test_a_method_without_presets_says_so(here, toy):
    X, s, _ = toy
    pd.DataFrame(X).assign(fraud=s).to_csv("t.csv", index=False)
    told = refused("fit", "t.csv", "--label", "fraud", "--method", "two-step", "--preset", "paper")
    assert "two-step has no presets; leave --preset out" in told


def test_a_cut_of_ones_own_when_fitting_and_when_scoring(here):
    fit = ("fit", "table.csv", "--label", "fraud", "--method", "elkan-noto", "--prior", "0.4", "--set", "folds=2")
    text = done(*fit, "--threshold", "recall=0.9")
    flat = " ".join(text.split())
    assert "of the hidden positives should be among them" in flat and "about 108 of 270 unlabelled rows" in flat
    assert "cut: recall=0.9: this share of the positives is called" in flat
    folder = here / "runs/table-elkan-noto-seed0"
    assert json.loads((folder / "model.json").read_text())["cut"]["choice"] == "recall=0.9"
    pd.read_csv("table.csv").drop(columns="fraud").to_csv("new.csv", index=False)
    counts = {}
    for cut in ("recall=0.9", "rows=20", "auto"):
        rows = rows_of(done("predict", folder, "new.csv", "--threshold", cut))
        counts[cut] = sum(row["decision"] == "1" for row in rows)
    plain = rows_of(done("predict", folder, "new.csv"))
    assert counts["recall=0.9"] == sum(row["decision"] == "1" for row in plain) > counts["rows=20"] > 0
    assert "did you mean 'recall'?" in refused("predict", folder, "new.csv", "--threshold", "recal=0.9")
    assert "precision must be above 0" in refused(*fit, "--threshold", "precision=2")
    assert "made with other parameters: threshold=" in refused(*fit, "--threshold", "half")
