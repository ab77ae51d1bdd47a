"""`distpu compare`: several methods on one data set, over several seeds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._options import DataRoot, Jobs, Preset, read_prior
from ._print import fill, mean, print_table

if TYPE_CHECKING:
    from ..study.ledger import Line


def compare(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A data set's name (distpu data).")],
    methods: Annotated[
        str, typer.Option(metavar="NAMES", help="Methods, separated by commas, or 'all' (distpu methods).")
    ] = "dist-pu,nnpu,upu,naive",
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each, with seeds 0 to N-1.")] = 3,
    labelled: Annotated[int | None, typer.Option(metavar="N", help="How many positives stay labelled.")] = None,
    prior: Annotated[
        str, typer.Option(metavar="P", help="'true', 'auto' (each run estimates it) or a number.")
    ] = "true",
    scenario: Annotated[
        str, typer.Option(metavar="NAME", help="case-control (the paper's protocol) or single-set.")
    ] = "case-control",
    preset: Preset = "auto",
    folder: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the run folders and table.md go, else runs/compare-DATA.")
    ] = None,
    jobs: Jobs = None,
    data_root: DataRoot = None,
) -> None:
    """Compare methods on a data set over several seeds.

    Finished runs are kept, so that the same command with more methods or seeds makes only what is missing.

        distpu compare digits --methods all --seeds 3
    """
    from .. import datasets
    from ..methods import METHODS
    from ..progress import watched
    from ..study import runs as bench
    from ..study.experiment import Cell
    from ..study.ledger import Line
    from ..study.pool import Pool, Task, side_by_side

    place = folder or Path("runs") / f"compare-{data}"
    root = str(data_root) if data_root else None
    chosen = list(METHODS) if methods == "all" else list(dict.fromkeys(m.strip() for m in methods.split(",")))
    for method in chosen:
        bench.make(method, {})
    rows = datasets.load(data, data_root)  # fetched once, before several processes want it
    told: dict[str, Any] = {"labelled": labelled, "scenario": scenario, "prior": read_prior(prior, "true")}
    cells = [Cell(m, data, bench.settings_for(m, data, len(rows.y), preset), **told) for m in chosen]
    tasks = [Task(cell, seed, place / f"{cell.method}-seed{seed}", root) for cell in cells for seed in range(seeds)]
    jobs = min(len(tasks), jobs or side_by_side([rows]))
    groups: dict[str, list[Line]] = {method: [] for method in chosen}
    failed: list[str] = []
    with closing(Pool(jobs).run(tasks)) as ended:
        for number, (task, result) in enumerate(watched(ended, "comparing", len(tasks)) if jobs > 1 else ended, 1):
            what = result if isinstance(result, str) else f"accuracy {100 * result.metrics['accuracy']:.2f} %"
            print(f"{number}/{len(tasks)} {task.cell.method} seed {task.seed}: {what}", file=sys.stderr)
            if isinstance(result, str):
                failed.append(f"{task.cell.method}, seed {task.seed}: {result}")
            else:
                groups[task.cell.method].append(Line.of(result, result, task.cell.key))
    groups = {method: sorted(results, key=lambda line: line.seed) for method, results in groups.items() if results}
    print()
    _print_comparison(groups)
    if groups:
        _write_comparison(place, groups)
        over = f"mean ± deviation over {seeds} seeds" if seeds > 1 else "one seed"
        print()
        fill(f"{over}, in percent, on the test rows; all six metrics: {place}/table.md")
    if failed:
        raise ValueError(f"{len(failed)} of {len(tasks)} runs failed: {'; '.join(failed)}")


def _comparison_rows(groups: dict[str, list[Line]], columns: Sequence[str]) -> list[tuple[str, ...]]:
    from ..metrics import METRICS

    def cell(results: list[Line], key: str) -> str:
        scale, digits = (100, 2) if key in METRICS else (1, 1 if key == "seconds" else 3)
        return mean([line.metrics[key] if key in METRICS else getattr(line, key) for line in results], scale, digits)

    return [(method, *(cell(results, key) for key in columns)) for method, results in groups.items()]


def _print_comparison(groups: dict[str, list[Line]]) -> None:
    columns = ("accuracy", "f1", "auc", "seconds")
    print_table(["method", *columns], _comparison_rows(groups, columns), right=range(1, 5))


def _write_comparison(folder: Path, groups: dict[str, list[Line]]) -> None:
    """table.md for reading, runs.jsonl for everything else."""
    from ..files import atomic
    from ..metrics import METRICS
    from ..study import tables
    from ..study.ledger import write_lines

    columns = (*METRICS, "prior", "seconds")
    text = tables.markdown_table(["method", *columns], _comparison_rows(groups, columns))
    atomic.write(folder / "table.md", text.encode())
    write_lines(folder / "runs.jsonl", [line for lines in groups.values() for line in lines])
