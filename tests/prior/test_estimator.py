"""PriorEstimator: one interface to every estimator in PRIORS."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from scipy.special import expit
from sklearn.base import clone

import distpu
from distpu.prior import AUTO, ON_ROWS, PRIORS, Estimate, PriorEstimator, estimate, estimator, scores
from distpu.prior.bbe import bbe

every = pytest.mark.parametrize("name", PRIORS)


def quick(name, **told):
    """KM takes a tenth of a second for one estimate; an interval of its own is in test_estimators.py."""
    return PriorEstimator(name, bootstrap=0 if name.startswith("km") else 2, **told)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(scores, "TREES", 20)
    monkeypatch.setattr(estimator, "_recent", estimator.OrderedDict())


@pytest.fixture
def table():
    """120 rows of 3 columns with many zeros, and PU labels."""
    random = np.random.default_rng(0)
    s = np.repeat([1, 0], [30, 90])
    x = random.normal(size=(120, 3)) + 3 * np.concatenate([np.ones(30), random.random(90) < 0.4])[:, None]
    return np.where(np.abs(x) < 0.3, 0, x).astype(np.float32), s


@every
def test_what_fit_sets(name, table):
    X, s = table
    fitted = quick(name).fit(X, s)
    low, high = fitted.interval_
    assert 0 < low <= fitted.prior_ <= high < 1
    assert fitted.label_frequency_ == pytest.approx(30 / (30 + 90 * fitted.prior_))
    assert fitted.name_ == fitted.name == name
    assert isinstance(fitted.estimate_, Estimate) and fitted.estimate_ == estimate(
        X, s, name, bootstrap=fitted.bootstrap
    )
    assert fitted.note_ == fitted.estimate_.note and fitted.prior_ == distpu.estimate_prior(X, s, name)


@every
def test_scores_at_hand(name):
    random = np.random.default_rng(1)
    z_p, z_u = random.beta(8, 2, 100), np.concatenate([random.beta(8, 2, 120), random.beta(2, 8, 180)])
    fitted = quick(name).fit_scores(z_p, z_u)
    assert fitted.prior_ == pytest.approx(0.4, abs=0.2) and fitted.interval_[0] <= fitted.prior_ <= fitted.interval_[1]
    same = quick(name).fit_scores(pd.Series(z_p, index=range(7, 107)), z_u.tolist())
    assert same.estimate_ == fitted.estimate_


def test_auto_is_one_of_the_names(table):
    X, s = table
    assert AUTO in PRIORS
    fitted = PriorEstimator(bootstrap=0).fit(X, s)
    assert (fitted.name, fitted.name_) == ("auto", AUTO)
    assert fitted.prior_ == PriorEstimator(AUTO, bootstrap=0).fit(X, s).prior_ == distpu.estimate_prior(X, s)
    assert distpu.prior_with_interval(X, s, bootstrap=0).prior == fitted.prior_


def test_it_is_a_scikit_learn_estimator():
    told = PriorEstimator("dedpul", level=0.8, bootstrap=7, random_state=3)
    assert told.get_params() == dict(name="dedpul", level=0.8, bootstrap=7, random_state=3, pos_label=None)
    copy = clone(told).set_params(level=0.9)
    assert (copy.name, copy.level, told.level) == ("dedpul", 0.9, 0.8)
    assert "PriorEstimator(" in repr(told) and "dedpul" in repr(told)
    assert clone(distpu.DistPU(prior=told)).get_params()["prior__bootstrap"] == 7


@every
@pytest.mark.parametrize("blank", [False, True], ids=["whole", "a blank cell"])
def test_every_container_gives_the_same(name, blank, table):
    X, s = table
    X = X.copy()
    if blank:
        X[40, 1] = np.nan
    expected = quick(name).fit(X, s).estimate_
    frame = pd.DataFrame(X, columns=list("abc"), index=range(5, 125))
    same = [(X.tolist(), s.tolist()), (frame, pd.Series(s, index=range(5, 125))), (csr_matrix(X), s)]
    same += [(csc_matrix(X), s.astype(bool)), (pl.DataFrame(X), pl.Series(s)), (X.astype(np.float64), 2 * s - 1)]
    same += [(np.asfortranarray(X), np.where(s == 1, 1, np.nan))]
    for rows, labels in same[1:3] if name.startswith("km") else same:
        assert quick(name).fit(rows, labels).estimate_ == expected


@every
def test_one_column_may_be_a_series(name, table):
    X, s = table
    expected = quick(name).fit(X[:, [0]], s).estimate_
    same = [pd.Series(X[:, 0]), X[:, 0], X[:, 0].tolist(), pd.DataFrame({"a": X[:, 0]}), csr_matrix(X[:, [0]])]
    for column in same[:1] if name.startswith("km") else same:
        assert quick(name).fit(column, s).estimate_ == expected


def test_a_wide_sparse_table_gives_what_the_array_gives():
    random = np.random.default_rng(0)
    s = np.repeat([1, 0], [40, 160])
    wide = random.normal(size=(200, 600)) * (random.random((200, 600)) < 0.1)
    wide[:80, :50] += 2
    X = wide.astype(np.float32)
    for name in ("bbe", "tice"):
        expected = PriorEstimator(name, bootstrap=0).fit(X, s).estimate_
        assert PriorEstimator(name, bootstrap=0).fit(csr_matrix(X), s).estimate_ == expected


def test_a_sparse_table_too_large_to_be_made_dense(monkeypatch):
    monkeypatch.setattr(scores, "DENSE", 1000)
    random = np.random.default_rng(0)
    X, s = random.normal(size=(200, 600)) * (random.random((200, 600)) < 0.1), np.repeat([1, 0], [40, 160])
    X[:80, :50] += 2
    X[3, 5] = np.nan
    z_p, z_u = scores.out_of_fold_scores(csr_matrix(X.astype(np.float32)), s)
    assert (len(z_p), len(z_u)) == (40, 160) and z_p.mean() > z_u.mean()


@pytest.mark.parametrize("name", ["bbe", "dedpul", "elkan-noto", "scott"])
def test_scores_may_be_log_odds(name):
    random = np.random.default_rng(1)
    z_p, z_u = random.normal(2, 1, 100), np.concatenate([random.normal(2, 1, 120), random.normal(-2, 1, 180)])
    found = PriorEstimator(name, bootstrap=0).fit_scores(z_p, z_u).prior_
    assert found == PriorEstimator(name, bootstrap=0).fit_scores(expit(z_p), expit(z_u)).prior_
    assert found == pytest.approx(0.4, abs=0.25 if name == "scott" else 0.06)


def test_fit_scores_by_hand():
    z_p, z_u = np.array([0.95, 0.9, 0.8, 0.6]), np.array([0.92, 0.85, 0.5, 0.3, 0.2, 0.1])
    with pytest.warns(UserWarning, match="from 4 labelled positives"):
        fitted = PriorEstimator("bbe", bootstrap=0).fit_scores(z_p, z_u)
    assert fitted.prior_ == pytest.approx(bbe(z_p, z_u)) and fitted.interval_ == (fitted.prior_,) * 2
    assert fitted.label_frequency_ == pytest.approx(4 / (4 + 6 / 3))


def test_mistakes(table):
    X, s = table
    for wrong, message in [
        (dict(name="dedpull"), "'dedpull' is not known; did you mean 'dedpul'"),
        (dict(name=None), "prior estimator None is not known"),
        (dict(level=0), "level=0 must be above 0 and below 1"),
        (dict(bootstrap=2.5), "bootstrap=2.5 must be a whole number"),
        (dict(random_state=-1), "random_state=-1 must be at least 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            PriorEstimator(**wrong).fit(X, s)
    for z_p, z_u, message in [
        ([[0.1], [0.2]], [0.1], r"z_labelled has shape \(2, 1\)"),
        ([0.1, np.nan], [0.1], "z_labelled .* holds NaN"),
        ([0.1], [0.1], "at least 2 labelled"),
        ([0.1, 0.2], [], "at least 2 labelled and 1 unlabelled"),
    ]:
        with pytest.raises(ValueError, match=message):
            PriorEstimator().fit_scores(z_p, z_u)


def test_an_estimate_as_json_and_back():
    one = Estimate(0.25, (0.2, 0.3), 0.5, "bbe", "a note", 0.9)
    assert Estimate.from_json(one.to_json()) == one
    assert Estimate.from_json({**one.to_json(), "interval": None, "of a later version": 1}).interval is None


def test_estimators_on_rows_say_so():
    assert set(ON_ROWS) == {name for name in PRIORS if PRIORS[name].__module__.split(".")[-1] in
                            ("tice", "pe", "pen_l1", "km")}  # fmt: skip
