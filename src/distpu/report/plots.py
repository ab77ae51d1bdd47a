"""Draws figures. All data come from run folders."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ..files import atomic
from ..files.run_folder import Json, RunFolder
from ..params import need

NAMES = {"dist-pu": "Dist-PU", "nnpu": "nnPU", "upu": "uPU", "naive": "naive"}
KINDS = (  # rows of a histogram: label, test on (s, y), colour
    ("labelled positives", lambda s, y: s == 1, "#1b7837"),
    ("unlabelled, truly positive", lambda s, y: (s == 0) & (y == 1), "#5aae61"),
    ("unlabelled, truly negative", lambda s, y: (s == 0) & (y == 0), "#9970ab"),
)
COLOURS = {"dist-pu": "#b2182b", "nnpu": "#2166ac", "upu": "#92c5de", "naive": "#878787"}


def demo(runs: list[Path], path: Path) -> Path:
    """Draw score histograms of each run, and the share predicted positive over the epochs beside the true prior."""
    need("matplotlib", "plots", "drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2).flatten()
    for axis, run in zip(axes, runs, strict=False):
        _histogram(axis, run)
    axes[0].legend(loc="upper center", fontsize=8, frameon=False)
    _priors(axes[-1], runs)
    content = io.BytesIO()
    figure.savefig(content, dpi=130, format="png")
    atomic.write(path, content.getvalue())  # a link of that name is not followed
    return path


def _histogram(axis, run: Path) -> None:
    result, scores = _result(run), RunFolder(run).scores()
    score, s, y = scores["score"], scores["s"], scores["y"]
    bins = np.linspace(0, 1, 21)
    for label, rows, colour in KINDS:
        chosen = score[rows(s, y)]
        weights = np.full(len(chosen), 1 / max(1, len(chosen)))
        axis.hist(chosen, bins, weights=weights, alpha=0.55, color=colour, label=f"{label} ({len(chosen)})")
    axis.axvline(0.5, color="black", linewidth=0.8, linestyle=":")
    axis.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="predicted probability, training rows", ylabel="share of rows of that kind"
    )
    axis.set_title(f"{_name(result['method'])}: test accuracy {result['accuracy']:.1%}", fontsize=11)


def _priors(axis, runs: list[Path]) -> None:
    for run in runs:
        result, log = _result(run), RunFolder(run).log()
        method = result["method"]
        shares = [row["predicted_prior"] for row in log]
        axis.plot(range(1, len(shares) + 1), shares, color=COLOURS.get(method), label=_name(method))
    axis.axhline(result["true_prior"], color="black", linestyle="--", label=f"true prior {result['true_prior']:.3f}")
    used = next((_result(run)["prior"] for run in runs), None)
    if used is not None and abs(used - result["true_prior"]) > 1e-6:
        axis.axhline(used, color="black", linewidth=0.8, linestyle=":", label=f"estimated prior {used:.3f}")
    axis.set(ylim=(0, 1), xlabel="epoch", ylabel="predicted class prior", title="Unlabelled rows predicted positive")
    axis.title.set_fontsize(11)
    axis.legend(fontsize=8, frameon=False)


def _result(run: Path) -> Json:
    result = RunFolder(run).result()
    if result is None:
        raise FileNotFoundError(f"{run} holds no result; make the run again")
    return result


def _name(method: str) -> str:
    return NAMES.get(method, method)
