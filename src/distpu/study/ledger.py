"""The lines of results folders: what each run gave."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from .. import datasets
from ..files import atomic
from ..files.lock import lock
from ..files.run_folder import log_lines
from ..methods import METHODS
from ..params import paper_value
from .experiment import Cell, Experiment
from .runs import SAID_ELSEWHERE

Line = dict[str, Any]
SET_ASIDE = "set-aside.jsonl"


def read_lines(path: Path) -> list[Line]:
    """Of a results file. What cannot be read is an error: skipped, it would be lost with the next write."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; it must have one JSON object a line") from None
    lines = []
    for number, row in enumerate(text.split("\n"), 1):
        if row.strip():
            try:
                line = json.loads(row)
            except json.JSONDecodeError:
                line = None
            if not isinstance(line, dict):
                start = repr(row[:30])
                raise ValueError(f"{path}, line {number} is not a JSON object ({start}); mend the line or delete it")
            lines.append(line)
    return lines


def known_lines(experiment: Experiment, results: Path, read: Callable[[Path], list[Line]] = read_lines) -> list[Line]:
    """Lines of all results folders that fit a cell as it is now: the same run serves every experiment that wants it.

    From its own folder it takes what fits; from others' only the seeds and kept epochs that it asks for.
    """
    found = []
    folder = results / experiment.name
    paths = {*results.glob("*/*.jsonl"), *folder.glob("**/*.jsonl")}
    for path in sorted(paths, key=lambda path: _later(folder, path)):
        own = folder in path.parents
        for line in read(path):
            if "settings" in line and (own or _asked(experiment, line)):
                found += _fitting(experiment, line)
    return merged(found)


def of_seeds(experiment: Experiment, lines: list[Line]) -> list[Line]:
    """What the experiment is about; its folder may hold lines of other seeds, from before its file was changed."""
    return [line for line in lines if line["seed"] in experiment.seeds]


def _later(folder: Path, path: Path) -> tuple[bool, bool, bool, str]:
    """Of two lines for one run the later counts: others' folders, set aside, runs.jsonl, what was copied in."""
    return folder in path.parents, path.name != SET_ASIDE, path != folder / "runs.jsonl", str(path)


def _fitting(experiment: Experiment, line: Line) -> list[Line]:
    """The line under the name of each cell that it is a run of; none where it is no cell's."""
    return [_as_in(experiment, cell, line) for cell in experiment.cells if fits(experiment, cell, line)]


def _asked(experiment: Experiment, line: Line) -> bool:
    return line["seed"] in experiment.seeds and line.get("keep") in ("last", *experiment.keeps)


def _as_in(experiment: Experiment, cell: Cell, line: Line) -> Line:
    """The line under the names that the experiment has for it."""
    rest = {key: value for key, value in line.items() if key not in ("experiment", "method", "dataset", "variant")}
    variant = {"variant": cell.variant} if cell.variant else {}
    return {"experiment": experiment.name, "method": cell.method, "dataset": cell.dataset, **variant, **rest}


def merged(lines: list[Line]) -> list[Line]:
    """Each run and kept epoch once, the later line of two, in one order wherever they came from."""
    found = {identity(line): line for line in lines}
    return sorted(found.values(), key=lambda line: tuple(map(str, identity(line))))


def cell_of(line: Line) -> tuple[str, str, str]:
    """The key of the cell that a line belongs to."""
    return line["dataset"], line["method"], line.get("variant", "")


def identity(line: Line) -> tuple[Any, ...]:
    return *cell_of(line), line["keep"], line["seed"]


def fits(experiment: Experiment, cell: Cell, line: Line) -> bool:
    """Whether a line is a run of the cell: method, data, settings, prior, and the same kind of figures."""
    if (line.get("method"), line.get("dataset")) != (cell.method, cell.dataset):
        return False
    own = {f.name for f in fields(METHODS[cell.method])}  # PULDA has a setting `labelled` of its own
    told = {key: value for key, value in line["settings"].items() if key in own or key not in ("labelled", "scenario")}
    rest = {key: value for key, value in line["settings"].items() if key not in own}
    if _whole(cell.method, told) != _whole(cell.method, cell.settings) or not _of_the_protocol(line, rest):
        return False
    if experiment.show == "search" or "prior_told" not in line:  # a search is always told the true prior
        return experiment.show == "search" and "pu_auc" in line and line.get("folds") == experiment.folds
    wanted, told_prior = line["true_prior"] if cell.prior == "true" else cell.prior, line["prior_told"]
    if isinstance(wanted, str) or isinstance(told_prior, str):  # 'auto'
        return wanted == told_prior
    return abs(told_prior - wanted) < 1e-9


def _of_the_protocol(line: Line, told: dict[str, Any]) -> bool:
    """Labelled rows and scenario as in all experiments; `distpu compare` may have been told others."""
    whole = datasets.info(line["dataset"]).labelled
    labelled = told.get("labelled", whole)
    some_held_out = line.get("keep") == "pu" and whole / 2 < labelled < whole
    return told.get("scenario", "case-control") == "case-control" and (labelled == whole or some_held_out)


def _whole(method: str, settings: dict[str, Any]) -> dict[str, Any]:
    """With the defaults: a setting that is told and one that is left out may be the same."""
    whole = {f.name: paper_value(f) for f in fields(METHODS[method])} | settings
    return {name: value for name, value in whole.items() if name not in SAID_ELSEWHERE}


def keep_lines(experiment: Experiment, results: Path, lines: list[Line]) -> list[Line]:
    """Write results/NAME/runs.jsonl: these lines, and those that another process has written there since."""
    folder = results / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    runs, aside = folder / "runs.jsonl", folder / SET_ASIDE
    with lock(results, wait=True):
        there = read_lines(runs) if runs.exists() else []
        found = [_fitting(experiment, line) if "settings" in line else [] for line in there]
        lines = merged([*itertools.chain(*found), *lines])
        before = read_lines(aside) if aside.exists() else []
        new = [line for line, fitting in zip(there, found, strict=True) if not fitting and line not in before]
        if new:
            atomic.write(aside, log_lines([*before, *new]).encode())
        if lines or there:
            atomic.write(runs, log_lines(lines).encode())
    return lines
