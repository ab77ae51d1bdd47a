"""Counts exact copies of rows, within and across labelled and unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .scores import dense

MANY, TIMES = 0.05, 2.0


@dataclass(frozen=True)
class Copies:
    """Exact copies of rows: every column but the label is equal."""

    labelled_with_copy: int  # labelled rows that also stand among the unlabelled rows
    unlabelled_with_copy: int  # unlabelled rows that are copies of labelled rows
    labelled_twice: int  # labelled rows beyond the first of their kind
    share: float  # of the labelled rows: those with an unlabelled copy
    usual: float  # share of the unlabelled rows that have a copy among the other unlabelled rows

    @property
    def across(self) -> bool:
        """Whether more labelled rows have unlabelled copies than a table with such repetitions explains."""
        return self.share > MANY and self.share > TIMES * self.usual


def count_copies(x: Any, s: np.ndarray) -> Copies:
    if hasattr(x, "indptr"):
        group = _groups_of_sparse(x)
    else:
        x = dense(x)
        x = np.where(np.isnan(x), np.float32(np.nan), x + np.float32(0))  # one NaN; and -0 equals 0
        _, group = np.unique(x.view(np.dtype((np.void, x.dtype.itemsize * x.shape[1]))), return_inverse=True)
    group = group.ravel()
    p, u = (np.bincount(group[s == kind], minlength=group.max() + 1) for kind in (1, 0))
    both = (p > 0) & (u > 0)
    labelled = int(p[both].sum())
    share = labelled / max(1, int(p.sum()))
    usual = float(u[u > 1].sum() / max(1, u.sum()))
    return Copies(labelled, int(u[both].sum()), int(np.maximum(p - 1, 0).sum()), share, usual)


def _groups_of_sparse(x: Any) -> np.ndarray:
    x = x.tocsr().sorted_indices()
    x.eliminate_zeros()
    kinds: dict[bytes, int] = {}
    cut = zip(x.indptr[:-1], x.indptr[1:], strict=True)
    keys = (x.indices[a:b].tobytes() + x.data[a:b].tobytes() for a, b in cut)
    return np.array([kinds.setdefault(key, len(kinds)) for key in keys])
