"""Rows in pieces, read as texts, give the bits of the whole table."""

import numpy as np
import pytest

from distpu import datasets
from distpu.encode import TableEncoder


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "semicolons.csv", "t.parquet", "t.feather", "t.xlsx"])
def test_pieces_have_the_bits_of_the_whole(table, tmp_path, name):
    X, s, _ = table
    path = tmp_path / name
    if name == "semicolons.csv":
        X.to_csv(path, index=False, sep=";", decimal=",")
    elif "csv" in name:
        X.to_csv(path, index=False)
    else:
        getattr(X, {"t.parquet": "to_parquet", "t.feather": "to_feather", "t.xlsx": "to_excel"}[name])(
            path, **({"index": False} if name == "t.xlsx" else {})
        )
    whole, _ = datasets.read(path)
    encoder = TableEncoder().fit(whole, s)
    want = encoder.transform(whole)
    assert want.shape[1] > 30 and np.isnan(want).any()
    got = [encoder.transform(piece) for piece in datasets.pieces(path, rows=37)]
    assert len(got) == 11
    np.testing.assert_array_equal(np.concatenate(got), want)
    kinds = {c.name: c.kind for c in encoder.columns_}
    assert kinds["age"] == kinds["income"] == kinds["size"] == "number" and kinds["since"] == "date"
