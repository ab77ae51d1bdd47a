"""A user's own file: what the command does can be called, and gives the same bits."""

import numpy as np
import pandas as pd
import pytest

import distpu
from distpu import DistPU, fit_file
from distpu.answer.reading import label_values, plain_labels, positive_value, read_rows
from distpu.inputs import read_labels
from terminal import done

TINY = dict(warm_up_epochs=2, epochs=2)


@pytest.fixture
def table(tmp_path, toy):
    X, s, y = toy
    frame = pd.DataFrame(X.round(4), columns=list("abcdef"))
    frame["fraud"] = s
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv", frame, y


def test_the_answer_has_the_model_the_rows_the_prior_and_the_counts(table, tmp_path):
    path, frame, y = table
    answer = fit_file(path, "fraud", method="dist-pu", prior=0.4, folder=tmp_path / "run", **TINY)
    assert (answer.labelled, answer.unlabelled, answer.prior, answer.estimated) == (30, 270, 0.4, False)
    assert answer.hidden == pytest.approx(108)
    assert answer.ranked["probability"].is_monotonic_decreasing and len(answer.ranked) == 270
    assert set(answer.ranked["id"]) == set(answer.ranked.index) == set(np.flatnonzero(frame["fraud"] == 0))
    assert answer.predicted == answer.ranked["decision"].sum()
    pd.testing.assert_frame_equal(answer.top, frame.drop(columns="fraud").iloc[answer.ranked.index[:25]])
    scores = tmp_path / "run/scores.csv"
    assert pd.read_csv(scores)["id"].tolist() == answer.ranked["id"].tolist()
    first, seconds = scores.read_bytes(), answer.seconds
    scores.unlink()
    again = fit_file(path, "fraud", method="dist-pu", prior=0.4, folder=tmp_path / "run", **TINY)
    assert again.finished_before and not answer.finished_before
    pd.testing.assert_frame_equal(again.ranked, answer.ranked)
    assert scores.read_bytes() == first and again.seconds == pytest.approx(seconds, abs=0.01)


def test_a_column_names_the_rows(table, tmp_path):
    path, frame, _ = table
    frame.assign(customer=range(1000, 1300)).to_csv(path, index=False)
    answer = fit_file(path, "fraud", id="customer", method="elkan-noto", folder=tmp_path / "run")
    assert answer.ranked["id"].tolist() == [str(i + 1000) for i in answer.ranked.index]  # as written in the file
    assert "customer" not in answer.top and answer.model.n_features_in_ == 7
    assert pd.read_csv(tmp_path / "run/scores.csv", dtype=str)["id"].tolist() == answer.ranked["id"].tolist()
    with pytest.raises(ValueError, match="has no column 'custome' that could name the rows; did you mean 'customer'"):
        fit_file(path, "fraud", id="custome")
    frame.assign(customer=np.arange(300) // 2).to_csv(path, index=False)
    with pytest.raises(ValueError, match="column 'customer' has the value '0' twice, so it cannot name the rows"):
        fit_file(path, "fraud", id="customer")


def test_python_and_the_command_give_the_same_bits(table, tmp_path, monkeypatch):
    """One door: DistPU(), fit_file() and `distpu fit` on the same data."""
    path, frame, _ = table
    monkeypatch.chdir(tmp_path)
    done(
        "fit",
        "t.csv",
        "--label",
        "fraud",
        "--method",
        "dist-pu",
        "--set",
        "epochs=2",
        "--set",
        "warm_up_epochs=2",
        "--folder",
        "cli",
    )
    X = frame.drop(columns="fraud")
    here = DistPU(random_state=0, **TINY).fit(X, frame["fraud"])
    expected = here.decision_function(X)
    np.testing.assert_array_equal(distpu.load("cli").decision_function(X), expected)
    np.testing.assert_array_equal(
        fit_file(path, "fraud", method="dist-pu", **TINY).model.decision_function(X), expected
    )


@pytest.mark.parametrize("method", ["elkan-noto", "bagging-pu", "two-step"])
def test_wrappers_take_a_file_like_any_other_method(table, tmp_path, method):
    path, frame, _ = table
    answer = fit_file(path, "fraud", method=method, folder=tmp_path / "run")
    loaded = distpu.load(tmp_path / "run")
    X = frame.drop(columns="fraud")
    np.testing.assert_array_equal(loaded.predict_proba(X), answer.model.predict_proba(X))
    assert 0 < answer.prior < 1 and answer.unlabelled == 270


def test_a_supervised_method_says_that_it_is_none(table):
    path, *_ = table
    with pytest.warns(UserWarning, match="pn is no PU method: it takes every unlabelled row, hidden positives too"):
        fit_file(path, "fraud", method="pn", epochs=1)


def test_mistakes_are_named_before_the_file_is_read(tmp_path):
    with pytest.raises(ValueError, match="method 'dist-pi' is not known; did you mean 'dist-pu'"):
        fit_file(tmp_path / "none.csv", "y", method="dist-pi")
    with pytest.raises(ValueError, match="dist-pu has no setting 'epoch'; did you mean 'epochs'"):
        fit_file(tmp_path / "none.csv", "y", method="dist-pu", epoch=3)
    with pytest.raises(ValueError, match="prior=1.5 must lie strictly between 0 and 1"):
        fit_file(tmp_path / "none.csv", "y", prior=1.5)


def test_a_model_knows_the_column_that_names_the_rows(toy, tmp_path):
    X, s, _ = toy
    table = pd.DataFrame(X, columns=list("abcdef")).assign(customer=[f"c{i:03d}" for i in range(len(X))], fraud=s)
    table.to_csv(tmp_path / "t.csv", index=False)
    distpu.fit_file(tmp_path / "t.csv", "fraud", id="customer", folder=tmp_path / "run", report=False)
    distpu.predict_file(tmp_path / "run", tmp_path / "t.csv", tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["id"].tolist() == table["customer"].tolist()
    with pytest.raises(ValueError, match="was made with other"):
        distpu.fit_file(tmp_path / "t.csv", "fraud", folder=tmp_path / "run")


@pytest.mark.parametrize("blank", ["", "-", "?", " ", "NA"])
@pytest.mark.parametrize("known", ["1", "yes"])
def test_a_blank_label_may_be_spelt_in_many_ways(known, blank):
    y = plain_labels(np.array([known, blank, blank, f" {known}"], dtype=object))
    s, _ = read_labels(y)
    assert s.tolist() == [1, 0, 0, 1]


def test_labels_that_are_numbers_as_text_leave_no_doubt():
    y = plain_labels(np.array(["0", "1", "0"], dtype=object))
    assert y.tolist() == [0, 1, 0] and positive_value(y, "fraud", None) is None
    with pytest.raises(ValueError, match="such as --positive yes or"):
        positive_value(np.array(["no", "yes"], dtype=object), "fraud", None)


@pytest.mark.parametrize("told", ["yes", "YES", "Yes"])
def test_yes_in_capitals_is_yes(told):
    """Else rows that a person marked YES would count as unlabelled, without a word."""
    with pytest.warns(UserWarning, match="2 labels differ from others in capitals only, such as 'YES' from 'Yes'"):
        y = plain_labels(np.array(["Yes", "YES", "No", "yes ", "Yes", None, "No"], dtype=object))
    values = label_values(y, "known", told)
    assert read_labels(values.y, values.positive)[0].tolist() == [1, 1, 0, 1, 1, 0, 0]


def test_a_table_of_images_has_its_labels_read_as_any_table(tmp_path, monkeypatch):
    """A blank of any spelling is no label, and YES is yes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pytest.importorskip("PIL.Image").new("L", (8, 8)).save(tmp_path / "a.png")
    labels = ["yes", "-", "?", "n/a", "YES", " ", "yes"]
    (tmp_path / "t.csv").write_text("\n".join(["file,known", *(f"a.png,{label}" for label in labels), ""]))
    with pytest.warns(UserWarning, match="in capitals only"):
        own = read_rows(tmp_path / "t.csv", "known", images="file")
    values = label_values(own.y, "known")
    assert read_labels(values.y, values.positive)[0].tolist() == [1, 0, 0, 0, 1, 0, 1]
