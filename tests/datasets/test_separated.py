"""Text files as people have them."""

import codecs
import gzip

import pandas as pd
import pytest

from distpu import datasets
from distpu.datasets import damaged, separated

ROWS = [["name", "sum", "label"], ["Zoë", "1.5", "1"], ["Köln, Mitte", "2.5", "0"], ["a|b", "", "0"]]


def text(separator, decimal="."):
    def cell(value):
        return f'"{value}"' if any(c in value for c in ",;|\t") else value

    return "".join(separator.join(cell(v.replace(".", decimal)) for v in row) + "\n" for row in ROWS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_encodings(tmp_path, encoding, separator):
    (tmp_path / "t.csv").write_bytes(text(separator).encode(encoding))
    X, y = datasets.read(tmp_path / "t.csv", "label")
    assert X["name"].tolist() == ["Zoë", "Köln, Mitte", "a|b"] and y.tolist() == [1, 0, 0]
    assert X["sum"].tolist()[:2] == [1.5, 2.5]
    piece = next(datasets.pieces(tmp_path / "t.csv", ["sum", "name"]))
    assert piece["name"].tolist() == X["name"].tolist() and piece["sum"].tolist()[:2] == ["1.5", "2.5"]


def test_decimal_commas_in_text_and_numbers(tmp_path):
    content = "a;b;c;label\n1,5;1.234,5;x 1,5;1\n2;7;y;0\n?;2.000;z;0\n"
    (tmp_path / "t.csv").write_text(content)
    X, y = datasets.read(tmp_path / "t.csv", "label")
    assert X["a"].tolist() == ["1.5", "2", "?"] and X["b"].tolist() == [1234.5, 7, 2000] and y.tolist() == [1, 0, 0]
    assert X["c"].tolist() == ["x 1,5", "y", "z"]
    piece = next(datasets.pieces(tmp_path / "t.csv"))
    assert piece["b"].tolist() == ["1234.5", "7", "2000"]


def test_a_bomb_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(damaged, "PLAUSIBLE", 2**20)
    for encoding in ("utf-8", "utf-16", "utf-16-le"):
        (tmp_path / "t.csv.gz").write_bytes(
            gzip.compress("a,b\n".encode(encoding) + "0,0\n".encode(encoding).removeprefix(codecs.BOM_UTF16) * 2**21)
        )
        with pytest.raises(ValueError, match="it inflates to over .* GiB, as an archive bomb does"):
            datasets.read(tmp_path / "t.csv.gz")


def test_a_file_cut_within_a_line_and_a_cut_archive(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,0\n3,")
    with pytest.raises(ValueError, match="its last line has 2 of 3 fields, so the file was cut off.; write it again"):
        datasets.read(tmp_path / "t.csv", "label")
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,0\n3,4,1")  # no line end, but whole
    assert datasets.read(tmp_path / "t.csv", "label")[1].tolist() == [0, 1]


def test_two_columns_of_one_name(tmp_path):
    table = pd.DataFrame([[1, 2, 1]], columns=["a", "b", "label"])
    table.to_parquet(tmp_path / "t.parquet")
    assert [*datasets.read(tmp_path / "t.parquet")[0]] == ["a", "b", "label"]
    (tmp_path / "t.csv").write_text("a,a,label\n1,2,0\n")
    with pytest.raises(ValueError, match="it has two columns 'a'.; write it again"):
        datasets.read(tmp_path / "t.csv", "label")


def test_the_decimal_sign_is_found_over_the_whole_file(tmp_path):
    whole = "".join(f"{i};x\n" for i in range(300))
    (tmp_path / "t.csv").write_text("a;b\n" + whole + "1,50;y\n1.234;z\n")
    X, _ = datasets.read(tmp_path / "t.csv")
    assert X.attrs["decimal"] == "," and X["a"].tolist()[-2:] == [1.5, 1234]


@pytest.mark.parametrize(
    ("cells", "known", "wanted"),
    [
        ("1.234", ",", ","),
        ("1.234", None, "."),
        ("1,234", ".", "."),
        ("1,234", None, ","),
        ("12.5", ",", "."),
        ("12,5", ".", ","),
        ("12.5;1,25", ",", ","),
        ("7", ",", ","),
    ],
)
def test_the_sign_of_the_training_holds_unless_cells_speak_against_it(tmp_path, cells, known, wanted):
    (tmp_path / "t.csv").write_text(f"a;b\n{cells};x\n" if ";" not in cells else f"a;b\n{cells}\n")
    assert separated.form_of(tmp_path / "t.csv", ".csv", known).decimal == wanted


def test_a_folder_has_one_decimal_sign(tmp_path):
    (tmp_path / "1.csv").write_text("a;b\n1.234;x\n")
    (tmp_path / "2.csv").write_text("a;b\n1.234,50;x\n")
    assert datasets.read(tmp_path)[0]["a"].tolist() == [1234, 1234.5]


@pytest.mark.parametrize("line", ["000013;1,5", "000013;1.5"])
def test_names_of_rows_stay_as_they_are_written(tmp_path, line):
    (tmp_path / "t.csv").write_text(f"k;v\n{line}\n1.234;2\n")
    assert datasets.read(tmp_path / "t.csv", texts=["k"])[0]["k"].tolist() == ["000013", "1.234"]
    assert next(datasets.pieces(tmp_path / "t.csv", texts=["k"]))["k"].tolist() == ["000013", "1.234"]


def test_a_last_cell_of_several_lines_is_not_cut(tmp_path):
    rows = "".join(f'{i},2,"x"\n' for i in range(30))
    (tmp_path / "t.csv").write_text("a,b,t\n" + rows + '1,2,"first line\nsecond\nthird line"')
    assert len(datasets.read(tmp_path / "t.csv")[0]) == 31
    (tmp_path / "t.csv").write_text("a,b,t\n" + rows + '1,2,"first line\nsecond"\n1,2')
    with pytest.raises(ValueError, match="2 of 3 fields, so the file was cut off"):
        datasets.read(tmp_path / "t.csv")
