import numpy as np
import pytest

from distpu import KernelUPU
from distpu.methods.kernel_upu import closed_form, risk
from distpu.prior import Estimate

MOMENTS = np.array([[0.5, 0.2], [0.2, 0.4]]), np.array([0.6, 0.3]), np.array([0.4, 0.35])


@pytest.mark.parametrize(
    ("prior", "a", "j"),
    [(0.4, (0.1842105263, -0.2447368421), 0.2348940443), (0.3, (0.0263157895, -0.2921052632), 0.2335477839)],
)
def test_closed_form_by_hand(prior, a, j):
    found = closed_form(*MOMENTS, prior, 0.1)
    np.testing.assert_allclose(found, a, atol=1e-9)
    assert risk(found, *MOMENTS, prior) == pytest.approx(j, abs=1e-9)


def test_the_risk_is_the_unbiased_risk_of_the_squared_loss():
    random = np.random.default_rng(0)
    f_p, f_u, a = random.normal(size=(5, 2)), random.normal(size=(7, 2)), np.array([0.3, -0.7])
    loss = lambda z: (1 - z) ** 2 / 4  # noqa: E731
    naive = 0.4 * (loss(f_p @ a) - loss(-(f_p @ a))).mean() + loss(-(f_u @ a)).mean()
    assert risk(a, f_u.T @ f_u / 7, f_p.mean(0), f_u.mean(0), 0.4) == pytest.approx(naive)


def test_auto_is_km2(toy, monkeypatch):
    X, s, y = toy
    asked = []

    def noted(name, rows, s):
        asked.append(name)
        return Estimate(0.4, (0.3, 0.5), 0.5, name)

    monkeypatch.setattr("distpu.estimator.estimated", noted)
    fitted = KernelUPU(folds=2, random_state=0).fit(X, s)
    assert fitted.prior_ == 0.4 and (fitted.predict(X) == y)[s == 0].mean() > 0.85
    KernelUPU(prior="bbe", folds=2, random_state=0).fit(X, s)
    assert asked == ["km2", "bbe"]
