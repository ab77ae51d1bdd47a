"""Finds columns that give the label away: one that is filled in when a row is labelled, or an id in label order.

    A(c) = AUC of labelled against unlabelled rows by column c alone, its values or its blanks, on rows held out
    c gives the label away  <=>  A(c) >= 0.99, and no column with a lower A reaches 0.9

Hidden positives look like labelled ones. With a share pi of them among the unlabelled rows, an honest column has at
most A = 1 - pi / 2: only where pi < 2 % can it reach 0.99. Where classes are as far apart as that, several honest
columns tell them apart, and then no column is left out. A column that holds the class itself (A = 1 - pi / 2) looks
like a very good honest one: PU labels alone cannot tell, and `distpu diagnose` names it.

An id that is left out may tell too: rows of one customer, or ids given in the order of the cases. It tells if A(id) is
above 1/2 by 0.1 and by four standard errors.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..metrics import pu_auc
from .cells import Cells, cells_of

ALMOST, HONEST = 0.99, 0.9
LEAST = 20  # labelled rows; fewer may be told apart by chance
MOST = 5_000  # labelled rows to look at, and four times as many unlabelled ones
BINS, SMOOTH = 32, 5.0
TELLS = "it tells labelled from unlabelled rows"  # said of an id that is left out


def alone(frame: pd.DataFrame, s: np.ndarray) -> dict[str, float]:
    """Return A of each column; nothing where few rows are labelled."""
    random = np.random.RandomState(0)
    P, U = (random.permutation(np.flatnonzero(s == kind)) for kind in (1, 0))
    if len(P) < LEAST or len(U) < LEAST:
        return {}
    rows = np.concatenate([P[:MOST], U[: 4 * MOST]])
    half = np.concatenate([np.arange(len(part)) % 2 for part in (P[:MOST], U[: 4 * MOST])])
    return {str(name): _alone(cells_of(frame[name].iloc[rows]), s[rows], half) for name in frame}


def leaks(auc: dict[str, float]) -> dict[str, float]:
    """Return the columns that give the label away, with their AUC."""
    odd = {name: value for name, value in auc.items() if value >= ALMOST}
    rest = [value for name, value in auc.items() if name not in odd]
    return odd if rest and max(rest) < HONEST else {}


def id_tells(auc: float, labelled: int) -> bool:
    """Return whether an id that is left out tells labelled from unlabelled rows."""
    return auc - 0.5 >= max(0.1, 4 * 0.29 / min(labelled, MOST) ** 0.5)  # 0.29: the deviation of a uniform rank


def _alone(cells: Cells, s: np.ndarray, half: np.ndarray) -> float:
    """Return the AUC of a column alone. Each half of the rows is scored by what the other half says."""
    score, base = np.empty(len(s)), s.mean()
    for side in (0, 1):
        rest, out = half != side, half == side
        code = _codes(cells, rest)
        rows = np.bincount(code[rest], minlength=code.max() + 1)
        hits = np.bincount(code[rest & (s == 1)], minlength=code.max() + 1)
        score[out] = ((hits + SMOOTH * base) / (rows + SMOOTH))[code[out]]
    return float(pu_auc(s, score))


def _codes(cells: Cells, rest: np.ndarray) -> np.ndarray:
    """Return the value or the range of each row; blanks are code 0."""
    if cells.codes is not None:
        return cells.codes + 1
    if cells.number is None and cells.date is None:
        return 1 - cells.blank.astype(np.int64)
    value = cells.number if cells.number is not None else cells.date.astype(np.int64).astype(float)  # type: ignore[union-attr]
    there = ~cells.blank
    values = np.unique(value[there & rest])
    if len(values) > BINS:
        values = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1), method="lower"))
    return np.where(there, np.searchsorted(values, np.where(there, value, 0), side="right") + 1, 0)
