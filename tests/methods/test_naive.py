import itertools

import torch

from distpu import Naive
from distpu.methods._parts import drawn_in_batch, pn_risks
from distpu.methods.naive import RandomNegatives
from fixture import close

s = torch.tensor([1.0] * 20 + [0.0] * 180)


def test_cross_entropy_of_labelled_against_drawn_rows():
    z = torch.tensor([2, 0.5, -1, 1.5, -0.5, -2], dtype=torch.float64)
    close(torch.stack(pn_risks(z, torch.tensor([1.0, 1, 1, 0, 0, 0]))).sum(), 0.7027808260, 1e-10)


def draws(redraw, ratio=1.0, seed=0):
    torch.manual_seed(seed)
    objective = RandomNegatives(s, ratio, redraw)
    return [objective.rows(s).tolist() for _ in range(3)]


def test_drawn_rows_are_unlabelled_without_repeats_and_as_many_as_asked():
    for ratio, size in ((1.0, 20), (1.5, 30), (100.0, 180)):
        for rows in draws(True, ratio):
            assert rows[:20] == list(range(20))
            assert len(rows) == 20 + size and len(set(rows)) == len(rows) and min(rows[20:]) >= 20


def test_redrawn_each_epoch_or_fixed_and_repeatable():
    a = draws(True)
    assert a[0] != a[1] and a == draws(True) and a != draws(True, seed=1)
    b = draws(False)
    assert b[0] == b[1] == b[2]


def test_all_unlabelled_rows_weigh_no_more_than_the_labelled_ones():
    z = torch.tensor([2, 0.5, -1, 1.5, -0.5, -2, 0.0, -3], dtype=torch.float64)
    labels = torch.tensor([1.0, 1, 1, 0, 0, 0, 0, 0])
    softplus = torch.nn.functional.softplus
    expected = (softplus(-z[:3]).mean() + softplus(z[3:]).mean()) / 2
    close(torch.stack(pn_risks(z, labels)).sum(), expected, 1e-12)


def test_drawn_from_a_batch_are_as_many_others_as_it_has_labelled_rows():
    torch.manual_seed(0)
    drawn = torch.stack([drawn_in_batch(s) for _ in range(300)])
    assert (drawn[:, :20] == 1).all()
    assert ((drawn[:, 20:] == 0).sum(1) == 20).all() and ((drawn[:, 20:] == -1).sum(1) == 160).all()
    share = (drawn[:, 20:] == 0).double().mean(0)
    assert 0.03 < share.min() and share.max() < 0.2  # each of 180 rows alike, 1/9 of the time
    none = torch.zeros(5)
    assert (drawn_in_batch(none) == -1).all()  # no labelled row, no loss
    assert drawn_in_batch(torch.tensor([1.0, 0.0, 1.0])).tolist() == [1, 0, 1]  # fewer others than labelled rows


def test_the_readings_of_randomly_sampled(toy):
    X, labels, _ = toy
    scores = [
        Naive(negatives=kind, epochs=2, random_state=0).fit(X, labels).decision_function(X)
        for kind in ("redrawn", "fixed", "batch", "all")
    ]
    assert not any((a == b).all() for a, b in itertools.combinations(scores, 2))
