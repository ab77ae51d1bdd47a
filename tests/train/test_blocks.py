"""Epochs by blocks: every row once, mixed with rows from elsewhere, in batches of one size."""

import numpy as np
import pytest
import torch

from distpu import NNPU, VPU, DistPU, Naive
from distpu.files.scratch import Scratch, mapped
from distpu.train import blocks
from distpu.train.data import PUData
from distpu.train.loop import Recipe


@pytest.fixture
def data(monkeypatch):
    """1,000 rows, whose one column is their number; every twentieth is labelled. A block has 16 rows, 4 are mixed."""
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(blocks, "AT_ONCE", 4)
    torch.manual_seed(0)
    s = (torch.arange(1000) % 20 == 0).float()
    return PUData(torch.arange(1000.0)[:, None], s, 0.4, blocks=True)


def epoch(data, visits=None, **recipe):
    found = list(blocks.batches(data, Recipe(epochs=1, **recipe), visits))
    for batch in found:
        assert torch.equal(batch.x[:, 0].long(), batch.index) and torch.equal(batch.s, data.s[batch.index])
    assert len({len(batch.s) for batch in found}) == 1
    assert blocks.visited(data, Recipe(epochs=1, **recipe), visits) == sum(len(batch.s) for batch in found)
    return found


@pytest.mark.parametrize("sampling", ["mixed", "stratified"])
def test_an_epoch_has_each_row_once_but_for_a_few(data, sampling):
    found = epoch(data, batch_size=30, sampling=sampling)
    rows = torch.cat([batch.index for batch in found])
    assert len(found) == 34 and len(found[0].s) == 29  # as many as an epoch in memory has
    assert len(rows.unique()) == len(rows) == 34 * 29
    if sampling == "stratified":
        assert {int(batch.s.sum()) for batch in found} <= {0, 1, 2, 3}


def test_a_batch_mixes_blocks_and_epochs_differ(data):
    first, second = (epoch(data, batch_size=30) for _ in range(2))
    assert len((first[3].index // 16).unique()) > 2
    assert not torch.equal(first[0].index, second[0].index)
    left = [set(range(1000)) - set(torch.cat([b.index for b in found]).tolist()) for found in (first, second)]
    assert left[0] != left[1]


def test_paired_batches_have_their_labelled_rows_and_each_unlabelled_row_once(data):
    found = epoch(data, batch_size=30, sampling="paired", labelled=6)
    assert {int(batch.s.sum()) for batch in found} == {6}
    unlabelled = torch.cat([batch.index[batch.s == 0] for batch in found])
    assert len(unlabelled.unique()) == len(unlabelled) > 900
    labelled = torch.cat([batch.index[batch.s == 1] for batch in found])
    assert set(labelled.tolist()) == set(range(0, 1000, 20))


def test_only_rows_that_an_epoch_visits_are_in_it(data):
    visits = torch.arange(1000) % 3 == 0
    found = torch.cat([batch.index for batch in epoch(data, visits, batch_size=30)])
    assert (found % 3 == 0).all() and len(found) > 300
    paired = torch.cat([b.index for b in epoch(data, visits, batch_size=30, sampling="paired", labelled=3)])
    assert (paired % 3 == 0).all()


def test_a_wide_row_makes_blocks_of_fewer_rows(monkeypatch):
    monkeypatch.setattr(blocks, "BYTES", 400)
    monkeypatch.setattr(blocks, "AT_ONCE", 1)
    read = []
    rows = blocks._read
    monkeypatch.setattr(blocks, "_read", lambda data, *told: read.append(rows(data, *told)) or read[-1])
    data = PUData(torch.zeros(20, 25), (torch.arange(20) < 5).float(), 0.4, blocks=True)
    list(blocks.batches(data, Recipe(epochs=1, batch_size=8)))
    assert [len(batch.s) for batch in read] == [4] * 5


# ------------------------------------------------------------- whole methods


def rows_on_disk(X, folder):
    scratch = Scratch(folder, X.shape[1])
    scratch.append(X[:100])
    scratch.append(X[100:])
    return scratch.mapped()


@pytest.mark.parametrize("cls", [NNPU, DistPU, Naive, VPU])  # VPU cuts its batches itself
def test_a_method_learns_from_rows_on_disk(cls, toy, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 16)
    X, s, y = toy
    x = rows_on_disk(X, tmp_path)
    assert isinstance(mapped(x[3:]), np.memmap) and mapped(X) is None
    told = {"epochs": 15, "random_state": 0, "shuffle": "blocks", **({} if cls in (VPU, Naive) else {"prior": 0.4})}
    fitted = cls(**told).fit(x, s)
    assert (fitted.predict(X) == y).mean() > (0.75 if cls is not Naive else 0.5)
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_a_resumed_run_by_blocks_has_the_same_weights(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 16)
    X, s, _ = toy
    told = {"prior": 0.4, "epochs": 3, "random_state": 0, "shuffle": "blocks"}
    whole = NNPU(**told).fit(X, s, folder=tmp_path / "whole")

    class Stopped(Exception):
        pass

    def stop(net, prior):
        epochs.append(prior)
        if len(epochs) == 2:
            raise Stopped
        return {}

    epochs, stopped = [], NNPU(**told)
    stopped._observe = stop
    with pytest.raises(Stopped):
        stopped.fit(X, s, folder=tmp_path / "parts")
    resumed = NNPU(**told).fit(X, s, folder=tmp_path / "parts")
    for a, b in zip(whole.model_.parameters(), resumed.model_.parameters(), strict=True):
        assert torch.equal(a, b)


def test_blocks_are_the_choice_for_a_large_map_alone(toy, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(blocks, "batches", lambda data, *told: seen.append(1) or iter([data[torch.arange(100)]]))
    X, s, _ = toy
    x = rows_on_disk(X, tmp_path)
    NNPU(prior=0.4, epochs=1).fit(x, s)
    assert not seen
    monkeypatch.setattr("distpu.methods._network.ON_DISK", 100)
    NNPU(prior=0.4, epochs=1).fit(X.astype(np.float32), s)
    assert not seen
    NNPU(prior=0.4, epochs=1).fit(x, s)
    assert seen


def test_a_disk_without_room_is_refused(tmp_path):
    with Scratch(tmp_path, 20) as scratch:
        with pytest.raises(ValueError, match="rows of 20 numbers need 7450580.6 GiB of disk"):
            scratch.check_room(10**14)
