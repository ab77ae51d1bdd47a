"""The estimators of the prior against the truth: error, bias, worst case, coverage of the interval, seconds.

    python tools/bench_prior.py simulated                        results/prior/simulated.md; minutes on one core
    DISTPU_TABLES=FOLDER python tools/bench_prior.py tables      results/prior/tables.md; FOLDER holds tables.py
    ... tables --without NAME,NAME                               leaves tables out, such as those kept back for the end

simulated  two Gaussian clouds in 5 columns and 5 columns of noise, three distances, three priors, 50 or 500 labelled
           rows, 1,500 unlabelled ones, SEEDS draws of each. The truth of a draw is the share that it holds.
tables     PU problems made of real tables by their own `split`; categories are encoded as ordinal numbers.

The forest is fitted once for each problem, so the estimators on scores share its scores; its seconds stand apart. The
estimators on rows get an interval from fewer halves (HALVES), to bound the time. '(scores)': the same estimator, told
the out-of-fold scores as its only column.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import scipy
import sklearn

import real_tables
from distpu.prior import LARGEST, ON_ROWS, ON_SCORES, inside_unit
from distpu.prior.interval import bootstrapped, halved, percentile
from distpu.prior.known import INTERVALS, SHAPES
from distpu.prior.scores import filled_rows, out_of_fold_scores
from distpu.prior.separable import APART, least_share, separability

OUT = Path(__file__).parents[1] / "results/prior"
SEEDS, LEVEL, BOOTSTRAP, HALVES = 3, 0.9, 50, 5
DISTANCES = {"apart": 2.0, "touching": 1.2, "overlapping": 0.7}  # between the clouds, in each of 5 columns
SHARES, LABELLED, UNLABELLED = (0.1, 0.3, 0.6), (50, 500), 1500
ROWS = 4000  # training rows of a table
ALSO_ON_SCORES = ("tice", "pe", "pen-l1")
HALVED = ("tice", "pe", "pen-l1")  # KM would take hours


class Problem(NamedTuple):
    group: str
    x: np.ndarray
    s: np.ndarray
    truth: float
    seed: int


class Line(NamedTuple):
    name: str
    group: str
    labelled: int
    truth: float
    share: float
    low: float
    high: float
    seconds: float  # of one estimate, without the interval
    apart: float  # separability of the forest's scores

    @property
    def error(self) -> float:
        return self.share - self.truth


def simulated() -> Iterator[Problem]:
    for group, distance in DISTANCES.items():
        for share in SHARES:
            for labelled in LABELLED:
                for seed in range(SEEDS):
                    random = np.random.default_rng([seed, labelled, round(100 * share)])
                    y = np.concatenate([np.ones(labelled, bool), random.random(UNLABELLED) < share])
                    x = random.normal(size=(len(y), 10))
                    x[:, :5] += distance * y[:, None]
                    s = np.repeat([1, 0], [labelled, UNLABELLED])
                    yield Problem(group, x.astype(np.float32), s, float(y[labelled:].mean()), seed)


def tables() -> Iterator[Problem]:
    source = real_tables.source()
    left_out = sys.argv[3].split(",") if sys.argv[2:3] == ["--without"] else []
    for name in source.names():
        if name in left_out:
            continue
        X, s, _, _, truth = source.split(name, seed=0, rows=ROWS, na_values=source.BLANKS)
        yield Problem(name, real_tables.ordinal(X), s, truth, 0)


def measure(problem: Problem) -> tuple[list[Line], float]:
    """A line per estimator, and the seconds of the forest."""
    start = time.perf_counter()
    z = out_of_fold_scores(problem.x, problem.s, problem.seed)
    forest = time.perf_counter() - start
    rows = filled_rows(problem.x, problem.s, problem.seed)
    tried = [(name, function, z, bootstrapped, BOOTSTRAP) for name, function in ON_SCORES.items()]
    tried += [(name, function, rows, halved, HALVES if name in HALVED else 0) for name, function in ON_ROWS.items()]
    columns = z[0][:, None], z[1][:, None]
    tried += [(f"{name} (scores)", ON_ROWS[name], columns, halved, HALVES) for name in ALSO_ON_SCORES]
    least = least_share(*z, LEVEL)
    apart = separability(*z, least)
    lines = []
    for name, function, (p, u), resample, times in tried:
        start = time.perf_counter()
        share = inside_unit(function(p, u), problem.s)
        seconds = time.perf_counter() - start
        if name in INTERVALS:
            low, high = INTERVALS[name](p, u, LEVEL)
        else:
            low, high = percentile(share, resample(function, p, u, times, problem.seed), LEVEL)
            low = min(low, least)
        if not times:
            low = high = float("nan")
        lines.append(Line(name, problem.group, int(problem.s.sum()), problem.truth, share, low, high, seconds, apart))
    return lines, forest


def summary(lines: list[Line]) -> list[str]:
    """Markdown: a row per estimator, the smallest mean absolute error first."""
    by_name: dict[str, list[Line]] = {}
    for line in lines:
        by_name.setdefault(line.name, []).append(line)
    rows = []
    for name, group in by_name.items():
        errors = np.array([line.error for line in group])
        made = [line for line in group if np.isfinite(line.low)]
        covered = _percent([line.low <= line.truth <= line.high for line in made if line.apart > APART])
        shaped = name in SHAPES
        bounded = [line.truth <= line.high and (line.low <= line.truth or not shaped)
                   for line in made if line.apart <= APART]  # fmt: skip
        shown = f"{_percent(bounded)}{', both ends' * shaped}"
        seconds = np.mean([line.seconds for line in group])
        rows.append((np.abs(errors).mean(), f"| {name} | {np.abs(errors).mean():.3f} | {errors.mean():+.3f} | "
                     f"{np.abs(errors).max():.3f} | {covered} | {shown} | {seconds:.3f} |"))  # fmt: skip
    two = len({(line.group, line.truth, line.labelled) for line in lines if line.apart > APART})
    one = len({(line.group, line.truth, line.labelled) for line in lines if line.apart <= APART})
    head = ["| estimator | mean absolute error | bias | worst | "
            f"coverage, two sides ({two}) | upper end holds ({one}) | seconds |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    return head + [row for _, row in sorted(rows)]


def _percent(held: list[bool]) -> str:
    return f"{100 * np.mean(held):.0f} %" if held else "-"


def header(title: str, command: str, problems: int, forest: float, whole: float) -> list[str]:
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    return [
        f"# {title}",
        "",
        f"`{command}`, {problems} problems, {whole:.0f} s: {platform.machine()}, {os.cpu_count()} cores, one used; "
        f"{versions}, scikit-learn {sklearn.__version__}. Seeds 0 to {SEEDS - 1 if 'simulated' in command else 0}.",
        "",
        "Error: of the share of positives among the unlabelled rows. Bias: its mean; worst: the largest. Coverage: how "
        f"often the {100 * LEVEL:.0f} % interval holds the truth where the scores' separability is above {APART}, so "
        "that the interval has two sides; elsewhere, how often the truth lies below its upper end (number of problems "
        "in brackets). An interval that rests on a shape has two sides everywhere. The other intervals are from "
        f"{BOOTSTRAP} bootstraps of the scores or {HALVES} random halves of the "
        "rows; '-' where no interval was made, to save time, or no problem is of that kind. Seconds: of one estimate, "
        f"beyond the forest of {forest:.1f} s a problem on average that scores need. (scores): the estimator was given "
        f"the out-of-fold scores as its only column. {LARGEST}",
        "",
    ]


def main(what: str) -> None:
    began, lines, seconds = time.perf_counter(), [], []
    for problem in {"simulated": simulated, "tables": tables}[what]():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            more, forest = measure(problem)
        lines += more
        seconds.append(forest)
        print(f"{problem.group}, truth {problem.truth:.3f}: {more[0].name} {more[0].share:.3f}", file=sys.stderr)
    whole = time.perf_counter() - began
    if what == "simulated":
        text = header(
            "The prior on simulated data", "tools/bench_prior.py simulated", len(seconds), np.mean(seconds), whole
        )
        text += ["## All", "", *summary(lines)]
        for group in DISTANCES:
            text += ["", f"## Classes {group}", "", *summary([line for line in lines if line.group == group])]
        for labelled in LABELLED:
            text += ["", f"## {labelled} labelled rows", "", *summary([x for x in lines if x.labelled == labelled])]
    else:
        text = header("The prior on real tables", "tools/bench_prior.py tables", len(seconds), np.mean(seconds), whole)
        text += [f"At most {ROWS:,} training rows of each table, one draw.", "", *summary(lines), ""]
        names = list(dict.fromkeys(line.name for line in lines))
        text += [
            "## Each table",
            "",
            f"| table | labelled | truth | separability | {' | '.join(names)} |",
            "|---" * (len(names) + 4) + "|",
        ]
        for group in dict.fromkeys(line.group for line in lines):
            own = [line for line in lines if line.group == group]
            shares = " | ".join(f"{line.share:.3f}" for line in own)
            text.append(f"| {group} | {own[0].labelled} | {own[0].truth:.3f} | {own[0].apart:.2f} | {shares} |")
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{what}.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    if sys.argv[1:] not in (["simulated"], ["tables"]) and sys.argv[1:3] != ["tables", "--without"]:
        sys.exit(__doc__)
    if sys.argv[1] == "tables" and "DISTPU_TABLES" not in os.environ:
        sys.exit("bench_prior: set DISTPU_TABLES to the folder that holds tables.py")
    main(sys.argv[1])
