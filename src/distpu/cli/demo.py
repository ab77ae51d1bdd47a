"""`distpu demo`: three methods on the digits, and one command on a raw table."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from ._options import read_prior
from ._print import fill, mean, print_results


def demo(
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where the run folders and the picture go.")] = Path(
        "runs/demo"
    ),
    seeds: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Repeat with this many seeds; the table shows mean and deviation."),
    ] = 1,
    prior: Annotated[
        str, typer.Option(metavar="P", help="'auto' estimates the prior, 'true' gives the real one, or a number.")
    ] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Train again even if the folders are finished.")] = False,
) -> None:
    """Watch methods learn digits and a raw table.

    Dist-PU, nnPU and the naive baseline tell even digits from odd ones, knowing 100 even ones and no odd one. Then
    `distpu fit` finds the females in a table of penguins as it was published: numbers, categories, dates, text, blanks.
    Under two minutes; ends with a picture, a page, and how right both are.

        distpu demo

    The same over five draws of the labelled digits:

        distpu demo --seeds 5
    """
    from .. import datasets
    from ..files.run_folder import RunFolder
    from ..params import need
    from ..report import plots
    from ..study import runs as bench

    need("matplotlib", "plots", "the picture of the demo")  # a missing package shows before three methods are trained
    runs = {method: [folder / f"{method}-seed{seed}" for seed in range(seeds)] for method in bench.DEMO}
    data = datasets.load("digits")
    fill(
        f"Digits, even against odd: {len(data.y)} training rows, of which {data.labelled} even ones are labelled and "
        f"all others are not; {len(data.y_test)} test rows."
    )
    groups: dict[str, list[bench.Result]] = {}
    for method, places in runs.items():
        for seed, place in enumerate(places):
            if fresh and RunFolder(place).exists:
                shutil.rmtree(place)
            settings = bench.settings_for(method, data.name, len(data.y))
            result = bench.simulate(method, data, place, prior=read_prior(prior, "auto"), seed=seed, settings=settings)
            groups.setdefault(method, []).append(result)
        accuracy = mean([r.metrics["accuracy"] for r in groups[method]], 100, 2)
        print(f"{method}: test accuracy {accuracy} %", file=sys.stderr)
    print()
    print_results(groups)
    fill("metrics in percent, on the test rows; no odd digit was ever labelled")
    print(f"\npicture: {plots.demo([places[0] for places in runs.values()], folder / 'demo.png')}")
    fill(f"run folders: {folder}/*-seed*  (finished ones are kept; --fresh trains again)")
    _raw_table(folder, fresh)
    print("\nyour own table:  distpu fit table.csv --label COLUMN")


def _raw_table(folder: Path, fresh: bool) -> None:
    """Take the penguins from their published table to a ranked list and a page; say how right the answer is."""
    import numpy as np

    from ..answer import fit_file
    from ..datasets.penguins import LABEL, SEX, penguins
    from ..files import atomic
    from ..files.run_folder import RunFolder
    from .fit import print_answer

    table, truth = penguins()
    path, place = folder / "penguins.csv", folder / "penguins"
    atomic.write(path, table.to_csv(index=False).encode())
    if fresh and RunFolder(place).exists:
        shutil.rmtree(place)
    known = int(table[LABEL].notna().sum())
    print()
    fill(f"A raw table: {len(table)} penguins, of which {known} are known females. Which of the others are females?")
    print(f"\n$ distpu fit {path} --label {LABEL} --folder {place}\n")
    answer = fit_file(path, LABEL, folder=place)
    print_answer(answer)
    ranked = answer.ranked[~np.isnan(truth[answer.ranked.index])]
    right, called = truth[ranked.index] == 1, ranked["decision"].to_numpy() == 1
    print()
    fill(
        f"How right it was: of the {called.sum()} rows called, {(right & called).sum()} are females. "
        f"{right.sum()} females were hidden; {answer.hidden:.0f} were expected. Of the first 20 rows "
        f"{right[:20].sum()} are females. The true column, {SEX!r}, was not in the table; "
        f"{len(answer.ranked) - len(ranked)} rows whose sex nobody knows are not counted."
    )
