import numpy as np
import pytest
import torch

from distpu import METHODS
from distpu.methods._parts import pn_risks
from distpu.methods.cvir import CVIR, Inliers, without_highest
from distpu.train import scoring
from distpu.train.run import Run
from fixture import close, finite_difference, gradient, logits, paper, prior, s
from small import small


def every(rows):
    return torch.ones(len(rows), dtype=torch.bool)


def test_the_highest_of_the_unlabelled_are_set_aside():
    z = logits("A").detach()
    kept = without_highest(z, s, prior, every(s))
    assert z[kept & (s == 0)].sort().values.tolist() == [-3, -2, -0.5]
    assert kept[s == 1].all()  # the labelled row with z = 2 is the highest of all, and stays


@pytest.mark.parametrize(("share", "dropped"), [(0.29, 29), (0.57, 57), (0.571, 57), (0.999, 99)])
def test_the_number_set_aside_is_no_victim_of_binary_fractions(share, dropped):
    rows = torch.zeros(100)  # int(0.29 * 100) is 28
    assert without_highest(torch.arange(100.0), rows, share, every(rows)).sum() == 100 - dropped


def test_cross_entropy_of_labelled_against_kept_rows():
    z = logits("A")
    kept = without_highest(z.detach(), s, prior, every(s))
    positive, negative = pn_risks(z[kept], s[kept])
    close(2 * positive, 0.6380888942, 1e-10)
    close(2 * negative, 0.2165307823, 1e-10)
    close(positive + negative, 0.4273098383, 1e-10)
    close(sum(pn_risks(z[kept], s[kept], prior)), 0.3851540271, 1e-10)


def test_gradient():
    z = logits("A")
    risk = sum(pn_risks(z, s, prior))
    close(gradient(risk, z)[0], -prior / 3 * torch.sigmoid(torch.tensor(-2.0, dtype=torch.float64)))
    close(gradient(risk, z)[3], (1 - prior) / 5 * torch.sigmoid(torch.tensor(1.5, dtype=torch.float64)))
    close(gradient(risk, z), finite_difference(lambda v: sum(pn_risks(v, s, prior)), z), 1e-8)


@pytest.mark.parametrize("share, dropped", [(0.1, 0), (0.39, 1), (0.4, 2), (0.59, 2), (0.99, 4), (1.0, 4)])
def test_the_number_set_aside_is_rounded_down_and_one_row_stays(share, dropped):
    kept = without_highest(logits("A").detach(), s, share, every(s))
    assert (~kept).sum() == dropped


def test_equal_scores_neither_raise_nor_lower_the_number():
    kept = without_highest(torch.zeros(8), s, prior, every(s))
    assert kept.tolist() == [True] * 3 + [False] * 2 + [True] * 3


def test_rows_outside_stay_outside_and_do_not_count():
    among = every(s)
    among[3] = False  # z = 1.5, the highest: held out
    kept = without_highest(logits("A").detach(), s, 0.5, among)  # half of four
    assert kept.tolist() == [True] * 3 + [False, False, True, False, True]


def test_an_epoch_goes_through_all_kept_rows_with_labelled_ones_in_every_batch():
    labels = (torch.arange(1010) < 10).float()
    objective = Inliers(every(labels))
    objective.set_aside(torch.arange(1010.0), labels, 0.4, "prior")
    recipe = paper(CVIR(batch_size=32))._paired(labels)
    batches = torch.stack([*objective.batches(labels, recipe)])
    per_batch = labels[batches].sum(1)
    assert (per_batch == recipe.labelled).all() and recipe.labelled == 3  # not 10 / 3 steps and then an end
    rows = batches[labels[batches] == 0]
    assert len(rows) == len(rows.unique()) and rows.max() < 610 and len(rows) > 600 - len(batches)
    assert batches[labels[batches] == 1].unique().tolist() == list(range(10))
    assert paper(CVIR(batch_size=32, labelled_share=0.9))._paired(labels).labelled == 10  # there are no more


def watch(monkeypatch, seen):
    """Have `seen(stage, model, objective, before)` called after each epoch and what follows it in _learn."""
    epochs = Run.epochs

    def watched(self, stage, model, objective, recipe):
        before = (objective.kept.clone(), objective.weight.item())
        for epoch in epochs(self, stage, model, objective, recipe):
            yield epoch
            seen(stage, model, objective, before)
            before = (objective.kept.clone(), objective.weight.item())

    monkeypatch.setattr(Run, "epochs", watched)


@pytest.mark.parametrize("weights, weight", [("prior", 0.3), ("half", 0.5)])
def test_all_rows_at_equal_weights_first_then_a_new_ranking_each_epoch(weights, weight, toy, monkeypatch):
    X, labels, _ = toy
    x, u = torch.from_numpy(X.astype(np.float32)), torch.from_numpy(labels == 0)
    stages, rankings = [], set()

    def check(stage, model, objective, before):
        stages.append(stage)
        kept, used = before
        if stage == "warm-up":
            assert kept.all() and used == 0.5
            return
        assert (~kept).sum() == 81 and not (~kept & ~u).any()  # floor(0.3 * 270)
        assert used == pytest.approx(weight)
        z = scoring.logits(model, x)  # eval mode: BatchNorm's running means, as in predict
        assert z[u & objective.kept].max() <= z[~objective.kept].min()
        rankings.add(tuple(objective.kept.tolist()))

    watch(monkeypatch, check)
    small("cvir", prior=0.3, weights=weights, epochs=4, warm_up_epochs=2).fit(X, labels)
    assert stages == ["warm-up"] * 2 + ["cvir"] * 4
    assert len(rankings) > 1


def test_the_prior_weighs_by_default():
    assert paper(METHODS["cvir"]()).weights == "prior"


def test_more_rows_are_predicted_positive_the_higher_the_prior(toy):
    X, labels, _ = toy
    low, high = (small("cvir", prior=prior).fit(X, labels).predict(X).mean() for prior in (0.15, 0.7))
    assert low + 0.1 < high
