import numpy as np
import pytest
import torch

from distpu.methods.lbe import EM, Start, class_losses, labelling_losses, posterior, small_losses
from distpu.train.data import Batch
from distpu.train.run import Run
from distpu.train.scoring import logits
from fixture import close, finite_difference, gradient
from small import small


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


# one row labelled, three not; h and eta as they come
s = tensor(1, 0, 0, 0)
h, eta = tensor(0.6, 0.6, 0.2, 0.9), tensor(0.25, 0.25, 0.5, 0.1)
z, e = torch.logit(h), torch.logit(eta)
q = tensor(1, 9 / 17, 1 / 9, 0.81 / 0.91)


def naive(h, eta, s):
    """Posterior and the two halves of the M step's value, row by row as the paper has them."""
    posteriors, for_h, for_eta = [], 0.0, 0.0
    for h_i, eta_i, s_i in zip(h, eta, s, strict=True):
        positive = h_i * (eta_i if s_i else 1 - eta_i)  # P(s, y=1|x)
        negative = (1 - h_i) * (0 if s_i else 1)  # P(s, y=0|x)
        q_i = positive / (positive + negative)
        for_h -= q_i * np.log(h_i) + (1 - q_i) * np.log(1 - h_i)
        for_eta -= q_i * np.log(eta_i if s_i else 1 - eta_i)
        posteriors.append(q_i)
    return posteriors, for_h / len(s), for_eta / len(s)


def test_posterior_by_hand():
    close(posterior(z, e, s), q)
    close(posterior(z, e, s), naive(h.numpy(), eta.numpy(), s.numpy())[0])


def test_posterior_of_extreme_logits():
    far = torch.tensor([90.0, -90.0, 90.0, -90.0])
    p = posterior(far, far.flip(0), torch.zeros(4))
    assert p.isfinite().all() and p[0] == 1 and p[1] == 0


def test_m_step_by_hand():
    _, for_h, for_eta = naive(h.numpy(), eta.numpy(), s.numpy())
    close(class_losses(z, q).mean(), for_h)
    close(class_losses(z, q).mean(), 0.4841120953, 1e-10)
    close(labelling_losses(e, s, q).mean(), for_eta)
    close(labelling_losses(e, s, q).mean(), 0.4273488563, 1e-10)


def test_gradients():
    z_, e_ = z.clone().requires_grad_(), e.clone().requires_grad_()
    close(gradient(class_losses(z_, q).mean(), z_), (h - q) / 4)
    close(gradient(labelling_losses(e_, s, q).mean(), e_), q * (eta - s) / 4)
    close(gradient(class_losses(z_, q).mean(), z_), finite_difference(lambda v: class_losses(v, q).mean(), z), 1e-8)


def test_eta_learns_nothing_from_rows_that_are_negative():
    e_ = e.clone().requires_grad_()
    slope = gradient(labelling_losses(e_, s, tensor(1, 1, 0, 0.5)).mean(), e_)
    assert slope[2] == 0  # the trap: with weights that sum to 1 over both classes eta would fit s
    close(slope[3], 0.5 * 0.1 / 4)


def test_a_step_of_m_after_e_is_a_step_uphill_in_the_likelihood_of_s():
    """EM's identity: at the point where q was computed, both have one gradient. Only with eta on the y = 1 mass."""
    z_, e_ = z.clone().requires_grad_(), e.clone().requires_grad_()
    labelled = torch.sigmoid(z_) * torch.sigmoid(e_)
    likelihood = -(s * labelled.log() + (1 - s) * (1 - labelled).log()).mean()
    m_step = class_losses(z_, q).mean() + labelling_losses(e_, s, q).mean()
    for argument in (z_, e_):
        close(gradient(m_step, argument), gradient(likelihood, argument))


def test_em_on_equal_rows_settles_where_h_eta_is_the_labelled_share():
    q_u = 9 / 17  # four equal rows: h = 0.6, eta = 0.25
    h1, eta1 = (1 + 3 * q_u) / 4, 1 / (1 + 3 * q_u)
    assert (h1, eta1) == pytest.approx((11 / 17, 17 / 44)) and h1 * eta1 == pytest.approx(0.25)
    z1 = torch.full((4,), h1, dtype=torch.float64).logit().requires_grad_()
    e1 = torch.full((4,), eta1, dtype=torch.float64).logit().requires_grad_()
    weights = tensor(1, q_u, q_u, q_u)
    close(gradient(class_losses(z1, weights).mean(), z1).sum(), 0)  # the M step ends there
    close(gradient(labelling_losses(e1, s, weights).mean(), e1).sum(), 0)
    close(posterior(z1, e1, s), weights)  # and so does EM: the next E step changes nothing


def test_labelled_rows_and_small_losses_are_kept():
    losses = torch.tensor([9.0, 0.1, 0.5, 0.3, 0.2, 0.4])
    labels = torch.tensor([1.0, 0, 0, 0, 0, 0])
    assert small_losses(losses, labels, 0.8).tolist() == [True, True, False, True, True, True]
    assert small_losses(losses, labels, 0.2).tolist() == [True, True, False, False, False, False]
    assert small_losses(losses, labels, 0.01).sum() == 2  # one unlabelled row at the least
    assert small_losses(losses, labels, 1.0).all()
    assert small_losses(losses, torch.ones(6), 0.5).all()  # a batch without unlabelled rows


class Fixed(torch.nn.Module):
    """A network that answers with given logits."""

    def __init__(self, values):
        super().__init__()
        self.values = torch.nn.Parameter(values.clone())

    def forward(self, x):
        return self.values[x[:, 0].long()]


def pair():
    return torch.nn.ModuleDict({"h": Fixed(z), "eta": Fixed(e)})


def batch(*rows):
    index = torch.tensor(rows)
    return Batch(index, index[:, None].float(), s[index])


def test_the_start_weighs_the_classes_equally_for_h_and_rows_for_eta():
    terms = Start()(pair(), batch(0, 1, 2, 3), torch.zeros(()))
    close(terms["h"], -np.log(0.6) / 2 - np.log(0.4 * 0.8 * 0.1) / 6)
    close(terms["eta"], -np.log(0.25 * 0.75 * 0.5 * 0.9) / 4)


def test_em_reads_the_posterior_of_the_batchs_rows():
    em = EM(s, kept=1.0)
    em.q.copy_(q)
    terms = em(pair(), batch(3, 0), torch.zeros(()))
    close(terms["h"], (class_losses(z, q)[[0, 3]]).mean())
    close(terms["eta"], (labelling_losses(e, s, q)[[0, 3]]).mean())
    em = EM(s, kept=0.5)  # of the three unlabelled rows the two of smallest loss
    em.q.copy_(q)
    close(em(pair(), batch(0, 1, 2, 3), torch.zeros(()))["h"], class_losses(z, q)[[0, 2, 3]].mean())


def test_the_e_step_is_made_in_eval_mode_every_m_epochs(toy, monkeypatch):
    X, labels, _ = toy
    x, t = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(labels).float()
    epochs, changed, ended = Run.epochs, [], []

    def watched(self, stage, model, objective, recipe):
        for epoch in epochs(self, stage, model, objective, recipe):
            before = objective.q.clone() if stage == "em" else None
            yield epoch
            if stage == "em":
                changed.append(not torch.equal(before, objective.q))
                if changed[-1]:
                    scores = [logits(model[name], x) for name in ("h", "eta")]
                    assert torch.equal(objective.q, posterior(*scores, t))
        ended.append(model)

    monkeypatch.setattr(Run, "epochs", watched)
    fitted = small("lbe", epochs=7, m_epochs=3).fit(X, labels)
    assert changed == [False, False, True, False, False, True, False]
    model = ended[-1]
    assert fitted.model_ is model["h"]
    scores = [logits(model[name], x) for name in ("h", "eta")]
    assert fitted.prior_ == pytest.approx(posterior(*scores, t)[t == 0].mean().item())
    assert small("lbe", epochs=1, prior=0.37).fit(X, labels).prior_ == 0.37


@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_more_of_the_seldom_labelled_than_naive_and_knows_them(seed, monkeypatch):
    random = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], [300, 200, 200])  # negatives; positives often labelled; positives seldom labelled
    X = random.normal(size=(700, 4)) + np.array([[-2, -2, 0, 0], [2, 2, 2, 0], [2, 2, -2, 0]])[kind]
    labels = (random.random(700) < np.array([0, 0.5, 0.1])[kind]).astype(int)
    hidden = labels == 0
    naive = small("naive").fit(X, labels).predict(X)
    models, epochs = [], Run.epochs

    def watched(self, stage, model, objective, recipe):
        models.append(model)
        yield from epochs(self, stage, model, objective, recipe)

    monkeypatch.setattr(Run, "epochs", watched)
    p = small("lbe", m_epochs=4).fit(X, labels).predict(X)
    assert p[hidden & (kind == 0)].mean() < 0.05 and p[hidden & (kind == 1)].mean() > 0.9
    assert p[hidden & (kind == 2)].mean() > naive[hidden & (kind == 2)].mean() + 0.1
    chance = logits(models[-1]["eta"], torch.from_numpy(X.astype(np.float32))).sigmoid().numpy()
    assert chance[kind == 1].mean() > chance[kind == 2].mean() + 0.2
