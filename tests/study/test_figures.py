"""Figures from lines."""

import math

import numpy as np
import pytest

from distpu.study import experiment as experiments
from distpu.study import figures, reproduce
from distpu.study.ledger import Ledger
from distpu.study.places import Results
from study.tiny import TINY, line


@pytest.mark.parametrize(
    "name",
    ["figure-1", "figure-3", "figure-4", "figure-5", "figure-6", "prior-sensitivity", "prior-fashion-mnist", "bound"],
)
def test_every_figure_can_be_drawn(name, tmp_path):
    experiment = experiments.read(name)
    extra = {
        "prior-curves": {"predicted_prior": [0.5, 0.4, 0.3]},
        "wrong-scores": {"wrong": [3] * 20, "training_rows": 90},
    }
    lines = [line(cell, seed, **extra.get(experiment.show, {})) for cell in experiment.cells for seed in (0, 1)]
    Ledger(tmp_path, experiment.place).keep(lines)
    reproduce.write(experiment, Results(tmp_path))
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert (tmp_path / experiment.place / f"figure.{kind}").read_bytes().startswith(start)
    assert "![figure.png](figure.png)" in (tmp_path / experiment.place / "README.md").read_text()


def test_a_panel_can_name_a_variant():
    from matplotlib.figure import Figure

    experiment = experiments.read("plus-curves")
    lines = [line(cell, 5, predicted_prior=[0.5, 0.4]) for cell in experiment.cells]
    axes = Figure().subplots(1, 2)
    figures._prior_curves(axes, experiment, lines)
    for axis, cell in zip(axes, experiment.cells, strict=True):
        said = [text.get_text() for text in axis.get_legend().get_texts()]
        assert said[:-1] == [f"Dist-PU+ {cell.variant} (1 seeds)"]


def test_a_setting_that_is_a_word_can_vary(tmp_path):
    text = TINY.replace("comparison", "lines") + '\n[vary]\nsampling = ["mixed", "stratified"]\n'
    (tmp_path / "words.toml").write_text(text)
    experiment = experiments.read(str(tmp_path / "words.toml"))
    assert [cell.variant for cell in experiment.cells][:2] == ["sampling=mixed", "sampling=stratified"]
    lines = [line(cell, seed) for cell in experiment.cells for seed in (0, 1)]
    assert figures.draw(experiment, lines, tmp_path) == ["figure.png"]
    assert set(figures.FIGURES) < set(experiments.SHOWS)


def test_figures_without_lines_are_not_drawn(tmp_path):
    assert figures.draw(experiments.read("figure-1"), [], tmp_path) == []


def test_the_bound_of_the_proposition():
    e = math.sqrt(math.log(4 / 0.05) / (2 * 100))
    by_hand = 2 * 0.1 + 8 * 0.4 * math.sqrt(5 / 100) + 12 * 0.4 * e + 4 * math.sqrt(5 / 400) + 6 * e / 2
    assert figures.bound(0.1, 0.4, 100, 400, vc=5, delta=0.05) == pytest.approx(by_hand)
    gaps = figures.bound(0.0, 0.4, np.array([100, 10_000]), 400, vc=5, delta=0.05)
    assert gaps[1] < gaps[0]
