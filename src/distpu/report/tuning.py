"""Draws a search for settings: the metric of each trial, and which settings explain the differences."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files import atomic
from ..params import need

BEST, OTHER, DEFAULT = "#b2182b", "#2166ac", "#878787"


def draw(trials: Sequence[Any], best: Any, importance: dict[str, float], metric: str, path: Path) -> Path:
    """Draw trials: dots with a value each, the default's standard error as a band, pruned trials as crosses."""
    need("matplotlib", "plots", "drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10 if importance else 6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axis, *more = figure.subplots(1, 2 if importance else 1, squeeze=False)[0]
    default = trials[0]
    low, high = default.value - default.error, default.value + default.error
    axis.axhspan(low, high, color=DEFAULT, alpha=0.2, linewidth=0, label="default ± its standard error")
    axis.axhline(default.value, color=DEFAULT)
    full = [trial for trial in trials if trial.state == "complete"]
    cut = [trial for trial in trials if trial.state == "pruned"]
    axis.plot([t.number for t in full], [t.value for t in full], "o", color=OTHER, label="judged on all folds")
    if cut:
        axis.plot(
            [t.number for t in cut],
            [t.value for t in cut],
            "x",
            color=OTHER,
            alpha=0.5,
            label="pruned: the first folds only",
        )
    axis.plot([best.number], [best.value], "o", color=BEST, label="best")
    axis.set(xlabel="trial (0: the default)", ylabel=f"{metric} on held-out rows")
    axis.legend(fontsize=8, frameon=False)
    for side in more:
        names = list(importance)
        side.barh(names, [importance[name] for name in names], color=OTHER)
        side.invert_yaxis()
        side.set(xlabel="share of the differences that a setting explains")
    content = io.BytesIO()
    figure.savefig(content, dpi=130, format="png")
    atomic.write(path, content.getvalue())
    return path
