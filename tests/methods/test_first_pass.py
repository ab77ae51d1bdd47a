import numpy as np
import pytest
import torch

from distpu import NNPU
from distpu.methods import _first_pass
from distpu.prior import Estimate, PriorEstimator
from small import small_net


def images(n=400, labelled=60, prior=0.4, seed=0):
    """Colour images whose positives have a bright corner, at a place that varies; some positives are labelled."""
    random = np.random.default_rng(seed)
    y = np.r_[np.ones(labelled), random.random(n) < prior].astype(int)
    x = random.integers(0, 120, size=(len(y), 3, 8, 8), dtype=np.uint8)
    x[y == 1, :, :4, :4] += 130
    return x, (np.arange(len(y)) < labelled).astype(int), y


def test_a_rows_score_comes_from_the_other_half(monkeypatch):
    x, s, y = images()
    seen, logits = [], _first_pass.logits
    monkeypatch.setattr(_first_pass, "logits", lambda net, rows, device: seen.append(len(rows)) or logits(net, rows))
    method = NNPU(network=small_net, random_state=0)
    method._check_rows(x, reset=True)
    build = method._builder(torch.from_numpy(x))
    z_p, z_u = _first_pass.scores_by_halves(x, s, build, torch.device("cpu"), method._speed())
    assert sum(seen) == len(x) and max(seen) <= len(x) // 2 + 1
    assert len(z_p) == 60 and len(z_u) == 400
    hidden = y[s == 0] == 1
    assert np.mean(z_u[hidden][:, None] > z_u[~hidden]) > 0.65  # the AUC


def test_the_prior_of_images_comes_from_the_network_and_a_number_stays(monkeypatch):
    x, s, y = images()
    told = dict(network=small_net, epochs=1, random_state=0, batch_size=64)
    monkeypatch.setattr(PriorEstimator, "fit", lambda *_: pytest.fail("a forest was asked"))
    found = NNPU(**told).fit(x, s)
    truth = y[s == 0].mean()
    low, high = found.prior_interval_
    assert abs(found.prior_ - truth) < 0.1 and low < truth < high
    assert found.prior_estimate_.name == "binormal"
    monkeypatch.setattr("distpu.methods._network.scores_by_halves", lambda *_: pytest.fail("it was estimated"))
    assert NNPU(prior=0.4, **told).fit(x, s).prior_ == 0.4


def test_the_estimate_is_the_same_again_and_leaves_the_random_state_alone():
    x, s, _ = images()
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    a, b = (NNPU(network=small_net, epochs=1, random_state=seed).fit(x, s).prior_ for seed in (0, 1))
    assert a == b and torch.equal(torch.rand(3), expected)


def test_small_grey_images_keep_the_forest(monkeypatch):
    x, s, _ = images()
    monkeypatch.setattr("distpu.methods._network.scores_by_halves", lambda *_: pytest.fail("a network was asked"))
    monkeypatch.setattr("distpu.estimator.estimated", lambda prior, X, y: Estimate(0.25, None, 0.5, "forest"))
    assert NNPU(network=small_net, epochs=1, random_state=0).fit(x[:, :1], s).prior_ == 0.25
    assert NNPU(network=small_net, epochs=1, random_state=0, prior="tice").fit(x, s).prior_ == 0.25  # looks at rows


def test_one_labelled_image_is_too_few():
    x, _, _ = images()
    with pytest.raises(ValueError, match="needs at least 2 different labelled positives"):
        NNPU(network=small_net, epochs=1).fit(x, np.arange(len(x)) < 1)
