import numpy as np
import pytest
import torch

from distpu.methods._parts import LOSSES, Memory, nonnegative, pu_risks
from distpu.methods.pubn import BN, Posterior, Weighted, cut, negative_weights, posterior_risks, weighted_risks
from distpu.train.data import Batch, PUData, mean_where
from distpu.train.run import Run
from fixture import U_A, P, close, finite_difference, gradient, logits, prior, s
from small import interrupt, small

SIGMA = torch.tensor([0.9, 0.6, 0.2, 0.95, 0.1, 0.05, 0.5, 0.02], dtype=torch.float64)
N = [-1.0, 0.3]
rho = 0.3
s_n = torch.cat([s, torch.full((2,), float(BN))])
SIGMA_N = torch.cat([SIGMA, torch.tensor([0.7, 0.2], dtype=torch.float64)])


def logits_n():
    return torch.tensor(P + U_A + N, dtype=torch.float64, requires_grad=True)


def test_step_1_without_biased_negatives_is_logistic_nnpu():
    z = logits("B")
    for part, expected in zip(posterior_risks(z, s, prior), (0.2552355577, -0.3798774157), strict=True):
        close(part, expected, 1e-10)


def test_step_1_takes_biased_negatives_for_positives():
    z = logits_n()
    positive, negative = posterior_risks(z, s_n, prior, rho)
    close(positive, 0.5353780975, 1e-10)
    close(negative, -0.0215475364, 1e-10)
    risk = nonnegative(positive, negative)  # the bound bites: minimises -R_n
    close(gradient(risk, z), finite_difference(lambda v: -posterior_risks(v, s_n, prior, rho)[1], z), 1e-8)


@pytest.mark.parametrize(
    ("tau", "share", "bn", "percent"),
    [
        (0.9, 0.4, 0.0, 54),
        (0.9, 0.49, 0.0, 45),
        (0.9, 0.4, 0.3, 27),
        (0.9, 0.3, 0.0, 63),
        (0.7, 0.4, 0.0, 42),
        (0, 0.4, 0.0, 0),
    ],
)
def test_the_cut_is_a_whole_percentile(tau, share, bn, percent):
    sigma = torch.rand(1000, generator=torch.Generator().manual_seed(0))
    close(cut(sigma, torch.zeros(1000), tau, share, bn), np.percentile(sigma.double().numpy(), percent), 1e-12)


def test_the_cut_is_taken_over_unlabelled_rows_alone():
    close(cut(SIGMA, s, 0.9, prior), 0.164, 1e-12)
    close(cut(SIGMA_N, s_n, 0.9, prior), 0.164, 1e-12)


@pytest.mark.parametrize(
    ("eta", "labelled", "risk"), [(0.164, 0.5404031231, 0.6593764233), (0.3, 0.3733302231, 0.4923035233)]
)
def test_step_2_without_biased_negatives(eta, labelled, risk):
    z = logits("A")
    terms = weighted_risks(z, s, negative_weights(SIGMA, s, eta), prior)
    for term, expected in zip(terms, (labelled, 0, 0.1189733002), strict=True):
        close(term, expected, 1e-10)
    close(sum(terms), risk, 1e-10)


def test_step_2_with_biased_negatives():
    z, w = logits_n(), negative_weights(SIGMA_N, s_n, 0.3)
    terms = weighted_risks(z, s_n, w, prior, rho)
    close(terms[1], 0.1952807911, 1e-10)
    close(sum(terms), 0.6875843144, 1e-10)
    slope = finite_difference(lambda v: sum(weighted_risks(v, s_n, w, prior, rho)), z)
    close(gradient(sum(terms), z), slope, 1e-8)


def test_weights_by_hand():
    close(negative_weights(SIGMA_N, s_n, 0.2), [1 / 9, 2 / 3, 0, 0, 0.9, 0.95, 0, 0.98, 1 / 0.7, 1], 1e-12)
    assert (negative_weights(SIGMA_N, s_n, 0.3) >= 0).all()  # all terms are plus


def test_a_row_at_the_cut_belongs_below_it():
    half = torch.tensor([0.5, 0.5, 0.5])
    close(negative_weights(half, torch.tensor([1.0, 0.0, BN]), 0.5), [0, 0.5, 1])


def test_the_unlabelled_mean_is_over_all_unlabelled_rows_not_those_with_a_weight():
    z = logits("A")
    w = negative_weights(SIGMA, s, 0.3)
    masked = mean_where(w * LOSSES["logistic"](-z), (s == 0) & (w > 0))
    close(weighted_risks(z, s, w, prior)[2], masked * 3 / 5)


def test_a_tiny_sigma_is_not_divided_by():
    sigma = torch.tensor([0.0, 1e-9, 1e-9])
    labels = torch.tensor([1.0, 1.0, BN])
    w = negative_weights(sigma, labels, -1.0, least=1e-3)
    close(w, [1000, 1000, 1000], 1e-3)
    assert torch.isfinite(negative_weights(sigma, labels, 0.5)).all()  # what is below the cut is not divided at all


class Table(torch.nn.Module):
    """A 'network' whose logit is the row's only feature."""

    def forward(self, x):
        self.seen = x.detach()[:, 0]
        return x[:, 0]


def a_batch_with_negatives():
    x = torch.tensor(P + U_A)[:, None]
    data = PUData(x, s, prior, {"biased_negatives": torch.tensor([[7.0], [8.0], [9.0]])})
    return data, data[torch.tensor([0, 1, 3, 4])]


def test_the_biased_negatives_pass_the_network_with_the_batch_and_keep_their_weight():
    torch.manual_seed(0)
    data, batch = a_batch_with_negatives()
    model, seen = Table(), set()
    weights = Memory(torch.tensor([0.0] * 8 + [1.0, 2.0, 3.0]))
    for _ in range(20):
        terms = Weighted(data, rho, weights)(model, batch, torch.tensor(0.0))
        drawn = model.seen[4:]
        assert len(drawn) == 2  # 3 of them to 8 rows: 2 to a batch of 4
        assert set(drawn.tolist()) <= {7.0, 8.0, 9.0}
        close(terms["biased_negatives"], rho * ((drawn - 6) * LOSSES["logistic"](-drawn)).mean(), 1e-5)
        seen |= set(drawn.tolist())
    assert seen == {7.0, 8.0, 9.0}


def test_step_1_sees_them_too():
    data, batch = a_batch_with_negatives()
    model = Table()
    value = Posterior(data, rho)(model, batch, torch.tensor(0.0))["posterior"]
    labels = torch.cat([batch.s, torch.full((2,), float(BN))])
    close(value, nonnegative(*posterior_risks(model.seen, labels, prior, rho)), 1e-6)
    plain = Posterior(PUData(data.x, s, prior), 0.0)(model, batch, torch.tensor(0.0))["posterior"]
    close(plain, nonnegative(*pu_risks(batch.x[:, 0], batch.s, prior, "logistic")), 1e-6)


def spied(monkeypatch):
    seen = {}
    init = Weighted.__init__

    def watched(self, data, rho, weights):
        seen.update(data=data, rho=rho, w=weights.values.clone())
        init(self, data, rho, weights)

    net = Run.net
    monkeypatch.setattr(Weighted, "__init__", watched)
    monkeypatch.setattr(Run, "net", lambda self: seen.setdefault("nets", []).append(net(self)) or seen["nets"][-1])
    return seen


def test_the_weights_come_from_the_first_network_in_eval_mode_and_a_fresh_one_is_returned(toy, monkeypatch):
    X, labels, _ = toy
    seen = spied(monkeypatch)
    classifier = small("pubn", prior=0.4).fit(X, labels)
    first, second = seen["nets"]
    assert second is classifier.model_
    x, t = torch.from_numpy(X).float(), torch.from_numpy(labels).float()
    with torch.no_grad():
        sigma = first.eval()(x).sigmoid()
    close(seen["w"], negative_weights(sigma, t, cut(sigma, t, 0.9, 0.4), 1e-3), 1e-4)
    assert [row["stage"] for row in classifier.history_] == ["posterior"] * 16 + ["pubn"] * 16


def test_it_learns_with_biased_negatives(toy, monkeypatch):
    X, labels, y = toy
    negatives = X[(y == 0) & (X[:, 0] > 0)]
    seen = spied(monkeypatch)
    classifier = small("pubn", prior=0.4, rho=0.2, epochs=20).fit(X, labels, biased_negatives=negatives)
    assert ((classifier.predict(X) == y)[labels == 0]).mean() > 0.8
    assert seen["rho"] == 0.2 and len(seen["w"]) == len(X) + len(negatives)
    assert (seen["w"][len(X) :] >= 1).all()


def test_an_interrupted_run_with_biased_negatives_ends_with_the_same_scores(toy, tmp_path, monkeypatch):
    X, labels, y = toy
    negatives = X[y == 0][:40]
    expected = small("pubn", prior=0.4, rho=0.2).fit(X, labels, biased_negatives=negatives).decision_function(X)
    interrupt(monkeypatch, 3, 24)  # in either step
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            small("pubn", prior=0.4, rho=0.2).fit(X, labels, biased_negatives=negatives, folder=tmp_path / "run")
    resumed = small("pubn", prior=0.4, rho=0.2)
    with pytest.raises(ValueError, match="biased_negatives"):
        resumed.fit(X, labels, biased_negatives=negatives[1:], folder=tmp_path / "run")
    resumed.fit(X, labels, biased_negatives=negatives, folder=tmp_path / "run")
    np.testing.assert_array_equal(resumed.decision_function(X), expected)


def test_biased_negatives_and_rho_belong_together(toy):
    X, labels, y = toy
    with pytest.raises(ValueError, match="give rho"):
        small("pubn", prior=0.4).fit(X, labels, biased_negatives=X[y == 0][:9])
    with pytest.raises(ValueError, match="biased_negatives="):
        small("pubn", prior=0.4, rho=0.2).fit(X, labels)
    with pytest.raises(ValueError, match="less than 1"):
        small("pubn", prior=0.4, rho=0.7).fit(X, labels, biased_negatives=X[y == 0][:9])
    with pytest.raises(ValueError, match="rho=0.0 must be above 0"):
        small("pubn", prior=0.4, rho=0.0).fit(X, labels, biased_negatives=X[y == 0][:9])


def test_a_batch_without_labelled_rows_is_finite():
    batch = Batch(torch.arange(2), torch.zeros(2, 1), torch.zeros(2))
    terms = Weighted(PUData(batch.x, batch.s, prior), 0.0, Memory(torch.ones(2)))(Table(), batch, torch.tensor(0.0))
    assert all(torch.isfinite(term) for term in terms.values())
