"""What the default method says of the data: its scores, its prior and its cut, so that `fit` says the same later."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inputs import read_labels
from ..methods import method_class
from ..methods.auto import suited
from ..prior import Estimate, PriorEstimator
from ..threshold import Expected, FittedCut, cut_at

SETTINGS: dict[str, Any] = {}  # of the default method for tables; none: as `distpu fit` takes it


@dataclass(frozen=True)
class Scored:
    """Out-of-fold scores of rows, and what follows from them."""

    s: np.ndarray  # PU labels of the rows
    z: np.ndarray  # their scores
    estimate: Estimate  # of the prior
    called: int  # unlabelled rows that are called positive
    expected: Expected  # what these calls should give
    left_out: tuple[str, ...] = ()  # columns that the default method leaves out by itself


def by_default(X: Any, y: Any, encode: Any = "auto", pos_label: Any = None, seed: int = 0) -> Scored | None:
    """Score rows as the default method for tables does; None for images that `fit` gives to a network."""
    if suited(X) != "blend-pu":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few labelled rows are a finding of their own
        model: Any = method_class("blend-pu")(encode=encode, pos_label=pos_label, random_state=seed, **SETTINGS)
        model.fit(X, y)
    s, _ = read_labels(y, pos_label)
    called = int((model._judged(model.oof_scores_)[0][s == 0] >= 0).sum())
    listed = getattr(model.encoder_, "columns_", ())
    out = tuple(column.name for column in listed if not column.used)
    return Scored(s, model.oof_scores_, model.prior_estimate_, called, model.expected_, out)


def by_scores(s: np.ndarray, z: np.ndarray, total: int, seed: int = 0) -> Scored:
    """Return what follows from other scores: of a sample of `total` unlabelled rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = PriorEstimator(random_state=seed).fit_scores(z[s == 1], z[s == 0]).estimate_
    share = found.prior if found.to_call is None else found.to_call
    called, given = at_prior(s, z, share, found.prior, total, found.interval)
    return Scored(s, z, found, called, given)


def at_prior(
    s: np.ndarray,
    z: np.ndarray,
    share: float,
    prior: float,
    total: int,
    interval: tuple[float, float] | None = None,
) -> tuple[int, Expected]:
    """Return how many of `total` unlabelled rows a cut at this share calls, and what it should give."""
    above = z >= cut_at(z[s == 0], share)
    given = FittedCut.fit(z, s, above, prior, "auto", total).expected(interval)
    return round(float(above[s == 0].mean()) * total), given
