"""Excel files: which sheet is read, and that it is said."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from distpu import datasets
from terminal import distpu, done, refused

pytest.importorskip("openpyxl", reason='pip install "distpu[excel]" brings it')


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A workbook: a title page without rows, customers, and orders, of which some are known frauds."""
    path = tmp_path_factory.mktemp("book") / "book.xlsx"
    random = np.random.default_rng(0)
    y = random.random(200) < 0.4
    orders = pd.DataFrame({"sum": random.normal(size=200) + 3 * y, "town": random.choice(["Ulm", "Bonn"], 200)})
    orders["fraud"] = np.where(y & (random.random(200) < 0.5), 1, np.nan)
    with pd.ExcelWriter(path) as writer:
        pd.DataFrame({"About": []}).to_excel(writer, sheet_name="title", index=False)
        pd.DataFrame({"name": ["a", "b"]}).to_excel(writer, sheet_name="customers", index=False)
        orders.to_excel(writer, sheet_name="orders", index=False)
    return path


def test_the_first_sheet_with_rows_is_read_and_the_others_are_named(book):
    with pytest.warns(UserWarning) as told:
        X, _ = datasets.read(book)
    assert X["name"].tolist() == ["a", "b"]
    (text,) = [str(one.message) for one in told]
    assert text.endswith("book.xlsx has 3 sheets, of which 'customers' is read; --sheet NAME, in Python sheet='NAME', "
                         "reads another one ('title', 'orders')")  # fmt: skip


def test_a_sheet_may_be_named(book):
    with datasets.of_sheet("orders", book):
        X, y = datasets.read(book, "fraud")
        pieces = list(datasets.pieces(book, rows=150))
    assert list(X) == ["sum", "town"] and len(y) == 200 and [len(piece) for piece in pieces] == [150, 50]
    with pytest.raises(ValueError, match="has no sheet 'order'; did you mean 'orders'. .it has 'title', 'customers'"):
        with datasets.of_sheet("order", book):
            datasets.read(book)


def test_a_workbook_of_one_sheet_is_read_without_a_word(tmp_path):
    pd.DataFrame({"a": [1, 2]}).to_excel(tmp_path / "one.xlsx", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert datasets.read(tmp_path / "one.xlsx")[0]["a"].tolist() == [1, 2]


def test_every_command_on_a_file_takes_the_sheet(book, tmp_path, monkeypatch):
    monkeypatch.setattr("distpu.diagnosis.default.SETTINGS", {"trees": 10, "bags": 2, "folds": 2})
    told = (book, "--label", "fraud", "--sheet", "orders")
    quick = [word for pair in ("trees=10", "bags=2", "folds=2") for word in ("--set", pair)]
    done("fit", *told, "--method", "blend-pu", *quick, "--folder", tmp_path / "run")
    done("predict", tmp_path / "run", book, "--sheet", "orders", "-o", tmp_path / "new.csv")
    assert len(pd.read_csv(tmp_path / "new.csv")) == 200
    done("next", tmp_path / "run", "-n", "6", "--data", book, "--sheet", "orders", "--out", tmp_path / "looked.csv")
    assert "town" in pd.read_csv(tmp_path / "looked.csv")
    done("diagnose", *told, "--json", tmp_path / "look.json")
    assert json.loads((tmp_path / "look.json").read_text())["labelled"] > 0
    assert done("prior", *told, "--estimators", "auto").rstrip().endswith("--label fraud --sheet orders")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        ended = distpu("predict", tmp_path / "run", book, "-o", tmp_path / "other.csv")
    assert ended.code != 0 and "of which 'customers' is read" in ended.err and "has no columns 'sum'" in ended.err


def test_a_sheet_of_a_text_file_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,fraud\n1,1\n2,0\n")
    line = refused("fit", tmp_path / "t.csv", "--label", "fraud", "--sheet", "orders")
    assert "--sheet orders is for Excel files" in line
