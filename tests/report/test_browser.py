"""The page in a real browser. Where no Chromium is found, or playwright is not installed, these tests are skipped."""

import shutil

import numpy as np
import pandas as pd
import pytest

from distpu import fit_file
from distpu.report.html import give
from distpu.report.page import page
from hostile import ALL, FORMULA, IMAGE, QUOTES, SCRIPT, TURNED, hostile

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed; apt-get install chromium")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def shown(browser, tmp_path):
    """Show HTML at a width; whatever the console says or the page asks for is kept."""

    def show(html, width=1280, **options):
        path = tmp_path / "report.html"
        path.write_text(html, encoding="utf-8")
        tab = browser.new_page(viewport={"width": width, "height": 844}, **options)
        tab.said, tab.asked = [], []
        tab.on("console", lambda message: tab.said.append(message.text))
        tab.on("pageerror", lambda error: tab.said.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        tab.goto(path.as_uri())
        assert [asked for asked in tab.asked if not asked.startswith("data:")] == [path.as_uri()]
        return tab

    return show


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_is_quiet_and_as_wide_as_the_screen(answer, shown, width, scheme):
    tab = shown(page(answer.facts), width, color_scheme=scheme)
    assert tab.said == [] and tab.evaluate("document.documentElement.scrollWidth") <= width
    assert f"About {answer.hidden:,.0f} of the" in tab.inner_text("h1")
    sizes = tab.evaluate("[...document.querySelectorAll('svg.chart')].map(e => e.getBoundingClientRect().width)")
    assert len(sizes) >= 4 and min(sizes) > 250
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")


OVER_THE_EDGE = """[...document.querySelectorAll('svg.chart text')].filter(e => {
  const box = e.getBBox(), room = e.ownerSVGElement.viewBox.baseVal;
  return box.x < 0 || box.x + box.width > room.width;
}).map(e => e.textContent)"""


def test_no_text_of_a_chart_is_cut_off(answer, shown):
    names = ["Rotten Tomatoes Rating", "CUSTOMER_ACCOUNT_BALANCE", "客户年龄" * 6, "a" * 60]
    columns = [{**answer.facts["drivers"]["columns"][0], "column": name} for name in names]
    point = answer.facts["curve"]["points"][-1]
    ends_on_a_tick = [*answer.facts["curve"]["points"], {**point, "rows": 3000}]
    facts = {**answer.facts, "drivers": {**answer.facts["drivers"], "columns": columns}}
    tab = shown(page(facts | {"curve": {**facts["curve"], "points": ends_on_a_tick}}))
    assert tab.evaluate(OVER_THE_EDGE) == []


LINES_OF_A_WORD = """[...document.querySelectorAll('#top td bdi')].filter(e => e.textContent == 'Contemporary Fiction')
  .map(e => {
    const range = document.createRange();
    range.setStart(e.firstChild, 0);
    range.setEnd(e.firstChild, 'Contemporary'.length);
    return range.getClientRects().length;
  })"""


def test_an_ordinary_word_stays_in_one_piece(answer, shown):
    cells = ["Contemporary Fiction"] + ["Walt Disney Films"] * 7
    top = {**answer.facts["top"], "columns": [f"column {i}" for i in range(len(cells))]}
    tab = shown(page({**answer.facts, "top": {**top, "rows": [{**row, "cells": cells} for row in top["rows"]]}}))
    assert set(tab.evaluate(LINES_OF_A_WORD)) == {1}


def test_the_name_of_an_image_is_broken_behind_its_folder(answer, shown):
    one = {"id": "unlabeled/27.png", "note": "0.99", "src": "data:image/png;base64,"}
    tab = shown(page({**answer.facts, "what": "images", "images": {"sheet": [one], "words": ""}}))
    assert tab.inner_text(".sheet li").split() == ["unlabeled/27.png", "0.99"]
    name, note = tab.evaluate("[...document.querySelectorAll('.sheet span')].map(e => e.getBoundingClientRect().top)")
    assert (
        name < note and "images looked at" in tab.inner_html("#cut") and "rows looked at" not in tab.inner_html("#cut")
    )


def test_the_slider_says_what_a_cut_gives(answer, shown):
    tab = shown(page(answer.facts), 390)
    points = answer.facts["curve"]["points"]
    for place in (0, len(points) // 3, len(points) - 1):
        tab.fill("#rows", str(place))
        point = points[place]
        assert tab.inner_text("#say-rows") == f"{point['rows']:,} row{'s' * (point['rows'] != 1)}"
        assert tab.inner_text("#say-right") == f"{int(point['precision'] * point['rows'] + 0.5):,}"
        assert tab.inner_text("#say-recall") == give((point["recall"], point["recall_error"]))
    mark = float(tab.get_attribute("#mark-cut", "x1"))
    tab.focus("#rows")
    tab.keyboard.press("Home")
    assert float(tab.get_attribute("#mark-cut", "x1")) < mark
    assert tab.get_attribute("#dot-precision", "cx") == tab.get_attribute("#mark-cut", "x1")
    assert tab.get_attribute("#rows", "aria-valuetext").startswith(f"{points[0]['rows']:,} row")


def test_the_page_starts_at_the_cut_in_use(answer, shown):
    tab = shown(page(answer.facts))
    shown_rows = int(tab.inner_text("#say-rows").split()[0].replace(",", ""))
    assert abs(shown_rows - answer.predicted) <= 0.1 * answer.predicted + 2


def test_hostile_names_and_cells_stay_text(answer, shown):
    tab = shown(page(hostile(answer.facts)), 390)
    tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    for place in tab.query_selector_all("th, td, bdi")[:60]:
        place.hover(force=True)
    assert tab.title() != "owned" and tab.said == []
    assert tab.evaluate("document.scripts.length") == 2 and tab.query_selector_all("img") == []
    body = tab.inner_text("body")
    assert SCRIPT in body and FORMULA in body and "gpj.exe" in body and "\\u202e" in body
    cells = [cell.inner_text() for cell in tab.query_selector_all("#top > .wide tbody tr:first-child td bdi")]
    assert cells[1:] == [text.replace("\u202e", "\\u202e").replace("\u2028", "\\u2028").replace("\u2067", "\\u2067")
                         for text in ALL]  # fmt: skip
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_policy_stops_a_script_that_came_in_all_the_same(answer, shown):
    html = page(answer.facts).replace(
        "</main>",
        "<img src='data:,' onerror='document.title=1'><script>document.title='owned'</script></main>",
    )
    tab = shown(html)
    assert tab.title() == "customers.csv: hidden positives" and any(
        "Content Security Policy" in said for said in tab.said
    )


def test_the_page_prints(answer, shown, tmp_path):
    tab = shown(page(answer.facts))
    tab.emulate_media(media="print")
    assert not tab.is_visible("#rows") and tab.is_visible("#say-rows")
    assert len(tab.pdf()) > 20_000


@pytest.mark.parametrize("width", [718, 794])  # of A4 with and without Chromium's margins
def test_a_wide_table_is_not_cut_off_on_paper(answer, shown, width):
    """Paper cannot be scrolled: dates, ids and sentences side by side must wrap."""
    top = answer.facts["top"]
    names = [f"a rather long name of column {i}" for i in range(8)]
    cells = [
        "ORD-0001956",
        "2022-02-24T07:04:25+00:00",
        "verify the refund chargeback parcel friendly",
        "$3,341.60",
    ] * 2
    rows = [{**row, "cells": cells} for row in top["rows"]]
    tab = shown(page({**answer.facts, "top": {**top, "columns": names, "rows": rows}}), width)
    tab.emulate_media(media="print")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_a_hostile_table_from_the_file_to_the_page(shown, tmp_path):
    """What hostile() makes up, done for real: names and cells of a file, through reading, encoding and fitting."""
    random = np.random.default_rng(0)
    y = np.arange(300) < 100
    table = pd.DataFrame({SCRIPT: random.choice(ALL, 300), FORMULA: random.normal(size=300) + 2 * y})
    table[TURNED] = random.normal(size=300) + y
    table["id"] = [f"={k}{IMAGE}" for k in range(300)]
    table[QUOTES] = np.where(y & (np.arange(300) % 3 == 0), "yes", "")
    table.to_csv(tmp_path / "t.csv", index=False)
    run = tmp_path / "run"
    answer = fit_file(tmp_path / "t.csv", QUOTES, positive="yes", id="id", method="elkan-noto", folds=3, folder=run)
    tab = shown((run / "report.html").read_text(), 390)
    assert tab.said == [] and tab.title() == "t.csv: hidden positives" and tab.query_selector_all("img") == []
    body = tab.inner_text("body")
    assert SCRIPT in body and FORMULA in body and f"={answer.ranked.index[0]}{IMAGE}" in body
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    assert (run / "scores.csv").read_text().splitlines()[1].startswith("\"'=")
