"""The demo's raw table."""

import numpy as np

from distpu.datasets.penguins import LABEL, SEX, penguins


def test_the_known_females_are_females_and_the_truth_is_not_in_the_table():
    table, truth = penguins(labelled=60, seed=0)
    assert table.shape == (344, 17) and SEX not in table
    known = (table[LABEL] == "yes").to_numpy()
    assert known.sum() == 60 and (truth[known] == 1).all()
    assert [int((truth == sex).sum()) for sex in (0, 1)] == [168, 165] and np.isnan(truth).sum() == 11


def test_another_seed_draws_other_females():
    first, second = (penguins(seed=seed)[0][LABEL].notna() for seed in (0, 1))
    assert (first != second).any()
