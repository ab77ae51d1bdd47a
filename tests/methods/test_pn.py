import numpy as np
import torch

from distpu import METHODS, PUEstimator
from distpu.methods.pn import PN
from distpu.train.loop import Risk
from fixture import close, gradient
from small import small


def test_it_says_that_it_is_no_pu_method():
    assert PN.supervised and not PN.needs_prior and not PUEstimator.supervised
    assert [name for name, cls in METHODS.items() if cls.supervised] == ["pn"]
    assert "no PU method" in PN.__doc__ and "y must hold the true labels" in PN.__doc__


def test_cross_entropy_of_every_row(monkeypatch, toy):
    X, _, y = toy
    seen, init = [], Risk.__init__
    monkeypatch.setattr(Risk, "__init__", lambda self, name, risk: (seen.append(risk), init(self, name, risk))[1])
    small("pn", epochs=1).fit(X, y)
    z = torch.tensor([2, 0.5, -1, 1.5, -0.5, -2], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([1.0, 1, 1, 0, 0, 0], dtype=torch.float64)
    close(seen[0](z, labels), 0.7027808260, 1e-10)
    close(gradient(seen[0](z, labels), z), (z.sigmoid() - labels) / 6)  # every row weighs the same


def test_with_the_truth_it_learns_both_classes(toy):
    X, labels, y = toy
    hidden = (labels == 0) & (y == 1)
    truth, pu = small("pn", epochs=20).fit(X, y), small("pn", epochs=20).fit(X, labels)
    assert truth.predict(X[hidden]).mean() > 0.9
    assert pu.predict(X[hidden]).mean() < 0.5  # PU labels taken for the truth
    assert np.isnan(truth.prior_)
