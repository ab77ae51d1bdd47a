"""The recipe of a stage: rates, optimisers, what they penalise, and what a checkpoint keeps of them."""

import pytest
import torch
from torch import nn

from distpu import nets
from distpu.files.run_folder import RunFolder
from distpu.methods._parts import Average, Teacher
from distpu.train import checkpoint
from distpu.train.data import PUData
from distpu.train.loop import Recipe, Risk, Step, epochs
from distpu.train.run import Run
from small import interrupt


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1), nn.Flatten(0))


def test_the_rate_rises_linearly_and_meets_the_cosine():
    plain, rising = Recipe(epochs=10, lr=0.4), Recipe(epochs=10, lr=0.4, rise=3)
    shares = [rising.rate(e) / plain.rate(e) for e in range(10)]
    assert shares == pytest.approx([1 / 3, 2 / 3, *[1] * 8])
    assert rising.rate(1, done=0.25) / plain.rate(1) == pytest.approx(1.25 / 3)
    assert plain.rate(1, done=0.25) == plain.rate(1)
    assert Recipe(epochs=1, lr=0.4, rise=1).rate(0) == 0.4
    assert Recipe(epochs=1300, lr=1e-3, floor=1e-3).rate(650) == pytest.approx(5.005e-4)  # NcPU's, halfway


def test_a_rising_rate_changes_from_step_to_step():
    data = PUData(torch.randn(64, 3), (torch.arange(64) < 20).float(), 0.4)
    recipe, seen, model = Recipe(epochs=3, lr=0.08, batch_size=16, rise=2), [], net()

    class Watched(Risk):
        def forward(self, model, batch, progress):
            seen.append(optimiser.param_groups[0]["lr"])
            return super().forward(model, batch, progress)

    optimiser = recipe.optimizer(model)
    step = Step(model, Watched("risk", lambda z, s: (z - s).square().mean()), optimiser, torch.device("cpu"))
    logged = [epoch.lr for epoch in epochs(step, data, recipe)]
    full = [Recipe(epochs=3, lr=0.08).rate(epoch) for epoch in range(3)]
    assert seen == pytest.approx(
        [full[0] * k / 8 for k in (1, 2, 3, 4)] + [full[1] * k / 8 for k in (5, 6, 7, 8)] + [full[2]] * 4
    )
    assert logged == pytest.approx([full[0] / 2, full[1], full[2]])


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("visited", [16, 64])
@pytest.mark.parametrize("sampling", ["mixed", "paired"])
def test_the_rate_is_full_at_the_last_step_of_the_rise_however_many_rows_an_epoch_visits(sampling, visited, blocks):
    data = PUData(torch.randn(64, 3), (torch.arange(64) % 4 == 0).float(), 0.4, blocks=blocks)
    recipe, seen, model = Recipe(2, lr=0.1, batch_size=8, rise=1, sampling=sampling, labelled=4), [], net()

    class Some(Risk):
        def rows(self, s):
            return torch.arange(visited)

        def forward(self, model, batch, progress):
            seen.append(optimiser.param_groups[0]["lr"])
            return super().forward(model, batch, progress)

    optimiser = recipe.optimizer(model)
    step = Step(model, Some("risk", lambda z, s: (z - s).square().mean()), optimiser, torch.device("cpu"))
    list(epochs(step, data, recipe))
    steps = len(seen) // 2
    assert seen[:steps] == pytest.approx([0.1 * (k + 1) / steps for k in range(steps)])


def test_sgd_is_nesterovs_by_hand():
    model = nn.Linear(2, 1, bias=False)
    w = model.weight.detach().clone()
    optimiser = Recipe(epochs=1, lr=0.1, weight_decay=0.01, optimiser="sgd").optimizer(model)
    velocity = torch.zeros_like(w)
    for step in range(3):
        model.weight.grad = torch.full_like(w, 1.0 + step)
        optimiser.step()
        slope = 1.0 + step + 0.01 * w
        velocity = slope if step == 0 else 0.9 * velocity + slope
        w = w - 0.1 * (slope + 0.9 * velocity)
        torch.testing.assert_close(model.weight.detach(), w)


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_norms_and_biases_can_be_left_without_penalty(optimiser):
    model = net()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    step = Recipe(epochs=1, lr=0.1, weight_decay=0.1, decay_all=False, optimiser=optimiser).optimizer(model)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    step.step()
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert moved == {"0.weight", "2.weight"}


def test_a_killed_stage_with_sgd_ends_with_the_same_bits(tmp_path, monkeypatch):
    torch.manual_seed(1)
    data = PUData(torch.randn(64, 3), (torch.arange(64) < 20).float(), 0.4)
    recipe = Recipe(epochs=6, lr=0.05, batch_size=16, optimiser="sgd", decay_all=False, rise=2)

    def trained(folder):
        model = net()
        torch.manual_seed(2)
        run = Run(data, net, None if folder is None else RunFolder(folder))
        run.train("stage", model, Risk("risk", lambda z, s: (z - s).square().mean()), recipe)
        return model

    (tmp_path / "run").mkdir()
    whole = trained(None)
    interrupt(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "run")
    for a, b in zip(whole.parameters(), trained(tmp_path / "run").parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_checkpoint_of_another_optimiser_is_refused():
    model = net()
    model(torch.randn(5, 3)).sum().backward()
    sgd, adam = (Recipe(epochs=1, optimiser=kind).optimizer(model) for kind in ("sgd", "adam"))
    sgd.step()
    with pytest.raises(ValueError, match="exp_avg is missing|momentum_buffer is not known"):
        checkpoint.unpack(checkpoint.pack(model, nn.Module(), sgd), model, nn.Module(), adam)


def test_an_average_takes_in_weights_and_statistics_and_stays_in_eval_mode():
    student = net()
    average, teacher = Average(student, decay=0.5), Teacher(student, decay=0.5)
    kept = {name: tensor.clone() for name, tensor in student.state_dict().items()}
    average.follow(student)  # the first copies
    student.train()(torch.randn(8, 3) + 2)
    with torch.no_grad():
        student[0].weight += 1
    average.follow(student)
    teacher.follow(student)
    state = average.net.state_dict()
    for name, now in student.state_dict().items():
        if now.is_floating_point():
            torch.testing.assert_close(state[name], 0.5 * kept[name] + 0.5 * now)
    assert state["1.num_batches_tracked"] == 1
    assert torch.equal(teacher.net.state_dict()["1.running_mean"], kept["1.running_mean"])
    average.train()
    assert not average.net.training
    x = torch.randn(4, 3)
    torch.testing.assert_close(average(x), average.net.eval()(x))
    assert not average(x).requires_grad


def test_a_network_in_eval_mode_is_fast_only_while_it_teaches():
    network = nets.Network(nets.mlp((3,), width=8), torch.zeros(()), torch.ones(()))
    network.in_bfloat16 = True
    x = torch.randn(4, 3)
    exact = network.eval()(x)
    rough = Average(network, 0.9)(x)
    assert not torch.equal(exact, rough)
    torch.testing.assert_close(exact, rough, rtol=0.05, atol=0.05)
