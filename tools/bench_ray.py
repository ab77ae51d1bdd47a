"""Measures commands on the local pool and on Ray on this machine, with the start of Ray and without sharing a cluster.

    python tools/bench_ray.py --place /tmp/rows --sizes 1e5,1e6,1e7      data and the model elkan-noto-100000 are there
    python tools/bench_ray.py --table                                   the table of docs/large.md

tools/bench_rows.py makes the data and the model. Each command is a process of its own. A line for each is added to
results/rows/ray.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import bench_rows

LINES = bench_rows.LINES.with_name("ray.jsonl")
COMPARED = [("elkan-noto", 2), ("naive,nnpu", 4)]  # methods and seeds


def commands(place: Path, sizes: list[int]) -> list[tuple[str, list[Any]]]:
    """Return (what, command without its pool)."""
    found: list[tuple[str, list[Any]]] = []
    for rows in sizes:
        out = place / "ray-scores.parquet"
        told = ["predict", place / "elkan-noto-100000", place / f"{rows}", "-o", out]
        found.append((f"predict {rows:,} rows", told))
    for methods, seeds in COMPARED:
        told = ["compare", "digits", "--methods", methods, "--seeds", seeds, "--folder", place / "runs"]
        runs = seeds * len(methods.split(","))
        found.append((f"compare digits --methods {methods} --seeds {seeds} ({runs} runs)", told))
    return found


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("--place", type=Path, default=Path("/tmp/rows"))
    told.add_argument("--sizes", default="1e5,1e6")
    told.add_argument("--table", action="store_true")
    options = told.parse_args()
    if options.table:
        print(table())
        return
    os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_ADDRESS": "local", "OMP_NUM_THREADS": "1"}
    for what, command in commands(options.place, [int(float(one)) for one in options.sizes.split(",")]):
        for pool in ("local", "ray"):
            shutil.rmtree(options.place / "runs", ignore_errors=True)
            jobs = ["--jobs", 2] if command[0] == "compare" else []
            cost = bench_rows.measured("-m", "distpu", *command, "--pool", pool, *jobs)
            machine = {"cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1)}
            line = {"what": what, "pool": pool, "seconds": cost["seconds"], "machine": machine}
            line |= {"date": time.strftime("%Y-%m-%d", time.gmtime())}
            LINES.parent.mkdir(parents=True, exist_ok=True)
            with open(LINES, "a") as file:
                file.write(json.dumps(line) + "\n")
            print(line, flush=True)


def table() -> str:
    found: dict[str, dict[str, float]] = {}
    for text in LINES.read_text().splitlines():
        one = json.loads(text)
        found.setdefault(one["what"], {})[one["pool"]] = one["seconds"]
    text = ["| command | local, seconds | Ray, seconds |", "|---|---|---|"]
    text += [f"| {what} | {one['local']:.0f} | {one['ray']:.0f} |" for what, one in found.items() if len(one) == 2]
    return "\n".join(text)


if __name__ == "__main__":
    main()
