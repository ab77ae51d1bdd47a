import numpy as np
import pytest

from distpu.prior import estimate_prior
from distpu.prior.scores import filled_rows
from distpu.prior.tice import best_first, largest_bound, lower_bound, share_of, tice


def test_the_specifications_values():
    assert lower_bound(30, 40, 0.2, 0.5) == pytest.approx(0.5918861170, abs=1e-10)
    assert share_of(0.6, 100, 400) == pytest.approx(1 / 6)


def test_delta_is_that_of_all_rows():
    assert largest_bound([(30, 40)], 1000, 0.5) == lower_bound(30, 40, 0.2, 0.5)  # 1 / (1 + 0.004 * 1000)
    assert largest_bound([(30, 40)], 10**6, 0.5) == lower_bound(30, 40, 0.025, 0.5)


def test_a_split_cuts_a_range_into_four():
    """40 rows on a line, the last quarter labelled; the tree grows on every other row."""
    x, s = np.linspace(0, 1, 80)[:, None], np.repeat([0, 1], [60, 20])
    nodes, total = best_first(x, s, np.arange(80) % 2 == 0)
    assert total == 40
    assert nodes[0] == (10, 40) and (10, 10) in nodes and (0, 10) in nodes


def test_the_label_frequency_of_a_pure_region():
    random = np.random.default_rng(0)
    p = random.normal(3, 1, (300, 2))
    u = np.concatenate([random.normal(3, 1, (300, 2)), random.normal(-3, 1, (900, 2))])
    assert tice(p, u) == pytest.approx(0.25, abs=0.08)


def test_wild_values_do_not_set_the_scale():
    """Four wild values put all other rows into one quarter of the range, and TIcE returned 1."""
    random = np.random.default_rng(0)
    y = np.repeat([True, True, False], [200, 200, 600])
    x, s = random.normal(size=(1000, 2)) + 5 * y[:, None], np.repeat([1, 0], [200, 800])
    x[[3, 400, 700, 900]] = 1e6
    assert estimate_prior(x, s, "tice") == pytest.approx(0.25, abs=0.1)
    p, u = filled_rows(x.astype(np.float32), s)
    assert max(p.max(), u.max()) < 10 and (len(p), len(u)) == (200, 800)
    rare = np.concatenate([x, (np.arange(1000) < 4)[:, None]], axis=1)
    assert filled_rows(rare.astype(np.float32), s)[0][:, 2].sum() == 4  # a rare 1 among zeros stays
