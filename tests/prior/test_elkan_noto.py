import numpy as np
import pytest

from distpu.prior.elkan_noto import elkan_noto, ratio

Z_P, Z_U = np.array([0.95, 0.9, 0.8, 0.6]), np.array([0.92, 0.85, 0.5, 0.3, 0.2, 0.1])


def test_the_specifications_scores():
    assert elkan_noto(Z_P, Z_U, calibrate=False, balanced=True) == pytest.approx(0.2307692308, abs=1e-10)
    assert elkan_noto(Z_P, Z_U, calibrate=False) == pytest.approx(4 / 6 * 0.2307692308, abs=1e-10)
    assert ratio(Z_P, Z_U) == pytest.approx(0.5887179487, abs=1e-10)


def test_calibration_by_hand():
    """The isotonic steps of s in the order of the scores: 0 up to .5, 3/5 for .6 .8 .85 .9 .92 pooled, 1 above."""
    c = (0.6 + 0.6 + 0.6 + 1) / 4
    assert elkan_noto(Z_P, Z_U) == pytest.approx(4 * (1 - c) / (c * 6))


def test_calibration_undoes_a_distorted_score():
    random = np.random.default_rng(0)
    z_p, z_u = random.beta(6, 2, 200), np.concatenate([random.beta(6, 2, 200), random.beta(1, 20, 600)])
    assert elkan_noto(z_p**3, z_u**3) == pytest.approx(elkan_noto(z_p, z_u))
    assert elkan_noto(z_p, z_u) == pytest.approx(0.25, abs=0.05)
    assert abs(elkan_noto(z_p**3, z_u**3, calibrate=False) - 0.25) > 0.06
