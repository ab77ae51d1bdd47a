"""`distpu predict`: score rows with a trained model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ._early import check_file
from ._options import DataRoot, Strict, Threshold


def predict(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run folder.")],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file with the columns the model was trained on, in any order and beside others, a folder of "
            "images, or a data set's name (its test rows).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write row, probability, positive; else to standard output."),
    ] = None,
    threshold: Threshold = None,
    strict: Strict = False,
    data_root: DataRoot = None,
) -> None:
    """Score new rows with a trained model.

    A line per row: its number (0 is the first), its probability of being positive, and 1 where the model calls it
    positive:

        distpu predict runs/transactions-auto-seed0 new.csv --out scores.csv

    Another cut than that of the fit, if the model has held-out rows:

        distpu predict runs/transactions-elkan-noto-seed0 new.csv --threshold recall=0.8
    """
    import numpy as np

    from .. import datasets
    from ..files.out import check_out, write_out
    from ..files.run_folder import RunFolder
    from ..threshold.choice import read_choice

    RunFolder(folder).check_finished()
    if data not in datasets.NAMES:
        check_file(data)
    if threshold is not None:
        read_choice(threshold)
    if out is not None:
        check_out(out, data)

    from ..answer import scores_csv
    from ..answer.pictures import for_model
    from ..saved import load

    classifier = load(folder)
    if threshold is not None:
        classifier.set_threshold(threshold)
    ids = None
    if data in datasets.NAMES:
        X: Any = datasets.load(data, data_root).x_test
    elif datasets.is_image_folder(data):
        images = for_model(classifier, data, strict)
        X, ids = images.x, images.names
    else:
        names = getattr(classifier, "feature_names_in_", None)
        X, _ = datasets.read(data, columns=None if names is None else list(names))
    decision, p = classifier.judged(X)
    positive = decision >= 0
    scores = scores_csv(np.arange(len(p)) if ids is None else ids, p, positive)
    if out is None:
        sys.stdout.write(scores)
        return
    plain = write_out(out, scores.encode(), data)
    said = sys.stdout if plain else sys.stderr  # the scores themselves may go to standard output
    print(f"{len(p)} rows scored, {int(positive.sum())} predicted positive: {out}", file=said)
