"""What a GPU must do. Run with `pytest -m gpu -n 0` on a machine that has one."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import distpu
from distpu import METHODS, nets
from distpu.train import data, device, graph, views
from distpu.train.data import PUData
from distpu.train.loop import Objective, Recipe, Risk
from distpu.train.run import Run
from distpu.train.scoring import logits
from small import interrupt, small, small_net

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
EAGER = {"precision": "float32", "compile": False, "capture": False}


def labels_for(name, s, y):
    return y if METHODS[name].supervised else s


@pytest.mark.parametrize("name", METHODS)
def test_a_method_learns_on_the_gpu_and_its_model_scores_on_the_cpu(name, toy, tmp_path):
    X, s, y = toy
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # a step that could not be captured warns
        method = small(name, prior=0.4, epochs=20, device="cuda")
        fitted = method.fit(X, labels_for(name, s, y), folder=tmp_path / "run")
    assert next(fitted.model_.parameters()).device.type == "cuda"
    hidden = s == 0
    assert (fitted.predict(X) == y)[hidden].mean() > 0.8
    on_cpu = distpu.load(tmp_path / "run", small_net, device="cpu")
    np.testing.assert_allclose(on_cpu.decision_function(X), fitted.decision_function(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", METHODS)
def test_captured_steps_are_the_eager_ones(name, toy):
    """All stages, two epochs each: most steps are replayed. The same random numbers, so the same terms and weights."""
    X, s, y = toy
    two = {f: 2 for f in METHODS[name].__dataclass_fields__ if f.endswith("epochs")}
    fit = [
        small(name, prior=0.4, device="cuda", lr=1e-4, batch_size=16, **two, **how).fit(X, labels_for(name, s, y))
        for how in ({"precision": "float32"}, EAGER)
    ]
    for ours, plain in zip(fit[0].history_, fit[1].history_, strict=True):
        assert ours == pytest.approx(plain, rel=2e-3, abs=2e-4)
    for ours, plain in zip(fit[0].model_.parameters(), fit[1].model_.parameters(), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("name", ["dist-pu", "self-pu", "tedn"])
def test_a_killed_run_goes_on_to_the_same_bits(name, toy, tmp_path, monkeypatch):
    X, s, _ = toy
    whole = small(name, prior=0.4, device="cuda").fit(X, s)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt(patch, 6)
        small(name, prior=0.4, device="cuda").fit(X, s, folder=tmp_path / "run")
    resumed = small(name, prior=0.4, device="cuda").fit(X, s, folder=tmp_path / "run")
    for a, b in zip(whole.model_.parameters(), resumed.model_.parameters(), strict=True):
        assert torch.equal(a, b)


def images(n=512):
    torch.manual_seed(0)
    y = np.arange(n) % 2
    x = torch.randint(0, 200, (n, 3, 16, 16), dtype=torch.uint8).numpy()
    x[y == 1, 0] += 50
    return x, y


@pytest.mark.filterwarnings("ignore")  # torch's compiler uses what it deprecates
@pytest.mark.parametrize("compiled", [False, True])
def test_images_in_bfloat16_twice_to_the_same_bits(compiled):
    x, y = images()
    settings = dict(network="cnn-13", epochs=6, batch_size=64, random_state=0, compile=compiled, device="cuda")
    first, second = (distpu.PN(**settings).fit(x, y) for _ in range(2))
    assert (first.predict(x) == y).mean() > 0.9
    for a, b in zip(first.model_.parameters(), second.model_.parameters(), strict=True):
        assert torch.equal(a, b)


def test_padded_channels_change_nothing():
    torch.manual_seed(0)
    net, x = nets.cnn13((3, 32, 32)), torch.randn(4, 3, 32, 32)
    torch.testing.assert_close(net(x), net.cuda()(x.cuda()).cpu(), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("name", ["dist-pu", "vpu", "rank-pruning", "self-pu"])
def test_rows_in_host_memory_give_the_same_bits(name, toy, monkeypatch):
    X, s, _ = toy
    there = small(name, prior=0.4, device="cuda").fit(X, s)
    monkeypatch.setattr(data, "fits", lambda x, device: False)
    here = small(name, prior=0.4, device="cuda").fit(X, s)
    for a, b in zip(there.model_.parameters(), here.model_.parameters(), strict=True):
        assert torch.equal(a, b)


def run_on_gpu(n=256):
    torch.manual_seed(0)
    x = torch.randn(n, 5)
    rows = PUData(x, (torch.arange(n) < 40).float(), 0.4).to(torch.device("cuda"))
    return Run(rows, lambda: nets.Network(nets.mlp((5,), 16), torch.zeros(()), torch.ones(())))


class Asks(Objective):
    """A step that makes the host wait."""

    def forward(self, model, batch, progress):
        loss = model(batch.x).square().mean()
        return {"loss": loss if loss.item() > 0.1 else 2 * loss}


class Counts(Objective):
    """A step that is never the same."""

    steps = 0

    def forward(self, model, batch, progress):
        self.steps += 1
        return {"loss": model(batch.x).square().mean() * self.steps}


class Waits(Objective):
    """A step that no stream can record."""

    def forward(self, model, batch, progress):
        torch.cuda.synchronize()
        return {"loss": model(batch.x).square().mean()}


@pytest.mark.parametrize("objective, why", [(Asks, "host waits"), (Counts, "32 kinds"), (Waits, "")])
def test_a_step_that_cannot_be_captured_runs_eagerly(objective, why):
    run = run_on_gpu()
    model, after = run.net(), run.net()
    with pytest.warns(RuntimeWarning, match=f"{objective.__name__} cannot be recorded.*{why}"):
        run.train("stage", model, objective(), Recipe(epochs=2, batch_size=4))
    run.train("after", after, Risk("risk", lambda z, s: z.square().mean()), Recipe(epochs=1, batch_size=4))  # goes on


def test_a_captured_epoch_never_makes_the_host_wait():
    run = run_on_gpu()
    model, objective = run.net(), Risk("risk", lambda z, s: z.square().mean())
    step = graph.Captured(model, objective, Recipe(epochs=1).optimizer(model), torch.device("cuda"))
    step.begin(0.0, 1e-3)
    index = torch.arange(256, device="cuda").view(16, 16)
    batches = list(run.data.batches(index))
    for batch in batches[:4]:
        step(batch)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in run.data.batches(index):
            step(batch)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(step.graphs) == 1
    assert np.isfinite(list(step.means().values())).all()


def test_an_attribute_that_changes_is_recorded_anew():
    class Weighted(Objective):
        weight = 1.0

        def forward(self, model, batch, progress):
            return {"loss": self.weight * (0 * model(batch.x).sum() + 1)}

    run = run_on_gpu()
    objective = Weighted()
    seen = []
    for epoch in run.epochs("stage", run.net(), objective, Recipe(epochs=4, batch_size=16)):
        seen.append(epoch.terms["loss"])
        objective.weight = 2.0 + epoch.number
    assert seen == [1.0, 2.0, 3.0, 4.0]


def test_scores_stream_from_host_memory(toy):
    net = nets.Network(nn.Sequential(nn.Linear(7, 1)), torch.zeros(()), torch.ones(())).cuda()
    x = torch.randn(50_001, 7)
    torch.testing.assert_close(logits(net, x), logits(net, x.cuda()), rtol=0, atol=0)


def test_training_keeps_cudnn_on():
    with device.arithmetic("auto", torch.device("cuda")):
        assert torch.backends.cudnn.enabled  # torch's own context manager turns it off unless told otherwise
        assert torch.backends.cudnn.deterministic
    assert not torch.backends.cudnn.deterministic


def test_a_recorded_view_is_drawn_anew_at_each_replay_and_again_by_its_seed():
    x, y = images()
    seen = []

    class Watched(Objective):
        def __init__(self):
            super().__init__()
            self.register_buffer("sums", torch.zeros(64))
            self.register_buffer("step", torch.zeros(1, dtype=torch.long))

        def forward(self, model, batch, progress):
            self.sums.index_copy_(0, self.step, batch.x.square().mean().view(1))
            self.step += 1
            return {"risk": model(batch.x).square().mean()}

        def batches(self, s, recipe):
            return torch.arange(64, device=s.device).expand(16, 64)  # the same rows at each step

    for _ in range(2):
        torch.manual_seed(0)
        known = PUData(torch.from_numpy(x), torch.from_numpy(y).float(), 0.4).to(torch.device("cuda"))
        run = Run(known, lambda: nets.Network(nets.mlp((3, 16, 16), 8), torch.zeros(()), torch.ones(())),
                  views=views.views_for("auto", x))  # fmt: skip
        run.views = replace(run.views, weak=run.views.strong)
        objective = Watched()
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            run.train("stage", run.net(), objective, Recipe(epochs=1, batch_size=64))
        seen.append(objective.sums[:16].cpu())
    assert len(seen[0].unique()) == 16  # each replay has its own views
    assert torch.equal(*seen)
