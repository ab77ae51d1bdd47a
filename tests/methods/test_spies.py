"""Spies: labelled rows that learn as unlabelled ones and tell the prior."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import distpu
from distpu import DistPUPlus
from distpu.methods._spies import Spies, together
from distpu.prior import Estimate
from distpu.train.data import PUData
from small import interrupt, small, small_net

LABELLED, HIDDEN, NEGATIVE = 480, 320, 480  # 40 % of the 800 unlabelled rows are positive
FIRST = Estimate(0.2, (0.01, 0.9), 0.6, "binormal")


@pytest.fixture(scope="module")
def images():
    """Noise; a positive has a bright square in its middle."""
    random = np.random.default_rng(0)
    y = np.arange(LABELLED + HIDDEN + NEGATIVE) < LABELLED + HIDDEN
    x = random.integers(0, 120, size=(len(y), 1, 6, 6))
    x[y, :, 1:5, 1:5] += 60
    return x.astype(np.uint8), (np.arange(len(y)) < LABELLED).astype(int), y


def data(labelled=200, unlabelled=600, prior=0.3):
    s = (torch.arange(labelled + unlabelled) < labelled).float()
    return PUData(torch.randn(len(s), 2), s, prior)


def fitted(images, monkeypatch, folder=None, prior="auto", **settings):
    x, s, _ = images
    monkeypatch.setattr(DistPUPlus, "_estimated_here", lambda *_: FIRST)
    method = small("dist-pu-plus", **{"prior": prior, "warm_up_epochs": 3, "epochs": 8, "views": "none", **settings})
    return method.fit(x, s, folder=folder)


def test_a_spy_learns_as_an_unlabelled_row_until_the_last_look():
    rows = data()
    spies = Spies.among(rows, 4, replace(FIRST, prior=0.3))
    assert int(spies.spy.sum()) == 50 and bool((rows.s[spies.spy] == 1).all())
    assert spies.hide(rows.s).sum() == 150
    index = torch.tensor([int(spies.spy.nonzero()[0]), 700, int((~spies.spy).nonzero()[0])])
    assert spies.hide(rows.s[index], index).tolist() == [0, 0, 1]
    assert spies.share == pytest.approx((0.3 * 600 + 50) / 650)
    spies.active.fill_(False)
    assert torch.equal(spies.hide(rows.s), rows.s) and spies.share == pytest.approx(0.3)


def test_there_are_none_where_few_rows_are_labelled():
    assert Spies.among(data(199), 4, FIRST) is None
    assert Spies.among(data(), 0, FIRST) is None


def test_spies_among_copies_of_one_row_are_all_or_none():
    rows = data()
    rows.x[100:200] = rows.x[:100]
    spy = Spies.among(rows, 4, replace(FIRST, prior=0.3)).spy
    assert torch.equal(spy[:100], spy[100:200]) and 0 < int(spy.sum()) < 200


def test_two_estimates_count_by_the_widths_of_their_intervals():
    spies = Estimate(0.4, (0.3, 0.5), 0.6, "bbe")
    both = together(Estimate(0.2, (0.0, 0.4), 0.6, "binormal"), spies)
    assert both.prior == pytest.approx((0.2 / 4 + 0.4) / (1 / 4 + 1)) and both.name == "bbe"
    assert both.interval == pytest.approx((both.prior - 0.1, both.prior + 0.1))
    assert together(Estimate(0.2, None, 0.6, "known"), spies) == spies


def test_there_are_none_where_too_few_labelled_rows_would_stay():
    """Copies of one row are all spies or none. If all labelled rows were spies, a paired batch could draw none."""
    for seed in range(8):
        torch.manual_seed(seed)
        rows = data()
        for copies in (180, 200):
            rows.x[:copies] = rows.x[0]
            assert Spies.among(rows, 4, FIRST) is None
    assert Spies.among(data(100), 2, FIRST).n_s == 50


def test_one_labelled_row_in_one_is_refused():
    with pytest.raises(ValueError, match="spies=1 would hide every label"):
        small("dist-pu-plus", spies=1).fit(np.zeros((9, 2)), np.arange(9) < 4)


def test_training_too_short_for_a_look_has_no_spies(images, monkeypatch):
    hidden = []
    monkeypatch.setattr(Spies, "hide", lambda *told: hidden.append(1))
    short = fitted(images, monkeypatch, warm_up_epochs=0, epochs=1)
    assert not hidden and short.prior_estimate_ == FIRST


def test_the_network_that_learns_corrects_a_wrong_first_estimate(images, monkeypatch):
    x, s, y = images
    found = fitted(images, monkeypatch)
    assert found.prior_ == pytest.approx(0.4, abs=0.04)  # the first estimate was 0.2
    assert found.prior_estimate_.name == "bbe" and found.prior_interval_[0] < 0.4 < found.prior_interval_[1]
    assert found.prior_estimate_.label_frequency == pytest.approx(LABELLED / (LABELLED + found.prior_ * 800))
    assert (found.predict(x) == y)[s == 0].mean() > 0.9
    without = fitted(images, monkeypatch, spies=0)
    assert without.prior_ == 0.2 and without.prior_estimate_ == FIRST


def test_a_prior_that_is_told_stays(images, monkeypatch):
    assert fitted(images, monkeypatch, prior=0.3).prior_ == 0.3


def test_scores_that_cannot_tell_leave_the_first_estimate(images, monkeypatch):
    x, s, _ = images
    noise = np.random.default_rng(1).integers(0, 256, size=x.shape).astype(np.uint8)
    found = fitted((noise, s, None), monkeypatch)
    assert found.prior_ == 0.2 and found.prior_estimate_ == FIRST


def test_a_killed_run_ends_with_the_same_prior_and_bits(images, monkeypatch, tmp_path):
    whole = fitted(images, monkeypatch)
    interrupt(monkeypatch, 5, 9)  # after the look that follows the warm-up, and before and after the last one
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            fitted(images, monkeypatch, tmp_path / "run")
    resumed = fitted(images, monkeypatch, tmp_path / "run")
    loaded = distpu.load(tmp_path / "run", network=small_net)
    assert whole.prior_ == resumed.prior_ == loaded.prior_ != 0.2
    assert whole.prior_estimate_ == resumed.prior_estimate_ == loaded.prior_estimate_
    for name, weights in whole.model_.state_dict().items():
        assert torch.equal(weights, resumed.model_.state_dict()[name])
