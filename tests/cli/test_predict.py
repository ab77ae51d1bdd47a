"""What `distpu predict` reads."""

import numpy as np
import pandas as pd
import pytest

from distpu import datasets


def test_read_takes_only_the_columns_asked_for(here):
    table = pd.read_csv("table.csv").assign(name="Jo")
    table.to_csv("more.csv", index=False)
    table.to_parquet("more.parquet")
    for path in ("more.csv", "more.parquet"):
        X, y = datasets.read(path, columns=["c", "a"])
        assert list(X) == ["c", "a"] and y is None
        np.testing.assert_allclose(X["a"], table["a"])
        with pytest.raises(ValueError, match=r"has no columns 'z', 'y' \(it has 'a'"):
            datasets.read(path, columns=["z", "a", "y"])
        with pytest.raises(ValueError, match=r"has no column 'nam'; did you mean 'name'\?"):
            datasets.read(path, columns=["a", "nam"])
    spelt = r"has no columns 'A', ' nam'; did you mean 'a' for 'A', 'name' for ' nam'\? \(it has 'a'"
    with pytest.raises(ValueError, match=spelt):  # 'b' is wanted itself, so it is no hint
        datasets.read("more.csv", columns=["A", " nam", "b"])
    np.savez("rows.npz", X=np.ones((3, 2)))
    assert datasets.read("rows.npz", columns=["ignored"])[0].shape == (3, 2)
