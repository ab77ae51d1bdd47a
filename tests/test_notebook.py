"""What a notebook shows: of a method, of an answer, of progress."""

import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from distpu import ElkanNoto, fit_file, notebook, progress
from distpu.progress import Bar, busy, watched


def test_a_fitted_method_says_what_it_found(toy):
    X, s, _ = toy
    model = ElkanNoto(folds=3, random_state=0)
    before = model._repr_html_()
    assert "hidden positives" not in before and "ElkanNoto" in before
    model.fit(X, s)
    html = model._repr_html_()
    assert f"{model.expected_.hidden:,.0f}</div><div>hidden positives expected" in html and "sk-" in html
    assert notebook.percent(model.prior_) in html and "(precision)" in html
    assert model._repr_mimebundle_()["text/html"].startswith(html[:200])
    assert "ElkanNoto" in make_pipeline(StandardScaler(), model)._repr_html_()


def test_an_answer_shows_the_first_rows(toy, tmp_path):
    X, s, _ = toy
    frame = pd.DataFrame(X, columns=["<b>a</b>", *"bcdef"]).assign(fraud=s)
    frame.to_csv(tmp_path / "t.csv", index=False)
    answer = fit_file(tmp_path / "t.csv", "fraud", method="elkan-noto", folds=3)
    html = answer._repr_html_()
    assert "&lt;b&gt;a&lt;/b&gt;" in html and "<b>a" not in html and html.count("<tr>") == 11
    assert f"<bdi>{answer.ranked['id'].iloc[0]}</bdi>" in html and "hidden positives expected" in html


@pytest.fixture
def kernel(monkeypatch):
    """A kernel as Jupyter's: what is shown, in turn."""
    shown = []

    class Place:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        shown.append(html)
        return Place()

    package, inner = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    inner.HTML, inner.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    return shown


def test_a_bar_in_a_kernel(kernel, capsys):
    assert list(watched(range(3), "<rows>", 3)) == [0, 1, 2]
    assert kernel[0] == kernel[-1] == ""
    assert 'value="2" max="3"' in kernel[2] and "&lt;rows&gt;" in kernel[2] and "2 of 3" in kernel[2]
    with Bar(after=0) as bar:
        bar.update("a", 1, None)
        bar.update("b", 2, 5, "note")
    assert kernel[-2].count("<progress") == 2 and "note" in kernel[-2] and kernel[-1] == ""
    with pytest.raises(KeyError), busy("estimating"):
        raise KeyError
    assert kernel[-1] == "" and "estimating <progress >" in kernel[-2]
    assert capsys.readouterr() == ("", "")


def test_a_bar_is_drawn_a_few_times_a_second(kernel, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 60.0)
    list(watched(range(100), "rows", 100))
    assert len(kernel) == 3  # a place, the first line, and the end


def test_nothing_is_printed_where_nobody_looks(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with Bar(after=0) as bar, busy("estimating"):
        bar.update("rows", 1, 2)
    assert list(watched([1, 2], "rows", 2)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_ipython_on_a_terminal_is_no_kernel(monkeypatch):
    package = types.ModuleType("IPython")
    package.get_ipython = lambda: types.SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", package)
    assert not notebook.in_kernel()
    package.get_ipython = lambda: None
    assert not notebook.in_kernel()
    assert notebook.percent(np.float64(0.5)) == "50 %"
