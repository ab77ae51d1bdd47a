"""`distpu next`: the rows most worth looking at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._early import check_file
from ._options import Sheet
from ._print import fill, print_rows, visible

if TYPE_CHECKING:
    import pandas as pd

    from ..files.run_folder import RunFolder

SHOWN = 20  # rows on the terminal, if they are written to a file as well


def next(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A run folder of distpu fit FILE.")],
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=1, help="How many rows.")] = 50,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write them to a new .csv file, with an empty column 'verdict'."
        ),  # fmt: skip
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file that was fitted: its columns are shown and written, "
            "and the unsure rows are as unlike each other as possible.",
        ),  # fmt: skip
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --data: the column that names the rows, if fit had one.")
    ] = None,
    sheet: Sheet = None,
) -> None:
    """Name the rows most worth looking at.

    One half are the likeliest positives. The other half are rows near the cut, spread over the rows nearest to it:
    there a verdict changes most. Of rows with the same score one is named.

        distpu next runs/transactions-auto-seed0 -n 50 --data transactions.csv --out looked.csv

    Open the file in a spreadsheet and write yes or no into the column 'verdict'; an empty cell says nothing. Then fit
    again with the verdicts. The file that you fitted stays as it is:

        distpu fit transactions.csv --label fraud --looked looked.csv --folder runs/second

    Rows with a verdict leave the list. Go on with distpu next runs/second, and give both files to --looked.
    """
    from ..files.run_folder import RunFolder

    if id is not None and data is None:
        raise ValueError("--id names a column of the data; add --data FILE, or leave --id out")
    if out is not None and out.exists():
        raise ValueError(f"{out} is there and may hold verdicts; name another file")
    if not RunFolder(folder).ranked.exists():
        raise FileNotFoundError(f"{folder} has no {RunFolder.RANKED}; distpu fit FILE --folder DIR writes one")
    if data is not None:
        check_file(str(data))

    from ..answer import next_rows, write_rows
    from ..answer.looking import VERDICT

    found = next_rows(folder, rows, data=data, id=id, sheet=sheet)
    shown = found if out is None else _some(found)
    first = ["id", "rank", "probability", "why"]
    lines = zip(*(shown[name] for name in first), strict=True)
    cells = [(visible(a), str(b), f"{c:.3f}", d) for a, b, c, d in lines]
    others = [name for name in shown.columns if name not in (*first, VERDICT)]
    more = [(name, list(shown[name])) for name in _telling_first(RunFolder(folder), others)]
    print_rows(first, list(zip(*cells, strict=True)), more)
    print()
    if out is None:
        fill("write them to a file for your verdicts:  add --out looked.csv")
        return
    write_rows(found, out)
    likely = int((found["why"] == "likely").sum())
    fill(f"{len(found):,} rows, {likely:,} likely and {len(found) - likely:,} unsure: {out}")
    fill(f"write yes or no into its column 'verdict', then fit again with --looked {out} and a --folder of its own")


def _telling_first(run: RunFolder, names: list[str]) -> list[str]:
    """Return the columns in the order in which they matter, as far as the page says it."""
    if not (run.path / run.FACTS).exists():
        return names
    told = [name for name in run.facts()["top"]["columns"] if name in names]
    return [*told, *(name for name in names if name not in told)]


def _some(found: pd.DataFrame) -> pd.DataFrame:
    """Return some rows of both kinds."""
    return found.groupby("why", sort=False).head(SHOWN // 2)
