"""A table that is too large to be held: a sample or a memory map teaches, every row is scored and counted."""

import json

import numpy as np
import pandas as pd
import pytest

import distpu
from distpu import fit_file
from distpu.answer import all_rows, large
from distpu.files.run_folder import RunFolder
from terminal import distpu as ended
from terminal import done

ROWS, COLUMNS = 3000, 5
TINY = dict(method="blend-pu", trees=4, bags=2, rounds=5)
NET = dict(method="nnpu", epochs=2, prior=0.2, lr=1e-3, batch_size=64)


@pytest.fixture
def few(monkeypatch):
    """Let tables be large from 5,000 cells on, with a sample of 600 rows."""
    for room, name, value in ((large, "CELLS", 5000), (large, "ROWS", 600), (large, "PIECE", 128),
                              (all_rows, "PIECE", 128), (all_rows, "TOP", 500)):  # fmt: skip
        monkeypatch.setattr(room, name, value)


@pytest.fixture
def folder(tmp_path):
    """A folder of three Parquet files; blanks and a category; a column that names the rows."""
    random = np.random.default_rng(0)
    y = random.random(ROWS) < 0.2
    frame = pd.DataFrame(random.normal(size=(ROWS, COLUMNS)) + 1.5 * y[:, None], columns=list("abcde"))
    frame.loc[::7, "a"] = np.nan
    frame["kind"] = random.choice(["x", "y", "z"], ROWS)
    frame["number"] = [f"r{i:05d}" for i in range(ROWS)]
    frame["fraud"] = (y & (random.random(ROWS) < 0.3)).astype(int)
    (tmp_path / "t").mkdir()
    for i, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        frame.iloc[part].to_parquet(tmp_path / f"t/{i}.parquet", row_group_size=300)
    return tmp_path / "t", frame, y


def test_the_sample_has_the_labelled_rows_and_all_rows_are_scored_and_counted(few, folder, tmp_path):
    path, frame, y = folder
    answer = fit_file(path, "fraud", id="number", folder=tmp_path / "run", **TINY)
    s, sample = frame["fraud"].to_numpy(), answer.sample
    assert len(sample.rows) == 600 and sample.all_labelled and not sample.learns_all
    assert set(np.flatnonzero(s)) <= set(sample.rows)  # 180 labelled rows are fewer than half of 600
    assert (answer.labelled, answer.unlabelled, answer.rows) == (s.sum(), ROWS - s.sum(), ROWS)
    assert answer.hidden == pytest.approx(answer.prior * answer.unlabelled)
    assert answer.model.cut_.held_out.total == answer.unlabelled
    scores = pd.read_parquet(tmp_path / "run/scores.parquet")
    assert scores["id"].tolist() == frame["number"][s == 0].tolist()  # every unlabelled row once, as in the table
    assert answer.predicted == scores["decision"].sum() == (scores["score"] >= 0).sum()
    assert answer.least == scores["probability"][scores["decision"] == 1].min()
    first = scores.sort_values("score", ascending=False, kind="stable")[:500]
    assert answer.ranked["id"].tolist() == first["id"].tolist()
    assert frame["number"][answer.ranked.index].tolist() == first["id"].tolist()
    assert pd.read_csv(tmp_path / "run/scores.csv")["id"].tolist() == first["id"].tolist()
    pd.testing.assert_frame_equal(
        answer.top, frame.drop(columns=["fraud", "number"]).loc[answer.ranked.index[:25]], check_names=False
    )
    hidden = y[s == 0]
    assert (scores["score"].to_numpy()[hidden].mean() > scores["score"].to_numpy()[~hidden].mean()) and (
        0.7 * hidden.sum() < answer.hidden < 1.4 * hidden.sum()
    )
    assert "600 rows: all" in answer.facts["sample"] and answer.facts["unlabelled"] == answer.unlabelled
    assert "scores.parquet" in (tmp_path / "run/report.html").read_text()


def test_a_row_of_the_sample_has_its_held_out_score_and_another_row_that_of_one_fold(few, folder, tmp_path):
    path, frame, _ = folder
    answer = fit_file(path, "fraud", id="number", folder=tmp_path / "run", report=False, **TINY)
    model, s = answer.model, frame["fraud"].to_numpy()
    X = frame.drop(columns="fraud")
    rows = model._rows(X)
    raw = np.stack([model._blended(model._scores_of(k, rows)) for k in range(5)])[np.arange(ROWS) % 5, np.arange(ROWS)]
    raw[answer.sample.rows] = model.oof_scores_
    decision, p = model._judged(raw)
    scores = pd.read_parquet(tmp_path / "run/scores.parquet")
    np.testing.assert_allclose(scores["score"], decision[s == 0], rtol=1e-9)
    np.testing.assert_allclose(scores["probability"], p[s == 0], rtol=1e-9)
    loaded = distpu.load(tmp_path / "run")
    assert loaded.cut_.held_out.total == answer.unlabelled


def test_a_finished_run_reads_its_scores_and_changed_data_are_scored_again(few, folder, tmp_path, monkeypatch):
    path, _, _ = folder
    first = fit_file(path, "fraud", id="number", folder=tmp_path / "run", report=False, **TINY)
    before = (tmp_path / "run/scores.parquet").stat().st_mtime_ns
    (tmp_path / "run/.scores.parquet.0123456789abcdef.tmp").write_bytes(b"of a killed process")
    again = fit_file(path, "fraud", id="number", folder=tmp_path / "run", report=False, **TINY)
    assert again.finished_before and (tmp_path / "run/scores.parquet").stat().st_mtime_ns == before
    pd.testing.assert_frame_equal(again.ranked, first.ranked)
    assert (again.predicted, again.least) == (first.predicted, first.least)
    part = path / "1.parquet"
    pd.read_parquet(part).to_parquet(part, row_group_size=100)  # the same rows, written anew
    third = fit_file(path, "fraud", id="number", folder=tmp_path / "run", report=False, **TINY)
    assert (tmp_path / "run/scores.parquet").stat().st_mtime_ns > before
    pd.testing.assert_frame_equal(third.ranked, first.ranked)
    assert not [one for one in (tmp_path / "run").iterdir() if one.name.endswith(".tmp")]


def test_a_network_learns_all_rows_from_the_map_to_the_bits_of_a_table_in_memory(few, folder, tmp_path, monkeypatch):
    path, frame, _ = folder
    drop = ["number"]
    answer = fit_file(path, "fraud", drop=drop, folder=tmp_path / "run", **NET)
    assert answer.sample.learns_all and len(answer.sample.rows) == 600
    scores = pd.read_parquet(tmp_path / "run/scores.parquet")
    loaded = distpu.load(tmp_path / "run")
    X, s = frame.drop(columns="fraud"), frame["fraud"].to_numpy()
    np.testing.assert_array_equal(scores["score"], loaded.decision_function(X)[s == 0])
    # the same numbers, held in memory, teach the same network
    encoder = loaded.encoder_
    plain = distpu.NNPU(epochs=2, prior=0.2, lr=1e-3, batch_size=64, random_state=0).fit(encoder.transform(X), s)
    np.testing.assert_array_equal(plain._raw_scores(encoder.transform(X))[s == 0], scores["score"])
    assert answer.facts["curve"]["points"][-1]["rows"] <= answer.unlabelled
    assert json.loads((tmp_path / "run/config.json").read_text())["data"]["rows"] == ROWS


@pytest.mark.parametrize("labels", [["no", "yes"], [None, "yes"], [np.nan, 1.0], [False, True], [-1, 1]])
def test_labels_are_read_as_those_of_a_table_in_memory(few, folder, tmp_path, labels):
    path, frame, _ = folder
    s = frame["fraud"].to_numpy()
    values = np.array(labels, dtype=object)[s].tolist()
    told = dict(positive="yes") if "yes" in labels else {}
    odd = frame.drop(columns=["fraud", "number"]).assign(fraud=values)
    odd.to_parquet(tmp_path / "odd.parquet")
    answer = fit_file(tmp_path / "odd.parquet", "fraud", **told, **TINY)
    whole = distpu.BlendPU(random_state=0, trees=4, pos_label=told.get("positive")) \
        .fit(odd.drop(columns="fraud")[:500], odd["fraud"][:500]) \
        if None not in labels else answer.model  # fmt: skip
    assert answer.labelled == s.sum() and answer.sample is not None
    assert answer.model.classes_.tolist() == whole.classes_.tolist()


def test_rows_that_were_looked_at_are_in_the_sample(few, folder, tmp_path):
    path, frame, _ = folder
    marks = frame["fraud"].astype(object).map({0: "", 1: "known"})
    marks.iloc[:60:2], marks.iloc[1:60:2] = "no", "found"
    frame.drop(columns="number").assign(fraud=marks).to_parquet(tmp_path / "looked.parquet")
    answer = fit_file(tmp_path / "looked.parquet", "fraud", positive="known", negative="no", found="found", **TINY)
    assert set(range(60)) <= set(answer.sample.rows) and (answer.negatives, answer.found) == (30, 30)


def test_more_labelled_rows_than_fit_are_drawn(few, folder, monkeypatch):
    path, _, _ = folder
    monkeypatch.setattr(large, "ROWS", 200)
    answer = fit_file(path, "fraud", drop=["number"], report=False, **TINY)
    assert not answer.sample.all_labelled and answer.sample.labelled == 100
    assert "a random part of the labelled ones (100)" in answer.sample.told
    share = answer.predicted / answer.unlabelled
    assert 0.02 < share < 0.6 and answer.model.prior_estimate_ is not None


@pytest.mark.parametrize("told, says", [
    (dict(label="frad"), r"has no column 'frad'; did you mean 'fraud'"),
    (dict(label="a"), "holds more than 1000 values; name a column that marks the known positives"),
    (dict(label="kind"), "say which one marks the known positives"),
    (dict(id="numbr"), "no column 'numbr' that could name the rows; did you mean 'number'"),
    (dict(id="kind"), "column 'kind' has 2,997 rows with a name that another row has"),
    (dict(looked="l.csv"), "is for tables that fit into memory"),
    (dict(method="nnpu", threshold="precision=0.9"), "holds rows out, which nnpu cannot do"),
    (dict(method="nnpu", validation_fraction=0.2), "validation_fraction=0.2 holds rows out"),
    (dict(encode=False), "encode=False is for tables that fit into memory"),
])  # fmt: skip
def test_what_cannot_be_is_told(few, folder, told, says):
    with pytest.raises(ValueError, match=says):
        fit_file(folder[0], **{"label": "fraud", **told})


def test_files_that_differ_are_refused(few, folder):
    path, frame, _ = folder
    frame.drop(columns="b").to_parquet(path / "3.parquet")
    with pytest.raises(ValueError, match="has tables with different columns"):
        fit_file(path, "fraud")


def test_the_command_says_the_rule(few, folder, tmp_path, monkeypatch):
    path, frame, _ = folder
    monkeypatch.chdir(tmp_path)
    small = ["--method=blend-pu", *(f"--set={name}={value}" for name, value in TINY.items() if name != "method")]
    out = " ".join(done("fit", path, "--label", "fraud", "--id", "number", "--folder", "run", *small).split())
    assert "The table has 3,000 rows, and the model learnt from a sample of 600 rows: all" in out
    assert f"the first 500, likeliest first: run/{RunFolder.RANKED}" in out
    assert f"in the order of the table: run/{RunFolder.SCORED}" in out
    assert "write your verdicts into column 'fraud', name their values with --negative and --found" in out
    wrong = ended("fit", path, "--label", "fraud", "--looked", "x.csv")
    assert wrong.code and "is for tables that fit into memory" in " ".join(wrong.err.split())
