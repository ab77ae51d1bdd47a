"""`distpu reproduce`: make an experiment's missing runs, keep their lines, write its tables and figures."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator
from contextlib import closing
from functools import cache
from pathlib import Path

from .. import datasets
from ..files import atomic
from ..files.run_folder import RunFolder
from ..progress import watched
from . import experiment as experiments
from . import figures, tables
from . import runs as bench
from .experiment import Experiment, Line, Wanted


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
    lines = experiments.known_lines(whole, results)
    todo = experiments.missing(part, lines)
    if not todo:
        if number := len(experiments.wanted(part)):
            kept = f"{experiments.counted(number, 'run')} in {results / whole.name}"
            print(f"nothing to make, {kept}; --fresh makes them again, beside these", file=sys.stderr)
        return write(whole, lines, results), []
    so_far(lines)
    data, absent = _loaded(todo, root)
    todo = [run for run in todo if run.cell.dataset in {one.name for one in data}]
    failed: list[tuple[Wanted, str]] = []
    if todo:
        _warn_of_hours(data)
        jobs = min(len(todo), jobs or bench.side_by_side(data))
        with closing(_made(part, todo, jobs, root, runs / whole.name)) as made:
            for run, result, place in made:
                if isinstance(result, str):
                    failed.append((run, result))
                    continue
                lines = experiments.merged([*lines, *experiments.lines_of(part, run, result, place)])
                lines = experiments.keep_lines(whole, results, lines)  # now: what comes may be killed
    lines = experiments.merged([*experiments.known_lines(whole, results), *lines])
    left = experiments.missing(part, lines)  # another command may have made what failed here
    return write(whole, lines, results), absent + [f"{run.name}: {why}" for run, why in failed if run in left]


def _loaded(todo: list[Wanted], root: Path | None) -> tuple[list[datasets.Dataset], list[str]]:
    """The data sets, fetched once, before several processes want them; and of those that are not there, why."""
    data, absent = [], []
    for name in dict.fromkeys(run.cell.dataset for run in todo):
        try:
            data.append(datasets.load(name, root))
        except (ValueError, OSError) as error:
            left = sum(run.cell.dataset == name for run in todo)
            absent.append(f"{experiments.counted(left, 'run')} on {name}: {error}")
    return data, absent


def show(whole: Experiment, results: Path) -> list[Line]:
    """Write the results of the lines there are."""
    return write(whole, experiments.known_lines(whole, results), results)


def _warn_of_hours(data: list[datasets.Dataset]) -> None:
    import torch

    large = [one.name for one in data if not bench.small(one)]
    if large and not torch.cuda.is_available():
        names = " and ".join(large)
        remedy = "--only leaves data sets out, --show makes no runs"
        print(f"without a GPU a run on {names} takes hours; {remedy}", file=sys.stderr)


def _made(
    part: Experiment, todo: list[Wanted], jobs: int, root: Path | None, folder: Path
) -> Generator[tuple[Wanted, bench.Result | str, Path], None, None]:
    """The runs as they end, with a line for each on stderr: how many are done, and how long the rest will take."""
    runs = {experiments.task(part, run, str(root) if root else None, folder): run for run in todo}
    print(f"{experiments.counted(len(todo), 'run')} to make, {jobs} at a time", file=sys.stderr)
    known = {task for task in runs if RunFolder(task.folder).has_result}  # they say nothing of the others' time
    start, made = time.monotonic(), 0
    with closing(bench.compare([*runs], jobs)) as ended:
        for number, (task, result) in enumerate(watched(ended, part.name, len(runs)) if jobs > 1 else ended, 1):
            what = result if isinstance(result, str) else f"{result['seconds']:.0f} s"
            made += not isinstance(result, str) and task not in known
            left = time_left(time.monotonic() - start, made, len(todo) - number, jobs) if made else 0.0
            words = f"; {_words(left)} left" if left else ""
            print(f"{number}/{len(todo)} {runs[task].name}: {what}{words}", file=sys.stderr)
            yield runs[task], result, task.folder


def time_left(passed: float, made: int, left: int, jobs: int) -> float:
    """Seconds for the runs left, where so many were made in the time passed: runs go side by side, in waves."""
    return passed * (math.ceil((made + left) / jobs) / math.ceil(made / jobs) - 1)


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def write(experiment: Experiment, lines: list[Line], results: Path) -> list[Line]:
    """The results folder: the lines, also those that came with other files, and all that is made from them."""
    lines, folder = experiments.keep_lines(experiment, results, lines), results / experiment.name
    shown = experiments.of_seeds(experiment, lines)
    drawn = figures.draw(experiment, shown, folder)
    if experiment.cells and experiment.show != "search":
        atomic.write(folder / "table.md", tables.table_markdown(experiment, shown).encode())
        atomic.write(folder / "table.csv", tables.table_csv(experiment, shown).encode())
        atomic.write(folder / "table.tex", tables.table_latex(experiment, shown).encode())
    atomic.write(folder / "README.md", tables.page(experiment, shown, drawn).encode())
    return lines


def overview(results: Path) -> list[tuple[str, str, str]]:
    """(name, how much is done, title) of every experiment."""
    rows, read = [], cache(experiments.read_lines)  # every experiment looks into every folder
    for name in experiments.names():
        experiment = experiments.read(name)
        lines = experiments.known_lines(experiment, results, read)
        wanted = len(experiments.wanted(experiment))
        done = wanted - len(experiments.missing(experiment, lines))
        rows.append((name, f"{done} of {wanted}" if wanted else "-", experiment.title))
    return rows
