from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from distpu import DistPUPlus, nets
from distpu.methods._parts import mixup
from distpu.methods.dist_pu import Alignment
from distpu.methods.dist_pu_plus import ByMean, ByQuantile, WithTeacher, quantile_where
from distpu.train.data import Batch, PUData
from distpu.train.run import Run
from fixture import U_A, close, finite_difference, gradient, logits, paper, prior, s
from small import small, small_net, watched

ZERO = torch.tensor(0.0)
U = s == 0


def objective(views=None, dtype=torch.float64, **settings):
    """An objective on eight rows of one feature, with its network."""
    torch.manual_seed(0)
    data = PUData(torch.randn(8, 3), s, prior)
    run = Run(data, lambda: nets.Network(nets.mlp((3,), width=8), torch.zeros(()), torch.ones(())))
    if views is not None:
        run.views = views
    model = torch.nn.ModuleDict({"net": run.net()})
    made = WithTeacher(paper(DistPUPlus(**settings)), model, run)
    return made.to(dtype), model, Batch(torch.arange(8), data.x, s)


def test_the_risk_is_dist_pus_and_a_moving_mean_keeps_its_slope():
    z, batch = logits("A"), Batch(torch.arange(8), torch.zeros(8, 1), s)
    plain, _, _ = objective()
    lab = plain.aligned(z, s, 0.0)["lab"]
    close(lab, 0.4438314048, 1e-10)
    close(lab, Alignment(prior)(z, batch), 1e-12)
    moving, _, _ = objective(keep=0.9)
    moving.mean_p.value.fill_(0.45)
    moving.mean_p.started.fill_(True)
    lab = moving.aligned(z, s, 0.0)["lab"]
    p = z.sigmoid()
    close(lab - (1 - p[:3]).mean(), 0.5279359850, 1e-9)
    close(gradient(lab, z)[3:], 1.25 * (p * (1 - p))[3:] / 5, 1e-9)  # the raw mean would push the other way


def test_a_quantile_of_some_rows():
    random = np.random.default_rng(0)
    values, mask = random.normal(size=50), random.random(50) < 0.6
    for share in (0.0, 0.25, 0.6, 1.0):
        found = quantile_where(torch.from_numpy(values), torch.from_numpy(mask), share)
        assert found.item() == pytest.approx(np.quantile(values[mask], share))


def test_the_quantiles_targets_make_as_many_positives_as_the_prior_says():
    z = torch.tensor(U_A, dtype=torch.float64)
    calibrated = ByQuantile(temperature=0.5, keep=0.75).double()
    t = calibrated(z, torch.ones(5, dtype=torch.bool), 0.4)
    tau = np.quantile(U_A, 0.6)
    close(t, torch.sigmoid((z - tau) / 0.5), 1e-7)
    assert (t > 0.5).sum() == 2  # 40 % of five
    calibrated(z + 1, torch.ones(5, dtype=torch.bool), 0.4)
    close(calibrated.tau, 0.75 * tau + 0.25 * (tau + 1), 1e-7)


def test_labelled_rows_do_not_move_the_targets():
    z = torch.tensor([9.0, 9.0, 9.0, *U_A], dtype=torch.float64)
    alone, both = (ByQuantile(0.5, 0.9).double() for _ in range(2))
    close(both(z, U, 0.4)[3:], alone(z[3:], U[3:], 0.4))
    alone, both = (ByMean(0.5, 0.9).double() for _ in range(2))
    close(both(z, U, 0.4)[3:], alone(z[3:], U[3:], 0.4))
    close(both.b, alone.b)


def test_the_means_targets_add_up_to_the_prior():
    z, every = torch.tensor(U_A, dtype=torch.float64), torch.ones(5, dtype=torch.bool)
    calibrated = ByMean(temperature=1.0, keep=0.0).double()
    for _ in range(400):
        t = calibrated(z, every, 0.4)
    close(calibrated.b, 0.1747982549, 1e-9)
    close(t, [0.8422145051, 0.4194085684, 0.1388108747, 0.5435886347, 0.0559774171], 1e-9)


def test_labelled_rows_have_the_target_1_and_no_gradient_reaches_the_teacher():
    made, model, batch = objective(dtype=torch.float32)
    made.joint = True
    t = made.targets(batch)
    assert (t[s == 1] == 1).all() and not t.requires_grad
    sum(made(model, batch, ZERO).values()).backward()
    assert all(p.grad is None for p in made.teacher.parameters())


def test_without_views_and_averages_it_is_dist_pus_second_stage():
    """The Mixup term, with the network's own score of the row as the target."""
    made, model, batch = objective(dtype=torch.float32, decay=0.0, targets="mean", temperature=1.0, alpha=2.0)
    made.joint = True
    net = model["net"]
    y = torch.where(s == 1, 1.0, net.eval()(batch.x).sigmoid().detach())
    torch.manual_seed(3)
    terms = made(model.train(), batch, torch.tensor(0.6))
    torch.manual_seed(3)
    x_mixed, y_mixed = mixup(batch.x, y, 2.0)
    again = [net.train()(x) for x in (x_mixed, batch.x)]  # BatchNorm in training does not read its statistics
    close(terms["mixup"], 5 * bce(again[0], y_mixed), 1e-5)
    close(terms["lab"], Alignment(prior)(again[1], batch), 1e-5)
    close(terms["consistency"], bce(again[1], y), 1e-5)


def test_a_memory_averages_the_targets_of_a_row():
    made, model, batch = objective(memory=0.8, dtype=torch.float32)
    first = made.targets(batch)
    with torch.no_grad():
        model["net"].body[-1].bias += 2
    made.teacher.restart(model["net"])
    made.calibrated.tau.zero_()
    with_memory = made.targets(batch)
    plain = torch.where(s == 1, 1.0, torch.sigmoid((made.teacher(batch.x) - made.calibrated.tau) / 0.3))
    close(with_memory, 0.8 * first + 0.2 * plain, 1e-6)


def test_a_spy_that_is_labelled_again_has_the_target_1_whatever_was_remembered():
    made, _, batch = objective(memory=0.8, dtype=torch.float32)
    assert made.targets(replace(batch, s=torch.zeros_like(batch.s))).max() < 1
    assert (made.targets(batch)[batch.s == 1] == 1).all()


def test_the_teacher_sees_weak_views_and_the_student_strong_ones():
    seen = []
    made, model, batch = objective(watched(seen), dtype=torch.float32)
    made(model, batch, ZERO)
    made.joint = True
    made(model, batch, ZERO)
    assert seen == ["weak", "weak", "strong"]


def test_the_parts_change_after_the_warm_up_also_when_a_run_is_resumed(toy):
    X, labels, _ = toy
    fitted = small("dist-pu-plus", prior=0.4, warm_up_epochs=2, epochs=3).fit(X, labels)
    assert [row["mixup"] > 0 for row in fitted.history_] == [False, False, True, True, True]
    assert [row["entropy"] > 0 for row in fitted.history_] == [True, True, False, True, True]  # mu(u) starts at 0


def test_pairs_memory_means_and_the_teachers_prediction_learn_too(toy):
    X, labels, y = toy
    told = dict(
        pairs=1.0, hidden=16, memory=0.5, keep=0.9, targets="mean", predicts="teacher", decay=0.9, optimiser="sgd"
    )
    fitted = small("dist-pu-plus", prior=0.4, rise=1, lr=0.05, decay_all=False, **told).fit(X, labels)
    assert (fitted.predict(X) == y)[labels == 0].mean() > 0.85
    assert fitted.history_[-1]["pairs"] > 0 and not fitted.model_.training


def test_the_preset_follows_the_network():
    images = np.random.default_rng(0).integers(0, 256, size=(40, 3, 8, 8), dtype=np.uint8)
    labels = np.arange(40) < 10
    for network, preset, optimiser in (("cnn-13", "cpu", "adam"), ("resnet-18", "resnet-18", "sgd")):
        method = DistPUPlus(prior=0.4, network=network, device="cpu")
        method._check_rows(images, reset=True)
        assert method.preset_for(len(labels)) == preset
        assert method._with_preset(preset).optimiser == optimiser
    grey = DistPUPlus(prior=0.4, device="cpu")
    grey._check_rows(images[:, :1], reset=True)
    assert [grey.preset_for(rows) for rows in (40, 20_000)] == ["small", "fashion-mnist"]
    assert grey._with_preset("fashion-mnist").keep == 0.85 and grey._with_preset("small").keep == 0.0
    assert DistPUPlus(prior=0.4, device="cpu", preset="paper").set_params(network="mlp").preset_for(20_000) == "paper"
    method = small("dist-pu-plus", network=small_net, preset="resnet-18", warm_up_epochs=1, epochs=1)
    assert method.fit(images, labels).settings_["temperature"] == 0.4


def test_a_table_of_logits_has_the_slopes_of_the_sum():
    z = logits("A")
    made, _, _ = objective()

    def total(v):
        return sum(made.aligned(v, s, 0.3).values())

    close(gradient(total(z), z), finite_difference(total, z), 1e-7)
