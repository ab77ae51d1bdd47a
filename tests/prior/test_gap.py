"""A gap in the scores: found where two groups stand apart, left alone elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from distpu import BlendPU
from distpu.prior import Estimate
from distpu.prior.gap import at_gap, cut_in_gap


def groups(apart: float, n: int = 2000, share: float = 0.3, seed: int = 0) -> np.ndarray:
    random, positives = np.random.default_rng(seed), round(share * n)
    return np.concatenate([random.normal(apart, 1, positives), random.normal(0, 1, n - positives)])


@pytest.mark.parametrize("seed", range(3))
def test_the_share_above_a_gap_is_that_of_the_upper_group(seed):
    z = groups(9, seed=seed)
    assert_allclose((z >= cut_in_gap(z, 0.2, 0.4)).mean(), 0.3, atol=1e-9)


@pytest.mark.parametrize("apart", [0, 1, 2, 3, 4])
def test_overlapping_groups_have_no_gap(apart):
    assert cut_in_gap(groups(apart), 0.01, 0.99) is None


def test_a_gap_outside_the_interval_does_not_count():
    assert cut_in_gap(groups(9), 0.4, 0.6) is None
    assert cut_in_gap(groups(9), 0.1, 0.2) is None


@pytest.mark.parametrize("z", [np.zeros(50), np.r_[np.zeros(49), 1.0], np.array([0.0, 1.0]), np.array([2.0])])
def test_few_or_equal_scores_have_no_gap(z):
    assert cut_in_gap(z, 0.1, 0.9) is None


def test_the_estimate_moves_and_keeps_its_interval():
    found = Estimate(0.27, (0.2, 0.35), 0.2, "binormal", to_call=0.28)
    moved = at_gap(found, np.full(100, 9.0), groups(9))
    assert_allclose([moved.prior, moved.to_call, moved.label_frequency], [0.3, 0.3, 100 / (100 + 0.3 * 2000)])
    assert moved.interval == found.interval and moved.name == found.name
    assert at_gap(found, np.full(100, 9.0), groups(2)) is found
    other = replace(found, name="bbe")
    assert at_gap(other, np.full(100, 9.0), groups(9)) is other


def test_positives_below_the_gap_count_in_the_prior():
    found = Estimate(0.3, (0.2, 0.4), 0.2, "binormal", to_call=0.3)
    moved = at_gap(found, np.repeat([9.0, 0.0], [80, 20]), groups(9, share=0.24))
    assert_allclose([moved.prior, moved.to_call], [0.3, 0.24])
    few = at_gap(found, np.repeat([9.0, 0.0], [10, 90]), groups(9, share=0.24))
    assert_allclose([few.prior, few.to_call], [0.4, 0.24])  # the end of the interval


def test_the_table_default_cuts_in_the_gap():
    random = np.random.default_rng(0)
    y = random.random(1500) < 0.3
    X = random.normal(size=(1500, 4)) + 6 * y[:, None]
    s = (y & (random.random(1500) < 0.3)).astype(int)
    model = BlendPU(progress=False, random_state=0).fit(X, s)
    assert_allclose(model.prior_, y[s == 0].mean(), atol=0.002)
    assert_array_equal(model.predict(X) == 1, y)
