"""Metrics against the specification's fixture, against values worked out by hand, and against the truth."""

import copy
import json
import pickle
import runpy
from inspect import signature

import numpy as np
import pytest
import torch

from distpu import draw_pu, metrics
from distpu.metrics import PU_METRICS, SCENARIOS
from fixture import U_A, P, prior, s
from pages import ROOT, blocks, table, text_of

z, s = np.array(P + U_A), s.numpy().astype(int)
simulation = runpy.run_path(str(ROOT / "tools/evaluation.py"))
every_metric = pytest.mark.parametrize("name", PU_METRICS)
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


def call(name, s, z, prior, scenario, **more):
    told = {"prior": prior, "scenario": scenario, **more}
    return PU_METRICS[name](s, z, **{k: v for k, v in told.items() if k in signature(PU_METRICS[name]).parameters})


def bounds(name, theta):
    return {
        "pu_proxy_accuracy": (theta, 1 + theta),
        "pu_unbiased_risk": (-theta, 1 + theta),
        "pu_non_negative_risk": (0, 1 + theta),
        "lee_liu": (0, 1 / theta),
        "prior_gap": (-theta, 1 - theta),
    }.get(name, (0, 1))


# -------------------------------------------------------------- values by hand


def test_pu_accuracy_and_pu_auc_of_the_fixture():
    np.testing.assert_allclose(metrics.pu_accuracy(s, z, prior), 1.1333333333 - prior, atol=1e-10)
    np.testing.assert_allclose(metrics.pu_proxy_accuracy(s, z, prior), 1.1333333333, atol=1e-10)
    np.testing.assert_allclose(metrics.pu_auc(s, z), 0.7333333333, atol=1e-10)


def test_the_fixture_as_a_single_set():
    """0.04 among the 5 unlabelled rows and 3 labelled ones: 3.2 of 8, a share of 0.4 as in the specification."""
    found = metrics.pu_proxy_accuracy(s, z, 0.04, "single-set")
    np.testing.assert_allclose(found, 1.0333333333, atol=1e-10)
    np.testing.assert_allclose(metrics.pu_accuracy(s, z, 0.04, "single-set"), 0.6333333333, atol=1e-10)


def test_the_risks_of_the_fixture():
    np.testing.assert_allclose(metrics.pu_unbiased_risk(s, z, prior), 0.2997626999, atol=1e-10)
    np.testing.assert_allclose(metrics.pu_non_negative_risk(s, z, prior), 0.2997626999, atol=1e-10)
    a_tenth = np.repeat(s, np.where(s == 1, 5, 27)), np.repeat(z, np.where(s == 1, 5, 27))  # c = .25 of .4
    np.testing.assert_allclose(metrics.pu_unbiased_risk(*a_tenth, 1 / 3, "single-set"), 0.3216010821, atol=1e-10)


def test_the_non_negative_risk_stops_at_the_positives_part():
    low = np.where(s == 1, z, -9.0)  # no unlabelled row looks positive: the negatives' part would be below 0
    assert metrics.pu_unbiased_risk(s, low, prior) < metrics.pu_non_negative_risk(s, low, prior)
    np.testing.assert_allclose(metrics.pu_non_negative_risk(s, low, prior), prior * 0.4092673898, atol=1e-10)


def test_the_zero_one_risk_is_one_less_the_accuracy():
    away = z + 0.01
    risk = metrics.pu_unbiased_risk(s, away, prior, loss="zero-one")
    np.testing.assert_allclose(risk, 1 - metrics.pu_accuracy(s, away, prior), atol=1e-12)


@pytest.mark.parametrize(
    "scenario, theta, q",
    [("case-control", 0.2, 2 / 5), ("single-set", 4 / 8, 4 / 8)],  # 2 of 3 labelled, 2 of 5 unlabelled rows called
)
def test_values_by_hand(scenario, theta, q):
    r, told = 2 / 3, (s, z, 0.2, scenario)
    np.testing.assert_allclose(metrics.pu_recall(s, z), r)
    np.testing.assert_allclose(metrics.pu_precision(*told), theta * r / q)
    np.testing.assert_allclose(metrics.pu_f1(*told), 2 * theta * r / (theta + q))
    np.testing.assert_allclose(metrics.lee_liu(*told), r**2 / q)
    np.testing.assert_allclose(metrics.lee_liu(s, z, scenario=scenario), r**2 / q)
    np.testing.assert_allclose(metrics.prior_gap(*told), q - theta)
    np.testing.assert_allclose(metrics.pu_accuracy(*told), 2 * theta * r + (1 - q) - theta)


def test_roc_auc_by_hand():
    np.testing.assert_allclose(metrics.pu_roc_auc(s, z, 0.2), (11 / 15 - 0.1) / 0.8)
    tied = np.where(z > 0, 1.0, 0.0)  # labelled 1, 1, 0; unlabelled 1, 0, 0, 0, 0
    np.testing.assert_allclose(metrics.pu_auc(s, tied), (2 * 4.5 + 2) / 15)
    np.testing.assert_allclose(metrics.pu_roc_auc(s, tied, 0.2), (11 / 15 - 0.1) / 0.8)


def test_average_precision_by_hand():
    """Labelled 2, .5, -1 among unlabelled 1.5, 0, -.5, -2, -3: none, one and three of these score as high."""
    expected = np.mean([1, 0.2 * (2 / 3) / (1 / 5), 0.2 * 1 / (3 / 5)])
    np.testing.assert_allclose(metrics.pu_average_precision(s, z, 0.2), expected)
    single = np.mean([1, 0.5 * (2 / 3) / (3 / 8), 0.5 * 1 / (6 / 8)])
    np.testing.assert_allclose(metrics.pu_average_precision(s, z, 0.2, "single-set"), single)


@every_scenario
def test_average_precision_of_everything_labelled_is_scikit_learns(scenario):
    """A prior of nearly nothing in a single set: the unlabelled rows are negatives, ties and all."""
    from sklearn.metrics import average_precision_score

    random = np.random.default_rng(0)
    y = random.random(500) < 0.3
    score = np.round(random.normal(size=500) + y, 1)
    if scenario == "case-control":  # the labelled rows are all positives of the population, which holds them too
        t, scores, share = np.repeat([0, 1], [500, y.sum()]), np.concatenate([score, score[y]]), y.mean()
    else:
        t, scores, share = y.astype(int), score, 1e-12
    found = metrics.pu_average_precision(t, scores, share, scenario)
    np.testing.assert_allclose(found, average_precision_score(y, score), atol=1e-9)


@every_metric
@every_scenario
def test_a_threshold_is_where_the_scores_are_cut(name, scenario):
    if "threshold" in signature(PU_METRICS[name]).parameters:
        moved = call(name, s, z + 2.2, 0.2, scenario, threshold=2.2)
        np.testing.assert_allclose(moved, call(name, s, z, 0.2, scenario))
        assert call(name, s, z + 2.2, 0.2, scenario) != moved
    else:
        np.testing.assert_allclose(call(name, s, z + 2.2, 0.2, scenario), call(name, s, z, 0.2, scenario))


# ------------------------------------------------------------- against the truth


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_without_negatives_they_estimate_what_true_labels_say(share):
    random = np.random.default_rng(0)
    y = random.random(400_000) < share
    score = random.normal(size=len(y)) + 1.5 * y - 0.5
    labelled = random.normal(size=100_000) + 1.0  # more positives from the same distribution
    t = np.concatenate([np.zeros(len(y)), np.ones(len(labelled))])
    scores = np.concatenate([score, labelled])
    true = metrics.evaluate(y.astype(int), score)
    names = {"ap": "pu_average_precision", "auc": "pu_roc_auc"}
    for name, value in true.items():
        found = call(names.get(name, f"pu_{name}"), t, scores, share, "case-control")
        np.testing.assert_allclose(found, value, atol=0.015, err_msg=name)
    auc = (1 - share) * true["auc"] + share / 2
    np.testing.assert_allclose(metrics.pu_auc(t, scores), auc, atol=0.01)


SETTINGS = {"many labelled": (2000, 0.4, 0.2), "few labelled": (2000, 0.1, 0.03)}  # rows, share, labelled per row


@pytest.mark.parametrize("setting", SETTINGS)
@every_scenario
def test_two_hundred_draws_agree_with_the_truth_and_with_the_standard_error(scenario, setting):
    rows, share, labelled = SETTINGS[setting]
    random, true = np.random.default_rng(1), simulation["truth"](share)
    known = simulation["prior_of"](scenario, share, labelled)
    draws = [simulation["draw"](scenario, random, rows, share, labelled) for _ in range(200)]
    for name in true:
        found = [call(name, *one, known, scenario) for one in draws]
        error = np.mean([one.error for one in found])
        slack = 0.6 if name == "pu_average_precision" else 0.25  # the mean's own error is 0.07 of that of one draw
        assert abs(np.mean(found) - true[name]) < slack * error, name
        assert error == pytest.approx(np.std(found), rel=0.2), name


def test_labelled_rows_that_remain_among_the_unlabelled_ones():
    """The paper's protocol: right on the mean, and the errors are too large rather than too small."""
    random, found, true = np.random.default_rng(5), {}, simulation["truth"](0.4)
    for seed in range(200):
        y = (random.random(1000) < 0.4).astype(int)
        scores = random.normal(size=1000) + np.where(y, 1, -1)
        index, t = draw_pu(y, 200, seed=seed)
        for name in true:
            found.setdefault(name, []).append(call(name, t, scores[index], 0.4, "case-control"))
    for name, values in found.items():
        error = np.mean([one.error for one in values])
        assert abs(np.mean(values) - true[name]) < 0.5 * error, name
        assert 0.9 < error / np.std(values) < 1.4, name


def test_the_simulations_truth_is_that_of_true_labels():
    random = np.random.default_rng(2)
    y = random.random(1_000_000) < 0.4
    score = random.normal(size=len(y)) + np.where(y, 1, -1)
    true = simulation["truth"](0.4)
    for name, value in metrics.evaluate(y.astype(int), score).items():
        name = {"ap": "average_precision", "auc": "roc_auc"}.get(name, name)
        assert true[f"pu_{name}"] == pytest.approx(value, abs=0.002), name
    assert true["prior_gap"] == pytest.approx((score >= 0).mean() - 0.4, abs=0.002)
    assert true["lee_liu"] == pytest.approx(true["pu_recall"] ** 2 / (score >= 0).mean(), abs=0.01)
    assert true["pu_unbiased_risk"] == pytest.approx(np.mean(1 / (1 + np.exp(np.where(y, score, -score)))), abs=0.002)


def test_the_share_among_all_rows_gives_an_auc_above_one_and_ours_does_not():
    random = np.random.default_rng(0)
    t, scores = simulation["draw"]("single-set", random, labelled=0.3)
    right = simulation["prior_of"]("single-set", labelled=0.3)
    assert (metrics.pu_auc(t, scores) - 0.4 / 2) / (1 - 0.4) > 1.05
    assert metrics.pu_roc_auc(t, scores, 0.4) == 1  # the wrong share: clipped
    assert metrics.pu_roc_auc(t, scores, right) == pytest.approx(simulation["truth"]()["pu_roc_auc"], abs=0.03)


# ------------------------------------------------------------------ degenerate rows

DEGENERATE = {
    "all scores equal": (s, np.zeros(8)),
    "no row called": (s, -1 - np.abs(z)),
    "every row called": (s, np.abs(z)),
    "only labelled rows called": (s, np.where(s == 1, 1.0, -1.0)),
    "only unlabelled rows called": (s, np.where(s == 1, -1.0, 1.0)),
    "one labelled row": (np.array([1, 0, 0, 0, 0]), np.array([2.0, 1.5, -0.5, 2.0, -3.0])),
    "one unlabelled row": (np.array([0, 1, 1, 1, 1]), np.array([2.0, 1.5, -0.5, 2.0, -3.0])),
    "a row of each": (np.array([0, 1]), np.array([2.0, 1.5])),
    "infinite scores": (s, np.where(z > 0, np.inf, -np.inf)),
}


@every_metric
@every_scenario
@pytest.mark.parametrize("rows", DEGENERATE)
def test_no_metric_leaves_its_range(rows, scenario, name):
    t, scores = DEGENERATE[rows]
    for known in (0.01, 0.4, 0.99):
        theta = known if scenario == "case-control" else t.mean() + (1 - t.mean()) * known
        found = call(name, t, scores, known, scenario)
        low, high = bounds(name, theta)
        assert low - 1e-12 <= found <= high + 1e-12 and 0 <= found.error <= (high - low) / 2 + theta


@every_metric
@every_scenario
def test_no_metric_leaves_its_range_on_random_rows(scenario, name):
    random = np.random.default_rng(0)
    for _ in range(100):
        t = np.r_[1, 0, random.integers(0, 2, random.integers(0, 12))]
        scores = random.normal(size=len(t)) + random.normal() + random.normal() * 3 * t
        known = random.uniform(0.01, 0.99)
        low, high = bounds(name, known if scenario == "case-control" else t.mean() + (1 - t.mean()) * known)
        assert low - 1e-12 <= call(name, t, scores, known, scenario) <= high + 1e-12


def test_what_a_useless_ranking_gives():
    equal = np.zeros(8)
    assert metrics.pu_roc_auc(s, equal, 0.3) == pytest.approx(0.5)
    assert metrics.pu_average_precision(s, equal, 0.3) == pytest.approx(0.3)
    assert metrics.pu_precision(s, equal, 0.3) == pytest.approx(0.3)
    assert metrics.pu_precision(s, equal - 1, 0.3) == 0 and metrics.pu_f1(s, equal - 1, 0.3) == 0
    assert metrics.lee_liu(s, equal) == 1  # Lee and Liu: 1 is what calling every row gives


def test_one_labelled_row_claims_no_certainty():
    t, scores = DEGENERATE["one labelled row"]
    assert metrics.pu_recall(t, scores) == 1 and metrics.pu_recall(t, scores).error > 0.4
    assert metrics.pu_roc_auc(t, scores, 0.3).error == 0.5
    assert metrics.lee_liu(*DEGENERATE["only labelled rows called"]) == 5  # at most the number of unlabelled rows


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "rows, told, why",
    [
        ((s, z[1:]), {}, r"s has shape \(8,\) and z has \(7,\)"),
        ((s - 1, z), {}, "s holds other values than 0 and 1"),
        ((s * 0, z), {}, r"s has no labelled \(1\) row"),
        ((s * 0 + 1, z), {}, r"s has no unlabelled \(0\) row"),
        ((s, np.where(z == 0, np.nan, z)), {}, "z holds 1 NaN"),
        ((s, np.ma.masked_less(z, 0)), {}, "z holds masked values; give one number per row"),
        ((np.ma.masked_less(s, 1), z), {}, "s holds masked values"),
        ((s, z.astype(str)), {}, "z holds values of type <U32; give one number per row"),
        ((s, z * 1j), {}, "z holds values of type complex128"),
        ((s, z.astype("m8[s]")), {}, "z holds values of type timedelta64"),
        ((s, torch.empty(8, device="meta")), {}, "z is a tensor on the device 'meta'"),
        ((s, z), {"prior": 1.2}, "prior=1.2 must lie strictly between 0 and 1"),
        ((s, z), {"scenario": "one-sample"}, "scenario='one-sample' is not known; use one of 'case-control'"),
        ((s, z), {"loss": "logistic"}, "loss='logistic' is not known; use one of 'sigmoid', 'zero-one'"),
    ],
)
def test_bad_input_is_refused_in_words(rows, told, why):
    with pytest.raises(ValueError, match=why):
        metrics.pu_unbiased_risk(*rows, **{"prior": 0.3, **told})


def test_scores_may_be_lists_and_tensors():
    found = metrics.pu_auc(s, z)
    assert metrics.pu_auc(s.tolist(), z.tolist()) == metrics.pu_auc(torch.tensor(s), torch.tensor(z)) == found
    halves = np.round(2 * z) / 2  # which bfloat16 holds
    assert metrics.pu_auc(s, torch.tensor(halves).bfloat16()) == metrics.pu_auc(s, halves)
    assert metrics.evaluate(s.tolist(), torch.tensor(z)) == metrics.evaluate(s, z)


def test_a_metric_is_a_float_with_an_error():
    found = metrics.pu_f1(s, z, 0.3)
    assert isinstance(found, float) and json.dumps({"f1": found}) == json.dumps({"f1": float(found)})
    for same in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert same == found and same.error == found.error > 0


# ------------------------------------------------------------------------- the page

PAGE = "docs/evaluation.md"


@every_scenario
def test_the_pages_numbers_are_those_of_the_tool(scenario):
    (heading,) = (line for line in text_of(PAGE).splitlines() if line.startswith(f"### {scenario}"))
    shown = table(PAGE, "metric", "truth", "ours", under=heading)
    measured = simulation["measured"](scenario)
    assert list(shown) == [f"`{name}`" for name in measured]
    for name, numbers in measured.items():
        told = [float(cell) if cell else np.nan for cell in shown[f"`{name}`"]]
        np.testing.assert_allclose(told, numbers, atol=0.00051, err_msg=name)
        true, ours, error, _, naive = told
        assert abs(ours - true) < error
        assert np.isnan(naive) or name == "pu_recall" or abs(naive - true) > 4 * error


def test_the_page_says_what_the_wrong_share_gives():
    assert f"with 0.4 gives {simulation['with_the_wrong_share']():.3f} in this simulation" in text_of(PAGE)


def test_the_page_says_when_to_take_each_metric_and_whether_it_needs_the_prior():
    rows = table(PAGE, "you want to", "take")
    for name in PU_METRICS:
        (needs,) = (cells[1] for cells in rows.values() if f"`{name}`" in cells[0])
        prior = signature(PU_METRICS[name]).parameters.get("prior")
        needed = prior is not None and prior.default is prior.empty
        assert ("yes" if needed else "no") in needs, name


def test_the_pages_code_runs(toy, capsys):
    X, s, y = toy
    from distpu import BaggingPU

    held_out, rest = np.arange(300) % 2 == 0, np.arange(300) % 2 == 1
    model = BaggingPU(prior=0.4, random_state=0).fit(X[rest], s[rest])
    one, search = blocks(PAGE)
    exec(one, {"s": s[held_out], "z": model.decision_function(X[held_out])})
    auc, error = map(float, capsys.readouterr().out.split("±"))
    hidden = held_out & (s == 0)
    assert abs(auc - metrics.evaluate(y[hidden], model.decision_function(X[hidden]))["auc"]) < 2 * error < 0.5
    exec(search, {"X": X, "s": s})
    assert "n_estimators" in capsys.readouterr().out


def test_the_tool_writes_the_page_as_it_is(tmp_path, monkeypatch, capsys):
    """Run as a command with --write, on a copy of the page whose tables are damaged."""
    page = tmp_path / "evaluation.md"
    page.write_text(text_of(PAGE).replace("0.8", "7.7"))
    main = simulation["main"]
    monkeypatch.setitem(main.__globals__, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["evaluation.py", "--write"])
    main()
    tables = text_of(PAGE).split("## Beside the truth")[1]
    assert page.read_text().split("## Beside the truth")[1] == tables
    assert (tmp_path / "evaluation.png").stat().st_size > 10_000
