"""`distpu report`: make the page of a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A run folder that `distpu fit FILE` made.")],
    open: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
) -> None:
    """Make report.html of a run again, from its report.json.

    The page says how many positives are hidden, which rows to look at first, how sure that is and what drives it:

        distpu report runs/transactions-auto-seed0 --open

    It is one file that needs no network. report.json holds the same facts for other programs.
    """
    from ..report.page import write_page

    page = write_page(folder)
    print(f"page: {page}")
    if open:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            raise ValueError(f"no browser was found; open {page.resolve()} yourself")
