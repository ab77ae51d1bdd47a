"""The estimators of the prior on two simulated problems, and the table of docs/prior.md.

    python tools/prior.py             prints what the page shows
    python tools/prior.py --write     writes the tables into the page, and draws its figure (needs matplotlib)

Two problems: labelled rows and positives score as N(d, 1), negatives as N(0, 1), with d = 4 (classes apart) and d = 1
(classes overlap). 1,000 rows are labelled, 10,000 are unlabelled, and 30 % of these are positive. The scores are given:
no forest is fitted. The errors are those of results/prior, which tools/bench_prior.py writes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from distpu.prior import ON_SCORES, Estimate, PriorEstimator

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs/prior.md", ROOT / "results/prior"
LABELLED, UNLABELLED, SHARE = 1000, 10_000, 0.3
DISTANCES = {"classes apart": 4.0, "classes overlap": 1.0}


def draw(distance: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores of labelled and of unlabelled rows. Exactly SHARE of the unlabelled rows are positive."""
    random = np.random.default_rng(seed)
    y = np.arange(UNLABELLED) < SHARE * UNLABELLED
    return random.normal(distance, 1, LABELLED), random.normal(size=UNLABELLED) + distance * y


def estimates(z_p: np.ndarray, z_u: np.ndarray) -> list[Estimate]:
    return [PriorEstimator(name).fit_scores(z_p, z_u).estimate_ for name in ON_SCORES]


def curve(z_p: np.ndarray, z_u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q_P and q_U / q_P at each labelled row's score, from a twentieth of the labelled rows on."""
    cuts = np.sort(z_p)[::-1]
    q_p = np.arange(1, len(cuts) + 1) / len(cuts)
    q_u = (z_u[:, None] >= cuts).mean(0)
    return q_p[q_p >= 0.05], (q_u / q_p)[q_p >= 0.05]


def two_problems(found: dict[str, list[Estimate]]) -> str:
    lines = ["| estimator | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for name in ON_SCORES:
        cells = []
        for list_ in found.values():
            (one,) = (x for x in list_ if x.name == name)
            low, high = one.interval or (one.prior, one.prior)
            cells.append(
                f"{one.prior:.2f}, " + (f"{low:.2f} to {high:.2f}" if one.two_sided else f"at most {high:.2f}")
            )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def errors() -> str:
    """The estimators side by side: mean absolute error, bias and worst case of both benchmarks; seconds."""
    found: dict[str, dict[str, list[str]]] = {}
    for what in ("simulated", "tables"):
        first = (RESULTS / f"{what}.md").read_text().split("|---|---|---|---|---|---|---|\n")[1].split("\n\n")[0]
        rows = (line.strip("| ").split(" | ") for line in first.splitlines())
        found[what] = {name: cells for name, *cells in rows if "(scores)" not in name}
    names = sorted(found["tables"], key=lambda name: float(found["tables"][name][0]))
    lines = [
        "| estimator | error, simulated | bias | worst | error, tables | bias | worst | seconds |",
        "|---" * 8 + "|",
    ]
    for name in names:
        cells = found["simulated"][name][:3] + found["tables"][name][:3] + [found["tables"][name][-1]]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def figure(problems: dict[str, tuple[np.ndarray, np.ndarray]], found: dict[str, list[Estimate]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawn, panels = plt.subplots(2, 2, figsize=(9, 5.6), layout="constrained", height_ratios=[1.2, 1])
    for k, (title, (z_p, z_u)) in enumerate(problems.items()):
        top, bottom = panels[:, k]
        top.plot(*curve(z_p, z_u), color="C0", label="q_U / q_P above the cut")
        top.axhline(SHARE, color="black", linestyle="--", linewidth=1, label="truth")
        top.set(title=title, xlim=(0, 1), ylim=(0, 1), xlabel="q_P, share of the labelled rows above the cut")
        for place, one in enumerate(found[title]):
            low, high = one.interval or (one.prior, one.prior)
            bound = not one.two_sided
            bottom.plot([0 if bound else low, high], [place, place], color="C0", linewidth=2,
                        linestyle=":" if bound else "-")  # fmt: skip
            bottom.plot([one.prior], [place], "v" if bound else "o", color="C3")
        bottom.axvline(SHARE, color="black", linestyle="--", linewidth=1)
        bottom.set(xlim=(0, 1), xlabel="share of positives among the unlabelled rows")
        bottom.set_yticks(range(len(found[title])), [one.name for one in found[title]] if k == 0 else [])
        bottom.invert_yaxis()
    panels[0, 0].legend(frameon=False, loc="upper left")
    panels[0, 0].set_ylabel("largest share that the cut allows")
    bottom = panels[1, 0]
    bottom.plot([], [], "-", color="C0", linewidth=2, label="two sides")
    bottom.plot([], [], ":", color="C0", linewidth=2, label="upper bound")
    bottom.legend(frameon=False, loc="center right")
    drawn.savefig(PAGE.with_suffix(".png"), dpi=120, metadata={"Software": None})


def main() -> None:
    problems = {title: draw(distance) for title, distance in DISTANCES.items()}
    found = {title: estimates(*z) for title, z in problems.items()}
    print(two_problems(found))
    print(errors())
    if "--write" in sys.argv:
        text = PAGE.read_text()
        for head, table in (("| estimator | classes apart", two_problems(found)), ("| estimator | error,", errors())):
            text = re.sub(rf"{re.escape(head)}.*?\n(?!\|)", lambda _, table=table: table, text, flags=re.DOTALL)
        PAGE.write_text(text)
        figure(problems, found)


if __name__ == "__main__":
    main()
