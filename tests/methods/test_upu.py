import pytest

from distpu.methods._parts import LOSSES, pu_risks
from distpu.methods.upu import FORMS, UPU, upu_risk, upu_risk_2014, upu_risk_2015
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


@pytest.mark.parametrize("case", ["A", "B"])
@pytest.mark.parametrize(("form", "loss"), [("2014", "sigmoid"), ("2015", "logistic"), ("2015", "double-hinge")])
def test_the_classic_forms_are_the_general_one(form, loss, case):
    z = (logits(case) + 0.01).detach().requires_grad_()  # away from the double hinge's corners
    general, classic = upu_risk(z, s, prior, loss), FORMS[form](z, s, prior, loss)
    close(classic, general, 1e-12)
    close(gradient(classic, z), gradient(general, z), 1e-12)


def test_the_classic_forms_on_fixture_a():
    close(upu_risk_2014(logits("A"), s, prior), 0.2997626999, 1e-10)
    close(upu_risk_2015(logits("A"), s, prior), 0.4088305611, 1e-10)


def test_a_form_that_does_not_hold_for_the_loss_is_refused(toy):
    X, labels, _ = toy
    for form, loss in (("2014", "logistic"), ("2015", "sigmoid")):
        with pytest.raises(ValueError, match=f"form='{form}' does not hold for loss='{loss}'"):
            UPU(form=form, loss=loss).fit(X, labels)


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
