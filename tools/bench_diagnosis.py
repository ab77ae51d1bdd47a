"""How often each finding of `distpu diagnose` is a false alarm, and how often it finds what was put in.

    python tools/bench_diagnosis.py simulated                        results/diagnosis/simulated.md; minutes on one core
    DISTPU_TABLES=FOLDER python tools/bench_diagnosis.py tables      results/diagnosis/tables.md; FOLDER holds tables.py

simulated  two Gaussian clouds in 5 columns and 5 columns of noise, 2,000 rows
tables     the real tables but those in HELD; ROWS training rows at most; categories are encoded as ordinal numbers

Every problem is labelled anew from its true labels, which the diagnosis does not see:
    at random         the same probability for all positives (SCAR): everything that is found is a false alarm
    larger half       only positives above the median of one column, half of these
    rising            the probability rises e^3 = 20-fold from the lowest to the highest rank of one column
    largest           all positives above a quantile of one column are labelled, none below
    id                at random; the labelled rows come first, and a column numbers the rows
    leak              at random; a column of noise is 3 deviations higher in labelled rows
    blank             at random; a column is blank except in labelled rows
    copies            at random; a third of the labelled rows are repeated as unlabelled ones
    8 labelled        8 labelled rows at random
    known leak        at random; the tables' own leaks, which are left out above, are kept (LEAKS of tables.py)
The column of a selective labelling is drawn at random; among the tables it has more than 20 different values. A finding
counts from the level 'look' on; 'unknown' does not count. Prior contradicted: the true prior, if it were told, is above
the largest one that is consistent with the labelled rows.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
from scipy.stats import rankdata

import real_tables
from distpu.diagnosis import Diagnosis, diagnose

OUT = Path(__file__).parents[1] / "results/diagnosis"
FINDINGS = ("labelling", "give-away", "separability", "labelled rows", "copies", "row order", "prior")
DISTANCES = {"apart": 2.0, "touching": 1.2, "overlapping": 0.7}
SHARES, LABELLED, LENGTH = (0.15, 0.4), (50, 200), 2000
ROWS, HELD = 2500, ("metro_traffic", "review_sentences", "titanic", "german_credit")
# how many draws of each problem; of the other kinds one
DRAWS = {"at random": 5, "known leak": 2}
KINDS = ("at random", "larger half", "rising", "largest", "id", "leak", "blank", "copies", "8 labelled", "known leak")


class Line(NamedTuple):
    group: str
    kind: str
    levels: dict[str, str]
    right: bool  # whether the labelling, or the give-away, names the column that was used
    contradicted: bool  # whether the true prior is above the largest one that the labelled rows explain
    seconds: float


def labelled(x: np.ndarray, y: np.ndarray, kind: str, count: int, column: int, random) -> np.ndarray:
    """PU labels."""
    p = np.flatnonzero(y == 1)
    rank = (rankdata(np.nan_to_num(x[p, column], nan=-np.inf)) - 0.5) / len(p)
    weight = {"larger half": (rank > 0.5).astype(float), "rising": np.exp(3 * rank)}.get(kind, np.ones(len(p)))
    count = 8 if kind == "8 labelled" else min(count, int((weight > 0).sum()) // 2)
    s = np.zeros(len(y), dtype=int)
    if kind == "largest":
        s[p[np.argsort(-rank, kind="stable")[:count]]] = 1
    else:
        s[random.choice(p, count, replace=False, p=weight / weight.sum())] = 1
    return s


def changed(x: np.ndarray, s: np.ndarray, kind: str, random) -> tuple[np.ndarray, np.ndarray]:
    """The rows and labels with an id, a leak, blanks or copies; an added column is the last one."""
    more = None
    if kind == "id":
        order = np.argsort(-s, kind="stable")
        x, s = x[order], s[order]
        more = np.arange(len(s))
    if kind == "leak":
        more = random.normal(size=len(s)) + 3 * s
    if kind == "blank":
        more = np.where(s == 1, random.normal(size=len(s)), np.nan)
    if kind == "copies":
        again = np.flatnonzero(s == 1)[: int(s.sum()) // 3]
        x, s = np.concatenate([x, x[again]]), np.concatenate([s, np.zeros(len(again), dtype=int)])
    return (x if more is None else np.column_stack([x, more])).astype(np.float32), s


def line(
    group: str, kind: str, x: np.ndarray, y: np.ndarray, count: int, seed: int, leaks: tuple[int, ...] = ()
) -> Line:
    random = np.random.default_rng([seed, KINDS.index(kind), len(group)])
    many = [j for j in range(x.shape[1]) if len(np.unique(x[y == 1, j])) > 20]
    column = int(random.choice(many)) if many else 0
    s = labelled(x, y, kind, count, column, random)
    truth = float(y[s == 0].mean())
    z, s = changed(x, s, kind, random)
    wanted = leaks or ((x.shape[1],) if z.shape[1] > x.shape[1] else (column,))
    start = time.perf_counter()
    found = diagnose(z, s, random_state=seed)
    seconds = time.perf_counter() - start
    levels = {name: found.finding(name).level for name in FINDINGS}
    return Line(group, kind, levels, any(f"column {j}" in named(found) for j in wanted), truth > found.largest, seconds)


def named(found: Diagnosis) -> list[str]:
    """The columns that the diagnosis complains of."""
    odd = found.finding("give-away").numbers.get("suspicious", [])
    return [one.column for one in found.contrasts if one.differs] + odd


def simulated() -> Iterator[Line]:
    for group, distance in DISTANCES.items():
        for share in SHARES:
            for count in LABELLED:
                for kind in KINDS[:-1]:
                    for draw in range(DRAWS.get(kind, 1)):
                        random = np.random.default_rng([draw, count, round(100 * share), KINDS.index(kind)])
                        y = (random.random(LENGTH) < share).astype(int)
                        x = random.normal(size=(LENGTH, 10))
                        x[:, :5] += distance * y[:, None]
                        yield line(group, kind, x, y, count, 100 * draw + count)


def tables() -> Iterator[Line]:
    source = real_tables.source()
    for name in source.names():
        if name in HELD:
            continue
        X, y = source.load(name, leaks=True, na_values=source.BLANKS)
        X = X.drop(columns=source.IDS.get(name, []))
        leaks = source.LEAKS.get(name, [])
        places = tuple(X.columns.get_loc(one) for one in leaks)
        plain, full = real_tables.ordinal(X.drop(columns=leaks)), real_tables.ordinal(X)
        for kind in KINDS if leaks else KINDS[:-1]:
            x = full if kind == "known leak" else plain
            for seed in range(DRAWS.get(kind, 1)):
                rows = np.random.default_rng(1000 + seed).permutation(len(y))[:ROWS]
                positives = int(y[rows].sum())
                count = min(max(30, round(0.3 * positives)), 500)
                yield line(name, kind, x[rows], y[rows], count, seed, places if kind == "known leak" else ())


def table(lines: list[Line]) -> list[str]:
    """Markdown: a row per kind, the share of problems in which each finding is made."""
    head = ["how rows were labelled", "problems", *FINDINGS, "untested", "prior contradicted", "column named"]
    text = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for kind in KINDS:
        own = [one for one in lines if one.kind == kind]
        if own:
            shares = [np.mean([one.levels[name] in ("look", "warning") for one in own]) for name in FINDINGS]
            shares += [np.mean([one.levels["labelling"] == "unknown" for one in own])]
            shares += [np.mean([one.contradicted for one in own])]
            cells = [f"{100 * share:.0f} %" for share in shares]
            right = f"{100 * np.mean([one.right for one in own]):.0f} %"
            cells.append("" if kind in ("at random", "copies", "8 labelled") else right)
            text.append(f"| {kind} | {len(own)} | {' | '.join(cells)} |")
    return text


def warnings_at_random(lines: list[Line]) -> str:
    own = [one for one in lines if one.kind == "at random"]
    shares = [f"{name} {100 * np.mean([one.levels[name] == 'warning' for one in own]):.1f} %" for name in FINDINGS]
    return f"Rows labelled at random that get a 'warning', not only a 'look': {', '.join(shares)}."


def main(what: str) -> None:
    began, lines = time.perf_counter(), []
    for one in {"simulated": simulated, "tables": tables}[what]():
        lines.append(one)
        odd = [name for name, level in one.levels.items() if level in ("look", "warning")]
        print(f"{len(lines)} {one.group}, {one.kind}: {', '.join(odd) or '-'} ({one.seconds:.1f} s)", file=sys.stderr)
    seconds = time.perf_counter() - began
    text = [
        f"# `distpu diagnose` on {'simulated data' if what == 'simulated' else 'real tables'}",
        "",
        f"`tools/bench_diagnosis.py {what}`, {len(lines)} problems, {seconds:.0f} s: {platform.machine()}, one core; "
        f"Python {platform.python_version()}, numpy {np.__version__}. The file says what each row is.",
        "",
        "Share of the problems in which a finding is at the level 'look' or 'warning'. Untested: the labelling could "
        "not be tested. Column named: the column of the selective labelling, or the added one, is named.",
        "",
        *table(lines),
        "",
        warnings_at_random(lines),
    ]
    for group in dict.fromkeys(one.group for one in lines):
        text += ["", f"## {group}", "", *table([one for one in lines if one.group == group])]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{what}.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    if sys.argv[1:] not in (["simulated"], ["tables"]):
        sys.exit(__doc__)
    if sys.argv[1] == "tables" and "DISTPU_TABLES" not in os.environ:
        sys.exit("bench_diagnosis: set DISTPU_TABLES to the folder that holds tables.py")
    main(sys.argv[1])
