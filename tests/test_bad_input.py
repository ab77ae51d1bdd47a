"""What a user gets wrong: one line with value, rule and remedy, from the library and from the command line."""

import json
import os
import re
import shutil

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import distpu as package
from distpu import estimate_prior
from distpu.files import tensors
from distpu.inputs import read_labels
from small import small
from terminal import distpu, done, refused

NAN, INF = np.nan, np.inf


@pytest.fixture
def here(toy, tmp_path, monkeypatch):
    """A working folder with table.csv: columns a to f and the label 'fraud', 0 or 1."""
    monkeypatch.chdir(tmp_path)
    table(toy).to_csv("table.csv", index=False)
    return tmp_path


def table(toy, **columns):
    return pd.DataFrame(toy[0], columns=list("abcdef")).assign(**{"fraud": toy[1], **columns})


def fit(*options, data="table.csv", label="fraud"):
    settings = ("--method", "nnpu", "--prior", "0.4", "--set", "epochs=2")
    return ("fit", data, *(("--label", label) if label else ()), *settings, *options)


def made_nothing(folder):
    return not (folder / "runs").exists()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run folder on six named columns; copied by whoever damages it."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(60, 6)), columns=list("abcdef"))
    folder = tmp_path_factory.mktemp("finished") / "run"
    small("nnpu", prior=0.4, epochs=1, network="mlp").fit(X, np.arange(60) < 20, folder=folder)
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "copy")


# ------------------------------------------------------------------ labels

BAD_LABELS = {
    "no positives": (lambda s: 0 * s, "only one class, 0, so there is no labelled positive"),
    "none unlabelled": (lambda s: 0 * s + 1, "only one class, 1, so there is no unlabelled row"),
    "zeros and blanks": (lambda s: np.where(s == 1, 0, NAN), "no labelled positive"),
    "blanks": (lambda s: s * NAN, "no labelled positive"),
    "twelve values": (lambda s: s + np.arange(len(s)) % 12, "13 values (0, 1, 2, 3, 4, ...)"),
    "scores": (lambda s: s + np.arange(len(s)) / 1000, "different numbers"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_labels_that_are_no_pu_labels(name, toy, here):
    change, message = BAD_LABELS[name]
    y = change(toy[1])
    with pytest.raises(ValueError) as error:
        small("nnpu", prior=0.4).fit(toy[0], y)
    assert message in str(error.value) and "use 1 for labelled positives and 0 for unlabelled rows" in str(error.value)
    table(toy, fraud=y).to_csv("table.csv", index=False)
    line = refused(*fit())
    assert message in line and made_nothing(here)


def some_missing(s, value):
    """Nine of the unlabelled ones."""
    labels = np.where(s == 1, 1, 0).astype(object)
    labels[np.flatnonzero(s == 0)[:9]] = value
    return labels


def test_several_values_need_the_positive_one_named(toy, here):
    X, s, _ = toy
    three = s + 2 * (np.arange(len(s)) % 3 == 0) * (s == 0)  # 0, 1, 2
    blanks = np.where(some_missing(s, None) == 0, "no", np.where(s == 1, "yes", None))
    for y, positive, says in ((three, 1, "3 values (0, 1, 2)"), (blanks, "yes", "9 missing labels beside 2 values")):
        with pytest.raises(ValueError, match=re.escape(says)):
            small("nnpu", prior=0.4).fit(X, y)
        np.testing.assert_array_equal(read_labels(y, positive)[0], s)
        table(toy, fraud=y).to_csv("table.csv", index=False)
        assert "say which one marks the known positives, such as --positive " in refused(*fit())
        done(*fit("--positive", str(positive), "--folder", str(positive)))
    table(toy, fraud=np.where(s == 1, "fraud", "ok")).to_csv("table.csv", index=False)
    assert "'fraud' and 'ok'; say which one marks the known positives, such as --positive fraud " in refused(*fit())
    assert read_labels(three, 1)[1].tolist() == [0, 1]
    assert read_labels(three, 2)[1].tolist() == [0, 2]
    assert read_labels(blanks, "yes")[1].tolist() == ["not yes", "yes"]


def test_missing_beside_0_and_1_is_unlabelled(toy, here):
    table(toy, fraud=some_missing(toy[1], None)).to_csv("table.csv", index=False)
    done(*fit())


def test_labels_of_the_wrong_number_or_kind(toy):
    X, s, _ = toy
    classifier = small("nnpu", prior=0.4)
    with pytest.raises(ValueError, match="X has 300 rows, but y has 299 labels; give one label per row"):
        classifier.fit(X, s[1:])
    with pytest.raises(ValueError, match="requires y to be passed"):
        classifier.fit(X, None)
    with pytest.raises(ValueError, match="infinity"):
        classifier.fit(X, np.where(s == 1, INF, 0))
    with pytest.raises(ValueError, match="y mixes values of types int, str"):
        classifier.fit(X, np.array(["yes" if v else 0 for v in s], dtype=object))
    with pytest.raises(ValueError, match=r"1d array|shape"):
        classifier.fit(X, np.ones((300, 2)))
    with pytest.raises(ValueError, match="y is empty"):
        read_labels([])


SAME = {  # name -> (the labels in other words, classes_)
    "integers": (lambda s: s, [0, 1]),
    "a list": (lambda s: s.tolist(), [0, 1]),
    "signs": (lambda s: 2 * s - 1, [-1, 1]),
    "booleans": (lambda s: s == 1, [False, True]),
    "1 and NaN": (lambda s: np.where(s == 1, 1, NAN), [0, 1]),
    "objects and None": (lambda s: np.where(s == 1, 1, None), [0, 1]),
    "1, 0 and None": (lambda s: some_missing(s, None), [0, 1]),
    "1, 0 and NaN": (lambda s: some_missing(s, NAN), [0, 1]),
    "True, False and None": (
        lambda s: np.where(some_missing(s, None) == 0, False, np.where(s == 1, True, None)),
        [False, True],
    ),
    "True and None": (lambda s: np.where(s == 1, True, None), [0, 1]),
    "a word and None": (lambda s: np.where(s == 1, "fraud", None), ["not fraud", "fraud"]),
    "pandas": (lambda s: pd.Series(s, index=np.arange(len(s)) + 7), [0, 1]),
    "pandas Int64 with NA": (lambda s: pd.Series(s, dtype="Int64").replace(0, pd.NA), [0, 1]),
    "pandas boolean": (lambda s: pd.Series(s == 1, dtype="boolean"), [False, True]),
    "pandas boolean with NA": (lambda s: pd.Series(np.where(s == 1, True, None), dtype="boolean"), [0, 1]),
    "polars": (lambda s: pl.Series(s), [0, 1]),
    "polars with null": (lambda s: pl.Series([1 if v else None for v in s]), [0, 1]),
    "polars booleans": (lambda s: pl.Series(s == 1), [False, True]),
    "torch": (lambda s: torch.tensor(s), [0, 1]),
    "torch booleans": (lambda s: torch.tensor(s == 1), [False, True]),
    "torch floats": (lambda s: torch.tensor(s).float(), [0, 1]),
}


@pytest.mark.parametrize("name", SAME)
def test_labels_in_other_words(name, toy):
    words, classes = SAME[name]
    s, found = read_labels(words(toy[1]))
    np.testing.assert_array_equal(s, toy[1])
    assert found.tolist() == classes


@pytest.mark.parametrize("name", ["booleans", "objects and None", "a word and None", "polars with null", "torch"])
def test_a_fit_speaks_the_words_of_its_labels(name, toy):
    X, s, _ = toy
    words, classes = SAME[name]
    classifier = small("nnpu", prior=0.4, epochs=2).fit(X, words(s))
    assert classifier.classes_.tolist() == classes
    assert set(classifier.predict(X).tolist()) == set(classes)
    plain = small("nnpu", prior=0.4, epochs=2).fit(X, s)
    np.testing.assert_array_equal(classifier.predict_proba(X), plain.predict_proba(X))


def test_words_need_to_be_told_which_one_is_positive(toy, here):
    X, s, _ = toy
    y = np.where(s == 1, "fraud", "unknown")
    classifier = small("nnpu", prior=0.4, epochs=2, pos_label="fraud").fit(X, y)
    assert classifier.classes_.tolist() == ["unknown", "fraud"]
    p = classifier.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(classifier.predict(X), np.where(p >= 0.5, "fraud", "unknown"))
    assert p[s == 1].mean() > p[s == 0].mean()
    with pytest.warns(UserWarning, match="y holds 'fraud' and 'unknown'; 'unknown' is taken"):
        assert small("nnpu", prior=0.4, epochs=1).fit(X, y).classes_.tolist() == ["fraud", "unknown"]
    with pytest.raises(ValueError, match="pos_label='Fraud' is not in y, which holds 'fraud' and 'unknown'"):
        small("nnpu", prior=0.4, pos_label="Fraud").fit(X, y)
    with pytest.raises(ValueError, match="pos_label='Fraud' is not in y, which holds 'fraud' and missing"):
        small("nnpu", prior=0.4, pos_label="Fraud").fit(X, np.where(s == 1, "fraud", None))

    table(toy, fraud=y).to_csv("table.csv", index=False)
    assert "column 'fraud' holds 'fraud' and 'unknown'; say which one" in (line := refused(*fit()))
    assert "--positive " in line
    line = refused(*fit("--positive", "frau"))
    assert "positive=frau is not in column 'fraud', which holds 'fraud' and 'unknown'; did you mean 'fraud'?" in line
    table(toy, fraud=s + 1).to_csv("table.csv", index=False)
    assert "column 'fraud' holds 1 and 2; say which one" in refused(*fit())
    assert "positive=3 is not in column 'fraud', which holds 1 and 2" in refused(*fit("--positive", 3))
    assert made_nothing(here)


def test_which_column_is_the_label(here, toy):
    assert "add --label COLUMN" in refused(*fit(label=None))
    table(toy, fraud=np.where(toy[1] == 1, "yes", "no")).to_csv("words.csv", index=False)
    assert "words.csv needs a label column" in refused(*fit(data="words.csv", label=None))
    line = refused(*fit(label="frraud"))
    assert "no column 'frraud'; did you mean 'fraud'? (it has 'a', 'b', 'c', 'd', 'e', 'f', 'fraud')" in line
    np.savez("rows.npz", X=toy[0])
    assert "rows.npz holds no labels; add an array 'y'" in refused(*fit(data="rows.npz", label=None))


# -------------------------------------------------------------------- rows


def test_a_single_row(here, toy):
    with pytest.raises(ValueError, match="1 sample"):
        small("nnpu", prior=0.4).fit(toy[0][:1], [1])
    table(toy)[:1].to_csv("table.csv", index=False)
    assert "1 sample" in refused(*fit()) and made_nothing(here)


@pytest.mark.parametrize(("value", "word"), [(INF, "infinity"), (-INF, "infinity"), (1e300, "too large")])
def test_values_that_are_no_numbers(here, toy, value, word):
    data = table(toy)
    data.loc[[7, 9, 200], "c"] = value
    data.loc[9, "d"] = value
    expected = ["4 in 3 rows, first in row 7, column 'c'", word, "fill them in or drop those rows"]
    with pytest.raises(ValueError) as error:
        small("nnpu", prior=0.4).fit(data.drop(columns="fraud"), data["fraud"])
    assert all(text in str(error.value) for text in expected)
    with pytest.raises(ValueError, match=r"first in row 7, position \[2\]"):
        small("nnpu", prior=0.4).fit(data.drop(columns="fraud").to_numpy(), data["fraud"])
    data.to_csv("table.csv", index=False)
    line = refused(*fit())
    assert all(text in line for text in expected) and made_nothing(here)


def test_blanks_in_an_array_are_refused_and_in_a_frame_filled(here, toy):
    data = table(toy)
    data.loc[[7, 9, 200], "c"] = NAN
    X = data.drop(columns="fraud")
    with pytest.raises(ValueError, match=r"NaN: 3 in 3 rows, first in row 7, position \[2\]; fill them in"):
        small("nnpu", prior=0.4).fit(X.to_numpy(), toy[1])
    fitted = small("nnpu", prior=0.4, epochs=2).fit(X, toy[1])
    assert fitted.encoder_.get_feature_names_out().tolist() == ["a", "b", "c", "c (blank)", "d", "e", "f"]
    data.to_csv("table.csv", index=False)
    done(*fit())


@pytest.mark.parametrize(
    "value, word", [("", "1 blank, unlike in training"), ("soon", "1 no number"), ("1e6", "1 far")]
)
@pytest.mark.filterwarnings("default:cells that are not")
def test_a_bad_value_at_predict_is_told_of(copy, tmp_path, value, word):
    rows = pd.DataFrame(np.ones((5, 6)), columns=list("abcdef")).astype(object)
    rows.loc[3, "e"] = value
    rows.to_csv(tmp_path / "new.csv", index=False)
    told = distpu("predict", copy, tmp_path / "new.csv", columns=500)
    assert told.code == 0 and f"cells that are not as in training: 'e' ({word}" in told.err


def test_constant_columns_are_fine(here, toy):
    data = table(toy, a=0.0, b=1e-30, c=0.1, d=-1e30)
    data.to_csv("table.csv", index=False)
    done(*fit("--folder", "run"))
    assert pd.read_csv("run/scores.csv")["probability"].between(0, 1).all()
    X = data.drop(columns="fraud")
    assert np.isfinite(small("nnpu", prior=0.4, epochs=2).fit(X, toy[1]).decision_function(X)).all()
    with pytest.raises(ValueError, match="X has no column to learn from .'a' left out: every row holds 0; "):
        small("nnpu", prior=0.4, epochs=2).fit(0 * X, toy[1])
    assert np.isfinite(small("nnpu", prior=0.4, epochs=2).fit(0 * toy[0], toy[1]).decision_function(toy[0])).all()


def test_rows_of_every_kind_give_the_same_scores(toy):
    X, s, _ = toy
    X = X.astype(np.float32)
    fitted = small("nnpu", prior=0.4, epochs=2).fit(X, s)
    for other in (pd.DataFrame(X, columns=list("abcdef")), pl.DataFrame(X, schema=list("abcdef")), torch.tensor(X)):
        again = small("nnpu", prior=0.4, epochs=2).fit(other, s)
        np.testing.assert_array_equal(again.decision_function(other), fitted.decision_function(X))
        assert isinstance(other, torch.Tensor) or again.feature_names_in_.tolist() == list("abcdef")


@pytest.mark.filterwarnings("default:cells that are not")
def test_other_columns_at_predict(copy, tmp_path):
    new = tmp_path / "new.csv"
    rows = pd.DataFrame(np.ones((5, 6)), columns=list("abcdef"))
    rows.drop(columns=["b"]).to_csv(new, index=False)
    assert "new.csv has no column 'b' (it has 'a', 'c', 'd', 'e', 'f')" in refused("predict", copy, new)
    rows.drop(columns=["b", "e"]).to_csv(new, index=False)
    assert "has no columns 'b', 'e'" in refused("predict", copy, new)
    rows.assign(e="text").to_csv(new, index=False)
    assert "'e' (5 no number" in distpu("predict", copy, new, columns=500).err
    classifier = package.load(copy)
    with pytest.raises(ValueError, match=r"now missing:\s+- b"):
        classifier.predict(rows.drop(columns=["b"]))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_another_number_of_features_at_predict(copy, tmp_path):
    np.savez(tmp_path / "new.npz", X=np.ones((5, 7)))
    assert "X has 7 features, but NNPU is expecting 6 features" in refused("predict", copy, tmp_path / "new.npz")
    classifier = package.load(copy)
    with pytest.raises(ValueError, match="X has 7 features, but NNPU is expecting 6 features"):
        classifier.predict(np.ones((5, 7)))
    with pytest.raises(ValueError, match=r"rows of shape \(6, 6\), but NNPU was fitted on rows of shape \(6,\)"):
        classifier.predict(np.ones((5, 6, 6)))


SHAPES = {"NHW": (8, 9), "NCHW": (3, 8, 9), "NHWC": (8, 9, 3)}


@pytest.mark.parametrize("layout", SHAPES)
def test_other_images_at_predict(layout, tmp_path):
    shape = SHAPES[layout]
    X = np.random.default_rng(0).integers(0, 256, size=(40, *shape), dtype=np.uint8)
    folder = tmp_path / "run"
    fitted = small("nnpu", prior=0.4, epochs=1, network="mlp").fit(X, np.arange(40) < 20, folder=folder)
    assert fitted.layout_ == layout
    expected = f"was fitted on rows of shape {shape}; give rows of that shape"
    for wrong in [(9, 8), (1, 8, 9), (3, 9, 8), (8, 9, 4), (72,), (216,)]:
        with pytest.raises(ValueError) as error:
            fitted.predict(np.zeros((2, *wrong), np.uint8))
        assert expected in str(error.value) and f"X holds rows of shape {wrong}" in str(error.value)
    with pytest.raises(ValueError, match="images from 0 to 1, but the model was fitted on bytes.*multiply by 255"):
        fitted.predict(X / 255)
    np.testing.assert_array_equal(fitted.predict_proba(X.astype(float)), fitted.predict_proba(X))

    np.savez(tmp_path / "wrong.npz", X=X[:, 1:])
    assert expected in refused("predict", folder, tmp_path / "wrong.npz")
    np.savez(tmp_path / "unit.npz", X=X / 255)
    assert "multiply by 255" in refused("predict", folder, tmp_path / "unit.npz")


def test_rows_that_are_neither_table_nor_image():
    with pytest.raises(ValueError, match=r"X has shape \(10, 5, 6, 7\); give rows as \(n, features\), or images"):
        small("nnpu", prior=0.4).fit(np.ones((10, 5, 6, 7)), np.arange(10) < 5)


@pytest.mark.parametrize("shape", [(4, 8, 8), (1, 60, 60), (3, 8, 8)])
def test_byte_images_of_any_channels_train(shape):
    X = np.random.default_rng(0).integers(0, 256, size=(24, *shape), dtype=np.uint8)
    classifier = small("nnpu", prior=0.4, epochs=1).fit(X, np.arange(24) < 8)
    assert classifier.model_.body[1].in_features == np.prod(shape)  # no channel is invented
    assert np.isfinite(classifier.decision_function(X)).all()


# -------------------------------------------------------------- parameters

BAD_SETTINGS = [  # setting, value, words of the message
    ("prior", 0, "prior=0 must lie strictly between 0 and 1"),
    ("prior", 1.3, "prior=1.3 must lie strictly between 0 and 1"),
    ("prior", -0.1, "prior=-0.1 must lie"),
    ("prior", "half", "prior='half' must be a number strictly between 0 and 1, 'auto', or the name of an estimator"),
    ("prior", None, "prior=None must be a number"),
    ("prior", True, "prior=True must be a number"),
    ("epochs", -1, "epochs=-1 must be at least 1"),
    ("epochs", "abc", "epochs='abc' must be a whole number"),
    ("epochs", 2.5, "epochs=2.5 must be a whole number"),
    ("epochs", True, "epochs=True must be a whole number"),
    ("lr", 0, "lr=0 must be above 0"),
    ("lr", "fast", "lr='fast' must be a finite number"),
    ("gamma", 1.5, "gamma=1.5 must be at least 0 and at most 1"),
    ("batch_size", 1, "batch_size=1 must be at least 2"),
    ("loss", "sigmiod", "did you mean 'sigmoid'?"),
    ("scaling", "imagenet", "scaling='imagenet' takes images with 3 channels, but rows have shape (6,); use 'auto'"),
    ("network", "mpl", "network='mpl' is not known; did you mean 'mlp'?"),
    ("network", "cnn-13", "rows have shape (6,); use 'mlp'"),
    ("device", "gpu", "device='gpu' is not there"),
    ("random_state", "abc", "'abc' cannot be used to seed"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD_SETTINGS)
def test_settings_out_of_range(name, value, message, toy, here):
    with pytest.raises(ValueError) as error:
        small("nnpu", **{"prior": 0.4, name: value}).fit(toy[0], toy[1], folder="runs")
    assert message in str(error.value)
    assert message in refused(*fit("--set", f"{name}={value}")) and made_nothing(here)


@pytest.mark.parametrize("value", [NAN, INF])
def test_settings_that_are_no_numbers(value, toy):
    for settings in ({"lr": value}, {"mixed_entropy": INF}, {"prior": value}):
        with pytest.raises(ValueError, match="must"):
            small("dist-pu", **settings).fit(toy[0], toy[1])


COMMAND_MISTAKES = {
    "--method nnpuu": "method 'nnpuu' is not known; did you mean 'nnpu'? (distpu methods lists all)",
    "--set epoch=3": "nnpu has no setting 'epoch'; did you mean 'epochs'? (distpu methods nnpu lists all)",
    "--set epochs": "--set epochs must read field=value, such as --set epochs=20",
    "--set =3": "--set =3 must read field=value",
    "--prior abc": "--prior abc must be a number strictly between 0 and 1, 'auto', 'true' or the name of an estimator",
    "--prior true": "--prior true is for named data sets",
    "--prior 1": "--prior 1 must lie strictly between 0 and 1",
    "--labelled 5": "--labelled and --scenario are for named data sets",
    "--seed abc": "--seed",
    "--seed -1": "--seed",
    "--colour red": "No such option: --colour",
}


@pytest.mark.parametrize("options", COMMAND_MISTAKES)
def test_options_of_the_command(options, here):
    assert COMMAND_MISTAKES[options] in refused(*fit(*options.split())) and made_nothing(here)


NAMED_MISTAKES = {
    "digist": "'digist' is neither a file nor a data set; did you mean 'digits'? (distpu data lists the data sets)",
    "digist --labelled 5": "did you mean 'digits'?",
    "digits --labelled 0": "labelled=0 must lie between 1 and the 447 positives",
    "digits --labelled 448": "labelled=448 must lie between 1 and the 447 positives",
    "digits --labelled many": "--labelled",
    "digits --prior 7": "--prior 7 must lie strictly between 0 and 1",
    "digits --scenario one-set": "scenario='one-set' is not known; use one of 'case-control', 'single-set'",
    "digits --label x": "--id are for files",
    "digits --method distpu": "did you mean 'dist-pu'?",
    "digits --method dist-pu --set epohcs=3": "dist-pu has no setting 'epohcs'; did you mean 'epochs'?",
    "tabel.csv --label fraud": "tabel.csv does not exist; did you mean 'table.csv'?",
    "notes.doc --label fraud": "extension '.doc' is not known); give a file that ends in",
    "": "Missing argument 'DATA' (distpu fit --help shows how)",
}


@pytest.mark.parametrize("words", NAMED_MISTAKES)
def test_what_to_fit(words, here):
    (here / "notes.doc").write_text("a,b\n1,2\n")
    assert NAMED_MISTAKES[words] in refused("fit", *words.split()) and made_nothing(here)


def test_other_commands(here):
    assert "No such command 'fti'. Did you mean 'fit'? (distpu --help shows how)" in refused("fti")
    assert "method 'upuu' is not known; did you mean 'upu'?" in refused("methods", "upuu")
    assert "--seeds" in refused("demo", "--seeds", "0")
    for prior in ("2", "abc"):
        ended = distpu("demo", "--prior", prior)
        assert ended.code == 2 and f"--prior {prior} must" in ended.err
    assert made_nothing(here)


def test_a_prior_cannot_be_estimated_from_one_positive(here, toy):
    X, s, _ = toy
    one = np.zeros_like(s)
    one[np.flatnonzero(s)[0]] = 1
    with pytest.raises(ValueError, match="at least 2 labelled positives.*give the prior as a number"):
        estimate_prior(X, one)
    table(toy, fraud=one).to_csv("table.csv", index=False)
    assert "give the prior as a number" in refused(*fit("--prior", "auto"))
    done(*fit("--prior", "0.4"))  # the folder of the failed try is in nobody's way


# ------------------------------------------------------------------- files


@pytest.mark.parametrize("end", ["csv", "parquet", "npz", "csv.gz"])
def test_empty_and_broken_files(end, here, toy, copy):
    data, path = table(toy), here / f"broken.{end}"
    if end == "npz":
        np.savez(path, X=toy[0], y=toy[1])
    else:
        data.to_parquet(path) if end == "parquet" else data.to_csv(path, index=False)
    content = path.read_bytes()
    cuts = [b""] if end == "csv" else [b"", content[: len(content) // 2], content[:20], b"\x00\xff" * 300]
    for part in cuts:
        path.write_bytes(part)
        label = None if end == "npz" else "fraud"
        for line in (refused(*fit(data=f"broken.{end}", label=label)), refused("predict", copy, path)):
            assert f"broken.{end}" in line and ("cannot be used" in line or "is empty" in line)
    assert made_nothing(here)


def test_a_table_cut_off_in_the_middle(here):
    text = (here / "table.csv").read_text()
    (here / "table.csv").write_text(text[: text.rindex(",", 0, text.rindex(",") - 1)])  # the last row lacks fields
    assert "its last line has 5 of 7 fields, so the file was cut off" in refused(*fit())
    (here / "table.csv").write_text("a,b,fraud\n")
    assert "table.csv has columns but no rows" in refused(*fit())


# ------------------------------------------------------------- run folders


def test_one_row_of_many_makes_other_data(here):
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(6000, 3)), (random.random(6000) < 0.1).astype(int)
    classifier = package.NNPU(prior=0.3, epochs=1, progress=False)
    classifier.fit(rows, labels, folder=here / "many")
    classifier.fit(rows, labels, folder=here / "many")  # finished before
    rows[4097, 1] += 1.0
    with pytest.raises(ValueError, match="other data: as many rows, other values; name"):
        classifier.fit(rows, labels, folder=here / "many")


def test_a_folder_of_another_run(here, toy):
    X, s, _ = toy
    done(*fit("--folder", "run"))
    before = {p.name: p.read_bytes() for p in (here / "run").iterdir()}
    line = refused(*fit("--folder", "run", "--set", "epochs=3", "--set", "lr=0.1"))
    assert (
        "run was made with other parameters: epochs=3 (there: 2), lr=0.1 (there: 0.0005); name another folder" in line
    )
    assert "method='upu' (there: 'nnpu')" in refused(*fit("--folder", "run", "--method", "upu"))
    table(toy)[1:].to_csv("fewer.csv", index=False)
    assert "other data: rows=299 (there: 300)" in refused(*fit("--folder", "run", data="fewer.csv"))
    table(toy, a=X[:, 1]).to_csv("other.csv", index=False)
    assert "other data: as many rows, other values; name" in refused(*fit("--folder", "run", data="other.csv"))
    table(toy, fraud=np.roll(s, 1)).to_csv("other.csv", index=False)
    assert "other data: as many rows, other labels; name" in refused(*fit("--folder", "run", data="other.csv"))
    assert {p.name: p.read_bytes() for p in (here / "run").iterdir()} == before

    small("nnpu", prior=0.4, epochs=1).fit(X, s, folder="library")
    with pytest.raises(ValueError, match=r"other parameters: epochs=2 \(there: 1\), prior=0.5 \(there: 0.4\)"):
        small("nnpu", prior=0.5, epochs=2).fit(X, s, folder="library")
    with pytest.raises(ValueError, match=r"other data: rows=200 \(there: 300\)"):
        small("nnpu", prior=0.4, epochs=1).fit(X[:200], s[:200], folder="library")
    saved = small("nnpu", prior=0.4, epochs=1).fit(X, s).save("saved")
    with pytest.raises(ValueError, match=r"other data: rows=300 \(there: None\)"):
        small("nnpu", prior=0.4, epochs=1).fit(X, s, folder=saved)


def test_a_place_that_is_no_run_folder(here, toy):
    (here / "file").write_text("precious")
    (here / "photos").mkdir()
    (here / "photos/a.jpg").write_text("precious")
    expected = {
        "file": "file is a file; name a folder",
        "file/run": "file/run cannot be written (Not a directory); name another folder",
        "photos": "photos is not empty and is not a run folder (no config.json); name a new folder",
    }
    for place, message in expected.items():
        assert message in refused(*fit("--folder", place))
        with pytest.raises(ValueError) as error:
            small("nnpu", prior=0.4, epochs=1).fit(toy[0], toy[1], folder=place)
        assert message in str(error.value)
    assert (here / "file").read_text() == (here / "photos/a.jpg").read_text() == "precious"
    assert [p.name for p in (here / "photos").iterdir()] == ["a.jpg"]
    fitted = small("nnpu", prior=0.4, epochs=1, network="mlp").fit(toy[0], toy[1])
    for place, message in {"file": "file is a file", "photos": "photos is not empty"}.items():
        with pytest.raises(ValueError, match=f"{message}; name a new folder"):
            fitted.save(place)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("place", ["locked", "locked/run"])
def test_a_folder_that_cannot_be_written(here, place):
    (here / "locked").mkdir(mode=0o500)
    assert f"{place} cannot be written (Permission denied); name another folder" in refused(*fit("--folder", place))


def test_a_folder_that_another_process_trains_in(here, toy):
    from distpu.files.lock import lock

    (here / "run").mkdir()
    with lock(here / "run"):
        assert "run is being trained by another process" in refused(*fit("--folder", "run"))
    done(*fit("--folder", "run"))


def test_predict_from_what_is_no_finished_run(copy, tmp_path):
    rows = tmp_path / "new.csv"
    pd.DataFrame(np.ones((3, 6)), columns=list("abcdef")).to_csv(rows, index=False)
    (tmp_path / "empty").mkdir()
    (copy / "done").unlink()
    expected = {
        tmp_path / "nowhere": (FileNotFoundError, "nowhere does not exist; name a run folder"),
        tmp_path / "empty": (FileNotFoundError, "empty is not a run folder (it holds no config.json)"),
        rows: (FileNotFoundError, "new.csv is a file, not a run folder"),
        copy: (ValueError, "copy is not finished; run the same fit again, and it continues where it stopped"),
    }
    for place, (kind, message) in expected.items():
        assert message in refused("predict", place, rows)
        with pytest.raises(kind) as error:
            package.load(place)
        assert message in str(error.value)


def damages():
    def keep_json(change):
        def damage(folder):
            path = folder / "config.json"
            config = json.loads(path.read_text())
            del config["sha256"]  # as in files of version 0.1, where a change shows later
            path.write_text(json.dumps(change(config)))

        return damage

    return {
        "config is garbage": (lambda f: (f / "config.json").write_text("{nonsense"), "config.json is not valid JSON"),
        "config is bytes": (lambda f: (f / "config.json").write_bytes(b"\xff\x00"), "config.json is not valid JSON"),
        "config was changed": (
            lambda f: (f / "config.json").write_text((f / "config.json").read_text().replace('"mlp"', '"mpl"')),
            "config.json was changed after it was written (its checksum does not match); the folder is damaged",
        ),
        "config is a list": (keep_json(lambda c: [1, 2]), "config.json has no 'method'"),
        "config lacks a key": (keep_json(lambda c: {"method": "nnpu"}), "config.json has no 'params'"),
        "method unknown": (keep_json(lambda c: {**c, "method": "pupu"}), "method 'pupu', which distpu"),
        "another network": (
            keep_json(lambda c: {**c, "params": {**c["params"], "network": "mpl"}}),
            "did you mean 'mlp'?",
        ),
        "a network of one's own": (
            keep_json(lambda c: {**c, "params": {**c["params"], "network": "callable mine.net"}}),
            "holds a network of your own (mine.net); pass it",
        ),
        "model.json is gone": (lambda f: (f / "model.json").unlink(), "model.json does not exist"),
        "model.json is empty": (lambda f: (f / "model.json").write_text(""), "model.json is not valid JSON"),
        "model.json lacks a key": (lambda f: (f / "model.json").write_text("{}"), "model.json has no 'prior'"),
        "weights are gone": (lambda f: (f / "model.safetensors").unlink(), "model.safetensors does not exist"),
        "other weights": (
            lambda f: tensors.save(f / "model.safetensors", {"mean": torch.zeros(6), "scale": torch.ones(6)}),
            "do not fit network='mlp' for rows of shape (6,)",
        ),
    }


@pytest.mark.parametrize("name", damages())
def test_a_damaged_run_folder(name, copy, tmp_path):
    damage, message = damages()[name]
    damage(copy)
    with pytest.raises((ValueError, FileNotFoundError)) as error:
        package.load(copy)
    assert message in str(error.value)
    pd.DataFrame(np.ones((3, 6)), columns=list("abcdef")).to_csv(tmp_path / "new.csv", index=False)
    assert message in refused("predict", copy, tmp_path / "new.csv")


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:-9] + b"x" + b[-8:], lambda b: b""])
def test_predict_refuses_damaged_weights(damage, copy, tmp_path):
    path = copy / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))
    pd.DataFrame(np.ones((3, 6)), columns=list("abcdef")).to_csv(tmp_path / "new.csv", index=False)
    assert "model.safetensors is damaged (" in refused("predict", copy, tmp_path / "new.csv")


def test_predict_overwrites_no_data(copy, tmp_path):
    rows = tmp_path / "new.csv"
    pd.DataFrame(np.ones((3, 6)), columns=list("abcdef")).to_csv(rows, index=False)
    before = rows.read_bytes()
    assert "would overwrite the data; name another file" in refused("predict", copy, rows, "--out", rows)
    assert f"{copy} is a folder; name a file" in refused("predict", copy, rows, "--out", copy)
    assert "new.csv" in refused("predict", copy, rows, "--out", rows / "scores.csv")
    assert rows.read_bytes() == before


# ---------------------------------------------------------------- networks


def two_outputs(shape):
    return torch.nn.Linear(shape[0], 2)


def no_module(shape):
    return 5


def test_networks_of_the_wrong_kind(toy):
    X, s, _ = toy
    with pytest.raises(
        ValueError, match=r"the network returns \(\d+, 2\) for \d+ rows; it must return one logit per row"
    ):
        small("nnpu", prior=0.4, network=two_outputs, batch_size=32).fit(X[:64], s[:64])
    with pytest.raises(ValueError, match="returned int; it must return a torch.nn.Module"):
        small("nnpu", prior=0.4, network=no_module).fit(X, s)


class BreaksDown(torch.nn.Module):
    """Returns NaN from its 25th training step on: with 10 steps an epoch that is the third one."""

    def __init__(self, shape):
        super().__init__()
        self.layer, self.steps = torch.nn.Linear(shape[0], 1), 0

    def forward(self, x):
        self.steps += self.training
        return self.layer(x) + (NAN if self.steps >= 25 else 0)


def test_a_loss_that_becomes_nan(toy, tmp_path):
    X, s, _ = toy
    classifier = small("nnpu", prior=0.4, network=BreaksDown, batch_size=30)
    with pytest.raises(FloatingPointError) as error:
        classifier.fit(X, s, folder=tmp_path / "run")
    expected = "the loss term 'nnpu' became nan in stage 'nnpu', epoch 3 of 8, at lr="
    assert expected in str(error.value) and "lower the learning rate, in another folder," in str(error.value)
    kept = tmp_path / "run/stage-nnpu.safetensors"
    assert f"(the last good state is kept: {kept})" in str(error.value)
    state, meta = tensors.load(kept)
    assert meta["epochs_done"] in (1, 2)  # saving every epoch may be too dear
    assert all(t.isfinite().all() for t in state.values())
    log = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [row["epoch"] for row in log] == [0, 1] and not (tmp_path / "run/done").exists()
    with pytest.raises(FloatingPointError) as error:
        classifier.fit(X, s)
    assert expected in str(error.value) and "kept" not in str(error.value)


def test_a_learning_rate_far_too_high(here):
    line = refused(*fit("--set", "lr=1e30", "--set", "epochs=20", "--folder", "run"))
    assert "in stage 'nnpu', epoch " in line and "lower the learning rate" in line
    assert not (here / "run/done").exists() and not (here / "run/scores.csv").exists()
    assert "run is not finished" in refused("predict", "run", "table.csv")


# -------------------------------------------------------------- far values


def test_a_value_far_out_is_named(toy, here):
    X, s, _ = toy
    far = pd.DataFrame(X, columns=list("abcdef"))
    far.loc[17, "b"] = 999_999.0
    with pytest.warns(
        UserWarning, match=r"column 'b' has 999999, but half of its values lie between .* values so far ou"
    ):
        small("nnpu", prior=0.4, epochs=1).fit(far, s)
    with pytest.warns(UserWarning, match="column 1 has 999999"):
        small("nnpu", prior=0.4, epochs=1).fit(far.to_numpy(), s)
    small("nnpu", prior=0.4, epochs=1, scaling="none").fit(far, s)  # as it is, by wish
    sparse = far.assign(b=np.where(np.arange(len(far)) == 17, 1000.0, 0.0))
    small("nnpu", prior=0.4, epochs=1).fit(sparse, s)  # mostly one value: that is what the column is


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz"])
def test_a_pipe_is_not_waited_for(suffix, copy, tmp_path):
    pipe = tmp_path / f"rows{suffix}"
    os.mkfifo(pipe)
    message = f"{pipe} is a pipe or a device; give a file"
    assert message in refused("fit", pipe, "--label", "y", "--method", "nnpu")
    assert message in refused("predict", copy, pipe)
    with pytest.raises(ValueError, match=re.escape(message)):
        package.fit_file(pipe, "y", folder=tmp_path / "run")
