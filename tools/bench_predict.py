"""Measures `distpu predict` on tables of growing size: seconds, rows a second and peak memory of the process.

    python tools/bench_predict.py [--rows 100000,1000000] [--method blend-pu] [--folder /tmp/bench-predict]

A model is fitted on 10,000 rows of 20 columns. Then a Parquet file of each size is scored by a process of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

import distpu

COLUMNS, FITTED, LABELLED = 20, 10_000, 500


def table(rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(seed)
    y = random.random(rows) < 0.2
    X = random.normal(size=(rows, COLUMNS)).astype(np.float32) + 0.5 * y[:, None].astype(np.float32)
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(COLUMNS)]), y


def write(path: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for seed, start in enumerate(range(0, rows, 100_000), 1):
        part = pa.Table.from_pandas(table(min(100_000, rows - start), seed)[0], preserve_index=False)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def measured(*command: object) -> tuple[float, float, float]:
    """Run a process; return its seconds, its CPU seconds and the most memory it held, in MiB."""
    start = time.perf_counter()
    pid = os.posix_spawn(sys.executable, [sys.executable, "-m", "distpu", *map(str, command)], dict(os.environ))
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"distpu {' '.join(map(str, command))} failed")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("--rows", default="100000,1000000")
    told.add_argument("--method", default="blend-pu")
    told.add_argument("--folder", type=Path, default=Path("/tmp/bench-predict"))
    options = told.parse_args()
    place: Path = options.folder
    place.mkdir(parents=True, exist_ok=True)
    run = place / options.method
    if not (run / "done").exists():
        X, y = table(FITTED, 0)
        s = np.zeros(FITTED, dtype=int)
        s[np.flatnonzero(y)[:LABELLED]] = 1
        distpu.METHODS[options.method](random_state=0).fit(X, s, folder=run)
    print("| rows | seconds | CPU seconds | rows a CPU second | peak memory, MiB |\n|---|---|---|---|---|")
    for rows in map(int, options.rows.split(",")):
        data, out = place / f"{rows}.parquet", place / "scores.parquet"
        if not data.exists():
            write(data, rows)
        seconds, cpu, memory = measured("predict", run, data, "-o", out)
        assert len(pd.read_parquet(out, columns=["id"])) == rows
        print(f"| {rows:,} | {seconds:.1f} | {cpu:.1f} | {rows / cpu:,.0f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
