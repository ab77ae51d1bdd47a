"""Write a large table with PU labels, to measure the speed of `distpu fit` on a file.

    python tools/big_table.py 50000 80 500 table.csv          rows, columns, labelled rows, file
    python tools/big_table.py 1000000 50 2000 table.csv --mixed
    time distpu fit table.csv --label fraud

A fifth of the rows is positive. A quarter of the columns is shifted by 0.5 in them; every seventh column is log-normal.
With --mixed half of the columns are numbers; the others are categories, codes of many values, dates, yes and no, short
texts and amounts with a unit, in turn, and every tenth cell is blank in one of eight spellings.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

PIECE = 50_000  # rows
BLANKS = ["", "NA", "?", "-", "null", "N/A", "None", "nan"]
WORDS = np.array("refund card urgent transfer wire parcel thanks order size happy birthday friendly".split(), object)
KINDS = ("category", "code", "date", "yes", "text", "amount")


def numbers(random: np.random.RandomState, y: np.ndarray, columns: int) -> pd.DataFrame:
    x = random.randn(len(y), columns).astype(np.float32)
    x[:, : columns // 4] += 0.5 * y[:, None]
    x[:, ::7] = np.exp(x[:, ::7])
    return pd.DataFrame(x.round(4), columns=[f"c{i}" for i in range(columns)])


def cells(random: np.random.RandomState, y: np.ndarray, kind: str) -> np.ndarray:
    """Return a column of texts; positives differ a little."""
    n = len(y)
    if kind == "category":
        return np.array(["DE", "FR", "IT", "PL", "US"], object)[np.minimum(random.poisson(1 + y), 4)]
    if kind == "code":
        return np.char.add("M", (random.zipf(1.4, n) % 20_000).astype(str)).astype(object)
    if kind == "date":
        days = random.randint(0, 700, n) + 30 * y
        seconds = random.randint(0, 86_400, n)
        at = np.datetime64("2023-01-01T00:00:00") + days.astype("timedelta64[D]") + seconds.astype("timedelta64[s]")
        return at.astype(str).astype(object)
    if kind == "yes":
        return np.where(random.rand(n) < 0.4 + 0.2 * y, "yes", "no").astype(object)
    if kind == "text":
        words = WORDS[np.minimum(random.randint(0, 12, (n, 6)), 11 - 3 * y[:, None])]
        return np.array([" ".join(line) for line in words], object)
    return np.array([f"{v:,.2f} EUR" for v in np.exp(4 + random.randn(n) + 0.3 * y)], object)


def mixed(random: np.random.RandomState, y: np.ndarray, columns: int) -> pd.DataFrame:
    half = (columns + 1) // 2
    frame = numbers(random, y, half).astype(float).round(4).astype(object)
    for i in range(columns - half):
        kind = KINDS[i % len(KINDS)]
        frame[f"{kind}{i}"] = cells(random, y.astype(int), kind)
    blank = random.rand(*frame.shape) < 0.1
    spelt = np.array(BLANKS, object)[random.randint(0, len(BLANKS), frame.shape)]
    return frame.where(~blank, pd.DataFrame(spelt, columns=frame.columns))


def main(rows: int, columns: int, labelled: int, path: str, mix: bool) -> None:
    random = np.random.RandomState(0)
    y = random.rand(rows) < 0.2
    s = np.zeros(rows, dtype=int)
    s[random.choice(np.flatnonzero(y), labelled, replace=False)] = 1
    for start in range(0, rows, PIECE):
        part = slice(start, start + PIECE)
        frame = (mixed if mix else numbers)(random, y[part], columns)
        frame.assign(fraud=s[part]).to_csv(path, index=False, mode="a" if start else "w", header=not start)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rows", "columns", "labelled"):
        parser.add_argument(name, type=int)
    parser.add_argument("path")
    parser.add_argument("--mixed", action="store_true")
    told = parser.parse_args()
    main(told.rows, told.columns, told.labelled, told.path, told.mixed)
