"""Calibration errors before and after, and what cuts give, where the truth is known.

    DISTPU_TABLES=FOLDER python tools/bench_calibration.py forms      results/calibration/forms.md; minutes
    DISTPU_TABLES=FOLDER python tools/bench_calibration.py methods    results/calibration/methods.md; half an hour
    python tools/bench_calibration.py methods simulated               the same on simulated rows, without any file
    ... methods tables bagging-pu,two-step                            the rows of these methods again
    DISTPU_TABLES=FOLDER python tools/bench_calibration.py automatic  results/calibration/automatic.md; minutes

FOLDER holds tables.py, whose `split` makes PU problems of real tables. Names in the environment variable HELD_BACK are
left out. All problems are averaged: nothing here is chosen for one table.

forms    Two scorers, out of bag and out of fold, and each form of calibration on their scores. Errors are those of the
         unlabelled training rows, whose labels were hidden. The prior is the true one, or BBE's.
methods  Every method with calibrate=False and with calibrate=True, at the true prior. Errors are those of the test
         rows, whose probabilities are moved to the test rows' share of positives. Cuts are compared by accuracy and F1.
automatic  BlendPU with nothing given but the labels. Errors are those of the unlabelled rows, scored out of fold.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import pandas as pd
import scipy
import sklearn
from scipy.special import expit, logit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import f1_score

import real_tables
from distpu.datasets.draw import folds
from distpu.prior import ON_SCORES, inside_unit
from distpu.threshold import (
    Calibration,
    HeldOut,
    calibration_error,
    cross_calibrated,
    expected,
    find_cut,
    reliability,
    with_share,
)

OUT = Path(__file__).parents[1] / "results/calibration"
ROWS = {"forms": 5000, "methods": 500}  # training rows of a table
DRAWS = {"forms": 2, "methods": 1}
TEST = 3000  # most test rows
CUTS = ("auto", "prior", "half")
PROMISES = ("prior", "half", "precision=0.8", "recall=0.8", "cost=3", "rows=100")
TINY = 1e-6


class Problem(NamedTuple):
    name: str
    x: np.ndarray
    s: np.ndarray
    y: np.ndarray | None  # of the training rows
    x_test: np.ndarray
    y_test: np.ndarray
    prior: float


# ------------------------------------------------------------------ problems


def tables(rows: int, draws: int) -> Iterator[Problem]:
    source = real_tables.source()
    for name in source.names():
        if name in os.environ.get("HELD_BACK", "").split(","):
            continue
        for seed in range(draws):
            X, y = source.load(name, na_values=source.BLANKS)
            x = _filled(X.drop(columns=source.IDS.get(name, [])))
            random = np.random.RandomState(seed)
            train, test = source._cut(np.arange(len(y)), y, 0.7, random)
            if len(train) > rows:
                train, _ = source._cut(train, y, rows / len(train), random)
            positives = np.flatnonzero(y[train] == 1)
            labelled = min(max(30, min(500, round(0.3 * len(positives)))), len(positives) // 2)
            s = np.zeros(len(train), dtype=np.int64)
            s[random.choice(positives, labelled, replace=False)] = 1
            test = test[:TEST]
            yield Problem(name, x[train], s, y[train], x[test], y[test], float(y[train][s == 0].mean()))


def simulated(rows: int, draws: int) -> Iterator[Problem]:
    """Two Gaussian clouds in 5 columns and 5 columns of noise; 100 labelled rows are taken out of the population."""
    for distance in (0.7, 1.2, 2.0):
        for share in (0.2, 0.4):
            for seed in range(draws):
                random = np.random.default_rng([seed, round(100 * share)])
                y = (random.random(rows + TEST) < share).astype(int)
                x = random.normal(size=(len(y), 10)).astype(np.float32)
                x[:, :5] += distance * y[:, None]
                s = np.zeros(rows, dtype=np.int64)
                s[random.choice(np.flatnonzero(y[:rows]), 100 * rows // 1000, replace=False)] = 1
                prior = float(y[:rows][s == 0].mean())
                yield Problem(f"{distance}/{share}", x[:rows], s, y[:rows], x[rows:], y[rows:], prior)


def _filled(frame: Any) -> np.ndarray:
    """The table as numbers. A blank becomes the median of its column, or 0 in a column of blanks."""
    x = pd.DataFrame(real_tables.ordinal(frame))
    return x.fillna(x.median()).fillna(0).to_numpy(np.float32)


# ------------------------------------------------------------------ forms


def forest(x: np.ndarray, s: np.ndarray) -> np.ndarray:
    model = RandomForestClassifier(
        200, min_samples_leaf=5, class_weight="balanced_subsample", oob_score=True, random_state=0
    )
    return logit(np.clip(model.fit(x, s).oob_decision_function_[:, 1], TINY, 1 - TINY))


def boosting(x: np.ndarray, s: np.ndarray) -> np.ndarray:
    fold, z = folds(x, s, 5, 0), np.empty(len(s))
    for i in range(5):
        model = HistGradientBoostingClassifier(random_state=0).fit(x[fold != i], s[fold != i])
        z[fold == i] = logit(np.clip(model.predict_proba(x[fold == i])[:, 1], TINY, 1 - TINY))
    return z


SCORERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {"forest": forest, "boosting": boosting}


def by_form(z_p: np.ndarray, z_u: np.ndarray, prior: float) -> dict[str, np.ndarray]:
    """Probabilities of the unlabelled rows by each form; the last one is fitted on other rows than it is used on."""
    found = Calibration.fit(z_p, z_u, prior)
    t = np.clip((z_u - found.center) / found.spread, -20, 20)
    return {
        "none: sigma(log-odds)": expit(z_u),
        "Platt by moments": expit(found.slope * t + found.intercept),
        "isotonic": np.interp(t, found.z, found.p),
        "the mean of both": found(z_u),
        "the mean of both, cross-fitted": cross_calibrated(z_p, z_u, prior)[1],
    }


def forms() -> Iterator[list[str]]:
    errors: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    seen, promises = [], {}  # type: ignore[var-annotated]
    problems = 0
    for problem in tables(ROWS["forms"], DRAWS["forms"]):
        problems += 1
        for scorer, score in SCORERS.items():
            z = score(problem.x, problem.s)
            z_p, z_u, y = z[problem.s == 1], z[problem.s == 0], problem.y[problem.s == 0]  # type: ignore[index]
            estimate = inside_unit(ON_SCORES["bbe"](z_p, z_u), problem.s)
            told, guessed = by_form(z_p, z_u, problem.prior), by_form(z_p, z_u, estimate)
            for form, p in told.items():
                numbers_of = calibration_error(p, y), np.mean((p - y) ** 2), calibration_error(guessed[form], y)
                errors.setdefault((scorer, form), []).append(numbers_of)
            p_p, p_u = cross_calibrated(z_p, z_u, problem.prior)
            for kind, pair in {"calibrated": (p_p, p_u), "raw": (expit(z_p), expit(z_u))}.items():
                found = reliability(*pair, problem.prior)
                seen.append((kind, float(found), calibration_error(pair[1], y), found.error))
            _keep_promises(promises, z_p, z_u, y, problem.prior)
        print(problem.name, file=sys.stderr)
    text = [f"{problems} problems: {DRAWS['forms']} draws of each table, at most {ROWS['forms']:,} training rows.", ""]
    for scorer in SCORERS:
        head = "| form | calibration error | Brier score | calibration error with BBE's prior |"
        text += [f"## Forms, on the scores of a {scorer}", "", head, "|---|---|---|---|"]
        for (of, form), values in errors.items():
            if of == scorer:
                text.append(f"| {form} | {' | '.join(f'{v:.4f}' for v in np.mean(values, axis=0))} |")
        text.append("")
    text += ["## Reliability without negatives beside the true calibration error", ""]
    text += ["| probabilities | reliability, mean | true error, mean | correlation | mean difference | within 2 |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for kinds in (("calibrated",), ("raw",), ("calibrated", "raw")):
        found, true, error = np.array([line[1:] for line in seen if line[0] in kinds]).T
        inside, off = np.mean(np.abs(found - true) < 2 * error), np.abs(found - true).mean()
        text.append(f"| {' and '.join(kinds)} | {found.mean():.4f} | {true.mean():.4f} | "
                    f"{np.corrcoef(found, true)[0, 1]:.2f} | {off:.4f} | {inside:.0%} |")  # fmt: skip
    text += ["", "## What cuts promise and give, at the true prior", ""]
    text += ["Expected less true value, on the mean (bias) and without sign (error). Within 2: how often the truth is "
             "within two standard errors.", "",
             "| threshold | precision: bias | error | within 2 | recall: bias | error | within 2 |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for choice, lines in promises.items():
        cells = []
        for off, error in (np.array(lines)[:, :2].T, np.array(lines)[:, 2:].T):
            cells += [f"{off.mean():+.3f}", f"{np.abs(off).mean():.3f}", f"{np.mean(np.abs(off) < 2 * error):.0%}"]
        text.append(f"| {choice} | {' | '.join(cells)} |")
    yield text


def _keep_promises(promises: dict, z_p: np.ndarray, z_u: np.ndarray, y: np.ndarray, prior: float) -> None:
    held_out, calibration = HeldOut.of(z_p, z_u), Calibration.fit(z_p, z_u, prior)
    for choice in PROMISES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a precision that cannot be reached
            cut = find_cut(choice, held_out, prior, calibration)
        found, called = expected(cut, held_out, prior, calibration), z_u >= cut
        if called.any():
            precision, recall = y[called].mean(), y[called].sum() / y.sum()
            line = found.precision - precision, found.precision.error, found.recall - recall, found.recall.error
            promises.setdefault(choice, []).append(line)


# ------------------------------------------------------------------ methods


def methods(source: Callable[[int, int], Iterator[Problem]], names: list[str], before: str) -> Iterator[list[str]]:
    """The table so far, after each problem."""
    from distpu import METHODS

    lines: dict[str, list[tuple[float, ...]]] = {}
    problems = 0
    for problem in source(ROWS["methods"], DRAWS["methods"]):
        problems += 1
        for name in names or METHODS:
            cls = METHODS[name]
            if cls.supervised:
                continue
            start = time.perf_counter()
            settings = dict(prior=problem.prior, random_state=0, progress=False)
            plain = cls(**settings, calibrate=False).fit(problem.x, problem.s)
            fitted = cls(**settings, calibrate=True).fit(problem.x, problem.s)
            numbers_of = [_error(plain, problem), _error(fitted, problem)]
            for cut in CUTS:
                called = fitted.set_threshold(cut).predict(problem.x_test)
                numbers_of += [(called == problem.y_test).mean(), f1_score(problem.y_test, called, zero_division=0)]
            lines.setdefault(name, []).append(tuple(numbers_of))
            print(f"{problem.name} {name} {numbers_of[0]:.3f} {numbers_of[1]:.3f} "
                  f"{time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)  # fmt: skip
        yield _table(lines, problems, before)


def _table(lines: dict[str, list[tuple[float, ...]]], problems: int, before: str) -> list[str]:
    """Markdown. Methods that were not measured keep their rows from before."""
    text = [f"{problems} problems of at most {ROWS['methods']} training rows, one draw each, at the true prior.", ""]
    text += ["| method | calibration error before | after | accuracy cut by the method | by 'prior' | by 'half' | "
             "F1 cut by the method | by 'prior' | by 'half' |", "|---" * 9 + "|"]  # fmt: skip
    rows = {cells[0]: tuple(map(float, cells[1:])) for cells in _cells(before)}
    for name, values in lines.items():
        first, after, own, own_f1, prior, prior_f1, half, half_f1 = np.mean(values, axis=0)
        percent = 100 * np.array([own, prior, half, own_f1, prior_f1, half_f1])
        rows[name] = (first, after, *percent)
    rows.pop("mean", None)
    text += [_row(name, values) for name, values in rows.items()]
    text.append(_row("mean", np.mean([*rows.values()], axis=0)))
    return text


def _cells(text: str) -> list[list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in rows[2:] if len(cells) == 9]


def _row(name: str, values: Any) -> str:
    before, after, *rest = values
    return f"| {name} | {before:.3f} | {after:.3f} | {' | '.join(f'{v:.1f}' for v in rest)} |"


def _error(fitted: Any, problem: Problem) -> float:
    p = np.clip(fitted.predict_proba(problem.x_test)[:, 1], TINY, 1 - TINY)
    return calibration_error(with_share(p, problem.prior, problem.y_test.mean()), problem.y_test)


# ---------------------------------------------------------------- automatic


def automatic() -> Iterator[list[str]]:
    """The table so far, after each problem."""
    from distpu import BlendPU

    lines: list[dict[str, Any]] = []
    for problem in tables(ROWS["forms"], DRAWS["forms"]):
        fitted = BlendPU(random_state=0, progress=False).fit(problem.x, problem.s)
        z, hidden = fitted.oof_scores_, problem.s == 0
        y, own = problem.y[hidden], fitted._judged(z)[1][hidden]  # type: ignore[index]
        maps = {"before": expit(z[hidden]), "after": own}
        maps["after, true prior"] = Calibration.fit(z[~hidden], z[hidden], problem.prior)(z[hidden])
        lines.append({"table": problem.name, "error of the prior": abs(fitted.prior_ - problem.prior)}
                     | {name: calibration_error(p, y) for name, p in maps.items()})  # fmt: skip
        print(problem.name, *(f"{v:.3f}" for v in [*lines[-1].values()][1:]), file=sys.stderr, flush=True)
        means = pd.DataFrame(lines).groupby("table", sort=False).mean()
        means.loc["mean"] = means.mean()
        text = [f"{len(lines)} problems: {DRAWS['forms']} draws of each table, at most {ROWS['forms']:,} rows. BlendPU "
                "has nothing but the labels; the last column was told the true prior.", "",
                f"| table | {' | '.join(means.columns)} |", "|---" * (1 + len(means.columns)) + "|"]  # fmt: skip
        yield text + [f"| {name} | {' | '.join(f'{v:.4f}' for v in row)} |" for name, row in means.iterrows()]


def main(what: str, where: str, names: list[str]) -> None:
    began, also = time.perf_counter(), " simulated" if where == "simulated" else ""
    OUT.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    text, file = [], OUT / f"{what}{also.replace(' ', '-')}.md"
    before = file.read_text() if names else ""
    again = f" for the rows of {', '.join(names)}" if names else ""
    parts = {"forms": forms, "automatic": automatic}
    for text in parts[what]() if what in parts else methods(simulated if also else tables, names, before):
        versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
        machine = f"{platform.machine()}, {os.cpu_count()} cores, one used"
        head = [
            f"# Calibration: {what}{' on simulated rows' if also else ''}",
            "",
            f"`tools/bench_calibration.py {what}{also}`, {time.perf_counter() - began:.0f} s{again}: {machine}; "
            f"{versions}, scikit-learn {sklearn.__version__}. Calibration error: expected calibration error in 10 bins "
            "of equal size, with true labels.",
            "",
        ]
        file.write_text("\n".join([*head, *text]) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    given = [*sys.argv[1:], *("forms", "tables", "")[len(sys.argv) - 1 :]]
    main(given[0], given[1], given[2].split(",") if given[2] else [])
