import numpy as np
import pytest

from distpu.prior import Estimate, PriorEstimator
from distpu.prior.binormal import SHARES, binormal, credible, posterior, share_to_call


def drawn(share, distance=1.5, n_p=300, n_u=3000, seed=0):
    random = np.random.default_rng(seed)
    y = random.random(n_u) < share
    return random.normal(distance, 1, n_p), random.normal(size=n_u) + distance * y, y.mean()


def drawn_labels(share, n_u=3000, seed=0):
    """The true labels of `drawn`."""
    return np.random.default_rng(seed).random(n_u) < share


@pytest.mark.parametrize(("share", "distance"), [(0.05, 1.5), (0.3, 1.5), (0.7, 3.0)])
def test_the_share_is_found_also_where_classes_overlap(share, distance):
    z_p, z_u, truth = drawn(share, distance)
    assert binormal(z_p, z_u) == pytest.approx(truth, abs=0.12)
    low, high = credible(z_p, z_u, 0.9)
    assert low < truth < high
    assert credible(z_p, z_u, 0.5)[0] > low


def test_only_the_order_of_the_scores_counts():
    z_p, z_u, _ = drawn(0.3)
    assert binormal(z_p, z_u) == binormal(np.exp(z_p), np.exp(z_u)) == binormal(z_p[::-1], z_u[::-1])


def test_the_posterior_is_a_distribution():
    z_p, z_u, _ = drawn(0.3, n_p=40, n_u=200)
    weight = posterior(z_p, z_u)
    assert weight.sum() == pytest.approx(1) and weight.min() >= 0 and weight @ SHARES == binormal(z_p, z_u)


def test_its_interval_is_its_own_and_says_what_it_assumes():
    z_p, z_u, _ = drawn(0.3, distance=1.0)
    found = PriorEstimator("binormal").fit_scores(z_p, z_u).estimate_
    assert found.interval == pytest.approx(credible(z_p, z_u, 0.9), abs=1e-6)
    assert found.two_sided and "only if the assumption of binormal holds" in found.reading
    assert PriorEstimator("binormal", bootstrap=0).fit_scores(z_p, z_u).interval_ == (found.prior,) * 2


@pytest.mark.parametrize(("share", "distance"), [(0.1, 1.5), (0.3, 2.5)])
def test_the_share_to_call_gives_nearly_the_best_accuracy_and_f1(share, distance):
    z_p, z_u, truth = drawn(share, distance)
    y = drawn_labels(share)

    def gain(called):
        found = (y & called).sum()
        return (called == y).mean() + 2 * found / (called.sum() + y.sum())

    best = max(gain(z_u >= np.quantile(z_u, 1 - q)) for q in np.linspace(0.01, 0.9, 90))
    called = share_to_call(z_p, z_u)
    assert gain(z_u >= np.quantile(z_u, 1 - called)) > best - 0.05
    assert share_to_call(z_p, z_u, of_f1=0) < called < share_to_call(z_p, z_u, of_f1=10)  # F1 wants more rows


def test_an_estimate_says_how_many_to_call_and_an_old_one_does_not():
    z_p, z_u, _ = drawn(0.3)
    found = PriorEstimator("binormal").fit_scores(z_p, z_u).estimate_
    assert found.to_call == share_to_call(z_p, z_u) != found.prior
    assert PriorEstimator("bbe").fit_scores(z_p, z_u).estimate_.to_call is None
    stored = found.to_json()
    assert Estimate.from_json(stored) == found
    del stored["to_call"]
    assert Estimate.from_json(stored).to_call is None


def test_few_labelled_rows_of_many_leave_the_share_open():
    z_p, z_u, truth = drawn(0.3, distance=2.5, n_p=50, n_u=100_000)
    assert binormal(z_p, z_u) == pytest.approx(truth, abs=0.1)


def test_an_interval_from_a_handful_of_labelled_rows_is_called_a_guess():
    z_p, z_u, _ = drawn(0.3, distance=4.0)
    with pytest.warns(UserWarning, match="5 labelled positives"):
        few = PriorEstimator("binormal").fit_scores(z_p[:5], z_u).estimate_
    assert few.few and "a rough guess at both ends, because fewer than 20 rows are labelled" in few.reading
    assert "rough guess" not in PriorEstimator("binormal").fit_scores(z_p, z_u).estimate_.reading
