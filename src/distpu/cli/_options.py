"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ._early import check_prior

TABLES = ".csv, .tsv, .parquet, .arrow or .xlsx, or a folder of them"
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"A table ({TABLES}), a .npy or .npz file, a folder of images, or a data set's name (distpu data).",
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
        "precision=0.9, recall=0.8, cost=5 (a missed positive costs 5 false alarms) or rows=100 (the 100 rows "
        "of highest score: of the unlabelled rows in fit, of the rows that are scored in predict).",
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
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Excel files: the sheet, else the first one that holds rows.")
]
Jobs = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Runs at a time. If absent: one per core; on a GPU 1, or 5 MLPs by MPS."),
]
Where = Annotated[
    str,
    typer.Option(
        "--pool",
        metavar="WHERE",
        help="'local': processes of this machine. 'ray': a Ray cluster, the one of RAY_ADDRESS or of `ray start`, "
        "else one of this machine (docs/large.md).",
    ),
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


def check_where(pool: str) -> None:
    """Refuse an unknown --pool, and Ray where it is not installed, before anything is read."""
    from importlib.util import find_spec

    from ..on_ray import check_pool
    from ..params import need

    check_pool(pool)
    if pool == "ray" and find_spec("ray") is None:
        need("ray", "ray", "--pool ray")


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
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # no value of Python, or one nested too deeply
            values[name] = text
    return values


def encoder_of(X: Any, file: str, id: str | None, drop: list[str] | None, keep: list[str] | None) -> Any:
    """Return what encode= is for these options, as `distpu fit` has it."""
    from ..answer.fitting import encoder_for, ids_of

    ids_of(X, id, Path(file))
    if id is None and not drop and not keep:
        return "auto"
    return encoder_for(X, read_names(drop), read_names(keep), id, "auto", Path(file))


def columns_of(X: Any, file: str, id: str | None, drop: list[str] | None, keep: list[str] | None) -> tuple[Any, Any]:
    """Return a table without the column that names the rows and those that the user leaves out, and its encode=."""
    from ..answer.fitting import encoder_for, ids_of

    ids_of(X, id, Path(file))
    names = [*read_names(drop), *([] if id is None else [id])]
    both = next((name for name in read_names(keep) if name in names), None)
    if both is not None:
        raise ValueError(f"column {both!r} is to be kept and to be left out; name it once")
    if names:
        encoder_for(X, names, (), None, "auto", Path(file))  # refuses a column that is not there
        X = X.drop(columns=names)
        if not len(X.columns):
            raise ValueError(f"--drop and --id leave no column of {file} to learn from; keep one")
    return X, encoder_of(X, file, None, None, keep)


def options_of(**given: str | list[str] | None) -> str:
    """Return options as a user types them, for the command that comes next."""
    texts = {name: ",".join(read_names(value)) if isinstance(value, list) else value for name, value in given.items()}
    return "".join(f" --{name} {shlex.quote(text)}" for name, text in texts.items() if text)


def read_names(texts: list[str] | None) -> tuple[str, ...]:
    """Return the column names of an option that may be repeated, each with names separated by commas."""
    return tuple(name.strip() for text in texts or [] for name in text.split(",") if name.strip())
