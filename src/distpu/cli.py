"""The command line: parses, calls one function, prints. Heavy imports happen inside the commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Learn from positive and unlabelled data: a few known positives, a pile of unlabelled rows, no negatives.\n\n"
    "Start with  distpu demo,  or with your own table:  distpu fit table.csv --label fraud",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

DataRoot = Annotated[Path | None, typer.Option(help="Folder with the data sets (else $DISTPU_DATA, then the cache).")]
Seed = Annotated[int, typer.Option(help="Seed of the draw of labelled rows and of training.")]


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    import warnings

    warnings.showwarning = lambda message, *_, **__: print(f"distpu: {message}", file=sys.stderr)
    try:
        app()
    except (ValueError, OSError, FloatingPointError) as error:
        print(f"distpu: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("distpu: stopped; the same command goes on where it was", file=sys.stderr)
        sys.exit(130)


@app.command()
def fit(
    data: Annotated[str, typer.Argument(help="A data set's name (distpu data) or a .csv, .parquet or .npz file.")],
    method: Annotated[str, typer.Option(help="The method, by name (distpu methods).")] = "dist-pu",
    label: Annotated[
        str | None, typer.Option(help="Label column of a file: 1 = known positive, 0 or empty = unlabelled.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The label value that marks known positives, when it is not 1.")
    ] = None,
    labelled: Annotated[int | None, typer.Option(help="Named data sets: how many positives stay labelled.")] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="Share of positives among the unlabelled rows: a number, 'auto' "
            "(estimate it; default for files) or 'true' (named data sets only; their default)."
        ),
    ] = None,  # fmt: skip
    scenario: Annotated[
        str,
        typer.Option(
            help="Named data sets: labelled rows stay among the unlabelled (case-control, "
            "the paper's protocol) or are taken out (single-set)."
        ),
    ] = "case-control",  # fmt: skip
    seed: Seed = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Run folder. A killed run goes on there; a finished one is kept.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the method, field=value; repeatable.")
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Train on a data set by name, or on your own file.

    Example, a table whose column 'fraud' holds 1 for known cases and nothing elsewhere:

        distpu fit transactions.csv --label fraud

    Example, the paper's Fashion-MNIST protocol with a short schedule:

        distpu fit fashion-mnist --labelled 500 --set warm_up_epochs=3 --set epochs=15
    """
    from . import commands, datasets

    values = _settings(settings)
    if data in datasets.NAMES:
        folder = folder or Path("runs") / f"{data}-{method}-seed{seed}"
        commands.fit_named(data, data_root, method, folder, labelled, scenario, _prior(prior, "true"), seed, values)
    else:
        if prior == "true":
            raise ValueError("prior='true' is for named data sets, whose labels are known; give a number or 'auto'")
        folder = folder or Path("runs") / f"{Path(data).stem}-{method}-seed{seed}"
        values = {"prior": _prior(prior, "auto"), "random_state": seed, **values}
        commands.fit_file(data, label, positive, method, folder, values)


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(help="A finished run folder.")],
    data: Annotated[
        str, typer.Argument(help="A file with the columns the model was trained on, or a data set's name.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write row, probability, positive; standard output if absent."),
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Score new rows with a trained model.

    Example:

        distpu predict runs/transactions-dist-pu-seed0 new.csv --out scores.csv
    """
    from . import commands

    commands.predict(folder, data, out, data_root)


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the run folders and the picture go.")] = Path("runs/demo"),
    seeds: Annotated[int, typer.Option(help="Repeat with this many seeds; the table shows mean and deviation.")] = 1,
    prior: Annotated[
        str, typer.Option(help="'auto' estimates the prior, 'true' gives the real one, or a number.")
    ] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Train again even if the folders are finished.")] = False,
) -> None:
    """Watch Dist-PU, nnPU and the naive baseline learn even digits from 100 labelled ones. Under two minutes.

    Example:

        distpu demo --seeds 5
    """
    from . import commands

    commands.demo(folder, seeds, _prior(prior, "auto"), fresh)


@app.command()
def methods(
    name: Annotated[
        str | None, typer.Argument(help="One method: its paper, what it assumes, all its settings.")
    ] = None,
) -> None:
    """List the methods, or show one with its settings.

    Example:

        distpu methods dist-pu
    """
    from . import commands

    commands.methods(name)


@app.command("data")
def data_(data_root: DataRoot = None) -> None:
    """List the data sets: what they are, and where they are or how to get them.

    Example:

        distpu data --data-root ~/datasets
    """
    from . import commands

    commands.data(data_root)


def _prior(text: str | None, default: str) -> str | float:
    if text is None:
        return default
    if text in ("auto", "true"):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"prior={text!r} must be a number strictly between 0 and 1, 'auto' or 'true'") from None


def _settings(pairs: list[str] | None) -> dict[str, Any]:
    import ast

    values: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair!r} must read field=value, such as --set epochs=20")
        try:
            values[name.strip()] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            values[name.strip()] = text
    return values
