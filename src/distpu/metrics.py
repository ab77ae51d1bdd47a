"""Metrics with true labels, and metrics that need no negatives.

The metrics without negatives take PU labels s (1 labelled positive, 0 unlabelled), scores z (a row is called positive
where z >= threshold) and the prior, which is the share of positives among the UNLABELLED rows. All of them assume that
the labelled rows are a random draw from the positives. They estimate a metric of one population:

scenario="case-control"  The labelled rows are a separate draw. The population is that of the unlabelled rows.
scenario="single-set"    The labelled rows were taken out of the population. The population is that of all rows,
                         labelled and unlabelled together.

    n_P, n_U   labelled and unlabelled rows
    r          share of the labelled rows called positive: the recall
    q          share of the population called positive
    theta      share of positives in the population: the prior, or (n_P + prior n_U) / (n_P + n_U) in a single set

Each returns a Metric: a float with its standard error. The error is that of drawing rows; the prior counts as known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

METRICS = ("accuracy", "precision", "recall", "f1", "auc", "ap")
SCENARIOS = ("case-control", "single-set")


def evaluate(y: np.ndarray, z: np.ndarray) -> dict[str, float]:
    """Return the paper's six metrics as fractions. y: true labels 0/1; z: logits, positive where z >= 0."""
    from sklearn.metrics import (
        average_precision_score,
        f1_score,
        precision_score,
        recall_score,
        roc_auc_score,
    )

    predicted = (z >= 0).astype(int)
    return {
        "accuracy": float((predicted == y).mean()),
        "precision": float(precision_score(y, predicted, zero_division=0)),
        "recall": float(recall_score(y, predicted, zero_division=0)),
        "f1": float(f1_score(y, predicted, zero_division=0)),
        "auc": float(roc_auc_score(y, z)),
        "ap": float(average_precision_score(y, z)),
    }


class Metric(float):
    """A number with its standard error: `found = pu_f1(s, z, 0.3)`, then `found` and `found.error`."""

    __slots__ = ("error",)
    error: float

    def __new__(cls, value: float, error: float) -> Metric:
        made = super().__new__(cls, value)
        made.error = float(error)
        return made

    def __getnewargs__(self) -> tuple[float, float]:  # type: ignore[override]  # pickle and copy call it
        return float(self), self.error


# ------------------------------------------------------------ rows called positive


def pu_accuracy(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Accuracy on the population: 2 theta r + P(z < threshold) - theta, within [0, 1].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. An error of the
    prior by d moves the result by up to d.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    return calls.metric(2 * calls.theta * calls.r + calls.left - calls.theta, 2 * calls.theta, -1, 0, 1)


def pu_proxy_accuracy(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Proxy accuracy of the PU benchmarks: accuracy on the population plus theta, within [theta, 1 + theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes what `pu_accuracy` assumes, and orders models as it does.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    low, high = calls.theta, 1 + calls.theta
    return calls.metric(2 * calls.theta * calls.r + calls.left, 2 * calls.theta, -1, low, high)


def pu_precision(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Share of true positives among the rows called positive: theta r / q, within [0, 1]; 0 where no row is called.

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. A prior too high
    by a tenth of itself gives a precision too high by a tenth (in a single set by less).
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    value = _ratio(calls.theta * calls.r, calls.q)
    return calls.metric(value, _ratio(calls.theta, calls.q), -_ratio(calls.theta * calls.r, calls.q**2), 0, 1)


def pu_recall(s: np.ndarray, z: np.ndarray, *, threshold: float = 0.0) -> Metric:
    """Share of the positives that are called positive: r, within [0, 1].

    Population: the positives, which are the same in both scenarios.
    Assumes that the labelled rows are a random draw from the positives. It needs no prior. A model that has seen the
    labelled rows finds too many of them: give scores of rows held out.
    """
    calls = _Calls.of(s, z, None, "case-control", threshold)
    return calls.metric(calls.r, 1, 0, 0, 1)


def pu_f1(s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0) -> Metric:
    """Harmonic mean of precision and recall: 2 theta r / (theta + q), within [0, 1].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    total = calls.theta + calls.q
    value, by_q = 2 * calls.theta * calls.r / total, -2 * calls.theta * calls.r / total**2
    return calls.metric(value, 2 * calls.theta / total, by_q, 0, 1)


def lee_liu(
    s: np.ndarray,
    z: np.ndarray,
    prior: float | None = None,
    scenario: str = "case-control",
    threshold: float = 0.0,
) -> Metric:
    """Lee and Liu's score r^2 / q, which is precision times recall over theta: within [0, 1 / theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives. It needs no prior and orders models as
    precision times recall does. Without a prior the upper end is the number of unlabelled rows: one hidden positive.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    high = 1 / calls.theta if prior is not None else float(calls.n_u)
    value = _ratio(calls.r**2, calls.q)
    return calls.metric(value, _ratio(2 * calls.r, calls.q), -_ratio(calls.r**2, calls.q**2), 0, high)


def prior_gap(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control", threshold: float = 0.0
) -> Metric:
    """Share of the population called positive less its share of positives: q - theta, within [-theta, 1 - theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes only that the prior is right. 0 says that the cut calls the right number of rows, not the right rows.
    """
    calls = _Calls.of(s, z, prior, scenario, threshold)
    return calls.metric(calls.q - calls.theta, 0, 1, -calls.theta, 1 - calls.theta)


# ------------------------------------------------------------------------- ranking


def pu_auc(s: np.ndarray, z: np.ndarray) -> Metric:
    """AUC of labelled against unlabelled rows, uncorrected: needs no prior, and orders models as the true AUC does."""
    from sklearn.metrics import roc_auc_score

    s, z = _rows(s, z)
    return Metric(roc_auc_score(s, z), _error(*_placements(s, z), 0.5))


def pu_roc_auc(s: np.ndarray, z: np.ndarray, prior: float) -> Metric:
    """Probability that a positive scores above a negative, ties counted half: within [0, 1].

        AUC of labelled against unlabelled = prior / 2 + (1 - prior) AUC

    Population: positives against negatives, which are the same in both scenarios.
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. It must be the
    share among the unlabelled rows: the share among all rows of a single set gives an AUC above the truth.
    """
    s, z = _rows(s, z)
    prior = _share(prior)
    above, below = _placements(s, z)
    error = _error(above / (1 - prior), below / (1 - prior), 0.5)
    return Metric(np.clip((above.mean() - prior / 2) / (1 - prior), 0, 1), error)


def pu_average_precision(s: np.ndarray, z: np.ndarray, prior: float, scenario: str = "case-control") -> Metric:
    """Area under precision over recall: the mean, over the positives, of the precision at their score; within [0, 1].

        mean over labelled i of   min(1, theta r(z_i) / q(z_i))      r(t), q(t): r and q at the threshold t

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. The top of the
    ranking decides, so the error is large where few unlabelled rows score as high as the labelled ones.
    """
    s, z = _rows(s, z)
    theta, w = _population(s, _share(prior), scenario)
    p, u = np.sort(z[s == 1]), np.sort(z[s == 0])
    n_p, n_u = len(p), len(u)
    r = (n_p - np.searchsorted(p, p)) / n_p
    q = w * r + (1 - w) * (n_u - np.searchsorted(u, p)) / n_u
    free = q > theta * r  # elsewhere the precision is 1 whatever a row more would do
    precision = np.where(free, theta * r / np.where(free, q, 1), 1.0)
    by_r = np.where(free, theta / np.where(free, q, 1), 0.0) / n_p
    by_q = np.where(free, -theta * r / np.where(free, q, 1) ** 2, 0.0) / n_p
    up_to_p, up_to_u = np.searchsorted(p, p, side="right"), np.searchsorted(p, u, side="right")
    sum_r, sum_q = np.concatenate([[0], np.cumsum(by_r)]), np.concatenate([[0], np.cumsum(by_q)])
    labelled = precision + sum_r[up_to_p] + w * sum_q[up_to_p]  # what each row adds to the mean, to first order
    return Metric(precision.mean(), _error(labelled, (1 - w) * sum_q[up_to_u], 0.5))


# --------------------------------------------------------------------------- risks


def sigmoid_loss(margin: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(margin))."""
    return (1 - np.tanh(margin / 2)) / 2


def zero_one_loss(margin: np.ndarray) -> np.ndarray:
    """1 where the margin is negative, 1/2 at zero, 0 elsewhere: l(margin) + l(-margin) = 1."""
    return (1 - np.sign(margin)) / 2


LOSSES = {"sigmoid": sigmoid_loss, "zero-one": zero_one_loss}


def pu_unbiased_risk(
    s: np.ndarray,
    z: np.ndarray,
    prior: float,
    scenario: str = "case-control",
    threshold: float = 0.0,
    loss: str = "sigmoid",
) -> Metric:
    """uPU risk: theta E_P l(z) + E l(-z) - theta E_P l(-z), where E is over the population and z is less the threshold.

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes that the labelled rows are a random draw from the positives and that the prior is right. It is unbiased, so
    it stays within [-theta, 1 + theta] and not within [0, 1]: a negative value says that the model has learnt its rows
    by heart, or that the prior is too high.
    """
    return _risk(s, z, prior, scenario, threshold, loss, bounded=False)


def pu_non_negative_risk(
    s: np.ndarray,
    z: np.ndarray,
    prior: float,
    scenario: str = "case-control",
    threshold: float = 0.0,
    loss: str = "sigmoid",
) -> Metric:
    """nnPU risk: theta E_P l(z) + max(0, E l(-z) - theta E_P l(-z)), within [0, 1 + theta].

    Population: the unlabelled rows (case-control), or all rows (single-set).
    Assumes what `pu_unbiased_risk` assumes. The part of the negatives is kept from going below 0, so the risk of a
    model without errors is estimated too high on few rows.
    """
    return _risk(s, z, prior, scenario, threshold, loss, bounded=True)


def _risk(
    s: np.ndarray, z: np.ndarray, prior: float, scenario: str, threshold: float, loss: str, bounded: bool
) -> Metric:
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r} is not known; use one of {', '.join(map(repr, LOSSES))}")
    s, z = _rows(s, z)
    theta, w = _population(s, _share(prior), scenario)
    right, wrong = LOSSES[loss](z - threshold), LOSSES[loss](threshold - z)
    positive = theta * right[s == 1]
    labelled, unlabelled = (w - theta) * wrong[s == 1], (1 - w) * wrong[s == 0]
    negative = labelled.mean() + unlabelled.mean()
    if bounded and negative < 0:
        labelled, unlabelled, negative = np.zeros_like(labelled), np.zeros_like(unlabelled), 0.0
    return Metric(positive.mean() + negative, _error(positive + labelled, unlabelled, 0.5 + theta))


PU_METRICS: dict[str, Callable[..., Metric]] = {
    one.__name__: one
    for one in (
        pu_accuracy,
        pu_precision,
        pu_recall,
        pu_f1,
        pu_roc_auc,
        pu_average_precision,
        pu_auc,
        pu_proxy_accuracy,
        pu_unbiased_risk,
        pu_non_negative_risk,
        lee_liu,
        prior_gap,
    )
}


# ------------------------------------------------------------------ what they share


@dataclass(frozen=True)
class _Calls:
    """The rows called positive, as shares."""

    r: float  # of the labelled rows
    u: float  # of the unlabelled rows
    q: float  # of the population
    left: float  # of the population: those not called
    theta: float
    w: float  # the labelled rows' share of the population
    n_p: int
    n_u: int

    @classmethod
    def of(cls, s: np.ndarray, z: np.ndarray, prior: float | None, scenario: str, threshold: float) -> _Calls:
        s, z = _rows(s, z)
        theta, w = _population(s, np.nan if prior is None else _share(prior), scenario)
        called = z >= threshold
        r, u = called[s == 1].mean(), called[s == 0].mean()
        left = w * (~called[s == 1]).mean() + (1 - w) * (~called[s == 0]).mean()
        return cls(r, u, w * r + (1 - w) * u, left, theta, w, int((s == 1).sum()), int((s == 0).sum()))

    def metric(self, value: float, by_r: float, by_q: float, low: float, high: float) -> Metric:
        """The value within its range; its error by the delta method, from the slopes by r and by q."""
        with np.errstate(invalid="ignore"):
            labelled, unlabelled = by_r + self.w * by_q, (1 - self.w) * by_q
            error = np.sqrt(labelled**2 * _variance(self.r, self.n_p) + unlabelled**2 * _variance(self.u, self.n_u))
        half = (high - low) / 2
        return Metric(np.clip(value, low, high), half if np.isnan(error) else min(error, half))


def _variance(share: float, n: int) -> float:
    """Variance of a share of n rows. Where all rows agree, half a row is taken to disagree: 0 would claim too much."""
    if share in (0, 1):
        return (n + 0.5) * 0.5 / (n + 1) ** 2 / n
    return share * (1 - share) / n


def _error(labelled: np.ndarray, unlabelled: np.ndarray, half: float) -> float:
    """Error of the mean over labelled plus the mean over unlabelled rows, at most half the range.

    One row tells nothing about the spread: the error is half the range then.
    """
    if min(len(labelled), len(unlabelled)) < 2:
        return half
    return float(min(half, np.sqrt(labelled.var() / len(labelled) + unlabelled.var() / len(unlabelled))))


def _placements(s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each labelled row the share of unlabelled rows below it, for each unlabelled row that of labelled above."""
    p, u = np.sort(z[s == 1]), np.sort(z[s == 0])
    below = (np.searchsorted(u, p) + np.searchsorted(u, p, side="right")) / (2 * len(u))
    above = 1 - (np.searchsorted(p, u) + np.searchsorted(p, u, side="right")) / (2 * len(p))
    return below, above


def _ratio(above: float, below: float) -> float:
    """above / below; 0 where both are 0, infinite where only the lower one is."""
    if below == 0:
        return 0.0 if above == 0 else np.inf
    return above / below


def _rows(s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, z = np.asarray(s), np.asarray(z)
    if s.ndim != 1 or s.shape != z.shape:
        raise ValueError(f"s has shape {s.shape} and z has {z.shape}; give one PU label and one score per row")
    if not np.isin(s, (0, 1)).all():
        raise ValueError("s holds other values than 0 and 1; use 1 for labelled positives and 0 for unlabelled rows")
    if not (s == 1).any() or (s == 1).all():
        lacks = "labelled (1)" if not (s == 1).any() else "unlabelled (0)"
        raise ValueError(f"s has no {lacks} row; a metric without negatives needs rows of both kinds")
    if np.isnan(z).any():
        raise ValueError(f"z holds {int(np.isnan(z).sum())} NaN; give a score for every row")
    return s, z


def _share(prior: float) -> float:
    if not 0 < prior < 1:
        raise ValueError(
            f"prior={prior} must lie strictly between 0 and 1: the share of positives among the unlabelled rows"
        )
    return float(prior)


def _population(s: np.ndarray, prior: float, scenario: str) -> tuple[float, float]:
    """Share of positives in the population, and share of labelled rows in it."""
    if scenario not in SCENARIOS:
        raise ValueError(f"scenario={scenario!r} is not known; use one of {', '.join(map(repr, SCENARIOS))}")
    if scenario == "case-control":
        return prior, 0.0
    w = float((s == 1).mean())
    return w + (1 - w) * prior, w
