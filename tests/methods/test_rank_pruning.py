import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from distpu import METHODS
from distpu.methods import rank_pruning
from distpu.methods.rank_pruning import (
    Among,
    balanced_risk,
    confident_noise_rate,
    hidden_share,
    kept,
    prior_noise_rate,
    refit_risk,
)
from distpu.prior import Estimate
from distpu.train import scoring
from distpu.train.run import Run
from fixture import close, finite_difference, gradient, logits, paper
from fixture import s as fixture_s
from small import small

s = torch.tensor([1.0] * 3 + [0.0] * 7)
q = torch.tensor([0.9, 0.6, 0.8, 0.85, 0.3, 0.1, 0.2, 0.7, 0.05, 0.15], dtype=torch.float64)


def test_ten_rows_by_hand():
    close(q[s == 1].mean(), 0.7666666667, 1e-10)  # LB
    rho = float(confident_noise_rate(q, s))
    close(rho, 1 / 3)
    p_s = 0.3
    close(p_s / (1 - rho), 0.45)  # p_y
    close(hidden_share(rho, p_s), 0.2142857143, 1e-10)
    left = kept(q, s, hidden_share(rho, p_s), least=1)
    assert torch.nonzero(~left).flatten().tolist() == [3]  # q = 0.85, the highest unlabelled one
    weight = 1 / (1 - rho)
    close(weight, 1.5)
    share = 3 * weight / (3 * weight + 6)
    close(refit_risk(q[left].logit(), s[left], share), 0.3201865310, 1e-10)
    w = torch.where(s[left] == 1, weight, 1.0)
    close((w * bce(q[left].logit(), s[left].double(), reduction="none")).sum() / w.sum(), 0.3201865310, 1e-10)


@pytest.mark.parametrize(
    ("n_p", "n_u", "rho", "weight"), [(1000, 50_000, 0.9523809524, 21), (500, 60_000, 0.9795918367, 49)]
)
def test_a_known_prior(n_p, n_u, rho, weight):
    rate = prior_noise_rate(0.4, n_p, n_u)
    close(rate, rho, 1e-10)
    close(1 / (1 - rate), weight, 1e-9)
    close(hidden_share(rate, n_p / (n_p + n_u)), 0.4)
    scores = torch.cat([torch.ones(n_p), torch.rand(n_u)])
    left = kept(scores, (torch.arange(n_p + n_u) < n_p).float(), hidden_share(rate, n_p / (n_p + n_u)), least=10)
    assert int((~left).sum()) == 0.4 * n_u


def test_gradients_by_finite_differences():
    for risk in (balanced_risk, lambda z, s: refit_risk(z, s, 0.7)):
        z = logits("A")
        close(gradient(risk(z, fixture_s), z), finite_difference(lambda v, r=risk: r(v, fixture_s), z), 1e-8)


def test_in_the_balanced_risk_few_labelled_rows_weigh_as_much_as_many_unlabelled():
    z, labels = torch.zeros(100, requires_grad=True), (torch.arange(100) < 4).float()
    slope = gradient(balanced_risk(z, labels), z)
    close(slope[:4].sum(), -0.25, 1e-6)
    close(slope[4:].sum(), 0.25, 1e-6)


def test_rows_are_left_to_learn_from():
    every = torch.ones(10, dtype=torch.bool)
    assert torch.equal(kept(q, s, 1.0, least=10), every)  # fewer than ten unlabelled rows: nothing to prune
    assert int(kept(q, s, 1.0, least=2).sum()) == 3 + 2
    assert torch.equal(kept(q, s, 0.1, least=1), every)  # floor(0.7) rows


def test_rows_that_tie_at_the_cut_stay_together():
    tied = torch.tensor([0.1, 0.9, 0.9, 0.9, 0.2], dtype=torch.float64)
    labels = torch.tensor([1.0, 0, 0, 0, 0])
    assert kept(tied, labels, 0.5, least=1).all()  # two to prune, three tie: none goes
    assert kept(tied, labels, 0.75, least=1).tolist() == [True, False, False, False, True]


def test_labelled_rows_are_never_pruned():
    low = torch.where(s == 1, 0.99, 0.5 - 0.01 * torch.arange(10))  # the highest of all are labelled
    assert kept(low, s, 0.5, least=1)[s == 1].all()


def test_a_fold_without_labelled_rows_has_no_rate():
    assert confident_noise_rate(q[s == 0], s[s == 0]).isnan()


def spied(monkeypatch, X, labels, **settings):
    """What a fit prunes: (q, s, share, left), and the stages with the rows that each visits."""
    seen, stages, prune, epochs = {}, {}, rank_pruning.kept, Run.epochs

    def watch(q, s, share, least):
        seen.update(q=q, s=s, share=share, least=least, left=prune(q, s, share, least))
        return seen["left"]

    def follow(self, stage, model, objective, recipe):
        stages[stage] = (objective.chosen.clone(), recipe, {k: v.clone() for k, v in model.state_dict().items()})
        seen["risk"] = objective.risk
        yield from epochs(self, stage, model, objective, recipe)
        seen[stage] = scoring.logits(model, self.data.x).double().sigmoid()

    monkeypatch.setattr(rank_pruning, "kept", watch)
    monkeypatch.setattr(Run, "epochs", follow)
    fitted = small("rank-pruning", **settings).fit(X, labels)
    return fitted, seen, stages


def test_every_score_comes_from_a_network_that_did_not_see_the_row(monkeypatch, toy):
    X, labels, _ = toy
    _, seen, stages = spied(monkeypatch, X, labels, fold_epochs=3)
    assert list(stages) == ["fold-1", "fold-2", "fold-3", "refit"]
    held_out = []
    for stage in ("fold-1", "fold-2", "fold-3"):
        rows, recipe, _ = stages[stage]
        rest = np.setdiff1d(np.arange(300), rows.numpy())
        assert recipe.epochs == 3 and labels[rest].sum() == 10 and len(rest) == 100
        close(seen["q"][rest], seen[stage][rest])
        held_out += rest.tolist()
    assert sorted(held_out) == list(range(300))
    assert torch.equal(stages["refit"][0], torch.nonzero(seen["left"]).flatten())
    assert stages["refit"][1].epochs == 8


def test_every_stage_starts_with_fresh_weights(monkeypatch, toy):
    X, labels, _ = toy
    _, _, stages = spied(monkeypatch, X, labels)
    first = [start["body.1.weight"] for _, _, start in stages.values()]
    assert not any(torch.equal(a, b) for i, a in enumerate(first) for b in first[:i])


def test_a_row_and_its_copy_share_a_fold(monkeypatch, toy):
    X, labels, _ = toy
    copies = np.flatnonzero(labels == 1)
    X, labels = np.concatenate([X, X[copies]]), np.concatenate([labels, np.zeros(30, dtype=int)])
    _, _, stages = spied(monkeypatch, X, labels)
    for stage in ("fold-1", "fold-2", "fold-3"):
        trained = np.isin(np.arange(330), stages[stage][0].numpy())
        assert (trained[copies] == trained[300:]).all()


def test_the_rate_is_averaged_over_folds_and_not_pooled(monkeypatch, toy):
    X, labels, _ = toy
    rates = iter([0.2, float("nan"), 0.6])
    monkeypatch.setattr(rank_pruning, "confident_noise_rate", lambda q, s: torch.tensor(next(rates)).double())
    fitted, seen, _ = spied(monkeypatch, X, labels)
    close(seen["share"], hidden_share(0.4, 0.1), 1e-6)  # without the fold that has no rate
    assert fitted.prior_ == seen["share"]


def test_the_share_of_positives_never_passes_one(monkeypatch, toy):
    X, labels, _ = toy
    monkeypatch.setattr(rank_pruning, "confident_noise_rate", lambda q, s: torch.tensor(0.9999).double())
    fitted, seen, _ = spied(monkeypatch, X, labels)
    close(fitted.prior_, 1.0)
    assert int(seen["left"].sum()) == 30 + 10  # the labelled rows, and the ten that are always left


def test_its_own_estimate_and_its_pruning_are_right_on_separable_data(monkeypatch, toy):
    X, labels, y = toy
    fitted, seen, _ = spied(monkeypatch, X, labels, fold_epochs=10)
    hidden = labels == 0
    assert abs(fitted.prior_ - y[hidden].mean()) < 0.15
    assert y[hidden & ~seen["left"].numpy()].mean() > 0.9 > 0.2 > y[hidden & seen["left"].numpy()].mean()


def test_pruning_by_the_prior(monkeypatch, toy):
    X, labels, _ = toy
    fitted, seen, _ = spied(monkeypatch, X, labels, prune_by="prior", prior=0.3)
    close(seen["share"], 0.3)
    assert int((~seen["left"]).sum()) == 81 and fitted.prior_ == 0.3
    z = logits("A")
    share = (30 + 81) / 300  # w n_P / sum of w, which is p_y
    close(seen["risk"](z, fixture_s), refit_risk(z, fixture_s, share))


def test_the_prior_is_estimated_only_where_it_prunes(monkeypatch, toy):
    X, labels, _ = toy
    asked = []
    found = Estimate(0.25, (0.2, 0.3), 0.5, "bbe")
    monkeypatch.setattr("distpu.estimator.estimated", lambda prior, x, s: asked.append(1) or found)
    small("rank-pruning").fit(X, labels)
    assert not asked
    fitted, seen, _ = spied(monkeypatch, X, labels, prune_by="prior")
    assert len(asked) == 1 and fitted.prior_ == 0.25 and fitted.prior_interval_ == (0.2, 0.3)
    close(seen["share"], 0.25)


def test_the_ranking_may_weigh_every_row_the_same(monkeypatch, toy):
    X, labels, _ = toy
    risks, init = [], Among.__init__
    monkeypatch.setattr(Among, "__init__", lambda self, *a: (risks.append(a[1]), init(self, *a))[1])
    for weights, risk in (("balanced", balanced_risk), ("none", bce)):
        risks.clear()
        small("rank-pruning", fold_weights=weights).fit(X, labels)
        assert risks[:3] == [risk] * 3


def test_few_labelled_rows_make_fewer_folds_and_one_is_too_few(toy):
    X, labels, _ = toy
    rows = np.concatenate([np.flatnonzero(labels == 1)[:2], np.flatnonzero(labels == 0)])
    fitted = small("rank-pruning").fit(X[rows], labels[rows])
    assert {row["stage"] for row in fitted.history_} == {"fold-1", "fold-2", "refit"}
    with pytest.raises(ValueError, match="at least 2 different labelled positives"):
        small("rank-pruning").fit(X[rows[1:]], labels[rows[1:]])
    twins = np.concatenate([rows[:1], rows[:1], rows[2:]])
    with pytest.raises(ValueError, match="at least 2 different labelled positives"):
        small("rank-pruning").fit(X[twins], labels[twins])


def test_defaults():
    d = paper(METHODS["rank-pruning"]())
    assert (d.prune_by, d.folds, d.least_left, d.needs_prior) == ("confident-counts", 3, 10, False)
    assert d.fold_epochs < d.epochs
