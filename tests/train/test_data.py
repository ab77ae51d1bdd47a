"""PU data as tensors, and the batches of an epoch."""

import numpy as np
import pytest
import torch

from distpu.train.data import PUData, mean_where
from distpu.train.loop import Recipe
from distpu.train.sampling import SAMPLINGS

y = np.array([1, 0, 1, 1, 0, 0, 0, 1, 1, 0])


def test_mean_where():
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert mean_where(values, torch.tensor([True, False, True])) == 2
    empty = mean_where(values, torch.zeros(3, dtype=torch.bool))
    assert empty == 0 and torch.equal(torch.autograd.grad(empty, values)[0], torch.zeros(3))


def test_a_batch_is_an_index():
    data = PUData(torch.arange(12, dtype=torch.uint8).view(6, 2), torch.tensor([1.0, 0, 0, 1, 0, 0]), 0.3)
    batch = data[torch.tensor([3, 0])]
    assert batch.x.dtype == torch.float32 and batch.x.tolist() == [[6, 7], [0, 1]]
    assert batch.s.tolist() == [1, 1] and batch.index.tolist() == [3, 0]


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize(("n", "size"), [(1000, 64), (65, 64), (10, 64), (129, 2)])
def test_batches_are_equal_in_size_and_repeat_no_row(name, n, size):
    s = (torch.arange(n) < n // 10).float()
    torch.manual_seed(0)
    a, b = (SAMPLINGS[name](torch.arange(n), s, Recipe(1, batch_size=size, labelled=1)) for _ in range(2))
    assert a.shape[1] <= size
    once = a.flatten() if name != "paired" else a[:, 1:].flatten()  # paired batches: labelled rows come first
    assert once.unique().numel() == once.numel() > n - (n // 10) * (name == "paired") - len(a)
    assert not torch.equal(a, b)


def test_stratified_batches_share_the_labelled_rows_evenly():
    s = (torch.arange(60500) < 500).float()
    torch.manual_seed(0)
    labelled = s[SAMPLINGS["stratified"](torch.arange(60500), s, Recipe(1))].sum(1)
    assert labelled.min() >= 2 and labelled.max() <= 3
    mixed = s[SAMPLINGS["mixed"](torch.arange(60500), s, Recipe(1))].sum(1)
    assert (mixed == 0).float().mean() > 0.05  # the public code's batches: about one in eight has none


def test_paired_batches_hold_as_many_labelled_rows_as_asked():
    s = (torch.arange(1000) < 30).float()
    torch.manual_seed(0)
    batches = SAMPLINGS["paired"](torch.arange(1000), s, Recipe(1, batch_size=144, labelled=16))
    assert (s[batches].sum(1) == 16).all()
    labelled = torch.bincount(batches[s[batches] == 1])
    assert labelled.max() - labelled[:30].min() <= 1  # in turn
    assert (s[batches[:, 16:]] == 0).all() and batches[:, 16:].unique().numel() == batches[:, 16:].numel()
