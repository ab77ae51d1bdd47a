"""The command line, one file per command: it parses, calls the library and prints. Heavy imports are in functions."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from ..train import launch
from ._ending import ended, left
from .compare import compare
from .data import data
from .demo import demo
from .diagnose import diagnose
from .export import export
from .fit import fit
from .methods import methods
from .next import next
from .predict import predict
from .prior import prior
from .report import report
from .reproduce import reproduce
from .serve import serve
from .show import show
from .tune import tune

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit code 2."""
    import os

    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads are slow where processes share cores
    left(ended(lambda: app(prog_name="distpu", standalone_mode=False)))


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
    elif context.invoked_subcommand != "fit":
        launch.refuse_several(f"distpu {context.invoked_subcommand} shares no work between processes")


for command in (
    fit,
    next,
    predict,
    report,
    show,
    export,
    serve,
    prior,
    diagnose,
    demo,
    reproduce,
    compare,
    tune,
    methods,
    data,
):
    app.command()(command)
