"""`distpu compare`: several methods on a named data set, over several seeds, or on a user's own file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._early import check_file, check_prior
from ._options import (
    Data,
    DataRoot,
    Drop,
    Id,
    Jobs,
    Keep,
    Label,
    Labelled,
    Positive,
    Preset,
    Prior,
    Sheet,
    Where,
    check_where,
    columns_of,
    options_of,
    read_prior,
)
from ._print import fill, mean, print_table

if TYPE_CHECKING:
    from ..study.ledger import Line

NAMED = "dist-pu,nnpu,upu,naive"  # the default methods on a named data set
IMAGES = "dist-pu,nnpu"  # on a folder of images: others take each pixel for a column, or minutes more
OWN = "blend-pu,dist-pu-boost,dist-pu,nnpu,elkan-noto,bagging-pu,two-step"  # and on a user's file


def compare(
    data: Data,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Methods, separated by commas, or 'all' (distpu methods). Default: "
            f"{NAMED} for a named data set, {IMAGES} for images, {OWN} for a file.",
        ),
    ] = None,
    label: Label = None,
    positive: Positive = None,
    sheet: Sheet = None,
    drop: Drop = None,
    keep: Keep = None,
    id: Id = None,
    prior: Prior = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Named data sets: runs of each, with seeds 0 to N-1 (3).")
    ] = None,
    labelled: Labelled = None,
    scenario: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Named data sets: case-control (the paper's protocol) or single-set."),
    ] = None,
    preset: Preset = "auto",
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Named data sets: where the run folders and table.md go, else runs/compare-DATA."
        ),
    ] = None,
    jobs: Jobs = None,
    pool: Where = "local",
    data_root: DataRoot = None,
) -> None:
    """Compare methods on a data set, or on your own file.

    A named data set has true labels: the table has test metrics over several seeds. Finished runs are kept, so the same
    command with more methods or seeds makes only what is missing.

        distpu compare digits --methods all --seeds 3

    A file has none: each method is judged by PU accuracy, on rows that it did not see.

        distpu compare transactions.csv --label fraud
    """
    from .. import datasets
    from ..methods import METHODS, check_name

    check_where(pool)
    methods = methods or (NAMED if data in datasets.NAMES else IMAGES if datasets.is_image_folder(data) else OWN)
    chosen = list(METHODS) if methods == "all" else list(dict.fromkeys(m.strip() for m in methods.split(",")))
    for method in chosen:
        check_name(method)  # an unknown name shows before data are read
    if data in datasets.NAMES:
        if any(given is not None for given in (label, positive, drop, keep, id)):
            raise ValueError(
                "--label, --positive, --drop, --keep and --id are for files; "
                f"{data} is a data set whose labels are known"
            )
        told = {"labelled": labelled, "scenario": scenario or "case-control", "prior": read_prior(prior, "true")}
        _compare_named(data, chosen, seeds or 3, told, preset, folder, jobs, data_root, pool)
        return
    check_file(data, label, needs_label=True)
    for option, value in (("seeds", seeds), ("labelled", labelled), ("scenario", scenario), ("folder", folder),
                          ("jobs", jobs)):  # fmt: skip
        if value is not None:
            raise ValueError(f"--{option} is for named data sets; in a file the label column says what is labelled")
    if prior == "true":
        raise ValueError("--prior true is for named data sets, whose labels are known; give a number or 'auto'")
    check_prior(prior)
    if methods == "all":
        chosen = [method for method in chosen if not METHODS[method].supervised]
    for method in chosen:
        if METHODS[method].supervised:
            raise ValueError(f"{method} is no PU method: it takes every unlabelled row for a negative; leave it out")
    _compare_on_file(data, chosen, label, positive, sheet, drop, keep, id, read_prior(prior, "auto"), preset, pool)


def _compare_on_file(
    path: str,
    methods: list[str],
    label: str | None,
    positive: str | None,
    sheet: str | None,
    drop: list[str] | None,
    keep: list[str] | None,
    id: str | None,
    prior: str | float,
    preset: str,
    pool: str,
) -> None:
    from ..answer import positive_value, read_own
    from ..judge import Judged, best, compare_methods

    X, y, column = read_own(path, label, sheet=sheet)
    X, encode = columns_of(X, path, id, drop, keep)
    judged: list[Judged] = []
    failed: list[str] = []
    pos_label = positive_value(y, column, positive)
    told = {"prior": prior, "preset": preset, "pos_label": pos_label, "pool": pool, "encode": encode}
    for number, one in enumerate(compare_methods(X, y, methods, **told), 1):
        if isinstance(one, Judged):
            judged.append(one)
            what = f"{one.method}: PU accuracy {100 * one.pu_accuracy:.1f} %"
        else:
            failed.append(f"{one[0]}: {one[1]}")
            what = failed[-1]
        print(f"{number}/{len(methods)} {what}", file=sys.stderr)
    rows = [
        (one.method, f"{100 * one.pu_accuracy:.1f} ± {100 * one.error:.1f}", f"{100 * one.pu_auc:.1f}",
         f"{100 * one.called:.1f}", f"{one.seconds:.1f}")
        for one in sorted(judged, key=lambda one: (-one.pu_accuracy, -one.pu_auc))
    ]  # fmt: skip
    print()
    print_table(["method", "PU accuracy", "PU AUC", "called positive", "seconds"], rows, right=range(1, 5))
    if judged:
        first, *level = [one.method for one in best(judged)]
        print()
        fill(
            "in percent, on held-out rows. PU accuracy estimates the accuracy among rows like the unlabelled ones; it "
            "needs no true label. ± is its standard error."
        )
        close = (
            f"; {' and '.join(level)} {'is' if len(level) == 1 else 'are'} within one standard error" if level else ""
        )
        fill(f"take {first}: its PU accuracy is the highest{close}")
        options = options_of(label=label, positive=positive, id=id, sheet=sheet, drop=drop, keep=keep)
        print(f"next:  distpu fit {shlex.quote(str(path))}{options} --method {first}")
    if failed:
        raise ValueError(f"{len(failed)} of {len(methods)} methods failed: {'; '.join(failed)}")


def _compare_named(
    name: str,
    methods: list[str],
    seeds: int,
    told: dict[str, Any],
    preset: str,
    folder: Path | None,
    jobs: int | None,
    data_root: Path | None,
    pool: str,
) -> None:
    from .. import datasets
    from ..progress import watched
    from ..study import runs as bench
    from ..study.experiment import Cell
    from ..study.ledger import Line
    from ..study.pool import Task, opened

    place = folder or Path("runs") / f"compare-{name}"
    root = str(data_root) if data_root else None
    data = datasets.load(name, data_root)  # fetched once, before several processes want it
    cells = [Cell(m, name, bench.settings_for(m, name, len(data.y), preset), **told) for m in methods]
    tasks = [Task(cell, seed, place / f"{cell.method}-seed{seed}", root) for cell in cells for seed in range(seeds)]
    groups: dict[str, list[Line]] = {method: [] for method in methods}
    failed: list[str] = []
    with opened(pool, jobs, [data], len(tasks)) as workers, closing(workers.run(tasks)) as ended:
        several = watched(ended, "comparing", len(tasks)) if workers.jobs > 1 else ended
        for number, (task, result) in enumerate(several, 1):
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
    from ..study.ledger import RUNS, write_lines

    columns = (*METRICS, "prior", "seconds")
    text = tables.markdown_table(["method", *columns], _comparison_rows(groups, columns))
    atomic.write(folder / "table.md", text.encode())
    write_lines(folder / RUNS, [line for lines in groups.values() for line in lines])
