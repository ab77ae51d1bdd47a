"""Measures `distpu fit` and `distpu predict` on Parquet data of 10^4 to 10^8 rows: seconds, CPU seconds, peak memory.

    python tools/bench_rows.py data 1e8 --place /tmp/rows                write a data set and its truth
    python tools/bench_rows.py fit 1e8 --method nnpu --set epochs=1      fit on it, in a process of its own
    python tools/bench_rows.py predict 1e8 --method nnpu                 score its rows with that model
    python tools/bench_rows.py plot                                      docs/large.png from the lines
    python tools/bench_rows.py table                                     the tables of docs/large.md

Two Gaussian classes of 20 numbers: a tenth of the rows is positive and lies 0.8 higher in five columns; the other 15
say nothing. Of the positives one in twenty is labelled. `fit` and `predict` append a line to results/rows/lines.jsonl,
with the machine, the versions, the seed and what the answer was worth: the truth is known. `data` takes 85 bytes a row,
`fit` of a network as many again while it runs. Remove the place afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS, TELLING, SHIFT = 20, 5, 0.8
POSITIVE, LABELLED = 0.1, 0.05
SEED, FILE, GROUP = 0, 10_000_000, 500_000  # rows of a file, and of a row group, which is drawn by a seed of its own
LINES = Path(__file__).parents[1] / "results/rows/lines.jsonl"
FIGURE = Path(__file__).parents[1] / "docs/large.png"


def drawn(group: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x, the true classes and the PU labels of a group of rows."""
    random = np.random.default_rng([SEED, group])
    y = random.random(rows, dtype=np.float32) < POSITIVE
    s = y & (random.random(rows, dtype=np.float32) < LABELLED)
    x = random.standard_normal((COLUMNS, rows), dtype=np.float32)
    x[:TELLING] += np.float32(SHIFT) * y
    return x, y, s


def write(place: Path, rows: int) -> None:
    """Write the rows as files of FILE rows, and the truth as one byte a row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = place / f"{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"x{i}" for i in range(COLUMNS)]
    schema = pa.schema([(name, pa.float32()) for name in names] + [("label", pa.int8())])
    truth = np.lib.format.open_memmap(place / f"{rows}.npy", "w+", np.uint8, (rows,))
    for first in range(0, rows, FILE):
        path = folder / f"part-{first // FILE:03d}.parquet"
        with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
            for start in range(first, min(first + FILE, rows), GROUP):
                x, y, s = drawn(start // GROUP, min(GROUP, rows - start))
                truth[start : start + len(y)] = y
                file.write_table(pa.table([*x, s.astype(np.int8)], schema=schema))
    truth.flush()


def small(shape: tuple[int, ...]) -> Any:
    """One hidden layer of 64. The paper's MLP has 280,000 weights, whose products would be all that is measured."""
    from torch import nn

    return nn.Sequential(nn.Linear(shape[0], 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))


METHODS: dict[str, dict[str, Any]] = {
    "blend-pu": {},
    "nnpu": {"network": small, "epochs": 1, "batch_size": 1024, "lr": 1e-3, "shuffle": "blocks"},
    "elkan-noto": {},
}


def measured(*command: object) -> dict[str, float]:
    """Run Python; return seconds, CPU seconds, and the most memory, with and without pages of files."""
    start = time.perf_counter()
    pid = os.posix_spawn(sys.executable, [sys.executable, *map(str, command)], dict(os.environ))
    own = 0.0
    while (ended := os.wait4(pid, os.WNOHANG))[0] == 0:
        own = max(own, _own_memory(pid))
        time.sleep(0.1)
    _, status, usage = ended
    if status:
        raise SystemExit(f"python {' '.join(map(str, command))} failed")
    seconds, cpu = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    found = {"seconds": seconds, "cpu_seconds": cpu, "peak_mib": usage.ru_maxrss / 1024, "own_mib": own}
    return {name: round(value, 2) for name, value in found.items()}


def _own_memory(pid: int) -> float:
    """Return a process's memory without pages of files, which the system takes back when it needs them, in MiB."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in text.splitlines() if line.startswith("RssAnon")]
    return int(found[0]) / 1024 if found else 0.0


def fit_here(place: Path, rows: int, method: str) -> None:
    """Fit in this process, as `distpu fit` does, and write what the answer was."""
    import distpu

    settings = METHODS[method]
    folder = place / f"{method}-{rows}"
    answer = distpu.fit_file(place / f"{rows}", "label", method=method, folder=folder, random_state=SEED, **settings)
    found = {"prior": answer.prior, "interval": answer.model.prior_interval_, "hidden": answer.hidden}
    found |= {"unlabelled": answer.unlabelled, "labelled": answer.labelled, "called": answer.predicted}
    found |= {"sample": None if answer.sample is None else len(answer.sample.rows)}
    (place / f"{method}-{rows}.json").write_text(json.dumps(found))


def fit(place: Path, rows: int, method: str) -> dict[str, Any]:
    folder = place / f"{method}-{rows}"
    if folder.exists():
        raise SystemExit(f"{folder} is there; remove it, since a finished run is not fitted again")
    cost = measured(__file__, "fit-here", rows, "--method", method, "--place", place)
    answer = json.loads((place / f"{method}-{rows}.json").read_text())
    truth, s = np.load(place / f"{rows}.npy", mmap_mode="r"), _labels(place / f"{rows}")
    answer["truly_hidden"] = int(truth.sum()) - answer["labelled"]
    answer["auc"] = _auc(folder, truth, s)
    return {"command": "fit", **cost, **answer}


def predict(place: Path, rows: int, method: str, model: int) -> dict[str, Any]:
    """Score with the model that was fitted on `model` rows."""
    out = place / f"{method}-{rows}-scores.parquet"
    out.unlink(missing_ok=True)
    cost = measured("-m", "distpu", "predict", place / f"{method}-{model}", place / f"{rows}", "-o", out)
    import pyarrow.parquet as pq

    scored = pq.read_metadata(out).num_rows
    if scored != rows:
        raise SystemExit(f"{out} has {scored:,} rows, not {rows:,}")
    return {"command": "predict", **cost, "fitted_on": model, "bytes_out": out.stat().st_size}


def _labels(folder: Path) -> np.ndarray:
    import pyarrow.parquet as pq

    parts = [pq.read_table(file, columns=["label"]).column(0).to_numpy() for file in sorted(folder.iterdir())]
    return np.concatenate(parts)


def _auc(folder: Path, truth: np.ndarray, s: np.ndarray) -> float:
    """Return how well the scores of the first million unlabelled rows rank the true classes."""
    import pandas as pd
    import pyarrow.parquet as pq
    from sklearn.metrics import roc_auc_score

    scores = folder / "scores.parquet"
    if scores.exists():
        batch = next(pq.ParquetFile(scores).iter_batches(1_000_000, columns=["id", "score"])).to_pandas()
    else:
        batch = pd.read_csv(folder / "scores.csv", usecols=["id", "score"]).sort_values("id")[:1_000_000]
    assert (s[batch["id"]] == 0).all()
    return round(float(roc_auc_score(truth[batch["id"].to_numpy()], batch["score"])), 4)


def line_of(rows: int, method: str, found: dict[str, Any]) -> dict[str, Any]:
    from distpu.estimator import versions

    model = next((one for one in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in one), ":unknown")
    settings = {name: getattr(value, "__name__", value) for name, value in METHODS[method].items()}
    machine = {"cpu": model.partition(":")[2].strip(), "cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1)}
    about = {"rows": rows, "columns": COLUMNS, "method": method, "settings": settings, "seed": SEED}
    when = time.strftime("%Y-%m-%d", time.gmtime())
    return {**about, **found, "machine": machine, "versions": versions(), "date": when}


def lines() -> list[dict[str, Any]]:
    """Return the newest line of each command, method and size."""
    found = [json.loads(text) for text in LINES.read_text().splitlines()]
    newest = {(one["command"], one["method"], one["rows"]): one for one in found}
    return [newest[key] for key in sorted(newest)]


def tables() -> str:
    """Return the tables of docs/large.md."""
    said = {
        "fit": ["cost of a row, CPU µs", "share of hidden positives (truth)", "AUC"],
        "predict": ["cost of a row, CPU µs"],
    }
    text = []
    for command, more in said.items():
        header = ["rows", "method", "seconds", "CPU seconds", *more, "peak memory, MiB", "without file pages"]
        text += [f"**{command}**", "", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
        for one in lines():
            if one["command"] != command:
                continue
            cells = [f"{one['rows']:,}", one["method"], f"{one['seconds']:,.0f}", f"{one['cpu_seconds']:,.0f}"]
            cells.append(f"{one['cpu_seconds'] / one['rows'] * 1e6:,.1f}")
            if command == "fit":
                truth = one["truly_hidden"] / one["unlabelled"]
                cells += [f"{one['prior']:.3f} ({truth:.3f})", f"{one['auc']:.3f}"]
            text.append("| " + " | ".join([*cells, f"{one['peak_mib']:,.0f}", f"{one['own_mib']:,.0f}"]) + " |")
        text.append("")
    return "\n".join(text)


def plot() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (cost, memory) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    series: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in lines():
        series.setdefault((one["command"], one["method"]), []).append(one)
    for (command, method), points in series.items():
        rows, style = [one["rows"] for one in points], "o-" if command == "fit" else "s--"
        (drawn_line,) = cost.plot(rows, [one["cpu_seconds"] / one["rows"] for one in points], style)
        name, colour = f"{command}, {method}", drawn_line.get_color()
        memory.plot(rows, [one["peak_mib"] / 1024 for one in points], style, color=colour, label=name)
    for axes, what in ((cost, "CPU seconds a row"), (memory, "peak memory, GiB")):
        axes.set(xscale="log", yscale="log", xlabel="rows", ylabel=what)
        axes.grid(alpha=0.3)
    memory.set_ylim(0.1, 100)
    memory.axhline(24, color="grey", linewidth=1)
    memory.text(1.2e4, 26, "the machine: 24 GiB", color="grey", fontsize=8)
    memory.legend(fontsize=8, loc="lower right")
    figure.savefig(FIGURE, dpi=120)


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told.add_argument("what", choices=["data", "fit", "fit-here", "predict", "plot", "table"])
    told.add_argument("rows", nargs="?", type=lambda text: int(float(text)))
    told.add_argument("--method", choices=METHODS, default="blend-pu")
    told.add_argument("--model", type=lambda text: int(float(text)), help="predict: rows that the model was fitted on")
    told.add_argument("--place", type=Path, default=Path("/tmp/rows"))
    options = told.parse_args()
    place, rows, method = options.place.resolve(), options.rows, options.method
    if options.what == "data":
        write(place, rows)
    elif options.what == "plot":
        plot()
    elif options.what == "table":
        print(tables())
    elif options.what == "fit-here":
        fit_here(place, rows, method)
    elif options.what in ("fit", "predict"):
        found = (
            fit(place, rows, method) if options.what == "fit" else predict(place, rows, method, options.model or rows)
        )
        line = json.dumps(line_of(rows, method, found))
        LINES.parent.mkdir(parents=True, exist_ok=True)
        with open(LINES, "a") as file:
            file.write(line + "\n")
        print(line)


if __name__ == "__main__":
    main()
