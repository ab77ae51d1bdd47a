"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ._early import check_prior

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A data set's name (distpu data), a .csv, .parquet, .npy or .npz file, or a folder of images.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Files: the label column; 1 = known positive, 0 or empty = unlabelled."),
]
Positive = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Files: the label value of known positives, when it is not 1.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Images: stop at a file that cannot be read.")]
Negative = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="Files: the label value of rows that a person found not to be positive."),
]
Found = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="Files: the label value of rows that a person looked at, since a model ranked them high, and found "
        "positive. They teach, but they do not count for the prior: they are no random draw.",
    ),
]
Looked = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="Files: what distpu next --out wrote, with your verdicts, yes or no; repeatable."
    ),
]
Labelled = Annotated[int | None, typer.Option(metavar="N", help="Named data sets: how many positives stay labelled.")]
Prior = Annotated[
    str | None,
    typer.Option(
        metavar="P",
        help="Share of positives among the unlabelled rows: a number, 'auto' (estimate it; default for files), an "
        "estimator's name (distpu prior lists them) or 'true' (named data sets only; their default).",
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="CUT",
        help="Which rows are called positive: 'auto' (the method's own cut), 'prior', 'half', a probability like 0.3, "
        "precision=0.9, recall=0.8, cost=5 (a missed positive costs 5 false alarms) or rows=100.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Tables: columns to leave out; separated by commas, or repeat it."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Tables: columns to use although they look like an id or a give-away."),
]
Id = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Tables: the column that names the rows, in scores.csv and on the page."),
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Runs at a time. If absent: one per core; on a GPU 1, or 5 MLPs by MPS."),
]
DataRoot = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder with the data sets (else $DISTPU_DATA, then the cache).")
]
Preset = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Settings to start from: 'auto' (those searched for this data set, or for small data, where the method "
        "has them) or 'paper' (its defaults).",
    ),
]


def read_prior(text: str | None, default: str) -> str | float:
    """Return the number, 'auto', 'true' or the name of an estimator that --prior says."""
    check_prior(text)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        return text


def read_settings(pairs: list[str] | None) -> dict[str, Any]:
    import ast

    words = {"true": True, "false": False, "none": None}
    values: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise ValueError(f"--set {pair} must read field=value, such as --set epochs=20")
        try:
            values[name] = words[text.lower()] if text.lower() in words else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[name] = text
    return values


def read_names(texts: list[str] | None) -> tuple[str, ...]:
    """Return the column names of an option that may be repeated, each with names separated by commas."""
    return tuple(name.strip() for text in texts or [] for name in text.split(",") if name.strip())
