"""`distpu reproduce`: make an experiment's missing runs, keep their lines, write its tables and figures."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .. import datasets
from ..files import atomic
from ..files.run_folder import RunFolder
from ..metrics import METRICS
from ..progress import watched
from . import experiment as experiments
from . import figures, pool, tables
from .experiment import Cell, Experiment, counted, keeps
from .ledger import Line, read_rows
from .places import Results
from .pool import Pool, Task
from .ray_pool import RayPool
from .runs import Result, trains_network
from .tables import DATASETS, beside_published, by_keep, few_seeds, search_markdown, table_markdown

NUMBERS = ("epoch", "epochs", *METRICS, "pu_accuracy", "pu_auc")  # of a kept epoch


def reproduce(
    whole: Experiment,
    part: Experiment,
    jobs: int | None,
    root: Path | None,
    results: Results,
    runs: Path,
    so_far: Callable[[list[Line]], None] = lambda _: None,
    where: str = "local",
) -> tuple[list[Line], list[str]]:
    """Make what is missing of the part and write the results of the whole. Returns its lines, and what failed.

    so_far is told the lines there are before the first run is made: the rest may take hours. where is the pool:
    "local" or "ray".
    """
    ledger = results.ledger(whole.place)
    lines = ledger.find(whole.asks)
    todo = missing(part, lines)
    if not todo:
        if number := len(wanted(part)):
            kept = f"{counted(number, 'run')} in {ledger.folder}"
            print(f"nothing to make, {kept}; --fresh makes them again, beside these", file=sys.stderr)
        return write(whole, results), []
    so_far(lines)
    data, absent = _loaded(todo, root)
    todo = [run for run in todo if run.cell.dataset in {one.name for one in data}]
    failed: list[tuple[Wanted, str]] = []
    if todo:
        _warn_of_hours(data)
        opened = pool.opened(where, jobs, data, len(todo))
        with opened as workers, closing(_made(part, todo, workers, root, runs / whole.name)) as made:
            for run, result, place in made:
                if isinstance(result, str):
                    failed.append((run, result))
                else:
                    ledger.keep(lines_of(part, run, result, place))  # at once: the command may be killed
    lines = write(whole, results)
    left = missing(part, lines)  # another command may have made what failed here
    return lines, absent + [f"{run.name}: {why}" for run, why in failed if run in left]


def _loaded(todo: list[Wanted], root: Path | None) -> tuple[list[datasets.Dataset], list[str]]:
    """The data sets, fetched before several processes ask for them; and why a data set is not there."""
    data, absent = [], []
    for name in dict.fromkeys(run.cell.dataset for run in todo):
        try:
            data.append(pool.loaded(name, str(root) if root else None))
        except (ValueError, OSError) as error:
            left = sum(run.cell.dataset == name for run in todo)
            absent.append(f"{counted(left, 'run')} on {name}: {error}")
    return data, absent


def _warn_of_hours(data: list[datasets.Dataset]) -> None:
    import torch

    large = [one.name for one in data if not pool.small(one)]
    if large and not torch.cuda.is_available():
        names = " and ".join(large)
        remedy = "--only leaves data sets out, --show makes no runs"
        print(f"without a GPU a run on {names} takes hours; {remedy}", file=sys.stderr)


def _made(
    part: Experiment, todo: list[Wanted], workers: Pool | RayPool, root: Path | None, folder: Path
) -> Generator[tuple[Wanted, Result | str, Path], None, None]:
    """The runs as they end. A line on stderr for each says how many are done and how long the rest will take."""
    runs, jobs = {task(part, run, str(root) if root else None, folder): run for run in todo}, workers.jobs
    print(f"{counted(len(todo), 'run')} to make, {jobs} at a time", file=sys.stderr)
    known = {one for one in runs if RunFolder(one.folder).has_result}  # a finished run says nothing of the others' time
    start, made = time.monotonic(), 0
    with closing(workers.run([*runs])) as ended:
        for number, (one, result) in enumerate(watched(ended, part.name, len(runs)) if jobs > 1 else ended, 1):
            what = result if isinstance(result, str) else f"{result.seconds:.0f} s"
            made += not isinstance(result, str) and one not in known
            left = time_left(time.monotonic() - start, made, len(todo) - number, jobs) if made else 0.0
            words = f"; {_words(left)} left" if left else ""
            print(f"{number}/{len(todo)} {runs[one].name}: {what}{words}", file=sys.stderr)
            yield runs[one], result, one.folder


def time_left(passed: float, made: int, left: int, jobs: int) -> float:
    """Seconds for the runs that are left, from those that were made. Runs go side by side, in waves."""
    return passed * (math.ceil((made + left) / jobs) / math.ceil(made / jobs) - 1)


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def write(experiment: Experiment, results: Results) -> list[Line]:
    """The results folder: the lines, also those that were copied in, and all that is made from them."""
    ledger = results.ledger(experiment.place)
    ledger.keep([])
    lines, folder = ledger.find(experiment.asks), ledger.folder
    drawn = figures.draw(experiment, lines, folder)
    if experiment.cells and experiment.show != "search":
        atomic.write(folder / "table.md", tables.table_markdown(experiment, lines).encode())
        atomic.write(folder / "table.csv", tables.table_csv(experiment, lines).encode())
        atomic.write(folder / "table.tex", tables.table_latex(experiment, lines).encode())
    atomic.write(folder / "README.md", page(experiment, lines, drawn, results.notes(experiment.place)).encode())
    return lines


def overview(results: Results) -> dict[str, list[tuple[str, str, str]]]:
    """(name, how much is done, title) of every experiment, by the folder it is in."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    read = cache(read_rows)  # every experiment looks into every folder
    for name in experiments.names():
        experiment = experiments.read(name)
        lines = results.ledger(experiment.place, read).find(experiment.asks)
        asked = len(wanted(experiment))
        done = asked - len(missing(experiment, lines))
        row = (name, f"{done} of {asked}" if asked else "-", experiment.title)
        groups.setdefault(experiment.folder, []).append(row)
    return groups


@dataclass(frozen=True)
class Wanted:
    cell: Cell  # with held_out where the run chooses its epoch: a run of its own, for its rows are fewer
    seed: int

    @property
    def name(self) -> str:
        cell = self.cell
        parts = [cell.dataset, cell.method, re.sub(r"[^\w.]+", "-", cell.variant), f"seed{self.seed}"]
        return "-".join(filter(None, parts)) + ("-pu" if cell.held_out else "")


def wanted(experiment: Experiment) -> list[Wanted]:
    """All runs, seed by seed: a table of few seeds is whole sooner than one of few methods."""
    plain = [Wanted(cell, seed) for seed in experiment.seeds for cell in experiment.cells]
    if "pu" not in experiment.keeps:
        return plain
    # The ceiling has true labels: it has nothing to choose without negatives. A wrapper has no epochs. VPU may choose
    # its epoch by itself.
    choosing = [
        cell.choosing
        for cell in experiment.cells
        if cell.method != "pn" and trains_network(cell.method) and keeps(cell) != "pu"
    ]
    return plain + [Wanted(cell, seed) for seed in experiment.seeds for cell in choosing]


def missing(experiment: Experiment, lines: list[Line]) -> list[Wanted]:
    done = {line.identity for line in lines}
    own = {cell.key: keeps(cell) for cell in experiment.cells}
    return [
        run
        for run in wanted(experiment)
        if (run.cell.key, "pu" if run.cell.held_out else own[run.cell.key], run.seed) not in done
    ]


def task(experiment: Experiment, run: Wanted, root: str | None, folder: Path) -> Task:
    """The name of its run folder has the key: a run with other settings has another folder."""
    if experiment.show == "search":
        every_epoch = experiment.options.get("every_epoch", False)
    else:
        every_epoch = "oracle" in experiment.keeps and not run.cell.held_out
    return Task(run.cell, run.seed, folder / f"{run.name}-{run.cell.key}", root, every_epoch)


def lines_of(experiment: Experiment, run: Wanted, result: Result, folder: Path) -> list[Line]:
    """A finished run's lines, one per kept epoch."""
    cell = run.cell
    names = {"experiment": experiment.name, "variant": cell.variant or None}
    figures = {} if cell.folds is not None or cell.held_out else _for_figures(folder)
    lines = [Line.of(result, result, cell.key, **names, **figures)]
    return [*lines, Line.of(result, result.oracle, cell.key, **names)] if result.oracle else lines


def _for_figures(folder: Path) -> dict[str, Any]:
    """What figures need beside the metrics: the predicted prior by epoch, and the scores of errors in training."""
    import numpy as np

    path = [round(row["predicted_prior"], 4) for row in RunFolder(folder).log()]
    scores = RunFolder(folder).scores()
    score, y, unlabelled = scores["score"], scores["y"], scores["s"] == 0
    wrong, _ = np.histogram(score[unlabelled & ((score >= 0.5) != (y == 1))], np.linspace(0, 1, 21))
    return {"predicted_prior": path, "wrong": wrong.tolist(), "training_rows": int(unlabelled.sum())}


def machines(lines: list[Line]) -> str:
    """The devices and versions that made the lines, in a sentence."""
    seen: dict[str, int] = {}
    for line in lines:
        torch, python = (line.versions.get(name, "?") for name in ("torch", "python"))
        where = f"{line.device}, torch {torch}, Python {python}"
        seen[where] = seen.get(where, 0) + 1
    return "; ".join(
        f"{where} ({counted(count, 'line')})" for where, count in sorted(seen.items(), key=lambda kv: -kv[1])
    )


def page(experiment: Experiment, lines: list[Line], figures: list[str], notes: str = "") -> str:
    """README.md of a results folder. It has what notes.md says: below the title, and from "## Notes" on at the end."""
    told, end, last = notes.partition("## Notes\n")
    told = told or experiment.options.get("text", "")
    remarks = [(end + last).strip(), ""] if end else _notes(experiment)
    command = f"distpu reproduce {experiment.told or experiment.name}"
    text = [f"# {experiment.title}", ""]
    if told.strip():
        text += [told.strip(), ""]
    text += [f"`{command}` makes what is missing and writes this page.", ""]
    left = missing(experiment, lines)
    if experiment.cells:
        seconds = [line.seconds for line in lines if line.keep != "oracle"]
        text += [
            f"{counted(len(seconds), 'run')}, {sum(seconds) / 60:.0f} minutes of training; {machines(lines)}."
            if seconds
            else "",
            "",
        ]
        if left:
            text += [f"**Missing:** {counted(len(left), 'run')} ({', '.join(_grouped(left))}).", ""]
    text += [part for name in figures for part in (f"![{name}]({name})", "")]
    if not experiment.cells:
        return "\n".join(text)
    if experiment.show == "search":
        return "\n".join([*text, "On held-out PU rows, in percent; no true label is looked at.", "",
                          search_markdown(experiment, lines), *remarks])  # fmt: skip
    about = "Test metrics in percent, mean ± deviation. Best in bold, second best in italics."
    if experiment.options.get("against"):
        about += f" ✓ (✗): {experiment.options['against']} is significantly better (worse), paired t-test, 95 %."
    if few := few_seeds(experiment, lines):
        about += f" {few}."
    text += ["## Ours, last epoch", "", about, "", table_markdown(experiment, lines)]
    paper = "The paper's values, in brackets ours less them; † where more than two standard errors lie between them."
    epoch = (
        "Accuracy. What other choices of the epoch would have given, each epoch judged by z >= 0; the last one is "
        "judged by the method's own cut, where it has one."
    )
    for title, what, part in (("Beside the paper", paper, beside_published), ("Which epoch", epoch, by_keep)):
        parts = [(dataset, part(experiment, lines, dataset)) for dataset in tables.datasets(experiment)]
        if any(table for _, table in parts):
            text += [f"## {title}", "", what, ""]
            for dataset, table in parts:
                if table and any(line.dataset == dataset for line in lines):
                    text += [f"### {DATASETS.get(dataset, dataset)}", "", table]
    text += remarks
    return "\n".join(text)


def _grouped(left) -> list[str]:
    groups: dict[str, list[str]] = {}
    for run in left:
        name = ":".join(filter(None, (run.cell.method, run.cell.variant, run.cell.dataset)))
        groups.setdefault(name + (" (keep pu)" if run.cell.held_out else ""), []).append(str(run.seed))
    shown = [f"{name} seeds {'/'.join(seeds)}" for name, seeds in groups.items()]
    return shown if len(shown) <= 12 else [*shown[:12], f"and {len(shown) - 12} more"]


def _notes(experiment: Experiment) -> list[str]:
    notes = experiment.options.get("notes", {})
    return ["## Notes", "", *(f"- {name}: {text}" for name, text in notes.items()), ""] if notes else []
