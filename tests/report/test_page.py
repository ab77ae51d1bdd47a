"""The page as text: one file, nothing from elsewhere, everything of a user's escaped."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from distpu.files.run_folder import RunFolder
from distpu.report.html import percent, text
from distpu.report.page import embedded, page, write_page
from distpu.report.svg import ticks
from hostile import hostile

VOID = {"meta", "img", "input"}


class Reader(HTMLParser):
    """Elements and attributes as a browser would see them."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.seen, self.open, self.content = [], [], {"style": "", "script": []}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.content["script"].append(data)
        elif self.open and self.open[-1] == "style":
            self.content["style"] += data


@pytest.mark.parametrize("change", [lambda facts: facts, hostile], ids=["plain", "hostile"])
def test_one_file_and_nothing_from_elsewhere(answer, change):
    html = page(change(answer.facts))
    found = Reader(html)
    assert not found.open and not re.search(r"https?:|//[a-z]|@import|url\(", html.replace("<!DOCTYPE html>", ""))
    tags = [tag for tag, _ in found.seen]
    assert (
        tags.count("script") == 2 and tags.count("style") == 1 and not {"link", "iframe", "object", "base"} & set(tags)
    )
    for tag, attributes in found.seen:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcset")], (
            tag,
            attributes,
        )
        assert "href" not in attributes or attributes["href"].startswith("#")
        assert "src" not in attributes or attributes["src"].startswith("data:image/")


def test_the_policy_allows_this_script_and_this_style_only(answer):
    found = Reader(page(answer.facts))
    (policy,) = (a["content"] for _, a in found.seen if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    data, script = found.content["script"]

    def of(content):
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    assert rules["script-src"] == of(script) and rules["style-src"] == of(found.content["style"])
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:" and rules["base-uri"] == "'none'"
    assert json.loads(data)["points"] == answer.facts["curve"]["points"]


def test_the_page_says_the_answer_first(answer):
    html = page(answer.facts)
    body = html[html.index("<body>") :]
    flat = re.sub(r"<[^>]+>", " ", body)
    assert flat.index(f"About {answer.hidden:,.0f} of the {answer.unlabelled:,} unlabelled rows") < 300
    expected = answer.model.expected_
    assert percent(expected.precision) in flat and percent(expected.recall) in flat
    order = [found[1] for found in re.finditer(r'<section id="(\w+)"', body)]
    assert order == ["top", "cut", "sure", "prior", "drivers", "checks", "columns", "learnt", "use", "words"]
    for row in answer.facts["top"]["rows"]:
        assert all(cell in flat for cell in row["cells"])


@pytest.mark.parametrize("value", ["</script>", "<!--", "\u2028", "a&b", '"', "\ud800", "é"])
def test_json_in_the_page_cannot_leave_its_element(value):
    inside = embedded({"x": value})
    assert not set(inside) & set("<>&\u2028") and inside.isascii() and json.loads(inside) == {"x": value}


def test_marks_that_turn_text_round_are_spelt_out():
    assert (
        text("abc\u202egpj.exe\x00") == "abc\\u202egpj.exe\\u0000" and text("<a \"'&>") == "&lt;a &quot;&#x27;&amp;&gt;"
    )
    assert text("\ud800") == "\\ud800" and text("שלום") == "שלום"


def test_a_page_needs_a_run_that_has_facts(answer, tmp_path):
    with pytest.raises(FileNotFoundError, match="is no run folder; name one that"):
        write_page(tmp_path)
    run = RunFolder(tmp_path)
    run.keep_config({"method": "dist-pu", "params": {}, "data": {}})
    with pytest.raises(FileNotFoundError, match=r"report.json does not exist; run the same `distpu fit` again"):
        write_page(tmp_path)
    run.keep_facts({**answer.facts, "schema": 99})
    with pytest.raises(ValueError, match="has schema 99, and this version of distpu reads schema 2"):
        write_page(tmp_path)
    run.keep_facts({"schema": 2})
    with pytest.raises(ValueError, match="lacks facts that the page needs"):
        write_page(tmp_path)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-6.2, 2.4), (0, 266), (0.042, 0.19), (1, 1), (0, 3e6)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high, 5)
    assert found == sorted(found) and all(low - 1e-9 <= value <= high + 1e-9 for value in found)
    assert low == high or 2 <= len(found) <= 6


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"two_sided": False}, "At most 150"),
        ({"two_sided": False}, "Read its upper end only"),
        ({"two_sided": True, "assumes_shape": True}, "The lower end rests on an assumption"),
        ({"two_sided": True, "assumes_shape": False}, "both ends of the interval can be trusted"),
        ({"interval": None, "level": None, "how": "the method's own estimate"}, "estimated from the data"),
        ({"interval": None, "how": "given"}, "You gave the share of positives"),
        ({"level": None}, "Between 50 and 150 (interval)"),
    ],
)
def test_the_interval_is_read_in_plain_words(answer, told, expected):
    prior = {"share": 0.2, "how": "by binormal", "hidden": 100, "interval": [0.1, 0.3], "level": 0.9, "reading": ""}
    facts = {**answer.facts, "unlabelled": 500, "prior": {**prior, **told}}
    assert expected in page(facts)


def test_a_method_that_knows_no_prior_has_a_page(answer):
    html = page({**answer.facts, "prior": None, "sensitivity": None, "findings": [], "counts_explained": ""})
    assert "unlabelled rows are called positive</h1>" in html and "does not estimate how many" in html
