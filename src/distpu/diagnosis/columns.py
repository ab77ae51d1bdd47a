"""Looks at one column at a time: does it tell labelled from unlabelled rows, by its values or by its blanks?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..metrics import pu_auc

LEVELS = ("ok", "unknown", "look", "warning")

BINS = 16  # of all rows, and as many of the labelled rows
TELLING, ALMOST, PURE, COVERS, LEAST = 0.95, 0.99, 0.9, 0.2, 10
SMOOTH = 5.0
BLANK, SURE, Z = 0.05, 0.8, 4.0


@dataclass(frozen=True)
class Column:
    """How well one column alone tells labelled from unlabelled rows, measured on rows held out."""

    name: str
    auc: float  # of labelled against unlabelled rows
    auc_of_classes: float  # of positives against negatives, if the estimated prior is right
    blank_labelled: float  # share of the labelled rows in which the column is blank
    blank_unlabelled: float
    pure: float  # share of labelled rows in ranges of the column that hold almost no other rows; 0: no such ranges
    covers: float  # share of the labelled rows that are in these ranges
    blank_is_a_sign: bool  # whether a blank marks positives as surely as anything else does

    @property
    def level(self) -> str:
        if self.auc >= ALMOST:
            return "warning"
        told = max(self.auc, self.auc_of_classes) >= TELLING or self.pure or self.blank_is_a_sign
        return "look" if told else "ok"

    @property
    def by_blanks(self) -> bool:
        """Whether blanks explain most of what the column tells."""
        return self.blank_is_a_sign or abs(self.blank_labelled - self.blank_unlabelled) > max(0.1, abs(self.auc - 0.5))


def single_columns(
    x: np.ndarray, s: np.ndarray, fold: np.ndarray, names: list[str], prior: float, scale: float = 1.0
) -> list[Column]:
    """Return every column's own power, the strongest first.

    prior   the estimate from all columns
    scale   unlabelled rows for which one of the sample stands, over labelled rows for which one stands
    """
    found = [_column(x[:, j], s, fold % 2, name, prior, scale) for j, name in enumerate(names)]
    return sorted(found, key=lambda one: (-LEVELS.index(one.level), -one.auc))


def by_source(columns: list[Column], sources: dict[str, str]) -> list[Column]:
    """Return the strongest of the columns that come from each column of the user's, under that column's name."""
    found: dict[str, Column] = {}
    for one in columns:
        found.setdefault(sources[one.name], replace(one, name=sources[one.name]))
    return list(found.values())


def _column(v: np.ndarray, s: np.ndarray, half: np.ndarray, name: str, prior: float, scale: float) -> Column:
    labelled, blank = s == 1, np.isnan(v)
    score, pure = np.empty(len(v)), np.zeros(len(v), dtype=bool)
    base = labelled.mean()
    for side in (0, 1):
        rest, out = half != side, half == side
        code = _codes(v, rest, labelled)
        rows = np.bincount(code[rest], minlength=code.max() + 1)
        hits = np.bincount(code[rest & labelled], minlength=code.max() + 1)
        share = (hits + SMOOTH * base) / (rows + SMOOTH)
        score[out] = share[code[out]]
        pure[out] = ((hits >= PURE * (hits + scale * (rows - hits))) & (hits > 0))[code[out]]
    found, others = int((pure & labelled).sum()), scale * int((pure & ~labelled).sum())
    share, covers = found / max(1.0, found + others), found / int(labelled.sum())
    if found < LEAST or covers < COVERS or share < PURE:
        share = covers = 0.0
    auc, p, u = float(pu_auc(s, score)), float(blank[labelled].mean()), float(blank[~labelled].mean())
    classes = float(np.clip((auc - prior / 2) / (1 - prior), 0, 1))
    return Column(name, auc, classes, p, u, share, covers, _is_a_sign(p, u, s, prior))


def _is_a_sign(p: float, u: float, s: np.ndarray, prior: float) -> bool:
    """Whether blanks are as much more frequent in labelled rows (share p, else u) as only positives can be: 1 / prior.

    If blanks occur in positives alone, u = prior p.
    """
    n_p, n_u = int(s.sum()), int((s == 0).sum())
    error = np.sqrt(p * (1 - p) / n_p + u * (1 - u) / n_u)
    return bool(p >= max(BLANK, LEAST / n_p) and p - u > Z * error and u <= prior * p / SURE)


def _codes(v: np.ndarray, rest: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the bin of each value; blanks have a bin of their own. Each of few values is a bin.

    Bins are cut at quantiles of all rows and of the labelled rows: a block of labelled rows fills bins of its own. The
    rows held out have no say in it: a bin that begins at a labelled row would give that row away.
    """
    there = ~np.isnan(v)
    values = np.unique(v[there & rest])
    if len(values) > 2 * BINS:
        at = np.linspace(0, 1, BINS + 1)
        parts = [v[there & rest], v[there & rest & labelled]]
        values = np.unique(np.concatenate([np.quantile(part, at, method="lower") for part in parts if len(part)]))
    code = np.searchsorted(values, v, side="right")
    code[~there] = len(values) + 1
    return code


def runs_in_order(s: np.ndarray) -> tuple[int, float, float]:
    """Return how often labelled and unlabelled rows take turns in the file, the number by chance, and its deviation."""
    n_p, n = int(s.sum()), len(s)
    runs = 1 + int((np.diff(s) != 0).sum())
    pairs = 2.0 * n_p * (n - n_p)
    expected = 1 + pairs / n
    spread = np.sqrt(max(pairs * (pairs - n) / (n**2 * max(1, n - 1)), 1e-12))
    return runs, expected, float((runs - expected) / spread)


def follows_the_order(x: np.ndarray, rows: np.ndarray, names: list[str]) -> list[str]:
    """Return the columns that rise or fall with the row number, as an id or a date does."""
    from scipy.stats import spearmanr

    found = []
    for j, name in enumerate(names):
        v = x[:, j]
        if not np.isnan(v).any() and len(np.unique(v)) > len(v) / 2 and abs(spearmanr(v, rows).statistic) > 0.99:
            found.append(name)
    return found
