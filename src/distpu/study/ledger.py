"""Lines and the ledger: what each run gave, in the runs.jsonl of a results folder. Nothing else touches these files.

A line carries the key of its cell, written when the line was made. A result is found by its key, in whichever folder
the line lies. A line whose key no cell asks for stays in its file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..files import atomic
from ..files.lock import lock
from ..files.log import log_lines
from .runs import Kept, Outcome, Result

RUNS = "runs.jsonl"


@dataclass(frozen=True, kw_only=True)
class Line(Outcome):
    """One run and one epoch of it that was kept."""

    key: str  # of its cell
    experiment: str | None = None  # that the run was made for; any other may use it
    variant: str | None = None  # the cell's name in that experiment
    shared_warm_up: bool | None = None  # it took over the warm-up of another run; its seconds leave the warm-up out
    predicted_prior: list[float] | None = None  # share of unlabelled rows called positive, epoch by epoch
    wrong: list[int] | None = None  # how many wrongly predicted training rows have which score, in 20 bins
    training_rows: int | None = None  # unlabelled

    @classmethod
    def of(cls, result: Result, kept: Kept, key: str, **more: Any) -> Line:
        """A line for one of the epochs that a run kept."""
        names = {f.name for f in fields(Outcome)} - {f.name for f in fields(Kept)}
        common = {name: getattr(result, name) for name in names}
        return cls(key=key, **{f.name: getattr(kept, f.name) for f in fields(Kept)}, **common, **more)

    @property
    def identity(self) -> tuple[str, str, int]:
        return self.key, self.keep, self.seed


class Ledger:
    """The lines of a results folder, and those of the other folders under the same root, which may serve as well.

    root  the folder of all results, which is written to
    name  the folder's path below it
    also  another folder of all results, which is only read: the one that came with the package
    """

    def __init__(self, root: Path, name: str, also: Path | None = None, read: Read | None = None):
        self.root, self.name, self.also, self._read = root, name, also, read or read_rows
        self.folder = root / name

    def find(self, asked: Callable[[Line], bool]) -> list[Line]:
        """The lines that are asked for. Of two for one run and kept epoch the folder's own counts."""
        found = [path for root in self._roots() for depth in ("*", "*/*") for path in root.glob(f"{depth}/{RUNS}")]
        others = sorted(path for path in found if self.folder not in path.parents)
        same = [path for path in others if self.also and path == self.also / self.name / RUNS]
        paths = [*others, *same, *self._own()]
        return merged(line for path in paths for line in self._lines(path) if asked(line))

    def keep(self, lines: Iterable[Line]) -> None:
        """Write runs.jsonl: these lines, those of files that were copied in, and those that are there by now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / RUNS
        with lock(self.root, wait=True):
            there = read_rows(path) if path.exists() else []
            found = merged([*(line for own in self._own() for line in self._lines(own)), *lines])
            if found or there:
                strangers = [row for row in there if "key" not in row]
                atomic.write(path, log_lines([*strangers, *(line.to_json() for line in found)]).encode())

    def _roots(self) -> list[Path]:
        return [self.root] if self.also is None else [self.also, self.root]

    def _own(self) -> list[Path]:
        """The files of this folder; what counts more comes later: runs.jsonl, then what was copied in."""
        return sorted(self.folder.glob("**/*.jsonl"), key=lambda path: (path != self.folder / RUNS, str(path)))

    def _lines(self, path: Path) -> list[Line]:
        return lines_of(path, self._read(path))


Read = Callable[[Path], list[dict[str, Any]]]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The JSON objects of a results file. One that cannot be read is an error: the next write would lose it."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; it must have one JSON object a line") from None
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            if not isinstance(row, dict):
                start = repr(line[:30])
                raise ValueError(f"{path}, line {number} is not a JSON object ({start}); mend the line or delete it")
            rows.append(row)
    return rows


def lines_of(path: Path, rows: list[dict[str, Any]]) -> list[Line]:
    """The rows that have a key; others are no lines of runs, or were made before lines had keys."""
    lines = []
    for number, row in enumerate(rows, 1):
        if "key" in row:
            try:
                lines.append(Line.from_json(row))
            except ValueError as error:
                raise ValueError(f"{path}, line {number} {error}; mend the line or delete it") from None
    return lines


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    """A file of its own, for `distpu compare`."""
    atomic.write(path, log_lines([line.to_json() for line in lines]).encode())


def merged(lines: Iterable[Line]) -> list[Line]:
    """Each run and kept epoch once, the later line of two, in one order wherever the lines came from."""
    found = {line.identity: line for line in lines}
    return sorted(found.values(), key=_order)


def _order(line: Line) -> tuple[str, ...]:
    return line.dataset, line.method, line.variant or "", line.keep, str(line.seed), line.key
