"""Are the labelled rows like the likely positives, or is labelling selective?

PU data alone never answer this: positives that labelling passes over look like negatives. An assumption is needed.
The assumption here: the OTHER columns recognise some positives surely. Then a column must not tell labelled rows from
the unlabelled rows that the other columns find just as likely.

For each of the columns in which labelled and unlabelled rows differ most:
    the column and those that go with it (rank correlation above 0.5 in labelled rows) are left out
    the other columns score the rows, out of fold
    R1 = rows that score as the upper 40 % of the labelled rows do;  R2 = as the next 30 %
    A  = share of pairs (labelled, unlabelled) in R1 in which the labelled row has the larger value; equal: half
Labelled rows and unlabelled positives in R1 score alike, so the choice of rows by their score favours neither.
Negatives in R1 do move A away from 1/2. How many there may be follows from how flat the top of the ranking is:
    q  = (labelled per unlabelled row in R2) / (the same in R1), less its standard error, within [0, 1]
    negatives among the unlabelled rows of R1 <= (1 - q) / (2 - q)      if their share in R2 is at least twice as large
    |A - 1/2| <= (1 - q) / (2 - q) |A_N - 1/2|, A_N: labelled rows against the unlabelled rows of the lower half
A column is reported if |A - 1/2| is above that bound by Z standard errors. It is not tested where the others separate
the classes too little (AUC of positives against negatives, if R1 were pure, less 2 standard errors, below SEPARATED),
or R1 has too few rows.
docs/diagnosis.md has the rates of false alarms and of detection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..metrics import pu_auc
from .scores import boosted, sampled

CANDIDATES, CELLS, ROWS = 8, 500_000, 2_000  # a table of more cells is sampled, down to so many rows
TOP, NEXT, ALIKE = 0.4, 0.3, 0.5
LEAST, SEPARATED, FLAT = 15, 0.8, 0.3
Z, SURE, EXCESS = 3.5, 6.0, 0.05


@dataclass(frozen=True)
class Contrast:
    """One column in labelled rows and in the unlabelled rows that the other columns find just as likely."""

    column: str
    larger: float  # share of pairs in which the labelled row has the larger value; 0.5: no difference
    error: float  # its standard error
    allowed: float  # how far from 0.5 negatives among these unlabelled rows may move it
    tested: bool  # whether the other columns recognise positives well enough

    @property
    def z(self) -> float:
        return (abs(self.larger - 0.5) - self.allowed) / self.error

    @property
    def differs(self) -> bool:
        return self.tested and self.z > Z and abs(self.larger - 0.5) - self.allowed > EXCESS


def contrasts(
    x: np.ndarray, s: np.ndarray, fold: np.ndarray, names: list[str], seed: int, tell: Callable[[str], None]
) -> list[Contrast]:
    """Return the candidates, the most different first. `tell` hears the name of each column before it is tested."""
    rows = sampled(s, max(ROWS, CELLS // x.shape[1]), seed)
    x, s, fold = x[rows], s[rows], fold[rows]
    rank = _ranks(x)
    spread = rank.std(axis=0)
    power = np.array([abs(float(pu_auc(s, one)) - 0.5) for one in rank.T]) * (spread > 0)
    together = _together(rank[s == 1])
    found = []
    for j in np.argsort(-power, kind="stable")[:CANDIDATES]:
        rest = np.flatnonzero(~together[j] & (spread > 0))
        tell(names[j])
        if power[j] > 0 and len(rest):
            z = boosted(np.ascontiguousarray(x[:, rest]), s, fold, seed)
            found.append(contrast(rank[:, j], s, z, names[j]))
    return sorted(found, key=lambda one: (not one.differs, not one.tested, -one.z))


def _together(rank: np.ndarray) -> np.ndarray:
    """Return which columns go with which, by the ranks in labelled rows; each goes with itself.

    Labelled rows are of one class. In all rows, any two columns that tell the classes apart would go together, and
    without both of them nothing might be left to recognise positives by.
    """
    rank = rank - rank.mean(axis=0)
    length = np.sqrt((rank**2).sum(axis=0))
    rank = rank / np.where(length > 0, length, 1)
    return (np.abs(rank.T @ rank) > ALIKE) | np.eye(rank.shape[1], dtype=bool)


def contrast(v: np.ndarray, s: np.ndarray, z: np.ndarray, name: str) -> Contrast:
    """Compare a column's values v in labelled and unlabelled rows that score alike; z: scores by the other columns."""
    p, u = s == 1, s == 0
    high, low = np.quantile(z[p], [1 - TOP, 1 - TOP - NEXT])
    first, second = z >= high, (z >= low) & (z < high)
    counts = np.array([(first & p).sum(), (first & u).sum(), (second & p).sum(), (second & u).sum()])
    if min(counts) == 0:
        return Contrast(name, 0.5, 0.5, 0.0, False)
    p1, u1, p2, u2 = counts
    flat = (p2 / u2) / (p1 / u1)
    q = float(np.clip(flat - flat * np.sqrt((1 / counts).sum()), 0, 1))
    lower = u & (z <= np.median(z[u]))
    apart = abs(_larger(v[p], v[lower])[0] - 0.5)
    larger, error = _larger(v[first & p], v[first & u])
    share = min(0.99, (u1 / u.sum()) / (p1 / p.sum()))  # of positives among the unlabelled rows, if R1 were pure
    auc = pu_auc(s, z)
    separated = (auc - 2 * auc.error - share / 2) / (1 - share)  # chance must not make it up where the share is large
    tested = min(p1, u1) >= LEAST and separated >= SEPARATED and flat >= FLAT
    return Contrast(name, larger, error, (1 - q) / (2 - q) * apart, bool(tested))


def _larger(p: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Return the share of pairs in which p is larger, and its error: at least that of two equal distributions."""
    found = pu_auc(np.repeat([1, 0], [len(p), len(u)]), np.concatenate([p, u]))
    return float(found), max(found.error, np.sqrt((len(p) + len(u) + 1) / (12 * len(p) * len(u))))


def _ranks(x: np.ndarray) -> np.ndarray:
    """Return each column's ranks, between 0 and 1; blanks are lowest."""
    from scipy.stats import rankdata

    return rankdata(np.where(np.isnan(x), -np.inf, x), axis=0) / len(x)
