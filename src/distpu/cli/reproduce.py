"""`distpu reproduce`: a table or figure of the paper."""

from __future__ import annotations

import shutil
import zlib
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._options import DataRoot, Jobs, Where, check_where
from ._print import print_table

if TYPE_CHECKING:
    from ..study.experiment import Experiment
    from ..study.ledger import Line


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An experiment, or a TOML file; none: a list.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="PARTS", help="METHOD, DATASET or METHOD:DATASET, separated by commas.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(metavar="N", min=1, help="The first N seeds of it.")] = None,
    jobs: Jobs = None,
    pool: Where = "local",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make the runs again and print them beside the kept ones, which stay.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Make no run: tables and figures of what is there.")] = False,
    results: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are kept; else ./results, or the clone's.")
    ] = None,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where run folders go.")] = Path("runs/reproduce"),
    data_root: DataRoot = None,
) -> None:
    """Reproduce a table or figure of the paper.

    Without a name it lists them and says what is done. With one it makes the runs that are missing in
    results/NAME/runs.jsonl, goes on where it was killed, and writes the table (Markdown, CSV, LaTeX), the figure
    (PNG, SVG) and a page that shows them beside the paper's values. Check a single cell on a laptop:

        distpu reproduce table-2 --only dist-pu:fashion-mnist --seeds 1 --fresh
    """
    from ..study import places

    check_where(pool)
    if fresh and show:
        raise ValueError("--fresh makes runs and --show makes none; give one of them")
    if name is not None:
        places.file_of(name)

    from ..study import experiment as experiments
    from ..study import reproduce as made

    kept = places.results(results)
    if name is None:
        for group, rows in made.overview(kept).items():
            print(f"{group}/" if group else "")
            print_table(["name", "runs done", "what it is"], rows)
            print()
        print("make what is missing, and write its table or figure:  distpu reproduce NAME")
        return
    whole = experiments.read(name)
    part, place = whole.chosen(only, seeds), kept.root
    failed: list[str] = []
    if show:
        _print_experiment(part, made.write(whole, kept))
    elif fresh:
        again = runs / "fresh" / f"{whole.name}-{zlib.crc32(repr((only, seeds)).encode()):08x}"
        unfinished = again / "unfinished"  # a command that was stopped goes on
        if not unfinished.exists():
            shutil.rmtree(again, ignore_errors=True)
        again.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        place = again / "results"
        lines, failed = made.reproduce(whole, part, jobs, data_root, places.Results(place), again, where=pool)
        unfinished.unlink()
        _print_experiment(part, lines, "made now")
        before = kept.ledger(part.place).find(part.asks)
        if before:
            _print_experiment(part, before, f"kept in {kept.root / part.place}")
    else:
        told = partial(_print_so_far, part)
        lines, failed = made.reproduce(whole, part, jobs, data_root, kept, runs, told, where=pool)
        _print_experiment(part, lines)
    print(f"\ntables, figures and all metrics: {place / part.place}/README.md")
    if failed:
        raise ValueError(f"not all runs could be made: {'; '.join(failed)}")


def _print_so_far(part: Experiment, lines: list[Line]) -> None:
    if any(map(part.asks, lines)):
        _print_experiment(part, lines, "so far")
        print(flush=True)


def _print_experiment(part: Experiment, lines: list[Line], which: str = "") -> None:
    from ..study import tables

    note, lines = f", {which}" if which else "", [line for line in lines if part.asks(line)]
    for dataset in tables.datasets(part):
        title = tables.DATASETS.get(dataset, dataset)
        if part.show == "search":
            rows = tables.found_by_search(part, lines, dataset)
            print(f"\n{title}: on held-out PU rows, in percent{note}")
            order = itemgetter(0, 2, 3, 4, 1)  # the variant, which may be long, last; no settings
            print_table(order(tables.SEARCH_HEAD), map(order, rows))
            continue
        head, rows = tables.beside_briefly(part, lines, dataset)
        print(f"\n{title}: test metrics in percent, last epoch, mean ± deviation{note}")
        print_table(head, rows, right=range(1, len(head)))
        if any(cell.endswith("*") for row in rows for cell in row):
            print("* more than two standard errors from the paper's")
    if part.show != "search" and (few := tables.few_seeds(part, lines)):
        print(few)
