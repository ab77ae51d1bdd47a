"""What a run over 10^10 rows on 64 GPUs would cost: the arithmetic of docs/plan-10-billion.md.

    python tools/plan.py            print the tables
    python tools/plan.py --write    put them into the page

Rates are read from results/speed and results/rows, which have how they were measured. What was not measured here is an
assumption, and is named so. tests/test_plan.py checks that the page has these numbers.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1]
PAGE = HOME / "docs/plan-10-billion.md"
H200 = HOME / "results/speed/bench-h200/bench.json"
LINES = HOME / "results/rows/lines.jsonl"

ROWS, COLUMNS, GPUS, EPOCHS = 10**10, 20, 64, 10
CORES = 16  # of a GPU's share of its machine, as on the machine that was measured
BATCH = 4096  # rows of a step of one GPU, as measured
WEIGHTS = 20 * 64 + 64 + 64 + 1  # of the network that was measured: one hidden layer of 64
LATENCY = 50e-6  # assumed: seconds of a small all-reduce over 64 GPUs on 8 machines
REDUCTIONS = 3  # of a step: the gradient, and two for batch expectations and counts
WIRE = 25e9  # assumed: bytes a second that a GPU gets to other machines
DISK = 10e9  # assumed: bytes a second of the file system that all machines share
PRICE = 4.0  # assumed: dollars of a GPU-hour
BLOCK, AT_ONCE = 4096, 64  # rows of a block, and blocks that are mixed (src/distpu/train/blocks.py)
MEMORY = 139 * 2**30  # bytes of a GPU


@dataclass(frozen=True)
class Rates:
    """What was measured."""

    epoch: float  # GPU seconds a row
    fit: float  # CPU seconds a row of all that `fit` does: reading, the memory map, an epoch, scoring, writing
    predict: float  # CPU seconds a row of `predict`

    @classmethod
    def measured(cls) -> Rates:
        growth = json.loads(H200.read_text())["growth"]["rows"]
        largest = max(growth, key=lambda one: one["rows"])
        lines = [json.loads(text) for text in LINES.read_text().splitlines()]
        return cls(
            largest["microseconds per row and epoch"] / 1e6,
            slope([one for one in lines if (one["command"], one["method"]) == ("fit", "nnpu")]),
            slope([one for one in lines if (one["command"], one["method"]) == ("predict", "elkan-noto")]),
        )


def slope(lines: list[dict[str, Any]]) -> float:
    """Return the CPU seconds of one more row, between the largest size and the one a tenth as large or less."""
    last = max(lines, key=lambda one: one["rows"])
    first = max((one for one in lines if one["rows"] <= last["rows"] / 10), key=lambda one: one["rows"])
    return (last["cpu_seconds"] - first["cpu_seconds"]) / (last["rows"] - first["rows"])


def step(rates: Rates, batch: int) -> tuple[float, float]:
    """Return the seconds that a step computes, and those that it waits for the other GPUs."""
    ring = 2 * 4 * WEIGHTS * (GPUS - 1) / GPUS / WIRE  # each GPU sends and receives the gradient about twice
    return rates.epoch * batch, REDUCTIONS * LATENCY + ring


def epoch(rates: Rates, batch: int) -> float:
    """Return the seconds of an epoch."""
    return math.ceil(ROWS / GPUS / batch) * sum(step(rates, batch))


def run(rates: Rates) -> list[tuple[str, str, str]]:
    each, bytes_ = ROWS / GPUS, ROWS * COLUMNS * 4
    prepare = ROWS * rates.fit / (CORES * GPUS)
    read = bytes_ / DISK
    train = EPOCHS * epoch(rates, BATCH)
    score = ROWS * rates.predict / (CORES * GPUS)
    whole = prepare + read + train + score
    hours = whole * GPUS / 3600
    return [
        ("rows of a GPU", f"10^10 / {GPUS}", f"{each:,.0f}"),
        ("their numbers", f"{each:.3g} x {COLUMNS} x 4 bytes", f"{each * COLUMNS * 4 / 1e9:.1f} GB"),
        ("Parquet to numbers, labels, map, scores (CPU)",
         f"10^10 x {rates.fit * 1e6:.2f} µs / {CORES * GPUS} cores", clock(prepare)),
        ("the data once over the shared disk", f"{bytes_ / 1e9:.0f} GB / {DISK / 1e9:.0f} GB/s", clock(read)),
        (f"{EPOCHS} epochs", f"{EPOCHS} x {epoch(rates, BATCH):.0f} s", clock(train)),
        ("score once more with `predict` (CPU)",
         f"10^10 x {rates.predict * 1e6:.2f} µs / {CORES * GPUS} cores", clock(score)),
        ("together", "the sum", clock(whole)),
        ("GPU-hours", f"{GPUS} x {whole / 3600:.2f} h", f"{hours:,.0f}"),
        ("cost", f"{hours:,.0f} x ${PRICE:.0f}", f"${hours * PRICE:,.0f}"),
    ]  # fmt: skip


def reduction(rates: Rates) -> list[tuple[str, ...]]:
    lines = []
    for batch in (256, 1024, BATCH, 4 * BATCH, 16 * BATCH):
        computes, waits = step(rates, batch)
        steps = math.ceil(ROWS / GPUS / batch)
        lines.append((f"{batch:,}", f"{batch * GPUS:,}", f"{steps:,}", f"{computes * 1e6:,.0f} µs",
                      f"{waits * 1e6:,.0f} µs", f"{100 * waits / (computes + waits):.0f} %",
                      clock(epoch(rates, batch))))  # fmt: skip
    return lines


def memory() -> list[tuple[str, ...]]:
    kinds: list[tuple[str, float]] = [
        ("the rows as float32", COLUMNS * 4),
        ("PU labels as float32", 4),
        ("PU labels as `fit` reads them (int64)", 8),
        ("a pseudo-label or a weight a row (LBE, P3Mix, CVIR)", 4),
        ("a list of all row numbers (int64), for a shuffle of rows", 8),
        ("numbers of blocks, for a shuffle of blocks", 8 / BLOCK),
        ("all scores, to rank them (24 bytes)", 24),
    ]
    return [(what, f"{size:.3g}", giga(size * ROWS), giga(size * ROWS / GPUS)) for what, size in kinds]


def shuffle(rates: Rates) -> list[tuple[str, str, str]]:
    rate = COLUMNS * 4 / rates.epoch
    share, spread = 0.1, math.sqrt(0.1 * 0.9 / AT_ONCE)
    return [
        ("bytes that a GPU learns in a second", f"{COLUMNS * 4} bytes / {rates.epoch * 1e6:.3f} µs", giga(rate) + "/s"),
        (f"what {GPUS} GPUs ask of a shared disk in each epoch", f"{GPUS} x {rate / 1e9:.2f} GB/s",
         giga(rate * GPUS) + "/s"),
        ("an epoch read from the shared disk", f"{ROWS * COLUMNS * 4 / 1e9:.0f} GB / {DISK / 1e9:.0f} GB/s",
         clock(ROWS * COLUMNS * 4 / DISK)),
        ("bytes of a block", f"{BLOCK} x {COLUMNS} x 4", f"{BLOCK * COLUMNS * 4 / 1e3:.0f} kB"),
        ("rows that are mixed", f"{AT_ONCE} x {BLOCK}", f"{AT_ONCE * BLOCK:,}"),
        ("share of positives among them, if the table is sorted by class",
         f"{share} ± sqrt({share} x {1 - share} / {AT_ONCE})", f"{share:.2f} ± {spread:.3f}"),
    ]  # fmt: skip


def giga(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.2f} MB"


def clock(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def markdown(header: tuple[str, ...], lines: list[Any]) -> str:
    rows = [header, tuple("---" for _ in header), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def tables(rates: Rates) -> dict[str, str]:
    """Return the tables of the page by their names."""
    return {
        "run": markdown(("", "arithmetic", ""), run(rates)),
        "reduction": markdown(("rows of a GPU's step", "of all", "steps an epoch", "computes", "waits", "waiting",
                               "an epoch"), reduction(rates)),
        "memory": markdown(("what", "bytes a row", "10^10 rows", "of one GPU of 64"), memory()),
        "shuffle": markdown(("", "arithmetic", ""), shuffle(rates)),
    }  # fmt: skip


def filled(page: str, rates: Rates) -> str:
    """Return the page with the tables put between their marks."""
    for name, table in tables(rates).items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = before + begin + "\n" + table + "\n\n" + end + rest.split(end, 1)[1]
    return page


def main(write: Callable[[str], object] = PAGE.write_text) -> None:
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("--write", action="store_true")
    rates = Rates.measured()
    if told.parse_args().write:
        write(filled(PAGE.read_text(), rates))
    for name, table in tables(rates).items():
        print(f"{name}\n\n{table}\n")


if __name__ == "__main__":
    main()
