"""What drives the scores: how much worse the ranking gets when one column of the table is shuffled."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from ..estimator import PUEstimator

# Rows that are scored in all. A blend scores about 5,000 rows a second, so this bounds the time to a few seconds.
BUDGET, LEAST, MOST, COLUMNS = 9_000, 225, 2_000, 40


def drivers(
    model: PUEstimator, X: pd.DataFrame, s: np.ndarray, seed: int = 0, unused: Collection[str] = ()
) -> dict[str, Any]:
    """Return for each column the drop of the AUC of labelled against unlabelled rows when its values are shuffled.

    `unused` names columns that the model does not look at.
    The rows are a balanced sample of labelled and unlabelled ones. Of many columns, those are taken whose values differ
    most between the two. A column that shares what it tells with another one has a small drop: the other stands in.
    """
    import pandas as pd

    random = np.random.default_rng(seed)
    used = X[[name for name in X.columns if name not in unused]]
    names = _worth_a_look(used, s, random)
    size = int(np.clip(BUDGET // max(1, len(names)), LEAST, MOST))
    rows = _balanced(s, size, random)
    part, t = X.iloc[rows].reset_index(drop=True), s[rows]
    copies = [part]
    for name in names:
        copies.append(part.copy())
        copies[-1][name] = part[name].take(random.permutation(len(part))).array  # its type stays
    z = model.decision_function(pd.concat(copies, ignore_index=True)).reshape(len(copies), len(part))
    below, above = _placements(t, z[0])
    found: list[dict[str, Any]] = []
    for name, shuffled in zip(names, z[1:], strict=True):
        b, a = _placements(t, shuffled)
        error = np.sqrt((below - b).var() / len(b) + (above - a).var() / len(a))
        found.append({"column": name, "drop": float(below.mean() - b.mean()), "error": float(error)})
    found.sort(key=lambda one: -one["drop"])
    return {
        "auc": float(below.mean()),
        "rows": len(part),
        "looked_at": len(names),
        "of": used.shape[1],
        "columns": found,
    }


def _worth_a_look(X: pd.DataFrame, s: np.ndarray, random: np.random.Generator) -> list[str]:
    names = list(X.columns)
    if len(names) <= COLUMNS:
        return names
    rows = _balanced(s, MOST, random)
    part, t = X.iloc[rows], s[rows]
    gaps = {name: _gap(part[name], t) for name in names}
    return sorted(names, key=lambda name: -gaps[name])[:COLUMNS]


def _gap(column: pd.Series, s: np.ndarray) -> float:
    """Return how far the column's ranks differ between labelled and unlabelled rows, as an AUC away from 1/2."""
    from scipy.stats import rankdata

    values = column.to_numpy()
    if values.dtype.kind not in "buif":
        code, _ = column.astype(str).factorize(use_na_sentinel=False)  # a blank is a category too
        share = np.bincount(code, s) / np.bincount(code)  # a category counts by its share of labelled rows
        values = share[code]
    values = values.astype(float)
    rank = rankdata(np.where(np.isnan(values), -np.inf, values))
    p, n = int((s == 1).sum()), len(s)
    return abs((rank[s == 1].mean() - (p + 1) / 2) / (n - p) - 0.5)


def _balanced(s: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """Return numbers of rows, half of them labelled where there are enough, in order."""
    p, u = (random.permutation(np.flatnonzero(s == kind)) for kind in (1, 0))
    return np.sort(np.concatenate([p[: size // 2], u[: size - min(len(p), size // 2)]]))


def _placements(s: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each labelled row the share of unlabelled rows below it, and for each of these the labelled above."""
    p, u = z[s == 1], z[s == 0]
    sorted_p, sorted_u = np.sort(p), np.sort(u)
    below = (np.searchsorted(sorted_u, p) + np.searchsorted(sorted_u, p, side="right")) / (2 * len(u))
    above = 1 - (np.searchsorted(sorted_p, u) + np.searchsorted(sorted_p, u, side="right")) / (2 * len(p))
    return below, above
