"""PU problems with known truth for comparing designs: real tables, other columns of them as labels, small images.

    DISTPU_TABLES=FOLDER DISTPU_DATA=FOLDER python tools/problems.py     makes and lists them; DISTPU_CACHE keeps them

own      the development tables with their own labels, two draws each
columns  the same tables; the label is another column: a number above a quantile, or one value of a category
images   digits and Fashion-MNIST, flattened, 5,000 rows at most; breast-cancer is with them
sharp    as columns, and a model that has all labels has an AUC above .99: the classes often stand apart

The four tables that are held back (bench_tables.HELD_BACK) are not among them. The sets are drawn with fixed seeds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from bench_tables import HELD_BACK, encoded

import real_tables

ROWS = 5_000  # most training rows
TEST = 5_000  # most test rows
COLUMNS = 5  # most problems of a table whose label is another column
SHARP = 4  # most of them where it is nearly without error
LEAST_AUC, MOST_AUC = 0.8, 0.9995  # of a model that has all labels; other columns are too hard or too easy to tell much


class Problem(NamedTuple):
    name: str
    group: str
    x: np.ndarray
    s: np.ndarray
    y: np.ndarray  # of the training rows
    xt: np.ndarray
    yt: np.ndarray

    @property
    def truth(self) -> float:
        """The share of positives among the unlabelled rows."""
        return float(self.y[self.s == 0].mean())


def problems(cache: Path, groups: str = "own,columns,images,sharp") -> Iterator[Problem]:
    """All problems, made once and read from the cache after that."""
    for group in groups.split(","):
        folder = cache / "problems" / group
        if not (folder / "done").exists():
            folder.mkdir(parents=True, exist_ok=True)
            for problem in MAKERS[group]():
                np.savez(folder / f"{problem.name}.npz", **problem._asdict())
            (folder / "done").touch()
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as file:
                yield Problem(path.stem, group, *(file[key] for key in Problem._fields[2:]))


def drawn(y: np.ndarray, seed: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, their PU labels and test rows, as tables.py draws them: at most 500 labelled rows."""
    random = np.random.RandomState(seed)
    order = random.permutation(len(y))
    cut = round(0.7 * len(y))
    train, test = order[:cut][:rows], order[cut:][:TEST]
    positives = np.flatnonzero(y[train] == 1)
    labelled = min(max(30, min(500, round(0.3 * len(positives)))), len(positives) // 2)
    s = np.zeros(len(train), dtype=np.int64)
    s[random.choice(positives, labelled, replace=False)] = 1
    return train, s, test


def _own() -> Iterator[Problem]:
    source = real_tables.source()
    for name in source.names():
        if name in HELD_BACK:
            continue
        X, y = source.load(name, na_values=source.BLANKS)
        for seed in (0, 1):
            train, s, test = drawn(y, seed)
            x, xt = encoded(X.iloc[train], X.iloc[test], source.IDS.get(name, []), source.DATES.get(name, []))
            yield Problem(f"{name}-{seed}", "own", x, s, y[train], xt, y[test])


def _columns() -> Iterator[Problem]:
    yield from _other_columns(0, COLUMNS, LEAST_AUC, MOST_AUC, "")


def _sharp() -> Iterator[Problem]:
    yield from _other_columns(1, SHARP, 0.99, np.inf, "-sharp")


def _other_columns(seed: int, most: int, above: float, below: float, suffix: str) -> Iterator[Problem]:
    """At most `most` columns of each table as labels that a model with all labels finds with an AUC between these."""
    source = real_tables.source()
    for name in source.names():
        if name in HELD_BACK:
            continue
        X, y = source.load(name, na_values=source.BLANKS)
        X = X.drop(columns=source.IDS.get(name, []) + source.TEXTS.get(name, [])).assign(label=y)
        random, found = np.random.RandomState(len(X) + seed), 0
        for column in random.permutation(X.columns.drop("label")):
            target = _target(X[column], random)
            if found == most or target is None:
                continue
            rest = X.drop(columns=column)
            train, s, test = drawn(target, int(random.randint(1000)))
            x, xt = encoded(rest.iloc[train], rest.iloc[test], [], source.DATES.get(name, []))
            if above < _supervised(x, target[train], xt, target[test]) < below:
                found += 1
                safe = "".join(letter if letter.isalnum() else "_" for letter in column)
                yield Problem(
                    f"{name}-{safe}{suffix}", "sharp" if suffix else "columns", x, s, target[train], xt, target[test]
                )


def _target(column: pd.Series, random: np.random.RandomState) -> np.ndarray | None:
    """A label made of a column with few blanks: above a quantile, or one value. None if no good label comes of it."""
    if column.isna().mean() > 0.05:
        return None
    if column.dtype.kind in "iuf" and column.nunique() > 10:
        y = (column > column.quantile(random.choice([0.5, 0.6, 0.7, 0.8, 0.9, 0.95]))).to_numpy(np.int64)
    else:
        share = column.value_counts(normalize=True)
        share = share[(share > 0.02) & (share < 0.6)]
        if not len(share):
            return None
        y = (column == share.index[random.randint(len(share))]).to_numpy(np.int64)
    return y if 0.02 < y.mean() < 0.6 and y.sum() >= 60 else None


def _supervised(x: np.ndarray, y: np.ndarray, xt: np.ndarray, yt: np.ndarray) -> float:
    """AUC of a boosted model that has all labels."""
    import lightgbm
    from sklearn.metrics import roc_auc_score

    settings = dict(objective="binary", num_leaves=15, num_threads=1, verbosity=-1, seed=0)
    return float(roc_auc_score(yt, lightgbm.train(settings, lightgbm.Dataset(x, y), 60).predict(xt)))


def _images() -> Iterator[Problem]:
    from sklearn.datasets import load_breast_cancer, load_digits

    sets: dict[str, tuple[np.ndarray, np.ndarray, dict[str, Any]]] = {}
    cancer, digits = load_breast_cancer(), load_digits()
    sets["breast_cancer"] = cancer.data, cancer.target, {"malignant": [0]}
    sets["digits"] = digits.data, digits.target, {"even": [0, 2, 4, 6, 8], "low": range(5), "389": [3, 8, 9], "8": [8]}
    if os.environ.get("DISTPU_DATA"):
        from distpu.datasets.readers import idx

        folder, parts = Path(os.environ["DISTPU_DATA"]) / "fashion-mnist", ("images-idx3-ubyte", "labels-idx1-ubyte")
        pixels, classes = (idx(folder / f"t10k-{part}.gz", f"t10k-{part}") for part in parts)
        sets["fashion"] = pixels, classes, {"tops": [0, 2, 3, 4, 6], "shirt": [6], "coat": [2, 4], "trouser": [1, 3]}
    for name, (pixels, classes, targets) in sets.items():
        for what, positive in targets.items():
            y = np.isin(classes, list(positive)).astype(np.int64)
            for seed in (0, 1):
                train, s, test = drawn(y, seed)
                x, xt = (pixels[part].reshape(len(part), -1).astype(np.float32) for part in (train, test))
                yield Problem(f"{name}-{what}-{seed}", "images", x, s, y[train], xt, y[test])


MAKERS = {"own": _own, "columns": _columns, "images": _images, "sharp": _sharp}

if __name__ == "__main__":
    for one in problems(Path(os.environ.get("DISTPU_CACHE", "/tmp/score"))):
        print(f"{one.group:8} {one.name:45} {one.x.shape} labelled {one.s.sum()} truth {one.truth:.3f}")
