"""DistPUBoost on real tables: what each of its parts is worth, what was tried in vain, and what a wrong prior costs.

    DISTPU_TABLES=FOLDER python tools/bench_boost.py parts [--without TABLE ...]     results/boost/parts.md
    DISTPU_TABLES=FOLDER python tools/bench_boost.py priors [--without TABLE ...]    results/boost/priors.md
    python tools/bench_boost.py sizes                                                results/boost/sizes.md

FOLDER holds tables.py, whose `split` makes a PU problem of each table; DRAWS draws of each. Values that are no numbers
are encoded as ordinal numbers; columns of texts, where more than half of the values differ, are left out.

parts    The true prior is given. Rows of the test part are called positive above the quantile of the out-of-fold scores
         of the unlabelled rows that leaves the true prior above it, for each scorer alike.
priors   The prior is given with an error, or estimated, and the method cuts where it cuts by itself.
sizes    CPU seconds and memory of a fit without a prior on large simulated tables.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import lightgbm
import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.metrics import f1_score, roc_auc_score

import real_tables
from distpu import DistPUBoost
from distpu.methods._members import Boosted, Forest
from distpu.methods._table import TableMethod
from distpu.methods.dist_pu_boost import gradient, tree_weights

OUT = Path(__file__).parents[1] / "results/boost"
DRAWS, ROWS, TEST = 1, 3000, 10_000


class Problem(NamedTuple):
    name: str
    x: np.ndarray
    s: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    prior: float


def problems(without: list[str]) -> Iterator[Problem]:
    source = real_tables.source()
    for name in source.names():
        for seed in range(DRAWS) if name not in without else ():
            X, s, X_test, y_test, prior = source.split(name, seed=seed, rows=ROWS, na_values=source.BLANKS)
            x = encoded(pd.concat([X, X_test[:TEST]], ignore_index=True))
            yield Problem(name, x[: len(X)], s, x[len(X) :], np.asarray(y_test[:TEST]), prior)


def encoded(frame: pd.DataFrame) -> np.ndarray:
    columns = []
    for name in frame:
        column = frame[name]
        if column.dtype.kind not in "biuf":
            if column.nunique() > len(frame) / 2:
                continue
            codes = column.astype("category").cat.codes.astype(float)
            column = codes.where(codes >= 0)
        columns.append(column.astype(float).to_numpy())
    x = np.column_stack(columns).astype(np.float32)
    return np.where(np.isfinite(x), x, np.nan)


# ------------------------------------------------------------- what is compared


@dataclass(eq=False, repr=False, kw_only=True)
class Member(TableMethod):
    """A scorer of labelled against unlabelled rows, out of fold like the methods."""

    name = "member"

    make: Any = None

    def _learn(self, x, s, random):
        fold, z = self._folds(x, s, random), np.empty(len(s))
        self.members_ = []
        for k in range(fold.max() + 1):
            rest, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            self.members_.append(self.make().fit(x[rest], s[rest], random))
            z[out] = self.members_[-1].scores(x[out])
        self._settle(z, s)

    def _score(self, x):
        return np.mean([member.scores(x) for member in self.members_], axis=0)


class Plain:
    """Boosting of labelled against unlabelled rows, with the settings of DistPUBoost."""

    def fit(self, x, s, random):
        settings = dict(objective="binary", learning_rate=0.1, num_leaves=15, min_child_samples=5, feature_fraction=0.6,
                        bagging_fraction=0.8, bagging_freq=1, lambda_l2=1.0, seed=random.randint(2**31 - 1),
                        num_threads=1, deterministic=True, force_row_wise=True, verbosity=-1)  # fmt: skip
        self.booster = lightgbm.train(settings, lightgbm.Dataset(x, s), 150)
        return self

    def scores(self, x):
        return self.booster.predict(x, raw_score=True, num_threads=1)


@dataclass(eq=False, repr=False, kw_only=True)
class WithMixup(DistPUBoost):
    """Adds E[BCE(p', y')] on as many mixed rows: y' mixes the present p, and 1 on labelled rows. Pairs are drawn once.

    swap    a mixed row takes each of its values from one of two rows; else the values are mixed
    """

    alpha: float = 1.0
    swap: bool = True

    def _boosted(self, x, s, prior, seed, weight=None):
        n, random = len(s), np.random.RandomState(seed)
        i, j, share = random.randint(n, size=n), random.randint(n, size=n), random.beta(self.alpha, self.alpha, n)
        if self.swap:
            first = random.rand(*x.shape) < share[:, None]
            mixed, share = np.where(first, x[i], x[j]), first.mean(1)
        else:
            mixed = share[:, None] * x[i] + (1 - share[:, None]) * x[j]

        def objective(z, _):
            p = expit(z)
            y = np.where(s == 1, 1.0, p[:n])
            weight = n * tree_weights(s, self.rows, self.ratio, random)
            g, h = gradient(z[:n], s, prior, self.entropy, self.tau, self.floor)
            g_mixed = p[n:] - (share * y[i] + (1 - share) * y[j])  # n times the mean over the n mixed rows
            h_mixed = np.maximum(p[n:] * (1 - p[n:]), self.floor)
            return np.append(weight * g, g_mixed), np.append(weight * h, h_mixed)

        settings = self._settings(seed) | {"objective": objective}
        both = np.concatenate([x, mixed.astype(x.dtype)])
        start = np.full(2 * n, logit(prior))
        return lightgbm.train(settings, lightgbm.Dataset(both, np.zeros(2 * n), init_score=start), self.rounds)


def boost(**settings: Any) -> Callable[..., TableMethod]:
    return lambda prior: DistPUBoost(prior=prior, **settings)


ONE = "3 n_P rows of U, at least 1,000, for each tree"
ALL = 1e9  # ratio: every tree sees all unlabelled rows
BASELINES: dict[str, Callable[..., TableMethod]] = {
    "boosting of P against U": lambda prior: Member(make=Plain, prior=prior),
    "PU bagging of 12 boostings": lambda prior: Member(make=lambda: Boosted(12), prior=prior),
    "balanced forest of 60 trees": lambda prior: Member(make=lambda: Forest(60), prior=prior),
}
LADDER = {
    "R_lab as first tried: floor 0.05, all of U for each tree, one booster a fold": boost(
        bags=1, floor=0.05, ratio=ALL
    ),
    "floor 0.01": boost(bags=1, ratio=ALL),
    ONE: boost(bags=1),
    "**4 boosters a fold: DistPUBoost**": boost(),
}
CHANGES = {
    "the kink nearly as it is: tau 0.005": boost(bags=1, tau=0.005),
    "no entropy": boost(bags=1, entropy=0.0),
    "50 rounds": boost(bags=1, rounds=50),
    "300 rounds": boost(bags=1, rounds=300),
    "7 leaves": boost(bags=1, leaves=7),
    "L2 penalty 10": boost(bags=1, shrink=10.0),
    "Mixup, values swapped": lambda prior: WithMixup(prior=prior, bags=1),
    "Mixup, values mixed, alpha 6": lambda prior: WithMixup(prior=prior, bags=1, alpha=6.0, swap=False),
}
ERRORS: dict[str, float | None] = {"true": 1.0, "x 0.7": 0.7, "x 1.4": 1.4, "estimated": None}


# --------------------------------------------------------------------- measure


def measured(make: Callable[..., TableMethod], problem: Problem, told: Any, own_cut: bool) -> np.ndarray:
    """Accuracy, F1, AUC, AUC of labelled against unlabelled rows out of fold (%), CPU seconds."""
    start = time.process_time()
    method = make(prior=told).set_params(random_state=0)
    method.fit(problem.x, problem.s)
    z = method._raw_scores(problem.x_test)
    seconds = time.process_time() - start
    out = method.oof_scores_
    cut = method.threshold_ if own_cut else np.quantile(out[problem.s == 0], 1 - problem.prior)
    called = z >= cut
    shown = (called == problem.y_test).mean(), f1_score(problem.y_test, called), roc_auc_score(problem.y_test, z)
    return np.array([*(100 * np.array([*shown, roc_auc_score(problem.s, out)])), seconds])


def line(name: str, results: np.ndarray, base: np.ndarray) -> str:
    """A row of the table: means, and the mean difference of the AUC to the base with its standard error."""
    gain = results[:, 2] - base[:, 2]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    acc, f1, auc, pu, seconds = results.mean(0)
    return (
        f"| {name} | {acc:.1f} | {f1:.1f} | {auc:.1f} | {gain.mean():+.2f} ± {error:.2f} | {pu:.1f} | {seconds:.1f} |"
    )


def parts(data: list[Problem]) -> list[str]:
    tried = {**BASELINES, **LADDER, **CHANGES}
    results = {
        name: np.array([measured(make, p, p.prior, False) for p in shown(data, name)]) for name, make in tried.items()
    }
    text = []
    for title, group, base in (
        ("Beside other scorers, and step by step", {**BASELINES, **LADDER}, "**4 boosters a fold: DistPUBoost**"),
        ("One change at a time, with one booster a fold", {ONE: LADDER[ONE], **CHANGES}, ONE),
    ):
        text += [
            f"## {title}",
            "",
            f"Difference: of the AUC to '{base.strip('*')}', with its standard error over problems.",
            "",
        ]
        text += ["| | accuracy | F1 | AUC | difference | AUC, P against U | CPU s |", "|---|---|---|---|---|---|---|"]
        text += [line(name, results[name], results[base]) for name in group] + [""]
    return text


def priors(data: list[Problem]) -> list[str]:
    text = ["Difference: of the AUC to that with the true prior, with its standard error over problems.", ""]
    text += ["| prior | accuracy | F1 | AUC | difference | AUC, P against U | CPU s |", "|---|---|---|---|---|---|---|"]
    results = {}
    for how, factor in ERRORS.items():
        told = [min(0.95, factor * p.prior) if factor else "auto" for p in data]
        both = zip(shown(data, how), told, strict=True)
        results[how] = np.array([measured(DistPUBoost, p, prior, True) for p, prior in both])
    return [*text, *(line(how, results[how], results["true"]) for how in ERRORS), ""]


def sizes() -> list[str]:
    """A row per size: 20 % positives, moved by 0.8 in 5 of the columns; 500 of them are labelled."""
    text = [
        "| rows x columns | CPU s of the fit | AUC of the unlabelled rows | most memory so far |",
        "|---|---|---|---|",
    ]
    for n, columns in (50_000, 80), (1_000_000, 20):
        random = np.random.default_rng(0)
        y, x = random.random(n) < 0.2, random.standard_normal((n, columns), dtype=np.float32)
        x[:, :5] += 0.8 * y[:, None]
        s = np.zeros(n, dtype=int)
        s[random.choice(np.flatnonzero(y), 500, replace=False)] = 1
        start = time.process_time()
        z = DistPUBoost(random_state=0).fit(x, s).oof_scores_
        seconds, auc = time.process_time() - start, roc_auc_score(y[s == 0], z[s == 0])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        text.append(f"| {n:,} x {columns} | {seconds:.1f} | {100 * auc:.1f} | {memory:.0f} MB |")
    return text


def shown(data: list[Problem], text: str) -> Iterator[Problem]:
    for number, problem in enumerate(data):
        print(f"{text}: {number + 1} of {len(data)}, {problem.name}", file=sys.stderr, flush=True)
        yield problem


def about() -> str:
    return f"{platform.machine()}, one core; Python {platform.python_version()}, LightGBM {lightgbm.__version__}."


def main(what: str, without: list[str]) -> None:
    if what == "sizes":
        intro, body = f"`tools/bench_boost.py sizes`; {about()}", sizes()
    else:
        data = list(problems(without))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = {"parts": parts, "priors": priors}[what](data)
        left = f", without {', '.join(without)}" if without else ""
        intro = (
            f"`tools/bench_boost.py {what}`, {len(data)} problems of {len({p.name for p in data})} tables{left}; at "
            f"most {ROWS:,} training rows, {DRAWS} draw(s) of each; {about()} Means over problems. CPU seconds: "
            "of fit and scoring, for one problem."
        )
    text = [f"# DistPUBoost: {what}", "", intro, "", *body]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{what}.md").write_text("\n".join(text).rstrip() + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    if sys.argv[1:2] not in (["parts"], ["priors"], ["sizes"]) or sys.argv[2:3] not in ([], ["--without"]):
        sys.exit(__doc__)
    if sys.argv[1] != "sizes" and "DISTPU_TABLES" not in os.environ:
        sys.exit("bench_boost: set DISTPU_TABLES to the folder that holds tables.py")
    main(sys.argv[1], sys.argv[3:])
