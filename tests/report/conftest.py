"""One finished run on a small table, which the tests of the page share."""

import numpy as np
import pandas as pd
import pytest

from distpu import fit_file


@pytest.fixture(scope="session")
def answer(tmp_path_factory):
    random = np.random.default_rng(0)
    y = random.random(600) < 0.3
    frame = pd.DataFrame(random.normal(size=(600, 4)) + 1.5 * y[:, None], columns=["amount", "age", "days", "orders"])
    frame["fraud"] = (y & (random.random(600) < 0.4)).astype(int)
    path = tmp_path_factory.mktemp("page") / "customers.csv"
    frame.round(4).to_csv(path, index=False)
    return fit_file(path, "fraud", method="elkan-noto", folds=3, folder=path.parent / "run")
