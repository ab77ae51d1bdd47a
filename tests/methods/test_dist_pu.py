import math

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from distpu import DistPU
from distpu.methods import _parts as parts
from distpu.methods._parts import Memory, binary_entropy, mixup
from distpu.methods.dist_pu import Alignment, Mixed, WarmUp, label_distribution_risk
from distpu.methods.upu import upu_risk
from distpu.train.data import mean_where
from distpu.train.loop import Recipe
from fixture import Table, batch_of, close, finite_difference, gradient, logits, paper, prior, s

ZERO = torch.tensor(0.0)


@pytest.mark.parametrize(
    ("case", "printed", "code"), [("A", 0.3550651238, 0.4438314048), ("B", 0.6568123083, 0.8210153854)]
)
def test_label_distribution_risk(case, printed, code):
    z = logits(case)
    close(label_distribution_risk(z.sigmoid(), s, prior), printed, 1e-10)
    close(Alignment(prior)(z, batch_of(z)), code, 1e-10)


@pytest.mark.parametrize("case", ["A", "B"])
def test_it_is_upu_plus_twice_what_the_unlabelled_mean_lacks(case):
    z = logits(case)
    lacks = (prior - mean_where(z.sigmoid(), s == 0)).clamp(min=0)
    close(label_distribution_risk(z.sigmoid(), s, prior), upu_risk(z, s, prior) + 2 * lacks, 1e-12)


@pytest.mark.parametrize("case", ["A", "B"])
def test_gradient_by_finite_differences(case):
    z = logits(case)

    def risk(v):
        return label_distribution_risk(v.sigmoid(), s, prior)

    close(gradient(risk(z), z), finite_difference(risk, z), 1e-8)


@pytest.mark.parametrize(("case", "expected"), [("A", 0.4774489778), ("B", 0.2313779426)])
def test_entropy_of_the_unlabelled_rows(case, expected):
    z = logits(case)
    value = mean_where(binary_entropy(z), s == 0)
    close(value, expected, 1e-10)
    close(gradient(value, z), finite_difference(lambda v: mean_where(binary_entropy(v), s == 0), z), 1e-8)


def test_entropy_is_finite_where_the_logit_is_extreme():
    z = torch.tensor([-200.0, 200.0], requires_grad=True)
    assert torch.equal(binary_entropy(z), torch.zeros(2))
    assert torch.isfinite(gradient(binary_entropy(z).sum(), z)).all()


@pytest.mark.parametrize(("lam", "fold", "expected"), [(0.3, False, 1.1193006498), (0.3, True, 0.8568349737)])
def test_mixup_cross_entropy(monkeypatch, lam, fold, expected):
    p = torch.tensor([0.7, 0.2, 0.9], dtype=torch.float64)
    y = torch.tensor([1.0, 0.3, 0.6], dtype=torch.float64)
    x = torch.eye(3, dtype=torch.float64)
    monkeypatch.setattr(torch, "randperm", lambda n, **_: torch.tensor([2, 0, 1]))
    monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(lam, dtype=torch.float64))
    x_mixed, y_mixed = mixup(x, y, alpha=6.0, fold=fold)
    close(bce(p.logit(), y_mixed), expected, 1e-10)
    weight = max(lam, 1 - lam) if fold else lam
    close(x_mixed, weight * x + (1 - weight) * x[[2, 0, 1]])


def test_mixup_weights_follow_the_beta_distribution(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(torch, "randperm", lambda n, **_: torch.tensor([1, 0]))
    x = torch.eye(2)
    weights = torch.stack([mixup(x, x[:, 0], alpha=6.0)[0].max() for _ in range(2000)])
    folded = torch.maximum(weights, 1 - weights)
    expected = torch.distributions.Beta(6.0, 6.0).sample((20000,))
    close(folded.mean(), torch.maximum(expected, 1 - expected).mean(), 0.01)


def test_entropy_weight_rises_as_in_the_code():
    rise = [paper(DistPU())._entropy_weight(torch.tensor(e / 60)).item() for e in (0, 1, 30, 59)]
    close(rise, [0, 1.3707e-06, 0.0011715729, 0.0038952922], 1e-9)


def test_the_warm_up_clamps_in_the_entropy_only():
    batch = batch_of(3 * logits("A"))
    z = batch.x[:, 0]
    terms = WarmUp(paper(DistPU(clamp=2.0)), Alignment(prior))(Table(), batch, ZERO)
    close(terms["lab"], Alignment(prior)(z, batch), 1e-6)
    close(terms["entropy"], 2e-3 * mean_where(binary_entropy(z.clamp(-2, 2)), s == 0), 1e-8)


def test_learning_rates():
    mixup_stage = paper(DistPU())._recipe(floor=0.7)
    close([mixup_stage.rate(e) for e in (0, 30, 59)], [5e-5, 4.25e-5, 3.501028e-5], 1e-11)
    warm_up = Recipe(epochs=60, lr=5e-4)
    close([warm_up.rate(e) for e in (0, 30, 59)], [5e-4, 2.5e-4, 5e-4 * (1 + math.cos(math.pi * 59 / 60)) / 2], 1e-12)


def test_the_mixup_stage_uses_stored_labels_and_stores_what_it_saw(monkeypatch):
    seen = {}

    def spy(x, y, alpha):
        seen.update(y=y.clone(), alpha=alpha)
        return x, y

    monkeypatch.setattr("distpu.methods.dist_pu.mixup", spy)
    batch = batch_of(logits("A"))
    objective = Mixed(paper(DistPU()), Alignment(prior), Memory(torch.full((8,), 0.25)))
    terms = objective(Table(), batch, torch.tensor(0.5))
    close(seen["y"], [1.0] * 3 + [0.25] * 5)  # labelled rows 1, the others what was stored
    assert seen["alpha"] == 6.0
    z = batch.x[:, 0]
    close(objective.pseudo.values, z.sigmoid(), 1e-6)  # this step's clean scores, for the next epoch
    close(terms["mixup"], 5.0 * bce(z, seen["y"]), 1e-6)
    close(terms["mixed_entropy"], 0.04 * binary_entropy(z).mean(), 1e-7)
    close(terms["lab"], 0.4438314048, 1e-6)
    close(terms["entropy"], 0.0011715729 * 0.4774489778, 1e-8)


def test_no_gradient_outside_the_clamp():
    model = Table(100.0)
    terms = Mixed(paper(DistPU(mixup=0.0, mixed_entropy=0.0)), Alignment(prior), Memory(torch.zeros(8)))(
        model, batch_of(logits("B")), ZERO
    )
    assert gradient(sum(terms.values()), model.weight) == 0


def test_the_mixed_pass_comes_before_the_clean_one(monkeypatch):
    monkeypatch.setattr("distpu.methods.dist_pu.mixup", lambda x, y, *_: (x + 100, y))
    order = []

    class Watched(Table):
        def forward(self, x):
            order.append("mixed" if x.max() > 50 else "clean")
            return super().forward(x)

    Mixed(paper(DistPU()), Alignment(prior), Memory(torch.zeros(8)))(Watched(), batch_of(logits("A")), ZERO)
    assert order == ["mixed", "clean"]


def test_published_settings_are_the_defaults():
    d = paper(DistPU())
    assert (d.warm_up_epochs, d.epochs, d.batch_size) == (60, 60, 256)
    assert (d.warm_up_lr, d.lr, d.lr_floor) == (5e-4, 5e-5, 0.7)
    assert (d.warm_up_weight_decay, d.weight_decay) == (5e-3, 1e-3)
    assert (d.warm_up_entropy, d.entropy, d.mixup, d.mixed_entropy, d.alpha) == (2e-3, 4e-3, 5.0, 0.04, 6.0)


def test_the_pseudo_labels_start_as_the_warmed_up_scores(toy, monkeypatch):
    X, labels, _ = toy
    started = []
    init = parts.Memory.__init__
    monkeypatch.setattr(
        parts.Memory, "__init__", lambda self, values: (started.append(values.clone()), init(self, values))[1]
    )
    d = DistPU(prior=0.4, warm_up_epochs=2, epochs=0, random_state=0).fit(X, labels)
    z = torch.from_numpy(d.decision_function(X))
    close(started[0], z.sigmoid(), 1e-6)


def test_the_ablations_switches():
    batch, passes = batch_of(logits("A")), []

    class Counts(Table):
        def forward(self, x):
            passes.append(len(x))
            return super().forward(x)

    for of, names in (
        (paper(DistPU(mixup=0.0, mixed_entropy=0.0)), {"lab", "entropy"}),
        (paper(DistPU(mixed_entropy=0.0)), {"lab", "entropy", "mixup", "mixed_entropy"}),
    ):
        passes.clear()
        assert set(Mixed(of, Alignment(prior), Memory(torch.full((8,), 0.5)))(Counts(), batch, ZERO)) == names
        assert len(passes) == len(names) // 2  # without Mixup no mixed rows pass the network
