"""scores.csv as a spreadsheet and as pandas read it."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from distpu.files import scores

HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " =1",
    "＝1",
    "a,b",
    'say "hi"',
    "x\ny",
    "é",
]


def read(pieces):
    return list(csv.DictReader(io.StringIO(b"".join(pieces).decode(), newline="")))


def lines(ids, header=True):
    n = len(ids)
    z = np.linspace(1, -1, n)
    return scores.score_lines(ids, z, 1 / (1 + np.exp(-z)), np.arange(1, n + 1), (z >= 0).astype(int), header)


def test_no_cell_runs_as_a_formula():
    rows = read(lines(np.array(HOSTILE, dtype=object)))
    for row, text in zip(rows, HOSTILE, strict=True):
        assert row["id"] in (text, f"'{text}")
        assert row["id"][0] not in "=+-@\t\r＝" and row["id"].strip()[0] not in "=+-@"
    assert [row["id"] for row in rows[-4:]] == HOSTILE[-4:]


@pytest.mark.parametrize("text", ["-5", "+49123", "-1.5e-3", "0", "", "abc", "2024-01-01", "a=b"])
def test_numbers_and_plain_texts_stay_as_they_are(text):
    assert scores.harmless(text) == text


def test_blanks_and_numbers_as_ids():
    ids = np.array([None, np.nan, pd.NA, pd.NaT, 7, 2.5, "x"], dtype=object)
    assert [row["id"] for row in read(lines(ids))] == ["", "", "", "", "7", "2.5", "x"]


def test_pieces_are_one_file(monkeypatch):
    whole = b"".join(lines(np.arange(10)))
    monkeypatch.setattr(scores, "PIECE", 3)
    assert b"".join(lines(np.arange(10))) == whole and len(list(lines(np.arange(10)))) == 5
    table = pd.read_csv(io.BytesIO(whole))
    assert list(table) == list(scores.COLUMNS) and table["rank"].tolist() == list(range(1, 11))


def test_numbers_as_people_read_them():
    shown = [scores.short_number(value) for value in (20.0, 12345678.0, 0.1234567, -3.0, 1e20, float("inf"))]
    assert shown == ["20", "12345678", "0.123457", "-3", "1e+20", "inf"]
