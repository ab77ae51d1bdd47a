"""Rows worth looking at, and verdicts on them."""

import numpy as np
import pandas as pd
import pytest

from distpu import fit_file, next_rows
from distpu.answer.looking import FOUND, NEGATIVE, with_verdicts, write_rows
from distpu.answer.reading import label_values


@pytest.fixture
def folder(tmp_path):
    """A run folder with 100 rows: score 4.5 to -5.4; the cut lies between ranks 46 and 47; two pairs are copies."""
    score = (45 - np.arange(100)) / 10
    score[[1, 61]] = score[[0, 60]]
    table = pd.DataFrame({"id": np.arange(100)[::-1], "score": score, "probability": 1 / (1 + np.exp(-score))})
    table["rank"], table["decision"] = np.arange(1, 101), (score >= 0).astype(int)
    table.to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path


def test_one_half_are_the_likeliest_and_the_others_lie_near_the_cut(folder):
    rows = next_rows(folder, 10)
    assert list(rows.columns) == ["id", "rank", "probability", "why", "verdict"]
    assert rows["why"].tolist() == ["likely"] * 5 + ["unsure"] * 5
    assert rows["rank"].tolist()[:5] == [1, 3, 4, 5, 6]  # of two copies one is named
    unsure = rows["rank"].to_numpy()[5:]
    assert ((unsure >= 36) & (unsure <= 57)).all() and (np.diff(unsure) >= 4).all()  # spread over the 20 nearest
    assert rows["id"].tolist() == [str(100 - rank) for rank in rows["rank"]]
    assert (rows["verdict"] == "").all()


def test_with_the_table_unsure_rows_are_unlike_each_other(folder):
    table = pd.DataFrame({"kind": ["a"] * 100, "size": 1.0, "verdict": "own"})
    table.loc[53, "kind"], table.loc[57, "size"] = "b", 9.0  # ranks 47 and 43
    rows = next_rows(folder, 6, data=table)
    assert {47, 43} <= set(rows["rank"][rows["why"] == "unsure"])
    assert rows["kind"][rows["rank"] == 47].tolist() == ["b"] and (rows["verdict"] == "").all()


def test_a_table_with_lists_and_blanks_has_unlike_rows_too(folder):
    table = pd.DataFrame({"v": [np.zeros(2)] * 100, "word": [None, np.nan] * 50})
    table.at[53, "v"] = np.ones(2)  # rank 47
    rows = next_rows(folder, 6, data=table)
    assert 47 in set(rows["rank"][rows["why"] == "unsure"])


def test_whole_numbers_as_floats_name_the_rows_as_fit_writes_them(folder):
    rows = next_rows(folder, 4, data=pd.DataFrame({"k": np.arange(100.0), "a": np.arange(100) * 2}), id="k")
    assert rows["a"].tolist() == [2 * int(id) for id in rows["id"]]


def test_no_more_rows_than_there_are(folder):
    rows = next_rows(folder, 500)
    assert sorted(rows["rank"]) == list(range(1, 101))
    assert len(next_rows(folder, 1)) == 1
    with pytest.raises(ValueError, match="n=0 must be a whole number of at least 1"):
        next_rows(folder, 0)


def test_folders_and_tables_that_do_not_fit(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match="has no scores.csv; distpu fit"):
        next_rows(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="90 rows of scores.csv are not in the data, such as '99'"):
        next_rows(folder, 5, data=pd.DataFrame({"a": range(10)}))
    with pytest.raises(ValueError, match="no column 'nam'; did you mean 'name'"):
        next_rows(folder, 5, data=pd.DataFrame({"name": range(100)}), id="nam")
    (folder / "scores.csv").write_text("row,probability\n1,0.5\n")
    with pytest.raises(ValueError, match="is not what distpu fit wrote"):
        next_rows(folder)


def test_a_file_with_verdicts_is_never_overwritten_and_formulas_are_harmless(folder, tmp_path):
    table = pd.DataFrame({"text": ["=1+1, so"] * 100})
    write_rows(next_rows(folder, 4, data=table), tmp_path / "looked.csv")
    text = (tmp_path / "looked.csv").read_text()
    assert text.startswith("id,rank,probability,why,text,verdict\n99,1,") and '"\'=1+1, so"' in text
    with pytest.raises(ValueError, match="may hold verdicts; name another file"):
        write_rows(next_rows(folder, 4), tmp_path / "looked.csv")


def verdicts(path, lines, header="id,verdict"):
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def test_verdicts_become_labels(tmp_path):
    y = np.array([1.0, np.nan, np.nan, 0, 1, np.nan])
    first = verdicts(tmp_path / "a.csv", ["1,Yes", "2, no ", "3,", "0,yes", "4,0"])
    second = verdicts(tmp_path / "b.csv", ["2;yes", "5;N"], "id;verdict")
    with pytest.warns(UserWarning, match="verdict no on 1 labelled positives, such as row '4': they count"):
        labels, positive, negative, found = with_verdicts(y, None, [first, second])
    assert labels.tolist()[:3] == [1.0, FOUND, FOUND] and labels.tolist()[3:] == [0, NEGATIVE, NEGATIVE]
    assert (positive, negative, found) == (None, NEGATIVE, FOUND)
    labels, *named = with_verdicts(y, None, [verdicts(tmp_path / "c.csv", ["1,no"])], 1, "no", None)
    assert labels.tolist()[1] == "no" and named == [1, "no", None]
    names = np.array(["x", "=y", "z"], dtype=object)
    labels, *_ = with_verdicts(
        np.array(["p", "", ""]), names, [verdicts(tmp_path / "d.csv", ["x,yes", "'=y,yes"])], "p"
    )
    assert labels.tolist() == ["p", FOUND, ""]


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        (["1,perhaps"], "id,verdict", "says 'perhaps' about row '1'; write yes or no"),
        (["9,yes"], "id,verdict", "has a verdict on '9', which the data do not hold"),
        (["1,yes"], "id,verdikt", "has no column 'verdict'; did you mean 'verdikt'"),
    ],
)
def test_verdicts_that_cannot_be(tmp_path, lines, header, message):
    with pytest.raises(ValueError, match=message):
        with_verdicts(np.array([1.0, 0, 0]), None, [verdicts(tmp_path / "a.csv", lines, header)])


def test_label_values_beside_words():
    found = label_values(np.array(["1", "0", "no", np.nan, "1"], dtype=object), "y", None, "no")
    assert (found.positive, found.negative, found.found) == (None, "no", None)
    assert found.y[0] == 1.0 and found.y[2] == "no"
    found = label_values(np.array([1.0, 0, 2, 3]), "y", "1", "2", "3")
    assert (found.positive, found.negative, found.found) == (1.0, 2.0, 3.0)
    with pytest.raises(ValueError, match="negative=nope is not in column 'y', which holds '1' and 'no'"):
        label_values(np.array(["1", "no"], dtype=object), "y", None, "nope")


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    y = (random.random(400) < 0.4).astype(int)
    frame = pd.DataFrame(random.normal(size=(400, 3)) + 2.0 * y[:, None], columns=list("abc"))
    frame["fraud"] = np.where((y == 1) & (random.random(400) < 0.4), 1.0, np.nan)
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv", y


def test_from_a_fit_to_verdicts_to_the_next_fit(table, tmp_path):
    path, y = table
    told = dict(method="blend-pu", trees=8, bags=2, folds=2, report=False)
    fit_file(path, "fraud", folder=tmp_path / "first", **told)
    rows = next_rows(tmp_path / "first", 40, data=path)
    rows["verdict"] = np.where(y[rows["id"].astype(int)] == 1, "yes", "no")
    write_rows(rows, tmp_path / "looked.csv")
    answer = fit_file(path, "fraud", looked=tmp_path / "looked.csv", folder=tmp_path / "second", **told)
    assert answer.found == (rows["verdict"] == "yes").sum() > 0 and answer.negatives == 40 - answer.found > 0
    assert answer.rows == 400 and not {*map(int, rows["id"])} & {*answer.ranked["id"]}
    assert abs(answer.hidden - y[answer.ranked["id"]].sum()) < 60
    frame = pd.read_csv(path).astype({"fraud": object})  # the same in the label column
    frame.loc[rows["id"].astype(int), "fraud"] = np.where(rows["verdict"] == "yes", "found", "no")
    frame.to_csv(tmp_path / "marked.csv", index=False)
    same = fit_file(tmp_path / "marked.csv", "fraud", negative="no", found="found", **told)
    pd.testing.assert_frame_equal(same.ranked, answer.ranked)
    frame.loc[frame["fraud"] == "found", "fraud"] = "1.0"
    frame.to_csv(tmp_path / "half.csv", index=False)
    with pytest.warns(UserWarning, match="name it with --found"):
        fit_file(tmp_path / "half.csv", "fraud", negative="no", **told)


@pytest.mark.parametrize("n", [0, 1.5, "x", None])
def test_the_number_of_rows_is_a_whole_one(n, tmp_path):
    with pytest.raises(ValueError, match=f"^n={n!r} must be a whole number of at least 1"):
        next_rows(tmp_path, n)
