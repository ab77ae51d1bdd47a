"""Means, marks and tables."""

import dataclasses

import pytest

from distpu.study import experiment as experiments
from distpu.study import reproduce, tables
from distpu.study.experiment import Cell
from distpu.study.tables import Figure
from study.tiny import known, line


def test_a_row_on_few_seeds_says_on_how_many(made):
    folder, _ = made
    experiment = experiments.read(str(folder / "tiny.toml"))
    lines = [line for line in known(experiment, folder / "results") if line.method == "naive" or line.seed == 0]
    page = reproduce.page(experiment, lines, [])
    assert "| naive |" in page
    assert "| nnPU (1) |" in page
    assert "(n): on n of 2 seeds so far." in page
    assert tables.beside_briefly(experiment, lines, "digits")[1][1][0] == "nnPU (1)"
    assert tables.few_seeds(experiment, known(experiment, folder / "results")) == ""


def test_a_mean_its_deviation_and_the_papers():
    ours = Figure({0: 90.0, 1: 92.0, 2: 91.0})
    assert str(ours) == "91.00 ± 1.00"
    difference, within = tables.versus(ours, [92.0, 0.5])  # error: sqrt(1/3 + 0.25/5) = 0.619
    assert difference == -1.0
    assert within
    assert tables.versus(ours, [92.3, 0.5])[1] is False
    assert tables.versus(Figure({0: 90.0}), [92.0, 0.5]) == (-2.0, None)


@pytest.mark.parametrize(
    "other, sign",
    [
        ({0: 80.0, 1: 81.1, 2: 82.0, 3: 83.2}, "✓"),
        ({0: 99.0, 1: 99.1, 2: 99.3, 3: 99.4}, "✗"),
        ({0: 91.0, 1: 89.0, 2: 92.5, 3: 91.0}, ""),
        ({0: 89.0, 1: 90.0, 2: 91.0, 3: 92.0}, "✓"),  # by exactly 1 each time
        ({0: 90.0, 1: 91.0, 2: 92.0, 3: 93.0}, ""),
        ({7: 10.0}, ""),  # no seed in common
    ],
)
def test_significance_is_paired_by_seed(other, sign):
    assert tables.mark(Figure({0: 90.0, 1: 91.0, 2: 92.0, 3: 93.0}), Figure(other)) == sign


def test_best_and_second_best_share_their_places():
    figures_ = [Figure({0: 1.0}), None, Figure({0: 3.0}), Figure({0: 3.0}), Figure({0: 2.0})]
    assert tables.best(figures_) == ({2, 3}, {4})
    assert tables.best([None, Figure({0: 3.0})]) == (set(), set())  # the only one is not the best


def test_names_are_written_as_latex_wants_them():
    cell = Cell("naive", "digits", {}, label="B & SVM_1 #2, 5 %")
    tiny = dataclasses.replace(experiments.read("table-2"), cells=[cell], options={})
    row = tables.table_latex(tiny, [line(cell)]).splitlines()[4]
    assert row.startswith(r"digits & B \& SVM\_1 \#2, 5 \% (1) & ")
    assert row.replace(r"\&", "").count("&") == 7
    odd = dataclasses.replace(cell, label=r"(TED)^n ~$x{1} a|b <\c")
    row = tables.table_latex(dataclasses.replace(tiny, cells=[odd]), [line(odd)]).splitlines()[4]
    assert row.startswith(
        r"digits & (TED)\textasciicircum{}n \textasciitilde{}\$x\{1\} a$|$b $<$\textbackslash{}c (1) & "
    )
    bars = tables.table_markdown(dataclasses.replace(tiny, cells=[odd]), [line(odd)]).splitlines()[4]
    assert bars.replace(r"\|", "").count("|") == 8
