"""report.json: every fact of the page, the same again from a finished folder, and right where the truth is known."""

import json
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from distpu import fit_file
from distpu.answer import drivers as driving
from distpu.answer.curves import cuts_by_probability, other_priors
from distpu.answer.words import counts_explained
from distpu.report.html import percent
from distpu.threshold import expected

QUICK = dict(method="blend-pu", folds=3, trees=20, bags=2)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """1,200 rows: column 'a' tells positives from negatives, 'b' a little, 'c' not at all."""
    random = np.random.default_rng(0)
    y = random.random(1200) < 0.3
    frame = pd.DataFrame({"a": random.normal(size=1200) + 3 * y, "b": random.normal(size=1200) + 0.5 * y})
    frame["c"] = random.normal(size=1200)
    frame["fraud"] = (y & (random.random(1200) < 0.4)).astype(int)
    path = tmp_path_factory.mktemp("facts") / "table.csv"
    frame.round(4).to_csv(path, index=False)
    return path, y


@pytest.fixture(scope="module")
def answer(table):
    return fit_file(table[0], "fraud", folder=table[0].parent / "run", **QUICK)


def test_the_same_files_again(table, answer):
    names = ("report.json", "report.html", "scores.csv")
    before = [(answer.folder / name).read_bytes() for name in names]
    assert json.loads(before[0])["schema"] == 2
    time.sleep(0.01)
    again = fit_file(table[0], "fraud", folder=answer.folder, **QUICK)
    assert again.finished_before and again.facts == answer.facts
    assert [(answer.folder / name).read_bytes() for name in names] == before


def test_no_report(table, tmp_path):
    found = fit_file(table[0], "fraud", folder=tmp_path / "run", report=False, **QUICK)
    assert found.facts is None and (tmp_path / "run/scores.csv").exists()
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith("report")]


def test_the_counts_are_those_of_the_answer(table, answer):
    facts, y = answer.facts, table[1]
    assert facts["rows"] == 1200 == facts["labelled"] + facts["unlabelled"]
    assert facts["prior"]["hidden"] == pytest.approx(answer.hidden) and facts["called"] == answer.predicted
    assert facts["top"]["rows"][0]["id"] == str(answer.ranked["id"].iloc[0]) and len(facts["top"]["rows"]) == 25
    assert y[[row["row"] for row in facts["top"]["rows"]]].mean() > 0.9
    assert facts["command"].startswith("distpu predict ") and facts["versions"]["distpu"]
    assert [one["name"] for one in facts["columns"]] == ["a", "b", "c"]
    assert {one["name"] for one in facts["findings"]} >= {"copies", "give-away", "separability", "row order"}


def test_no_two_lines_say_the_same_share(answer):
    used, shares = answer.prior, [line["prior"] for line in answer.facts["sensitivity"]]
    assert used in shares and sum(abs(share / used - 1) < 0.05 for share in shares) == 1
    held = SimpleNamespace(
        held_out=SimpleNamespace(total=3004), prior=0.4211, expected=lambda _: SimpleNamespace(precision=0.65)
    )
    shares = [line["prior"] for line in other_priors(held, (0.0763, 0.6631))]
    assert len({percent(share) for share in shares}) == len(shares)


def test_the_column_that_tells_drives_the_scores(answer):
    found = answer.facts["drivers"]
    drops = {one["column"]: one["drop"] for one in found["columns"]}
    assert list(drops)[0] == "a" == answer.facts["top"]["columns"][0]
    assert drops["a"] > 0.2 > abs(drops["c"]) and abs(drops["c"]) < 0.05


def test_of_many_columns_the_telling_ones_are_looked_at(monkeypatch):
    monkeypatch.setattr(driving, "COLUMNS", 3)
    random = np.random.default_rng(0)
    s = np.arange(400) % 4 == 0
    X = pd.DataFrame(random.normal(size=(400, 6)), columns=list("abcdef"))
    X["e"] += 2 * s
    X["word"] = np.where(s & (random.random(400) < 0.8), "yes", "no")
    X["blank"] = np.nan
    names = driving._worth_a_look(X, s.astype(int), random)
    assert len(names) == 3 and set(names[:2]) == {"e", "word"}


def test_the_curve_is_what_the_cuts_give(answer):
    points, cut = answer.facts["curve"]["points"], answer.model.cut_
    rows = [point["rows"] for point in points]
    assert rows == sorted(set(rows)) and rows[-1] >= answer.predicted
    recall = [point["recall"] for point in points]
    assert recall == sorted(recall) and all(0 <= point["precision"] <= 1 for point in points)
    table = cut.held_out.unlabelled
    place = table.above.index(points[len(points) // 2]["rows"])
    given = expected(table.below(place), cut.held_out, cut.prior, cut.calibration, answer.model.prior_interval_)
    assert points[len(points) // 2]["precision"] == pytest.approx(float(given.precision))
    assert points[len(points) // 2]["recall_error"] == pytest.approx(given.recall.error)


def test_one_cut_has_one_set_of_numbers(table, answer):
    """scores.csv, the terminal, the tiles, the slider and the table of other priors say the same of today's cut."""
    from distpu.report.page import page

    called = pd.read_csv(answer.folder / "scores.csv").query("decision == 1")
    n, given, facts = len(called), answer.model.expected_, answer.facts
    now = next(one for one in facts["curve"]["points"] if one["rows"] == n)
    assert n == answer.predicted == facts["called"]
    assert now["probability"] == pytest.approx(called["probability"].min(), rel=1e-5)
    assert (now["precision"], now["recall"]) == (float(given.precision), float(given.recall))
    html, right = page(facts), f"{round(given.precision * n):,}"
    assert f'<span id="say-rows">{n:,} rows</span>' in html and f'<b id="say-right">{right}</b>' in html
    assert f"right of the {n:,} called" in html and f'<b>{n:,}</b><span class="what">rows called positive' in html
    line = html.split("<tr class=now>")[1].split("</tr>")[0]
    assert f">{answer.hidden:,.0f}<" in line and f">{right}<" in line
    assert f">{answer.hidden - given.precision * n:,.0f}<" in line
    assert f"{n:,}</b>" in answer._repr_html_() or f">{n:,}<" in answer._repr_html_()


def test_without_held_out_rows_the_curve_is_by_probability():
    p = np.linspace(0.99, 0.01, 500)
    points = cuts_by_probability(p, called=250)
    one = next(point for point in points if point["rows"] > 100)
    assert one["precision"] == pytest.approx(p[: one["rows"]].mean())
    assert one["recall"] == pytest.approx(p[: one["rows"]].sum() / p.sum())


def test_another_prior_changes_the_counts(answer):
    lines = answer.facts["sensitivity"]
    priors = [one["prior"] for one in lines]
    assert priors == sorted(priors) and any(one == pytest.approx(answer.model.cut_.prior) for one in priors)
    given = answer.model.expected_
    now = next(one for one in lines if one["prior"] == answer.model.cut_.prior)
    assert now["right"] == pytest.approx(float(given.precision))
    assert lines[0]["right"] == pytest.approx(now["right"] * lines[0]["prior"] / now["prior"])
    assert lines[0]["right"] < now["right"] < lines[-1]["right"] <= 1
    assert all(one["hidden"] == pytest.approx(one["prior"] * answer.unlabelled) for one in lines)


def test_the_histogram_counts_every_held_out_row_once(answer):
    found = answer.facts["histogram"]
    assert found["held_out"] and sum(found["labelled"]) == answer.labelled
    assert sum(found["unlabelled"]) == answer.unlabelled
    above = np.array(found["edges"])[:-1] >= 0
    share = np.array(found["labelled"])[above].sum() / answer.labelled
    assert share > 0.6 > np.array(found["unlabelled"])[above].sum() / answer.unlabelled


@pytest.mark.parametrize(
    ("threshold", "told"),
    [
        ("recall=0.98", "More rows are called positive"),
        ("rows=20", "Fewer rows are called positive (20)"),
        ("prior", "The cut calls about as many rows positive as are expected to be."),
    ],
)
def test_two_counts_that_differ_are_explained(table, tmp_path, threshold, told):
    found = fit_file(table[0], "fraud", threshold=threshold, report=False, **QUICK)
    assert counts_explained(found).startswith(told)


def test_a_network_without_held_out_rows_has_a_page_too(table, tmp_path):
    small = dict(method="dist-pu", prior=0.2, epochs=2, warm_up_epochs=2)
    facts = fit_file(table[0], "fraud", folder=tmp_path / "run", **small).facts
    assert not facts["histogram"]["held_out"] and not facts["curve"]["held_out"] and facts["sensitivity"] is None
    assert len(facts["learnt"]["epochs"]) == 4 and facts["prior"]["how"] == "given"
    assert "Terms of the loss" in (tmp_path / "run/report.html").read_text()


def test_rows_that_a_person_looked_at_are_counted_apart(table, tmp_path):
    """They are no draw of the positives: neither the checks nor what drives the scores may take them for one."""
    frame = pd.read_csv(table[0])
    frame["fraud"] = frame["fraud"].map({0: "", 1: "yes"})
    unlabelled = frame.index[frame["fraud"] == ""]
    frame.loc[unlabelled[:30], "fraud"] = "no"
    frame.loc[unlabelled[30:40], "fraud"] = "found"
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = dict(positive="yes", negative="no", found="found", folder=tmp_path / "run")
    facts = fit_file(tmp_path / "t.csv", "fraud", **said, **QUICK).facts
    assert facts["looked_at"] == {"negative": 30, "positive": 10} and facts["rows"] == 1200
    assert facts["labelled"] + facts["unlabelled"] == 1160 and facts["findings"]
    assert "40 looked at (10 found positive)" in (tmp_path / "run/report.html").read_text()


def test_columns_of_any_name_and_type_can_be_shuffled():
    random = np.random.default_rng(0)
    s = np.arange(300) % 3 == 0
    X = pd.DataFrame({"self": random.normal(size=300) + 2 * s, "when": pd.date_range("2020-01-01", periods=300)})
    X["kind"] = pd.Categorical(np.where(s, "a", "b"))
    X["blank"] = pd.array([None, 1, 2] * 100, dtype="Int64")

    class Model:
        def decision_function(self, rows):
            assert rows.dtypes.equals(X.dtypes)
            return rows["self"].to_numpy() + (rows["kind"] == "a").to_numpy()

    found = driving.drivers(Model(), X, s.astype(int), unused={"when"})
    drops = {one["column"]: one["drop"] for one in found["columns"]}
    assert set(drops) == {"self", "kind", "blank"} and drops["self"] > drops["kind"] > 0 == drops["blank"]


def test_of_many_columns_a_blank_cell_of_a_text_column_is_a_category():
    random = np.random.default_rng(0)
    s = (np.arange(300) % 3 == 0).astype(int)
    X = pd.DataFrame(random.normal(size=(300, driving.COLUMNS)), columns=[f"n{i}" for i in range(driving.COLUMNS)])
    X["kind"] = pd.Series(np.where(s == 1, "a", None), dtype="str")

    class Model:
        def decision_function(self, rows):
            return rows["kind"].notna().to_numpy(float)

    found = driving.drivers(Model(), X, s)
    assert found["of"] == driving.COLUMNS + 1 and found["columns"][0]["column"] == "kind"
