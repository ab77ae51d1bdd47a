"""Methods judged without negatives."""

import numpy as np
import pytest

from distpu import metrics
from distpu.tune import Judged, _error, best, compare_methods


def test_methods_are_judged_on_rows_they_did_not_see(toy):
    X, s, y = toy
    judged = list(compare_methods(X, s, ["elkan-noto", "bagging-pu"], prior=0.4))
    assert [one.method for one in judged] == ["elkan-noto", "bagging-pu"]
    for one in judged:
        assert 0.75 < one.pu_accuracy < 1.05 and one.pu_auc > 0.7 and 0.2 < one.called < 0.6 and one.error < 0.1


def test_a_ranking_without_information_is_judged_as_such(toy):
    _, s, _ = toy
    noise = np.random.default_rng(3).normal(size=(300, 4))
    (one,) = compare_methods(noise, s, ["bagging-pu"], prior=0.4)
    assert one.pu_accuracy < 0.7 and abs(one.pu_auc - 0.5) < 0.25


def test_a_method_that_fails_says_why_and_stops_no_other(toy):
    X, s, _ = toy
    broken = X.copy()
    broken[3, 2] = np.nan
    first, second = compare_methods(broken, s, ["nnpu", "bagging-pu"], prior=0.4)
    assert first[0] == "nnpu" and "contains NaN" in first[1]
    assert isinstance(second, Judged)


def test_the_best_and_those_within_its_error():
    def one(name, accuracy):
        return Judged(name, accuracy, 0.02, 0.8, 0.4, 1.0)

    assert [j.method for j in best([one("a", 0.85), one("b", 0.9), one("c", 0.885)])] == ["b", "c"]
    assert best([]) == []


def test_the_standard_error_is_that_of_repeated_draws():
    random = np.random.default_rng(0)
    found, error = [], []
    for _ in range(400):
        s = (np.arange(400) < 100).astype(int)
        y = np.where(s == 1, 1, random.random(400) < 0.4)
        z = random.normal(size=400) + 2 * y - 1
        found.append(metrics.pu_accuracy(s, z, 0.4))
        error.append(_error(s, z, 0.4))
    assert np.mean(error) == pytest.approx(np.std(found), rel=0.15)


def test_the_preset_is_told_to_the_methods_that_have_one(toy):
    X, s, _ = toy
    (failed,) = compare_methods(X, s, ["nnpu"], prior=0.4, preset="nonsense")
    assert failed[0] == "nnpu" and "nnpu has no preset 'nonsense'" in failed[1]
