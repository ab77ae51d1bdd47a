"""`distpu predict`: score rows with a trained model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ._early import check_file
from ._options import DataRoot, Sheet, Strict, Threshold, Where, check_where


def predict(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run folder.")],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file, or a folder of .csv or .parquet files, with the columns the model was trained on, in any "
            "order and beside others; a folder of images; or a data set's name (its test rows).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="A .csv or .parquet file to write; else standard output, as CSV."
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names the rows, else the model's own, else row numbers."),
    ] = None,
    rank: Annotated[
        bool,
        typer.Option("--rank", help="Add each row's rank, 1 for the likeliest. It needs 24 bytes of memory a row."),
    ] = False,
    threshold: Threshold = None,
    sheet: Sheet = None,
    strict: Strict = False,
    pool: Where = "local",
    data_root: DataRoot = None,
) -> None:
    """Score new rows with a trained model.

    A line per row, in the order of the data: its id, its score (positive from 0 on), its probability of being
    positive, and the decision, 1 where the model calls it positive:

        distpu predict runs/transactions-auto-seed0 new.csv -o scores.csv

    Data of any size are read in pieces: a .parquet file, a folder of such files, .csv, .csv.gz, or a .npy array. A
    killed command goes on where it was. The file appears when it is whole:

        distpu predict runs/transactions-auto-seed0 month/ -o scores.parquet --id customer

    Another cut than that of the fit, if the model has held-out rows:

        distpu predict runs/transactions-elkan-noto-seed0 new.csv --threshold recall=0.8
    """
    from .. import datasets
    from ..files.out import check_out, plain_goal
    from ..files.run_folder import RunFolder
    from ..files.scores import check_ending
    from ..threshold.choice import read_choice

    check_where(pool)
    RunFolder(folder).check_finished()
    if data not in datasets.NAMES:
        check_file(data)
    if threshold is not None:
        read_choice(threshold)
    if out is not None:
        check_out(out, data)
        check_ending(out)

    from ..predictions import predict_file

    done = predict_file(
        folder,
        data,
        out,
        id=id,
        threshold=threshold,
        rank=rank,
        strict=strict,
        data_root=data_root,
        pool=pool,
        sheet=sheet,
    )
    if out is None:
        return
    said = sys.stderr if plain_goal(out) is None else sys.stdout  # the scores themselves may go to standard output
    again = f" ({done.resumed:,} of them by an earlier run that was stopped)" if done.resumed else ""
    print(f"{done.rows:,} rows scored{again}, {done.positive:,} called positive: {out}", file=said)
