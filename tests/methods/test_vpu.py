import numpy as np
import pytest
import torch
from scipy.special import expit, logit

import distpu
from distpu.methods.vpu import VPU, Variational, consistency, variational_risk
from distpu.train import scoring
from distpu.train.data import PUData
from distpu.train.run import Run
from fixture import U_A, P, close, finite_difference, gradient, logits, paper, s
from small import small


def of(*phi):
    """Logits of these responses."""
    return torch.tensor(phi, dtype=torch.float64).logit().requires_grad_()


lam = torch.tensor(0.25, dtype=torch.float64)
X, P_ = of(0.9, 0.5, 0.2, 0.1), of(0.9, 0.6)


def test_variational_risk():
    close(variational_risk(X, P_), -0.5475730403, 1e-10)
    z = logits("A")
    close(variational_risk(z[s == 0], z[s == 1]), -0.3498353675, 1e-10)


def test_it_does_not_change_when_all_responses_are_scaled():
    phi_x, phi_p = X.sigmoid().detach(), P_.sigmoid().detach()
    close(variational_risk((phi_x / 3).logit(), (phi_p / 3).logit()), -0.5475730403, 1e-10)


def test_mixup_consistency():
    z, z_mixed = X[:2], of(0.8, 0.7)
    value = consistency(z, z_mixed, lam)
    close(value, 0.0444640346, 1e-10)
    close(value, (np.log([0.975 / 0.8, 0.875 / 0.7]) ** 2).mean(), 1e-12)
    for weight, total in ((0.03, -0.5462391193), (0.3, -0.5342338300)):
        close(variational_risk(X, P_) + weight * value, total, 1e-10)


def test_gradients_by_finite_differences():
    close(gradient(variational_risk(X, P_), X), finite_difference(lambda v: variational_risk(v, P_), X), 1e-8)
    close(gradient(variational_risk(X, P_), P_), finite_difference(lambda v: variational_risk(X, v), P_), 1e-8)
    mixed = of(0.8, 0.7, 0.3, 0.2)
    close(gradient(consistency(X, mixed, lam), X), finite_difference(lambda v: consistency(v, mixed, lam), X), 1e-8)
    close(gradient(consistency(X, mixed, lam), mixed), finite_difference(lambda v: consistency(X, v, lam), mixed), 1e-8)


def test_the_mixup_target_carries_a_gradient_unless_detached():
    mixed = of(0.8, 0.7, 0.3, 0.2)
    assert gradient(consistency(X, mixed, lam), X).abs().min() > 1e-3
    detached = consistency(X, mixed, lam, detach=True)
    close(detached, consistency(X, mixed, lam), 1e-12)
    assert torch.autograd.grad(detached, X, allow_unused=True)[0] is None
    assert gradient(detached, mixed).abs().min() > 1e-3


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_extreme_logits_and_mixup_weights_stay_finite(weight):
    z = torch.tensor([-500.0, 500.0], requires_grad=True)
    value = variational_risk(z, z) + consistency(z, -z, torch.tensor(weight))
    assert torch.isfinite(value) and torch.isfinite(gradient(value, z)).all()


class Table(torch.nn.Module):
    """A 'network' whose logit is the row's only feature; remembers what passed it."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(1.0))
        self.seen = []

    def forward(self, x):
        self.seen.append(x.detach()[:, 0])
        return self.weight * x[:, 0]


def objective(held=(), **settings):
    data = PUData(torch.tensor(P + U_A)[:, None], s, float("nan"))
    mask = torch.zeros(8, dtype=torch.bool)
    mask[list(held)] = True
    return data, Variational(paper(VPU(**settings)), data, mask, Table())


def test_a_step(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(0.25))
    data, variational = objective(weight=0.3)
    model = Table()
    terms = variational(model, data[torch.arange(8)], torch.tensor(0.0))
    joint, mixed = model.seen  # X and P in one pass, the mixed rows in a second
    x, x_p = joint[:8], joint[8:]
    close(x, P + U_A, 1e-6)  # the batch as it comes; which rows do, below
    assert set(x_p.tolist()) <= set(P) and len(x_p) == 8  # 3 labelled rows fill a batch of 8
    close(mixed, 0.25 * x + 0.75 * x_p, 1e-6)
    close(terms["variational"], variational_risk(x, x_p), 1e-6)
    phi_target = 0.25 * x.sigmoid() + 0.75
    close(terms["consistency"], 0.3 * (phi_target.log() - mixed.sigmoid().log()).square().mean(), 1e-6)


def test_mixup_weights_are_not_folded():
    torch.manual_seed(0)
    data, variational = objective()
    lams = []
    for _ in range(300):
        model = Table()
        variational(model, data[torch.tensor([7])], torch.tensor(0.0))  # x = -3
        (x, x_p), mixed = model.seen
        lams.append(((mixed - x_p) / (x - x_p)).item())
    assert np.mean(np.array(lams) < 0.1) > 0.2 and np.mean(np.array(lams) > 0.9) > 0.2  # Beta(.3, .3) is a bath tub
    close(np.mean(lams), 0.5, 0.1)


def test_adam_has_the_papers_momenta(toy, monkeypatch):
    data, labels, _ = toy
    recipes, epochs = [], Run.epochs
    monkeypatch.setattr(
        Run, "epochs", lambda self, stage, m, o, recipe: recipes.append(recipe) or epochs(self, stage, m, o, recipe)
    )
    small("vpu").fit(data, labels)
    assert recipes[0].betas == (0.5, 0.99) and recipes[0].weight_decay == 0


@pytest.mark.parametrize("sampling", ["mixed", "stratified", "paired"])
def test_an_epoch_has_at_most_so_many_steps_and_no_row_that_is_held_out(sampling):
    recipe = paper(VPU(batch_size=2, sampling=sampling))._recipe()
    _, variational = objective(held=(0, 4), steps=2)
    batches = [*variational.batches(s, recipe)]
    assert len(batches) == 2 and all(len(b) == 2 for b in batches)
    _, variational = objective(held=(0, 4))
    assert sorted(torch.cat([*variational.batches(s, recipe)]).tolist()) == [3, 5, 6, 7]  # X is the unlabelled rows
    assert set(variational.positives.flatten().tolist()) == {0.5, -1.0}
    _, variational = objective(held=(0, 4), population="all")
    assert {1, 2, 3, 5, 6, 7} == {*torch.cat([*variational.batches(s, recipe)]).tolist()}


def test_the_posterior_of_the_unlabelled_rows_is_where_the_risk_is_least():
    # 40 rows at 0, 30 of them positive, 60 at 1, 10 of them; one positive in ten is labelled, beside its copy
    x = torch.tensor([0.0] * 40 + [1.0] * 60 + [0.0] * 3 + [1.0])[:, None]
    t = torch.tensor([0.0] * 100 + [1.0] * 4)

    def slope(population):
        data = PUData(x, t, float("nan"))
        variational = Variational(paper(VPU(population=population)), data, torch.zeros(104, dtype=torch.bool), Table())
        z = of(0.75, 1 / 6)
        rows = data.x[variational.learnt].long().flatten(), variational.positives.long().flatten()
        return gradient(variational_risk(z[rows[0]], z[rows[1]]), z)

    close(slope("unlabelled"), [0.0, 0.0], 1e-12)
    assert slope("all").abs().min() > 1e-3  # positives count twice there


def test_the_epoch_with_the_least_held_out_risk_is_kept():
    _, variational = objective(held=(0, 5, 6))
    model, kept = Table(), []
    for weight in (0.5, 2.0, -1.0, 1.0):
        with torch.no_grad():
            model.weight.fill_(weight)
        variational.keep_if_best(model)
        kept.append(variational.best.weight.item())
        model.weight.requires_grad_()
    assert kept == [0.5, 2.0, 2.0, 2.0]
    z = 2.0 * torch.tensor([P[0], U_A[2], U_A[3]])
    close(variational.least, variational_risk(z[1:], z[:1]), 1e-6)
    assert not variational.best.weight.requires_grad
    _, variational = objective()  # nothing is held out: the last one
    for weight in (0.5, 2.0, -1.0):
        with torch.no_grad():
            model.weight.fill_(weight)
        variational.keep_if_best(model)
    assert variational.best.weight == -1.0


def test_rows_held_out(toy):
    rows, labels, _ = toy
    data = PUData(torch.from_numpy(rows), torch.from_numpy(labels).float(), float("nan"))
    held = paper(VPU())._held_out(data)
    assert (held.sum(), (held & (data.s == 1)).sum()) == (30, 3)
    assert not paper(VPU(held_out=0.0))._held_out(data).any()
    one = PUData(data.x, (torch.arange(300) == 5).float(), float("nan"))
    assert not paper(VPU())._held_out(one).any()  # the only labelled row is learnt from


def test_a_copy_of_a_labelled_row_is_held_out_with_it(toy):
    rows, labels, _ = toy
    copies = rows[labels == 1]
    x, t = np.concatenate([rows, copies]), np.concatenate([labels, np.zeros(len(copies))])
    held = paper(VPU(held_out=0.5))._held_out(PUData(torch.from_numpy(x), torch.from_numpy(t).float(), float("nan")))
    assert torch.equal(held[:300][t[:300] == 1], held[300:])


def fake(peak):
    classifier = VPU()
    classifier.peak_, classifier.threshold_ = peak, 0.0
    return classifier


def test_responses_are_read_as_shares_of_the_peak():
    decided = fake(0.9)._decide(logit(np.array([0.9, 0.5, 0.2, 0.1])))
    assert (decided >= 0).tolist() == [True, True, False, False]
    np.testing.assert_allclose(expit(decided), [1, 5 / 9, 2 / 9, 1 / 9], rtol=2e-6)
    phi = np.array([0.04, 0.024, 0.01])
    np.testing.assert_allclose(expit(fake(0.05)._decide(logit(phi))), phi / 0.05, rtol=1e-9)


@pytest.mark.parametrize("peak", [1e-12, 0.05, 0.7, 1 - 1e-9, 1.0])
def test_no_ranks_are_lost_above_the_peak_and_no_probability_is_one(peak):
    z = np.linspace(logit(min(peak, 1 - 1e-12)) - 30, logit(min(peak, 1 - 1e-12)) + 5, 2000)
    decided = fake(peak)._decide(z)
    assert np.isfinite(decided).all() and (np.diff(decided) > 0).all()
    assert np.isfinite(fake(peak)._decide(np.array([-1e6, 1e6]))).all()


@pytest.mark.parametrize("quantile", [1.0, 0.9])
def test_the_peak_is_taken_in_eval_mode_over_all_rows_and_saved(quantile, toy, tmp_path):
    rows, labels, _ = toy
    classifier = small("vpu", network="mlp", peak_quantile=quantile, epochs=3).fit(rows, labels)
    phi = scoring.logits(classifier.model_, torch.from_numpy(rows).float()).double().sigmoid().numpy()
    np.testing.assert_allclose(classifier.peak_, np.quantile(phi, quantile), rtol=1e-6)
    loaded = distpu.load(classifier.save(tmp_path / "model"))
    assert loaded.peak_ == classifier.peak_
    np.testing.assert_array_equal(classifier.predict(rows) == 1, phi >= classifier.peak_ / 2)


def test_no_prior_is_estimated(toy):
    rows, labels, _ = toy
    assert np.isnan(small("vpu", epochs=1).fit(rows, labels).prior_)
