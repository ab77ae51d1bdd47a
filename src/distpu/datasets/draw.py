"""Draws a PU set from a labelled one, and splits rows into folds. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..kinds import plain_scores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def folds(x: np.ndarray, s: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the fold of each row. Labelled and unlabelled rows are spread evenly over k folds.

    Equal rows share a fold. The paper's protocol has a labelled and an unlabelled copy of the same row: in two folds,
    the labelled copy would tell a model the label of the held-out one.
    """
    flat = np.ascontiguousarray(x.reshape(len(x), -1))
    _, group = np.unique(flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))), return_inverse=True)
    group = group.ravel()
    labelled = np.zeros(group.max() + 1, dtype=bool)
    labelled[group[s == 1]] = True
    fold, random = np.empty(len(labelled), dtype=np.int64), np.random.default_rng(seed)
    for kind in (labelled, ~labelled):
        fold[kind] = random.permutation(kind.sum()) % k
    return fold[group]


SCENARIOS = ("case-control", "single-set")


def draw_pu(
    y: ArrayLike, labelled: int, scenario: str = "case-control", seed: int = 0, unlabelled: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Hide the labels of a labelled set: `labelled` positives, drawn with the seed, stay known.

    Returns row numbers and PU labels `(index, s)`: train on `X[index], s`; `y[index]` is the truth.

    scenario="case-control"  the drawn positives also remain among the unlabelled rows, as in the paper:
                             the original row is marked, and a copy of the row is appended as unlabelled
    scenario="single-set"    the drawn positives are not among the unlabelled rows, as in a user's own table

    unlabelled  with "single-set": so many of the other rows, with the share of positives that y has; None takes all
    """
    y = plain_scores(y, "y")
    positives = np.flatnonzero(y == 1)
    if scenario not in SCENARIOS:
        raise ValueError(f"scenario={scenario!r} is not known; use one of {', '.join(map(repr, SCENARIOS))}")
    if not isinstance(labelled, (int, np.integer)) or isinstance(labelled, bool):
        raise ValueError(f"labelled={labelled!r} must be a whole number: how many positives keep their label")
    if not 1 <= labelled <= len(positives):
        raise ValueError(f"labelled={labelled} must lie between 1 and the {len(positives)} positives in y (y == 1)")
    chosen = np.random.default_rng(seed).choice(positives, labelled, replace=False)
    index = np.arange(len(y))
    if scenario == "case-control":
        index = np.concatenate([index, chosen])
    s = np.zeros(len(index), dtype=np.int64)
    s[chosen] = 1
    if unlabelled is not None:
        index = _with_share(y, np.setdiff1d(np.arange(len(y)), chosen), unlabelled, scenario, seed)
        index = np.sort(np.concatenate([index, chosen]))
        s = np.isin(index, chosen).astype(np.int64)
    if not (s == 0).any():
        raise ValueError(f"labelled={labelled} leaves no unlabelled row; label fewer positives")
    return index, s


def _with_share(y: np.ndarray, others: np.ndarray, n: int, scenario: str, seed: int) -> np.ndarray:
    """Draw n of the other rows, with the share of positives that y has."""
    if scenario != "single-set":
        raise ValueError(
            f"unlabelled={n} goes with scenario='single-set', not with {scenario!r}; leave one of them out"
        )
    wanted = {1: round(n * float((y == 1).mean()))}
    wanted[0] = n - wanted[1]
    random, drawn = np.random.default_rng([seed, 1]), []
    for label, count in wanted.items():
        rows = others[(y[others] == 1) == (label == 1)]
        if not 0 <= count <= len(rows):
            raise ValueError(
                f"unlabelled={n} needs {count} rows with y == {label}, but {len(rows)} are left; ask for fewer"
            )
        drawn.append(random.choice(rows, count, replace=False))
    return np.concatenate(drawn)


def unlabelled_prior(population: float, n_labelled: int, n_unlabelled: int) -> float:
    """Return the share of positives among the unlabelled rows, given the share in all rows together.

    `population` is the share of positives among labelled and unlabelled rows together. Everywhere in distpu `prior`
    means the share among the unlabelled rows alone, which is (population * n - n_labelled) / n_unlabelled.
    """
    prior = (population * (n_labelled + n_unlabelled) - n_labelled) / n_unlabelled
    if not 0 < prior < 1:
        raise ValueError(
            f"population={population} with {n_labelled} labelled and {n_unlabelled} unlabelled rows gives a "
            f"share of {prior:.4g} among the unlabelled rows; the share must lie strictly between 0 and 1"
        )
    return prior
