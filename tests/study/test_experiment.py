"""TOML files into experiments; what is wrong with a file is said before any run."""

import re

import pytest

from distpu.metrics import METRICS
from distpu.study import experiment as experiments
from study.tiny import NAIVE, SEARCH, TINY


def test_a_part_can_be_asked_for(made):
    folder, _ = made
    whole = experiments.read(str(folder / "tiny.toml"))
    part = whole.chosen("nnpu:digits", 1)
    assert [cell.method for cell in part.cells] == ["nnpu"]
    assert part.seeds == [0]
    assert len(whole.chosen("digits", None).cells) == 2
    with pytest.raises(ValueError, match="--only 'nnpuu' names nothing in tiny; did you mean 'nnpu'"):
        whole.chosen("nnpuu", None)


@pytest.mark.parametrize("told", ['"halves"', "1", "2.0"])
def test_folds_that_cannot_be_are_refused(tmp_path, told):
    (tmp_path / "my.toml").write_text(f"folds = {told}\n" + SEARCH)
    with pytest.raises(ValueError, match="must be a number from 2 on, or 'apart'"):
        experiments.read(str(tmp_path / "my.toml"))


def test_folds_are_refused_outside_a_search(tmp_path):
    (tmp_path / "my.toml").write_text("folds = 3\n" + TINY)
    with pytest.raises(ValueError, match="belongs to show = 'search'"):
        experiments.read(str(tmp_path / "my.toml"))


def test_the_experiments_of_the_paper_are_whole():
    table = experiments.read("table-2")
    assert len(table.cells) == 33
    assert all(set(cell.published) == set(METRICS) for cell in table.cells)
    cell = next(cell for cell in table.cells if cell.names == ("alzheimer", "vpu", ""))
    assert cell.published["recall"] == [76.68, 3.60]
    assert cell.settings["batch_size"] == 128
    assert len(experiments.read("table-3").cells) == 8
    assert len(experiments.read("figure-6").cells) == 9


def test_a_grid_sets_what_it_names():
    cells = experiments.read("figure-4").cells
    assert [cell.variant for cell in cells][:3] == ["entropy=0", "entropy=0.004", "entropy=0.02"]
    assert cells[1].settings["warm_up_entropy"] == cells[1].settings["entropy"] == 0.004
    priors = experiments.read("prior-sensitivity").cells
    assert priors[0].prior == 0.2
    assert "prior" not in priors[0].settings


@pytest.mark.parametrize(
    "change, message",
    [
        (("title = ", "# title = "), "has no 'title' where one is needed"),
        (("epochs = 2", "epoch = 2"), "naive has no setting 'epoch'; did you mean 'epochs'?"),
        (('method = "naive"', 'method = "naiv"'), "method 'naiv' is not known; did you mean 'naive'?"),
        (("seeds = 2", "seeds = "), "is not valid TOML"),
        (('"comparison"', '"comparisons"'), "show = 'comparisons' is not known; did you mean 'comparison'?"),
        (('"oracle"', '"orakle"'), "keeps = 'orakle' is not known; did you mean 'oracle'?"),
        (("seeds = 2", "seeds = 0"), "seeds = 0 must be a number from 1 on"),
        (("seeds = 2", 'seeds = "2"'), "seeds = '2' must be a number from 1 on"),
        (("seeds = 2", "seed = 2"), "an experiment has no key 'seed'; did you mean 'seeds'?"),
        (("settings = { epochs = 2 }", "setting = { epochs = 2 }"), "no key 'setting'; did you mean 'settings'?"),
        (("[settings.digits]", "[settings.digit]"), "settings has no key 'digit'; did you mean 'digits'?"),
        (("settings = { epochs = 2 }", "digits.epochs = 2"), "cells.digits has no key 'epochs'"),
        (("seeds = 2", "vary = { epochs = 3 }"), "vary has epochs = 3; it must be a list"),
        (('["last", "oracle", "pu"]', '"last"'), "an experiment has keeps = 'last'; it must be a list"),
        (('dataset = "digits"', 'datasets = "digits"'), "a cell has datasets = 'digits'; it must be a list"),
        (("[[cells]]", "[[cell]]"), "an experiment has no key 'cell'; did you mean 'cells'?"),
        (("settings = { epochs = 2 }", "settings = 2"), "a cell has settings = 2; it must be a table"),
        (("seeds = 2", "every_epoch = true"), "every_epoch = True belongs to show = 'search', this is 'comparison'"),
    ],
)
def test_a_wrong_file_is_told_what_is_wrong(change, message, tmp_path):
    (tmp_path / "wrong.toml").write_text(TINY.replace(*change))
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        experiments.read(str(tmp_path / "wrong.toml"))


def test_a_figure_over_a_setting_has_one_data_set(tmp_path):
    text = 'title = "t"\nshow = "lines"\n[[cells]]\nmethod = "naive"\n{}\n[vary]\nepochs = [1, 2]\n'
    (tmp_path / "t.toml").write_text(text.format('datasets = ["digits", "breast-cancer"]'))
    with pytest.raises(ValueError, match="'lines' draws one data set, this has breast-cancer, digits"):
        experiments.read(str(tmp_path / "t.toml"))
    (tmp_path / "t.toml").write_text(text.format('dataset = ["digits"]'))
    with pytest.raises(ValueError, match=r"dataset = \['digits'\]; it must be a text"):
        experiments.read(str(tmp_path / "t.toml"))


def test_cells_are_a_list_and_there_are_some(tmp_path):
    """[cells] for [[cells]], and a file that ends before them: no table without a row."""
    head, cell = 'title = "t"\nshow = "comparison"\n', 'method = "naive"\ndataset = "digits"\n'
    for text, message in ((head + "[cells]\n" + cell, "it must be a list"), (head, "has no 'cells' where")):
        (tmp_path / "wrong.toml").write_text(text)
        with pytest.raises(ValueError, match=message):
            experiments.read(str(tmp_path / "wrong.toml"))


@pytest.mark.parametrize(
    ("show", "text", "message"),
    [
        ("comparison", NAIVE + NAIVE, "two cells are naive on digits and would share their lines; give each"),
        ("comparison", NAIVE + "settings = { prior = 0.2 }", "has prior among its settings; that is for prior = ..."),
        ("comparison", NAIVE + "settings = { random_state = 7 }", "has random_state among its settings; that is for"),
        (
            "comparison",
            NAIVE + 'prior = "half"',
            "prior='half' must be a number strictly between",
        ),
        ("comparison", NAIVE + "prior = 2", "prior=2 must lie"),
        ("comparison", NAIVE + "prior = [0.2]", "prior=[0.2] must be"),
        ("comparison", NAIVE + "published = { acc = [90.0, 1.0] }", "published 'acc'; did you mean 'auc'? (one of"),
        ("comparison", NAIVE + "published = { accuracy = 90 }", "accuracy = 90; it must be [mean, deviation]"),
        ("comparison", NAIVE + "published = { accuracy = [90] }", "accuracy = [90]; it must be [mean, deviation]"),
        ("comparison", NAIVE.replace("digits", "digit"), "data set 'digit' is not known; did you mean 'digits'?"),
        ("comparison", "cells = [1]", "cells has 1; it must hold tables, [[cells]]"),
        ("comparison", "cells = []", "there are no cells; name a method and a data set"),
        ("comparison", 'against = "nope"\n' + NAIVE, "against = 'nope' is not among the methods here"),
        ("comparison", "seeds = true\n" + NAIVE, "seeds = True must be a number"),
        ("comparison", "seeds = [0, 0]\n" + NAIVE, "seeds = [0, 0] names one twice"),
        ("comparison", "settings = { digits = 3 }\n" + NAIVE, "settings has digits = 3; it must be a table"),
        ("lines", NAIVE, "show = 'lines' needs one setting or more under [vary]"),
        ("lines", NAIVE + "[vary]\nlr = []", "there are no cells"),
        ("heatmap", NAIVE + "[vary]\nlr = [0.1]", "show = 'heatmap' needs two settings under [vary]"),
        ("heatmap", 'axes = ["a"]\n' + NAIVE + "[vary]\nlr = [0.1]\nepochs = [1]", "axes = ['a'] must hold two names"),
        ("wrong-scores", NAIVE, "show = 'wrong-scores' needs two cells"),
        ("prior-curves", "panels = [1, 2]\n" + NAIVE, "panels = [1, 2] must hold two lists of methods"),
        ("bound", "vc = 10", "show = 'bound' needs prior, vc, delta"),
        ("search", NAIVE.replace("naive", "bagging-pu"), "show = 'search' needs methods that train networks"),
    ],
)
def test_what_would_fail_after_the_runs_is_refused_before_them(show, text, message, tmp_path):
    (tmp_path / "wrong.toml").write_text(f'title = "t"\nshow = "{show}"\n{text}\n')
    with pytest.raises(ValueError, match=re.escape(message)):
        experiments.read(str(tmp_path / "wrong.toml"))


def test_values_that_differ_little_are_two_cells(tmp_path):
    text = f'title = "t"\nshow = "lines"\n{NAIVE}[vary]\nlr = [0.00012345678, 0.00012345679, 0.001]\n'
    (tmp_path / "near.toml").write_text(text)
    cells = experiments.read(str(tmp_path / "near.toml")).cells
    assert [cell.variant for cell in cells] == ["lr=0.00012345678", "lr=0.00012345679", "lr=0.001"]


def test_a_part_of_what_has_no_runs_is_refused():
    with pytest.raises(ValueError, match="names nothing in bound.*it has no runs; leave --only out"):
        experiments.read("bound").chosen("nnpu", None)


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ValueError, match="no experiment 'table2'; did you mean 'table-2'"):
        experiments.read("table2")
