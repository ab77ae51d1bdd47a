"""Figures of a fitted method for notebooks. Each function draws on matplotlib axes and returns them.

    from distpu import AutoPU, plots
    clf = AutoPU().fit(X, y)
    plots.score_histogram(clf)        labelled and unlabelled rows by held-out score
    plots.precision_recall(clf)       what one finds by looking at so many rows
    plots.prior_sensitivity(clf)      how many of today's calls are right if another prior is the truth

An Answer of fit_file may stand for the method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .answer import curves
from .params import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .threshold.fitted_cut import FittedCut

__all__ = ["precision_recall", "prior_sensitivity", "score_histogram"]

BLUE, ORANGE, GREY = "#1f5fbf", "#c2570c", "#5a6675"


def score_histogram(model: Any, ax: Axes | None = None) -> Axes:
    """Draw held-out scores of labelled and of unlabelled rows; rows right of the line are called positive."""
    model, cut, ax = _read(model, ax)
    found = curves.histogram(cut, np.empty(0), np.empty(0))
    edges = np.array(found["edges"])
    for name, colour in (("unlabelled", BLUE), ("labelled", ORANGE)):
        share = np.array(found[name]) / max(1, sum(found[name]))
        ax.stairs(share, edges, fill=True, color=colour, alpha=0.5, label=f"{name} rows")
    ax.axvline(0, color="black", linestyle="--", linewidth=1, label="cut")
    ax.set(xlabel="score", ylabel="share of the rows", title="Held-out scores")
    ax.legend(frameon=False)
    return ax


def precision_recall(model: Any, ax: Axes | None = None) -> Axes:
    """Draw precision and recall against the number of rows looked at, each with a band of one standard error."""
    model, cut, ax = _read(model, ax)
    now = float(model.expected_.rows)
    points = curves.cuts_of(cut, model.prior_interval_, round(now))
    rows = np.array([point["rows"] for point in points])
    for name, colour in (("precision", BLUE), ("recall", ORANGE)):
        value, error = (np.array([point[key] for point in points]) for key in (name, f"{name}_error"))
        ax.fill_between(rows, np.clip(value - error, 0, 1), np.clip(value + error, 0, 1), color=colour, alpha=0.15)
        ax.plot(rows, value, color=colour, label=name)
    ax.axvline(now, color="black", linestyle="--", linewidth=1, label="cut")
    ax.set(xlabel="rows looked at, likeliest first", ylim=(0, 1), title="What the rows on top should give")
    ax.legend(frameon=False)
    return ax


def prior_sensitivity(model: Any, ax: Axes | None = None) -> Axes:
    """Draw which share of the rows called now is right, against the share of positives that is the truth."""
    model, cut, ax = _read(model, ax)
    lines = curves.other_priors(cut, model.prior_interval_)
    priors, right = ([one[name] for one in lines] for name in ("prior", "right"))
    ax.plot(priors, right, color=BLUE, label="of today's calls right")
    if model.prior_interval_ is not None:
        ax.axvspan(*model.prior_interval_, color=BLUE, alpha=0.12, linewidth=0, label="interval of the prior")
    ax.axvline(cut.prior, color="black", linestyle="--", linewidth=1, label="prior in use")
    ax.set(xlabel="true share of positives among the unlabelled rows", ylim=(0, 1), title="If the prior is wrong")
    ax.legend(frameon=False, loc="lower right")
    return ax


def _read(model: Any, ax: Axes | None) -> tuple[Any, FittedCut, Axes]:
    """Return the fitted method, what it knows from held-out rows, and axes to draw on."""
    need("matplotlib", "plots", "drawing")
    from sklearn.utils.validation import check_is_fitted

    model = getattr(model, "model", model)  # an Answer
    check_is_fitted(model)
    cut = model.cut_
    if cut is None:
        raise ValueError(
            f"{type(model).__name__} was fitted without held-out rows, which this figure needs; "
            "fit again with calibrate=True"
        )
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
    return model, cut, ax
