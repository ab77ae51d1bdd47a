import copy

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from distpu.methods._parts import Teacher, binary_entropy, pu_risks
from distpu.methods.self_pu import (
    SelfPaced,
    SelfPU,
    consistency_weight,
    gated_distillation,
    meta_weights,
    most_certain,
    row_weights,
    trusted_size,
    weighted_risks,
)
from distpu.train.data import Batch, PUData
from distpu.train.run import Run
from fixture import close, finite_difference, gradient, logits, paper, prior, s
from small import small


class Line(nn.Module):
    """z = theta x."""

    def __init__(self, theta=0.8, dtype=torch.float64):
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(theta, dtype=dtype))

    def forward(self, x):
        return self.theta * x.reshape(len(x))


def data_of(n_labelled=10, n=200, extra=None):
    torch.manual_seed(0)
    labels = (torch.arange(n) < n_labelled).float()
    return PUData(torch.randn(n, 1) + labels[:, None], labels, 0.4, extra or {})


def objective_of(of=None, data=None, thetas=(0.8, 0.5)):
    students = nn.ModuleDict({str(k + 1): Line(theta, torch.float32) for k, theta in enumerate(thetas)})
    return SelfPaced(of or paper(SelfPU()), students, data or data_of()), students


# ---- trusted rows


@pytest.mark.parametrize(
    ("n_unlabelled", "first", "second"),
    [
        (50_000, (1000, 2000, 3000, 4000), (1500, 3000, 4500, 6000)),
        (60_000, (1200, 2400, 3600, 4800), (1800, 3600, 5400, 7200)),
        (5_121, (102, 204, 307, 409), (153, 307, 460, 614)),
    ],
)
def test_how_many_rows_are_trusted(n_unlabelled, first, second):
    d = paper(SelfPU(epochs=200))
    chosen = [e / d.epochs for e in range(*d._self_paced())]
    assert tuple(trusted_size(n_unlabelled, t, d.trusted_1) for t in chosen) == first
    assert tuple(trusted_size(n_unlabelled, t, d.trusted_2) for t in chosen) == second


def test_the_schedule_is_the_papers_at_200_epochs_and_scales():
    assert paper(SelfPU(epochs=200))._self_paced() == (10, 50, 10)
    assert paper(SelfPU())._self_paced() == (3, 15, 3)
    assert paper(SelfPU(epochs=1))._self_paced() == (0, 1, 1)


def test_the_surest_unlabelled_rows_are_trusted_by_rank_and_never_a_labelled_one():
    z = torch.tensor([9.0, 0.3, -0.1, 5.0, -9.0, 2.0, -4.0])
    labels = torch.tensor([1.0, 0, 0, 0, 1, 0, 0])
    assert most_certain(z, labels, 2).tolist() == [0, 0, -1, 1, 0, 1, -1]
    assert most_certain(z, labels, 0).tolist() == [0] * 7
    assert trusted_size(5, 1.0, 1.0) == 2  # one unlabelled row is always left


def test_trust_is_given_anew_each_time():
    objective, students = objective_of()
    objective.trust(0.1)
    before = objective.trusted.clone()
    assert (before == 1).sum(1).tolist() == (before == -1).sum(1).tolist() == [7, 11]
    assert not before[:, :10].any()
    x = objective.data.x[:, 0]
    assert x[before[0] == 1].min() > x[10:][before[0, 10:] == 0].max()
    with torch.no_grad():
        students["1"].theta.mul_(-1)
    objective.trust(0.1)
    assert torch.equal(objective.trusted[0], -before[0]) and torch.equal(objective.trusted[1], before[1])


def passes(objective, recipe):
    """The passes of an epoch: (student, trusting, rows)."""
    seen = []
    for index in objective.batches(objective.data.s, recipe):
        key = (objective.k, objective.trusting)
        if not seen or seen[-1][0] != key:
            seen.append((key, []))
        seen[-1][1].append(index)
    return seen


def test_first_the_trusted_rows_of_both_students_then_the_rest():
    objective, _ = objective_of()
    recipe = paper(SelfPU(batch_size=20))._recipe()
    assert [key for key, _ in passes(objective, recipe)] == [(0, False), (1, False)]  # nothing is trusted yet
    objective.trust(0.2)
    seen = passes(objective, recipe)
    assert [key for key, _ in seen] == [(0, True), (1, True), (0, False), (1, False)]
    for (k, trusting), batches in seen:
        rows = torch.cat(batches)
        assert len(rows.unique()) == len(rows)
        assert ((objective.trusted[k, rows] != 0) == trusting).all()
        labelled = [int((objective.data.s[b] == 1).sum()) for b in batches]
        assert set(labelled) == {0} if trusting else set(labelled) <= {1, 2}  # evenly spread over the rest
    assert int(objective.epoch) == 2


def test_on_trusted_rows_the_students_own_prediction_is_the_target_with_gradient():
    objective, students = objective_of()
    objective.trust(0.2)
    objective.k, objective.trusting = 0, True
    rows = torch.nonzero(objective.trusted[0]).flatten()
    terms = objective(students, objective.data[rows], torch.tensor(0.1))
    z = (0.8 * objective.data.x[rows, 0]).requires_grad_()
    close(terms["trusted"], binary_entropy(z).mean(), 1e-6)
    close(gradient(terms["trusted"], students["1"].theta), gradient(binary_entropy(z).mean(), z) @ z / 0.8, 1e-5)
    assert terms["nnpu"] == terms["distillation"] == terms["teacher"] == 0
    objective.of = paper(SelfPU(trusted_loss="label"))
    terms = objective(students, objective.data[rows], torch.tensor(0.1))
    close(terms["trusted"], bce(z, (objective.trusted[0, rows] == 1).float()), 1e-6)


# ---- teachers


@pytest.mark.parametrize("start", [-7.0, 0.0, 100.0])
def test_a_teacher_is_the_mean_of_what_it_followed(start):
    teacher = Teacher(Line(start), decay=0.999).double()
    for snapshot in (3.0, 1.0, 2.0, 6.0):
        teacher.follow(Line(snapshot))
    close(teacher.net.theta, 3.0)
    assert not teacher.net.theta.requires_grad and not any(b.requires_grad for b in teacher.buffers())
    copied = Teacher(Line(5.0), decay=0.999).double()
    copied.load_state_dict(teacher.state_dict())  # as from a checkpoint
    for t in (teacher, copied):
        t.follow(Line(8.0))
        close(t.net.theta, 4.0)
    teacher.restart(Line(2.0))
    close(teacher.net.theta, 2.0)
    teacher.follow(Line(4.0))
    close(teacher.net.theta, 4.0)


def test_a_teacher_keeps_no_more_of_itself_than_its_decay():
    teacher = Teacher(Line(0.0), decay=0.5)
    for snapshot in (4.0, 0.0, 0.0, 0.0):
        teacher.follow(Line(snapshot))
    close(teacher.net.theta, 0.5)


def test_weight_of_the_teachers_term():
    d = paper(SelfPU(epochs=200))
    weights = [consistency_weight(d, torch.tensor(e / 200, dtype=torch.float64)) for e in (50, 199)]
    close(torch.stack(weights), [0.0032912995, 0.0566137124], 1e-10)


def test_a_teacher_teaches():
    """The public code's softmax over one logit gives 0 here, whatever the student says."""
    objective, students = objective_of()
    objective.distilling, objective.k = True, 0
    batch, t = objective.data[torch.arange(100)], torch.tensor(0.5)
    for trusting in (True, False):  # in both passes
        objective.trusting = trusting
        with torch.no_grad():
            students["1"].theta.fill_(0.8)
        assert objective(students, batch, t)["teacher"] == 0
        with torch.no_grad():
            students["1"].theta.add_(0.5)
        term = objective(students, batch, t)["teacher"]
        apart = (1.3 * batch.x).sigmoid() - (0.8 * batch.x).sigmoid()
        close(term, consistency_weight(paper(SelfPU()), t) * apart.square().mean(), 1e-8)
        assert term > 0 and gradient(term, students["1"].theta) > 0  # back to the teacher


def test_a_teacher_starts_as_its_student_and_follows_after_either_pass():
    of = paper(SelfPU(epochs=8))
    objective, students = objective_of(of)
    recipe, seen = of._recipe(batch_size=500), []
    objective.trust(0.2)
    start = of._self_paced()[1]
    for epoch in range(start + 2):
        for _ in objective.batches(objective.data.s, recipe):
            if objective.distilling:
                seen.append((epoch, objective.k, objective.trusting, float(objective.teachers[objective.k].net.theta)))
            with torch.no_grad():
                students[str(objective.k + 1)].theta.add_(1.0)
    # student 1 starts at 0.8 and gains 1 a pass: 4.8 after the two epochs before; then the mean of 5.8, 6.8, 7.8
    taught = [theta for _, k, _, theta in seen if k == 0]
    close(taught, [4.8, 5.8, 6.3, 6.8], 1e-5)
    close(objective.teachers[0].net.theta, (5.8 + 6.8 + 7.8 + 8.8) / 4, 1e-5)
    assert [t for e, _, t, _ in seen if e == start] == [True, True, False, False]


# ---- students that learn from each other


@pytest.mark.parametrize(("case", "risk"), [("A", 0.2997626999), ("B", 0.1656914405)])
def test_the_gate_compares_with_what_nnpu_steps_along(case, risk):
    z = logits(case)
    parts = pu_risks(z, s, prior)

    def apart_by(m):
        """Logits of another whose probabilities differ by sqrt(m) everywhere."""
        p = z.detach().sigmoid()
        return torch.where(p < 0.5, p + m**0.5, p - m**0.5).logit()

    below, above = 0.1 * risk * 0.9999, 0.1 * risk * 1.0001
    close(gated_distillation(z, apart_by(below), *parts, gate=0.1), below, 1e-10)
    assert gated_distillation(z, apart_by(above), *parts, gate=0.1) == 0


def test_distillation_moves_the_student_and_not_the_other():
    z, other = logits("A"), (logits("A").detach() + 0.1).requires_grad_()
    parts = [part.detach() for part in pu_risks(z, s, prior)]
    m = gated_distillation(z, other, *parts, gate=0.1)
    assert torch.autograd.grad(m, other, allow_unused=True, retain_graph=True)[0] is None
    naive = finite_difference(lambda v: gated_distillation(v, other, *parts, gate=0.1), z)
    close(gradient(m, z), naive, 1e-8)


def test_students_learn_from_each_other_on_the_rest_only_and_only_in_the_end():
    objective, students = objective_of(thetas=(0.8, 0.81))
    batch, t = objective.data[torch.arange(100)], torch.tensor(0.5)
    assert objective(students, batch, t)["distillation"] == 0
    objective.distilling = True
    terms = objective(students, batch, t)
    close(terms["distillation"], ((0.8 * batch.x).sigmoid() - (0.81 * batch.x).sigmoid()).square().mean(), 1e-8)
    close(terms["nnpu"], sum(pu_risks(0.8 * batch.x[:, 0], batch.s, 0.4)), 1e-6)
    torch.autograd.backward(sum(terms.values()))
    assert students["1"].theta.grad is not None and students["2"].theta.grad is None
    objective.trusting = True
    assert objective(students, batch, t)["distillation"] == 0


# ---- calibration


def one_dimensional():
    x = torch.tensor([1.0, 0.5, -1.5], dtype=torch.float64)[:, None]
    clean = torch.tensor([0.3, -0.6], dtype=torch.float64)[:, None]
    return Line(), Batch(torch.arange(3), x, torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)), clean


def entropy_objective(z):
    return 2 * binary_entropy(z).mean()


def test_calibrated_weights_in_one_dimension():
    net, batch, clean = one_dimensional()
    close(gradient(entropy_objective(net(clean)), net.theta), -0.08575027, 1e-8)
    w = meta_weights(net, batch, prior, clean, entropy_objective, 1e-3)
    weights = row_weights(w, batch.s, budget=3.0, least=1e-10)
    close(weights[0], [1, 0])  # labelled
    close(weights[1], [7.28017e-5, 0.9999271983], 1e-9)
    close(weights[2], [0.5555577137, 0.4444422863], 1e-9)


def test_the_wrong_sign_of_the_inner_entropy_would_show(monkeypatch):
    net, batch, clean = one_dimensional()
    monkeypatch.setattr("distpu.methods.self_pu.binary_entropy", lambda z: -binary_entropy(z))
    w = meta_weights(net, batch, prior, clean, entropy_objective, 1e-3)
    close(row_weights(w, batch.s, budget=3.0, least=1e-10), [[1, 0]] * 3)


def test_the_meta_gradient_by_finite_differences():
    net, batch, clean = one_dimensional()
    y = torch.tensor([1.0, 0.0], dtype=torch.float64)
    w = meta_weights(net, batch, prior, clean, lambda z: bce(z, y), 0.1)

    def v(eps):
        z = net(batch.x)
        eps = eps.view(3, 2)
        inner = sum(weighted_risks(z, batch.s, prior, eps[:, 0])) + (eps[:, 1] * binary_entropy(z)).mean()
        return bce((net.theta - 0.1 * gradient(inner, net.theta)) * clean[:, 0], y).detach()

    slopes = finite_difference(v, torch.zeros(6, dtype=torch.float64))
    close(w, (-slopes).clamp(min=0).view(3, 2), 1e-9)
    assert (w > 0).any() and (w == 0).any()


def test_rows_are_calibrated_in_order_until_the_budget_is_spent():
    w = torch.tensor([[1.0, 3.0]] * 6)
    labels = torch.tensor([0.0, 1, 0, 0, 0, 0])
    weights = row_weights(w, labels, budget=1.6, least=0.0)
    calibrated, plain = [0.25, 0.75], [1.0, 0.0]  # 0, 0.75 and 1.5 are below 1.6, 2.25 is not
    close(weights, [calibrated, plain, calibrated, calibrated, plain, plain], 1e-6)
    nothing = row_weights(torch.zeros(6, 2), labels, budget=9.0, least=1e-10)
    close(nothing, [plain] * 6)


def test_weights_multiply_the_losses_and_not_the_counts():
    z, w = logits("A"), torch.linspace(0, 1, 8, dtype=torch.float64)
    for a, b in zip(weighted_risks(z, s, prior), pu_risks(z, s, prior), strict=True):
        close(a, b)
    positive, negative = weighted_risks(z, s, prior, w)
    p = z.sigmoid()
    close(positive, prior * (w[:3] * (1 - p[:3])).sum() / 3)
    close(negative, (w[3:] * p[3:]).sum() / 5 - prior * (w[:3] * p[:3]).sum() / 3)


def test_the_virtual_step_leaves_the_network_as_it_was():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1), nn.Flatten(0))
    before = copy.deepcopy(net.state_dict())
    batch = Batch(torch.arange(8), torch.randn(8, 2), s)
    w = meta_weights(net, batch, prior, torch.randn(1, 2), lambda z: bce(z, torch.ones(1)), 1e-3)  # one clean row
    assert w.shape == (8, 2) and (w > 0).any() and not w.requires_grad
    assert net.training and all(torch.equal(v, before[k]) for k, v in net.state_dict().items())
    assert all(p.grad is None for p in net.parameters())


def test_only_the_self_paced_epochs_are_calibrated():
    torch.manual_seed(0)
    clean = {"clean_positives": torch.randn(4, 1) + 1, "clean_negatives": torch.randn(3, 1) - 1}
    of = paper(SelfPU(epochs=20))
    objective, students = objective_of(of, data_of(extra=clean))
    seen = []
    for _ in range(8):
        next(iter(objective.batches(objective.data.s, of._recipe())))
        seen.append(objective.calibrating)
        objective.epoch += 1
    assert seen == [False] + [True] * 4 + [False] * 3
    objective.calibrating = True
    batch = objective.data[torch.arange(100)]
    weights = objective.calibrated(students["1"], batch)
    close(weights.sum(1), torch.ones(100), 1e-6)
    assert weights[:10, 1].sum() == 0 and 0 < weights[:, 1].sum() < 100 / 16 + 1
    terms = objective(students, batch, torch.tensor(0.1))
    z = 0.8 * batch.x[:, 0]
    close(terms["nnpu"], sum(weighted_risks(z, batch.s, 0.4, weights[:, 0])), 1e-3)
    close(terms["trusted"], (weights[:, 1] * binary_entropy(z)).mean(), 1e-3)


def test_clean_rows_change_what_is_learned_in_whatever_form_they_come(toy):
    X, labels, y = toy
    plain = small("self-pu", prior=0.4).fit(X, labels)
    a = small("self-pu", prior=0.4).fit(X, labels, clean_rows=X[:40], clean_labels=y[:40])
    assert not np.array_equal(a.decision_function(X), plain.decision_function(X))
    b = small("self-pu", prior=0.4).fit(X, labels, clean_rows=torch.from_numpy(X[:40]), clean_labels=y[:40] == 1)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    frame = pd.DataFrame(X, columns=list("abcdef"))
    c = small("self-pu", prior=0.4).fit(frame, labels, clean_rows=frame[:40], clean_labels=pd.Series(y[:40]))
    np.testing.assert_array_equal(a.decision_function(X), c.decision_function(frame))


def test_clean_rows_without_their_labels_are_refused(toy):
    X, labels, y = toy
    for clean, message in (
        (dict(clean_rows=X[:5]), "go together"),
        (dict(clean_labels=y[:5]), "go together"),
        (dict(clean_rows=X[:5], clean_labels=y[:40]), "5 rows, but clean_labels has 40"),
        (dict(clean_rows=X[:5], clean_labels=[1, 1, np.nan, np.nan, 1]), "missing"),
        (dict(clean_rows=X[:2], clean_labels=[1, 1]), "only one class"),
        (dict(clean_rows=X[:9, :3], clean_labels=[1, 0, 0] * 3), "3 features"),
    ):
        with pytest.raises(ValueError, match=message):
            small("self-pu", prior=0.4).fit(X, labels, **clean)


# ---- the whole


@pytest.fixture
def made(monkeypatch):
    """The objectives that fits make, one after the other."""
    made, init = [], SelfPaced.__init__
    monkeypatch.setattr(SelfPaced, "__init__", lambda self, *a: (made.append(self), init(self, *a))[1])
    return made


def test_teacher_1_of_the_last_epoch_predicts(toy, made):
    X, labels, _ = toy
    fitted = small("self-pu", prior=0.4).fit(X, labels)
    objective = made[0]
    assert fitted.model_ is objective.teachers[0].net
    assert int(objective.epoch) == 8 and (objective.trusted != 0).any(1).all()
    assert float(objective.teachers[0].steps) == 2 * (8 - paper(SelfPU(epochs=8))._self_paced()[1])
    student = dict(objective.students[0].named_parameters())
    assert not all(torch.equal(p, student[name]) for name, p in fitted.model_.named_parameters())


@pytest.mark.parametrize(("thetas", "better"), [((3.0, -3.0), 0), ((-3.0, 3.0), 1), ((1.0, 1.0), 0)])
def test_the_better_teacher_is_the_one_of_less_risk_on_the_training_rows(thetas, better):
    x, labels = torch.tensor([[2.0], [1.0], [1.0], [-1.0]]), torch.tensor([1.0, 1.0, 0.0, 0.0])
    data = PUData(x, labels, 0.5, {})
    for predicts, number in (("first", 0), ("better", better)):
        objective, students = objective_of(paper(SelfPU(predicts=predicts)), data, thetas)
        assert objective.scorer(students) is objective.teachers[number].net
    for k, theta in enumerate(thetas):
        positive, negative = pu_risks(theta * x.flatten(), labels, 0.5)
        close(objective.risk(objective.teachers[k].net), positive + max(negative, 0), 1e-6)


@pytest.mark.parametrize("better", [0, 1])
def test_a_fit_is_left_with_the_better_teacher(toy, made, monkeypatch, better):
    X, labels, _ = toy
    monkeypatch.setattr(SelfPaced, "risk", lambda self, net: float(net is not self.teachers[better].net))
    fitted = small("self-pu", prior=0.4, predicts="better").fit(X, labels)
    assert fitted.model_ is made[0].teachers[better].net


def test_an_interrupted_calibrated_run_ends_with_the_same_bits(toy, tmp_path, monkeypatch):
    X, labels, y = toy
    clean = dict(clean_rows=X[:40], clean_labels=y[:40])
    whole = small("self-pu", prior=0.4).fit(X, labels, **clean)
    log = Run._log

    def breaks_down(self, stage, epoch, *rest):
        if epoch.number == 2 and not (tmp_path / "broken-once").exists():
            (tmp_path / "broken-once").touch()
            raise KeyboardInterrupt
        log(self, stage, epoch, *rest)

    monkeypatch.setattr(Run, "_log", breaks_down)
    with pytest.raises(KeyboardInterrupt):
        small("self-pu", prior=0.4).fit(X, labels, folder=tmp_path / "run", **clean)
    resumed = small("self-pu", prior=0.4).fit(X, labels, folder=tmp_path / "run", **clean)
    np.testing.assert_array_equal(whole.decision_function(X), resumed.decision_function(X))


def test_few_rows_and_no_trusted_ones(toy):
    X, labels, _ = toy
    for settings in (dict(trusted_1=0.0, trusted_2=0.0), dict(epochs=1), dict(distil_from=1.0), dict(distil_from=0.0)):
        assert np.isfinite(small("self-pu", prior=0.4, **settings).fit(X, labels).decision_function(X)).all()
    few = small("self-pu", prior=0.4).fit(X[:12], [1] + [0] * 11)
    assert np.isfinite(few.decision_function(X)).all()


def test_published_settings_are_the_defaults():
    d = paper(SelfPU())
    assert (d.trusted_1, d.trusted_2, d.trusted_loss, d.gate, d.sampling) == (0.4, 0.6, "entropy", 0.1, "stratified")
    assert (d.consistency, d.ramp_start, d.ramp_length, d.ramp_sharpness, d.decay) == (0.3, 0.15, 2.0, 5.0, 0.999)
    assert (d.virtual_step, d.calibrated_share, d.least_weight) == (1e-3, 1 / 16, 1e-10)
    assert (d.lr, d.weight_decay, d.batch_size) == (5e-4, 5e-3, 256)


def test_a_trusted_row_on_the_wrong_side_is_pulled_to_its_label():
    """On Alzheimer two of five seeds called all rows alike from the epoch on in which trust began."""
    objective, _ = objective_of()
    objective.k, index = 0, torch.arange(4)
    objective.trusted[0, :4] = torch.tensor([-1, -1, 1, 1], dtype=torch.int8)
    z = torch.tensor([3.0, -3.0, 3.0, -3.0], requires_grad=True)  # the first and the last are on the wrong side
    slope = gradient(objective.trusted_risk(z, index), z)
    assert (slope.sign() == torch.tensor([1.0, 1.0, -1.0, -1.0])).all()  # each moves towards its label
    right = torch.tensor([-3.0, -1.0, 3.0, 0.5])
    close(objective.trusted_risk(right, index), binary_entropy(right).mean(), 1e-6)


def test_trust_rescues_a_student_that_calls_all_rows_positive():
    torch.manual_seed(0)
    x = torch.randn(400, 1)
    data = PUData(x, (torch.arange(400) < 40).float(), 0.4)
    for loss in ("entropy", "label"):
        objective, students = objective_of(paper(SelfPU(trusted_loss=loss)), data)
        net = nn.Sequential(nn.Linear(1, 1), nn.Flatten(0))
        nn.init.constant_(net[0].weight, 1.0)
        nn.init.constant_(net[0].bias, 8.0)
        objective.trusted[0] = most_certain(net(x).detach(), data.s, 100)
        rows = torch.nonzero(objective.trusted[0]).flatten()
        optimizer = torch.optim.Adam(net.parameters(), 0.1)
        for _ in range(100):
            optimizer.zero_grad()
            objective.trusted_risk(net(x[rows]), rows).backward()
            optimizer.step()
        assert 0.3 < (net(x) >= 0).float().mean() < 0.7, loss  # with entropy on all trusted rows: 1
