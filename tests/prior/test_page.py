"""docs/prior.md: its code runs, and its tables are those of tools/prior.py."""

import runpy

import numpy as np
import pytest

from distpu.prior import ON_SCORES, PRIORS, estimator, scores
from pages import ROOT, blocks, table, text_of

PAGE = "docs/prior.md"
tool = runpy.run_path(str(ROOT / "tools/prior.py"))


def test_the_pages_code_runs(toy, monkeypatch, capsys):
    monkeypatch.setattr(scores, "TREES", 20)
    monkeypatch.setattr(estimator, "_recent", estimator.OrderedDict())
    X, s, _ = toy
    random = np.random.default_rng(0)
    scope = {"X": X, "s": s, "z_labelled": random.normal(2, 1, 60), "z_unlabelled": random.normal(0, 1, 200)}
    for block in blocks(PAGE):
        exec(block, scope)
    assert scope["clf"].prior_interval_[0] <= scope["clf"].prior_ <= scope["clf"].prior_interval_[1]
    assert "0.9 is needed" in capsys.readouterr().out


def test_the_table_of_estimators_is_complete():
    rows = table(PAGE, "estimator", "looks at")
    named = [name.strip("` ") for cell in rows for name in cell.split(",")]
    assert sorted(named) == sorted(PRIORS)
    for cell, (looks_at, _) in rows.items():
        assert looks_at == ("scores" if cell.strip("`") in ON_SCORES else "rows")


def test_the_errors_are_those_of_the_benchmarks():
    shown = table(PAGE, "estimator", "error, simulated")
    assert sorted(shown) == sorted(PRIORS)
    for what, first in (("simulated", 0), ("tables", 3)):
        text = (ROOT / f"results/prior/{what}.md").read_text()
        for name, cells in shown.items():
            assert f"| {name} | {' | '.join(cells[first : first + 3])} |" in text, (what, name)


def test_the_coverage_is_that_of_the_benchmark():
    rows = table("results/prior/simulated.md", "estimator", "mean absolute error", under="## All")
    told = " ".join(text_of(PAGE).split())
    (bbe, bbe_upper), (dedpul, dedpul_upper), (shaped, both) = (rows[n][3:5] for n in ("bbe", "dedpul", "binormal"))
    assert f"held the truth in {bbe} (`bbe`), {dedpul} (`dedpul`) and {shaped} (`binormal`)" in told
    assert f"in {bbe_upper} (`bbe`) and {dedpul_upper} (`dedpul`)" in told
    assert f"inside `binormal`'s interval in {both.split(',')[0]}" in told
    head = text_of("results/prior/simulated.md")
    assert "two sides (20) | upper end holds (34)" in head and "On the 20 simulated" in told and "the 34 others" in told


def test_the_tool_writes_the_page_as_it_is(tmp_path, monkeypatch, capsys):
    """Run as a command with --write, on a copy of the page whose tables are damaged."""
    page = tmp_path / "prior.md"
    page.write_text(text_of(PAGE).replace("| 0.", "| 7."))
    main = tool["main"]
    monkeypatch.setitem(main.__globals__, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["prior.py", "--write"])
    main()
    assert page.read_text() == text_of(PAGE)
    assert (tmp_path / "prior.png").stat().st_size > 10_000


@pytest.mark.parametrize("title", tool["DISTANCES"])
def test_the_page_says_what_happens(title):
    """Where classes are apart, bbe finds the truth. Where they overlap, it finds more, and says so."""
    found = {one.name: one for one in tool["estimates"](*tool["draw"](tool["DISTANCES"][title]))}
    apart = title == "classes apart"
    assert found["bbe"].two_sided == apart and found["binormal"].two_sided
    assert (abs(found["bbe"].prior - tool["SHARE"]) < 0.02) == apart
