import time

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from distpu.prior.dedpul import _density, dedpul, density_ratio, negatives


def test_em_on_the_specifications_ratios():
    r = np.array([2.2, 1.8, 0.6, 0.3, 0.1])
    assert 1 - negatives(r) == pytest.approx(0.4545649787, abs=1e-10)
    for rounds, a in ((1, 0.4), (2, 0.48), (3, 0.5088), (4, 0.524928)):  # by the loop of the equation
        found = 0.0
        for _ in range(rounds):
            found = np.maximum(0, 1 - (1 - found) * r).mean()
        assert found == pytest.approx(a)


def test_em_that_does_not_end_takes_the_bend():
    """One round is too few. The gap bends most where the largest ratio leaves its bound."""
    r = np.concatenate([np.full(30, 3.0), np.full(70, 1 / 7)])
    assert 1 - negatives(r, rounds=1) == pytest.approx(1 / 3, abs=0.002)


def test_the_binned_density_is_scipys():
    random = np.random.default_rng(0)
    t, at = random.normal(size=400), np.linspace(-2, 2, 50)
    expected = gaussian_kde(t, 0.1)(at)
    np.testing.assert_allclose(_density(t, 0.1, t.min(), t.max(), at), expected, rtol=0.01, atol=1e-3)


def test_the_ratio_falls_and_is_large_where_positives_are():
    random = np.random.default_rng(1)
    z_p, z_u = random.beta(8, 2, 300), np.concatenate([random.beta(8, 2, 400), random.beta(2, 8, 600)])
    r = density_ratio(z_p, z_u)
    assert len(r) == 1000 and (np.diff(r) <= 0).all()
    assert r[:300].mean() == pytest.approx(1 / 0.4, rel=0.15)  # f_P / (0.4 f_P) where no negative is
    assert dedpul(z_p, z_u) == pytest.approx(0.4, abs=0.05)


def test_a_million_scores_take_seconds():
    random = np.random.default_rng(2)
    z_p, z_u = random.beta(8, 2, 10_000), np.concatenate([random.beta(8, 2, 200_000), random.beta(2, 8, 800_000)])
    start = time.process_time()
    assert dedpul(z_p, z_u) == pytest.approx(0.2, abs=0.03)
    assert time.process_time() - start < 20
