import torch

from distpu.methods._parts import pu_risks
from distpu.methods.nnpu import abspu_risk, nnpu_risk
from fixture import close, finite_difference, gradient, logits, prior, s

GRADIENT_P = [-0.0279982894, -0.0626676566, -0.0524298489]


def test_where_the_negative_risk_is_positive_it_is_upu():
    z = logits("A")
    risk = nnpu_risk(z, s, prior)
    close(risk, 0.2997626999, 1e-10)
    unlabelled = [0.0298292904, 0.0470007424, 0.0209987171, 0.05, 0.0090353319]
    close(gradient(risk, z), GRADIENT_P + unlabelled, 1e-10)
    close(gradient(risk, z), finite_difference(lambda v: nnpu_risk(v, s, prior), z), 1e-8)


def test_where_the_bound_bites_it_ascends_the_negative_part():
    z = logits("B")
    positive, negative = pu_risks(z, s, prior)
    assert negative < 0
    risk = nnpu_risk(z, s, prior)
    close(risk, 0.1637069559, 1e-10)  # reads as R_p
    close(risk, positive)
    labelled = [0.0139991447, 0.0313338283, 0.0262149244]
    unlabelled = [-0.0090353319, -0.0140207433, -0.0035325412, -0.0298292904, -0.0056906048]
    close(gradient(risk, z), labelled + unlabelled, 1e-10)  # but steps along -grad R_n
    close(gradient(risk, z), gradient(-negative, z))


def test_gamma_scales_the_step_back_and_not_the_value():
    z = logits("B")
    half = nnpu_risk(z, s, prior, gamma=0.5)
    close(half, 0.1637069559, 1e-10)
    close(gradient(half, z), gradient(nnpu_risk(z, s, prior), z) / 2)


def test_beta_lets_the_negative_risk_go_below_zero():
    z = logits("B")
    risk = nnpu_risk(z, s, prior, beta=0.2)  # -0.1657 > -0.2: no step back
    close(risk, -0.0019844846, 1e-10)
    close(gradient(risk, z)[:3], GRADIENT_P, 1e-10)
    bites = nnpu_risk(z, s, prior, beta=0.1)
    close(bites, 0.1637069559 - 0.1, 1e-10)  # reports R_p - beta


def test_a_batch_without_labelled_rows_has_a_finite_risk():
    z = torch.tensor([0.5, -0.5], requires_grad=True)
    risk = nnpu_risk(z, torch.zeros(2), prior)
    assert torch.isfinite(risk) and torch.isfinite(gradient(risk, z)).all()


def test_the_absolute_correction():
    a, b = logits("A"), logits("B")
    close(abspu_risk(a, s, prior, "logistic"), 0.4088305611, 1e-10)  # R_n > 0: uPU
    close(abspu_risk(b, s, prior), 0.1637069559 + 0.1656914405, 1e-10)
    close(gradient(abspu_risk(b, s, prior), b), finite_difference(lambda v: abspu_risk(v, s, prior), b), 1e-8)
