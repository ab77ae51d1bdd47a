import pytest
import torch

from distpu import METHODS
from distpu.methods.imb_pu import imbpu_risks
from distpu.methods.nnpu import nnpu_risk
from fixture import close, finite_difference, gradient, logits, prior, s
from small import small

ImbPU = METHODS["imb-pu"]


def risk(z, share=prior, **settings):
    return ImbPU(**settings)._risk(z, s, share)


def test_the_risk_at_balanced_classes():
    z = logits("A")
    positive, negative = imbpu_risks(z, s, prior)
    close(positive, 0.2046336949, 1e-10)
    close(negative, 0.1133797866, 1e-10)
    close(risk(z), 0.3180134815, 1e-10)
    labelled = [-0.0291648848, -0.0652788089, -0.0546144259]
    unlabelled = [0.024857742, 0.0391672854, 0.0174989309, 0.0416666667, 0.0075294433]
    close(gradient(risk(z), z), labelled + unlabelled, 1e-10)
    close(gradient(risk(z), z), finite_difference(risk, z), 1e-8)


def test_where_the_bound_bites_it_ascends_the_negative_part():
    z = logits("B")
    close(imbpu_risks(z, s, prior)[1], -0.1380762004, 1e-10)
    close(risk(z), 0.2046336949, 1e-10)  # reads as R_p
    labelled = [0.0116659539, 0.0261115236, 0.0218457704]
    unlabelled = [-0.0075294433, -0.0116839528, -0.0029437844, -0.024857742, -0.0047421706]
    close(gradient(risk(z), z), labelled + unlabelled, 1e-10)


@pytest.mark.parametrize("case", ["A", "B"])
@pytest.mark.parametrize("share", [0.1, 0.4, 0.5])
@pytest.mark.parametrize("loss", ["sigmoid", "logistic"])
@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 1.0), (0.1, 0.5)])
def test_at_the_prior_it_is_nnpu(case, share, loss, beta, gamma):
    z = logits(case)
    same = risk(z, share, target_prior=share, loss=loss, beta=beta, gamma=gamma)
    nnpu = nnpu_risk(z, s, share, beta, gamma, loss)
    assert torch.equal(same, nnpu)
    assert torch.equal(gradient(same, z), gradient(nnpu, z))


def test_at_the_prior_it_trains_to_the_bits_of_nnpu(toy):
    X, labels, _ = toy
    a, b = small("imb-pu", prior=0.5).fit(X, labels), small("nnpu", prior=0.5).fit(X, labels)
    for mine, other in zip(a.model_.parameters(), b.model_.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_the_target_is_a_setting_and_not_fixed_at_one_half():
    z = logits("A")
    positive, negative = imbpu_risks(z, s, prior, target_prior=0.7)
    close(positive, 0.7 * 0.1637069559 / 0.4, 1e-10)
    close(negative, 0.3 * 0.1360557440 / 0.6, 1e-10)
    close(risk(z, target_prior=0.7), positive + negative)


def test_a_higher_target_predicts_more_positives(toy):
    X, labels, _ = toy
    few, many = (small("imb-pu", prior=0.2, target_prior=t).fit(X, labels).predict(X).sum() for t in (0.05, 0.9))
    assert few < many
