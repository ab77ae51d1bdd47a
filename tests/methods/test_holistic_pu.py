import itertools
import math

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from distpu.methods.holistic_pu import END, HolisticPU, Split, break_of, pseudo_weight, trend
from distpu.train.data import Batch
from distpu.train.run import Run
from distpu.train.views import PLAIN, Views
from fixture import close, paper
from small import small


def test_the_trend_by_hand():
    p = torch.tensor([0.6, 0.5, 0.45, 0.2], dtype=torch.float64)[:, None]
    close(trend(p), [-0.4014379126], 1e-9)
    close(trend(p / 2), [-0.2059324239], 1e-9)  # d = p_j - p_i, without the factor 2
    pairs = [2 * (b - a) for a, b in itertools.combinations(p.flatten().tolist(), 2)]
    naive = 2 / (4 * 3) * sum(math.copysign(math.log(1 + abs(d) + d * d / 2), d) for d in pairs)
    close(trend(p), [naive])
    close(trend(-p), -trend(p))  # odd


def test_the_break_by_hand():
    scores = torch.tensor([0.5, -0.5, 0.6, 0.0, 0.3, 0.4])
    assert break_of(scores) == pytest.approx(0.3)  # after two: squared error 0.175
    assert break_of(scores, per_row=True) == pytest.approx(0.0)  # after one: 0.0424
    random = np.random.default_rng(0).normal(size=40)
    cut = np.sort(random)

    def error(k, per_row):
        parts = cut[:k], cut[k:]
        return sum(((part - part.mean()) ** 2).sum() / (len(part) if per_row else 1) for part in parts)

    for per_row in (False, True):
        best = min(range(1, 40), key=lambda k: error(k, per_row))
        assert break_of(torch.from_numpy(random), per_row) == pytest.approx(cut[best])


def test_the_split_is_trusted_step_by_step():
    assert [pseudo_weight(e, 25, 0.8) for e in (0, 5, 12, 24)] == pytest.approx(
        [0, 0.2759459323, 0.5558952843, 0.9678699058]
    )
    assert pytest.approx(0.1951, abs=1e-4) == END


def test_only_sure_rows_teach_their_strong_view():
    s, y = torch.tensor([1.0, 0.0, 0.0, 0.0]), torch.tensor([1.0, 1.0, 0.0, 0.0])
    x = torch.tensor([[3.0], [3.0], [-3.0], [0.1]])

    class Same(torch.nn.Module):
        def forward(self, x):
            return x[:, 0]

    views = Views(PLAIN.weak, lambda x: x / 2, PLAIN.part, PLAIN.pair)
    terms = Split(paper(HolisticPU()), y, views)(Same(), Batch(torch.arange(4), x, s), torch.tensor(0.5))
    one = math.log(1 + math.exp(-1.5))
    close(terms["consistency"], 2 * one / 3, 1e-6)  # rows 1 and 2 are sure, of three
    lam, soft = 0.5**0.8, math.log(1 + math.exp(3))
    close(terms["unlabelled"], ((soft - 3 * lam) + (soft - 3) + math.log(1 + math.exp(0.1))) / 3, 1e-5)
    close(terms["labelled"], soft - 3, 1e-5)


def test_hidden_positives_have_the_higher_trends_and_give_the_prior(toy, monkeypatch):
    X, s, y = toy
    seen, epochs = [], Run.epochs

    def watched(self, stage, model, objective, recipe):
        seen.append(objective)
        yield from epochs(self, stage, model, objective, recipe)

    monkeypatch.setattr(Run, "epochs", watched)
    fitted = small("holistic-pu", trend_epochs=10).fit(X, s)
    found, hidden = trend(seen[0].scores).numpy(), s == 0
    assert roc_auc_score(y[hidden], found[hidden]) > 0.6
    above = found[hidden] >= break_of(torch.from_numpy(found[hidden])).item()
    assert fitted.prior_ == pytest.approx(above.mean()) and y[hidden][above].mean() > 0.8
    assert small("holistic-pu", prior=0.3).fit(X, s).prior_ == 0.3
