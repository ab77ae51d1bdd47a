import numpy as np
import pytest
import torch

from distpu import METHODS, nets
from distpu.methods.ncpu import EPOCHS, Aligned, NcPU, gated, moved_prototypes, thresholds
from distpu.train.data import Batch, PUData, mean_where
from distpu.train.run import Run
from fixture import close, paper
from small import small, watched


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def objective(**settings):
    torch.manual_seed(0)
    s = torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0])
    run = Run(
        PUData(torch.randn(5, 3), s, 0.4), lambda: nets.Network(nets.mlp((3,), 8), torch.zeros(()), torch.ones(()))
    )
    heads = {"projector": nets.mlp((8,), 8), "predictor": nets.mlp((8,), 8)}
    heads = {name: torch.nn.Sequential(*net[:-1], torch.nn.Linear(8, 128)) for name, net in heads.items()}
    heads["predictor"] = torch.nn.Linear(128, 128)
    model = torch.nn.ModuleDict({"net": run.net(), **heads})
    return Aligned(paper(NcPU(**settings)), model, run), model, Batch(torch.arange(5), run.data.x, s)


def test_prototypes_move_row_by_row():
    mu, q = torch.tensor([[1.0, 0.0], [0.0, 0.0]]).double(), tensor([0.0, 1.0], [0.6, 0.8])
    moved = moved_prototypes(mu, q, torch.tensor([True, True]), 0.99)
    close(moved[0], [0.9861, 0.0179])
    close(torch.nn.functional.normalize(moved, dim=1)[0], [0.9998352874, 0.0181493273], 1e-9)
    random = np.random.default_rng(0)
    rows, kind, naive = random.normal(size=(9, 2)), random.random(9) < 0.5, np.eye(2)
    for row, positive in zip(rows, kind, strict=True):
        c = 0 if positive else 1
        naive[c] = 0.9 * naive[c] + 0.1 * row
    close(moved_prototypes(torch.eye(2).double(), torch.from_numpy(rows), torch.from_numpy(kind), 0.9), naive)


def test_the_nearer_prototype_votes():
    close(torch.softmax(tensor(0.6, 0.8) @ torch.eye(2).double(), 0), [0.4501660027, 0.5498339973], 1e-9)
    made, _, _ = objective()
    made.mu.zero_()
    made.mu[0, 0] = made.mu[1, 1] = 1
    q = torch.zeros(2, 128)
    q[0, :2], q[1, :2] = torch.tensor([0.6, 0.8]), torch.tensor([0.8, 0.6])
    votes = made.voted(q, torch.tensor([0.4, 0.4]), torch.tensor([False, False]))
    assert votes.tolist() == [0, 1]
    close(made.mu.square().sum(1), [1, 1], 1e-6)


def test_thresholds_by_hand():
    made, _, _ = objective()
    p = torch.tensor([0.5, 0.5, 0.9, 0.2, 0.1])
    made.move_thresholds(p, torch.tensor([False, False, True, True, True]))
    close(made.theta, 0.5036666667, 1e-7)
    close(made.rho, [0.499, 0.501], 1e-7)
    close(thresholds(made.theta, made.rho), [0.5016560213, 0.5036666667], 1e-7)
    close(thresholds(tensor(0.8)[0], tensor(0.4, 0.6)), [0.5333333333, 0.8], 1e-9)
    for _ in range(2000):
        made.move_thresholds(torch.ones(5), torch.ones(5, dtype=torch.bool))
    close(made.theta, 0.8, 1e-6)  # the ceiling


def test_the_gate_holds_sure_negatives_in_one_step_only():
    p, s = tensor(0.9, 0.6, 0.8, 0.3, 0.1), tensor(1, 1, 0, 0, 0)
    y = tensor(1, 1, 0.55, 0.2, 0.3)
    z = torch.logit(p)
    ce = torch.nn.functional.binary_cross_entropy_with_logits
    open_, shut = (ce(z, label, reduction="none") for label in (y, gated(y, p, s == 0, tensor(0.8)[0])))
    close(mean_where(open_, s == 1), 0.3080930697, 1e-9)
    close(mean_where(open_, s == 0), 0.7125461396, 1e-9)
    close(mean_where(shut, s == 0), 0.4928236818, 1e-9)
    close(mean_where(shut, s == 1) + mean_where(shut, s == 0), 0.8009167515, 1e-9)
    from distpu.methods._parts import binary_entropy

    close(binary_entropy(z).mean(), 0.4868888679, 1e-9)


@pytest.mark.parametrize(
    "epochs, kept", [(100, 0.87752), (200, 0.93676), (300, 0.95738), (400, 0.96786), (EPOCHS, 0.99)]
)
def test_a_shorter_run_moves_labels_as_far(epochs, kept):
    assert objective(epochs=epochs)[0].keep_label == pytest.approx(kept, abs=5e-6)


def test_labels_change_after_the_start_and_never_on_labelled_rows():
    made, model, batch = objective(epochs=100, start=0.5)
    made(model, batch, torch.tensor(0.4))
    assert torch.equal(made.label.values, batch.s)  # and unlabelled rows begin as negatives
    made.mu.copy_(torch.nn.functional.normalize(torch.ones(2, 128), dim=1))
    made.mu[1] *= -1
    made.voted = lambda q, p, labelled: torch.ones(5)
    made(model, batch, torch.tensor(0.5))
    close(made.label.values, [1, 1, *[1 - made.keep_label] * 3], 1e-6)
    assert not made.label.values.requires_grad


def test_which_views_it_asks_for():
    made, model, batch = objective()
    seen = []
    made.views = watched(seen)
    made(model, batch, torch.tensor(0.0))
    assert seen == ["part", "pair", "pair"]


def test_the_target_follows_and_has_no_gradient():
    made, model, batch = objective(decay=0.9)
    before = made.target.net[0].net.body[1].weight.clone()
    with torch.no_grad():
        model["net"].body[1].weight += 1
    sum(made(model, batch, torch.tensor(0.0)).values()).backward()
    close(made.target.net[0].net.body[1].weight, before + 0.1, 1e-5)
    assert all(p.grad is None for p in made.target.parameters())
    assert model["predictor"].weight.grad.abs().sum() > 0


def test_the_clamped_pairs_learn_too(toy):
    X, s, y = toy
    assert not METHODS["ncpu"].needs_prior
    fitted = small("ncpu", pairs="clamped", epochs=20).fit(X, s)
    assert (fitted.predict(X) == y)[s == 0].mean() > 0.8
