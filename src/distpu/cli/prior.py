"""`distpu prior`: the share of positives among the unlabelled rows of a file, by every estimator side by side."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._early import check_estimators, check_file
from ._options import TABLES, Drop, Id, Keep, Label, Positive, Sheet, encoder_of, options_of
from ._print import fill, print_table

if TYPE_CHECKING:
    from ..prior import Estimate


def prior(
    file: Annotated[str, typer.Argument(metavar="FILE", help=f"A table ({TABLES}), or a .npz file.")],
    label: Label = None,
    positive: Positive = None,
    id: Id = None,
    drop: Drop = None,
    keep: Keep = None,
    sheet: Sheet = None,
    estimators: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Estimators, separated by commas; 'scores': those that look at scores; 'all': also those that look at "
            "rows, which take minutes.",
        ),
    ] = "scores",
    level: Annotated[float, typer.Option(metavar="L", help="Level of the interval, between 0 and 1.")] = 0.9,
    bootstrap: Annotated[
        int, typer.Option(metavar="N", min=0, help="How often each estimate is made again for its interval.")
    ] = 50,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the models and of the resampling.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw the estimates with their intervals.")
    ] = None,
) -> None:
    """Estimate how many unlabelled rows are positive, with intervals.

    A table whose column 'fraud' is 1 for known cases and 0 or empty elsewhere:

        distpu prior transactions.csv --label fraud

    The scores of a table are those of the default method, held out. So the first estimate is the prior that distpu fit
    takes. The others show how much it hangs on the estimator.
    """
    check_file(file, label, needs_label=True)
    names = check_estimators(estimators)

    from ..answer import positive_value, read_own
    from ..params import check_parameters, need
    from ..prior import AUTO, LARGEST, ON_SCORES, PriorEstimator
    from ..prior.gap import at_gap
    from ..progress import busy

    if plot is not None:
        need("matplotlib", "plots", "drawing")
    told: dict[str, Any] = {"level": level, "bootstrap": bootstrap, "random_state": seed}
    check_parameters(PriorEstimator(**told))
    X, y, column = read_own(file, label, id, sheet)
    encode = encoder_of(X, file, id, drop, keep)

    from ..diagnosis.default import by_default

    pos_label = positive_value(y, column, positive)
    names = sorted(names, key=lambda name: name not in ("auto", AUTO))  # what `distpu fit` takes comes first
    scored = by_default(X, y, encode, pos_label, seed)
    found: list[Estimate] = []
    rows = []
    for number, name in enumerate(names, 1):
        start = time.perf_counter()
        estimator = PriorEstimator(name, pos_label=pos_label, **told)
        with busy(f"{number}/{len(names)} {name}: estimating"):
            if scored is not None and name in ("auto", *ON_SCORES):
                of_both = scored.z[scored.s == 1], scored.z[scored.s == 0]
                one = at_gap(estimator.fit_scores(*of_both).estimate_, *of_both)
            else:
                rows_in = X if isinstance(encode, str) else encode.fit(X, y).transform(X)
                one = estimator.fit(rows_in, y).estimate_
        found.append(one)
        seconds = time.perf_counter() - start
        low, high = one.interval or (one.prior, one.prior)
        span = f"at most {high:.3f}" if one.two_sided is False else f"{low:.3f} to {high:.3f}"
        rows.append((name, f"{one.prior:.3f}", span, f"{seconds:.1f}", one.note))
        print(f"{number}/{len(names)} {name}: {one.prior:.3f}", file=sys.stderr)
    print_table(["estimator", "share", f"{100 * level:g} % interval", "seconds", ""], rows, right=range(1, 4))
    print()
    text = "share: of positives among the unlabelled rows."
    if scored is None:
        text += " distpu fit trains a network on such images and estimates from its scores; these are a forest's."
    elif found[0].name == AUTO:
        text += f" {AUTO} is what distpu fit takes: the same share, from the same scores of its default method."
    fill(text)
    readings: dict[str, list[str]] = {}
    for one in found:
        readings.setdefault(one.reading or LARGEST, []).append(one.name)
    for reading, of in readings.items():
        fill(f"{', '.join(of)}: {reading}")
    if plot is not None:
        _draw(found, level, plot)
        print(f"picture: {plot}")
    first = found[0]
    options = options_of(label=label, positive=positive, id=id, sheet=sheet, drop=drop, keep=keep)
    given = "" if scored is not None and first.name == AUTO else f" --prior {first.prior:.3g}"
    print(f"next:  distpu fit {shlex.quote(file)}{options}{given}")


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
