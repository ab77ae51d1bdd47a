import numpy as np
import pytest

from distpu.prior.bbe import bbe
from distpu.prior.scott import scott


def test_by_a_naive_loop():
    random = np.random.default_rng(0)
    z_p, z_u = random.beta(5, 2, 80).round(2), np.concatenate([random.beta(5, 2, 60), random.beta(2, 5, 140)]).round(2)
    e_p, e_u = np.sqrt(np.log(40) / 160), np.sqrt(np.log(40) / 400)
    bounds = []
    for c in sorted({*z_p, *z_u}):
        q_p, q_u = (z_p >= c).mean(), (z_u >= c).mean()
        if q_p > e_p:
            bounds.append((q_u + e_u) / (q_p - e_p))
    assert scott(z_p, z_u) == pytest.approx(min(bounds))
    assert scott(z_p, z_u) > bbe(z_p, z_u)  # a bound lies above the estimate


def test_one_labelled_row_bounds_nothing():
    assert scott(np.array([0.9]), np.linspace(0, 1, 50)) == 1
