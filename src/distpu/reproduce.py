"""`distpu reproduce`: make an experiment's missing runs, keep their lines, write its tables and figures."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import bench, checkpoint, datasets, experiments, figures, tables
from .experiments import Experiment, Line, Wanted
from .progress import over_runs


def reproduce(
    whole: Experiment, part: Experiment, jobs: int | None, root: Path | None, results: Path, runs: Path
) -> tuple[list[Line], list[str]]:
    """Make what is missing of the part, and write the whole's results: its lines, and what failed."""
    lines = experiments.known_lines(whole, results)
    todo = experiments.missing(part, lines)
    failed = []
    if todo:
        names = dict.fromkeys(run.cell.dataset for run in todo)
        data = [datasets.load(name, root) for name in names]  # fetched once, before several processes want it
        _warn_of_hours(data)
        jobs = min(len(todo), jobs or bench.side_by_side(data))
        for run, result, place in _made(part, todo, jobs, root, runs / whole.name):
            if isinstance(result, str):
                failed.append(f"{run.name}: {result}")
                continue
            lines = experiments.merged([*lines, *experiments.lines_of(part, run, result, place)])
            lines = experiments.keep_lines(whole, results, lines)  # now: what comes may be killed
    return write(whole, lines, results), failed


def show(whole: Experiment, results: Path) -> list[Line]:
    """Write the results of the lines there are."""
    return write(whole, experiments.known_lines(whole, results), results)


def _warn_of_hours(data: list[datasets.Dataset]) -> None:
    import torch

    large = [one.name for one in data if not bench.small(one)]
    if large and not torch.cuda.is_available():
        names = " and ".join(large)
        print(f"without a GPU a run on {names} takes hours; --only leaves data sets out", file=sys.stderr)


def _made(
    part: Experiment, todo: list[Wanted], jobs: int, root: Path | None, folder: Path
) -> Iterator[tuple[Wanted, bench.Result | str, Path]]:
    """The runs as they end, with a line for each on stderr: how many are done, and how long the rest will take."""
    runs = {experiments.task(part, run, str(root) if root else None, folder): run for run in todo}
    print(f"{experiments.counted(len(todo), 'run')} to make, {jobs} at a time", file=sys.stderr)
    start = time.monotonic()
    ended = over_runs(bench.compare([*runs], jobs), len(runs), part.name, jobs)
    for number, (task, result) in enumerate(ended, 1):
        left = (time.monotonic() - start) / number * (len(todo) - number)
        what = result if isinstance(result, str) else f"{result['seconds']:.0f} s"
        if jobs == 1 or not sys.stderr.isatty():
            print(f"{number}/{len(todo)} {runs[task].name}: {what}; {_words(left)} left", file=sys.stderr)
        yield runs[task], result, task.folder


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def write(experiment: Experiment, lines: list[Line], results: Path) -> list[Line]:
    """The results folder: the lines, also those that came with other files, and all that is made from them."""
    lines, folder = experiments.keep_lines(experiment, results, lines), results / experiment.name
    drawn = figures.draw(experiment, lines, folder)
    if experiment.cells and experiment.show != "search":
        checkpoint.write(folder / "table.md", tables.table_markdown(experiment, lines).encode())
        checkpoint.write(folder / "table.csv", tables.table_csv(experiment, lines).encode())
        checkpoint.write(folder / "table.tex", tables.table_latex(experiment, lines).encode())
    checkpoint.write(folder / "README.md", tables.page(experiment, lines, drawn).encode())
    return lines


def overview(results: Path) -> list[tuple[str, str, str]]:
    """(name, how much is done, title) of every experiment."""
    rows = []
    for name in experiments.names():
        experiment = experiments.read(name)
        lines = experiments.known_lines(experiment, results)
        wanted = len(experiments.wanted(experiment))
        done = wanted - len(experiments.missing(experiment, lines))
        rows.append((name, f"{done} of {wanted}" if wanted else "-", experiment.title))
    return rows
