"""`distpu diagnose`: what may be wrong with a file of PU data, said in sentences."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._early import check_file
from ._options import TABLES, Drop, Id, Keep, Label, Positive, Sheet, encoder_of, options_of
from ._print import fill, print_table

if TYPE_CHECKING:
    from ..diagnosis import Diagnosis


def diagnose(
    file: Annotated[str, typer.Argument(metavar="FILE", help=f"A table ({TABLES}), or a .npz file.")],
    label: Label = None,
    positive: Positive = None,
    id: Id = None,
    drop: Drop = None,
    keep: Keep = None,
    sheet: Sheet = None,
    prior: Annotated[
        float | None,
        typer.Option(metavar="P", help="Share of positives among the unlabelled rows, if you know it."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the folds and of the model.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw the scores, the curve against the prior, and columns.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write all findings with their numbers as JSON.")
    ] = None,
) -> None:
    """Say what may be wrong with your data before you trust a result.

    A table whose column 'fraud' is 1 for known cases and 0 or empty elsewhere:

        distpu diagnose transactions.csv --label fraud

    Seven questions are answered without true labels: is labelling selective, does a column give the label away, how
    separable are labelled and unlabelled rows, are there enough labelled rows, are there copies, does the row order
    matter, how much does the result hang on the prior. With a picture and a file for other programs:

        distpu diagnose transactions.csv --label fraud --plot diagnosis.png --json diagnosis.json

    The prior and the number of rows called are those that distpu fit finds: a table is scored by its default method.

    The levels are: ok, unknown (it could not be tested), look (read it), warning (act before you go on). The exit code
    is 0 whatever is found.
    """
    from ..files.out import check_out
    from ..params import need

    check_file(file, label, needs_label=True)
    if prior is not None and not 0 < prior < 1:
        raise ValueError(f"--prior {prior:g} must lie strictly between 0 and 1")
    if plot is not None:
        need("matplotlib", "plots", "drawing")
    for path in filter(None, (plot, json)):
        check_out(path, file)

    from ..answer import positive_value, read_own
    from ..diagnosis import diagnose as look

    X, y, column = read_own(file, label, id, sheet)
    told = {"prior": prior, "pos_label": positive_value(y, column, positive), "random_state": seed}
    found = look(X, y, **told, encode=encoder_of(X, file, id, drop, keep))
    _print(found, file)
    _write(found, file, plot, json)
    options = options_of(label=label, positive=positive, id=id, sheet=sheet, drop=drop, keep=keep)
    options += f" --prior {prior:g}" if prior is not None else ""
    if found.level in ("ok", "unknown"):
        print(f"next:  distpu fit {shlex.quote(file)}{options}")


def _print(found: Diagnosis, file: str) -> None:
    rows = found.labelled + found.unlabelled
    print(f"{file}: {found.labelled:,} labelled and {found.unlabelled:,} unlabelled rows")
    if found.looked_at < rows:
        fill(f"Columns and labelling were tested on a sample of {found.looked_at:,} rows; the rest is of all rows.")
    if not found.by_default:
        fill("distpu fit trains a network on such images. Its estimate of the prior will differ from the one below.")
    print()
    cells = []
    for one in found.findings:
        level = one.level.upper() if one.level == "warning" else one.level
        cells.append((level, one.name, "\n".join(filter(None, (one.text, one.remedy and f"-> {one.remedy}")))))
    print_table(["level", "question", "answer"], cells)
    print()


def _write(found: Diagnosis, file: str, plot: Path | None, json: Path | None) -> None:
    from json import dumps

    from ..files.out import write_out

    if plot is not None:
        from ..diagnosis.picture import draw

        if write_out(plot, draw(found), file):
            print(f"picture: {plot}")
    if json is not None and write_out(json, dumps(found.to_dict(), indent=1).encode() + b"\n", file):
        print(f"json: {json}")
