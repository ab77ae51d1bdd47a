"""A row is encoded alike in every form of its column, beside any rows, and in a frame of any length."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from threadpoolctl import threadpool_limits

from distpu import METHODS
from distpu.encode import TableEncoder

NIGHT = pd.date_range("2024-01-01", periods=60, freq="7h", tz="America/New_York")


def beside(values):
    return pd.DataFrame({"d": values, "x": np.arange(len(values)) * 1.5})


def polars(blank):
    days = [None if blank and i == 59 else day for i, day in enumerate(NIGHT.to_pydatetime())]
    dates = pl.Series("d", days, dtype=pl.Datetime("us", "America/New_York"))
    return pl.DataFrame({"d": dates, "x": np.arange(60) * 1.5})


@pytest.mark.parametrize(
    "same",
    [
        beside([day.isoformat() for day in NIGHT]),
        beside(pd.Series(list(NIGHT.to_pydatetime()), dtype=object)),
        polars(False),
        polars(True),
    ],
    ids=["text", "object", "polars", "polars with a blank"],
)
def test_an_instant_is_the_same_in_every_form(same):
    encoder = TableEncoder().fit(beside(NIGHT))
    np.testing.assert_array_equal(encoder.transform(beside(NIGHT))[:59], encoder.transform(same)[:59])


def test_a_date_without_end_is_blank_in_every_form():
    days = [f"2024-01-{i:02d}" for i in range(1, 31)]
    encoder = TableEncoder().fit(beside(pd.to_datetime(pd.Series(days))))
    never = np.array(["9999-12-31", "2024-01-02"], dtype="datetime64[s]")
    objects = pd.Series([datetime.datetime(9999, 12, 31), datetime.datetime(2024, 1, 2)], dtype=object)
    for form in (never, never.astype(str), objects):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = encoder.transform(beside(form))
        assert np.isnan(row[0, 0]) and row[1, 0] == 1
    assert TableEncoder().fit(beside(np.repeat(never[:1], 30))).columns_[0].kind == "constant"


def test_a_category_does_not_depend_on_the_rows_beside_it():
    table = pd.DataFrame({"c": ["1", "2", "A"] * 20, "x": np.arange(60) * 1.5})
    encoder = TableEncoder().fit(table)
    alone = pd.DataFrame({"c": pd.Series([1.0], dtype=object), "x": [0.0]})
    both = pd.DataFrame({"c": pd.Series([1.0, "A"], dtype=object), "x": [0.0, 0.0]})
    np.testing.assert_array_equal(encoder.transform(alone)[0], encoder.transform(both)[0])
    assert encoder.transform(alone)[0].sum() == 1


def test_vectors_may_have_any_blank():
    table = beside(pd.Series([[1, 2], [3, 5], None, pd.NA] * 10, dtype=object))
    assert TableEncoder().fit(table).columns_[0].kind == "vector"


def outside(n, rows):
    """The first row that the encoder's sample of n rows does not have."""
    return int(np.setdiff1d(np.arange(n), np.random.RandomState(0).permutation(n)[:rows])[0])


def test_a_blank_outside_the_sample_is_filled():
    n = 50_001
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(n, 2)), columns=["a", "b"])
    X.iloc[outside(n, 50_000), 0] = np.nan
    rows = METHODS["dist-pu"]()._first_rows(X, (np.arange(n) % 10 == 0).astype(int))
    assert np.isfinite(np.asarray(rows)).all()


def test_infinity_outside_the_sample_is_refused():
    X = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60), "c": ["u", "v"] * 30})
    at = outside(60, 40)
    X.loc[at, "a"] = np.inf
    with pytest.raises(ValueError, match=f"1 in 1 rows, first in row {at}, column 'a'"):
        TableEncoder(rows=40).fit(X)


@pytest.mark.parametrize("columns", [["a", "c"], ["a", "m"]])
def test_rows_of_weight_0_do_not_count_in_a_frame(columns):
    random = np.random.default_rng(0)
    a = random.normal(size=200)
    X = pd.DataFrame({"a": a, "c": random.choice(["u", "v"], 200), "m": np.round(a * 5) + random.normal(size=200)})
    y = ((a > 0) & (random.random(200) < 0.4)).astype(int)
    none = pd.DataFrame({"a": [99.0] * 50, "c": [f"z{i % 6}" for i in range(50)], "m": [np.nan] * 50})
    both = pd.concat([X, none], ignore_index=True)
    one = METHODS["elkan-noto"](random_state=0).fit(X[columns], y)
    weight = np.r_[np.ones(200), np.zeros(50)]
    two = METHODS["elkan-noto"](random_state=0).fit(both[columns], np.r_[y, np.ones(50, int)], sample_weight=weight)
    assert [str(c) for c in one.encoder_.columns_] == [str(c) for c in two.encoder_.columns_]
    np.testing.assert_array_equal(one.predict_proba(X[columns]), two.predict_proba(X[columns]))


def test_numbers_of_texts_do_not_depend_on_the_number_of_threads():
    """A run folder knows its data by these numbers; the same command on another day must find it finished."""
    random = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(300)])
    table = pd.DataFrame({"t": [" ".join(random.choice(words, 8)) for _ in range(3000)]})
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            found.append(TableEncoder().fit(table).transform(table))
    np.testing.assert_array_equal(*found)
