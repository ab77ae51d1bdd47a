import pytest

from distpu.data import mean_where
from distpu.methods.upu import upu_risk
from distpu.parts import LOSSES, double_hinge_loss, logistic_loss, pu_risks, sigmoid_loss
from fixture import P, close, finite_difference, gradient, logits, prior, s


@pytest.mark.parametrize(
    ("loss", "case", "positive", "negative", "risk"),
    [
        ("sigmoid", "A", 0.1637069559, 0.1360557440, 0.2997626999),
        ("sigmoid", "B", 0.1637069559, -0.1656914405, -0.0019844846),
        ("logistic", "A", 0.2552355577, 0.1535950034, 0.4088305611),
        ("logistic", "B", 0.2552355577, -0.3798774157, -0.1246418580),
    ],
)
def test_risk(loss, case, positive, negative, risk):
    z = logits(case)
    for part, expected in zip(pu_risks(z, s, prior, loss), (positive, negative), strict=True):
        close(part, expected, 1e-10)
    close(upu_risk(z, s, prior, loss), risk, 1e-10)


@pytest.mark.parametrize(("case", "risk"), [("A", 0.25), ("B", -0.2)])
def test_double_hinge_risk(case, risk):
    close(upu_risk(logits(case), s, prior, "double-hinge"), risk, 1e-10)


def test_the_form_of_2014():
    z = logits("A")
    form = 2 * prior * mean_where(sigmoid_loss(z), s == 1) + mean_where(sigmoid_loss(-z), s == 0) - prior
    close(form, 0.2997626999, 1e-10)


@pytest.mark.parametrize("loss", [logistic_loss, double_hinge_loss])
def test_the_form_of_2015(loss):
    z = logits("A")
    name = next(n for n, function in LOSSES.items() if function is loss)
    form = -prior * mean_where(z, s == 1) + mean_where(loss(-z), s == 0)
    close(form, upu_risk(z, s, prior, name), 1e-12)


def test_the_logistic_gradient_on_labelled_rows_is_constant():
    z = logits("A")
    close(gradient(upu_risk(z, s, prior, "logistic"), z)[: len(P)], [-0.1333333333] * 3, 1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", ["A", "B"])
def test_gradient_by_finite_differences(loss, case):
    z = logits(case)
    # away from the double hinge's corners at -1 and 1
    z = (z + 0.01).detach().requires_grad_()
    close(gradient(upu_risk(z, s, prior, loss), z), finite_difference(lambda v: upu_risk(v, s, prior, loss), z), 1e-8)
