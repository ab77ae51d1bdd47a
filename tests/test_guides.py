"""Guides that a user follows to the letter: their code runs, and what it prints is plausible."""

import re

import pytest

import distpu
from distpu import metrics
from pages import blocks, text_of


def test_from_pulearn(toy, capsys):
    X, s, _ = toy
    scope = {"X": X, "s": s}
    for block in blocks("docs/from-pulearn.md"):
        exec(block, scope)
    assert scope["clf"].predict_proba(X).max() <= 1
    assert 0.2 < scope["found"].prior_ < 0.6  # 0.4 is true
    assert capsys.readouterr().out.splitlines()[2].startswith("0.444")


def test_from_pulearn_names_what_is_there():
    ours = re.findall(r"^\|[^|]*\|([^|]*)\|", text_of("docs/from-pulearn.md"), re.MULTILINE)
    names = {name for cell in ours for name in re.findall(r"`(?:metrics\.)?([A-Za-z]\w+)", cell)}
    missing = {name for name in names if not hasattr(distpu, name) and not hasattr(metrics, name)}
    assert len(names) > 15
    assert missing == {"next", "pos_label"}  # Python's own, and a parameter


def test_a_table_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in blocks("docs/table.md"):
        exec(block, scope)
    kinds = {column.name: column.kind for column in scope["answer"].model.encoder_.columns_}
    assert kinds == {
        "order_id": "id",
        "amount": "number",
        "country": "category",
        "employees": "number",
        "ordered": "date",
        "newsletter": "boolean",
        "message": "text",
        "called_back": "leak",
        "version": "constant",
    }
    case = scope["case"][scope["answer"].ranked.index]
    assert case[:100].mean() > 0.6 > 2 * case.mean() > 0.3
    assert "called_back: leak, left out: it alone tells" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:cells that are not as in training")  # a fold lacks some comments
def test_python(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in blocks("docs/python.md"):
        exec(block, scope)
    out = capsys.readouterr().out
    assert "Stage | constant" in out and "Individual ID | id" in out
    assert "0.37\n" in out and "True\n" in out
    assert 0.2 < scope["clf"].prior_ < 0.5  # 0.37 is true
    assert scope["truth"][scope["ranked"].index[:20]].mean() > 0.8
    assert (tmp_path / "penguins-run/report.html").exists() and scope["axis"].has_data()
