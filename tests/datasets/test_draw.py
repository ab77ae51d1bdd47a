"""A PU set is drawn from a labelled one; rows are split into folds."""

import numpy as np
import pytest

from distpu import draw_pu, unlabelled_prior
from distpu.datasets.draw import folds

y = np.array([1, 0, 1, 1, 0, 0, 0, 1, 1, 0])


def test_case_control_keeps_the_labelled_rows_among_the_unlabelled():
    index, s = draw_pu(y, labelled=3, seed=4)
    assert len(index) == 13 and s.sum() == 3
    assert (y[index][s == 1] == 1).all()
    assert sorted(index[s == 0]) == list(range(10))  # the unlabelled rows are the whole set
    assert y[index][s == 0].mean() == y.mean()
    assert set(index[10:]) == set(np.flatnonzero(s))  # the marked row is the original, its copy is appended


def test_single_set_takes_them_out():
    index, s = draw_pu(y, labelled=3, scenario="single-set", seed=4)
    assert index.tolist() == list(range(10)) and s.sum() == 3
    assert y[s == 0].mean() == unlabelled_prior(y.mean(), 3, 7) == pytest.approx(2 / 7)


def test_a_seed_repeats_its_draw():
    draws = [draw_pu(y, 3, seed=seed)[1].tolist() for seed in (0, 0, 1, 2, 3)]
    assert draws[0] == draws[1] and len({tuple(d) for d in draws}) > 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labelled": 0}, "labelled=0 must lie between 1 and the 5 positives"),
        ({"labelled": 1.5}, "labelled=1.5 must be a whole number"),
        ({"labelled": "x"}, "labelled='x' must be a whole number"),
        ({"labelled": 6}, "labelled=6 must lie between 1 and the 5 positives"),
        ({"labelled": 1, "scenario": "both"}, "scenario='both' is not known"),
    ],
)
def test_impossible_draws(settings, message):
    with pytest.raises(ValueError, match=message):
        draw_pu(y, **settings)
    with pytest.raises(ValueError, match="y holds masked values"):
        draw_pu(np.ma.masked_equal(y, 0), 1)
    with pytest.raises(ValueError, match="no unlabelled row"):
        draw_pu([1, 1], 2, "single-set")


def test_an_impossible_population_share():
    with pytest.raises(ValueError, match="must lie strictly between 0 and 1"):
        unlabelled_prior(0.1, 20, 80)


def test_copies_of_a_row_share_a_fold():
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 3)).astype(np.float32)
    x = np.concatenate([x, x[:20]])
    s = np.concatenate([np.zeros(100), np.ones(20)])
    fold = folds(x, s, 5, seed=0)
    assert (fold[:20] == fold[100:]).all()
    assert [int(s[fold == k].sum()) for k in range(5)] == [4] * 5
    assert np.bincount(fold[20:100]).tolist() == [16] * 5


def test_a_single_set_of_a_chosen_size_has_the_share_of_the_whole():
    y = np.r_[np.ones(400), np.zeros(600)].astype(int)
    index, s = draw_pu(y, labelled=50, scenario="single-set", seed=4, unlabelled=800)
    assert (s == 1).sum() == 50 and (s == 0).sum() == 800 and len(set(index)) == 850
    assert y[index][s == 0].mean() == 0.4 and (y[index][s == 1] == 1).all()
    other, _ = draw_pu(y, labelled=50, scenario="single-set", seed=5, unlabelled=800)
    assert set(index) != set(other)
    with pytest.raises(ValueError, match="unlabelled=900 needs 360 rows with y == 1, but 350 are left"):
        draw_pu(y, labelled=50, scenario="single-set", unlabelled=900)
    with pytest.raises(ValueError, match="goes with scenario='single-set'"):
        draw_pu(y, labelled=50, unlabelled=800)
