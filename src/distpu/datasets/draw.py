"""A PU set is drawn from a labelled one; rows are split into folds. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def folds(x: np.ndarray, s: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Fold of each row: labelled and unlabelled rows spread evenly over k folds, equal rows in one.

    A labelled row whose unlabelled copy is held out would lend it its label (the paper's protocol has such copies).
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
    y: ArrayLike, labelled: int, scenario: str = "case-control", seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Hide the labels of a labelled set: `labelled` positives, drawn with the seed, stay known.

    Returns row numbers and PU labels `(index, s)`: train on `X[index], s`; `y[index]` is the truth.

    scenario="case-control"  the drawn positives also remain among the unlabelled rows, as the paper does it:
                             the original row is marked, a copy of it is appended as unlabelled
    scenario="single-set"    they are taken out of the unlabelled rows, as in a user's own table
    """
    y = np.asarray(y)
    positives = np.flatnonzero(y == 1)
    if scenario not in SCENARIOS:
        raise ValueError(f"scenario={scenario!r} is not known; use one of {', '.join(map(repr, SCENARIOS))}")
    if not 1 <= labelled <= len(positives):
        raise ValueError(
            f"labelled={labelled} must lie between 1 and the {len(positives)} positives there are (y == 1)"
        )
    chosen = np.random.default_rng(seed).choice(positives, labelled, replace=False)
    index = np.arange(len(y))
    if scenario == "case-control":
        index = np.concatenate([index, chosen])
    s = np.zeros(len(index), dtype=np.int64)
    s[chosen] = 1
    if not (s == 0).any():
        raise ValueError(f"labelled={labelled} leaves no unlabelled row; label fewer positives")
    return index, s


def unlabelled_prior(population: float, n_labelled: int, n_unlabelled: int) -> float:
    """Share of positives among the unlabelled rows, when the labelled positives were taken out of a population.

    `prior` means the unlabelled rows' own share everywhere in distpu. A share known for the population, labelled
    rows included, becomes that share here: (population * n - n_labelled) / n_unlabelled.
    """
    prior = (population * (n_labelled + n_unlabelled) - n_labelled) / n_unlabelled
    if not 0 < prior < 1:
        raise ValueError(
            f"population={population} with {n_labelled} labelled and {n_unlabelled} unlabelled rows gives a "
            f"share of {prior:.4g} among the unlabelled; it must lie strictly between 0 and 1"
        )
    return prior
