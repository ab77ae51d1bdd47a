import numpy as np
import pytest
import torch

from distpu.methods._parts import LOSSES, Memory, sigmoid_loss
from distpu.methods.apu import APU, Apnu, Purr, Shift, apnu_risk, levelled, purr_risk
from distpu.methods.nnpu import abspu_risk
from distpu.train.data import PUData, mean_where
from distpu.train.loop import Risk
from distpu.train.run import Run
from fixture import U_A, P, close, finite_difference, gradient, logits, paper, prior, s
from small import interrupt, small

SIGMA = torch.tensor([0.0, 0.0, 0.0, 0.8, 0.3, 0.1, 0.5, 0.05], dtype=torch.float64)  # only those of U count
NONE = Shift(prior, prior)
SHIFT = Shift(0.3, 0.6)
z_target = torch.tensor([1.0, -0.2, -1.5], dtype=torch.float64)


def test_parts():
    z, U = logits("A"), s == 0
    close(mean_where(sigmoid_loss(z), s == 1), 0.4092673898, 1e-10)
    close(NONE.target_mean(z, s, None), 0.6276512120, 1e-10)
    close(mean_where((1 - SIGMA) * sigmoid_loss(-z), U), 0.1660261145, 1e-10)
    close(mean_where((1 - SIGMA) * sigmoid_loss(z), U), 0.4839738855, 1e-10)
    close(SHIFT.kappa, 4 / 7, 1e-12)
    close(abspu_risk(z, s, prior, "logistic"), 0.4088305611, 1e-10)  # step 1


def test_values_without_shift():
    z = logits("A")
    close(apnu_risk(z, s, SIGMA, None, NONE, rho=1.0), 0.3097034411, 1e-10)  # wUU
    close(apnu_risk(z, s, SIGMA, None, NONE, rho=0.5), 0.3197182558, 1e-10)
    close(purr_risk(z, s, None, NONE), 0.2997626999, 1e-10)


def test_values_with_shift():
    z = logits("A")
    close(apnu_risk(z, s, SIGMA, None, SHIFT, rho=1.0), 0.4459667714, 1e-10)
    on_p, on_t = sigmoid_loss(torch.tensor(P)).mean(), sigmoid_loss(z_target).mean()
    kappa, W_minus, W_plus = 4 / 7, 0.1660261145, 0.4839738855
    expected = 0.5 * 0.6 * on_p + kappa * W_minus + 0.5 * (on_t - kappa * W_plus).abs()
    close(apnu_risk(z, s, SIGMA, z_target, SHIFT, rho=0.5), expected, 1e-7)
    u = torch.tensor(U_A, dtype=torch.float64)
    p = torch.tensor(P, dtype=torch.float64)
    R_plus, R_minus = (
        kappa * (sigmoid_loss(sign * u).mean() - 0.3 * sigmoid_loss(sign * p).mean()).abs() for sign in (1, -1)
    )
    close(purr_risk(z, s, z_target, SHIFT), (on_t - R_plus).abs() + R_minus, 1e-10)


def test_a_swap_of_the_two_priors_would_show():
    z, swapped = logits("A"), Shift(0.6, 0.3)
    for risk in (lambda shift: apnu_risk(z, s, SIGMA, z_target, shift, 0.5), lambda h: purr_risk(z, s, z_target, h)):
        assert abs(risk(SHIFT) - risk(swapped)) > 0.01


def test_without_shift_wuu_is_distillation_and_purr_is_abspu():
    z = logits("A")
    distilled = mean_where(SIGMA * sigmoid_loss(z) + (1 - SIGMA) * sigmoid_loss(-z), s == 0)
    wuu = apnu_risk(z, s, SIGMA, None, NONE, 1.0)
    close(wuu, distilled, 1e-12)
    close(gradient(wuu, z), gradient(distilled, z), 1e-12)
    U = s == 0
    half = 0.5 * prior * mean_where(sigmoid_loss(z), s == 1) + mean_where((1 - SIGMA) * sigmoid_loss(-z), U)
    close(apnu_risk(z, s, SIGMA, None, NONE, 0.5), half + 0.5 * mean_where(SIGMA * sigmoid_loss(z), U), 1e-12)
    for case in "AB":
        z = logits(case)
        assert mean_where(sigmoid_loss(z), U) >= prior * mean_where(sigmoid_loss(z), s == 1)
        a, b = purr_risk(z, s, None, NONE), abspu_risk(z, s, prior)
        close(a, b, 1e-12)
        close(gradient(a, z), gradient(b, z), 1e-12)


@pytest.mark.parametrize("case", ["A", "B"])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_by_finite_differences(case, loss):
    z = (logits(case) + 0.01).detach().requires_grad_()  # away from the double hinge's corners
    shift = Shift(0.3, 0.6, loss)
    for risk in (
        lambda v: apnu_risk(v, s, SIGMA, z_target, shift, 0.5),
        lambda v: apnu_risk(v, s, SIGMA, v[:5], shift, 1.0),
        lambda v: purr_risk(v, s, z_target, shift),
    ):
        close(gradient(risk(z), z), finite_difference(risk, z), 1e-8)


def test_every_correction_is_an_absolute_value():
    z = logits("A")
    low = torch.full((4,), 9.0, dtype=torch.float64)  # E_T[l(z)] = 0 < kappa W+
    W_plus, W_minus = (mean_where((1 - SIGMA) * sigmoid_loss(v), s == 0) for v in (z, -z))
    close(apnu_risk(z, s, SIGMA, low, NONE, 1.0), W_minus + W_plus - sigmoid_loss(low).mean(), 1e-12)


class Table(torch.nn.Module):
    """A 'network' whose logit is the row's only feature."""

    def forward(self, x):
        self.seen = x.detach()[:, 0]
        return x[:, 0]


def test_target_rows_pass_with_the_batch_and_only_they_are_the_target():
    torch.manual_seed(0)
    data = PUData(torch.tensor(P + U_A)[:, None], s, 0.3)
    batch = data[torch.arange(8)]
    target = torch.tensor([[7.0], [8.0]])
    model = Table()
    objective = Apnu(target, SHIFT, Memory(SIGMA.float()), 0.5)
    value = objective(model, batch, torch.tensor(0.0))["apu"]
    drawn = model.seen[8:]
    assert len(drawn) == 8 and set(drawn.tolist()) == {7.0, 8.0}
    close(value, apnu_risk(logits("A"), s, SIGMA, drawn.double(), SHIFT, 0.5), 1e-6)
    value = Purr(target, SHIFT)(model, batch, torch.tensor(0.0))["purr"]
    close(value, purr_risk(logits("A"), s, model.seen[8:].double(), SHIFT), 1e-6)


@pytest.mark.parametrize(("variant", "rho"), [("apnu", 0.25), ("wuu", 1.0)])
def test_sigma_is_that_of_a_first_network_in_eval_mode(variant, rho, toy, monkeypatch):
    X, labels, _ = toy
    seen, made = {}, []
    init, net = Apnu.__init__, Run.net

    def watched(self, target, shift, sigma, weight):
        seen.update(target=target, shift=shift, sigma=sigma.values.clone(), rho=weight)
        init(self, target, shift, sigma, weight)

    monkeypatch.setattr(Apnu, "__init__", watched)
    monkeypatch.setattr(Run, "net", lambda self: made.append(net(self)) or made[-1])
    classifier = small("apu", prior=0.4, variant=variant, rho=0.25).fit(X, labels)
    first, second = made
    assert second is classifier.model_
    assert seen["rho"] == rho and seen["shift"] == Shift(0.4, 0.4) and seen["target"] is None
    with torch.no_grad():
        close(seen["sigma"], first.eval()(torch.from_numpy(X).float()).sigmoid(), 1e-6)
    assert [row["stage"] for row in classifier.history_] == ["posterior"] * 16 + [variant] * 16


def test_step_1_is_the_logistic_absolute_risk(toy, monkeypatch):
    X, labels, _ = toy
    risks, init = {}, Risk.__init__
    monkeypatch.setattr(Risk, "__init__", lambda self, n, risk: (risks.update({n: risk}), init(self, n, risk))[1])
    small("apu", prior=prior, target_prior=0.7, epochs=1).fit(X, labels, target_unlabelled=X)
    close(risks["posterior"](logits("A"), s), 0.4088305611, 1e-10)
    close(risks["posterior"](logits("B"), s), 0.2552355577 + 0.3798774157, 1e-10)


def test_purr_has_one_step(toy):
    X, labels, y = toy
    classifier = small("apu", prior=0.4, variant="purr", epochs=20).fit(X, labels)
    assert {row["stage"] for row in classifier.history_} == {"purr"}
    assert (classifier.predict(X) == y)[labels == 0].mean() > 0.8


@pytest.mark.parametrize("variant", ["apnu", "wuu", "purr"])
def test_it_follows_the_positives_to_where_the_target_has_them(variant):
    """Labelled positives lie to the right, those of the target above: they are found through target rows alone."""
    g = torch.Generator().manual_seed(0)

    def cloud(n, x, y):
        return torch.randn(n, 2, generator=g) * 0.7 + torch.tensor([x, y])

    X = torch.cat([cloud(60, 3.0, 0.0), cloud(200, 3.0, 0.0), cloud(300, -1.0, -1.0)])
    labels = torch.tensor([1] * 60 + [0] * 500)
    target = torch.cat([cloud(300, -1.0, 3.0), cloud(200, -1.0, -1.0)])
    y = torch.tensor([1] * 300 + [0] * 200)
    classifier = small("apu", variant=variant, prior=0.4, target_prior=0.6, epochs=30, batch_size=64)
    classifier.fit(X, labels, target_unlabelled=target)
    assert (classifier.predict(target) == y.numpy()).mean() > 0.9


def test_an_interrupted_run_with_target_rows_ends_with_the_same_scores(toy, tmp_path, monkeypatch):
    X, labels, _ = toy
    target = X[:50] + 0.1
    settings = dict(prior=0.4, target_prior=0.5)
    expected = small("apu", **settings).fit(X, labels, target_unlabelled=target).decision_function(X)
    interrupt(monkeypatch, 3, 24)  # in either step
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            small("apu", **settings).fit(X, labels, target_unlabelled=target, folder=tmp_path / "run")
    resumed = small("apu", **settings).fit(X, labels, target_unlabelled=target, folder=tmp_path / "run")
    np.testing.assert_array_equal(resumed.decision_function(X), expected)


def test_a_target_prior_needs_target_rows(toy):
    X, labels, _ = toy
    with pytest.raises(ValueError, match="target_unlabelled="):
        small("apu", prior=0.4, target_prior=0.6).fit(X, labels)
    with pytest.raises(ValueError, match="6 features"):
        small("apu", prior=0.4, target_prior=0.6).fit(X, labels, target_unlabelled=X[:, :3])


def test_batches_are_stratified_by_default():
    assert paper(APU()).sampling == "stratified" and paper(APU())._recipe().sampling == "stratified"


def test_a_posterior_that_is_levelled_has_the_priors_mean_and_the_same_order():
    z = torch.linspace(-9, -1, 50)
    labels = (torch.arange(50) % 5 == 0).float()
    sigma = levelled(z, labels, 0.4)
    assert sigma[labels == 0].mean().item() == pytest.approx(0.4, abs=1e-5) and (sigma.diff() > 0).all()
    close(levelled(torch.logit(sigma), labels, 0.4), sigma, 1e-5)
    saturated = levelled(torch.tensor([-200.0, -300.0, 80.0]), torch.zeros(3), 0.4)
    assert saturated.mean().item() == pytest.approx(0.4, abs=1e-5)


def test_a_posterior_far_below_the_prior_holds_a_network_at_no_positives():
    """On Alzheimer's seed 3 step 1 ended with a tenth called positive, and step 2 never called one."""
    labels = (torch.arange(128) < 17).float()
    z = torch.full((128,), -4.0, requires_grad=True)  # a network that tells no rows apart and calls none positive
    low = torch.full((128,), 0.1)

    def pull(sigma):
        """How much the intercept of the network is pushed up."""
        (slope,) = torch.autograd.grad(apnu_risk(z, labels, sigma, None, Shift(0.5, 0.5), 0.5), z)
        return -slope.sum().item()

    assert pull(low) < 0
    assert pull(levelled(torch.logit(low), labels, 0.5)) == pytest.approx(0, abs=1e-6)


def test_step_2_gets_the_levelled_posterior(toy, monkeypatch):
    X, labels, _ = toy
    seen, init = [], Memory.__init__
    monkeypatch.setattr(Memory, "__init__", lambda self, values: seen.append(values) or init(self, values))
    for level in (False, True):
        small("apu", prior=0.4, posterior_epochs=1, epochs=1, level=level).fit(X, labels)
    plain, moved = (values[torch.from_numpy(labels) == 0].mean().item() for values in seen)
    assert moved == pytest.approx(0.4, abs=1e-4) and abs(plain - 0.4) > 0.01
