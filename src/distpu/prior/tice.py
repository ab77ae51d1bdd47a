"""TIcE, on rows. Bekker and Davis: Estimating the Class Prior in Positive and Unlabeled Data through Decision Tree
Induction, AAAI 2018.

    c = P(s=1 | y=1): in a region of L labelled rows among T, L / T is at most c up to chance
    c_low = L / T - sqrt(c (1 - c) (1 - delta) / (delta T)),   delta = max(0.025, 1 / (1 + 0.004 T_all)),   T >= 10
    on each of 5 folds a tree grows, the most promising node first: a split cuts the node's range of one column into
    four equal parts, chosen by max over parts of L / (T + 5); at most 500 splits
    the other four folds give c_low of every node; the largest counts, and c is the mean over the folds
    all of it twice: with c = 0.5 and then with the c found;   prior = n_P (1 - c) / (c n_U)

Columns are scaled to [0, 1]. The cost grows with rows times columns: at most 10,000 rows are looked at.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from .sample import sample, table

PARTS, FOLDS, SPLITS, LEAST, PSEUDO = 4, 5, 500, 10, 5
MOST = 10_000


def tice(p: np.ndarray, u: np.ndarray, seed: int = 0) -> float:
    """Share of positives from the largest lower bound of the label frequency over the nodes of trees."""
    share = len(p) / (len(p) + len(u))
    kept = max(2, round(MOST * share)) if len(p) + len(u) > MOST else len(p)
    p, u = sample(table(p), kept, seed), sample(table(u), MOST - kept, seed)
    x, s = np.concatenate([p, u]), np.repeat([1, 0], [len(p), len(u)])
    low, high = x.min(0), x.max(0)
    x = (x - low) / np.where(high > low, high - low, 1)
    fold = np.concatenate([np.arange(len(p)), np.arange(len(u))]) % FOLDS
    trees = [tree for k in range(FOLDS) if (tree := best_first(x, s, fold == k))]
    c = 0.5
    for _ in range(2):
        c = float(np.mean([largest_bound(nodes, total, c) for nodes, total in trees]))
        c = min(max(c, len(p) / len(x)), 1.0)  # all rows together are a region too: L / T is n_P / n
    return float(np.clip(share_of(c, len(p), len(u)), 0, 1))


def lower_bound(labelled: float, total: float, delta: float, c: float) -> float:
    return labelled / total - math.sqrt(c * (1 - c) * (1 - delta) / (delta * total))


def share_of(c: float, n_p: int, n_u: int) -> float:
    """The share of positives among the unlabelled rows, from the label frequency."""
    return n_p * (1 - c) / (c * n_u)


def largest_bound(nodes: list[tuple[int, int]], total: int, c: float) -> float:
    delta = max(0.025, 1 / (1 + 0.004 * total))
    return max(lower_bound(labelled, size, delta, c) for labelled, size in nodes)


def best_first(x: np.ndarray, s: np.ndarray, grow: np.ndarray) -> tuple[list[tuple[int, int]], int] | None:
    """(labelled, all) of every node in the rows that the tree did not grow on, and the number of those rows."""
    inside, outside = np.flatnonzero(grow), np.flatnonzero(~grow)
    if not len(inside) or not len(outside):
        return None
    columns = x.shape[1]
    nodes = [(int(s[outside].sum()), len(outside))]
    queue = [(0.0, 0, inside, outside, np.zeros(columns), np.ones(columns))]
    number = 0
    for _ in range(SPLITS):
        if not queue:
            break
        _, _, rows, held, low, high = heapq.heappop(queue)
        part = _parts(x[rows], low, high)
        flat = (part + PARTS * np.arange(columns)).ravel()
        size = np.bincount(flat, minlength=PARTS * columns)
        labelled = np.bincount(flat, np.repeat(s[rows], columns), PARTS * columns)
        promise = (labelled / (size + PSEUDO)).reshape(columns, PARTS)
        spread = ((size.reshape(columns, PARTS) > 0).sum(1) > 1) & (high - low > 1e-6)
        if not spread.any():
            continue
        column = int(np.argmax(np.where(spread, promise.max(1), -1)))
        held_part = _parts(x[held][:, [column]], low[[column]], high[[column]])[:, 0]
        quarter = (high[column] - low[column]) / PARTS
        for k in range(PARTS):
            child, seen = rows[part[:, column] == k], held[held_part == k]
            if len(seen) >= LEAST:
                nodes.append((int(s[seen].sum()), len(seen)))
            if len(child) > 1 and len(seen) >= LEAST:
                bottom, top = low.copy(), high.copy()
                bottom[column] = low[column] + k * quarter
                top[column] = bottom[column] + quarter
                number += 1
                heapq.heappush(queue, (-float(promise[column, k]), number, child, seen, bottom, top))
    return nodes, len(outside)


def _parts(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Which of the four equal parts of its range each value lies in."""
    place = (x - low) / np.where(high > low, high - low, 1) * PARTS
    return np.clip(place.astype(np.int64), 0, PARTS - 1)
