"""`distpu prior`: the share of positives among the unlabelled rows of a file, by every estimator side by side."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ._early import check_estimators, check_file
from ._options import Label, Positive
from ._print import fill, print_table

if TYPE_CHECKING:
    from ..prior import Estimate


def prior(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A .csv, .parquet or .npz file.")],
    label: Label = None,
    positive: Positive = None,
    estimators: Annotated[
        str, typer.Option(metavar="NAMES", help="Estimators, separated by commas, or 'all'.")
    ] = "all",
    level: Annotated[float, typer.Option(metavar="L", help="Level of the interval, between 0 and 1.")] = 0.9,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="How often each estimate is made again for its interval.")
    ] = 50,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the forest and of the resampling.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw the estimates with their intervals.")
    ] = None,
) -> None:
    """Estimate how many unlabelled rows are positive, with intervals.

    A table whose column 'fraud' is 1 for known cases and 0 or empty elsewhere:

        distpu prior transactions.csv --label fraud
    """
    check_file(file, label, needs_label=True)
    names = check_estimators(estimators)

    from ..answer import positive_value, read_own
    from ..params import need
    from ..prior import LARGEST, estimate
    from ..progress import busy

    if plot is not None:
        need("matplotlib", "plots", "drawing")
    X, y, column = read_own(file, label)
    pos_label = positive_value(y, column, positive)
    found: list[Estimate] = []
    rows = []
    for number, name in enumerate(names, 1):
        start = time.perf_counter()
        with busy(f"{number}/{len(names)} {name}: estimating"):
            found.append(estimate(X, y, name, level, bootstrap, seed, pos_label))
        one, seconds = found[-1], time.perf_counter() - start
        low, high = one.interval or (one.prior, one.prior)
        span = f"at most {high:.3f}" if one.two_sided is False else f"{low:.3f} to {high:.3f}"
        rows.append((name, f"{one.prior:.3f}", span, f"{seconds:.1f}", one.note))
        print(f"{number}/{len(names)} {name}: {one.prior:.3f}", file=sys.stderr)
    print_table(["estimator", "share", f"{100 * level:g} % interval", "seconds", ""], rows, right=range(1, 4))
    print()
    fill(
        "share: of positives among the unlabelled rows. The seconds of the first estimate on scores include the forest "
        "that makes them."
    )
    readings: dict[str, list[str]] = {}
    for one in found:
        readings.setdefault(one.reading or LARGEST, []).append(one.name)
    for reading, of in readings.items():
        fill(f"{', '.join(of)}: {reading}")
    if plot is not None:
        _draw(found, level, plot)
        print(f"picture: {plot}")
    first = found[0]
    options = f" --label {label}" * (label is not None) + f" --positive {positive}" * (positive is not None)
    print(f"next:  distpu fit {file}{options} --prior {first.prior:.3g}")


def _draw(found: list[Estimate], level: float, path: Path) -> None:
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from ..files import atomic

    figure = Figure(figsize=(6, 0.8 + 0.35 * len(found)), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for place, one in enumerate(found):
        low, high = one.interval or (one.prior, one.prior)
        ends, style = ((0.0, high), ":") if one.two_sided is False else ((low, high), "-")
        axis.plot(ends, [place, place], style, color="#2166ac", linewidth=2)
        axis.plot([one.prior], [place], "o", color="#b2182b")
    axis.set_yticks(range(len(found)), [one.name for one in found])
    axis.invert_yaxis()
    axis.set(
        xlim=(0, 1),
        xlabel=f"share of positives among the unlabelled rows; {100 * level:g} % interval; dotted: upper bound",
    )
    content = io.BytesIO()
    figure.savefig(content, dpi=130, format="png")
    atomic.write(path, content.getvalue())
