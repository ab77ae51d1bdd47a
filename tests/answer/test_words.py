"""Sentences that the terminal and the page share."""

from types import SimpleNamespace as Thing

from distpu.answer.words import columns_told, counts_explained, percent
from distpu.encode.leaks import TELLS


def answer(*columns):
    listed = [Thing(name=name, kind=kind, used=used, done=" ".join(done)) for name, kind, used, *done in columns]
    return Thing(model=Thing(encoder_=Thing(columns_=listed) if listed else None))


def test_columns_that_were_used_and_left_out():
    told = columns_told(
        answer(("a", "number", True), ("b", "number", True), ("c", "category", True), ("id", "id", False))
    )
    assert told == "columns used: 2 numbers, 1 category; left out: id (id)"
    many = columns_told(answer(*((f"x{i}", "constant", False) for i in range(20))))
    assert many.startswith("columns used: none; left out: x0 (constant)") and many.endswith("and 12 more")
    assert columns_told(answer()) == ""
    tells = columns_told(
        answer(("a", "number", True), ("id", "id", False, f"left out: it names the rows; {TELLS} (AUC 0.80)"))
    )
    assert tells.endswith("left out: id (id, but it tells labelled from unlabelled rows: --keep id)")


def test_numbers_as_people_read_them():
    assert [percent(share) for share in (0.004, 0.25, 0.953, 1.0)] == ["0.4 %", "25 %", "95.3 %", "100 %"]


def test_a_fit_without_held_out_rows_says_why_it_tells_no_precision():
    for called in (100, 50, 200):
        fitted = Thing(hidden=100.0, predicted=called, what="rows", model=Thing(expected_=None))
        told = counts_explained(fitted)
        assert "How many of them are right was not estimated, because no rows were held out of training" in told
        fitted.model.expected_ = Thing(precision=0.8)
        assert "was not estimated" not in counts_explained(fitted)
