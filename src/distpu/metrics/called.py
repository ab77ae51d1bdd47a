"""Estimates metrics of the rows called positive, without negatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._rows import Metric, population, rows, share


def pu_accuracy(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Estimate the accuracy on the population: 2 theta r + P(z < threshold) - theta, within [0, 1].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. An error of the
    prior by d moves the result by up to d.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    return calls.metric(
        2 * calls.theta * calls.r + calls.left - calls.theta, 2 * calls.theta, -1, 2 * calls.r - 1, 0, 1
    )


def pu_proxy_accuracy(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Estimate the PU benchmarks' proxy accuracy: the accuracy on the population plus theta, within [theta, 1 + theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes what `pu_accuracy` assumes, and orders models as it does.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    low, high = calls.theta, 1 + calls.theta
    return calls.metric(2 * calls.theta * calls.r + calls.left, 2 * calls.theta, -1, 2 * calls.r, low, high)


def pu_precision(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Estimate the share of positives among the rows called: theta r / q, within [0, 1]; 0 where no row is called.

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. A prior too high
    by a tenth of itself gives a precision too high by a tenth (in a single set by less).
    """
    return _Calls.of(s, z, prior, scenario, threshold).precision()


def pu_recall(s: np.ndarray, z: np.ndarray, *, threshold: float = 0.0) -> Metric:
    """Estimate the share of the positives that are called positive: r, within [0, 1].

    Population: the positives, which are the same in both scenarios.
    Assumes that the labelled rows are a random draw from the positives. It needs no prior. A model that has seen the
    labelled rows finds too many of them: give scores of rows held out.
    """
    return _Calls.of(s, z, None, "case-control", threshold).recall()


def precision_and_recall(called_p: int, n_p: int, called_u: int, n_u: int, prior: float) -> tuple[Metric, Metric]:
    """Return pu_precision (case-control) and pu_recall from counts of the rows called: a curve needs many of them."""
    r, u = called_p / n_p, called_u / n_u
    calls = _Calls(r, u, u, 1 - u, share(prior), prior, 0.0, n_p, n_u)
    return calls.precision(), calls.recall()


def pu_f1(s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0) -> Metric:
    """Estimate the harmonic mean of precision and recall: 2 theta r / (theta + q), within [0, 1].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    total = calls.theta + calls.q
    value, by_q = 2 * calls.theta * calls.r / total, -2 * calls.theta * calls.r / total**2
    return calls.metric(value, 2 * calls.theta / total, by_q, 2 * calls.r * calls.q / total**2, 0, 1)


def lee_liu(
    s: np.ndarray,
    z: np.ndarray,
    prior: float | None = None,
    scenario: str = "case-control",
    threshold: float = 0.0,
) -> Metric:
    """Return Lee and Liu's score r^2 / q, which is precision times recall over theta: within [0, 1 / theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives. It needs no prior and orders models as
    precision times recall does. Without a prior the upper end is the number of unlabelled rows: one hidden positive.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    high = 1 / calls.theta if prior is not None else float(calls.n_u)
    value = _ratio(calls.r**2, calls.q)
    return calls.metric(value, _ratio(2 * calls.r, calls.q), -_ratio(calls.r**2, calls.q**2), 0, 0, high)


def prior_gap(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Return the share of the population called positive less its share of positives: q - theta.

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes only that the prior is right. It lies within [-theta, 1 - theta]. 0 says that the cut calls the right number
    of rows, not the right rows.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    return calls.metric(calls.q - calls.theta, 0, 1, -1, -calls.theta, 1 - calls.theta)


@dataclass(frozen=True)
class _Calls:
    """The rows called positive, as shares."""

    r: float  # of the labelled rows
    u: float  # of the unlabelled rows
    q: float  # of the population
    left: float  # of the population: those not called
    theta: float
    prior: float
    w: float  # the labelled rows' share of the population
    n_p: int
    n_u: int

    @classmethod
    def of(cls, s: np.ndarray, z: np.ndarray, prior: float | None, scenario: str, threshold: float) -> _Calls:
        s, z = rows(s, z)
        prior = 0.0 if prior is None else share(prior)
        theta, w = population(s, prior, scenario)
        called = z >= threshold
        r, u = called[s == 1].mean(), called[s == 0].mean()
        left = w * (~called[s == 1]).mean() + (1 - w) * (~called[s == 0]).mean()
        return cls(r, u, w * r + (1 - w) * u, left, theta, prior, w, int((s == 1).sum()), int((s == 0).sum()))

    def precision(self) -> Metric:
        value, by_q = _ratio(self.theta * self.r, self.q), -_ratio(self.theta * self.r, self.q**2)
        return self.metric(value, _ratio(self.theta, self.q), by_q, _ratio(self.r, self.q), 0, 1)

    def recall(self) -> Metric:
        return self.metric(self.r, 1, 0, 0, 0, 1)

    def metric(self, value: float, by_r: float, by_q: float, by_theta: float, low: float, high: float) -> Metric:
        """Return the value within its range, and its error by the delta method from the slopes by r, q and theta."""
        half = (high - low) / 2
        if not np.isfinite([by_r, by_q, by_theta]).all():  # no row is called
            return Metric(np.clip(value, low, high), half)
        labelled, unlabelled = by_r + self.w * by_q, (1 - self.w) * by_q
        by_w = (1 - self.prior) * by_theta + (self.r - self.u) * by_q  # chance decides w in a single set
        variance = labelled**2 * _variance(self.r, self.n_p) + unlabelled**2 * _variance(self.u, self.n_u)
        variance += by_w**2 * self.w * (1 - self.w) / (self.n_p + self.n_u)
        return Metric(np.clip(value, low, high), min(half, np.sqrt(variance)))


def _variance(share: float, n: int) -> float:
    """Return the variance of a share of n rows. Where all rows agree, half a row counts as one that does not."""
    if share in (0, 1):
        return (n + 0.5) * 0.5 / (n + 1) ** 2 / n
    return share * (1 - share) / n


def _ratio(above: float, below: float) -> float:
    """Return above / below: 0 where both are 0, infinite where only the lower one is."""
    if below == 0:
        return 0.0 if above == 0 else np.inf
    return above / below
