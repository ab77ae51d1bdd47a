"""A mixed table as people have them, whose labels follow some of its columns."""

import numpy as np
import pandas as pd
import pytest


def mixed(n=400, seed=0):
    """A frame with every kind of column, PU labels s, and the truth y."""
    r = np.random.RandomState(seed)
    y = (r.rand(n) < 0.4).astype(int)
    s = ((r.rand(n) < 0.35) & (y == 1)).astype(int)
    words = [["cheap pills buy now", "free money click here"], ["see you at lunch", "thanks for the report"]]
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(r.randint(0, 700, n), "D")
    frame = pd.DataFrame(
        {
            "customer_id": [f"C{i:05d}" for i in r.permutation(n)],
            "age": r.normal(40 + 8 * y, 10).round(1),
            "income": [f"${v:,.0f}" for v in r.lognormal(10 - 0.6 * y, 0.5, n)],
            "city": r.choice(["Bonn", "Paris", "Rome", "Oslo"], n),
            "shop": [f"shop {i}" for i in r.randint(0, 60, n)],
            "member": np.where(r.rand(n) < 0.3 + 0.4 * y, "yes", "no"),
            "since": [d.strftime("%d.%m.%Y") for d in days],
            "size": r.choice(["<10", "10-49", "50-99", "100+"], n),
            "note": [words[1 - int(r.rand() < 0.15 + 0.7 * v)][r.randint(2)] + f" {r.randint(99)}" for v in y],
            "empty": None,
            "version": 3,
        }
    )
    frame.loc[r.rand(n) < 0.2, "age"] = np.nan
    frame.loc[r.rand(n) < 0.1, "city"] = "?"
    return frame, s, y


@pytest.fixture(scope="session")
def table():
    return mixed()
