"""Pieces of Parquet and Arrow files: the same cuts however the file was written, from any piece on."""

import numpy as np
import pandas as pd
import pytest

from distpu.datasets.pieces import of_file, parquet_files, pieces

ROWS = 1000
FRAME = pd.DataFrame(
    {
        "number": np.arange(ROWS) * 1.5,
        "code": pd.Categorical([f"c{i * i % 7}" for i in range(ROWS)]),  # its row groups have dictionaries of their own
        "text": [f"text {i}" for i in range(ROWS)],
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(ROWS), "h"),
    }
)


@pytest.mark.parametrize("group", [170, 300, 64, 1000])
@pytest.mark.parametrize("first", [0, 1, 3, 5, 6, 9])
def test_a_parquet_file_is_cut_at_the_same_rows_from_any_piece_on(tmp_path, group, first):
    FRAME.to_parquet(tmp_path / "t.parquet", row_group_size=group)
    found = list(of_file(tmp_path / "t.parquet", None, 170, (), first=first))
    assert [len(one) for one in found] == [170, 170, 170, 170, 170, 150][first:]
    if found:
        whole = pd.concat([one.astype({"code": object}) for one in found], ignore_index=True)
        wanted = FRAME[170 * first :].astype({"code": object}).reset_index(drop=True)
        pd.testing.assert_frame_equal(whole, wanted, check_dtype=False)


def test_short_batches_of_an_arrow_file_are_joined(tmp_path):
    import pyarrow as pa

    with pa.ipc.new_file(tmp_path / "t.arrow", pa.Table.from_pandas(FRAME).schema) as file:
        for start in range(0, ROWS, 30):
            file.write(pa.RecordBatch.from_pandas(FRAME[start : start + 30].reset_index(drop=True)))
    assert [len(one) for one in pieces(tmp_path / "t.arrow", rows=400)] == [400, 400, 200]


def test_the_files_of_a_data_set_say_their_rows(tmp_path):
    for name, part in (("b", FRAME[:400]), ("a", FRAME[400:])):
        part.to_parquet(tmp_path / f"{name}.parquet")
    assert parquet_files(tmp_path) == {tmp_path / "a.parquet": 600, tmp_path / "b.parquet": 400}
    FRAME.to_csv(tmp_path / "a.csv")
    assert parquet_files(tmp_path / "a.csv") is None


def test_what_was_read_of_a_parquet_file_is_not_kept(tmp_path):
    """pyarrow's read-ahead keeps each row group until the file is closed: memory would grow with the file."""
    import pyarrow

    table = pd.DataFrame(np.random.default_rng(0).normal(size=(200_000, 5)), columns=list("abcde"))
    table.to_parquet(tmp_path / "t.parquet", row_group_size=10_000)
    size, before = (tmp_path / "t.parquet").stat().st_size, pyarrow.total_allocated_bytes()
    held = [pyarrow.total_allocated_bytes() - before for _ in pieces(tmp_path / "t.parquet", rows=10_000)]
    assert len(held) == 20 and max(held) < size / 3
