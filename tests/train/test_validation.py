"""The epoch kept by a PU metric on rows held out from training."""

import copy

import numpy as np
import pytest
import torch

from distpu import METHODS, VPU, metrics
from distpu.train.scoring import logits
from distpu.train.validation import Best, Validation, held_out
from small import NETWORKS, interrupt, small

CHOOSES = [name for name in NETWORKS if not METHODS[name].supervised]


def chosen(name, **settings):
    off = {"held_out": 0.0} if name == "vpu" else {}
    return small(name, validation_fraction=0.25, prior=0.4, **off, **settings)


def test_the_networks_of_the_best_epoch_come_back():
    net, random = torch.nn.Linear(3, 1), torch.Generator().manual_seed(0)
    best, states = Best([net]), []
    for value in (0.3, 0.8, 0.5, 0.8, 0.7):
        with torch.no_grad():
            net.weight.copy_(torch.rand(1, 3, generator=random))
        states.append(copy.deepcopy(net.state_dict()))
        best.see(value)
    best.give_back()
    assert torch.equal(net.weight, states[3]["weight"])  # of equal epochs the later


def test_held_out_rows_keep_copies_together_and_have_labelled_rows(toy):
    X, s, _ = toy
    X, s = np.concatenate([X, X[:100]]), np.concatenate([s, np.zeros(100, dtype=int)])
    held = held_out(X, s, 0.2, 0)
    assert (held[:100] == held[300:]).all() and 0.1 < held.mean() < 0.3 and s[held].sum() == 6
    with pytest.raises(ValueError, match="leaves no labelled row left to train on, of 1 labelled and 399"):
        for seed in range(40):
            held_out(X, np.eye(1, 400, dtype=int)[0], 0.1, seed)


@pytest.mark.parametrize("name", CHOOSES)
def test_every_method_ends_with_its_best_epoch(name, toy, monkeypatch):
    X, s, _ = toy
    seen = {}
    value = Validation.value

    def watched(self, net, prior):
        found = value(self, net, prior)
        seen["rows"] = self
        return found

    monkeypatch.setattr(Validation, "value", watched)
    model = chosen(name).fit(X, s)
    stage = model.history_[-1]["stage"]
    values = [row["validation"] for row in model.history_ if row["stage"] == stage]
    rows = seen["rows"]
    assert value(rows, model.model_, 0.4) == max(values)
    assert not stage.startswith(model.preparing or "-") and model.keeps == "pu"
    assert len(rows.s) == pytest.approx(0.25 * len(s), abs=2)


@pytest.mark.parametrize("name", ["dist-pu", "self-pu"])
def test_a_killed_run_keeps_the_same_epoch(name, toy, tmp_path, monkeypatch):
    X, s, _ = toy
    plain = chosen(name).fit(X, s)
    values = [row["validation"] for row in plain.history_]
    calls = interrupt(monkeypatch, len(values) - 1)
    with pytest.raises(KeyboardInterrupt):
        chosen(name).fit(X, s, folder=tmp_path)
    resumed = chosen(name).fit(X, s, folder=tmp_path)
    assert len(calls) < 2 * len(values)
    assert [row["validation"] for row in resumed.history_] == values
    for key, tensor in plain.model_.state_dict().items():
        assert torch.equal(tensor, resumed.model_.state_dict()[key]), key


def test_without_a_prior_the_ranking_chooses(toy):
    X, s, _ = toy
    net = small("naive").fit(X, s).model_
    rows = Validation(torch.from_numpy(X).float(), s)
    z = logits(net, rows.x).double().numpy()
    assert rows.value(net, float("nan")) == metrics.pu_auc(s, z)
    assert rows.value(net, 0.4) == metrics.pu_accuracy(s, z, 0.4)


def test_the_last_epoch_is_kept_by_default(toy):
    X, s, _ = toy
    model = small("nnpu", prior=0.4).fit(X, s)
    assert model.keeps == "last" and "validation" not in model.history_[-1]


def test_two_choices_of_the_epoch_are_refused():
    with pytest.raises(ValueError, match="held_out=0.1 and validation_fraction=0.2 both choose the epoch kept"):
        VPU(validation_fraction=0.2)._check_parameters()


def test_a_stage_that_prepares_keeps_its_last_epoch(toy):
    X, s, _ = toy
    model = chosen("pubn").fit(X, s)
    assert {row["stage"] for row in model.history_ if "validation" in row} == {"pubn"}
