"""Calibration: a monotone map from scores to P(y=1 | score), from held-out PU scores and the prior.

The probability is that among rows like the unlabelled ones. It is the mean of two maps:

    Platt by moments:  p = sigma(h),  h = a z + b,  min over a >= 0 and b of  E_U[softplus(h)] - prior E_P[h] + tiny a^2
                       at the optimum  E_U[p] = prior  and  E_U[p z] = prior E_P[z]
    isotonic:          r = prior f_P(z) / f_U(z), made monotone by pooling adjacent violators
                       p = min(1, k r),  k >= 1 such that E_U[p] = prior

Platt's map is steady with few labelled rows. The isotonic one finds what no sigmoid has. On the development tables the
mean of both has the lowest calibration error, and a Brier score like Platt's (results/calibration/forms.md).

Assumes: labelled rows are a random draw from the positives, all scores are of rows that the model was not fitted on,
and the prior is right. A prior that is wrong by d makes the probabilities wrong by d on the mean; PU data cannot show
it, and neither can `reliability`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.isotonic import isotonic_regression

from ..metrics import Metric

RIDGE = 1e-4  # on the slope by standardised scores: keeps the slope finite where a cut separates all rows
FAR = 20.0  # scores further than so many spreads from the centre count as being there
TIMES = 100  # most steps of Newton's method; ten are usual
SURE = 1e-9  # no row is surer than that
BINS = 10  # of the calibration error
PU_BINS = 5  # of the reliability without negatives; with 10, chance adds more than it should


@dataclass(frozen=True)
class Calibration:
    """Scores in, P(y=1 | score) out. A few plain numbers: `as_json` and `from_json`."""

    center: float
    spread: float
    slope: float  # a, by the standardised score
    intercept: float  # b
    z: tuple[float, ...]  # where the isotonic map is known; straight lines between
    p: tuple[float, ...]  # its values there

    @classmethod
    def fit(cls, z_p: np.ndarray, z_u: np.ndarray, prior: float) -> Calibration:
        """Fit on held-out scores of labelled rows and of unlabelled rows. Higher scores mean likelier positives."""
        z_p, z_u = checked(z_p, z_u, prior)
        center, spread = _scale(z_p, z_u)
        t_p, t_u = (_standard(z, center, spread) for z in (z_p, z_u))
        slope, intercept = _platt(t_p, t_u, prior)
        t, p = _isotonic(t_p, t_u, prior)
        return cls(center, spread, slope, intercept, tuple(t.tolist()), tuple(p.tolist()))

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores. The order of the scores is never turned round."""
        t = _standard(np.asarray(z, dtype=float), self.center, self.spread)
        p = (expit(self.slope * t + self.intercept) + np.interp(t, self.z, self.p)) / 2
        return np.clip(p, SURE, 1 - SURE)

    def as_json(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("center", "spread", "slope", "intercept")}
        return {**numbers, "z": list(self.z), "p": list(self.p)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Calibration:
        """Read what `as_json` wrote, or say which rule the numbers break."""
        numbers = {name: float(value[name]) for name in ("center", "spread", "slope", "intercept")}
        z, p = (tuple(map(float, value[name])) for name in ("z", "p"))
        rules = {
            "the spread must be above 0": numbers["spread"] > 0,
            "the slope must be at least 0": numbers["slope"] >= 0,
            "z and p must have the same length, at least 1": len(z) == len(p) > 0,
            "z must not fall": bool(np.all(np.diff(z) >= 0)),
            "p must not fall, and must lie from 0 to 1": bool(np.all(np.diff([0.0, *p, 1.0]) >= 0)),
        }
        for rule, holds in rules.items():
            if not holds:
                raise ValueError(rule)
        return cls(**numbers, z=z, p=p)


def checked(z_p: Any, z_u: Any, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return scores as float arrays, or say what is wrong with them or with the prior."""
    z_p, z_u = np.asarray(z_p, dtype=float), np.asarray(z_u, dtype=float)
    for name, z in (("labelled", z_p), ("unlabelled", z_u)):
        if z.ndim != 1 or not len(z):
            raise ValueError(f"the scores of {name} rows have shape {z.shape}; give one score for each of some rows")
        if np.isnan(z).any():
            raise ValueError(f"the scores of {name} rows hold {int(np.isnan(z).sum())} NaN; give a score for every row")
    if not 0 < prior < 1:
        raise ValueError(
            f"prior={prior} must lie strictly between 0 and 1: the share of positives among the unlabelled"
        )
    return z_p, z_u


def with_share(p: np.ndarray, prior: float, share: float) -> np.ndarray:
    """Return probabilities for a population in which another share of the rows is positive.

    p are probabilities among rows of which a share `prior` is positive. Positives and negatives must look as before;
    only their numbers differ:  odds' = odds * [share / (1 - share)] / [prior / (1 - prior)].
    """
    for name, value in (("prior", prior), ("share", share)):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value} must lie strictly between 0 and 1")
    p = np.asarray(p, dtype=float)
    times = share / (1 - share) * (1 - prior) / prior
    return p * times / (p * times + (1 - p))


def cross_calibrated(
    z_p: np.ndarray, z_u: np.ndarray, prior: float, folds: int = 5, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of the labelled and the unlabelled rows by maps that were fitted on the other folds."""
    z_p, z_u = checked(z_p, z_u, prior)
    random, folds = np.random.default_rng(seed), min(folds, len(z_p), len(z_u))
    if folds < 2:
        return tuple(Calibration.fit(z_p, z_u, prior)(z) for z in (z_p, z_u))  # type: ignore[return-value]
    of_p, of_u = (random.permutation(len(z)) % folds for z in (z_p, z_u))
    p_p, p_u = np.empty(len(z_p)), np.empty(len(z_u))
    for fold in range(folds):
        found = Calibration.fit(z_p[of_p != fold], z_u[of_u != fold], prior)
        p_p[of_p == fold], p_u[of_u == fold] = found(z_p[of_p == fold]), found(z_u[of_u == fold])
    return p_p, p_u


def calibration_error(p: np.ndarray, y: np.ndarray, bins: int = BINS) -> float:
    """Return the expected calibration error with true labels: mean |mean p - share of positives| of equal-mass bins."""
    p, y = np.asarray(p, dtype=float), np.asarray(y, dtype=float)
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), bins) if len(part)]
    return float(sum(len(part) * abs(p[part].mean() - y[part].mean()) for part in parts) / len(p))


def reliability(p_p: np.ndarray, p_u: np.ndarray, prior: float, bins: int = PU_BINS) -> Metric:
    """Estimate the calibration error without negatives, from probabilities of held-out labelled and unlabelled rows.

        sum over bins of  | prior (share of P in the bin) - (share of U in the bin) (mean p of U in the bin) |

    prior f_P / f_U is the share of positives in a bin of unlabelled rows. Bins have equal numbers of unlabelled rows.
    The map must not have seen these rows: give what `cross_calibrated` returns. Chance makes the sum larger than 0 for
    perfect probabilities too, by up to its standard error. A wrong prior does not show.
    """
    p_p, p_u = checked(p_p, p_u, prior)
    parts = np.array_split(np.sort(p_u), min(bins, len(p_u)))
    edges = np.unique([(below[-1] + above[0]) / 2 for below, above in zip(parts, parts[1:], strict=False)])
    of_p, of_u = (np.searchsorted(edges, p, side="right") for p in (p_p, p_u))
    number = np.bincount(of_p, minlength=len(edges) + 1)
    expected = np.bincount(of_u, p_u, minlength=len(edges) + 1) / len(p_u)
    share = (number + 0.5) / (len(p_p) + 1)  # no bin is without error
    error = prior * np.sqrt((share * (1 - share)).sum() / len(p_p))
    return Metric(float(np.abs(prior * number / len(p_p) - expected).sum()), min(float(error), 1.0))


# ------------------------------------------------------------------ the two maps


def _scale(z_p: np.ndarray, z_u: np.ndarray) -> tuple[float, float]:
    """Return a centre and a spread that neither far scores nor ties make useless."""
    finite = [z[np.isfinite(z)] for z in (z_p, z_u)]
    both = np.concatenate(finite)
    if not len(both):
        return 0.0, 1.0
    ends = np.mean([np.quantile(z, [0.1, 0.9]) for z in finite if len(z)], axis=0)  # P counts as much as U
    center, width = float(np.median(both)), float(ends[1] - ends[0])
    if not np.isfinite(width) or width <= 1e-9 * max(1.0, np.abs(both).max()):  # most scores are one score
        most = float(np.abs(both).max()) or 1.0
        width = float((both / most).std() * most)
    return center, width / 2.5 if np.isfinite(width) and width > 0 else 1.0  # 2.5 deviations of a normal score


def _standard(z: np.ndarray, center: float, spread: float) -> np.ndarray:
    with np.errstate(over="ignore"):  # what overflows is far
        return np.clip((z - center) / spread, -FAR, FAR)


def _platt(t_p: np.ndarray, t_u: np.ndarray, prior: float) -> tuple[float, float]:
    """Return slope and intercept by Newton's method with halved steps."""
    wanted = float(t_p.mean())

    def risk(a: float, b: float) -> float:
        h = a * t_u + b
        return float(-log_expit(-h).mean() - prior * (a * wanted + b) + RIDGE * a * a / 2)

    a, b = 0.0, float(logit(prior))
    now = risk(a, b)
    for _ in range(TIMES):
        p = expit(a * t_u + b)
        q = p * (1 - p)
        by_b, by_a = p.mean() - prior, (p * t_u).mean() - prior * wanted + RIDGE * a
        if a == 0 and by_a >= 0:  # positives score no higher than other rows: one probability for all
            return 0.0, float(logit(prior))
        bb, ab, aa = q.mean() + 1e-12, (q * t_u).mean(), (q * t_u * t_u).mean() + RIDGE
        det = bb * aa - ab * ab
        step_a, step_b = (bb * by_a - ab * by_b) / det, (aa * by_b - ab * by_a) / det
        if abs(step_a) < 1e-10 * (1 + a) and abs(step_b) < 1e-10 * (1 + abs(b)):
            break
        size = 1.0
        while size > 1e-9 and (new := risk(max(0.0, a - size * step_a), b - size * step_b)) > now:
            size /= 2
        if size <= 1e-9:
            break
        a, b, now = max(0.0, a - size * step_a), b - size * step_b, new
    return float(a), _intercept(a * t_u, prior)


def _intercept(h: np.ndarray, prior: float) -> float:
    """Return b with mean sigma(h + b) = prior."""
    low, high = float(logit(prior) - h.max()), float(logit(prior) - h.min())
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(h + middle).mean() < prior else (low, middle)
    return (low + high) / 2


def _isotonic(t_p: np.ndarray, t_u: np.ndarray, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the steps of k r, capped at 1, and the values there."""
    t, where = np.unique(np.concatenate([t_p, t_u]), return_inverse=True)
    of_p = np.bincount(where[: len(t_p)], minlength=len(t)) * (prior / len(t_p))
    of_u = np.bincount(where[len(t_p) :], minlength=len(t)) / len(t_u)
    g = isotonic_regression(of_p / (of_p + of_u), sample_weight=of_p + of_u, y_min=0, y_max=1)
    step = np.r_[True, np.diff(g) > 1e-12]
    ends = step | np.r_[step[1:], True]
    with np.errstate(divide="ignore"):
        ratio = np.where(g < 1, g / np.maximum(1 - g, 1e-12), 1e12)
    p = _with_mean(ratio, of_u, prior)
    return t[ends], np.maximum.accumulate(np.clip(p[ends], 0, 1))


def _with_mean(ratio: np.ndarray, weight: np.ndarray, prior: float) -> np.ndarray:
    """Return min(1, k ratio) whose weighted mean is the prior. What no k can give is spread over all rows below 1."""
    low, high = 0.0, np.log(1e6)
    for _ in range(60):
        middle = (low + high) / 2
        short = np.minimum(1, np.exp(middle) * ratio) @ weight < prior
        low, high = (middle, high) if short else (low, middle)
    p = np.minimum(1, np.exp(high) * ratio)
    lost = prior - p @ weight
    return p + (1 - p) * lost / (1 - p @ weight) if lost > 1e-9 else p
