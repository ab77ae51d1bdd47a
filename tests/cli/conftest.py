"""An empty working folder with a table, and a guard against training."""

import numpy as np
import pandas as pd
import pytest

from distpu import METHODS


@pytest.fixture
def here(toy, tmp_path, monkeypatch):
    """An empty working folder with table.csv: columns a to f, and 'fraud', which is 1 or empty."""
    monkeypatch.chdir(tmp_path)
    X, s, _ = toy
    table = pd.DataFrame(X, columns=list("abcdef"))
    table["fraud"] = np.where(s == 1, 1, np.nan)
    table.to_csv("table.csv", index=False)
    return tmp_path


@pytest.fixture
def no_training(monkeypatch):
    def forbid():
        for cls in METHODS.values():
            monkeypatch.setattr(cls, "_learn", lambda self, run: pytest.fail("trained again"))

    return forbid
