"""Write a large table of random numbers with PU labels, to measure the speed of `distpu fit` on a file.

    python tools/big_table.py 50000 80 500 table.csv          rows, columns, labelled rows, file
    time distpu fit table.csv --label fraud

A fifth of the rows is positive. A quarter of the columns is shifted by 0.5 in them; every seventh column is log-normal.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd


def main(rows: int, columns: int, labelled: int, path: str) -> None:
    random = np.random.RandomState(0)
    y = random.rand(rows) < 0.2
    x = random.randn(rows, columns).astype(np.float32)
    x[:, : columns // 4] += 0.5 * y[:, None]
    x[:, ::7] = np.exp(x[:, ::7])
    s = np.zeros(rows, dtype=int)
    s[random.choice(np.flatnonzero(y), labelled, replace=False)] = 1
    frame = pd.DataFrame(x.round(4), columns=[f"c{i}" for i in range(columns)])
    frame.assign(fraud=s).to_csv(path, index=False)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*map(int, sys.argv[1:4]), sys.argv[4])
