"""The indicator of separability, and what it makes of an interval."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from distpu.prior import PriorEstimator
from distpu.prior.separable import APART, least_share, separability


def scores_of(distance, share=0.3, n_p=300, n_u=2000, seed=0):
    random = np.random.default_rng(seed)
    y = random.random(n_u) < share
    return random.normal(distance, 1, n_p), random.normal(size=n_u) + distance * y, y


def test_the_least_share_by_a_naive_loop():
    z_p, z_u, _ = scores_of(2.0, n_p=40, n_u=90)
    z_p, z_u = z_p.round(1), z_u.round(1)
    bounds = []
    for c in set(z_p):
        k_p, k_u = (z_p >= c).sum(), (z_u >= c).sum()
        if k_p >= 10:
            sd = np.sqrt((1 - k_p / 40) / k_p + 1 / max(k_u, 1) - 1 / 90)
            bounds.append(max(k_u, 0.5) / 90 / (k_p / 40) * np.exp(-norm.ppf(0.95) * sd))
    assert least_share(z_p, z_u, 0.9) == pytest.approx(min(bounds))


def test_separability_is_the_area_with_the_share_given():
    z_p, z_u, y = scores_of(1.5, n_p=5000, n_u=20_000)
    truth = roc_auc_score(y, z_u)
    assert separability(z_p, z_u, y.mean()) == pytest.approx(truth, abs=0.015)
    s, z = np.repeat([1, 0], [5000, 20_000]), np.concatenate([z_p, z_u]).round(1)  # ties
    assert separability(z[:5000], z[5000:], 0.0) == pytest.approx(roc_auc_score(s, z))
    assert separability(z_p, z_u, 1.0) in (0.0, 1.0)  # no negatives at all: nothing to tell apart, but no crash


def test_the_least_share_is_the_prior_less_its_error_where_classes_are_apart():
    z_p, z_u, y = scores_of(8.0)
    assert 0.6 * y.mean() < least_share(z_p, z_u, 0.9) < y.mean()
    assert least_share(z_p, z_u, 0.5) > least_share(z_p, z_u, 0.99)


@pytest.mark.parametrize("name", ["bbe", "dedpul"])
def test_an_interval_has_two_sides_where_classes_are_apart_and_one_where_they_overlap(name):
    apart, overlapping = (PriorEstimator(name).fit_scores(*scores_of(d)[:2]).estimate_ for d in (4.0, 1.0))
    assert apart.two_sided is True and apart.separability > 0.94
    assert "Both ends of the interval count" in apart.reading and f"{APART} is needed" in apart.reading
    assert overlapping.two_sided is False and overlapping.separability < 0.87
    assert "Only the upper end" in overlapping.reading and "The truth may be lower" in overlapping.reading


def test_the_truth_lies_inside_where_the_interval_has_two_sides_and_below_its_end_elsewhere():
    """Thirty draws at four distances. At least 85 % of the intervals with two sides hold the truth."""
    held, below = [], []
    for seed in range(30):
        z_p, z_u, y = scores_of((1.0, 2.0, 3.0, 4.0)[seed % 4], (0.1, 0.3, 0.6)[seed % 3], 100, 1000, seed)
        one = PriorEstimator("bbe", bootstrap=20).fit_scores(z_p, z_u).estimate_
        if one.two_sided:
            held.append(one.interval[0] <= y.mean() <= one.interval[1])
        else:
            below.append(y.mean() <= one.interval[1])
    assert len(held) > 8 and len(below) > 8
    assert np.mean(held) >= 0.85 and np.mean(below) >= 0.85


def test_few_labelled_rows_never_give_two_sides():
    z_p, z_u, _ = scores_of(6.0, 0.1, n_p=19)
    with pytest.warns(UserWarning, match=r"\(between 0.\d+ and 0.\d+\) from 19 labelled positives"):
        one = PriorEstimator("bbe").fit_scores(z_p, z_u).estimate_
    assert one.separability > APART and one.two_sided is False and "fewer than 20 rows are labelled" in one.reading


def test_without_resampling_there_is_no_word_on_the_interval():
    one = PriorEstimator("bbe", bootstrap=0).fit_scores(*scores_of(4.0)[:2]).estimate_
    assert one.two_sided is None and one.reading == ""


def test_rows_get_the_reading_of_their_scores(toy):
    X, s, _ = toy
    on_scores, on_rows = (PriorEstimator(name, bootstrap=2).fit(X, s).estimate_ for name in ("bbe", "tice"))
    assert on_scores.separability == on_rows.separability and on_scores.two_sided == on_rows.two_sided
