import numpy as np
import pytest

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
