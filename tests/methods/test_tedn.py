import numpy as np
import pytest
import torch

import distpu
from distpu.methods.cvir import Inliers
from distpu.methods.tedn import TEDn, held_out
from distpu.train.data import PUData
from distpu.train.loop import Recipe
from distpu.train.run import Run
from small import small


def test_the_estimate_sees_held_out_rows_only():
    z_p, z_u = [0.95, 0.9, 0.8, 0.6], [0.92, 0.85, 0.5, 0.3, 0.2, 0.1]
    z = torch.tensor(z_p + z_u + [0.99] * 10)
    s = torch.tensor([1.0] * 4 + [0.0] * 16)  # ten more unlabelled rows, trained on, with the highest scores
    held = torch.arange(20) < 10
    assert TEDn()._estimate(z, s, held) == pytest.approx(1 / 3)
    assert TEDn()._estimate(z, s, torch.ones(20, dtype=torch.bool)) == 0.75


def test_an_estimate_leaves_rows_on_either_side():
    s = torch.tensor([1.0] * 4 + [0.0] * 6)
    held = torch.ones(10, dtype=torch.bool)
    assert TEDn()._estimate(torch.zeros(10), s, held) == pytest.approx(6 / 7)  # all scores equal: q_U / q_P = 1
    assert TEDn(ceiling=0.7)._estimate(torch.zeros(10), s, held) == 0.7
    assert TEDn(gamma=0.0)._estimate(10 * s, s, held) == pytest.approx(1 / 7)  # q_U = 0


def copied():
    """50 labelled rows, each with an unlabelled copy, and 150 unlabelled rows, each twice."""
    x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0)).repeat(2, 1)
    s = torch.zeros(400)
    s[:50] = 1
    return PUData(x, s, 0.4)


def test_copies_of_a_row_are_held_out_together():
    torch.manual_seed(0)
    data = copied()
    held = held_out(data, 5)
    assert torch.equal(held[:200], held[200:])
    assert held[:50].sum() == 10 and held[50:200].sum() == 30
    torch.manual_seed(1)
    assert not torch.equal(held_out(data, 5), held)
    assert held_out(data, 2).float().mean() == 0.5


def test_held_out_rows_are_not_trained_on():
    data = copied()
    held = held_out(data, 5)
    objective = Inliers(~held)
    recipe = Recipe(1, batch_size=32, sampling="paired", labelled=4)
    for prior in (0.2, 0.9):
        visited = torch.cat([*objective.batches(data.s, recipe)])
        assert not held[visited].any() and (data.s[visited] == 0).any()
        objective.set_aside(torch.randn(400), data.s, prior, "prior")
        unlabelled = ~held & (data.s == 0)
        assert (~objective.kept & unlabelled).sum() == int(prior * unlabelled.sum())


def test_a_fit_visits_every_row_that_is_not_held_out_and_no_other(toy, monkeypatch):
    X, s, _ = toy
    masks, visited, rows = [], [], Inliers.rows

    def drawn(data, one_in):
        masks.append(held_out(data, one_in))
        return masks[-1]

    def watched(self, labels):
        visited.append(rows(self, labels))
        return visited[-1]

    monkeypatch.setattr("distpu.methods.tedn.held_out", drawn)
    monkeypatch.setattr(Inliers, "rows", watched)
    small("tedn", warm_up_epochs=2, epochs=3).fit(X, s)
    (held,) = masks
    assert len(visited) == 5 and held.float().mean() == 0.2
    for epoch in visited:
        assert not held[epoch].any()  # else BBE would score rows that the network knows by heart
    assert torch.equal(visited[0], torch.nonzero(~held).flatten())  # the warm-up: all others


@pytest.fixture
def used(monkeypatch):
    """The priors that ranked the rows, in turn."""
    priors, set_aside = [], Inliers.set_aside

    def watched(self, z, s, prior, weights):
        priors.append(prior)
        set_aside(self, z, s, prior, weights)

    monkeypatch.setattr(Inliers, "set_aside", watched)
    return priors


def test_each_epoch_is_ranked_with_the_last_estimate(toy, used):
    X, s, _ = toy
    classifier = small("tedn", warm_up_epochs=3, epochs=5).fit(X, s)
    path = classifier.prior_path_
    assert len(path) == 8 and classifier.prior_ == path[-1]
    assert used == pytest.approx(path[2:])  # that of the warm-up's last epoch, then each epoch's own
    assert len(set(path)) > 1 and 0 < min(path) and max(path) <= 0.95


def test_a_given_prior_is_the_start_and_no_more(toy, used):
    X, s, _ = toy
    classifier = small("tedn", prior=0.123, warm_up_epochs=3, epochs=5).fit(X, s)
    assert used[0] == 0.123
    assert used[1:] == pytest.approx(classifier.prior_path_[3:])
    assert classifier.prior_ == classifier.prior_path_[-1] != 0.123


def test_the_estimate_is_near_the_truth_where_classes_are_separable():
    random = np.random.default_rng(0)
    y = np.arange(900) < 420
    s = (np.arange(900) < 200).astype(int)  # of 700 unlabelled rows 220 are positive
    X = random.normal(size=(900, 4)) + 4 * y[:, None]
    classifier = small("tedn").fit(X, s)
    assert classifier.prior_ == pytest.approx(220 / 700, abs=0.08)
    assert classifier.predict(X[s == 0]).mean() == pytest.approx(220 / 700, abs=0.08)


def test_the_path_survives_a_kill_and_is_saved(toy, tmp_path, monkeypatch):
    X, s, _ = toy
    whole = small("tedn", network="mlp", epochs=3, warm_up_epochs=3).fit(X, s)
    log, calls = Run._log, []

    def breaks_down(self, *args):
        calls.append(1)
        if len(calls) in (2, 6):
            raise KeyboardInterrupt
        log(self, *args)

    monkeypatch.setattr(Run, "_log", breaks_down)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            small("tedn", network="mlp", epochs=3, warm_up_epochs=3).fit(X, s, folder=tmp_path / "run")
    resumed = small("tedn", network="mlp", epochs=3, warm_up_epochs=3).fit(X, s, folder=tmp_path / "run")
    loaded = distpu.load(tmp_path / "run")
    assert whole.prior_path_ == resumed.prior_path_ == loaded.prior_path_
    assert whole.prior_ == loaded.prior_


@pytest.mark.parametrize("labelled", [1, 3])
def test_too_few_different_rows_to_hold_any_out(labelled):
    X = np.arange(40.0).reshape(20, 2)
    X[:labelled] = 0
    with pytest.raises(ValueError, match="held_out=5 leaves no labelled or no unlabelled row"):
        small("tedn").fit(X, (np.arange(20) < labelled).astype(int))
