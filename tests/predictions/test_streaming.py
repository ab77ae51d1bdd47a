"""Scores of data of any size: the numbers of predict_proba, in order, whole or not at all, resumed after a kill."""

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression

import distpu as package
from distpu import BlendPU, ElkanNoto, TableEncoder, datasets, predict_file
from distpu.predictions import streaming
from distpu.predictions.first import FirstRows
from distpu.predictions.part import Part, Piece
from terminal import distpu, done, refused

ROWS = 1_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model and its new rows: new.csv, new.parquet, many/, new.npy and what the model says of them."""
    place = tmp_path_factory.mktemp("place")
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(ROWS, 3)) + (np.arange(ROWS) % 3 == 0)[:, None], columns=list("abc"))
    s = (np.arange(ROWS) % 6 == 0).astype(int)
    ElkanNoto(LogisticRegression(), random_state=0).fit(X, s, folder=place / "run")
    new = X.assign(customer=[f"c{i}" for i in range(ROWS)])[["c", "customer", "a", "b"]]
    new.to_csv(place / "new.csv", index=False)
    new.to_csv(place / "new.csv.gz", index=False)
    new.to_parquet(place / "new.parquet", row_group_size=300)
    (place / "many/month=2").mkdir(parents=True)
    new[:400].to_parquet(place / "many/a.parquet")
    new[400:].to_parquet(place / "many/month=2/b.parquet")
    (place / "many/_SUCCESS").touch()
    return place


@pytest.fixture(scope="module")
def wanted(place):
    model = package.load(place / "run")
    decision, p = model.judged(pd.read_csv(place / "new.csv")[list("abc")])
    return pd.DataFrame({"score": decision, "probability": p, "decision": (decision >= 0).astype(int)})


@pytest.mark.parametrize("name", ["new.csv", "new.csv.gz", "new.parquet", "many"])
def test_a_table_in_pieces_has_the_scores_of_the_whole(place, wanted, tmp_path, name):
    found = predict_file(place / "run", place / name, tmp_path / "out.parquet", rows_at_a_time=170)
    assert (found.rows, found.positive) == (ROWS, wanted["decision"].sum()) and found.resumed == 0
    table = pd.read_parquet(tmp_path / "out.parquet")
    assert table["id"].tolist() == list(range(ROWS))
    # processors with wide vectors round the last rows of an array in another way
    np.testing.assert_allclose(table[["score", "probability", "decision"]], wanted, rtol=1e-14)
    assert os.listdir(tmp_path) == ["out.parquet"]


def test_csv_and_standard_output_say_the_same(place, wanted, tmp_path):
    predict_file(place / "run", place / "new.parquet", tmp_path / "out.csv", id="customer", rank=True)
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert list(rows[0]) == ["id", "score", "probability", "rank", "decision"]
    assert [row["id"] for row in rows] == [f"c{i}" for i in range(ROWS)]
    np.testing.assert_allclose([float(row["probability"]) for row in rows], wanted["probability"], rtol=1e-5)
    order = np.argsort([int(row["rank"]) for row in rows])
    assert sorted(int(row["rank"]) for row in rows) == list(range(1, ROWS + 1))
    assert (np.diff(wanted["score"].to_numpy()[order]) <= 0).all()
    told = done("predict", place / "run", place / "new.csv", "--id", "customer", "--rank")
    assert told == (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("name, n", [("new.csv", 100), ("many", 7), ("new.parquet", ROWS)])
def test_a_number_of_rows_is_that_of_the_data_at_hand(place, wanted, tmp_path, name, n):
    found = predict_file(place / "run", place / name, tmp_path / "out.parquet", threshold=f"rows={n}", rank=True,
                         rows_at_a_time=170)  # fmt: skip
    table = pd.read_parquet(tmp_path / "out.parquet")
    assert found.positive == n == table["decision"].sum() and found.differences == ()
    assert ((table["rank"] <= n) == (table["decision"] == 1)).all() and (
        (table["score"] >= 0) == table["decision"]
    ).all()
    assert np.ptp(table["score"] - wanted["score"]) < 1e-9 and np.allclose(table["probability"], wanted["probability"])
    predict_file(place / "run", place / name, tmp_path / "out.csv", threshold=f"rows={n}", rank=True)
    told = done("predict", place / "run", place / name, "--rank", "--threshold", f"rows={n}")
    assert told == (tmp_path / "out.csv").read_text()


def pieces(*scores):
    start = 0
    for score in map(np.array, scores):
        yield Piece(start, score, score, score > 0, None)
        start += len(score)


@pytest.mark.parametrize(
    "scores, called, remark",
    [
        ([[3.0, 1.0], [2.0, 0.0]], [1, 0, 1, 0], ""),
        ([[3.0, 2.0], [2.0, 0.0]], [1, 0, 0, 0], "calls 1 rows: row 2 of the ranking shares its score with others"),
        ([[3.0, 3.0], [3.0, 0.0]], [1, 1, 1, 0], "cannot be kept: more rows share the highest score"),
        ([[3.0]], [1], "calls every row: there are 1"),
        ([[np.inf, -np.inf], [np.inf, 1.0]], [1, 0, 1, 0], ""),
    ],
)
def test_rows_that_share_a_score_are_called_together_or_not_at_all(scores, called, remark):
    found = FirstRows.of(pieces(*scores), 2)
    moved = list(found.moved(pieces(*scores)))
    assert np.concatenate([piece.decision for piece in moved]).tolist() == called
    assert (np.concatenate([piece.score for piece in moved]) >= 0).tolist() == [bool(one) for one in called]
    assert remark in found.remark and bool(remark) == bool(found.remark)


def test_arrays_are_read_through_a_memory_map(place, wanted, tmp_path, monkeypatch):
    X = pd.read_csv(place / "new.csv")[list("abc")].to_numpy()
    ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(ROWS) % 6 == 0, folder=tmp_path / "run")
    np.save(tmp_path / "new.npy", X)
    np.savez(tmp_path / "new.npz", X=X)
    model, seen = package.load(tmp_path / "run"), []
    real = streaming.rows.read_array
    monkeypatch.setattr(streaming.rows, "read_array", lambda path: seen.append(real(path)) or seen[-1])
    for name in ("new.npy", "new.npz"):
        predict_file(tmp_path / "run", tmp_path / name, tmp_path / "out.parquet", rows_at_a_time=300)
        np.testing.assert_array_equal(
            pd.read_parquet(tmp_path / "out.parquet")["probability"], model.predict_proba(X)[:, 1]
        )
    assert isinstance(seen[0][0], np.memmap)
    (tmp_path / "no.npy").write_bytes(b"nothing")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    torn = (tmp_path / "new.npy").read_bytes()
    (tmp_path / "torn.npy").write_bytes(torn[:15] + torn[90:])
    assert "torn.npy cannot be used" in refused("predict", tmp_path / "run", tmp_path / "torn.npy", "-o", "out.csv")
    assert not Path(".out.csv.part").exists()
    assert "no.npy cannot be used" in refused("predict", tmp_path / "run", tmp_path / "no.npy")
    assert "has shape (1, 1) and type <U1" in refused("predict", tmp_path / "run", tmp_path / "text.npy")


KILLED = """
import os, signal, sys
from distpu import predict_file
from distpu.predictions import part, streaming
seen = []
def dying(self, piece, add=part.Part.add):
    add(self, piece)
    seen.append(piece)
    if len(seen) == 3:
        if "torn" in sys.argv:
            content = piece.to_bytes()
            self.file.write(len(content).to_bytes(8, "little") + b"x" * 32 + content[: len(content) // 2])
            self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
part.Part.add = dying
predict_file(sys.argv[1], sys.argv[2], sys.argv[3], rows_at_a_time=130, id="customer")
"""


@pytest.mark.parametrize("how, end", [("clean", "csv"), ("torn", "parquet")])
def test_a_killed_run_goes_on_to_the_same_bits(place, tmp_path, monkeypatch, how, end):
    out, whole = tmp_path / f"out.{end}", tmp_path / f"whole.{end}"
    out.write_text("of yesterday")
    command = [sys.executable, "-c", KILLED, place / "run", place / "new.csv", out, how]
    assert subprocess.run(command).returncode == -signal.SIGKILL
    assert out.read_text() == "of yesterday"  # nothing half-written under its name
    assert sorted(os.listdir(tmp_path)) == [f".out.{end}.part", out.name]
    scored, real = [], streaming.Job.piece
    monkeypatch.setattr(streaming.Job, "piece", lambda self, X, start: scored.append(start) or real(self, X, start))
    told = {"rows_at_a_time": 130, "id": "customer"}
    found = predict_file(place / "run", place / "new.csv", out, **told)
    assert (found.resumed, found.rows) == (390, ROWS)
    assert scored[0] == 390 and len(scored) == 5
    predict_file(place / "run", place / "new.csv", whole, **told)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [out.name, whole.name]


def test_a_part_of_other_data_or_another_cut_is_not_taken(place, tmp_path, monkeypatch):
    out, left, real = tmp_path / "out.csv", tmp_path / ".out.csv.part", Part.add

    def stopped(self, piece):
        real(self, piece)
        raise KeyboardInterrupt

    for told in ({"threshold": "half"}, {"id": None}, {"data": "new.parquet"}, {}):
        monkeypatch.setattr(Part, "add", stopped)
        with pytest.raises(KeyboardInterrupt):
            predict_file(place / "run", place / "new.csv", out, rows_at_a_time=400, id="customer")
        assert left.exists()
        monkeypatch.setattr(Part, "add", real)
        data, told = told.get("data", "new.csv"), {"id": "customer", **told}
        told.pop("data", None)
        found = predict_file(place / "run", place / data, out, rows_at_a_time=400, **told)
        assert found.resumed == (400 if told == {"id": "customer"} and data == "new.csv" else 0)
        assert not left.exists()


def test_a_part_of_other_images_is_not_taken(tmp_path, monkeypatch):
    """A broken image shifts the pieces. It is mended between two calls; the table of paths stays the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    random = np.random.default_rng(0)
    X = random.integers(0, 256, (60, 64), dtype=np.uint8)
    ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(60) % 3 == 0, folder=tmp_path / "run")
    names = [f"{i:02d}.png" for i in range(30)]
    for name, row in zip(names, X, strict=False):
        Image.fromarray(row.reshape(8, 8)).save(tmp_path / name)
    good = (tmp_path / names[0]).read_bytes()
    (tmp_path / names[0]).write_bytes(good[:40])
    (tmp_path / "t.csv").write_text("\n".join(["path", *names, ""]))
    out, real = tmp_path / "out.csv", Part.add

    def stopped(self, piece):
        real(self, piece)
        raise KeyboardInterrupt

    monkeypatch.setattr(Part, "add", stopped)
    with pytest.raises(KeyboardInterrupt):
        predict_file(tmp_path / "run", tmp_path / "t.csv", out, rows_at_a_time=10)
    monkeypatch.setattr(Part, "add", real)
    (tmp_path / names[0]).write_bytes(good)
    assert predict_file(tmp_path / "run", tmp_path / "t.csv", out, rows_at_a_time=10).resumed == 0
    assert pd.read_csv(out)["id"].tolist() == names
    monkeypatch.setattr(Part, "add", stopped)
    with pytest.raises(KeyboardInterrupt):
        predict_file(tmp_path / "run", tmp_path / "t.csv", out, rows_at_a_time=10)
    monkeypatch.setattr(Part, "add", real)
    assert predict_file(tmp_path / "run", tmp_path / "t.csv", out, rows_at_a_time=10).resumed == 10


def test_a_full_disk_is_one_line_and_the_scored_rows_stay(place, tmp_path, monkeypatch):
    out = tmp_path / "out.csv"
    real = Part.add

    def full(self, piece):
        if len(self) == 2:
            raise OSError(28, "No space left on device")
        real(self, piece)

    monkeypatch.setattr(Part, "add", full)
    monkeypatch.setattr(streaming.rows, "ROWS", 200)
    with pytest.raises(
        ValueError, match=r"out.csv cannot be written \(No space left on device\); free some room; the scores of 400 ro"
    ):
        predict_file(place / "run", place / "new.csv", out, rows_at_a_time=200)
    assert os.listdir(tmp_path) == [".out.csv.part"]
    monkeypatch.setattr(Part, "add", real)
    assert predict_file(place / "run", place / "new.csv", out, rows_at_a_time=200).resumed == 400


@pytest.mark.parametrize("method", ["_append", "add"])
def test_a_disk_that_is_full_from_the_start_is_told_with_the_file_and_a_remedy(place, tmp_path, monkeypatch, method):
    def full(*_):
        raise OSError(28, "No space left on device")  # as a write does, without the name of the file

    monkeypatch.setattr(Part, method, full)
    line = refused("predict", place / "run", place / "new.csv", "-o", tmp_path / "out.csv")
    assert line.startswith(f"distpu: {tmp_path / 'out.csv'}: No space left on device; free some room")
    assert not (tmp_path / "out.csv").exists()


def test_two_processes_do_not_write_one_file(place, tmp_path):
    out = tmp_path / "out.csv"
    with Part.opened(out, {}):
        assert "out.csv is being written by another process" in refused(
            "predict", place / "run", place / "new.csv", "-o", out
        )
    assert done("predict", place / "run", place / "new.csv", "-o", out).startswith("1,000 rows scored, ")


def test_what_cannot_be_is_refused(place, tmp_path):
    run, new = place / "run", place / "new.csv"
    assert "has no column 'custmer'; did you mean 'customer'? to name the rows" in refused(
        "predict", run, new, "--id", "custmer"
    ).replace("(it has 'c', 'customer', 'a', 'b')", "to name the rows")
    assert "scores are written as .csv or .parquet" in refused("predict", run, new, "-o", tmp_path / "out.xlsx")
    (tmp_path / "none").mkdir()
    assert "is a folder without tables" in refused("predict", run, tmp_path / "none")
    cut = (place / "new.parquet").read_bytes()[:-40]
    (tmp_path / "cut.parquet").write_bytes(cut)
    assert "cut.parquet cannot be used" in refused("predict", run, tmp_path / "cut.parquet", "-o", tmp_path / "out.csv")
    link = tmp_path / ".linked.csv.part"
    link.symlink_to(tmp_path / "elsewhere")
    assert ".linked.csv.part is a link" in refused("predict", run, new, "-o", tmp_path / "linked.csv")
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "elsewhere").exists()


def test_a_word_far_down_is_told_of_and_wrong_columns_leave_nothing(place, tmp_path):
    table = pd.read_csv(place / "new.csv")
    table["a"] = table["a"].astype(object)
    table.loc[700, "a"] = "many"
    table.to_csv(tmp_path / "bad.csv", index=False)
    with pytest.warns(UserWarning, match="cells that are not as in training: 'a' .1 no number"):
        predict_file(place / "run", tmp_path / "bad.csv", tmp_path / "out.csv", rows_at_a_time=200)
    assert len(pd.read_csv(tmp_path / "out.csv")) == len(table)
    table.rename(columns={"a": "z"}).to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(ValueError, match="has no column 'a'"):
        predict_file(place / "run", tmp_path / "bad.csv", tmp_path / "other.csv", rows_at_a_time=200)
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "out.csv"]


def test_a_model_without_an_encoder_takes_numbers_only(place, tmp_path):
    X, s = pd.read_csv(place / "new.csv")[list("abc")], np.arange(ROWS) % 6 == 0
    ElkanNoto(LogisticRegression(), encode=False, random_state=0).fit(X, s, folder=tmp_path / "plain")
    X.astype(object).assign(a=lambda t: np.where(t.index == 700, "many", t["a"])).to_csv(tmp_path / "bad.csv")
    with pytest.raises(ValueError, match=r"not numeric, 'a' \('many' in row 700\); the model was trained on numbers"):
        predict_file(tmp_path / "plain", tmp_path / "bad.csv", tmp_path / "out.csv", rows_at_a_time=200)
    assert sorted(os.listdir(tmp_path)) == ["bad.csv", "plain"]
    X.to_csv(tmp_path / "good.csv")
    assert (
        predict_file(tmp_path / "plain", tmp_path / "good.csv", tmp_path / "out.csv", rows_at_a_time=200).rows == ROWS
    )


def test_what_differs_from_training_is_said_and_unused_columns_may_be_missing(tmp_path):
    random = np.random.default_rng(0)
    y = random.random(600) < 0.4
    table = pd.DataFrame(
        {
            "town": np.where(y, "Ulm", "Bonn"),
            "sum": random.lognormal(2 + y),
            "same": "x",
            "key": [f"k{i:05d}" for i in range(600)],
        }
    )
    s = y & (random.random(600) < 0.5)
    own = BlendPU(trees=4, bags=1, folds=2, random_state=0, encode=TableEncoder(id="key", keep=["town"]))
    own.fit(table, s, folder=tmp_path / "run")
    new = table.assign(sum=table["sum"] * 1000, town=np.where(np.arange(600) % 5 == 0, "Rom", table["town"]))
    new.drop(columns="same").to_csv(tmp_path / "new.csv", index=False)
    with pytest.warns(UserWarning, match="not as in training: ") as said:
        found = predict_file(tmp_path / "run", tmp_path / "new.csv", tmp_path / "out.csv", rows_at_a_time=100)
    assert len(said) == 1 and "'town'" in found.differences[0] and "'sum'" in found.differences[0]
    assert "far outside" in found.differences[0]
    assert pd.read_csv(tmp_path / "out.csv")["id"].tolist() == table["key"].tolist()  # the model's own id column
    new.drop(columns="town").to_csv(tmp_path / "less.csv", index=False)
    with pytest.raises(ValueError, match="has no column 'town'"):
        predict_file(tmp_path / "run", tmp_path / "less.csv", tmp_path / "out.csv")


def test_formulas_in_ids_are_made_harmless_in_csv(place, tmp_path):
    table = pd.read_csv(place / "new.csv")[:3].assign(customer=['=cmd|"/c calc"!A1', "a,b", None])
    table.to_parquet(tmp_path / "new.parquet")
    told = done("predict", place / "run", tmp_path / "new.parquet", "--id", "customer")
    ids = [row["id"] for row in csv.DictReader(told.splitlines())]
    assert ids == ['\'=cmd|"/c calc"!A1', "a,b", ""]
    predict_file(place / "run", tmp_path / "new.parquet", tmp_path / "out.parquet", id="customer")
    assert pd.read_parquet(tmp_path / "out.parquet")["id"].tolist()[:2] == ['=cmd|"/c calc"!A1', "a,b"]


@pytest.mark.parametrize("kind", ["Int64", "string", "float"])
def test_a_blank_among_the_ids_is_an_empty_cell(place, tmp_path, kind):
    new = pd.read_csv(place / "new.csv")[:4].assign(key=pd.array([7, None, 8, 9], dtype="Int64").astype(kind))
    new.to_parquet(tmp_path / "new.parquet")
    predict_file(place / "run", tmp_path / "new.parquet", tmp_path / "out.csv", id="key")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["id", "7", "", "8", "9"]


def test_a_warning_is_said_once_for_all_pieces(place, tmp_path, monkeypatch):
    import warnings

    from distpu import PUEstimator

    real = PUEstimator.judged

    def warns(self, X):
        warnings.warn(f"column 'a' has {len(X)} odd values", UserWarning, stacklevel=2)
        return real(self, X)

    monkeypatch.setattr(PUEstimator, "judged", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        ended = distpu("predict", place / "run", place / "many", "-o", tmp_path / "out.csv")
    assert ended.code == 0 and ended.err == "distpu: column 'a' has 400 odd values\n"


def test_the_number_of_rows_is_known_or_about_right(place):
    count = streaming.rows.about_how_many
    assert count(place / "new.parquet") == count(place / "many") == ROWS
    assert abs(count(place / "new.csv") - ROWS) < 20 and abs(count(place / "new.csv.gz") - ROWS) < 60


def test_pieces_in_file_order_with_the_columns_asked_for(place):
    for name in ("new.csv", "new.parquet", "many"):
        found = list(datasets.pieces(place / name, ["b", "a"], rows=300))
        assert all(list(piece) == ["b", "a"] and len(piece) <= 300 for piece in found) and len(found) >= 4
        whole = pd.concat(found, ignore_index=True)
        pd.testing.assert_frame_equal(whole.astype(float), pd.read_csv(place / "new.csv")[["b", "a"]])
    with pytest.raises(ValueError, match="has no column 'z'"):
        list(datasets.pieces(place / "new.csv", ["z"]))


def test_a_piece_comes_back_as_it_was():
    for ids in (None, [1, 2], ["a", None], ["é", 3]):
        piece = Piece(5, np.array([0.5, -1]), np.array([0.9, 0.1]), np.array([1, 0], dtype=np.int8), ids)
        again = Piece.from_bytes(piece.to_bytes())
        assert again.ids == ids and list(again.names) == (ids or [5, 6])
        for name in ("score", "probability", "decision"):
            np.testing.assert_array_equal(getattr(again, name), getattr(piece, name))


def test_a_part_that_was_changed_is_cut_where_it_was_changed(tmp_path):
    piece = Piece(0, np.zeros(3), np.zeros(3), np.zeros(3, dtype=np.int8), None)
    goal = tmp_path / "out.csv"
    with Part.opened(goal, {"of": 1}) as part:
        for _ in range(3):
            part.add(piece)
        place = part._places[1][0]
    content = bytearray(Path(part.path).read_bytes())
    content[place + 5] ^= 1
    part.path.write_bytes(bytes(content))
    with Part.opened(goal, {"of": 1}) as part:
        assert (len(part), part.rows) == (1, 3)
    with Part.opened(goal, {"of": 2}) as part:
        assert (len(part), part.rows) == (0, 0)
