import numpy as np
import pytest
from scipy.optimize import minimize

from distpu.prior.km import curve, found, km1, km2, nearest_mean, project, share_of, unbiased_gap
from distpu.prior.sample import squared_distances


def test_the_specifications_value():
    assert share_of(1.5) == pytest.approx(1 / 3)


def test_bisection_finds_where_the_slope_rises():
    assert found(lambda x: max(0.0, x - 1.5), 0.5) == pytest.approx(1 / 3, abs=0.02)
    assert found(lambda x: 0.0, 0.5) == pytest.approx(1 - 1 / 8, abs=0.01)


def test_the_projection_onto_the_simplex():
    v = project(np.array([0.6, 0.9, -1.0]))
    np.testing.assert_allclose(v, [0.35, 0.65, 0.0])


def test_the_quadratic_program_by_another_solver():
    random = np.random.default_rng(0)
    x = random.normal(size=(14, 2))
    kernel = np.exp(-squared_distances(x, x) / 2)
    target = np.repeat([-0.4 / 6, 1.4 / 8], [6, 8])
    ours = nearest_mean(kernel, target, float(kernel.sum(1).max()), rounds=20_000, enough=1e-14)

    def value(v):
        return (v - target) @ kernel @ (v - target)

    other = minimize(value, np.full(14, 1 / 14), bounds=[(0, 1)] * 14, method="SLSQP", options={"ftol": 1e-14},
                     constraints={"type": "eq", "fun": lambda v: v.sum() - 1})  # fmt: skip
    assert ours.sum() == pytest.approx(1) and ours.min() >= 0
    assert value(ours) == pytest.approx(other.fun, rel=1e-4)


def test_the_distance_is_zero_at_the_unlabelled_rows_and_grows():
    random = np.random.default_rng(0)
    p, u = random.normal(3, 1, (60, 2)), np.concatenate([random.normal(3, 1, (60, 2)), random.normal(-3, 1, (60, 2))])
    d, gap, n = curve(p, u, 0)
    assert (d(1.0), n) == (pytest.approx(0, abs=1e-6), 60)
    assert d(1.5) < d(3.0) < d(6.0) <= 6 * gap
    assert km1(p, u) == pytest.approx(0.5, abs=0.1)
    assert km2(p, u) == pytest.approx(0.5, abs=0.1)


def test_the_gap_has_no_bias():
    """Two samples of one population are not apart on the mean. The gap with k(x, x) in it says 2 / n."""
    random = np.random.default_rng(0)
    found, biased = [], []
    for _ in range(40):
        x = random.normal(size=(40, 3))
        kernel = np.exp(-squared_distances(x, x) / (2 * 0.3**2))
        found.append(unbiased_gap(kernel, 20))
        biased.append(kernel[:20, :20].mean() + kernel[20:, 20:].mean() - 2 * kernel[:20, 20:].mean())
    assert abs(np.mean(found)) < 0.01 < 0.09 < np.mean(biased)


def test_a_narrow_kernel_does_not_win_by_its_bias():
    """In 16 columns every row is alone under a narrow kernel; KM1 returned 0.013 then, whatever the truth."""
    random = np.random.default_rng(0)
    y = np.repeat([True, False], [120, 180])
    p, u = random.normal(size=(250, 16)), random.normal(size=(300, 16))
    p[:, :4] += 2
    u[y, :4] += 2
    assert 0.25 < km1(p, u) < 0.75  # 0.4 is true
