"""diagnose: each finding is made where its cause was put in, and not where rows were labelled at random."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from distpu import BlendPU, TableEncoder, diagnose
from distpu.diagnosis.columns import follows_the_order, runs_in_order, single_columns
from distpu.diagnosis.copies import count_copies
from distpu.diagnosis.curve import Assumed
from distpu.diagnosis.scores import MAX_COLUMNS, fold_of, sampled
from distpu.diagnosis.selective import _together, contrast
from pages import blocks

NAMES = ["a", "b", "c", "noise"]
pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture(scope="module")
def quick():
    """The default method with fewer trees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distpu.diagnosis.default.SETTINGS", {"trees": 20, "bags": 3, "folds": 3})
        yield


def clouds(seed=0, n=900, share=0.35, distance=2.0):
    """Rows of two classes that differ in three of four columns, and their classes."""
    random = np.random.default_rng(seed)
    y = (random.random(n) < share).astype(int)
    x = random.normal(size=(n, 4))
    x[:, :3] += distance * y[:, None]
    return x, y


def labels(y, weight=None, count=120, seed=0):
    """PU labels: so many positives, drawn with these weights."""
    p, random = np.flatnonzero(y), np.random.default_rng(seed)
    weight = np.ones(len(p)) if weight is None else weight[p]
    s = np.zeros(len(y), dtype=int)
    s[random.choice(p, count, replace=False, p=weight / weight.sum())] = 1
    return s


@pytest.fixture(scope="module")
def fair(quick):
    """A diagnosis of rows that were labelled at random, and the true share of positives."""
    x, y = clouds()
    s = labels(y)
    return diagnose(pd.DataFrame(x, columns=NAMES), s), y[s == 0].mean()


def test_rows_labelled_at_random_raise_no_alarm(fair):
    found, truth = fair
    assert found.level == "ok", [(one.name, one.level) for one in found.findings]
    assert len(found.findings) == 7
    assert found.prior == pytest.approx(truth, abs=0.08)
    assert found.interval[0] <= found.prior <= found.interval[1]
    assert "well apart" in found.finding("separability").text
    assert (found.labelled, found.unlabelled, found.looked_at) == (120, 780, 900)


def test_everything_goes_into_json(fair):
    found, _ = fair
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["level"] == "ok"
    assert [one["name"] for one in plain["findings"]] == [one.name for one in found.findings]
    assert {one["name"] for one in plain["columns"]} == set(NAMES)
    assert len(plain["curve"]) == len(found.curve) and "scores_labelled" not in plain


@pytest.mark.parametrize("column", ["a", "noise"])
def test_labelling_that_favours_large_values_is_found_and_named(column):
    x, y = clouds()
    favoured = np.exp(2.5 * x[:, NAMES.index(column)])
    finding = diagnose(x, labels(y, favoured), columns=NAMES).finding("labelling")
    assert finding.level == "warning"
    assert f"larger values of {column!r}" in finding.text
    assert "Ask how rows came to be labelled" in finding.remedy


def test_an_id_in_a_file_sorted_by_label_is_found():
    x, y = clouds()
    s = labels(y)
    order = np.argsort(-s, kind="stable")
    table = pd.DataFrame(x[order], columns=NAMES).assign(id=np.arange(len(y)) + 5000)
    found = diagnose(table, s[order])
    assert found.finding("give-away").level == "look"  # fit leaves an id out by itself
    assert found.finding("give-away").numbers["suspicious"] == ["id"]
    assert "distpu fit leaves it out, and the other answers are without it" in found.finding("give-away").text
    assert found.prior == pytest.approx(y[s == 0].mean(), abs=0.08) and found.finding("separability").level == "ok"
    assert found.finding("row order").numbers["columns_in_order"] == ["id"]


def test_a_column_that_fit_leaves_out_is_not_held_against_the_labelling():
    x, y = clouds()
    s = labels(y)
    random = np.random.default_rng(1)
    case = np.where(s == 1, random.integers(1, 1000, len(s)), random.integers(900, 9000, len(s)))
    found = diagnose(pd.DataFrame(x, columns=NAMES).assign(case_no=case), s)
    assert "distpu fit leaves it out, and the other answers are without it" in found.finding("give-away").text
    assert found.finding("labelling").level == "ok" and "case_no" not in found.finding("labelling").text


def test_a_known_prior_that_the_labels_cannot_explain():
    x, y = clouds()
    s = np.zeros(len(y), dtype=int)
    s[np.argsort(-np.where(y == 1, x[:, 0], -np.inf))[:120]] = 1  # the largest cases only
    finding = diagnose(x, s, prior=0.25).finding("labelling")
    assert finding.level == "warning" and "You say that 25 % of the unlabelled rows are positive" in finding.text


def test_a_give_away_that_fit_uses_is_a_warning_with_the_prior_without_it():
    x, y = clouds()
    s = labels(y)
    copied = np.where(s == 1, 9.0, np.random.default_rng(0).normal(size=len(s)))
    found = diagnose(np.column_stack([x, copied]), s, columns=[*NAMES, "told"])  # an array is not encoded
    finding = found.finding("give-away")
    assert finding.level == "warning" and finding.numbers["suspicious"] == ["told"]
    assert finding.numbers["prior_without"] > 0.15 > found.prior  # 0.25 is true
    assert found.finding("separability").level == "warning"


def test_a_raw_table_is_diagnosed_by_the_users_columns():
    x, y = clouds()
    s = labels(y)
    table = pd.DataFrame(x, columns=NAMES).assign(
        town=np.random.default_rng(0).choice(["Ulm", "Bonn"], len(y)),
        closed=np.where(s == 1, "2024-01-0" + (np.arange(len(y)) % 9 + 1).astype(str).astype(object), None),
    )
    found = diagnose(table, s)
    finding = found.finding("give-away")
    assert finding.numbers["suspicious"] == ["closed"] and "Column 'closed' is blank in 0 %" in finding.text
    assert {one.name for one in found.columns} == {*NAMES, "town", "closed"}
    dropped = diagnose(table, s, encode=TableEncoder(drop=["closed"]))
    assert dropped.finding("give-away").level == "ok" and dropped.prior == found.prior


def test_the_prior_and_the_calls_are_those_of_a_fit(fair):
    found, _ = fair
    x, y = clouds()
    s = labels(y)
    model = BlendPU(trees=20, bags=3, folds=3, random_state=0).fit(pd.DataFrame(x, columns=NAMES), s)
    assert (found.prior, found.interval) == (model.prior_, model.prior_interval_) and found.by_default
    numbers = found.finding("prior").numbers
    assert numbers["called"] == (model._judged(model.oof_scores_)[0][s == 0] >= 0).sum()
    assert numbers["precision"] == float(model.expected_.precision)


def test_images_of_a_network_say_that_fit_will_differ():
    random, y = np.random.default_rng(0), np.arange(300) % 3 == 0
    x = (random.integers(0, 120, (300, 3, 36, 36)) + 120 * y[:, None, None, None]).astype(np.uint8)
    found = diagnose(x, (np.arange(300) % 6 == 0).astype(int))
    assert not found.by_default and found.prior == pytest.approx(0.2, abs=0.08)


def test_few_labelled_rows_are_said_to_be_few():
    x, y = clouds()
    found = diagnose(x, labels(y, count=6))
    assert found.finding("labelled rows").level == "warning"
    assert found.finding("labelling").level == "unknown" and "too few" in found.finding("labelling").text


def test_columns_without_a_signal():
    x, y = clouds(distance=0)
    finding = diagnose(x, labels(y)).finding("separability")
    assert finding.level == "warning" and "hardly better than chance" in finding.text


def test_a_sparse_matrix_and_an_array_get_the_same_answer():
    x, y = clouds(n=300)
    x, s = np.where(x > 0.5, x, 0), labels(y, count=50)
    assert diagnose(csr_matrix(x), s).to_dict() == diagnose(x, s).to_dict()


def test_a_wide_table_and_images():
    x, y = clouds(n=200)
    noise = np.random.default_rng(1).normal(size=(200, MAX_COLUMNS))
    wide = np.concatenate([3 * x, noise], axis=1)
    found = diagnose(wide, labels(y, count=50))
    assert "more than 200 columns" in found.finding("labelling").text
    assert {"column 0", "column 1", "column 2"} == {one.name for one in found.columns[:3]}
    images = wide[:, :16].reshape(200, 4, 4)
    assert len(diagnose(images, labels(y, count=50)).columns) == 16


def test_mistakes_are_refused():
    x, y = clouds(n=100)
    s = labels(y, count=10)
    for prior, told in (("x", "'x'"), (10**400, r"10+\.\.\.0+")):
        with pytest.raises(ValueError, match=f"^prior={told} must lie strictly between 0 and 1$"):
            diagnose(x, s, prior=prior)
    with pytest.raises(ValueError, match="prior=1.5 must lie strictly between 0 and 1"):
        diagnose(x, s, prior=1.5)
    with pytest.raises(ValueError, match="X has 100 rows, but y has 99 labels"):
        diagnose(x, s[1:])
    with pytest.raises(ValueError, match="at least 2 labelled positives"):
        diagnose(x, np.arange(100) == 0)
    with pytest.raises(ValueError, match="X has 4 columns, but 2 names are given"):
        diagnose(x, s, columns=["a", "b"])
    with pytest.raises(ValueError, match="at least 2 different labelled rows"):
        diagnose(np.where(s[:, None] == 1, 1.0, x), s)
    with pytest.raises(ValueError, match="X holds other values"):
        diagnose(np.array([["x"]] * 100), s)


def test_the_guides_python_runs(capsys):
    (block,) = blocks("docs/diagnosis.md")
    x, y = clouds(n=300)
    exec(block, {"X": x, "y": labels(y, count=40)})
    assert "look labelled rows 40 labelled rows." in capsys.readouterr().out


# ----------------------------------------------------------------- the parts by hand


def test_pairs_are_compared_where_the_other_columns_score_alike():
    """100 labelled rows score 2 or 1; so do 50 unlabelled positives, all of smaller values. Negatives score below."""
    z = np.concatenate([np.tile([2.0, 1.0], 50), np.tile([2.0, 1.0], 25), np.linspace(-1, 0, 350)])
    s = np.repeat([1, 0], [100, 400])
    selective = contrast(np.where(s == 1, 1.0, 0.0), s, z, "v")
    assert selective.larger == 1.0 and selective.tested and selective.differs
    same = contrast(np.concatenate([np.arange(100), np.arange(50) * 2.0, -np.arange(350)]), s, z, "v")
    assert same.larger == pytest.approx(0.5, abs=0.05) and same.tested and not same.differs


def test_negatives_among_the_likely_rows_raise_no_alarm():
    """Scores say little and fall off steadily, as where classes overlap; the column itself tells the classes apart."""
    random = np.random.default_rng(0)
    y = np.concatenate([np.ones(200), random.random(1000) < 0.3])
    s = np.repeat([1, 0], [200, 1000])
    z, v = random.normal(size=(2, 1200)) + np.array([[0.8], [2.0]]) * y
    assert not contrast(v, s, z, "v").differs


def test_columns_go_together_within_a_class():
    """All three columns tell the classes apart, and so correlate over all rows; within a class only two do."""
    random = np.random.default_rng(0)
    y = np.arange(400) % 2
    a, b, noise = random.normal(size=(3, 400))
    x = np.column_stack([a, a + 0.3 * noise, b]) + 4 * y[:, None]
    rank = x.argsort(axis=0).argsort(axis=0)
    np.testing.assert_array_equal(_together(rank), np.ones((3, 3), dtype=bool))
    np.testing.assert_array_equal(
        _together(rank[y == 1]), [[True, True, False], [True, True, False], [False, False, True]]
    )
    assert _together(np.ones((5, 2))).tolist() == [[True, False], [False, True]]  # constant columns


def test_single_columns():
    random, n = np.random.default_rng(0), 400
    s = np.repeat([1, 0], [80, 320])
    block = np.where(s == 1, random.uniform(0.4, 0.5, n), random.choice([0.2, 0.8], n) + random.uniform(0, 0.1, n))
    some = np.where(np.arange(n) % 4 == 0, np.nan, 1.0)  # blank in a quarter of all rows
    sign = np.where((np.arange(n) < 40) | (np.arange(n) >= 372), np.nan, 1.0)  # in half of the labelled rows, and in 28
    x = np.column_stack([block, random.normal(size=n), some, sign]).astype(np.float32)
    found = {one.name: one for one in single_columns(x, s, np.arange(n) % 2, ["block", "noise", "some", "sign"], 0.2)}
    assert found["block"].level == "warning"  # it rises nowhere, but is a block
    assert found["block"].pure > 0.95 and found["block"].covers > 0.85
    assert found["noise"].level == "ok" and abs(found["noise"].auc - 0.5) < 0.1
    assert found["some"].level == "ok"
    assert found["sign"].level == "look" and found["sign"].by_blanks
    assert (found["sign"].blank_labelled, found["sign"].blank_unlabelled) == (0.5, 28 / 320)


def test_a_column_that_tells_the_classes_apart():
    """Hidden positives keep the AUC of labelled against unlabelled rows of a perfect column at 1 - prior / 2."""
    s = np.repeat([1, 0, 0], [100, 120, 280])
    x = np.repeat([1.0, 0.0], [220, 280])[:, None].astype(np.float32)
    (found,) = single_columns(x, s, np.arange(500) % 2, ["status"], 0.3)
    assert found.auc == pytest.approx(0.85) and found.auc_of_classes == pytest.approx(1)
    assert found.level == "look"


def test_a_sample_of_the_unlabelled_rows_makes_no_range_pure():
    """A tenth of the unlabelled rows is looked at. In the upper half of the column 40 of 60 rows are labelled."""
    s = np.repeat([1, 0, 0], [40, 2, 38])
    x = np.repeat([1.0, 0.0], [42, 38])[:, None].astype(np.float32)
    fold = np.arange(80) % 2
    (as_it_is,), (sample,) = (single_columns(x, s, fold, ["v"], 0.3, scale) for scale in (1.0, 10.0))
    assert as_it_is.pure == pytest.approx(40 / 42) and as_it_is.covers == 1
    assert sample.pure == 0


def test_a_bin_gives_no_row_held_out_away():
    """Eight labelled rows among noise: bins that began at their values would look like a signal."""
    random, s = np.random.default_rng(0), np.repeat([1, 0], [8, 992])
    x = random.normal(size=(1000, 30)).astype(np.float32)
    aucs = [one.auc for one in single_columns(x, s, np.arange(1000) % 2, list(map(str, range(30))), 0.3)]
    assert np.mean(aucs) == pytest.approx(0.5, abs=0.1)


def test_copies_are_counted():
    x = np.array([[1, 0], [1, 0], [2, np.nan], [2, np.nan], [2, np.nan], [3, -0.0], [3, 0.0], [4, 4], [5, 5]])
    s = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1])
    found = count_copies(x, s)
    assert (found.labelled_with_copy, found.unlabelled_with_copy, found.labelled_twice) == (1, 2, 1)
    assert (found.share, found.usual) == (1 / 4, 4 / 5)
    assert not found.across  # such repetition is usual there
    plain = np.nan_to_num(x)
    assert count_copies(csr_matrix(plain), s) == count_copies(plain, s)
    copied = np.concatenate([np.arange(20.0), np.arange(5.0)])[:, None]
    assert count_copies(copied, np.repeat([1, 0], [10, 15])).across


def test_runs_in_the_order_of_the_rows():
    assert runs_in_order(np.array([1, 1, 0, 0]))[:2] == (2, 3.0)
    random = np.random.default_rng(0)
    assert abs(runs_in_order((random.random(2000) < 0.2).astype(int))[2]) < 4
    assert runs_in_order(np.repeat([0, 1, 0], [500, 100, 400]))[2] < -10  # a block in the middle
    x = np.column_stack([np.arange(50) * -3.0, np.arange(50) // 10, np.full(50, np.nan)])
    assert follows_the_order(x, np.arange(50), ["id", "group", "blank"]) == ["id"]


def test_the_curve_follows_the_definitions():
    """Four of five labelled rows and 3 of 10 unlabelled rows score above 0.65."""
    z = np.array([0.9, 0.8, 0.7, 0.7, 0.1, *np.arange(10) / 10])
    s = np.repeat([1, 0], [5, 10])
    assumed = Assumed(s, z, 0.3, 1000)  # a sample of 1,000 unlabelled rows
    at = assumed.at(0.3)
    assert at.called == 300 and at.recall == pytest.approx(0.8)
    assert at.precision == pytest.approx(0.3 * 0.8 / 0.3) == at.kept_precision
    assert assumed.at(0.1).called == 100
    assert assumed.at(0.1).kept_precision == pytest.approx(0.1 * 0.8 / 0.3)  # the same rows, another truth
    priors = [one.prior for one in assumed.curve(0.2, 0.4)]
    assert priors[0] == pytest.approx(1 / 11) and priors[-1] == pytest.approx(0.95)


def test_a_large_table_is_sampled_and_keeps_its_labelled_rows():
    s = np.repeat([1, 0], [300, 5000])
    rows = sampled(s, 1000, 0)
    assert len(rows) == 1000 and s[rows].sum() == 300 and (np.diff(rows) > 0).all()
    assert s[sampled(s, 400, 0)].sum() == 200
    assert len(sampled(s, 6000, 0)) == 5300
    few = np.repeat([1, 0], [5000, 100])
    assert few[sampled(few, 1000, 0)].sum() == 900


def test_equal_rows_share_a_fold():
    x = np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 2, axis=0)
    fold = fold_of(x, np.tile([1, 0], 40), 0)
    np.testing.assert_array_equal(fold[::2], fold[1::2])
