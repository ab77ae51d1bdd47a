"""TableEncoder: what it recognises, what it leaves out, what it says of cells it does not know, what it stores."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from distpu.encode import TableEncoder
from distpu.encode.category import as_boolean
from distpu.encode.date import formats_of, read_dates
from distpu.encode.number import decimal_of, ordered_number, plain_number
from distpu.encode.recognise import is_id_name

N = 60
COLUMNS = {  # name: (cells, kind, names of the columns made of it)
    "price": ([f"${i:,}.50" for i in range(900, 900 + N)], "number", ["price"]),
    "share": ([f"{i} %" for i in range(N)], "number", ["share"]),
    "amount": ([f"1.{i:03d},5" for i in range(N)], "number", ["amount"]),
    "weight": ([f"{i / 7:.1f} kg" for i in range(N)], "number", ["weight"]),
    "seniority": (["10+ years", "< 1 year", "1 year", "2 years"] * 15, "number", ["seniority"]),
    "plate": ([f"{i:04d}X" for i in range(N)], "id", []),
    "parcel": (["5 kg", "300 g", "2 kg"] * 20, "category", ["parcel=2 kg", "parcel=300 g", "parcel=5 kg"]),
    "gaps": ([i / 7 if i % 3 else "?" for i in range(N)], "number", ["gaps"]),
    "staff": (["<10", "10-49", "50-99", "10000+"] * 15, "number", ["staff"]),
    "last job": (["1", "2", "3", ">4", "never", "2"] * 10, "number", ["last job", "last job=never"]),
    "flag": (["ja", "nein"] * 30, "boolean", ["flag"]),
    "truth": ([True, False] * 30, "boolean", ["truth"]),
    "sex": (["F", "M", "M", "F", "M"] * 12, "category", ["sex=M"]),
    "town": (["Bonn", "Rome", "Oslo", "-"] * 15, "category", ["town=Bonn", "town=Oslo", "town=Rome", "town (blank)"]),
    "day": (["2024-01-02", "2024-03-05", "2024-03-07"] * 20, "date", ["day (days)", "day (month)", "day (day)",
                                                                    "day (weekday)"]),
    "order_id": ([f"A-{i:06d}" for i in range(N)], "id", []),
    "userID": (list(range(5000, 5000 + 7 * N, 7)), "id", []),
    "row": (list(range(1, N + 1)), "id", []),
    "same": (["x"] * N, "constant", []),
    "nothing": (["NA", " ", None, "-", "null", "?"] * 10, "constant", []),
    "vector": ([[i, 2.0] for i in range(N)], "vector", ["vector (0)", "vector (1)"]),
    "place": ([f"{48 + i / 9:.3f}, {11 - i:.2f}" for i in range(N)], "vector", ["place (0)", "place (1)"]),
    "written": ([f"[{i} 2.5\n -1e-3]" for i in range(N)], "vector", ["written (0)", "written (1)", "written (2)"]),
    "stamp": ([20240101 + i % 28 for i in range(N)], "date", ["stamp (days)", "stamp (day)", "stamp (weekday)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_recognised(name):
    cells, kind, names = COLUMNS[name]
    X = pd.DataFrame({name: cells, "x": np.random.RandomState(0).rand(N)})
    made = TableEncoder().fit(X)
    assert made.columns_[0].kind == kind and made.columns_[0].used == bool(names)
    assert sorted(made.get_feature_names_out()[:-1]) == sorted(names)
    x = made.transform(X)
    assert x.dtype == np.float32 and x.shape == (N, len(names) + 1) and made.columns_[0].width == len(names)


@pytest.mark.parametrize(
    "text, decimal, value",
    [("1,234.5", ".", 1234.5), ("1.234,5", ",", 1234.5), ("12 %", ".", 0.12), ("€ 5", ".", 5.0), ("(300)", ".", -300.0)]
    + [("1 234", ".", 1234.0), ("-7", ".", -7.0), ("1e3", ".", 1000.0), ("1,2,3", ".", None), ("12a", ".", None)]
    + [("1'000.25", ".", 1000.25), ("USD 3", ".", 3.0), ("", ".", None), ("٣x", ".", None)],
)
def test_numbers_as_people_write_them(text, decimal, value):
    found = plain_number(text, decimal)
    assert found is None if value is None else found == pytest.approx(value)


def test_a_unit_behind_numbers_is_read_and_another_one_is_told_of():
    X = pd.DataFrame({"weight": [f"{i / 4:.1f} kg" for i in range(N)]})
    made = TableEncoder().fit(X)
    assert made.transform(X)[:, 0].tolist() == pytest.approx([round(i / 4, 1) for i in range(N)], abs=0.06)
    state, arrays = made.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(state)), arrays)
    new = pd.DataFrame({"weight": ["7.5 kg", "7.5", "2 lb"]})
    with pytest.warns(UserWarning, match="'2 lb'"):
        x = again.transform(new)[:, 0]
    assert x[:2].tolist() == [7.5, 7.5] and np.isnan(x[2])


def test_an_encoder_that_was_stored_before_units_were_known_is_read():
    X = pd.DataFrame({"price": [f"${i:,}.50" for i in range(900, 900 + N)]})
    made = TableEncoder().fit(X)
    state, arrays = made.to_state()
    assert json.dumps(state).count('"unit": ""') == 1
    old = json.loads(json.dumps(state).replace(', "unit": ""', ""))
    assert "unit" not in json.dumps(old)
    assert np.array_equal(TableEncoder.from_state(old, arrays).transform(X), made.transform(X))


def test_numbers_in_order_stay_in_order():
    values = [ordered_number(t) for t in ("<1", "1", "10-49", "50-99", "100+", ">500")]
    assert values == sorted(values) and len(set(values)) == 6
    assert ordered_number("soon") is None and ordered_number("9-1") is None
    assert decimal_of(["1,5", "2,25"]) == "," and decimal_of(["1,500", "2.25"]) == "."
    assert decimal_of(["1234,567", "1,234"]) == "," and decimal_of(["0,123"]) == "," and decimal_of(["12,345"]) == "."


@pytest.mark.parametrize(
    "texts",
    [["31/12/2023", "01/02/2024"], ["12/31/2023", "01/02/2024"], ["31.12.2023 23:59", "01.02.2024 00:00"]]
    + [["2023-12-31T23:59:00Z", "2024-01-02T00:00:00+01:00"], ["31 Dec 2023", "02 Jan 2024"], ["Dec 31, 2023"] * 2]
    + [["31-Dec-23", "02-Jan-24"], ["20231231", "20240102"], ["12/31/23 11:59 PM", "01/02/24 12:00 AM"]],
)
def test_dates_of_many_spellings(texts):
    formats = formats_of(texts, np.ones(len(texts)), 0.95)
    assert str(read_dates(texts, formats)[0])[:10] == "2023-12-31"


def test_numbers_too_long_for_a_float_and_empty_lists():
    long = pd.DataFrame({"a": [10**400, 1, None] * 20, "b": np.arange(60) % 7}, dtype=object)
    found = TableEncoder().fit(long)  # beyond 2**53 whole numbers name something, as texts do
    assert found.columns_[0].kind == "category" and found.transform(long)[:3, 0].tolist() == [1, 0, 0]
    empty = TableEncoder().fit(pd.DataFrame({"a": [[]] * 60, "b": np.arange(60) % 7}))
    assert empty.columns_[0].done == "left out: its lists do not hold numbers of one length"


def test_ids_are_known_by_name_and_booleans_by_spelling():
    assert all(map(is_id_name, ["id", "customer_id", "PassengerId", "UUID", "row number", "userID"]))
    assert not any(map(is_id_name, ["idea", "paid", "width", "humidity", "valid"]))
    assert [as_boolean(v) for v in ("Yes", "n", "TRUE", "nein")] == [1, 0, 1, 0] and np.isnan(as_boolean("maybe"))


def test_what_is_left_out_can_be_kept_and_more_can_be_dropped(table):
    X, s, _ = table
    left = {c.name: c.done for c in TableEncoder().fit(X, s).columns_ if not c.used}
    assert set(left) == {"customer_id", "empty", "version"} and all(
        why.startswith("left out: ") for why in left.values()
    )
    made = TableEncoder(drop=["note", "shop"], keep=["version"], id="customer_id").fit(X, s)
    assert {c.name for c in made.columns_ if not c.used} == {"customer_id", "empty", "note", "shop"}
    for told, words in (
        ({"drop": ["nota"]}, "drop: X has no column 'nota'; did you mean 'note'?"),
        ({"keep": ["note"], "drop": ["note"]}, "column 'note' is to be kept and to be left out"),
        ({"drop": "note"}, "drop='note' must be a list of column names"),
        ({"blanks": "fil"}, "blanks='fil' must be 'keep' or 'fill'; did you mean 'fill'?"),
        ({"components": 0}, "components=0 must be a whole number of at least 1"),
    ):
        with pytest.raises(ValueError) as error:
            TableEncoder(**told).fit(X, s)
        assert words in str(error.value)


def test_a_column_that_gives_the_label_away_is_left_out_and_honest_ones_stay(table):
    X, s, y = table
    called = pd.Series(np.where(s == 1, "2024-05-01", None), dtype=object)
    made = TableEncoder().fit(X.assign(called=called), s)
    assert [c.name for c in made.columns_ if c.kind == "leak"] == ["called"] and "AUC 1.000" in made.columns_[-1].done
    assert made.transform(X.assign(called=called)).shape[1] == TableEncoder().fit(X, s).width_
    assert not [c for c in TableEncoder(keep=["called"]).fit(X.assign(called=called), s).columns_ if c.kind == "leak"]
    assert not [c for c in TableEncoder(leaks=False).fit(X.assign(called=called), s).columns_ if c.kind == "leak"]
    honest = X.assign(
        a=y + 0.1 * np.random.RandomState(0).rand(len(y))
    )  # the class itself: hidden positives have it too
    assert not [c for c in TableEncoder().fit(honest, s).columns_ if c.kind == "leak"]


def test_new_cells_are_read_as_blanks_and_told_of_once(table):
    X, s, _ = table
    made = TableEncoder().fit(X, s)
    new = X[:10].copy().astype(object)
    new.loc[0, "city"], new.loc[1, "age"], new.loc[2, "since"], new.loc[3, "member"] = "Lima", "old", "soon", "perhaps"
    new["income"] = "$9,000,000,000"
    with pytest.warns(UserWarning) as told:
        x = made.transform(new)
    assert len(told) == 1
    for words in (
        "'city' (1 new categories, such as 'Lima')",
        "'age' (1 no number, such as 'old')",
        "'since' (1 no date, such as 'soon')",
        "'income' (10 far outside the range in training, such as '$9,000,000,000')",
        "; what cannot be read and new values count as blank; far-off numbers are taken as they are: check their unit",
        "; write dates of 'since' as in training, such as '01.01.2023', or as 2024-01-31, or as 2024-01-31 14:05",
    ):
        assert words in str(told[0].message)
    names = list(made.get_feature_names_out())
    assert np.isnan(x[1, names.index("age")]) and np.isnan(x[2, names.index("since (days)")])
    assert x[0, [j for j, n in enumerate(names) if n.startswith("city=")]].sum() == 0


def changing(first, then, n=600, at=400):
    """A column that changes at row `at`, beside an ordinary one, with some blanks."""
    values = pd.Series([first(i) if i < at else then(i) for i in range(n)], dtype=object)
    values[::50] = None
    return pd.DataFrame({"sum": values, "x": np.random.RandomState(0).rand(n)})


def number(i):
    return f"{i * 7 % 100}.5"


def day(i):
    return f"{i % 28 + 1:02d}.03.2024"


def word(i):
    return f"word {i % 30}"


@pytest.mark.parametrize(
    "first, then, at, words",
    [
        (number, word, 400, "numbers up to row 400, other texts from row 401 on ('word 11'); it is read as a category"),
        (word, number, 300, "other texts up to row 300, numbers from row 301 on ('7.5'); it is read as a category"),
        (number, word, 575, "numbers up to row 574, other texts from row 575 on ('word 5'); it is read as numbers, "
                            "with blanks for the other texts"),
        (day, word, 300, "dates up to row 300, other texts from row 301 on ('word 1'); it is read as a category"),
    ],
)  # fmt: skip
def test_a_column_that_changes_its_kind_half_way_is_told_of(first, then, at, words):
    with pytest.warns(UserWarning) as told:
        made = TableEncoder().fit(changing(first, then, at=at))
    (text,) = [str(one.message) for one in told]
    assert text.startswith(f"column 'sum' changes half way: {words}; if this is a mistake, mend the file, or leave the")
    assert text.endswith("--drop sum, in Python drop=['sum']")
    assert " up to row " in made.columns_[0].done and made.columns_[0].used


def test_the_row_at_which_a_column_changes_is_that_of_the_file():
    """Of a long table a sample is looked at."""
    with pytest.warns(UserWarning, match="from row 401 on"):
        TableEncoder(rows=200).fit(changing(number, word))


@pytest.mark.parametrize("mixed", [lambda i: number(i) if i % 3 else word(i), number, word, day])
def test_codes_that_mix_letters_and_numbers_are_no_change(mixed):
    TableEncoder().fit(changing(mixed, mixed))  # a warning would be an error here


def test_blanks_are_filled_with_the_median_and_marked(table):
    X, s, _ = table
    made = TableEncoder(blanks="fill").fit(X, s)
    x, names = made.transform(X), list(made.get_feature_names_out())
    assert np.isfinite(x).all()
    blank = X["age"].isna().to_numpy()
    np.testing.assert_array_equal(x[:, names.index("age (blank)")], blank)
    assert set(x[blank, names.index("age")]) == {np.float32(X["age"].median())}


def test_it_is_a_scikit_learn_transformer(table):
    X, s, _ = table
    X = X.drop(columns="shop")  # a fold may lack some of its values
    pipe = make_pipeline(TableEncoder(blanks="fill", leaks=False), LogisticRegression(max_iter=2000))
    search = GridSearchCV(pipe, {"tableencoder__one_hot": [2, 20]}, cv=2, scoring="roc_auc").fit(X, s)
    assert search.best_score_ > 0.6
    assert clone(TableEncoder(drop=("a",))).get_params() == TableEncoder(drop=("a",)).get_params()


# ------------------------------------------------------------------------- state


def test_what_was_learnt_comes_back_through_json(table):
    X, s, _ = table
    made = TableEncoder(drop=["size"]).fit(X, s)
    state, arrays = made.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(state)), arrays)
    np.testing.assert_array_equal(again.transform(X), made.transform(X))
    assert again.columns_ == made.columns_ and again.get_params() == {**made.get_params(), "keep": []}


def paths(value, at=()):
    """Every place of a nested value."""
    yield at
    for key, inside in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        if not isinstance(value, list) or key < 3:
            yield from paths(inside, (*at, key))


def test_a_damaged_state_is_one_line_or_still_an_encoder(table):
    """Each place of the state is replaced by values of other kinds."""
    X, s, _ = table
    made = TableEncoder(components=3, terms=30).fit(X, s)
    state, arrays = made.to_state()
    text = json.dumps(state)
    refused = 0
    for place in list(paths(json.loads(text)))[1:]:
        for value in (None, -1, 3.5, "x", [], {}, True, 10**30, float("nan"), [None], "\ud800"):
            damaged = json.loads(text)
            inside = damaged
            for key in place[:-1]:
                inside = inside[key]
            inside[place[-1]] = value
            try:
                again = TableEncoder.from_state(damaged, arrays)
            except ValueError as error:
                refused += 1
                assert "\n" not in str(error) and len(str(error)) < 400, str(error)
    assert refused > 500
    assert again.columns_
    for name in arrays:
        for other in (arrays[name][:-1], arrays[name].astype(np.float64), np.full_like(arrays[name], np.nan)):
            with pytest.raises(ValueError, match=f"the array '{name.split('.')[1]}' is of shape"):
                TableEncoder.from_state(state, {**arrays, name: other})
        with pytest.raises(ValueError, match="is missing"):
            TableEncoder.from_state(state, {k: v for k, v in arrays.items() if k != name})


@pytest.mark.parametrize("tells", [True, False])
def test_an_id_that_tells_the_label_is_left_out_with_a_word(tells):
    """Two rows of a customer have one class. Ids that were dealt out at random say nothing."""
    random = np.random.default_rng(0)
    customer = np.repeat(np.arange(400), 2)
    s = (customer % 4 == 0).astype(int)
    ids = [f"C{k:05d}" for k in (random.permutation(9999)[:400][customer] if tells else random.permutation(9999)[:800])]
    frame = pd.DataFrame({"customer_id": ids, "x": random.normal(size=800)})
    done = TableEncoder().fit(frame, s).columns_[0].done
    assert done.startswith("left out: ")
    assert ("it tells labelled from unlabelled rows (AUC" in done and "--keep customer_id" in done) == tells
    spaced = TableEncoder().fit(frame.rename(columns={"customer_id": "customer id"}), s).columns_[0].done
    assert ("--keep 'customer id'" in spaced) == tells  # can be pasted
