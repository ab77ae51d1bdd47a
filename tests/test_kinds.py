"""Arrays that hold what NumPy would turn into other numbers without a word, in Python and in files."""

import decimal
import re
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from distpu import estimate_prior, kinds
from distpu.encode import TableEncoder
from distpu.inputs import read_labels
from small import small
from terminal import done, refused

RANDOM = np.random.default_rng(0)
S = (np.arange(60) < 20).astype(int)
X = (RANDOM.normal(size=(60, 3)) + S[:, None]).astype(np.float32)
FRAME = pd.DataFrame(X, columns=list("abc"))
DAYS = pd.date_range("2020-01-01", periods=60)
HOURS = pd.to_timedelta(np.arange(60), "h")
METHODS = ["nnpu", "elkan-noto", "dist-pu-boost"]  # a network, a wrapper, and one that takes numbers by itself


def fitted(name, x, y=S, **settings):
    settings |= {"epochs": 1, "network": "mlp"} if name == "nnpu" else {}
    return small(name, prior=0.4, **settings).fit(x, y)


NO_ROWS = {
    "dates": (DAYS.to_numpy()[:, None], "X holds dates (datetime64[us]), whose numbers depend on their unit"),
    "time spans": (HOURS.to_numpy()[:, None], "X holds time spans (timedelta64["),
    "complex": (X + 1j, "Complex data not supported: X has type complex64; give real numbers"),
    "structured": (np.zeros(60, [("a", int), ("b", int)]), "X is a structured array with the fields 'a', 'b'"),
    "texts": (X.astype(str), "X holds texts, where numbers are wanted"),
    "texts in objects": (X.astype(str).astype(object), "X holds texts, where numbers are wanted"),
    "texts in lists": (X.astype(str).tolist(), "X holds texts, where numbers are wanted"),
    "integers of 10**30": (np.array([[10**30 + i] for i in range(60)], dtype=object), "beyond 2**53, such as 1000"),
    "integers of 10**400": ([[10**400 + i] for i in range(60)], "000...000000"),
    "integers of 64 bits": (np.arange(10**18, 10**18 + 60)[:, None], "such as 1000000000000000001, of which several"),
    "a meta tensor": (torch.empty((60, 3), device="meta"), "X is a tensor on the device 'meta', which holds no values"),
    "a sparse tensor": (torch.eye(60).to_sparse(), "X is a sparse tensor (torch.sparse_coo); give X.to_dense()"),
    "images of no height": (np.zeros((60, 0, 8), np.uint8), "X has shape (60, 0, 8), so its images have no pixels"),
    "images of no size": (np.zeros((60, 3, 0, 0), np.float32), "so its images have no pixels"),
}  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NO_ROWS)
def test_rows_that_would_become_other_numbers_are_refused(name, method):
    rows, message = NO_ROWS[name]
    with pytest.raises(ValueError) as error:
        fitted(method, rows)
    assert message in str(error.value) and len(str(error.value)) < 400 and "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["dates", "texts", "integers of 10**30"])
def test_the_rows_to_score_are_looked_at_too(name):
    with pytest.raises(ValueError, match="X holds"):
        fitted("nnpu", X[:, :1]).predict(NO_ROWS[name][0][:, :1])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_that_is_not_encoded_must_hold_numbers(frame, method):
    for column, says in ((DAYS, "holds dates"), (HOURS, "holds time spans"), (["1", "2"] * 30, "holds texts"),
                         ([10**18 + i for i in range(60)], "beyond 2**53")):  # fmt: skip
        rows = frame({"a": X[:, 0], "d": column})
        with pytest.raises(ValueError, match=f"column 'd' of X.* {re.escape(says)}"):
            fitted(method, rows, encode=False)
    np.testing.assert_array_equal(
        fitted(method, frame({"a": X[:, 0]}), encode=False).predict(frame({"a": X[:, 0]})),
        fitted(method, X[:, :1]).predict(X[:, :1]),
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_column_of_objects_that_is_not_encoded_must_hold_numbers(method):
    for column, says in ((DAYS.tz_localize("UTC"), "Timestamp"), (DAYS.to_period("D"), "Period"), ([{}] * 60, "dict"),
                         (DAYS.date, "date"), ([[1]] * 60, "list")):  # fmt: skip
        with pytest.raises(ValueError, match=f"column 'd' of X holds values of type {says}, where numbers are wanted"):
            fitted(method, pd.DataFrame({"a": X[:, 0], "d": column}), encode=False)
    with pytest.raises(ValueError, match="^Complex data not supported: column 'd' of X has type complex64; [^\n]*$"):
        fitted(method, pd.DataFrame({"a": X[:, 0], "d": X[:, 0] * 1j}), encode=False)
    with pytest.raises(ValueError, match="^X has two columns 'a'; rename or drop one of them$"):
        fitted(method, pd.DataFrame(X[:, :2], columns=["a", "a"]), encode=False)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["pandas", "objects", "polars", "arrow in pandas", "blank"])
def test_time_spans_beside_numbers_are_seconds(method, kind):
    spans = pd.Series(pd.to_timedelta(RANDOM.permutation(60), unit="h"))
    if kind == "blank":
        spans[3] = pd.NaT
    told = {"objects": object, "arrow in pandas": "duration[ns][pyarrow]"}.get(kind)
    frame = pd.DataFrame({"a": X[:, 0], "d": spans if told is None else spans.astype(told)})
    frame = pl.DataFrame(frame) if kind == "polars" else frame
    seconds = pd.DataFrame({"a": X[:, 0].astype(float), "d": spans.dt.total_seconds()})
    here, there = fitted(method, frame), fitted(method, seconds)
    np.testing.assert_array_equal(here.decision_function(frame), there.decision_function(seconds))


@pytest.mark.parametrize("method", METHODS)
def test_a_lazy_frame_of_polars_is_collected(method):
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    here, there = fitted(method, frame.lazy()), fitted(method, frame)
    np.testing.assert_array_equal(here.decision_function(frame.lazy()), there.decision_function(frame))


def test_whole_numbers_of_128_bits_in_polars():
    frame = pl.DataFrame({"a": X[:, 0], "b": pl.Series([2**100 + i for i in range(60)], dtype=pl.Int128)})
    np.testing.assert_array_equal(
        fitted("nnpu", frame).decision_function(frame), fitted("nnpu", frame[["a"]]).decision_function(frame[["a"]])
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [X[:, 0], X[:, 0].tolist()], ids=["array", "list"])
def test_rows_of_one_axis_are_refused_without_their_values(method, rows):
    with pytest.raises(ValueError, match=r"^Expected 2D array, .* X has shape \(60,\)\. Reshape your data: [^\n]*$"):
        fitted(method, rows)


def test_weights_are_numbers():
    for weight in (["1"] * 60, np.full(60, 1j), np.ones(60).astype("m8[s]"), [10**400] * 60):
        with pytest.raises(ValueError, match="sample_weight holds values that are no numbers"):
            small("elkan-noto", prior=0.4).fit(X, S, sample_weight=weight)


def test_a_network_that_is_made_already_is_refused():
    with pytest.raises(ValueError, match="network is a Linear, which .*; give a function that makes a new one"):
        small("nnpu", prior=0.4, network=torch.nn.Linear(3, 1)).fit(X, S)


@pytest.mark.parametrize("method", METHODS)
def test_a_masked_value_is_missing(method):
    mask = RANDOM.random(X.shape) < 0.1
    masked = np.ma.masked_array(X, mask=mask)
    if method == "nnpu":
        with pytest.raises(ValueError, match=f"Input X contains NaN: {mask.sum()} in "):
            fitted(method, masked)
    else:
        here, there = fitted(method, masked), fitted(method, np.where(mask, np.nan, X))
        np.testing.assert_array_equal(
            here.decision_function(masked), there.decision_function(np.where(mask, np.nan, X))
        )
    unmasked = np.ma.masked_array(X, mask=False)
    np.testing.assert_array_equal(fitted(method, unmasked).predict(unmasked), fitted(method, X).predict(X))


def test_a_masked_label_is_a_missing_one():
    masked = np.arange(60) % 2 == 0
    s, classes = read_labels(np.ma.masked_array(S, mask=masked))
    np.testing.assert_array_equal(s, S & ~masked)
    assert classes.tolist() == [0, 1]
    words = np.ma.masked_array(np.where(S == 1, "yes", "?"), mask=S == 0)
    np.testing.assert_array_equal(read_labels(words)[0], S)
    with pytest.raises(ValueError, match="sample_weight holds masked values"):
        small("elkan-noto", prior=0.4).fit(X, S, sample_weight=np.ma.masked_array(np.ones(60), mask=masked))


@pytest.mark.parametrize("method", METHODS)
def test_tensors_of_bfloat16_are_the_floats_that_they_hold(method):
    tensor = torch.tensor(X).bfloat16().requires_grad_()
    here, there = fitted(method, tensor, torch.tensor(S).bfloat16()), fitted(method, tensor.detach().float().numpy())
    np.testing.assert_array_equal(here.decision_function(tensor), there.decision_function(tensor.detach().float()))


def objects(*values):
    y = np.empty(60, dtype=object)
    y[:] = [values[0] if one else values[1] for one in S]
    return y


NO_LABELS = {
    "structured": (np.zeros(60, [("a", int)]), "y holds structured values"),
    "bytes without meaning": (np.zeros(60, "V4"), "y holds structured values (|V4)"),
    "complex": (S + 1j, "Complex data not supported: y has type complex128"),
    "dates": (DAYS.to_numpy(), "y holds dates (datetime64["),
    "time spans": (S.astype("m8[h]"), "y holds time spans (timedelta64[h])"),
    "lists": (objects([1], [0]), "y holds values of type list"),
    "dicts": (objects({"a": 1}, {}), "y holds values of type dict"),
    "arrays": (objects(np.ones(2), np.zeros(2)), "y holds values of type ndarray"),
    "dates in objects": (objects(DAYS[0], None), "y holds values of type Timestamp"),
    "huge": (objects(10**400, 0), "a whole number of more than 64 bits"),
    "huge beyond printing": (objects(10**5000, 0), "a whole number of about 5000 digits"),
    "a meta tensor": (torch.empty(60, device="meta"), "y is a tensor on the device 'meta'"),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_LABELS)
def test_labels_that_are_none(name):
    y, message = NO_LABELS[name]
    with pytest.raises(ValueError) as error:
        read_labels(y)
    assert message in str(error.value) and len(str(error.value)) < 300
    assert "a label is a number, a word, true or false, or missing" in str(error.value) or "meta" in name


def test_labels_of_further_kinds_that_are_some():
    for y in (objects(decimal.Decimal(1), decimal.Decimal(0)), objects(b"1", None), np.where(S == 1, b"1", b"0")):
        np.testing.assert_array_equal(read_labels(y, None if y.dtype == object else "1")[0], S)
    assert read_labels(objects(b"yes", None))[1].tolist() == ["not yes", "yes"]


def test_whole_numbers_beyond_2_53_name_something_in_a_frame():
    """As floats they would be one number: the column was left out as a constant."""
    ids = TableEncoder().fit(FRAME.assign(d=[10**18 + i for i in range(60)]), S)
    assert "name the rows" in {c.name: c.done for c in ids.columns_}["d"]
    for kinds_of in ([10**18 + i % 3 for i in range(60)], [10**30 + i % 3 for i in range(60)],
                     np.array([2**63 + i % 3 for i in range(60)], np.uint64)):  # fmt: skip
        frame = FRAME.assign(d=kinds_of)
        encoder = TableEncoder().fit(frame, S)
        shown = np.asarray(encoder.transform(frame))[:, 3:]
        np.testing.assert_array_equal(shown, np.eye(3)[np.arange(60) % 3])
        np.testing.assert_array_equal(np.asarray(encoder.transform(frame[7:9]))[:, 3:], shown[7:9])
    amounts = TableEncoder().fit(FRAME.assign(d=[10**18 + 10**15 * (i * i % 17) for i in range(60)]), S)
    assert {c.name: c.kind for c in amounts.columns_}["d"] == "number"


def test_the_prior_is_estimated_from_the_same_rows():
    bf16, masked = torch.tensor(X).bfloat16(), np.ma.masked_array(X, mask=X > 2)
    assert estimate_prior(bf16, S) == estimate_prior(bf16.float().numpy(), S)
    assert estimate_prior(masked, S) == estimate_prior(masked.filled(np.nan), S)
    with pytest.raises(ValueError, match="estimated from numbers, but X holds other values"):
        estimate_prior(X.astype(str), S)


@pytest.mark.parametrize("name", ["prior", "threshold", "network", "device", "loss"])
def test_a_message_repeats_no_long_value(name):
    with pytest.raises(ValueError) as error:
        small("nnpu", **{"prior": 0.4, "epochs": 1, name: "q" * 10_000}).fit(X, S)
    assert name in str(error.value) and "qqq...qqq" in str(error.value) and len(str(error.value)) < 400


def test_a_prior_of_400_digits():
    with pytest.raises(ValueError, match=r"^prior=1000+\.\.\.0+ must lie strictly between 0 and 1") as error:
        small("nnpu", prior=10**400).fit(X, S)
    assert len(str(error.value)) < 250


def test_messages_of_data_repeat_no_long_value():
    long = "q" * 10_000
    for make in (
        lambda: read_labels(np.where(S == 1, "yes", "no"), long),
        lambda: read_labels(np.array([long + str(i) for i in range(60)])),
        lambda: fitted("nnpu", FRAME.assign(**{long: np.inf})),
        lambda: fitted("nnpu", pd.DataFrame(X[:, :2], columns=[long, long])),
    ):
        with pytest.raises(ValueError) as error:
            make()
        assert "qqq...qqq" in str(error.value) and len(str(error.value)) < 1000
    with pytest.warns(UserWarning, match=r"y holds 'q+\.\.\.q+' and 'zzz'") as warned:
        read_labels(np.where(S == 1, long, "zzz"))
    assert len(str(warned[0].message)) < 700


def test_short_writes_any_number():
    assert kinds.short(7) == "7" and kinds.short("a") == "'a'"
    assert kinds.short(-(10**6000)) == "a whole number of about 6000 digits"


# ------------------------------------------------------------------- files


def fit(path, *options):
    return "fit", path, "--method", "nnpu", "--prior", "0.4", "--set", "epochs=1", *options


@pytest.mark.parametrize("value", ["list", "struct", "map", "date", "duration"])
def test_a_label_column_of_other_kinds_in_parquet(value, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    y = {
        "list": [[int(one)] for one in S],
        "struct": [{"a": int(one)} for one in S],
        "map": pa.array([[("a", int(one))] for one in S], pa.map_(pa.string(), pa.int64())),
        "date": DAYS,
        "duration": HOURS,
    }[value]
    pq.write_table(pa.table({"a": X[:, 0], "y": y}), tmp_path / "table.parquet")
    for command in (fit(tmp_path / "table.parquet"), ("prior", tmp_path / "table.parquet")):
        assert "column 'y' holds " in (line := refused(*command, "--label", "y")) and "a label is" in line


def test_labels_and_members_of_npz_files_that_are_none(tmp_path):
    for name in ("structured", "bytes without meaning", "complex", "dates", "time spans"):
        np.savez(tmp_path / "rows.npz", X=X, y=NO_LABELS[name][0])
        assert "column 'y' h" in (line := refused(*fit(tmp_path / "rows.npz"))) and "a label is" in line
    for other in (["X.npy", "y.npy"], ["y.npy"], ["y"]):
        np.savez(tmp_path / "rows.npz", **{"X": X} if "X.npy" not in other else {})
        with zipfile.ZipFile(tmp_path / "rows.npz", "a") as file:
            for member in other:
                file.writestr(member, b"hello")
        line = refused(*fit(tmp_path / "rows.npz"))
        assert f"holds '{other[0][0]}', which is no array; write plain arrays with numpy.savez" in line
    np.savez(tmp_path / "rows.npz", X=X, y=np.where(S == 1, b"yes", b"no"))
    done(*fit(tmp_path / "rows.npz", "--positive", "yes", "--folder", tmp_path / "run"))


def test_a_label_of_400_digits_in_a_table(tmp_path):
    FRAME.assign(y=[10**400 if one else 0 for one in S]).to_csv(tmp_path / "table.csv", index=False)
    line = refused(*fit(tmp_path / "table.csv", "--label", "y"))
    assert "column 'y' holds 1000" in line and "a whole number of more than 64 bits" in line


def test_a_line_of_thousands_of_words_is_shortened(tmp_path):
    FRAME.assign(y=S).to_csv(tmp_path / "table.csv", index=False)
    path, long = tmp_path / "table.csv", "ab " * 4000
    for options in (("--label", long), ("--label", "y", "--prior", long), ("--label", "y", "--positive", long),
                    ("--label", "y", "--threshold", long),
                    ("--label", "y", "--set", f"epochs={'1,' * 9999}")):  # fmt: skip
        assert len(refused(*fit(path, *options))) < 1500


def test_the_device_meta_trains_nothing(tmp_path):
    FRAME.assign(y=S).to_csv(tmp_path / "table.csv", index=False)
    assert "device='meta' is not there" in refused(
        *fit(tmp_path / "table.csv", "--label", "y", "--set", "device=meta", "--folder", tmp_path / "run")
    )
    assert not (tmp_path / "run").exists()


def test_the_encoder_takes_what_a_method_takes():
    mask = X > 2
    there = TableEncoder().fit(np.where(mask, np.nan, X)).transform(np.where(mask, np.nan, X))
    masked = np.ma.masked_array(X, mask=mask)
    np.testing.assert_array_equal(TableEncoder().fit(masked).transform(masked), there)
    with pytest.raises(ValueError, match="X is a tensor on the device 'meta'"):
        TableEncoder().fit(torch.empty((60, 3), device="meta"))
