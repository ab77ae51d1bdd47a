"""The pages: their code runs and their links lead somewhere. test_numbers.py has their numbers."""

import ast
import csv
import importlib
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import distpu as package
from distpu import METHODS
from distpu.params import paper_value
from distpu.study import experiment as experiments
from pages import DOCS, PAGES, ROOT, blocks, table, text_of
from terminal import distpu, done
from test_layers import LAYERS

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


# ------------------------------------------------------------------------ code


@every_page
def test_python_on_a_page_compiles(page):
    for block in blocks(page):
        ast.parse(block)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_first_python_that_a_stranger_sees_runs(page, toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, s, y = toy
    (block,) = blocks(page)
    assert len(block.splitlines()) <= 6
    scope = {"X": X, "y": s}
    exec(block, scope)
    clf = scope["clf"]
    assert 0.2 < clf.prior_ < 0.6  # 0.4 is true
    assert (clf.predict(X) == y).mean() > 0.8
    if "clf.save" in block:
        np.testing.assert_array_equal(package.load("model").predict_proba(X), clf.predict_proba(X))


def test_the_readmes_commands_for_a_table_run(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, s, y = toy
    table = pd.DataFrame(X, columns=list("abcdef"))
    table.to_csv("new.csv", index=False)
    table.assign(fraud=np.where(s == 1, 1, np.nan)).to_csv("transactions.csv", index=False)
    (block,) = (block for block in blocks("README.md", "") if "transactions" in block)
    diagnose, fit, predict = (line.split(" # ")[0].split() for line in block.splitlines())
    assert "labelled" in done(*diagnose[1:])
    for command, *words in (fit, predict):
        assert command == "distpu" and distpu(*words).code == 0
    ranked = list(csv.DictReader(Path(predict[2], "scores.csv").read_text().splitlines()))
    assert len(ranked) == (s == 0).sum()
    top = [row["id"] for row in ranked[:20]]  # id 0 is the first row of data
    assert np.mean([y[int(row)] for row in top]) > 0.9
    assert len(pd.read_csv("scores.csv")) == len(X)


def test_the_guide_to_a_new_method_to_the_letter(toy, tmp_path, monkeypatch):
    X, s, y = toy
    file, line, test, use = blocks("docs/new-method.md")
    (tmp_path / "biased_ce.py").write_text(file)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("distpu.methods.METHODS", dict(METHODS))
    from biased_ce import BiasedCE, biased_ce_risk

    import distpu.methods

    scope = {"METHODS": distpu.methods.METHODS, "BiasedCE": BiasedCE, "biased_ce_risk": biased_ce_risk, "X": X, "s": s}
    for block in (line, test, use):
        exec(block, scope)
    scope["test_biased_ce_risk"]()
    assert distpu.methods.METHODS["biased-ce"] is BiasedCE
    assert distpu.BiasedCE is BiasedCE  # as `distpu methods biased-ce` tells a reader to import it
    classifier = scope["classifier"]
    assert (classifier.predict(X) == y)[s == 0].mean() > 0.6
    assert classifier.get_params()["power"] == 1.0
    np.testing.assert_array_equal(BiasedCE(**classifier.get_params()).fit(X, s).predict(X), classifier.predict(X))


def test_the_guides_own_experiment_can_be_read(tmp_path):
    (block,) = blocks("docs/reproduce.md", "toml")
    (tmp_path / "my.toml").write_text(block)
    experiment = experiments.read(str(tmp_path / "my.toml"))
    assert [cell.settings for cell in experiment.cells] == [{"epochs": n} for n in (5, 10, 20, 40)]


def test_the_guide_names_every_experiment_and_no_other():
    told = {name for cell in table("docs/reproduce.md", "name", "what it is") for name in re.findall("`(.*?)`", cell)}
    files = {path.stem for path in ROOT.glob("experiments/**/*.toml")}
    assert told == {"search-*" if name.startswith("search-") else name for name in files}


# --------------------------------------------------------------------- methods

PAGES_OF_METHODS = [page for page in sorted((DOCS / "methods").glob("*.md")) if page.stem != "index"]
every_method_page = pytest.mark.parametrize("page", PAGES_OF_METHODS, ids=lambda page: page.stem)


def test_the_list_of_methods_is_complete():
    rows = table("docs/methods/index.md", "name", "in Python")
    listed = {re.sub(r"\[(.*?)\]\(.*?\)", r"\1", name): cells for name, cells in rows.items()}
    assert list(listed) == list(METHODS)
    for name, (cls, _, needs_prior, paper) in listed.items():
        assert cls == f"`{METHODS[name].__name__}`"
        assert needs_prior == ("yes" if METHODS[name].needs_prior else "no"), name
        year = re.search(r"\d{4}", paper)
        assert year is None or year[0] in METHODS[name].paper, name
        assert (DOCS / f"methods/{name}.md").exists() == (f"[{name}]({name}.md)" in rows), name


@every_method_page
def test_a_methods_page_has_the_equations_of_its_header(page):
    cls = METHODS[page.stem]
    header = sys.modules[cls.__module__].__doc__
    equations = [line for line in header.splitlines() if line.startswith("    ")]
    if page.stem == "dist-pu":  # its page has more words for the rest
        equations = [line for line in equations if re.match("    (R_lab =|warm-up:|mixup:)", line)]
    assert len(equations) > 2
    for line in equations:
        assert line in page.read_text().splitlines(), line


def test_dist_pus_presets_are_those_of_the_class():
    rows = table("docs/methods/dist-pu.md", "setting", "symbol", "`paper`", "`small`", "`fashion-mnist`", "`cpu`")
    papers = {field.name: paper_value(field) for field in fields(package.DistPU)}
    presets = package.DistPU.presets
    assert {name.strip("`") for name in rows} == {setting for preset in presets.values() for setting in preset}
    for name, (_, paper, *others) in rows.items():
        setting = name.strip("`")
        assert paper == str(papers[setting]), name
        assert others == [str(presets[p].get(setting, "")) for p in ("small", "fashion-mnist", "cpu")], name


# ----------------------------------------------------------------------- links


def links(page):
    """Targets of the links and pictures of a page, without those in code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", prose)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        yield re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")


@every_page
def test_a_pages_links_lead_somewhere(page):
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT.resolve()) and target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_the_code_cites_entries_of_the_log_that_exist():
    cited = [
        (source.name, page, anchor)
        for source in sorted((ROOT / "src").rglob("*.py"))
        for page, anchor in re.findall(r"(docs/log/[\w-]+\.md)#([\w-]+)", source.read_text())
    ]
    assert len(cited) > 10
    for source, page, anchor in cited:
        assert anchor in anchors(ROOT / page), (source, anchor)


def test_the_changelog_and_the_citation_name_the_version():
    assert re.findall(r"^## \[(\d.*?)\]", text_of("CHANGELOG.md"), re.MULTILINE)[0] == package.__version__
    assert f"\nversion: {package.__version__}\n" in text_of("CITATION.cff")


def test_the_places_that_contributing_names_are_there():
    places = re.findall(r"`((?:src|tests|docs|examples)/[\w./-]+)`", text_of("CONTRIBUTING.md"))
    assert len(places) > 10
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_contributing_has_the_layers():
    (block,) = (block for block in blocks("CONTRIBUTING.md", "") if block.startswith("cli\n"))
    assert [set(line.split(", ")) for line in block.splitlines()] == LAYERS


def test_every_methods_paper_can_be_cited():
    cited = " ".join(re.findall(r"notes: \"(.*)\"", text_of("CITATION.cff"))).replace(",", "").split()
    without_a_paper = {"naive", "pn", "blend-pu"}
    assert set(METHODS) - set(cited) == without_a_paper


def test_every_entry_of_the_log_has_a_verdict():
    table, *_ = re.findall(r"\|---\|---\|\n((?:\|.*\n)+)", text_of("docs/log/2026-11.md"))
    verdicts = re.findall(r"^\| (\w+) ", table, re.MULTILINE)
    for log in (DOCS / "log").glob("*.md"):
        for heading in re.findall(r"^## (.*)$", log.read_text(), re.MULTILINE):
            assert heading.endswith(tuple(f"({verdict})" for verdict in verdicts)), heading


# -------------------------------------------------------------------- the site


def test_the_api_reference_has_every_public_name():
    page = text_of("docs/api.md")
    directives = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    named = {directive.split(".")[-1] for directive in directives} | set(re.findall(r"`(\w+)`", page))
    assert set(package.__all__) <= named
    for directive in directives:
        module, _, name = directive.rpartition(".")
        if name[0].isupper() or name in package.__all__:
            assert hasattr(importlib.import_module(module), name), directive
        else:
            importlib.import_module(directive)


def test_the_site_can_be_built(tmp_path):
    """A link that leads nowhere or a docstring that cannot be read ends the build."""
    pytest.importorskip("mkdocs", reason="pip install 'distpu[docs]' brings it, as make test does")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    api = (tmp_path / "api.html").read_text()
    assert "passes over the rows (≥ 1)" in api  # the help and the range of a parameter
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe|link)[^>]*(?:src|href)=\"?(https?:[^\"\s>]*)", page.read_text())
        assert not loaded, (page, loaded)  # nothing comes from another host
