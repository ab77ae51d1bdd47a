"""A file is read at predict as it was at fit: decimal signs, and the names of rows."""

import numpy as np
import pandas as pd

from distpu import TableEncoder, fit_file, load, predict_file

ROWS = 400


def amounts():
    random = np.random.default_rng(0)
    v = random.random(ROWS) * 9000 + 1000
    return v, ((v > 6000) & (random.random(ROWS) < 0.4)).astype(int)


def german(value, digits):
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def test_the_decimal_sign_of_the_fit_is_stored_and_used(tmp_path):
    v, y = amounts()
    rows = range(ROWS)
    (tmp_path / "t.csv").write_text("v;w;y\n" + "".join(f"{german(v[i], 2)};{i % 7};{y[i]}\n" for i in rows))
    (tmp_path / "whole.csv").write_text("v;w\n" + "".join(f"{german(v[i], 0)};{i % 7}\n" for i in rows))
    (tmp_path / "same.csv").write_text("v;w\n" + "".join(f"{v[i]:.0f},00;{i % 7}\n" for i in rows))
    fit_file(tmp_path / "t.csv", "y", method="elkan-noto", folder=tmp_path / "run", report=False)
    assert load(tmp_path / "run").encoder_.decimal_ == ","
    for name in ("whole", "same"):
        predict_file(tmp_path / "run", tmp_path / f"{name}.csv", tmp_path / f"{name}.scores.csv")
    assert (tmp_path / "whole.scores.csv").read_text() == (tmp_path / "same.scores.csv").read_text()


def test_an_encoder_of_an_older_folder_has_no_sign():
    state, arrays = TableEncoder().fit(pd.DataFrame({"v": amounts()[0]})).to_state()
    del state["decimal"]
    assert TableEncoder.from_state(state, arrays).decimal_ is None


def test_fit_and_predict_write_the_same_names(tmp_path):
    v, y = amounts()
    names = [f"{i:06d}" for i in range(ROWS)]
    pd.DataFrame({"acct": names, "v": v, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    fit_file(tmp_path / "t.csv", "y", method="elkan-noto", id="acct", folder=tmp_path / "run", report=False)
    fitted = pd.read_csv(tmp_path / "run/scores.csv", dtype={"id": str})["id"]
    predict_file(tmp_path / "run", tmp_path / "t.csv", tmp_path / "out.csv", id="acct")
    assert set(fitted) <= set(pd.read_csv(tmp_path / "out.csv", dtype={"id": str})["id"]) == set(names)


def test_long_whole_names_stay_whole_beside_a_blank(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    v, y = amounts()
    pd.DataFrame({"v": v, "y": y}).to_parquet(tmp_path / "t.parquet")
    fit_file(tmp_path / "t.parquet", "y", method="elkan-noto", folder=tmp_path / "run", report=False)
    names = [None, *(10**17 + i for i in range(1, ROWS))]
    pq.write_table(pa.table({"k": pa.array(names, pa.int64()), "v": v}), tmp_path / "new.parquet")
    predict_file(tmp_path / "run", tmp_path / "new.parquet", tmp_path / "out.csv", id="k")
    found = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert [line.split(",")[0] for line in found] == ["", *map(str, names[1:])]
