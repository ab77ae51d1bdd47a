"""Figures for notebooks: each returns its axes, and what is drawn are the numbers of the method."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import NotFittedError

from distpu import NNPU, ElkanNoto, plots


@pytest.fixture(scope="module")
def fitted():
    import numpy as np

    random = np.random.default_rng(0)
    y = np.arange(300) < 138
    return ElkanNoto(folds=3, random_state=0).fit(random.normal(size=(300, 6)) + 2.0 * y[:, None], np.arange(300) < 30)


@pytest.mark.parametrize("draw", [plots.score_histogram, plots.precision_recall, plots.prior_sensitivity])
def test_axes_in_axes_out(fitted, draw):
    figure, ax = plt.subplots()
    assert draw(fitted, ax) is ax and ax.get_title() and ax.get_xlabel() and ax.get_legend()
    other = draw(fitted)
    assert other is not ax and other.figure is not figure
    plt.close("all")


def test_the_curves_are_the_methods_numbers(fitted):
    ax = plots.precision_recall(fitted)
    rows = ax.lines[-1].get_xdata()[0]
    assert rows == pytest.approx(float(fitted.expected_.rows))
    precision = ax.lines[0]
    place = abs(precision.get_xdata() - rows).argmin()
    assert precision.get_ydata()[place] == pytest.approx(float(fitted.expected_.precision), abs=0.02)
    used = plots.prior_sensitivity(fitted).lines[-1].get_xdata()[0]
    assert used == pytest.approx(fitted.cut_.prior)
    plt.close("all")


def test_what_cannot_be_drawn_is_said(toy):
    X, s, _ = toy
    with pytest.raises(NotFittedError):
        plots.score_histogram(ElkanNoto())
    network = NNPU(prior=0.4, epochs=1, random_state=0).fit(X, s)
    with pytest.raises(ValueError, match="NNPU was fitted without held-out rows, .* fit again with calibrate=True"):
        plots.score_histogram(network)
