"""Rows that a person looked at: what they were found to be tells about the rows that nobody looked at.

People look at the likeliest rows first. A positive found there is no random draw from the positives, and the rows that
are left have fewer positives on top. So the prior is estimated as if nobody had looked: labelled rows against all
others, looked at or not. Then the positives found are taken off:

    share = share of positives among the W rows that were not labelled at first, by any estimator
    positives among the U rows that are still unlabelled = share W - positives found
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .weights import total

NEGATIVE, FOUND = -1, 2  # values of s beside 1, labelled positive, and 0, unlabelled
ABLE = ("blend-pu", "dist-pu-boost", "pubn")  # methods that can use such rows


def refuse(name: str, s: np.ndarray, neg_label: Any, found_label: Any) -> None:
    """Refuse rows that were looked at, for a method that cannot use them."""
    for kind, label in ((NEGATIVE, f"neg_label={neg_label!r}"), (FOUND, f"found_label={found_label!r}")):
        if (s == kind).any():
            rows = int((s == kind).sum())
            raise ValueError(
                f"{name} cannot use the {rows} rows of {label}; use one of {', '.join(ABLE)}, or mark these rows as "
                f"{'unlabelled' if kind == NEGATIVE else 'labelled positives'}"
            )


def any_looked_at(s: np.ndarray) -> bool:
    return bool((s == NEGATIVE).any() or (s == FOUND).any())


def trained_on(s: np.ndarray) -> np.ndarray:
    """Return labels for training: a positive found is a positive."""
    return np.where(s == FOUND, 1, s)


def before(s: np.ndarray) -> np.ndarray:
    """Return PU labels as they were before anybody looked."""
    return (s == 1).astype(np.int64)


def share_before(prior: float, s: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the share of positives among all rows that were unlabelled at first, given that among those that are."""
    if not any_looked_at(s):
        return prior
    hidden = prior * total(weight, s == 0)
    return (hidden + _found(s, weight)) / total(weight, s != 1)


def share_now(share: float, s: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the share of positives among the rows that are still unlabelled; at least about half a row is positive."""
    left, n = share * total(weight, s != 1) - _found(s, weight), total(weight, s == 0)
    return float(np.clip(left / n, 0.5 / (1 + n), 1 - 0.5 / (1 + n)))


def estimate_now(estimate: Any, s: np.ndarray, weight: np.ndarray | None) -> Any:
    """Turn an estimate of the share before anybody looked into that among the rows that are still unlabelled."""
    if not any_looked_at(s):
        return estimate
    share = share_now(estimate.prior, s, weight)
    interval = None if estimate.interval is None else tuple(share_now(end, s, weight) for end in estimate.interval)
    n_p, n_u = total(weight, s >= 1), total(weight, s == 0)
    note = "; ".join(filter(None, (estimate.note, "rows that were looked at are taken into account")))
    return dataclasses.replace(
        estimate, prior=share, interval=interval, label_frequency=n_p / (n_p + share * n_u), note=note
    )


def _found(s: np.ndarray, weight: np.ndarray | None) -> int:
    return total(weight, s == FOUND) if (s == FOUND).any() else 0
