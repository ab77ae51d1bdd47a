import numpy as np
import pytest

from distpu.prior.pe import matched, pe

G, H = np.array([[0.5, 0.2], [0.2, 0.4]]), np.array([0.9, 0.6])


def test_the_specifications_moments():
    assert matched(H, G, 0.1) == pytest.approx(0.5660219375, abs=1e-10)
    assert matched(H, G, 0) == pytest.approx(0.5555555556, abs=1e-10)
    assert matched(np.array([0.45, 0.35]), np.array([[0.3, 0.1], [0.1, 0.4]]), 0.1) == pytest.approx(4 / 3)


def test_a_match_above_one_is_cut():
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 2))
    assert 0.8 < pe(rows[:200], rows[200:]) <= 1  # every unlabelled row is such as the labelled ones


def test_a_tidy_mixture():
    random = np.random.default_rng(1)
    p, u = (
        random.normal(4, 1, (300, 1)),
        np.concatenate([random.normal(4, 1, (300, 1)), random.normal(-4, 1, (700, 1))]),
    )
    assert pe(p, u) == pytest.approx(0.3, abs=0.05)
