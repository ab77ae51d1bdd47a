"""The binormal prior: the share of positives by the shape of the ROC curve. On scores. Our own; assumes a shape.

    v_i = share of the unlabelled rows that score above labelled row i
    the binormal ROC curve (Dorfman and Alf 1969):   TPR(t) = Phi(a + b Phi^-1(t)),   t = FPR
    among the unlabelled rows a share q = pi TPR + (1 - pi) FPR lies above a cut, so a labelled row falls
    between two cuts q1 < q2 with the probability TPR(q2) - TPR(q1):   a multinomial likelihood of (a, b, pi)

    posterior:  likelihood^(min(1, WEIGHT / n_P))  *  N(a; 2, 1.5)  *  N(log b; 0, SPREAD)  *  (pi + n_P / n_U)^-KAPPA
    prior = posterior mean of pi;   interval = its quantiles
    share to call = argmax over q of  E[accuracy] + E[F1],   expectations by the posterior
                    accuracy = 1 - pi - q + 2 pi TPR,   F1 = 2 pi TPR / (pi + q)

The other estimators find the largest share that is consistent with the data, which is too large where classes overlap.
This one assumes a shape instead: some increasing function of the score is normal in both classes, with standard
deviations of about the same size (b near 1). The likelihood is tempered, since no score is exactly binormal.
`estimator="bbe"` or "dedpul" does without the shape.

The constants are those of real and simulated problems (tools/bench_blend.py, docs/log). KAPPA lies between a flat share
(0) and a flat label frequency n_P / (n_P + pi n_U), which would be 2.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

WEIGHT, MIDDLE, WIDTH, SPREAD, KAPPA = 50, 2.0, 1.5, 0.15, 0.5
F1_COUNTS = 1.0  # as much as the accuracy
EDGES = np.r_[0, np.geomspace(1e-4, 0.2, 22), np.linspace(0.225, 0.95, 30), 1]  # of q
A = np.linspace(0, 5, 26)
LOG_B = np.linspace(-0.75, 0.75, 11)
SHARES = np.r_[np.geomspace(1e-4, 0.1, 48), np.linspace(0.12, 0.98, 44), 0.99]


def binormal(z_p: np.ndarray, z_u: np.ndarray) -> float:
    """Posterior mean of the share of positives."""
    return float(posterior(z_p, z_u) @ SHARES)


def credible(z_p: np.ndarray, z_u: np.ndarray, level: float) -> tuple[float, float]:
    """The middle `level` of the posterior."""
    weight = posterior(z_p, z_u)
    below = np.cumsum(weight) - weight / 2  # half of a share's own weight lies below it
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], below, SHARES)
    return float(low), float(high)


def share_to_call(z_p: np.ndarray, z_u: np.ndarray, of_f1: float = F1_COUNTS) -> float:
    """The share of the unlabelled rows whose call has the best expected accuracy and F1."""
    weight, q = _joint(z_p, z_u), EDGES
    found = np.einsum("abk,abke->ke", weight, _curves()) * SHARES[:, None]  # pi TPR by the share and the cut
    share = weight.sum((0, 1))
    accuracy = share @ (1 - SHARES) - q + 2 * found.sum(0)
    f1 = (2 * found / (SHARES[:, None] + q)).sum(0)
    return float(_top(q[1:-1], (accuracy + of_f1 * f1)[1:-1]))


def _top(q: np.ndarray, value: np.ndarray) -> float:
    """Where the parabola through the largest value and its neighbours is largest."""
    i = int(value.argmax())
    if i in (0, len(q) - 1):
        return q[i]
    c, b, _ = np.polyfit(q[i - 1 : i + 2] - q[i], value[i - 1 : i + 2], 2)
    return q[i] if c >= 0 else float(np.clip(q[i] - b / (2 * c), q[i - 1], q[i + 1]))


def posterior(z_p: np.ndarray, z_u: np.ndarray) -> np.ndarray:
    """The probability of each of SHARES."""
    return _joint(z_p, z_u).sum((0, 1))


def _joint(z_p: np.ndarray, z_u: np.ndarray) -> np.ndarray:
    """The probability of each a, log b and share."""
    u, n = np.sort(z_u), len(z_u)
    above = n - (np.searchsorted(u, z_p, "left") + np.searchsorted(u, z_p, "right")) / 2
    count = np.histogram((above + 0.5) / (n + 1), EDGES)[0] * min(1, WEIGHT / len(z_p))
    before = -0.5 * ((A - MIDDLE) / WIDTH)[:, None] ** 2 - 0.5 * (LOG_B / SPREAD) ** 2
    log = _log_likelihoods() @ count + before[:, :, None] - KAPPA * np.log(SHARES + len(z_p) / n)
    weight = np.exp(log - log.max()) * np.gradient(SHARES)
    return weight / weight.sum()


@lru_cache(maxsize=1)
def _log_likelihoods() -> np.ndarray:
    """The log-probability of each bin of q, by a, log b and the share."""
    return np.log(np.maximum(np.diff(_curves(), axis=-1), 1e-9))


@lru_cache(maxsize=1)
def _curves() -> np.ndarray:
    """TPR where a share q of EDGES lies above the cut, by a, log b and the share."""
    from scipy.special import ndtr

    x = np.linspace(-6, 6, 401)
    fpr = ndtr(x)
    curves = np.empty((len(A), len(LOG_B), len(SHARES), len(EDGES)), dtype=np.float32)
    for i, a in enumerate(A):
        for j, b in enumerate(np.exp(LOG_B)):
            tpr = ndtr(a + b * x)
            for k, share in enumerate(SHARES):
                curves[i, j, k] = np.interp(EDGES, share * tpr + (1 - share) * fpr, tpr)
    curves[..., 0], curves[..., -1] = 0, 1
    return curves
