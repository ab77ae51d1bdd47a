import numpy as np
import pytest
import torch
from torch.testing import assert_close

from distpu import PAN
from distpu.methods.pan import Adversaries, adversarial_value
from distpu.train.data import Batch
from small import small_net

D_P, D_U, C = [0.8, 0.6], [0.7, 0.3], [0.9, 0.2]
S = torch.tensor([1.0, 1, 0, 0])


def logits(p):
    return torch.logit(torch.tensor(p, dtype=torch.float64))


def test_the_value_by_hand():
    c = torch.cat([torch.zeros(2, dtype=torch.float64), logits(C)]).requires_grad_()
    terms = adversarial_value(logits(D_P + D_U), c, S)
    close = lambda a, b: assert_close(a, torch.tensor(b, dtype=torch.float64), atol=1e-9, rtol=0)  # noqa: E731
    for term, expected in zip(terms, (-0.3669845875, -0.7803238741, -0.7167037877), strict=True):
        close(term, expected)
    value = terms[0] + terms[1] + 0.1 * terms[2]
    close(value, -1.2189788404)
    (slope,) = torch.autograd.grad(value, c)
    assert_close(slope, torch.tensor([0, 0, -0.02, 0.02], dtype=torch.float64))


def test_the_agreement_is_a_difference_of_divergences():
    d, c = torch.tensor(D_U, dtype=torch.float64), torch.tensor(C, dtype=torch.float64)
    kl = lambda p, q: p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()  # noqa: E731
    *_, agreement = adversarial_value(logits(D_P + D_U), torch.cat([torch.zeros(2), logits(C)]), S)
    assert_close(agreement, (kl(d, c) - kl(d, 1 - c)).mean())


def test_each_player_gets_its_own_slope():
    nets = torch.nn.ModuleDict({name: torch.nn.Linear(1, 1) for name in ("classifier", "discriminator")})
    flat = torch.nn.ModuleDict({name: torch.nn.Sequential(net, torch.nn.Flatten(0)) for name, net in nets.items()})
    batch = Batch(torch.arange(4), torch.randn(4, 1, generator=torch.Generator().manual_seed(0)), S)
    terms = Adversaries(0.1, 5.0)(flat, batch, torch.zeros(()))
    for mine, other in (("classifier", "discriminator"), ("discriminator", "classifier")):
        slopes = torch.autograd.grad(terms[mine], [*nets.parameters()], retain_graph=True, allow_unused=True)
        by_net = dict(zip([name for name, _ in nets.named_parameters()], slopes, strict=True))
        assert by_net[f"{mine}.weight"].abs() > 0 and by_net[f"{other}.weight"] is None


def test_the_cut_is_at_one_half_unless_a_prior_is_told(toy):
    X, s, _ = toy
    settings = dict(epochs=2, batch_size=64, lr=2e-3, network=small_net, random_state=0)
    own = PAN(**settings).fit(X, s)
    assert own.threshold_ == 0 and own.prior_ == pytest.approx((own.predict(X)[s == 0] == 1).mean())
    told = PAN(prior=0.3, **settings).fit(X, s)
    np.testing.assert_allclose((told.predict(X)[s == 0] == 1).mean(), 0.3, atol=0.01)
