"""Draws a diagnosis: the scores, the curve against the prior, and what single columns tell."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..params import need
from . import Diagnosis

LABELLED, UNLABELLED, MARK = "#1b7837", "#9970ab", "#b2182b"
TOP = 1.5  # of the axis of shares: the legend stands above 1
COLOURS = {"ok": "#878787", "look": "#e08214", "warning": "#b2182b"}


def draw(diagnosis: Diagnosis) -> bytes:
    """Return a PNG with four panels."""
    need("matplotlib", "plots", "drawing")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    _scores(axes[0, 0], diagnosis)
    _curve(axes[0, 1], diagnosis)
    _columns(axes[1, 0], diagnosis)
    _contrasts(axes[1, 1], diagnosis)
    content = io.BytesIO()
    figure.savefig(content, dpi=120, format="png", metadata={"Software": None})
    return content.getvalue()


def _scores(axis: Any, diagnosis: Diagnosis) -> None:
    both = np.concatenate([diagnosis.scores_labelled, diagnosis.scores_unlabelled])
    bins = np.linspace(both.min(), both.max() + 1e-9, 41).tolist()
    for name, scores, colour in (
        ("unlabelled", diagnosis.scores_unlabelled, UNLABELLED),
        ("labelled", diagnosis.scores_labelled, LABELLED),
    ):
        weights = np.full(len(scores), 1 / len(scores))
        axis.hist(scores, bins, weights=weights, alpha=0.55, color=colour, label=f"{name} ({len(scores):,})")
    axis.set(title="Separability", xlabel="score of a model that did not see the row", ylabel="share of rows")
    axis.legend(frameon=False, fontsize=8)


def _curve(axis: Any, diagnosis: Diagnosis) -> None:
    from matplotlib.ticker import LogLocator

    prior = np.array([one.prior for one in diagnosis.curve])
    value, error, kept = np.array([(p.precision, p.precision_error, p.kept_precision) for p in diagnosis.curve]).T
    axis.plot(prior, value, color="#2166ac", label="precision and recall if this prior sets the cut")
    axis.fill_between(prior, np.clip(value - error, 0, 1), np.clip(value + error, 0, 1), color="#2166ac", alpha=0.2)
    used = "given" if diagnosis.given is not None else "estimated"
    axis.plot(prior, kept, color=LABELLED, linestyle="--", label=f"precision if the {used} prior sets it")
    called = np.array([one.called for one in diagnosis.curve]) / diagnosis.unlabelled
    axis.plot(prior, called, color="black", linestyle=":", label="share of rows called if this prior sets the cut")
    low, high = diagnosis.interval
    axis.axvspan(low, high, ymax=1 / TOP, color=MARK, alpha=0.12, linewidth=0)
    told = f"estimated prior {diagnosis.prior:.2g}, 90 % interval"
    axis.axvline(diagnosis.prior, ymax=1 / TOP, color=MARK, label=told)
    if diagnosis.given is not None:
        told = f"given prior {diagnosis.given:.2g}"
        axis.axvline(diagnosis.given, ymax=1 / TOP, color="black", linestyle="--", label=told)
    axis.set(
        title="The result against the prior that is the truth",
        xscale="log",
        ylim=(0, TOP),
        yticks=np.linspace(0, 1, 6),
        xlabel="share of positives among the unlabelled rows",
    )
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("")
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _columns(axis: Any, diagnosis: Diagnosis) -> None:
    shown = diagnosis.columns[:10][::-1]
    places = np.arange(len(shown))
    axis.barh(places, [one.auc for one in shown], color=[COLOURS[one.level] for one in shown])
    axis.set_yticks(places, [_short(one.name) for one in shown])
    axis.set(title="Give-away columns", xlim=(0.5, 1), xlabel="AUC of one column alone, labelled against unlabelled")


def _contrasts(axis: Any, diagnosis: Diagnosis) -> None:
    axis.set(
        title="Selective labelling", xlim=(-0.03, 1.03), xlabel="share of pairs in which the labelled row is larger"
    )
    shown = [one for one in diagnosis.contrasts if one.tested][::-1]
    if not shown:
        axis.text(0.5, 0.5, "could not be tested", ha="center", va="center", transform=axis.transAxes)
        axis.set_yticks([])
        return
    axis.axvline(0.5, color="black", linewidth=0.8)
    for place, one in enumerate(shown):
        axis.barh(place, 2 * one.allowed, left=0.5 - one.allowed, color="0.9", height=0.7)
        colour = COLOURS["warning" if one.differs else "ok"]
        axis.errorbar(one.larger, place, xerr=2 * one.error, fmt="o", color=colour, capsize=3)
    axis.set_yticks(range(len(shown)), [_short(one.column) for one in shown])
    axis.text(0.01, 0.02, "grey: explained by negatives", fontsize=8, transform=axis.transAxes)


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"
