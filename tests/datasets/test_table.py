"""A user's own file."""

import gzip
import io
import pickle
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from distpu import datasets
from distpu.datasets.header import check_table


def message(kind, function, *args, **kwargs) -> str:
    """What the call says when it fails: always one line."""
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("rows, label", [("X", "y"), ("x", "y"), ("X", "s"), ("x", None)])
def test_npz_keys_are_found(tmp_path, rows, label):
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.savez(tmp_path / "a.npz", **{rows: x, "other": x, **({label: [1, 0]} if label else {})})
    X, y = datasets.read(tmp_path / "a.npz")
    assert np.array_equal(X, x) and X.dtype == np.uint8
    assert y is None if label is None else y.tolist() == [1, 0]


def test_npz_label_may_be_named(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 3)), y=[0, 0], truth=["yes", "no"])
    assert datasets.read(str(tmp_path / "a.npz"), label="truth")[1].tolist() == ["yes", "no"]
    told = message(ValueError, datasets.read, tmp_path / "a.npz", label="trut")
    assert "has no array 'trut'; did you mean 'truth'? (it has 'X', 'y', 'truth')" in told


@pytest.mark.parametrize(
    "arrays, told",
    [
        ({"features": np.ones((2, 2))}, "has no array 'X' (it has 'features')"),
        ({}, "has no array 'X' (it has none)"),
        ({"X": np.array([[1, None]], object)}, "Object arrays cannot be loaded"),
        ({"X": np.ones((2, 2)), "y": np.array([1, None], object)}, "Object arrays cannot be loaded"),
        ({"X": np.array([["a"]])}, "'X' has shape (1, 1) and type <U1); give numbers"),
        ({"X": np.ones((0, 3))}, "'X' has shape (0, 3)"),
        ({"X": np.float64(1)}, "'X' has shape ()"),
        ({"X": np.ones((2, 2)), "y": [1]}, "'X' has 2 rows, 'y' has shape (1,)"),
    ],
)
def test_npz_with_unusable_arrays(tmp_path, arrays, told):
    np.savez(tmp_path / "a.npz", **arrays)
    found = message(ValueError, datasets.read, tmp_path / "a.npz")
    assert found.startswith(str(tmp_path / "a.npz")) and told in found


def test_damaged_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.ones((100, 10)))
    whole = path.read_bytes()
    npy = io.BytesIO()
    np.save(npy, np.ones(3))
    flipped = whole[:300] + b"\xff" * 50 + whole[350:]
    for content in (whole[:-40], whole[:500], flipped, b"garbage", pickle.dumps([1]), npy.getvalue()):
        path.write_bytes(content)
        told = message(ValueError, datasets.read, path)
        assert told.startswith(f"{path} cannot be used (") and "pickle" not in told


TABLE = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 1.5], "c": [True, False, True], "label": [1, 0, 1]})
WRITERS = {
    "t.csv": lambda table, path: table.to_csv(path, index=False),
    "t.csv.gz": lambda table, path: table.to_csv(path, index=False),
    "T.CSV": lambda table, path: table.to_csv(path, index=False),
    "t.tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    "t.parquet": lambda table, path: table.to_parquet(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_tables_give_their_columns_and_the_label_as_they_are(tmp_path, name):
    WRITERS[name](TABLE, tmp_path / name)
    X, y = datasets.read(tmp_path / name, label="label")
    assert list(X.columns) == ["a", "b", "c"] and [dtype.kind for dtype in X.dtypes] == ["i", "f", "b"]
    assert X["c"].tolist() == [1, 0, 1] and np.isnan(X["b"][1])  # a gap is the encoder's to judge
    assert isinstance(y, np.ndarray) and y.dtype == np.int64 and y.tolist() == [1, 0, 1]
    X, y = datasets.read(str(tmp_path / name))
    assert list(X.columns) == ["a", "b", "c", "label"] and y is None


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize(
    "labels", [["yes", "no", "yes"], [True, False, True], [1.0, np.nan, 1.0], [-1, 1, 1], ["x", np.nan, "x"]]
)
def test_labels_come_out_as_they_are_in_the_file(tmp_path, name, labels):
    WRITERS[name](TABLE.assign(label=labels), tmp_path / name)
    y = datasets.read(tmp_path / name, label="label")[1]
    assert isinstance(y, np.ndarray) and len(y) == 3
    assert all(a == b or (a != a and b != b) for a, b in zip(y.tolist(), labels, strict=True))
    assert y.dtype.kind == {str: "O", bool: "b", float: "f", int: "i"}[type(labels[0])]


def test_parquet_with_nullable_columns(tmp_path):
    table = pd.DataFrame({"n": pd.array([1, None, 3], "Int64"), "d": [Decimal("1.5"), None, Decimal(2)]})
    table["flag"], table["none"] = pd.array([True, None, False], "boolean"), None
    table["label"] = pd.array([1, None, 1], "Int64")
    table.index = ["r", "s", "t"]
    table.to_parquet(tmp_path / "t.parquet")
    X, y = datasets.read(tmp_path / "t.parquet", label="label")
    assert X.isna().to_numpy().tolist() == [[False, False, False, True], [True] * 4, [False, False, False, True]]
    assert (X["n"][2], float(X["d"][0]), X["flag"][2]) == (3, 1.5, False)
    assert y.dtype == float and np.isnan(y[1]) and y[0] == 1 and list(X.index) == [0, 1, 2]


NULLABLE = [("Int64", 1), ("boolean", True), ("string", "yes"), ("category", "yes")]


@pytest.mark.parametrize("kind, known", NULLABLE)
def test_a_label_missing_in_a_nullable_column_is_nan(tmp_path, kind, known):
    table = pd.DataFrame({"a": [1, 2], "label": pd.Series([known, None], dtype=kind)})
    table.to_parquet(tmp_path / "t.parquet")
    y = datasets.read(tmp_path / "t.parquet", label="label")[1]
    assert y[0] == known and isinstance(y[1], float) and np.isnan(y[1])


def test_a_missing_label_column_lists_the_columns(tmp_path):
    WRITERS["t.csv"](TABLE, tmp_path / "t.csv")
    told = message(ValueError, datasets.read, tmp_path / "t.csv", label="lable")
    assert told.endswith("has no column 'lable'; did you mean 'label'? (it has 'a', 'b', 'c', 'label')")
    pd.DataFrame(np.ones((1, 30))).to_csv(tmp_path / "wide.csv", index=False)
    told = message(ValueError, datasets.read, tmp_path / "wide.csv", label="label")
    assert told.endswith("'8', '9' and 20 more)")


def test_columns_can_be_chosen_and_ordered(tmp_path):
    WRITERS["t.csv"](TABLE.assign(city=["x", "y", "z"]), tmp_path / "t.csv")
    X, y = datasets.read(tmp_path / "t.csv", columns=["c", "a"])
    assert list(X.columns) == ["c", "a"] and X.to_numpy().tolist() == [[1, 1], [0, 2], [1, 3]] and y is None
    assert datasets.read(tmp_path / "t.csv", label="label", columns=["a"])[1].tolist() == [1, 0, 1]
    told = message(ValueError, datasets.read, tmp_path / "t.csv", columns=["a", "town"])
    assert "has no column 'town' (it has 'a', " in told


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_words_dates_and_numbers_come_as_they_are(tmp_path, name):
    dates = pd.date_range("2024", periods=3)
    WRITERS[name](TABLE.assign(city=["x", "y", "z"], day=dates, mixed=["1", "2", "?"]), tmp_path / name)
    X, _ = datasets.read(tmp_path / name, label="label")
    assert X["city"].tolist() == ["x", "y", "z"] and X["mixed"].tolist() == ["1", "2", "?"]
    assert [str(day)[:10] for day in X["day"]] == ["2024-01-01", "2024-01-02", "2024-01-03"]


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("t.csv", b"", "is empty"),
        ("t.npz", b"", "is empty"),
        ("t.parquet", b"", "is empty"),
        ("t.csv", b"\n\n", "No columns to parse"),
        ("t.csv", b"a,b,label\n", "has columns but no rows"),
        ("t.csv.gz", gzip.compress(b"a,b,label\n", mtime=0), "has columns but no rows"),
        ("t.csv.gz", gzip.compress(b"a,label\n" + b"1,0\n" * 99, mtime=0)[:-12], "cannot be used ("),
        ("t.csv.gz", b"a,label\n1,0\n", "cannot be used ("),
        ("t.csv", b"a,label\n1,0\n1,2,3,4\n", "Expected 2 fields in line 3, saw 4"),
        ("t.csv", b"a,label\n1,0,5\n1,0,5\n", "more fields in its rows than in its header"),
        ("t.csv", bytes(range(256)) * 9, "it is not a text file"),
        ("t.xlsx", b"PK garbage", "cannot be used ("),
        ("t.feather", b"garbage", "cannot be used ("),
        ("t.csv", b"label\n1\n0\n", "has no column besides the label"),
        ("t.parquet", b"PAR1 garbage", "cannot be used ("),
    ],
)
def test_unusable_tables_are_told_apart(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    found = message(ValueError, datasets.read, tmp_path / name, label="label")
    assert found.startswith(str(tmp_path / name)) and told in found


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize(
    "text",
    ["a,b,label\n1.5,2,1\n3,4,0\n", "a;b;label\n1.5;2;1\n3;4;0\n", "a;b;label\n1,5;2;1\n3;4;0\n"],
    ids=["commas", "semicolons", "decimal commas"],
)
def test_commas_and_semicolons(name, text, tmp_path):
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    x, y = datasets.read(tmp_path / name, label="label")
    assert x.to_dict("list") == {"a": [1.5, 3.0], "b": [2.0, 4.0]} and y.tolist() == [1, 0]


def test_row_numbers_without_a_name_are_left_out(tmp_path):
    table = pd.DataFrame({"a": [1.5, 3.0, 2.0], "label": [1, 0, 0]}, index=[2, 0, 5])
    table.to_csv(tmp_path / "t.csv")
    with pytest.warns(UserWarning, match="t.csv has a column without a name that numbers the rows; it is left out"):
        x, _ = datasets.read(tmp_path / "t.csv", label="label")
    assert [*x] == ["a"]
    x, _ = datasets.read(tmp_path / "t.csv", columns=["a"])  # to be scored: nothing to say
    assert [*x] == ["a"]
    table.assign(**{"": [0.5, 0.5, 1.0]}).to_csv(tmp_path / "t.csv", index=False)
    assert [*datasets.read(tmp_path / "t.csv", label="label")[0]] == ["a", "Unnamed: 2"]  # no row numbers


def test_a_truncated_parquet_file(tmp_path):
    path = tmp_path / "t.parquet"
    TABLE.to_parquet(path)
    path.write_bytes(path.read_bytes()[:-30])
    assert message(ValueError, datasets.read, path).startswith(f"{path} cannot be used (")


def test_a_long_column_of_numbers_and_words_keeps_one_type(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n" + "1,1\n" * 300_000 + "1,unknown\n")
    y = datasets.read(tmp_path / "t.csv", label="label")[1]
    assert {type(value) for value in y.tolist()} == {str}


def test_a_file_that_is_not_there_hints_at_a_neighbour(tmp_path):
    (tmp_path / "train.csv").write_text("a\n1\n")
    told = message(FileNotFoundError, datasets.read, tmp_path / "trian.csv")
    assert told == f"{tmp_path / 'trian.csv'} does not exist; did you mean 'train.csv'?"
    told = message(FileNotFoundError, datasets.read, tmp_path / "no" / "x.csv")
    assert told == f"{tmp_path / 'no' / 'x.csv'} does not exist"


@pytest.mark.parametrize("name", ["a.xls", "a", "a.npz.gz"])
def test_an_unknown_extension_lists_the_known_ones(tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    told = message(ValueError, datasets.read, tmp_path / name)
    assert f"extension {Path(name).suffix!r} is not known" in told
    assert ".npz, .parquet, .csv, .tsv, .txt, .csv.gz" in told


def test_a_folder_of_tables_is_one_table(tmp_path):
    (tmp_path / "a.csv").mkdir()
    assert "is a folder without tables" in message(ValueError, datasets.read, tmp_path / "a.csv")
    for name, rows in (("b", TABLE[2:]), ("a", TABLE[:2])):
        rows.to_parquet(tmp_path / f"a.csv/{name}.parquet")
    X, y = datasets.read(tmp_path / "a.csv", label="label")
    assert X["a"].tolist() == [1, 2, 3] and y.tolist() == [1, 0, 1]
    TABLE.rename(columns={"a": "z"}).to_parquet(tmp_path / "a.csv/c.parquet")
    assert "has tables with different columns" in message(ValueError, datasets.read, tmp_path / "a.csv")


# ---- the real sets ----


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_lines_above_the_header_are_said(tmp_path, ending):
    """A report often has its title above the table."""
    path = tmp_path / f"report.{ending}"
    table = pd.DataFrame({"price": [1, 2], "sold": [1, 0]})
    if ending == "csv":
        path.write_text("Sales of 2024\n\n" + table.to_csv(sep=";", index=False))
    else:
        pytest.importorskip("openpyxl")
        with pd.ExcelWriter(path) as book:
            table.to_excel(book, index=False, startrow=2)
            book.sheets["Sheet1"]["A1"] = "Sales of 2024"
    look = check_table if ending == "csv" else datasets.read
    assert "no column 'sold'; line 3 names it: delete the lines above" in message(ValueError, look, path, "sold")
    assert "delete the lines" not in message(ValueError, look, path, "missing")


@pytest.mark.parametrize("look", [check_table, datasets.read])
@pytest.mark.parametrize("start, kind", [(b"PK\3\4", "Excel"), (b"PAR1", "Parquet"), (b"\x1f\x8b", ".gz")])
def test_another_format_under_the_name_of_a_text_is_named(tmp_path, look, start, kind):
    (tmp_path / "t.csv").write_bytes(start + b"\x14\n" * 90)
    told = message(ValueError, look, tmp_path / "t.csv", "label")
    assert "is no text file: it begins as" in told and kind in told
