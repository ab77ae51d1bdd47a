"""docs/report.md to the letter."""

import re

import matplotlib

from distpu.report.sections import SECTIONS
from pages import blocks, table, text_of
from terminal import done


def test_the_guide_to_the_letter(answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    (tmp_path / "patients.csv").write_text(answer.source.read_text().replace("fraud", "malignant"))
    fit, report = (line.split() for line in blocks("docs/report.md", "")[0].splitlines())
    seen = []
    monkeypatch.setattr("webbrowser.open", lambda address: seen.append(address) or True)
    assert "report.html" in done(*fit[1:], "--method", "elkan-noto") and "page: " in done(*report[1:])
    assert seen == [(tmp_path / "run/report.html").as_uri()]
    (python,) = blocks("docs/report.md")
    scope = {}
    exec(python.replace('"malignant")', '"malignant", method="elkan-noto", folds=3)'), scope)
    assert "hidden positives expected" in scope["answer"]._repr_html_()
    matplotlib.pyplot.close("all")


def test_the_guide_names_every_section_in_order(answer):
    html = "".join(section(answer.facts) for section in SECTIONS)
    titles = re.findall("<h2>(.*?)</h2>", html)
    told = list(table("docs/report.md", "section"))
    assert told == ["the headline", *titles[:-1]]  # the last one explains words
    columns = list(table("docs/report.md", "column"))
    assert columns == ["id", "score", "probability", "rank", "decision"] and "report.json" in text_of("docs/report.md")
