"""Figures of experiments, drawn from their lines and nothing else; each as PNG and as SVG."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..metrics import METRICS
from ..params import need
from ..report.plots import COLOURS
from .experiment import Cell, Experiment
from .ledger import Line
from .tables import HEADS, figure, name_of

Draw = Callable[[Any, Experiment, list[Line]], None]


def draw(experiment: Experiment, lines: list[Line], folder: Path) -> list[str]:
    """Names of the PNG files written; none where the experiment is a table or has no line yet."""
    if experiment.show not in FIGURES or not (lines or not experiment.cells):
        return []
    matplotlib = need("matplotlib", "plots", "drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size, panels, work = FIGURES[experiment.show]
    with matplotlib.rc_context({"svg.hashsalt": experiment.name, "axes.spines.top": False, "axes.spines.right": False}):
        canvas = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(canvas)
        work(canvas.subplots(1, panels), experiment, lines)
        for kind in ("png", "svg"):
            canvas.savefig(folder / f"figure.{kind}", dpi=130, metadata={"Date": None} if kind == "svg" else None)
    return ["figure.png"]


def _prior_curves(axes: Any, experiment: Experiment, lines: list[Line]) -> None:
    """Share of unlabelled training rows predicted positive, epoch by epoch, mean and range over the seeds."""
    panels = experiment.options.get("panels", [["upu", "nnpu"], ["dist-pu"]])
    for axis, methods in zip(axes, panels, strict=True):
        for cell in experiment.cells:
            curves = [line.predicted_prior for line in _of(lines, cell) if line.predicted_prior]
            if not {cell.method, f"{cell.method}:{cell.variant}"} & {*methods} or not curves:
                continue
            values = np.array([curve[: min(map(len, curves))] for curve in curves])
            at, colour = np.arange(1, values.shape[1] + 1), COLOURS.get(cell.method)
            axis.plot(at, values.mean(0), color=colour, label=f"{name_of(cell)} ({len(curves)} seeds)")
            axis.fill_between(at, values.min(0), values.max(0), color=colour, alpha=0.2, linewidth=0)
        true = next((line.true_prior for line in lines), None)
        if true is not None:
            axis.axhline(true, color="black", linestyle="--", label=f"true prior {true:.2f}")
        axis.set(xlabel="epoch", ylabel="predicted class prior", ylim=(0, 1))
        axis.legend(frameon=False, fontsize=8)


def _wrong_scores(axes: Any, experiment: Experiment, lines: list[Line]) -> None:
    """Scores of wrongly predicted unlabelled training rows: how many, and how sure the network was."""
    edges, top = np.linspace(0, 1, 21), 0.0
    for axis, cell in zip(axes, experiment.cells, strict=True):
        found = [line for line in _of(lines, cell) if line.wrong]
        if found:
            counts = np.mean([line.wrong or [] for line in found], axis=0)
            top = max(top, counts.max())
            axis.bar(edges[:-1], counts, 0.05, align="edge", color=COLOURS["dist-pu"], alpha=0.7)
            wrong = f"{counts.sum():,.0f} of {found[0].training_rows:,} wrong"
            axis.set_title(f"{cell.variant}: {wrong} ({len(found)} seeds)", fontsize=10)
        axis.axvline(0.5, color="black", linewidth=0.8, linestyle=":")
        axis.set(xlabel="predicted probability", ylabel="wrongly predicted training rows", xlim=(0, 1))
    for axis in axes:
        axis.set_ylim(0, 1.05 * top or 1)


def _over_a_setting(axes: Any, experiment: Experiment, lines: list[Line]) -> None:
    """Over the values of one setting: of one method all metrics; of several accuracy and AUC, a line for each."""
    methods: dict[str, list[Cell]] = {}
    for cell in experiment.cells:
        methods.setdefault(cell.label, []).append(cell)
    panels = (("accuracy",), ("auc",)) if len(methods) > 1 else (METRICS[:3], METRICS[3:])
    for axis, metrics in zip(axes, panels, strict=True):
        ticks = [_values(cell)[-1] for cell in next(iter(methods.values()))]
        for number, ((label, cells), metric) in enumerate(itertools.product(methods.items(), metrics)):
            aside = 0.06 * (number - (len(methods) * len(metrics) - 1) / 2)  # else a line's bars hide the next one's
            points = [(place + aside, figure(lines, cell, metric)) for place, cell in enumerate(cells)]
            known = [(place, found) for place, found in points if found]
            if known:
                spread = [0.0 if math.isnan(found.deviation) else found.deviation for _, found in known]
                line, *_ = axis.errorbar([place for place, _ in known], [found.mean for _, found in known], spread,
                                         marker="o", capsize=2,
                                         label=label if len(methods) > 1 else HEADS[metric])  # fmt: skip
                few = [(at, found.mean) for at, found in known if len(found.values) < len(experiment.seeds)]
                if few:
                    axis.plot(*zip(*few, strict=True), "o", color=line.get_color(), markerfacecolor="white", zorder=3)
                    axis.set_title(f"hollow: fewer than {len(experiment.seeds)} seeds", fontsize=8)
        axis.set_xticks(range(len(ticks)), ticks)
        what = f"{HEADS[metrics[0]]}, " if len(metrics) == 1 else ""
        axis.set(xlabel=experiment.options.get("axis", "value"), ylabel=f"{what}percent, test rows")
        axis.legend(frameon=False, fontsize=8)


def _heatmap(axis: Any, experiment: Experiment, lines: list[Line]) -> None:
    """Accuracy over two settings."""
    pairs = {tuple(_values(cell)): figure(lines, cell, "accuracy") for cell in experiment.cells}
    rows, columns = (list(dict.fromkeys(pair[i] for pair in pairs)) for i in (0, 1))
    missing = math.nan
    values = np.array([[f.mean if (f := pairs.get((a, b))) else missing for b in columns] for a in rows])
    image = axis.imshow(values, cmap="viridis", aspect="auto", origin="lower")
    for i, j in np.ndindex(values.shape):
        if not math.isnan(values[i, j]):
            dark = values[i, j] < np.nanmean(values)
            axis.text(j, i, f"{values[i, j]:.1f}", ha="center", va="center", color="white" if dark else "black")
    names = experiment.options.get("axes", ["", ""])
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    axis.set(ylabel=names[0], xlabel=names[1])
    axis.figure.colorbar(image, ax=axis, label="accuracy, percent")


def bound(
    risk: float, prior: float, n_labelled: Any, n_unlabelled: Any, vc: float, delta: float, c: float = 1.0
) -> Any:
    """Proposition 1: R <= 2 R_lab + 8 prior C sqrt(V/n_L) + 12 prior e(n_L) + 4 C sqrt(V/n_U) + 6 e(n_U).

    e(n) = sqrt(ln(4/delta) / 2n);  V the VC dimension, C a constant that the paper leaves open.
    """

    def e(n: Any) -> Any:
        return np.sqrt(math.log(4 / delta) / (2 * n))

    from_labelled = 8 * prior * c * np.sqrt(vc / n_labelled) + 12 * prior * e(n_labelled)
    from_unlabelled = 4 * c * np.sqrt(vc / n_unlabelled) + 6 * e(n_unlabelled)
    return 2 * risk + from_labelled + from_unlabelled


def _bound(axes: Any, experiment: Experiment, lines: list[Line]) -> None:
    """The gap of the bound (R_lab = 0) over the sample sizes; the paper's own sizes are marked."""
    told = {key: experiment.options[key] for key in ("prior", "vc", "delta")}
    sizes = np.logspace(1, 8, 200)
    for axis, which, other in zip(axes, ("labelled", "unlabelled"), ("unlabelled", "labelled"), strict=True):
        for size in experiment.options[f"n_{other}"]:
            gap = bound(0.0, **{f"n_{which}": sizes, f"n_{other}": size}, **told)
            axis.loglog(sizes, gap, label=f"{size:,} {other}")
        for mark in experiment.options[f"n_{which}"]:
            axis.axvline(mark, color="black", linewidth=0.6, linestyle=":")
        axis.axhline(1, color="black", linewidth=0.8, linestyle="--")
        axis.set(xlabel=f"{which} rows", ylabel="gap of the bound (R is at most 1)")
        axis.legend(frameon=False, fontsize=8)


def _of(lines: list[Line], cell: Cell) -> list[Line]:
    return [line for line in lines if line.key in cell.keys and line.keep != "oracle"]


def _values(cell: Cell) -> list[str]:
    """Of the settings that vary, as its name has them."""
    return [part.split("=")[1] for part in cell.variant.split(",") if "=" in part]


FIGURES: dict[str, tuple[tuple[float, float], int, Draw]] = {  # size, panels, what draws them
    "prior-curves": ((9, 3.6), 2, _prior_curves),
    "wrong-scores": ((9, 3.6), 2, _wrong_scores),
    "lines": ((9, 3.8), 2, _over_a_setting),
    "heatmap": ((5.5, 4.2), 1, _heatmap),
    "bound": ((9, 3.8), 2, _bound),
}
