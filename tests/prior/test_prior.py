import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csc_matrix, csr_matrix

from distpu.prior import estimate_prior, estimator, scores
from distpu.prior.bbe import bbe
from distpu.prior.scores import out_of_fold_scores


def test_bbe_on_the_specifications_scores():
    z_p, z_u = np.array([0.95, 0.9, 0.8, 0.6]), np.array([0.92, 0.85, 0.5, 0.3, 0.2, 0.1])
    assert bbe(z_p, z_u) == pytest.approx(1 / 3)
    assert bbe(z_p[::-1], z_u[::-1]) == pytest.approx(1 / 3)  # order does not matter


def test_bbe_by_a_naive_loop():
    random = np.random.default_rng(0)
    z_p, z_u = random.beta(5, 2, 80).round(2), np.concatenate([random.beta(5, 2, 60), random.beta(2, 5, 140)]).round(2)
    eps = np.sqrt(np.log(40) / 160) + np.sqrt(np.log(40) / 400)
    bounds = []
    for c in sorted({*z_p, *z_u}):
        q_p, q_u = (z_p >= c).mean(), (z_u >= c).mean()
        if q_p > 0:
            bounds.append(((q_u + 1.01 * eps) / q_p, q_u / q_p))
    assert bbe(z_p, z_u) == pytest.approx(min(1, min(bounds)[1]))


@pytest.mark.parametrize("share", [0.4, *(pytest.param(one, marks=pytest.mark.slow) for one in (0.1, 0.7))])
def test_the_estimate_is_near_the_truth_where_classes_are_separable(share):
    random = np.random.default_rng(1)
    y = random.random(800) < share
    x = random.normal(size=(1000, 4)) + 3 * np.concatenate([np.ones(200), y])[:, None]
    s = np.concatenate([np.ones(200, dtype=int), np.zeros(800, dtype=int)])
    assert estimate_prior(x.astype(np.float32), s) == pytest.approx(y.mean(), abs=0.07)


def test_no_positives_among_the_unlabelled_gives_a_share_near_zero_but_above_it():
    random = np.random.default_rng(2)
    s = np.repeat([1, 0], [50, 150])
    x = random.normal(size=(200, 2)) + 8 * s[:, None]
    assert 0 < estimate_prior(x.astype(np.float32), s) < 0.03


def test_images_are_reduced_and_large_data_is_sampled(monkeypatch):
    monkeypatch.setattr(scores, "MAX_ROWS", 300)
    monkeypatch.setattr(scores, "TREES", 20)
    random = np.random.default_rng(0)
    s = np.repeat([1, 0], [100, 900])
    images = random.integers(0, 120, size=(1000, 1, 12, 12), dtype=np.uint8)
    images[:400] += 100
    z_p, z_u = out_of_fold_scores(images, s)
    assert (len(z_p), len(z_u)) == (100, 200)
    assert z_p.mean() > z_u.mean() + 0.1


def test_one_data_set_is_estimated_once(monkeypatch):
    calls = []
    monkeypatch.setattr(estimator, "_recent", estimator.OrderedDict())
    monkeypatch.setattr(
        estimator, "out_of_fold_scores", lambda x, s, seed: (calls.append(1), (x[s == 1, 0], x[s == 0, 0]))[1]
    )
    x, s = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32), np.repeat([1, 0], [10, 40])
    assert estimate_prior(x, s) == estimate_prior(x.copy(), s)
    assert len(calls) == 1
    estimate_prior(x + 1, s)
    estimate_prior(x, s[::-1].copy())
    assert len(calls) == 3


def test_too_few_labelled_rows_to_estimate_from():
    x = np.zeros((20, 2), dtype=np.float32)
    x[:, 0] = np.arange(20)
    with pytest.raises(ValueError, match="at least 2 labelled positives"):
        estimate_prior(x, (np.arange(20) < 1).astype(int))
    x[:3] = 0
    with pytest.raises(ValueError, match="at least 2 different labelled positives"):
        estimate_prior(x, (np.arange(20) < 3).astype(int))


def test_equal_unlabelled_rows_are_too_few_to_estimate_from():
    """They share a fold, and the forest of that fold sees labelled rows only."""
    x = np.zeros((20, 2), dtype=np.float32)
    x[:3, 0] = 1, 2, 3
    with pytest.raises(ValueError, match="2 different labelled positives and 2 different unlabelled rows; give the"):
        estimate_prior(x, (np.arange(20) < 3).astype(int))


def test_few_labelled_rows_are_said_to_be_few():
    random = np.random.default_rng(5)
    x, s = random.normal(size=(80, 3)), np.arange(80)
    with pytest.warns(
        UserWarning, match="from 7 labelled positives; with fewer than 20, .* give the prior as a number"
    ):
        estimate_prior(x, (s < 7).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate_prior(x, (s < 20).astype(int))


def test_frames_arrays_and_sparse_matrices_agree(toy):
    X, s, _ = toy
    array = np.where(np.abs(X) < 0.3, 0, X).astype(np.float32)
    expected = estimate_prior(array, s)
    frame = pd.DataFrame(array, columns=list("abcdef"))
    assert estimate_prior(frame, pd.Series(s)) == expected
    assert estimate_prior(pl.DataFrame(array), pl.Series(s)) == expected
    for sparse in (csr_matrix(array), csc_matrix(array)):
        assert estimate_prior(sparse, s) == expected


def test_one_blank_cell_changes_little(toy):
    X, s, _ = toy
    blank = X.astype(np.float32)
    blank[5, 2] = np.nan
    assert estimate_prior(blank, s) == pytest.approx(estimate_prior(X.astype(np.float32), s), abs=0.1)


def test_values_that_are_no_numbers_are_refused(toy):
    _, s, _ = toy
    with pytest.raises(ValueError, match="the prior is estimated from numbers, but X holds other values"):
        estimate_prior(np.array([["x"]] * 300), s)
    with pytest.raises(ValueError, match="X has no column to learn from .'a' left out: every row holds 'x'"):
        estimate_prior(pd.DataFrame({"a": ["x"] * 300}), s)
    with pytest.raises(ValueError, match="X has 5 rows, but y has 300 labels"):
        estimate_prior(np.zeros((5, 2)), s)


def test_few_labelled_rows_are_said_to_be_few_each_time(toy):
    X, s, _ = toy
    few = np.where(np.cumsum(s) <= 6, s, 0)
    for _ in range(2):
        with pytest.warns(UserWarning, match="from 6 labelled positives"):
            estimate_prior(X, few)
