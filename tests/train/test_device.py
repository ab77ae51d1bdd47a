"""The fast path as far as a CPU shows it; test_gpu.py has the rest."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import distpu
from distpu import nets
from distpu.nets.cnn13 import Conv
from distpu.nets.network import _compiled
from distpu.study import pool
from distpu.train import device
from distpu.train.data import PUData
from distpu.train.loop import Objective, Recipe, Risk, Step, epochs
from distpu.train.run import Run
from distpu.train.stream import stream
from small import small

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def network(shape=(784,), **how):
    net = nets.Network(nets.mlp(shape), torch.zeros(()), torch.ones(()))
    for name, value in how.items():
        setattr(net, name, value)
    return net


def test_work_counts_the_products_of_one_row():
    products = 784 * 300 + 3 * 300 * 300 + 300
    assert device.work_of_a_row(network(), torch.zeros(2, 784)) == 2 * products
    net = network().train()
    device.work_of_a_row(net, torch.zeros(2, 784))
    assert net.training
    assert net.body[2].num_batches_tracked == 0  # BatchNorm has seen nothing


def test_auto_takes_bfloat16_for_large_networks_where_it_is_fast(monkeypatch):
    monkeypatch.setattr(device, "has_bfloat16", lambda device: True)
    assert device.Speed().bfloat16(CPU, 1e6)
    assert not device.Speed().bfloat16(CPU, 1e5)
    assert not device.Speed().bfloat16(CUDA, 1e6)  # the MLP: TF32 is as fast there, and needs no casts
    assert device.Speed().bfloat16(CUDA, 5e8)
    assert not device.Speed("float32").bfloat16(CUDA, 5e8)
    assert device.Speed("bfloat16").bfloat16(CPU, 1.0)
    monkeypatch.setattr(device, "has_bfloat16", lambda device: False)
    assert not device.Speed().bfloat16(CPU, 1e6)


def test_auto_compiles_long_stages_on_a_gpu(monkeypatch):
    monkeypatch.setattr(device, "_can_compile", lambda: True)
    cifar_epoch = 3 * 5.6e8 * 51_000
    assert device.Speed().compiled(CUDA, 60 * cifar_epoch)
    assert not device.Speed().compiled(CUDA, 10 * cifar_epoch)
    assert not device.Speed().compiled(CPU, 60 * cifar_epoch)
    assert device.Speed(compile=True).compiled(CPU, 0.0)
    assert not device.Speed(compile=False).compiled(CUDA, 60 * cifar_epoch)
    monkeypatch.setattr(device, "_can_compile", lambda: False)
    assert not device.Speed().compiled(CUDA, 60 * cifar_epoch)


def test_auto_does_not_compile_for_ever_new_shapes(monkeypatch, toy):
    monkeypatch.setattr(device, "_can_compile", lambda: True)
    assert device.Speed().compiled(CUDA, 1e20) and not device.Speed().compiled(CUDA, 1e20, many_shapes=True)
    assert device.Speed(compile=True).compiled(CUDA, 1e20, many_shapes=True)
    asked = []
    monkeypatch.setattr(device.Speed, "compiled", lambda self, device, work, many_shapes: asked.append(many_shapes))
    for method in ("nnpu", "self-pu"):
        small(method).fit(*toy[:2])
    assert asked == [False, True]
    asked.clear()
    for method in ("cvir", "tedn"):  # a warm-up and the rest each
        small(method).fit(*toy[:2])
    assert asked == [False, False, True, True]


def test_training_in_bfloat16_gives_float32_logits_and_scores():
    torch.manual_seed(0)
    net, x = network(), torch.rand(64, 784)
    plain = net.train()(x)
    net.in_bfloat16 = True
    half = net(x)
    assert half.dtype == torch.float32
    assert not torch.equal(half, plain)
    torch.testing.assert_close(half, plain, rtol=0.05, atol=0.05)
    scores = net.eval()(x)
    net.in_bfloat16 = False
    assert torch.equal(net(x), scores)  # a score is float32 either way


@pytest.mark.parametrize("name", ["dist-pu", "nnpu", "self-pu"])
def test_both_precisions_learn_the_same(name, toy):
    X, s, y = toy
    fitted = [small(name, prior=0.4, epochs=20, precision=p).fit(X, s) for p in ("float32", "bfloat16")]
    scores = [f.decision_function(X) for f in fitted]
    assert not np.array_equal(*scores)
    for f in fitted:
        assert (f.predict(X) == y)[s == 0].mean() > 0.9
    assert np.corrcoef(*scores)[0, 1] > 0.98


def test_small_steps_get_one_thread_where_there_are_few():
    before, seen = torch.get_num_threads(), []

    def working():
        for _ in range(2):
            seen.append(torch.get_num_threads())
            yield

    try:
        for available, work, expected in ((4, 1e8, 1), (4, 1e9, 4), (8, 1e8, 8), (1, 1e9, 1)):
            torch.set_num_threads(available)
            seen.clear()
            for _ in device.with_threads(working(), CPU, work):
                assert torch.get_num_threads() == available  # the caller keeps its own
            assert seen == [expected] * 2
    finally:
        torch.set_num_threads(before)


def test_a_step_sums_its_terms_over_an_epoch():
    class Two(Objective):
        def forward(self, model, batch, progress):
            zero = 0 * model(batch.x).sum()
            return {"row": batch.x.mean() + zero, "progress": progress + zero}

    data = PUData(torch.arange(6.0).view(6, 1), torch.tensor([1.0, 0, 0, 0, 0, 0]), 0.4)
    model, recipe = nn.Sequential(nn.Linear(1, 1), nn.Flatten(0)), Recipe(epochs=2, batch_size=2)
    found = [epoch.terms for epoch in epochs(Step(model, Two(), recipe.optimizer(model), CPU), data, recipe)]
    assert found == [{"row": 2.5, "progress": 0.0}, {"row": 2.5, "progress": 0.5}]


def test_convolution_before_batchnorm_ignores_its_bias():
    torch.manual_seed(0)
    ours, norm, x = Conv(3, 10, 3, 2), nn.BatchNorm2d(10), torch.randn(4, 3, 9, 9)
    plain = nn.Conv2d(3, 10, 3, 2, 1)
    plain.load_state_dict(ours.state_dict())
    torch.testing.assert_close(norm(ours(x)), norm(plain(x)), rtol=1e-4, atol=1e-5)  # the bias is subtracted again
    assert not ours.bias.requires_grad
    torch.testing.assert_close(ours.eval()(x), plain(x))  # where running means are used, it is added
    norm(plain(x)).square().sum().backward()
    assert plain.bias.grad.abs().max() < 1e-3 * plain.weight.grad.abs().max()  # and never had a gradient


def test_a_network_may_make_images_of_rows_itself(toy):
    X, s, _ = toy
    side = 2

    def network(shape):
        return nn.Sequential(nn.Linear(shape[0], side * side), nn.Unflatten(1, (1, side, side)), nn.Conv2d(1, 4, 2),
                             nn.Flatten(), nn.Linear(4, 1))  # fmt: skip

    fitted = small("nnpu", prior=0.4, network=network).fit(X, s)
    assert np.isfinite(fitted.decision_function(X)).all()


def test_parts_of_a_stream_come_in_order():
    x = torch.arange(20.0).view(10, 2)
    for parts in ([slice(0, 4), slice(4, 10)], torch.tensor([[3, 1], [9, 0]])):
        for part, rows in stream(x, parts, CPU):
            assert torch.equal(rows, x[part])


def test_a_generator_of_batches_is_not_asked_ahead_of_need():
    data, asked = PUData(torch.rand(8, 2), torch.zeros(8), 0.4), []

    def indices():
        for row in range(4):
            asked.append(row)
            yield torch.tensor([row, row + 1])

    for number, batch in enumerate(data.batches(indices())):
        assert asked == [*range(number + 1)]
        assert batch.index.tolist() == [number, number + 1]


def test_a_memory_map_is_read_where_it_lies(tmp_path, toy):
    X, s, _ = toy
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert device.as_tensor(mapped).data_ptr() == mapped.ctypes.data
    fitted = small("nnpu", prior=0.4).fit(mapped, s)
    assert np.array_equal(fitted.decision_function(mapped), fitted.decision_function(X.astype(np.float32)))
    assert np.array_equal(fitted.decision_function(mapped[::-1])[::-1], fitted.decision_function(mapped))


@pytest.mark.parametrize(
    "setting, value, message",
    [
        ("precision", "float16", "precision='float16' must be one of 'auto', 'float32', 'bfloat16'"),
        ("compile", "yes", "compile='yes' must be one of 'auto', True, False"),
        ("capture", True, "capture=True must be one of 'auto', False"),
    ],
)
def test_settings_are_checked(setting, value, message, toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match=message):
        small("nnpu", prior=0.4, **{setting: value}).fit(X, s)


def test_runs_side_by_side(monkeypatch, tmp_path):
    small, large = (SimpleNamespace(x=np.zeros((1, *shape))) for shape in ((1, 28, 28), (1, 224, 224)))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pool.side_by_side([small]) >= 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    assert pool.side_by_side([small]) == 1
    (tmp_path / "control").touch()
    assert pool.side_by_side([small]) == 5
    assert pool.side_by_side([small, large]) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's compiler uses what it deprecates
def test_networks_of_the_same_layers_share_compiled_code():
    from torch._dynamo.utils import counters

    counters.clear()
    _compiled.cache_clear()
    data = PUData(torch.rand(64, 5), (torch.arange(64) < 16).float(), 0.4)
    for _ in range(3):
        run = Run(data, lambda: network((5,)), speed=device.Speed(compile=True))
        net = run.net()
        run.train("stage", net, Risk("risk", lambda z, s: z.square().mean()), Recipe(epochs=2, batch_size=16))
        assert net.in_compiled_code
    assert counters["stats"]["unique_graphs"] == 1
    assert sorted(net.state_dict()) == sorted(network((5,)).state_dict())  # nothing of it shows in a saved model


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_compiled_fit_learns_pickles_and_saves(toy, tmp_path):
    import pickle

    X, s, _ = toy
    fitted = distpu.NNPU(prior=0.4, epochs=2, network=lambda shape: nets.mlp(shape, 24), compile=True).fit(X, s)
    fitted.network = "mlp"
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), fitted.decision_function(X))
