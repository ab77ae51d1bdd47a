"""`distpu reproduce`: make an experiment's missing runs, keep their lines, write its tables and figures."""

from __future__ import annotations

import json
import math
import re
import sys
import time
import zlib
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
from . import figures, ledger, pool, tables
from .experiment import HELD_OUT, Cell, Experiment, counted, keeps
from .ledger import Line, identity
from .pool import Task
from .runs import Result, trains_network
from .tables import DATASETS, beside_published, by_keep, few_seeds, search_markdown, table_markdown

NUMBERS = ("epoch", "epochs", *METRICS, "pu_accuracy", "pu_auc")  # of a kept epoch


def reproduce(
    whole: Experiment,
    part: Experiment,
    jobs: int | None,
    root: Path | None,
    results: Path,
    runs: Path,
    so_far: Callable[[list[Line]], None] = lambda _: None,
) -> tuple[list[Line], list[str]]:
    """Make what is missing of the part, and write the whole's results: its lines, and what failed.

    so_far is told the lines there are before the first run is made: the rest may take hours.
    """
    lines = ledger.known_lines(whole, results)
    todo = missing(part, lines)
    if not todo:
        if number := len(wanted(part)):
            kept = f"{counted(number, 'run')} in {results / whole.name}"
            print(f"nothing to make, {kept}; --fresh makes them again, beside these", file=sys.stderr)
        return write(whole, lines, results), []
    so_far(lines)
    data, absent = _loaded(todo, root)
    todo = [run for run in todo if run.cell.dataset in {one.name for one in data}]
    failed: list[tuple[Wanted, str]] = []
    if todo:
        _warn_of_hours(data)
        jobs = min(len(todo), jobs or pool.side_by_side(data))
        with closing(_made(part, todo, jobs, root, runs / whole.name)) as made:
            for run, result, place in made:
                if isinstance(result, str):
                    failed.append((run, result))
                    continue
                lines = ledger.merged([*lines, *lines_of(part, run, result, place)])
                lines = ledger.keep_lines(whole, results, lines)  # now: what comes may be killed
    lines = ledger.merged([*ledger.known_lines(whole, results), *lines])
    left = missing(part, lines)  # another command may have made what failed here
    return write(whole, lines, results), absent + [f"{run.name}: {why}" for run, why in failed if run in left]


def _loaded(todo: list[Wanted], root: Path | None) -> tuple[list[datasets.Dataset], list[str]]:
    """The data sets, fetched once, before several processes want them; and of those that are not there, why."""
    data, absent = [], []
    for name in dict.fromkeys(run.cell.dataset for run in todo):
        try:
            data.append(datasets.load(name, root))
        except (ValueError, OSError) as error:
            left = sum(run.cell.dataset == name for run in todo)
            absent.append(f"{counted(left, 'run')} on {name}: {error}")
    return data, absent


def show(whole: Experiment, results: Path) -> list[Line]:
    """Write the results of the lines there are."""
    return write(whole, ledger.known_lines(whole, results), results)


def _warn_of_hours(data: list[datasets.Dataset]) -> None:
    import torch

    large = [one.name for one in data if not pool.small(one)]
    if large and not torch.cuda.is_available():
        names = " and ".join(large)
        remedy = "--only leaves data sets out, --show makes no runs"
        print(f"without a GPU a run on {names} takes hours; {remedy}", file=sys.stderr)


def _made(
    part: Experiment, todo: list[Wanted], jobs: int, root: Path | None, folder: Path
) -> Generator[tuple[Wanted, Result | str, Path], None, None]:
    """The runs as they end, with a line for each on stderr: how many are done, and how long the rest will take."""
    runs = {task(part, run, str(root) if root else None, folder): run for run in todo}
    print(f"{counted(len(todo), 'run')} to make, {jobs} at a time", file=sys.stderr)
    known = {one for one in runs if RunFolder(one.folder).has_result}  # they say nothing of the others' time
    start, made = time.monotonic(), 0
    with closing(pool.compare([*runs], jobs)) as ended:
        for number, (one, result) in enumerate(watched(ended, part.name, len(runs)) if jobs > 1 else ended, 1):
            what = result if isinstance(result, str) else f"{result['seconds']:.0f} s"
            made += not isinstance(result, str) and one not in known
            left = time_left(time.monotonic() - start, made, len(todo) - number, jobs) if made else 0.0
            words = f"; {_words(left)} left" if left else ""
            print(f"{number}/{len(todo)} {runs[one].name}: {what}{words}", file=sys.stderr)
            yield runs[one], result, one.folder


def time_left(passed: float, made: int, left: int, jobs: int) -> float:
    """Seconds for the runs left, where so many were made in the time passed: runs go side by side, in waves."""
    return passed * (math.ceil((made + left) / jobs) / math.ceil(made / jobs) - 1)


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def write(experiment: Experiment, lines: list[Line], results: Path) -> list[Line]:
    """The results folder: the lines, also those that came with other files, and all that is made from them."""
    lines, folder = ledger.keep_lines(experiment, results, lines), results / experiment.name
    shown = ledger.of_seeds(experiment, lines)
    drawn = figures.draw(experiment, shown, folder)
    if experiment.cells and experiment.show != "search":
        atomic.write(folder / "table.md", tables.table_markdown(experiment, shown).encode())
        atomic.write(folder / "table.csv", tables.table_csv(experiment, shown).encode())
        atomic.write(folder / "table.tex", tables.table_latex(experiment, shown).encode())
    atomic.write(folder / "README.md", page(experiment, shown, drawn).encode())
    return lines


def overview(results: Path) -> list[tuple[str, str, str]]:
    """(name, how much is done, title) of every experiment."""
    rows, read = [], cache(ledger.read_lines)  # every experiment looks into every folder
    for name in experiments.names():
        experiment = experiments.read(name)
        lines = ledger.known_lines(experiment, results, read)
        asked = len(wanted(experiment))
        done = asked - len(missing(experiment, lines))
        rows.append((name, f"{done} of {asked}" if asked else "-", experiment.title))
    return rows


@dataclass(frozen=True)
class Wanted:
    cell: Cell
    seed: int
    held_out: bool  # a run of its own: its rows are fewer

    @property
    def name(self) -> str:
        cell = self.cell
        parts = [cell.dataset, cell.method, re.sub(r"[^\w.]+", "-", cell.variant), f"seed{self.seed}"]
        return "-".join(filter(None, parts)) + ("-pu" if self.held_out else "")


def wanted(experiment: Experiment) -> list[Wanted]:
    """All runs, seed by seed: a table of few seeds is whole sooner than one of few methods."""
    kinds = [kind for kind in (False, True) if not kind or "pu" in experiment.keeps]
    return [
        Wanted(cell, seed, kind)
        for kind in kinds
        for seed in experiment.seeds
        for cell in experiment.cells
        # the ceiling has true labels: nothing to choose without negatives; and VPU may choose its epoch so by itself
        # wrappers have no epochs
        if not (kind and (cell.method == "pn" or not trains_network(cell.method) or keeps(cell) == "pu"))
    ]


def task(experiment: Experiment, run: Wanted, root: str | None, folder: Path) -> Task:
    """Its run folder is named after all that makes the run: with other settings it is another folder."""
    protocol: dict[str, Any] = {"prior": run.cell.prior, "every_epoch": False, "held_out": 0}
    if experiment.show == "search":
        protocol = {"folds_of": experiment.folds, "every_epoch": experiment.options.get("every_epoch", False)}
    elif run.held_out:
        protocol["held_out"] = HELD_OUT
    else:
        protocol["every_epoch"] = "oracle" in experiment.keeps
    settings = run.cell.settings
    digest = zlib.crc32(json.dumps([protocol, settings], sort_keys=True).encode())
    place = folder / f"{run.name}-{digest:08x}"
    return Task(run.cell.method, run.cell.dataset, root, place, run.seed, protocol, settings)


def lines_of(experiment: Experiment, run: Wanted, result: Result, folder: Path) -> list[Line]:
    """A finished run's lines, one per kept epoch."""
    head: Line = {"experiment": experiment.name, "method": run.cell.method, "dataset": run.cell.dataset}
    if run.cell.variant:
        head["variant"] = run.cell.variant
    head["seed"] = run.seed
    tail = {key: value for key, value in result.items() if key not in (*head, *NUMBERS, "oracle", "keep")}
    lines = []
    for kept in (result, {"keep": "oracle", **result["oracle"]} if "oracle" in result else None):
        if kept:
            figures = {name: kept[name] for name in NUMBERS if name in kept}
            lines.append({**head, "keep": kept["keep"], **figures, **tail})
    if "accuracy" in result and not run.held_out:
        lines[0] |= _for_figures(folder)
    return lines


def _for_figures(folder: Path) -> Line:
    """What figures need of a run beside its metrics: its path of the prior, the scores of its errors in training."""
    import numpy as np

    path = [round(row["predicted_prior"], 4) for row in RunFolder(folder).log()]
    scores = RunFolder(folder).scores()
    score, y, unlabelled = scores["score"], scores["y"], scores["s"] == 0
    wrong, _ = np.histogram(score[unlabelled & ((score >= 0.5) != (y == 1))], np.linspace(0, 1, 21))
    return {"predicted_prior": path, "wrong": wrong.tolist(), "training_rows": int(unlabelled.sum())}


def missing(experiment: Experiment, lines: list[Line]) -> list[Wanted]:
    done = {identity(line) for line in lines}
    own = {cell.key: keeps(cell) for cell in experiment.cells}
    return [
        run
        for run in wanted(experiment)
        if (*run.cell.key, "pu" if run.held_out else own[run.cell.key], run.seed) not in done
    ]


def machines(lines: list[Line]) -> str:
    """Where the lines come from, in a sentence."""
    seen: dict[str, int] = {}
    for line in lines:
        versions = line.get("versions", {})
        where = f"{line.get('device', '?')}, torch {versions.get('torch', '?')}, Python {versions.get('python', '?')}"
        seen[where] = seen.get(where, 0) + 1
    return "; ".join(
        f"{where} ({counted(count, 'line')})" for where, count in sorted(seen.items(), key=lambda kv: -kv[1])
    )


def page(experiment: Experiment, lines: list[Line], figures: list[str]) -> str:
    """README.md of a results folder."""
    command = f"distpu reproduce {experiment.told or experiment.name}"
    text = [f"# {experiment.title}", ""]
    if experiment.options.get("text"):
        text += [experiment.options["text"].strip(), ""]
    text += [f"`{command}` makes what is missing and writes this page.", ""]
    left = missing(experiment, lines)
    if experiment.cells:
        seconds = [line["seconds"] for line in lines if line["keep"] != "oracle"]
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
                          search_markdown(experiment, lines), *_notes(experiment)])  # fmt: skip
    notes = "Test metrics in percent, mean ± deviation. Best in bold, second best in italics."
    if experiment.options.get("against"):
        notes += f" ✓ (✗): {experiment.options['against']} is significantly better (worse), paired t-test, 95 %."
    if few := few_seeds(experiment, lines):
        notes += f" {few}."
    text += ["## Ours, last epoch", "", notes, "", table_markdown(experiment, lines)]
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
                if table and any(line["dataset"] == dataset for line in lines):
                    text += [f"### {DATASETS.get(dataset, dataset)}", "", table]
    text += _notes(experiment)
    return "\n".join(text)


def _grouped(left) -> list[str]:
    groups: dict[str, list[str]] = {}
    for run in left:
        name = ":".join(filter(None, (run.cell.method, run.cell.variant, run.cell.dataset)))
        groups.setdefault(name + (" (keep pu)" if run.held_out else ""), []).append(str(run.seed))
    shown = [f"{name} seeds {'/'.join(seeds)}" for name, seeds in groups.items()]
    return shown if len(shown) <= 12 else [*shown[:12], f"and {len(shown) - 12} more"]


def _notes(experiment: Experiment) -> list[str]:
    notes = experiment.options.get("notes", {})
    return ["## Notes", "", *(f"- {name}: {text}" for name, text in notes.items()), ""] if notes else []
