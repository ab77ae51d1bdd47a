import numpy as np
import pytest

from distpu.prior.pen_l1 import distance, pen_l1


def test_the_specifications_kernel_means():
    beta = 0.4 * np.array([0.5, 0.2, 0.1]) - np.array([0.3, 0.25, 0.02])
    assert distance(beta, 0.4, 0.1) == pytest.approx(0.604)


def test_a_tidy_mixture():
    random = np.random.default_rng(1)
    p, u = (
        random.normal(4, 1, (300, 1)),
        np.concatenate([random.normal(4, 1, (300, 1)), random.normal(-4, 1, (700, 1))]),
    )
    assert pen_l1(p, u) == pytest.approx(0.3, abs=0.05)
