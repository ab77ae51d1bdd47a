"""What every prior estimator must do, over PRIORS, and the interval."""

import warnings

import numpy as np
import pytest

from distpu.prior import ON_ROWS, ON_SCORES, PRIORS, Estimate, estimate, estimate_prior, interval, scores

every = pytest.mark.parametrize("name", PRIORS)


def mixture(share, n_p=200, n_u=800, seed=0, apart=4.0):
    """Labelled and unlabelled rows of two clouds in three columns."""
    random = np.random.default_rng(seed)
    y = np.arange(n_u) < share * n_u
    p, u = random.normal(apart, 1, (n_p, 3)), random.normal(0, 1, (n_u, 3)) + apart * y[:, None]
    return p, u[random.permutation(n_u)]


def given(name, p, u):
    """What the estimator takes: the rows, or their log-odds of being positive as a probability."""
    if name in ON_ROWS:
        return p, u
    return tuple(1 / (1 + np.exp(-(x.mean(1) - 2) * 2)) for x in (p, u))


def test_the_registry_says_what_each_takes():
    assert [*ON_SCORES] == ["bbe", "dedpul", "elkan-noto", "scott", "binormal"]
    assert [*ON_ROWS] == ["tice", "pe", "pen-l1", "km1", "km2"]
    assert PRIORS == ON_SCORES | ON_ROWS


@every
@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_near_the_truth_where_classes_are_separable(name, share):
    found = PRIORS[name](*given(name, *mixture(share)))
    assert 0 <= found <= 1
    assert found == pytest.approx(share, abs=0.17 if name in ("scott", "tice") else 0.1)  # these two are upper bounds


@every
def test_the_order_of_the_rows_does_not_matter(name):
    p, u = given(name, *mixture(0.3, 60, 200, apart=2.0))
    random = np.random.default_rng(3)
    again = PRIORS[name](random.permutation(p), random.permutation(u))
    assert PRIORS[name](p, u) == pytest.approx(again, abs=1e-9)


@every
def test_two_labelled_rows_are_enough_not_to_crash(name):
    p, u = mixture(0.3, 2, 40)
    assert 0 <= PRIORS[name](*given(name, p, u)) <= 1
    X, s = np.concatenate([p, u]), np.repeat([1, 0], [2, 40])
    with pytest.warns(UserWarning, match="from 2 labelled positives"):
        found = estimate(X, s, name, bootstrap=5)
    assert 0 < found.interval[0] <= found.prior <= found.interval[1] < 1


@every
def test_equal_rows_do_not_crash(name):
    p, u = np.ones((30, 2)), np.ones((90, 2))
    one_number = (p[:, 0] * 0.3, u[:, 0] * 0.3)
    assert 0 <= PRIORS[name](*(one_number if name in ON_SCORES else (p, u))) <= 1


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * name.startswith("km")) for name in PRIORS]
)
def test_an_estimate_with_its_interval(name, monkeypatch):
    monkeypatch.setattr(scores, "TREES", 30)
    monkeypatch.setattr(interval, "MOST_HALVES", 5)
    p, u = mixture(0.4, 60, 240)
    X, s = np.concatenate([p, u]).astype(np.float32), np.repeat([1, 0], [60, 240])
    found = estimate(X, s, name, bootstrap=10, random_state=1)
    assert isinstance(found, Estimate) and found.name == name
    low, high = found.interval
    assert 0 < low <= found.prior <= high < 1 and low < high
    assert found.label_frequency == pytest.approx(60 / (60 + found.prior * 240))
    assert found == estimate(X, s, name, bootstrap=10, random_state=1)  # a seed gives the same estimate
    assert estimate(X, s, name, bootstrap=10).prior == estimate_prior(X, s, name)
    assert estimate(X, s, name, bootstrap=0).interval == (estimate_prior(X, s, name),) * 2


def test_a_higher_level_gives_a_wider_interval(toy):
    X, s, _ = toy
    narrow, wide = estimate(X, s, level=0.5).interval, estimate(X, s, level=0.95).interval
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_the_bootstrap_is_that_of_the_mean():
    """The deviation of a bootstrapped mean is sd / sqrt(n); that of random halves is the same."""
    random = np.random.default_rng(0)
    z = random.normal(size=(400, 1))
    expected = z.std() / 20
    drawn = interval.bootstrapped(lambda p, u: p.mean(), z[:, 0], z[:, 0], 400, 0)
    assert drawn.std() == pytest.approx(expected, rel=0.15)
    halves = np.concatenate([interval.halved(lambda p, u: p.mean(), z, z, 20, k) for k in range(20)])
    assert halves.std() == pytest.approx(expected, rel=0.15)


def test_blanks_and_wide_tables_reach_estimators_on_rows(monkeypatch):
    p, u = mixture(0.4, 60, 240)
    X, s = np.concatenate([p, u]), np.repeat([1, 0], [60, 240])
    X[::7, 1] = np.nan
    X = np.column_stack([X, np.full(300, np.nan)])  # an empty column is left out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimate_prior(X, s, "pen-l1") == pytest.approx(0.4, abs=0.1)
    random = np.random.default_rng(0)
    wide = np.concatenate([X[:, [0]] * random.normal(size=600), np.zeros((300, 1))], axis=1)
    assert scores.filled_rows(wide.astype(np.float32), s)[0].shape == (60, scores.MAX_FEATURES)


def test_what_was_left_out_is_said(monkeypatch):
    monkeypatch.setattr(interval, "MOST_HALVES", 1)
    p, u = mixture(0.4, 200, 600)
    X, s = np.concatenate([p, u]), np.repeat([1, 0], [200, 600])
    assert estimate(X, s, "km2", bootstrap=1).note == "looks at 500 of 800 rows at most"
    assert estimate(X, s, "tice", bootstrap=1).note == ""
    assert estimate(X, s, "tice", bootstrap=30).note == "interval from 10 halves"


def test_mistakes_are_said(toy):
    X, s, _ = toy
    with pytest.raises(ValueError, match="'dedpull' is not known; did you mean 'dedpul'"):
        estimate(X, s, "dedpull")
    with pytest.raises(ValueError, match="level=1.5 must be above 0 and below 1"):
        estimate(X, s, level=1.5)
    with pytest.raises(ValueError, match="bootstrap=-1 must be at least 0"):
        estimate(X, s, bootstrap=-1)
