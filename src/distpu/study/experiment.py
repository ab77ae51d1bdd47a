"""Experiments and cells, from TOML files.

An experiment is a list of cells: a method with its settings on a data set under a protocol, and what was published for
it. A run is a cell with a seed. A cell has a key, a short hash of exactly that; the lines of its runs carry it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import datasets
from ..datasets.draw import SCENARIOS
from ..estimator import ADDED
from ..metrics import METRICS
from ..params import near
from ..prior import check_prior
from . import places
from .ledger import Line
from .runs import SAID_ELSEWHERE, make, resolved, trains_network

SHOWS = ("comparison", "ablation", "search", "prior-curves", "wrong-scores", "lines", "heatmap", "bound")
KEEPS = {
    "last": "last epoch",
    "pu": "epoch chosen on held-out PU rows",
    "oracle": "best epoch on the test rows (what public codes print; uses test labels)",
}
# The keys of a file and the types of their values. An object is checked where it is read.
TOP = {"title": str, "show": str, "seeds": object, "keeps": list, "cells": list, "settings": dict, "vary": dict,
       "folds": object}  # fmt: skip
OPTIONS = {"text": str, "notes": dict, "against": str, "axis": str, "axes": list, "panels": list, "every_epoch": bool,
           "prior": object, "vc": object, "delta": object, "n_labelled": list, "n_unlabelled": list}  # fmt: skip
CELL = {"method": str, "dataset": str, "datasets": list, "settings": dict, "variant": str, "label": str,
        "reading": str, "prior": object, "published": dict, "scenario": str, "unlabelled": int}  # fmt: skip
OF_A_SET = {"settings": dict, "reading": str, "published": dict}
KINDS = {str: "a text", int: "a whole number", list: "a list, [...] or [[...]]", dict: "a table", bool: "true or false"}
HELD_OUT = 10  # one PU row in ten chooses the epoch of keep = "pu"; on Alzheimer the last slices do (runs.simulate)
# Settings that were added after lines had keys, each with the value at which a method does what it did before. At that
# value a setting is no part of a key, so that lines made before it are still found.
AS_BEFORE = ADDED


@dataclass(frozen=True)
class Cell:
    method: str
    dataset: str
    settings: dict[str, Any]  # other than the method's defaults
    variant: str = ""  # what it is called where it is not the plain method
    label: str = ""  # as the paper writes it
    reading: str = ""  # of the method's text, where it is not the one that the method follows (variants.py)
    prior: str | float = "true"  # told to the method: a number, "auto", or "true" for the real share
    published: dict[str, list[float]] = field(default_factory=dict)  # metric -> [mean, deviation], in percent
    labelled: int | None = None  # how many positives keep their label; None: as many as the data set says
    scenario: str = "case-control"
    unlabelled: int | None = None  # with the scenario "single-set": how many other rows there are; None: all
    folds: int | str | None = None  # of a search: settings are judged on held-out PU rows
    held_out: int = 0  # one PU row in so many is kept from training and chooses the epoch

    @property
    def names(self) -> tuple[str, str, str]:
        return self.dataset, self.method, self.variant

    @cached_property
    def key(self) -> str:
        """Hash of method, all settings (told or default), data set and protocol; nothing else."""
        settings = {k: v for k, v in resolved(self.make()).items() if k not in AS_BEFORE or v != AS_BEFORE[k]}
        labelled = datasets.info(self.dataset).labelled if self.labelled is None else self.labelled
        protocol = {"labelled": labelled, "scenario": self.scenario, "prior": self.prior, "folds": self.folds,
                    "held_out": self.held_out}  # fmt: skip
        if self.unlabelled is not None:
            protocol["unlabelled"] = self.unlabelled
        told = ["/".join(filter(None, (self.method, self.reading))), _as_one(settings), self.dataset, _as_one(protocol)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]

    def make(self) -> Any:
        """Its estimator; a reading or a setting that the method does not know is an error."""
        return make(self.method, {"prior": 0.4, **self.settings}, self.reading)

    @cached_property
    def choosing(self) -> Cell:
        """The cell whose runs choose their epoch on held-out PU rows."""
        return replace(self, held_out=HELD_OUT)

    @property
    def keys(self) -> tuple[str, ...]:
        """Of all its runs: the plain ones, and outside a search those that choose their epoch."""
        return (self.key,) if self.folds is not None else (self.key, self.choosing.key)


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    show: str  # which table or figure: one of SHOWS
    seeds: list[int]
    keeps: list[str]
    cells: list[Cell]
    options: dict[str, Any]  # of the figure
    told: str = ""  # the name or the path that it was asked for by
    folder: str = ""  # of experiments/ and results/ that it is in: "paper", ...

    @property
    def place(self) -> str:
        """Its results below the folder of all results."""
        return f"{self.folder}/{self.name}" if self.folder not in ("", ".") else self.name

    def chosen(self, only: str | None, seeds: int | None) -> Experiment:
        """The part that --only and --seeds name: METHOD, DATASET, or METHOD:DATASET, separated by commas."""
        cells = self.cells
        if only:
            wanted = [part.strip() for part in only.split(",")]
            known = {name for cell in cells for name in _names(cell)}
            for part in wanted:
                if part not in known:
                    example = f"e.g. {_names(cells[0])[-1]}" if cells else "it has no runs; leave --only out"
                    raise ValueError(f"--only {part!r} names nothing in {self.name}{near(part, known)} ({example})")
            cells = [cell for cell in cells if set(wanted) & set(_names(cell))]
        return replace(self, cells=cells, seeds=self.seeds[:seeds])

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(key for cell in self.cells for key in cell.keys)

    def asks(self, line: Line) -> bool:
        """Whether the line is a run of one of the cells, of one of the seeds, at an epoch that is to be kept."""
        return line.key in self.keys and line.seed in self.seeds and line.keep in {"last", *self.keeps, *self._own}

    @cached_property
    def _own(self) -> frozenset[str]:
        return frozenset(keeps(cell) for cell in self.cells)


def _as_one(values: dict[str, Any]) -> dict[str, Any]:
    """1 and 1.0 are one value."""
    return {k: int(v) if isinstance(v, float) and v.is_integer() else v for k, v in values.items()}


def _names(cell: Cell) -> list[str]:
    names = [cell.method, cell.dataset, f"{cell.method}:{cell.dataset}"]
    return [cell.variant, *names] if cell.variant else names


# --------------------------------------------------------------------- reading


def names() -> list[str]:
    return list(places.files())


def read(name: str) -> Experiment:
    """By name, or a TOML file of the user's own."""
    path = places.file_of(name)
    try:
        table = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from None
    try:
        return replace(_experiment(path.stem, table), told=name, folder=_folder(path))
    except KeyError as error:
        raise ValueError(f"{path} has no {error} where one is needed (docs/reproduce.md)") from None


def _folder(path: Path) -> str:
    """The folder below results/ is the one that the file has below experiments/; none for a file of the user's own."""
    own = places.files().get(path.stem)
    same = own is not None and own.resolve() == path.resolve()
    return own.parent.relative_to(places.experiments()).as_posix() if own is not None and same else ""


def _experiment(name: str, table: dict[str, Any]) -> Experiment:
    cells: list[Cell] = []
    _check_keys("an experiment", table, TOP | OPTIONS)
    for key, kind in (("vary", list), ("settings", dict)):
        _check_keys(key, table.get(key, {}), dict.fromkeys(table.get(key, {}), kind))
    for entry in [] if table["show"] == "bound" else table["cells"]:
        if not isinstance(entry, dict):
            raise ValueError(f"cells has {entry!r}; it must hold tables, [[cells]] (docs/reproduce.md)")
        _check_keys("a cell", {key: entry[key] for key in ("dataset", "datasets") if key in entry}, CELL)
        own_sets = entry.get("datasets") or [entry["dataset"]]
        _check_keys("a cell", entry, CELL | dict.fromkeys(own_sets, dict))
        for dataset in own_sets:
            _check_keys(f"cells.{dataset}", entry.get(dataset, {}), OF_A_SET)
            common = {**table.get("settings", {}).get(dataset, {}), **entry.get("settings", {})}
            own = {**common, **entry.get(dataset, {}).get("settings", {})}
            published = entry.get(dataset, {}).get("published", entry.get("published", {}))
            label = str(entry.get("label", entry["method"]))
            base = Cell(
                entry["method"],
                dataset,
                own,
                entry.get("variant", ""),
                label,
                entry.get(dataset, {}).get("reading", entry.get("reading", "")),
                entry.get("prior", "true"),
                published,
                scenario=entry.get("scenario", "case-control"),
                unlabelled=entry.get("unlabelled"),
            )
            cells += _varied(base, table.get("vary", {}))
    _check_keys("settings", table.get("settings", {}), {cell.dataset: dict for cell in cells})
    _check_cells(cells)
    show, kept = table["show"], table.get("keeps", ["last"])
    for what, value, allowed in (("show", show, SHOWS), *(("keeps", keep, [*KEEPS]) for keep in kept)):
        if value not in allowed:
            raise ValueError(
                f"{what} = {value!r} is not known{near(str(value), allowed)} (one of {', '.join(allowed)})"
            )
    folds = table.get("folds", 2)  # of a search: each half of the PU rows judges the other
    if folds != "apart" and (type(folds) is not int or folds < 2):
        raise ValueError(f"folds = {folds!r} must be a number from 2 on, or 'apart' for Alzheimer's last slices")
    for key in ("folds", "every_epoch"):
        if key in table and show != "search":
            raise ValueError(f"{key} = {table[key]!r} belongs to show = 'search', this is {show!r}; leave it out")
    _check_show(show, table, cells)
    if show == "search":
        cells = [replace(cell, folds=folds) for cell in cells]
    options = {key: value for key, value in table.items() if key in OPTIONS}
    return Experiment(name, table["title"], show, _seeds(table.get("seeds", 5)), kept, cells, options)


def _check_cells(cells: list[Cell]) -> None:
    """Refuse, before any run, what would fail after hours or would be counted as another run."""
    seen: set[tuple[str, str, str]] = set()
    elsewhere = dict.fromkeys(SAID_ELSEWHERE, "the protocol")
    elsewhere |= {"prior": "prior = ... of the cell", "random_state": "seeds"}
    for cell in cells:
        what = f"{cell.method} on {cell.dataset}" + (f", {cell.variant!r}," if cell.variant else "")
        if cell.names in seen:
            raise ValueError(f"two cells are {what} and would share their lines; give each its own variant = '...'")
        seen.add(cell.names)
        datasets.info(cell.dataset)
        if cell.scenario not in SCENARIOS:
            raise ValueError(f"{what} has scenario = {cell.scenario!r}; use one of {', '.join(map(repr, SCENARIOS))}")
        for name in cell.settings.keys() & elsewhere.keys():
            raise ValueError(f"{what} has {name} among its settings; that is for {elsewhere[name]} to say")
        prior = cell.prior
        if prior != "true":
            try:
                check_prior(prior)
            except ValueError as error:
                raise ValueError(f"{what}: {error}; 'true' gives the real share") from None
        for metric, value in cell.published.items():
            if metric not in METRICS:
                known = ", ".join(METRICS)
                raise ValueError(f"{what} has published {metric!r}{near(metric, METRICS)} (one of {known})")
            if not (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))):
                raise ValueError(f"{what} has published {metric} = {value!r}; it must be [mean, deviation], in percent")
        cell.make()  # refuses settings that the method does not know


def _check_show(show: str, table: dict[str, Any], cells: list[Cell]) -> None:
    """Refuse a file that lacks what its table or figure needs."""
    needs = {
        "lines": ("one setting or more under [vary]", len(table.get("vary", {})) >= 1),
        "heatmap": ("two settings under [vary]", len(table.get("vary", {})) == 2),
        "wrong-scores": ("two cells", len(cells) == 2),
        "bound": ("prior, vc, delta, n_labelled and n_unlabelled",
                  {"prior", "vc", "delta", "n_labelled", "n_unlabelled"} <= set(table)),
        "search": ("methods that train networks", all(trains_network(cell.method) for cell in cells)),
    }  # fmt: skip
    what, there = needs.get(show, ("", True))
    if not there:
        raise ValueError(f"show = {show!r} needs {what} (docs/reproduce.md)")
    if show != "bound" and not cells:
        raise ValueError("there are no cells; name a method and a data set under [[cells]], and values under [vary]")
    if show in ("lines", "heatmap") and len(sets := {cell.dataset for cell in cells}) > 1:
        raise ValueError(
            f"show = {show!r} draws one data set, this has {', '.join(sorted(sets))}; make a file for each"
        )
    if (against := table.get("against")) and against not in (known := {cell.method for cell in cells}):
        raise ValueError(f"against = {against!r} is not among the methods here{near(against, known)}")
    for key, shape in (("axes", [str, str]), ("panels", [list, list])):
        value = table.get(key, shape)
        if value is not shape and [type(one) for one in value] != shape:
            raise ValueError(f"{key} = {value!r} must hold two {'names' if key == 'axes' else 'lists of methods'}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_keys(what: str, told: dict[str, Any], known: Mapping[str, type]) -> None:
    for key, value in told.items():
        if key not in known:
            raise ValueError(f"{what} has no key {key!r}{near(key, known)} (one of {', '.join(known)})")
        if not isinstance(value, known[key]):
            raise ValueError(f"{what} has {key} = {value!r}; it must be {KINDS[known[key]]} (docs/reproduce.md)")


def _seeds(told: Any) -> list[int]:
    seeds = list(range(told)) if type(told) is int else told
    if not isinstance(seeds, list) or not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
        raise ValueError(f"seeds = {told!r} must be a number from 1 on, or a list of seeds such as [0, 1, 2]")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds = {told!r} names one twice")
    return seeds


def _varied(base: Cell, vary: dict[str, list[Any]]) -> Iterator[Cell]:
    """A cell for each combination of the values. "a+b" sets a and b alike. "prior" is the prior of the cell."""
    for values in itertools.product(*vary.values()):
        settings, prior = dict(base.settings), base.prior
        for names_, value in zip(vary, values, strict=True):
            for one in names_.split("+"):
                if one == "prior":
                    prior = value
                else:
                    settings[one] = value
        parts = [base.variant, *(f"{k.split('+')[-1]}={_text(v)}" for k, v in zip(vary, values, strict=True))]
        yield replace(base, settings=settings, variant=",".join(filter(None, parts)), prior=prior)


def _text(value: Any) -> str:
    return f"{value:g}" if _is_number(value) and float(f"{value:g}") == value else str(value)


def counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def keeps(cell: Cell) -> str:
    """Which epoch the method itself ends with."""
    return getattr(cell.make(), "keeps", "last")
