import math

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from distpu.methods._parts import Memory, MovingMean, mixup
from distpu.methods.pulda import PULDA, Aligned, Mixed, inside_above, inside_below, smooth_distance
from distpu.train.data import mean_where
from distpu.train.sampling import paired
from fixture import P, Table, batch_of, close, finite_difference, gradient, logits, paper, prior, s

ZERO = torch.tensor(0.0)
SECOND = torch.tensor([*P, 2.0, 0.0, -2.0], dtype=torch.float64, requires_grad=True)
SECOND_S = torch.tensor([1.0] * 3 + [0.0] * 3)


def aligned(**settings):
    return Aligned(paper(PULDA(**settings)), prior).double()


def test_the_parts_of_both_risks():
    z = logits("A")
    p = z.sigmoid()
    close(mean_where(1 - p, s == 1), 0.4092673898, 1e-10)
    close(smooth_distance(mean_where(p, s == 0), prior, 3.5), 0.3967528581, 1e-10)
    close(mean_where(inside_above(z, 0.6), s == 1), 0.2415927513, 1e-10)
    close(mean_where(inside_below(z, 0.6), s == 1), 0.2291993170, 1e-10)
    close(mean_where(inside_below(z, 0.6), s == 0), 0.2131187676, 1e-10)


def test_the_first_call_takes_the_raw_means():
    risks = aligned().risks(logits("A"), s)
    close(risks["lab"], 0.7241667699, 1e-10)
    close(risks["margin"], 1.4866160585, 1e-10)
    close(sum(risks.values()), 2.2107828285, 1e-10)


def test_the_second_call_moves_the_means_and_restores_the_slope():
    objective = aligned()
    objective.risks(logits("A"), s)
    risks = objective.risks(SECOND, SECOND_S)
    close(objective.mean_p.value, 0.3914964698, 1e-10)
    close(risks["lab"], 2.9683963926, 1e-9)
    close(risks["margin"], 2.8759752477, 1e-9)
    close(sum(risks.values()), 5.8443716403, 1e-9)


def test_only_the_new_part_carries_a_gradient_and_at_full_size():
    """The slope is that of D where the averages stand, times that of the raw batch mean: no factor 1-a is left."""
    objective = aligned()
    objective.risks(logits("A"), s)
    kept = {name: m.value.item() for name, m in objective.named_children()}
    risks = objective.risks(SECOND, SECOND_S)

    def naive(z):
        p, below = z.sigmoid(), inside_below(z, 0.6)
        mean_p = 0.85 * kept["mean_p"] + 0.15 * p[3:].mean()
        u, l = (0.5 * kept[k] + 0.5 * v for k, v in (("below_u", below[3:].mean()), ("below_p", below[:3].mean())))  # noqa: E741
        lab = 2 * prior * (1 - p[:3].mean()) + smooth_distance(mean_p, prior, 3.5) / 0.15
        return lab + prior * inside_above(z, 0.6)[:3].mean() + smooth_distance(u, prior * l, 1.0) / 0.5

    close(sum(risks.values()), naive(SECOND))
    close(gradient(sum(risks.values()), SECOND), finite_difference(naive, SECOND), 1e-8)
    p = SECOND.sigmoid().detach()
    slope = torch.tanh(torch.tensor(3.5 * (objective.mean_p.value.item() - prior) / 2)) / 3  # D' = tanh(T(a-b)/2)
    close(gradient(risks["lab"], SECOND)[3:], slope * (p * (1 - p))[3:], 1e-7)


def test_evaluation_neither_moves_nor_reads_the_averages():
    objective = aligned()
    objective.risks(logits("B"), s)
    before = {k: v.clone() for k, v in objective.state_dict().items()}
    risks = objective.eval().risks(logits("A"), s)
    close(sum(risks.values()), 2.2107828285, 1e-10)
    assert all(torch.equal(v, before[k]) for k, v in objective.state_dict().items())
    fresh = aligned().eval()
    fresh.risks(logits("A"), s)
    assert not fresh.mean_p.started


def test_the_averages_are_saved_and_restored():
    a, b = aligned(), aligned()
    a.risks(logits("A"), s)
    b.load_state_dict(a.state_dict())
    close(sum(b.risks(SECOND, SECOND_S).values()), 5.8443716403, 1e-9)


def test_a_batch_without_labelled_rows_leaves_their_average():
    mean = MovingMean(0.5).double()
    values, none, some = torch.tensor([4.0, 2.0], dtype=torch.float64), torch.zeros(2) > 0, torch.ones(2) > 0
    close(mean(values, none)[0], 0)
    assert not mean.started
    close(mean(values, some)[0], 3)  # the first that counts: raw
    close(mean(values, none)[0], 3)
    close(mean(values + 4, some)[0], 5)


def test_the_smooth_distance_is_symmetric_with_a_floor_and_tends_to_the_absolute_difference():
    a, b = torch.tensor(0.3), torch.tensor(0.7)
    close(smooth_distance(a, b, 3.5), smooth_distance(b, a, 3.5), 1e-7)
    close(smooth_distance(a, a, 3.5), 2 * math.log(2) / 3.5, 1e-6)
    close(smooth_distance(a, b, 1e4), 0.4, 1e-6)


def test_the_margin_terms_peak_inside_the_margin():
    z = torch.linspace(-3, 3, 601)
    close(z[inside_above(z, 0.6).argmax()], 0.3, 1e-5)
    close(z[inside_below(z, 0.6).argmax()], -0.3, 1e-5)


def test_mixup_cross_entropy_of_two_targets(monkeypatch):
    z = torch.tensor([0.7, 0.4], dtype=torch.float64).logit()
    y = torch.tensor([1.0, 0.2], dtype=torch.float64)
    monkeypatch.setattr(torch, "randperm", lambda n, **_: torch.tensor([1, 0]))
    monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(0.3, dtype=torch.float64))
    close(bce(z, mixup(y, y, alpha=11.0)[1]), 0.8250704258, 1e-10)


def test_the_mixup_stage_uses_stored_labels_and_stores_what_it_saw(monkeypatch):
    seen = {}

    def spy(x, y, alpha):
        seen.update(y=y.clone(), alpha=alpha)
        return x + 100, y

    monkeypatch.setattr("distpu.methods.pulda.mixup", spy)
    order = []

    class Watched(Table):
        def forward(self, x):
            order.append("mixed" if x.max() > 50 else "clean")
            return super().forward(x)

    batch = batch_of(logits("A"))
    objective = Mixed(paper(PULDA()), prior, Memory(torch.full((8,), 0.25)))
    terms = objective(Watched(), batch, ZERO)
    close(seen["y"], [1.0] * 3 + [0.25] * 5)  # labelled rows 1, the others what was stored
    assert seen["alpha"] == 11.0 and order == ["mixed", "clean"]
    close(objective.pseudo.values, batch.x[:, 0].sigmoid(), 1e-6)
    close(terms["mixup"], 4.2 * bce(torch.full((8,), 10.0), seen["y"]), 1e-5)  # clamped at 10
    close(terms["lab"] + terms["margin"], 2.2107828285, 1e-6)
    assert set(terms) == {"lab", "margin", "mixup"}  # no entropy


def test_logits_are_clamped_with_mixup_and_not_in_the_warm_up():
    model, batch = Table(100.0), batch_of(logits("B"))
    mixed = Mixed(paper(PULDA(mixup=0.0)), prior, Memory(torch.zeros(8)))(model, batch, ZERO)
    assert gradient(sum(mixed.values()), model.weight) == 0
    warm_up = Aligned(paper(PULDA()), prior)(Table(10.0), batch, ZERO)
    close(sum(warm_up.values()), sum(aligned().risks(10 * logits("B"), s).values()), 1e-5)


def test_published_settings_are_the_defaults():
    d = paper(PULDA())
    assert (d.warm_up_epochs, d.epochs, d.batch_size, d.labelled, d.sampling) == (60, 60, 144, 16, "paired")
    assert (d.warm_up_lr, d.lr, d.lr_floor, d.warm_up_weight_decay, d.weight_decay) == (1e-4, 1e-3, 0.7, 5e-4, 1e-4)
    assert (d.temperature, d.margin_temperature, d.margin, d.keep, d.margin_keep) == (3.5, 1.0, 0.6, 0.85, 0.5)
    assert (d.mixup, d.alpha, d.clamp) == (4.2, 11.0, 10.0)
    recipe = d._recipe(labelled=d.labelled)
    batches = paired(torch.arange(1400), torch.tensor([1.0] * 100 + [0.0] * 1300), recipe)
    assert all((b < 100).sum() == 16 and len(b) <= 144 for b in batches)


@pytest.mark.parametrize(("n_labelled", "n"), [(1, 12), (3, 40), (20, 30)])
def test_learns_from_a_handful_of_rows(n_labelled, n):
    torch.manual_seed(0)
    X = torch.randn(n, 3)
    y = (torch.arange(n) < n_labelled).int()
    fitted = PULDA(prior=0.3, warm_up_epochs=2, epochs=2, random_state=0).fit(X, y)
    assert torch.isfinite(torch.from_numpy(fitted.decision_function(X))).all()
