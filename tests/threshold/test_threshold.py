"""Calibration, cuts and expectations on simulated scores, whose truth is known."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from scipy.special import expit

from distpu.metrics import pu_precision
from distpu.threshold import (
    Calibration,
    HeldOut,
    calibration_error,
    cross_calibrated,
    cut_at,
    expected,
    find_cut,
    read_choice,
    reliability,
    with_share,
)
from distpu.threshold.calibration import _isotonic, _platt

PRIOR = 0.3


def draw(n_p=400, n_u=4000, seed=0, gap=2.0, prior=PRIOR):
    """Positives score as N(gap / 2, 1), negatives as N(-gap / 2, 1): log-odds = gap z + logit(prior)."""
    random = np.random.default_rng(seed)
    y = random.random(n_u) < prior
    return random.normal(gap / 2, size=n_p), random.normal(size=n_u) + np.where(y, gap / 2, -gap / 2), y


def truth(z, prior=PRIOR, gap=2.0):
    return expit(gap * z + np.log(prior / (1 - prior)))


# ------------------------------------------------------------------ calibration


def test_platt_by_moments_finds_the_true_sigmoid_and_keeps_both_moments():
    z_p, z_u, _ = draw(200_000, 200_000)
    slope, intercept = _platt(z_p, z_u, PRIOR)
    assert slope == pytest.approx(2, abs=0.03) and intercept == pytest.approx(np.log(3 / 7), abs=0.03)
    z_p, z_u, _ = draw(50, 300)
    slope, intercept = _platt(z_p, z_u, PRIOR)
    p = expit(slope * z_u + intercept)
    assert p.mean() == pytest.approx(PRIOR, abs=1e-9)
    assert (p * z_u).mean() == pytest.approx(PRIOR * z_p.mean(), abs=1e-3)  # the ridge takes a little


def test_the_isotonic_map_by_hand():
    """P at 1, 3; U at 0, 1, 2, 3: the ratios 0.4 (P share 1/2) / (U share 1/4) at 0, 1, 2, 3 are 0, .8, 0, .8."""
    z, p = _isotonic(np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.0]), 0.4)
    np.testing.assert_allclose(np.interp([0, 1, 2, 3], z, p), [0, 0.4, 0.4, 0.8], atol=1e-9)  # 1 and 2 are pooled


def test_the_isotonic_map_gives_back_what_the_cap_takes():
    z, p = _isotonic(np.repeat([0.0, 5.0], [2, 8]), np.repeat([0.0, 5.0], [80, 20]), 0.5)
    # ratios: .5 .2 / .8 = 0.125 below, .5 .8 / .2 = 2 above, capped at 1; 0.3 of the mass is left for the 80 rows below
    np.testing.assert_allclose(np.interp([0, 5], z, p), [0.375, 1], atol=1e-9)


def test_probabilities_mean_what_they_say():
    z_p, z_u, y = draw()
    p = Calibration.fit(np.exp(z_p), np.exp(z_u), PRIOR)(np.exp(z_u))  # any scale will do
    assert calibration_error(p, y) < 0.03
    assert calibration_error(expit(z_u), y) > 0.05
    assert p.mean() == pytest.approx(PRIOR, abs=1e-6)
    assert np.abs(p - truth(z_u)).mean() < 0.04


@pytest.mark.parametrize("n_p", [1, 2, 14])
def test_few_labelled_rows(n_p):
    z_p, z_u, y = draw(n_p, 200, seed=1)
    p = Calibration.fit(z_p, z_u, PRIOR)(z_u)
    assert p.mean() == pytest.approx(PRIOR, abs=1e-6) and ((p >= 0) & (p <= 1)).all()
    if n_p == 14:
        assert calibration_error(p, y) < 0.15


@pytest.mark.parametrize(
    ("z_p", "z_u"),
    [
        ([3.0] * 14, [3.0] * 100),
        ([1.0], [1.0]),
        ([0.0, 1.0, 2.0], [0.0]),
        ([1.0] * 10, [0.0] * 990 + [1.0] * 10),
        ([0.0] * 10, [0.0] * 10 + [1.0] * 990),
        ([np.inf] * 5 + [1.0] * 5, [-np.inf] * 50 + [1.0] * 20 + [np.inf] * 3),
        ([np.inf] * 3, [-np.inf] * 9),
        ([1e300] * 10, [-1e300] * 90 + [1e300] * 10),
        ([1e-300] * 10, [0.0] * 90 + [1e-300] * 10),
        ([9.0, 8.0, 10.0], list(np.linspace(-1, 1, 99)) + [9.0]),
        ([-5.0] * 9, list(np.linspace(-1, 1, 99))),
    ],
)
@pytest.mark.parametrize("prior", [0.001, 0.3, 0.99])
def test_odd_scores_keep_the_mean_the_order_and_the_range(z_p, z_u, prior):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Calibration.fit(z_p, z_u, prior)
        p = found(np.array(z_u))
        everywhere = found(np.array([-np.inf, -1e308, -30, -1, 0, 1e-300, 1, 2, 30, 1e308, np.inf]))
    assert p.mean() == pytest.approx(prior, rel=1e-4)
    assert (np.diff(everywhere) >= 0).all() and (everywhere >= 0).all() and (everywhere <= 1).all()
    assert Calibration.from_json(json.loads(json.dumps(found.as_json()))) == found


def test_what_cannot_be_calibrated_says_so():
    with pytest.raises(ValueError, match="the scores of labelled rows hold 1 NaN; give a score for every row"):
        Calibration.fit([1.0, np.nan], [0.0, 1.0], 0.3)
    with pytest.raises(ValueError, match="the scores of unlabelled rows have shape"):
        Calibration.fit([1.0], [], 0.3)
    with pytest.raises(ValueError, match="prior=1.2 must lie strictly between 0 and 1"):
        Calibration.fit([1.0], [0.0], 1.2)


def test_another_share_of_positives():
    z_p, z_u, y = draw(2000, 20_000)
    p = Calibration.fit(z_p, z_u, PRIOR)(z_u)
    np.testing.assert_allclose(with_share(p, PRIOR, PRIOR), p, atol=1e-12)
    more = np.flatnonzero(y)[:3000]
    both, labels = np.concatenate([z_u, z_u[more]]), np.concatenate([y, y[more]])
    shifted = with_share(Calibration.fit(z_p, z_u, PRIOR)(both), PRIOR, labels.mean())
    assert calibration_error(shifted, labels) < 0.02
    assert with_share(np.array([0.0, 1.0]), 0.3, 0.5).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="share=1.0 must lie strictly"):
        with_share(p, 0.3, 1.0)


def test_reliability_without_negatives_is_near_the_error_with_them():
    pairs = []
    for seed in range(20):
        z_p, z_u, y = draw(300, 3000, seed)
        for times in (0.5, 1.0, 3.0):  # too timid, right, too sure
            p_p, p_u = (expit(times * np.log(truth(z) / (1 - truth(z)))) for z in (z_p, z_u))
            found = reliability(p_p, p_u, PRIOR)
            pairs.append((found, calibration_error(p_u, y), found.error))
    found, true, error = np.array(pairs).T
    assert np.corrcoef(found, true)[0, 1] > 0.8
    assert (np.abs(found - true) < 2 * error + 0.01).mean() > 0.9
    z_p, z_u, _ = draw()
    assert float(reliability(*cross_calibrated(z_p, z_u, PRIOR), PRIOR)) < 0.05
    assert [len(p) for p in cross_calibrated(z_p[:1], z_u, PRIOR)] == [1, len(z_u)]


# ------------------------------------------------------------------ held-out scores


@pytest.mark.parametrize("n", [3, 999, 30_000])
def test_a_short_table_counts_exactly_at_its_scores(n):
    z_p, z_u, _ = draw(50, n)
    z_u[: n // 3] = z_u[: n // 3].round(1)
    table = HeldOut.of(z_p, z_u).unlabelled
    assert len(table.z) <= 1000 and table.rows == n
    for i in range(0, len(table.z), max(1, len(table.z) // 50)):
        assert (z_u >= table.below(i)).sum() == table.above[i] == table.at_least(table.below(i))
    assert table.at_least(np.inf) == 0
    held_out = HeldOut.of(z_p, z_u)
    assert HeldOut.from_json(json.loads(json.dumps(held_out.as_json()))) == held_out


# ------------------------------------------------------------------ cuts


@pytest.fixture(scope="module")
def scores():
    z_p, z_u, y = draw(1000, 10_000)
    return HeldOut.of(z_p, z_u), Calibration.fit(z_p, z_u, PRIOR), z_u, y


@pytest.mark.parametrize("wanted", [0.6, 0.8, 0.95])
def test_precision_and_recall_keep_their_promise(wanted, scores):
    held_out, calibration, z, y = scores
    called = z >= find_cut(f"precision={wanted}", held_out, PRIOR, calibration)
    assert y[called].mean() == pytest.approx(wanted, abs=0.03)
    called = z >= find_cut(f"recall={wanted}", held_out, PRIOR, calibration)
    assert (y & called).sum() / y.sum() == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize("cost", [0.2, 1, 8])
def test_a_cost_ratio_is_nearly_the_cheapest_cut(cost, scores):
    held_out, calibration, z, y = scores

    def price(cut):
        return cost * (y & (z < cut)).sum() + (~y & (z >= cut)).sum()

    cheapest = min(map(price, np.linspace(-4, 4, 201)))
    assert price(find_cut(f"cost={cost}", held_out, PRIOR, calibration)) < 1.1 * cheapest


def test_the_other_choices(scores):
    held_out, calibration, z, _ = scores
    for rows in (1, 100, 9_999):
        assert (z >= find_cut(f"rows={rows}", held_out, PRIOR, calibration)).sum() == pytest.approx(rows, rel=0.02)
    assert (z >= find_cut("rows=20000", held_out, PRIOR, calibration)).all()
    part = find_cut("rows=1000", dataclasses.replace(held_out, total=50_000), PRIOR, calibration)
    assert (z >= part).sum() == pytest.approx(200, rel=0.02)
    assert (z >= find_cut("prior", held_out, PRIOR, calibration)).mean() == pytest.approx(PRIOR, abs=0.002)
    assert find_cut("prior", held_out, PRIOR, calibration) == pytest.approx(cut_at(z, PRIOR), abs=0.01)
    half = find_cut("half", held_out, PRIOR, calibration)
    np.testing.assert_array_equal(z >= half, calibration(z) >= 0.5)
    assert half == find_cut(0.5, held_out, PRIOR, calibration) == find_cut("cost=1", held_out, PRIOR, calibration)
    with pytest.raises(ValueError, match="the method's own cut"):
        find_cut("auto", held_out, PRIOR, calibration)


def test_what_cannot_be_reached_is_said_and_the_nearest_is_taken():
    z_p, z_u, _ = draw(300, 3000, gap=0.5, prior=0.1)
    held_out, calibration = HeldOut.of(z_p, z_u), Calibration.fit(z_p, z_u, 0.1)
    with pytest.warns(
        UserWarning, match=r"threshold='precision=0.99' cannot be reached: .* ask for a precision up to 0"
    ):
        cut = find_cut("precision=0.99", held_out, 0.1, calibration)
    assert 0 < (z_u >= cut).sum() < 300
    assert (z_u >= find_cut(0.99, held_out, 0.1, calibration)).sum() == 0  # no row is that likely
    ties = HeldOut.of(np.ones(20), np.repeat([0.0, 1.0], [80, 20]))
    calibration = Calibration.fit(np.ones(20), np.repeat([0.0, 1.0], [80, 20]), 0.2)
    with pytest.warns(UserWarning, match="'rows=5' cannot be kept: 20 rows share the highest score"):
        assert find_cut("rows=5", ties, 0.2, calibration) == 0.5


def test_one_score_for_all_rows():
    z_p, z_u = np.zeros(5), np.zeros(50)
    held_out, calibration = HeldOut.of(z_p, z_u), Calibration.fit(z_p, z_u, PRIOR)
    for choice in ("prior", "recall=0.5", 0.2):
        assert find_cut(choice, held_out, PRIOR, calibration) <= 0  # all rows are called
    assert find_cut("half", held_out, PRIOR, calibration) > 0
    assert expected(0.0, held_out, PRIOR, calibration).precision == pytest.approx(PRIOR)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("auto", "auto", None),
        ("half", "half", None),
        (" precision = .9 ", "precision", 0.9),
        ("0.25", "probability", 0.25),
        (0.25, "probability", 0.25),
        (np.float32(0.5), "probability", 0.5),
        ("rows=1e3", "rows", 1000),
        ("cost=5", "cost", 5),
    ],
)
def test_spellings(text, kind, value):
    choice = read_choice(text)
    assert choice.kind == kind and (value is None or choice.value == value)
    assert read_choice(str(choice)).kind == kind and read_choice(choice) is choice


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precison=0.9", "is not known; did you mean 'precision'?"),
        ("x", "use a probability such as 0.3"),
        ("precision", "must give a number for precision, such as precision=0.9"),
        ("recall=nan", "must give a number for recall, such as recall=0.8"),
        ("recall=0", "recall must be above 0 and at most 1"),
        ("half=3", "'half' takes none; write threshold='half'"),
        ("rows=1.5", "rows must be a whole number from 1"),
        ("cost=-1", "cost must be above 0"),
        (1.5, "must lie strictly between 0 and 1"),
        (True, "must be a probability such as 0.3"),
        (None, "must be a probability such as 0.3"),
        (float("nan"), "must be a probability such as 0.3"),
    ],
)
def test_spellings_that_are_refused(text, message):
    with pytest.raises(ValueError) as error:
        read_choice(text)
    assert f"threshold={text!r}" in str(error.value) and message in str(error.value)


# ------------------------------------------------------------------ expectations


def test_expectations_are_within_their_errors_of_the_truth():
    inside = {"precision": [], "recall": [], "rows": []}
    for seed in range(40):
        z_p, z_u, y = draw(100, 1000, seed)
        held_out, calibration = HeldOut.of(z_p, z_u), Calibration.fit(z_p, z_u, PRIOR)
        new = draw(100, 1000, seed + 1000)
        for cut in (-0.5, 0.3, 1.0):
            found = expected(cut, held_out, PRIOR, calibration)
            called = z_u >= cut
            inside["precision"].append(abs(found.precision - y[called].mean()) < 2 * found.precision.error)
            inside["recall"].append(abs(found.recall - (y & called).sum() / y.sum()) < 2 * found.recall.error)
            inside["rows"].append(abs(found.rows - (new[1] >= cut).sum()) < 3 * found.rows.error)  # two draws
    assert all(np.mean(values) > 0.9 for values in inside.values()), inside


def test_expectations_without_a_calibration_are_the_pu_metrics():
    z_p, z_u, _ = draw(100, 1000)
    s = np.repeat([1, 0], [100, 1000])
    metric = pu_precision(s, np.concatenate([z_p, z_u]), PRIOR, threshold=0.5)
    found = expected(0.5, HeldOut.of(z_p, z_u), PRIOR)
    assert found.precision == pytest.approx(metric) and found.precision.error == pytest.approx(metric.error)


def test_an_unsure_prior_makes_expectations_unsure():
    z_p, z_u, _ = draw(100, 1000)
    held_out, calibration = HeldOut.of(z_p, z_u), Calibration.fit(z_p, z_u, PRIOR)
    sure = expected(0.5, held_out, PRIOR, calibration)
    unsure = expected(0.5, HeldOut.of(z_p, z_u, 5000), PRIOR, calibration, interval=(0.2, 0.45))
    assert unsure.precision == sure.precision and unsure.precision.error > 1.5 * sure.precision.error
    assert sure.hidden_interval is None and unsure.hidden_interval == (1000, 2250) and unsure.hidden == 1500
    assert "about 1,500 of 5,000 unlabelled rows are positive (1,000 to 2,250); the cut should call" in str(unsure)
    assert json.loads(json.dumps(unsure.as_json()))["precision"] == [unsure.precision, unsure.precision.error]
    nothing = expected(99.0, held_out, PRIOR, calibration)
    assert nothing.rows == nothing.precision == nothing.recall == 0
