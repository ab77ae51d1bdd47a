"""Readings of Dist-PU: each by its equation, and each in one function other than the plain method."""

import inspect

import pytest
import torch

from distpu import DistPU
from distpu.methods._parts import Memory, pn_risks
from distpu.methods.dist_pu import Alignment, Mixed, WarmUp
from distpu.study import variants
from distpu.study.experiment import Cell
from distpu.study.runs import make
from distpu.study.variants import READINGS, DrawnFromBatch, DrawnOnce, PlainAlignment
from fixture import Table, batch_of, close, logits, paper, prior, s

ZERO = torch.tensor(0.0)
ALL = READINGS["dist-pu"]


@pytest.mark.parametrize(("case", "printed"), [("A", 0.3550651238), ("B", 0.6568123083)])
def test_the_papers_scale(case, printed):
    z = logits(case)
    close(PlainAlignment(prior)(z, batch_of(z)), printed, 1e-10)


def test_without_alignment_the_base_is_the_naive_loss():
    z = logits("A")
    risk = DrawnOnce(s)
    risk.label = torch.tensor([1, 1, 1, 0, 0, 0, -1, -1])
    close(risk(z, batch_of(z)), 0.7027808260, 1e-10)  # the naive fixture

    many = torch.tensor([0.0] * 40 + [1.0] * 10)
    label = DrawnOnce(many).label
    assert (label == 1).tolist() == (many == 1).tolist()
    assert int((label == 0).sum()) == 10


def test_without_alignment_the_rows_may_be_drawn_from_each_batch(monkeypatch):
    z = logits("A")
    drawn = torch.tensor([1.0] * 3 + [0.0, -1, 0, 0, -1])
    monkeypatch.setattr(variants, "drawn_in_batch", lambda s: drawn)
    close(DrawnFromBatch()(z, batch_of(z)), torch.stack(pn_risks(z, drawn)).sum(), 1e-12)


def test_without_alignment_both_stages_take_the_same_rows_for_negatives(toy, monkeypatch):
    X, labels, _ = toy
    seen = []
    build = ALL["naive-once"]._risk
    monkeypatch.setattr(ALL["naive-once"], "_risk", lambda self, data: seen.append(build(self, data)) or seen[-1])
    for stage in (WarmUp, Mixed):
        monkeypatch.setattr(stage, "forward", _noted(stage.forward, seen))
    ALL["naive-once"](prior=0.4, warm_up_epochs=1, epochs=1, random_state=0).fit(X, labels)
    drawn, *used = seen
    assert all(risk is drawn for risk in used)
    assert len(used) > 2  # both stages
    assert int((drawn.label == 0).sum()) == 30


def _noted(forward, seen):
    def noted(self, *arguments):
        seen.append(self.risk)
        return forward(self, *arguments)

    return noted


def test_the_entropy_falls_as_in_the_text():
    fall = [paper(ALL["entropy-falls"]())._entropy_weight(torch.tensor(t)).item() for t in (0.0, 0.5, 1.0)]
    close(fall, [0.004, 0.002, 0], 1e-9)


def test_the_warm_up_may_clamp_everywhere():
    batch = batch_of(3 * logits("A"))
    clamped = WarmUp(paper(ALL["clamped-warm-up"](clamp=2.0)), Alignment(prior))(Table(), batch, ZERO)
    close(clamped["lab"], Alignment(prior)(batch.x[:, 0].clamp(-2, 2), batch), 1e-6)


def test_the_warm_up_may_have_its_own_cosine():
    settings = {"warm_up_epochs": 20, "epochs": 10}
    assert ALL["own-cosine"](**settings)._warm_up_period() == 20
    assert DistPU(**settings)._warm_up_period() == 10


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ("current-targets", lambda score: torch.where(s == 1, 1.0, score)),
        ("labelled-by-score", lambda score: torch.full((8,), 0.25)),  # what was stored, also of labelled rows
    ],
)
def test_the_texts_readings_of_the_targets(monkeypatch, reading, expected):
    seen = {}
    monkeypatch.setattr("distpu.methods.dist_pu.mixup", lambda x, y, *_: (x, seen.setdefault("y", y)))
    batch = batch_of(logits("A"))
    Mixed(paper(ALL[reading]()), Alignment(prior), Memory(torch.full((8,), 0.25)))(Table(), batch, ZERO)
    close(seen["y"], expected(batch.x[:, 0].sigmoid()), 1e-6)
    assert not seen["y"].requires_grad


def test_mixup_may_be_folded(monkeypatch):
    x = torch.eye(2)
    monkeypatch.setattr(torch, "randperm", lambda n, **_: torch.tensor([1, 0]))
    monkeypatch.setattr(torch.distributions.Beta, "sample", lambda self: torch.tensor(0.3))
    close(paper(DistPU())._mixed(x, x[:, 0])[0], [[0.3, 0.7], [0.7, 0.3]], 1e-6)
    close(paper(ALL["folded-mixup"]())._mixed(x, x[:, 0])[0], [[0.7, 0.3], [0.3, 0.7]], 1e-6)


@pytest.mark.parametrize("reading", ALL)
def test_a_reading_overrides_one_function_and_has_its_own_name(reading):
    cls = ALL[reading]
    own = [name for name, value in vars(cls).items() if inspect.isfunction(value)]
    assert len(own) == 1
    assert hasattr(DistPU, own[0])
    assert cls.name == f"dist-pu/{reading}"
    assert cls().get_params() == DistPU().get_params()


@pytest.mark.parametrize("reading", ALL)
def test_a_reading_learns_something_else(reading, toy):
    X, labels, _ = toy
    told = dict(prior=0.4, warm_up_epochs=2, epochs=3, batch_size=64, clamp=2.0, random_state=0, device="cpu")
    plain, other = (cls(**told).fit(X, labels).decision_function(X) for cls in (DistPU, ALL[reading]))
    assert not (plain == other).all()


def test_a_reading_is_another_cell_and_an_unknown_one_gets_the_nearest():
    cells = [Cell("dist-pu", "digits", {}, reading=reading) for reading in ("", *ALL)]
    assert len({cell.key for cell in cells}) == len(cells)
    with pytest.raises(ValueError, match="dist-pu has no reading 'naive-one'; did you mean 'naive-once'"):
        make("dist-pu", {}, "naive-one")
    with pytest.raises(ValueError, match=r"nnpu has no reading 'naive-once' \(it has none\)"):
        make("nnpu", {}, "naive-once")
