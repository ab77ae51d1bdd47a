"""The scorers that a blend is made of. Each learns labelled against all other rows, both with the same total weight.

A member is a class with `fit(x, s, random, weight)`, `scores(x)` (log-odds) and `state`, which holds plain values and
scikit-learn objects only, so that a folder can store it without pickle. `weight` has how many rows each row stands for;
None stands for one each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import logit

from ..looked import before

WIDE = 500  # columns; of a wider table each booster sees so many, and the kernel takes the columns as they are
MOST = 8_000  # rows of one fit. More rows cost time and gain little: the labelled ones are few
AT_ONCE = 50_000  # rows up to which one thread scores; predictions are made of no more rows at a time
CACHED = 4096  # rows of which the kernel's features stay in the processor's cache: 50,000 at once take twice the time
FIRST = 4  # models of PU bagging in a fold, for the prior alone
EDGE = 1e-4  # probabilities are kept this far from 0 and 1
NEGATIVE = 2.0  # unlabelled rows that a confirmed negative counts as in training (docs/feedback.md)


def drawn(s: np.ndarray, most: int, ratio: float, random: np.random.RandomState) -> np.ndarray:
    """Return row numbers: the labelled ones, `ratio` times as many unlabelled ones, and the confirmed negatives.

    There are at most `most` rows in all.
    """
    p, u, n = (np.flatnonzero(s == kind) for kind in (1, 0, -1))
    p = random.permutation(p)[: most // 2]
    n = random.permutation(n)[: most // 4] if len(n) else n
    u = random.permutation(u)[: int(min(most - len(p) - len(n), max(2, ratio * len(p))))]
    return np.concatenate([p, u, n])


def with_negatives(weight: np.ndarray | None, s: np.ndarray) -> np.ndarray | None:
    """Return the weights of the rows in training: confirmed negatives count more than unlabelled rows."""
    if not (s == -1).any():
        return weight
    return (np.ones(len(s)) if weight is None else weight) * np.where(s == -1, NEGATIVE, 1.0)


def of(weight: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    """Return the weights of some rows."""
    return None if weight is None else weight[rows]


class Forest:
    """A random forest, or extremely randomised trees, whose classes are balanced in every bootstrap sample."""

    def __init__(self, trees: int, extra: bool = False, parts: int = 3, leaf: int = 5) -> None:
        self.extra, self.trees, self.parts, self.leaf = extra, trees, parts, leaf

    def fit(self, x: Any, s: np.ndarray, random: np.random.RandomState, weight: np.ndarray | None = None) -> Forest:
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

        weight, t = with_negatives(weight, s), (s == 1).astype(int)
        weight = None if weight is None else weight / weight.mean()  # a forest draws as many rows as weights sum to
        kind = ExtraTreesClassifier if self.extra else RandomForestClassifier
        parts = 1 if len(s) <= MOST else self.parts  # so that more than MOST rows are seen in all
        self.state = []
        for _ in range(parts):
            rows = np.arange(len(s)) if parts == 1 else drawn(s, MOST, np.inf, random)
            forest = kind(
                self.trees // parts,
                min_samples_leaf=self.leaf,
                class_weight="balanced_subsample",
                bootstrap=True,
                max_samples=None if self.extra else 0.5,  # as good as all rows, and a fifth faster
                n_jobs=-1 if len(rows) > 2000 else 1,
                random_state=random.randint(2**31 - 1),
            )
            self.state.append(forest.fit(x[rows], t[rows], of(weight, rows)))
        return self

    def scores(self, x: Any) -> np.ndarray:
        for forest in self.state:
            # Threads take 0.2 s to start, and add up the trees in any order: the last bits would change with each call
            forest.n_jobs = -1 if x.shape[0] > AT_ONCE else 1
        p = np.mean([forest.predict_proba(x)[:, 1] for forest in self.state], axis=0)
        return logit(np.clip(p, EDGE, 1 - EDGE))


class Boosted:
    """PU bagging of boosted trees (LightGBM): each booster sees the labelled rows and three times as many others."""

    def __init__(self, bags: int, rounds: int = 40, leaves: int = 8) -> None:
        self.bags, self.rounds, self.leaves = bags, rounds, leaves

    def fit(self, x: Any, s: np.ndarray, random: np.random.RandomState, weight: np.ndarray | None = None) -> Boosted:
        import lightgbm

        weight, t = with_negatives(weight, s), (s == 1).astype(int)
        self.state: list[Any] = []
        self._boosters = []
        for _ in range(self.bags):
            rows = np.sort(drawn(s, MOST, 3, random))
            wide = x.shape[1] > WIDE
            columns = _columns(x[rows], s[rows], random) if wide else None
            settings = dict(
                objective="binary",
                learning_rate=0.1,
                num_leaves=self.leaves,
                min_child_samples=5,
                feature_fraction=0.2 if wide else 0.6,  # of many columns fewer and coarser ones are as good, and faster
                max_bin=63 if wide else 255,
                bagging_fraction=0.8,
                bagging_freq=1,
                seed=random.randint(2**31 - 1),
                num_threads=1,
                deterministic=True,
                force_row_wise=True,
                verbosity=-1,
            )
            data = lightgbm.Dataset(_of(x[rows], columns), t[rows], weight=_even(of(weight, rows), s[rows]))
            booster = lightgbm.train(settings, data, self.rounds)
            self.state.append([columns, booster.model_to_string()])
            self._boosters.append(booster)
        return self

    def scores(self, x: Any) -> np.ndarray:
        import lightgbm

        if not hasattr(self, "_boosters"):
            self._boosters = [lightgbm.Booster(model_str=text) for _, text in self.state]
        pairs = zip(self._boosters, self.state, strict=True)
        return np.mean([b.predict(_of(x, columns), raw_score=True, num_threads=1) for b, (columns, _) in pairs], axis=0)


def scores_before(
    x: Any, s: np.ndarray, fold: np.ndarray, random: np.random.RandomState, weight: np.ndarray | None
) -> np.ndarray:
    """Return out-of-fold scores by models to which rows that were looked at are unlabelled; the prior is theirs.

    Models that know what was found rank the region where a person looked above all others. Positives elsewhere would
    seem to be few.
    """
    t, z = before(s), np.empty(len(s))
    for k in range(fold.max() + 1):
        rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        z[out] = Boosted(FIRST).fit(x[rest], t[rest], random, of(weight, rest)).scores(x[out])
    return z


def _columns(x: Any, s: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Return WIDE columns: one half differ most between the labelled and the other rows, the rest is drawn."""
    full = x if issparse(x) else np.nan_to_num(x)
    labelled, others = (np.asarray(full[s == kind].mean(0)).ravel() for kind in (1, 0))
    square = np.asarray((full.multiply(full) if issparse(x) else full**2).mean(0)).ravel()
    middle = np.asarray(full.mean(0)).ravel()
    gap = np.abs(labelled - others) / np.sqrt(np.maximum(square - middle**2, 1e-12))
    order = np.argsort(-gap, kind="stable")
    rest = random.permutation(order[WIDE // 2 :])[: WIDE - WIDE // 2]
    return np.sort(np.concatenate([order[: WIDE // 2], rest]))


def _even(weight: np.ndarray | None, s: np.ndarray) -> np.ndarray | None:
    """Return the weights with a mean of 1 for each kind of row, so that the kinds count by their numbers of rows."""
    if weight is None:
        return None
    return weight / np.where(s == 1, weight[s == 1].mean(), weight[s == 0].mean())


def _of(x: Any, columns: np.ndarray | None) -> Any:
    return x if columns is None else x[:, columns]


class Kernel:
    """A logistic regression on random features of a Gaussian kernel: smooth where trees make steps.

    A sparse table gets a linear one, because a kernel would make the table dense.
    """

    def __init__(self, features: int = 300) -> None:
        self.features = features

    def fit(self, x: Any, s: np.ndarray, random: np.random.RandomState, weight: np.ndarray | None = None) -> Kernel:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import MaxAbsScaler, QuantileTransformer, StandardScaler

        weight, t = with_negatives(weight, s), (s == 1).astype(int)
        rows = np.arange(len(s)) if len(s) <= MOST else drawn(s, MOST, np.inf, random)
        seed, last = random.randint(2**31 - 1), LogisticRegression(C=1.0, class_weight="balanced", max_iter=300)
        if issparse(x):
            medians, model = None, make_pipeline(MaxAbsScaler(), last)
        else:
            medians = _medians(x[rows])
            even = QuantileTransformer(n_quantiles=min(200, len(rows)), output_distribution="normal", random_state=seed)
            model = make_pipeline(
                even if x.shape[1] <= WIDE else "passthrough",
                StandardScaler(),
                Nystroem(n_components=min(self.features, len(rows)), random_state=seed),
                last,
            )
        self.state = [medians, model]
        model.fit(self._filled(x[rows]), t[rows], logisticregression__sample_weight=of(weight, rows))
        return self

    def scores(self, x: Any) -> np.ndarray:
        spans = range(0, x.shape[0], CACHED)
        parts = [self.state[1].decision_function(self._filled(x[start : start + CACHED])) for start in spans]
        return np.concatenate(parts) if parts else np.empty(0)

    def _filled(self, x: Any) -> Any:
        """Return x without blanks, in float64: in float32 a row's score would depend on the rows beside it."""
        return x if issparse(x) else np.where(np.isnan(x), self.state[0], x).astype(np.float64)


def _medians(x: np.ndarray) -> np.ndarray:
    """Return the median of each column, and 0 for a column of blanks."""
    blank = np.isnan(x).all(0)
    medians = np.zeros(x.shape[1], dtype=x.dtype)
    medians[~blank] = np.nanmedian(x[:, ~blank], axis=0)
    return medians
