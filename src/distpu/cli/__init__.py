"""The command line: parses, calls one function. Heavy imports happen inside the commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

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


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    import os
    import warnings

    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin collapse when cores are shared
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _say(message)
        try:
            code = app(prog_name="distpu", standalone_mode=False)
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except OSError as error:
            code = _mistake(f"{error.filename}: {error.strerror}" if error.filename else error)
        except (ValueError, FloatingPointError) as error:
            code = _mistake(error)
        except Exception as error:
            if not hasattr(
                error, "format_message"
            ):  # typer's own errors; where their class lives changes with versions
                raise
            path = getattr(getattr(error, "ctx", None), "command_path", "distpu")
            code = _mistake(f"{error.format_message().rstrip('.')} ({path} --help shows how)")
    if code == 130:
        _say("stopped; the same command goes on where it was")
    sys.exit(code)


def _say(what: object) -> None:
    print(f"distpu: {' '.join(str(what).split())}", file=sys.stderr)


def _mistake(what: object) -> int:
    _say(what)
    return 2


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Learn from positive and unlabelled data: some known positives, a pile of unlabelled rows, no negatives.

    See it work:

        distpu demo

    Your own table, in which column 'fraud' is 1 for known cases and empty elsewhere:

        distpu fit table.csv --label fraud
    """
    if version:
        print(f"distpu {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def fit(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A data set's name (distpu data) or a .csv, .parquet or .npz file.")
    ],
    method: Annotated[str, typer.Option(metavar="NAME", help="The method (distpu methods).")] = "dist-pu",
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Files: the label column; 1 = known positive, 0 or empty = unlabelled."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="Files: the label value of known positives, when it is not 1."),
    ] = None,
    labelled: Annotated[
        int | None, typer.Option(metavar="N", help="Named data sets: how many positives stay labelled.")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Share of positives among the unlabelled rows: a number, 'auto' "
            "(estimate it; default for files) or 'true' (named data sets only; their default).",
        ),
    ] = None,
    scenario: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Named data sets: labelled rows stay among the unlabelled (case-control, "
            "the paper's protocol) or are taken out (single-set).",
        ),
    ] = "case-control",
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, help="Seed of the draw of labelled rows and of training.")
    ] = 0,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder, else runs/DATA-METHOD-seedS. A killed run goes on there; a finished one is kept.",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A setting of the method (distpu methods NAME); repeatable."),
    ] = None,
    preset: Preset = "auto",
    data_root: DataRoot = None,
) -> None:
    """Train on your own file, or on a data set by name.

    A table whose column 'fraud' is 1 for known cases and 0 or empty elsewhere; all other columns are numbers:

        distpu fit transactions.csv --label fraud

    A column that says 'yes' for known cases:

        distpu fit customers.parquet --label bought --positive yes

    The paper's Fashion-MNIST protocol, with the settings searched for it:

        distpu fit fashion-mnist --labelled 500
    """
    values = _settings(settings)

    from .. import datasets
    from . import commands

    if data in datasets.NAMES:
        if label is not None or positive is not None:
            raise ValueError(f"--label and --positive are for files; {data} is a data set whose labels are known")
        folder = folder or Path("runs") / f"{data}-{method}-seed{seed}"
        commands.fit_named(
            data, data_root, method, folder, labelled, scenario, _prior(prior, "true"), seed, preset, values
        )
        return
    commands.check_file(data)
    if labelled is not None or scenario != "case-control":
        raise ValueError("--labelled and --scenario are for named data sets; in a file the label column says it all")
    if prior == "true":
        raise ValueError("--prior true is for named data sets, whose labels are known; give a number or 'auto'")
    folder = folder or Path("runs") / f"{Path(data).stem}-{method}-seed{seed}"
    values = {"prior": _prior(prior, "auto"), "random_state": seed, **values}
    commands.fit_file(data, label, positive, method, folder, preset, values)


@app.command()
def predict(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run folder.")],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file with the columns the model was trained on, in any order and beside others, "
            "or a data set's name (its test rows).",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write row, probability, positive; else to standard output."),
    ] = None,
    data_root: DataRoot = None,
) -> None:
    """Score new rows with a trained model.

    A line per row: its number (0 is the first), its probability of being positive, and 1 where that is at least 0.5:

        distpu predict runs/transactions-dist-pu-seed0 new.csv --out scores.csv
    """
    from . import commands

    commands.predict(folder, data, out, data_root)


@app.command()
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
    """Watch three methods learn from 100 labelled digits.

    Dist-PU, nnPU and the naive baseline tell even digits from odd ones, knowing 100 even ones and no odd one. Under
    two minutes; ends with a table and a picture.

        distpu demo

    The same over five draws of the labelled digits:

        distpu demo --seeds 5
    """
    from . import commands

    commands.demo(folder, seeds, _prior(prior, "auto"), fresh)


@app.command()
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An experiment, or a TOML file; none: a list.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="PARTS", help="METHOD, DATASET or METHOD:DATASET, separated by commas.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(metavar="N", min=1, help="The first N seeds of it.")] = None,
    jobs: Jobs = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make the runs again and print them beside the kept ones, which stay.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Make no run: tables and figures of what is there.")] = False,
    results: Annotated[Path, typer.Option(metavar="DIR", help="Where results are kept.")] = Path("results"),
    runs: Annotated[Path, typer.Option(metavar="DIR", help="Where run folders go.")] = Path("runs/reproduce"),
    data_root: DataRoot = None,
) -> None:
    """Reproduce a table or figure of the paper.

    Without a name it lists them and says what is done. With one it makes the runs that are missing in
    results/NAME/runs.jsonl, goes on where it was killed, and writes the table (Markdown, CSV, LaTeX), the figure
    (PNG, SVG) and a page that shows them beside the paper's values. Check a single cell on a laptop:

        distpu reproduce table-2 --only dist-pu:fashion-mnist --seeds 1 --fresh
    """
    from . import commands

    commands.reproduce(name, only, seeds, jobs, data_root, results, runs, fresh, show)


@app.command()
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
    from . import commands

    place = folder or Path("runs") / f"compare-{data}"
    commands.compare(data, data_root, methods, seeds, place, labelled, scenario, _prior(prior, "true"), preset, jobs)


@app.command()
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One method: its paper, its equations, all its settings.")
    ] = None,
) -> None:
    """List the methods, or show one with its settings.

    Any of the settings can be given to fit, as --set FIELD=VALUE:

        distpu methods dist-pu
    """
    from . import commands

    commands.methods(name)


@app.command("data")
def data_(data_root: DataRoot = None) -> None:
    """List the data sets and where they are.

    What is not here yet is fetched by the first fit, or the list says where to put it:

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
        raise ValueError(f"--prior {text} must be a number strictly between 0 and 1, 'auto' or 'true'") from None


def _settings(pairs: list[str] | None) -> dict[str, Any]:
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
