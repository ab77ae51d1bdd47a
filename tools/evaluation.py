"""Metrics without negatives beside the truth and beside the naive ones, on simulated rows.

    python tools/evaluation.py             prints the two tables of docs/evaluation.md
    python tools/evaluation.py --write     writes them into the page, and draws its figure (needs matplotlib)

Positives score as N(1, 1) and negatives as N(-1, 1), so every true value is an integral. 40 % of the population are
positive. The naive version takes unlabelled rows for negatives and calls scikit-learn's metric.
"""

from __future__ import annotations

import math
import re
import sys
from inspect import signature
from pathlib import Path

import numpy as np
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score, roc_auc_score

from distpu.metrics import PU_METRICS, SCENARIOS, sigmoid_loss

PAGE = Path(__file__).parents[1] / "docs/evaluation.md"
ROWS, LABELLED, SHARE, DRAWS = 2000, 400, 0.4, 200  # in a single set the labelled rows are half of the positives
COMPARED = [name for name in PU_METRICS if name != "pu_auc"]


def prior_of(scenario: str, share: float = SHARE, labelled: float = LABELLED / ROWS) -> float:
    """Share of positives among the unlabelled rows."""
    return share if scenario == "case-control" else (share - labelled) / (1 - labelled)


def draw(
    scenario: str,
    random: np.random.Generator,
    rows: int = ROWS,
    share: float = SHARE,
    labelled: float = LABELLED / ROWS,
) -> tuple[np.ndarray, np.ndarray]:
    """PU labels and scores of one draw. In a single set each positive is labelled with the same probability."""
    y = random.random(rows) < share
    s, z = np.zeros(rows, dtype=int), random.normal(size=rows) + np.where(y, 1, -1)
    if scenario == "single-set":
        s[y & (random.random(rows) < labelled / share)] = 1
        return s, z
    more = round(rows * labelled)
    return np.concatenate([s, np.ones(more, dtype=int)]), np.concatenate([z, random.normal(size=more) + 1])


def truth(share: float = SHARE) -> dict[str, float]:
    """The metrics of the population."""
    t = np.linspace(-10, 10, 20_001)
    above = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in np.linspace(-11, 11, 22_001)])  # P(N(0, 1) >= x)
    r, f = above[:20_001], above[2000:]  # recall and false positive rate at the cut t
    q = share * r + (1 - share) * f
    p, n = (np.exp(-((t - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (1, -1))

    def mean(value: np.ndarray, density: np.ndarray) -> float:
        return float((value * density).sum() * (t[1] - t[0]))

    zero = len(t) // 2
    risk = share * mean(sigmoid_loss(t), p) + (1 - share) * mean(sigmoid_loss(-t), n)
    accuracy = share * r[zero] + (1 - share) * (1 - f[zero])
    return {
        "pu_accuracy": accuracy,
        "pu_precision": share * r[zero] / q[zero],
        "pu_recall": r[zero],
        "pu_f1": 2 * share * r[zero] / (share + q[zero]),
        "pu_roc_auc": mean(1 - f, p),
        "pu_average_precision": mean(share * r / q, p),
        "pu_proxy_accuracy": accuracy + share,
        "pu_unbiased_risk": risk,
        "pu_non_negative_risk": risk,
        "lee_liu": r[zero] ** 2 / q[zero],
        "prior_gap": q[zero] - share,
    }


def ours(name: str, s: np.ndarray, z: np.ndarray, prior: float, scenario: str) -> tuple[float, float]:
    metric, told = PU_METRICS[name], {"prior": prior, "scenario": scenario}
    found = metric(s, z, **{key: told[key] for key in told if key in signature(metric).parameters})
    return float(found), found.error


def naive(s: np.ndarray, z: np.ndarray) -> dict[str, float]:
    called = (z >= 0).astype(int)
    return {
        "pu_accuracy": float((called == s).mean()),
        "pu_precision": precision_score(s, called),
        "pu_recall": recall_score(s, called),
        "pu_f1": f1_score(s, called),
        "pu_roc_auc": roc_auc_score(s, z),
        "pu_average_precision": average_precision_score(s, z),
        "pu_unbiased_risk": float(sigmoid_loss(np.where(s == 1, z, -z)).mean()),
        "prior_gap": float(called.mean() - s.mean()),
    }


def measured(scenario: str) -> dict[str, tuple[float, ...]]:
    """Of each metric: the truth, our mean, our mean standard error, our spread over draws, the naive mean."""
    random, prior, true = np.random.default_rng(0), prior_of(scenario), truth()
    draws = [draw(scenario, random) for _ in range(DRAWS)]
    wrong = [naive(s, z) for s, z in draws]
    found = {}
    for name in COMPARED:
        value, error = np.array([ours(name, s, z, prior, scenario) for s, z in draws]).T
        guess = np.mean([one.get(name, np.nan) for one in wrong])
        found[name] = true[name], value.mean(), error.mean(), value.std(ddof=1), float(guess)
    return found


def with_the_wrong_share() -> float:
    """ROC AUC of a single set, corrected with the share of positives among all rows, and not clipped."""
    random = np.random.default_rng(0)
    found = [roc_auc_score(*draw("single-set", random)) for _ in range(DRAWS)]
    return float((np.mean(found) - SHARE / 2) / (1 - SHARE))


def table(found: dict[str, tuple[float, ...]]) -> str:
    lines = ["| metric | truth | ours | standard error | spread over draws | naive |", "|---|---|---|---|---|---|"]
    for name, numbers in found.items():
        cells = ["" if np.isnan(number) else f"{number:.3f}" for number in numbers]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def figure(results: dict[str, dict[str, tuple[float, ...]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = ["pu_accuracy", "pu_precision", "pu_recall", "pu_f1", "pu_roc_auc", "pu_average_precision"]
    drawn, panels = plt.subplots(1, 2, figsize=(9, 3), sharey=True, sharex=True, layout="constrained")
    for panel, (scenario, found) in zip(panels, results.items(), strict=True):
        true, mean, error, _, guess = np.array([found[name] for name in shown]).T
        place = np.arange(len(shown))[::-1]
        panel.barh(place, true, color="0.9", label="truth")
        panel.errorbar(mean, place, xerr=error, fmt="o", color="C0", capsize=3, label="ours, with its standard error")
        panel.plot(guess, place, "x", color="C3", label="naive: unlabelled rows taken for negatives")
        panel.set(title=scenario, yticks=place, yticklabels=shown, xlim=(0, 1))
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    drawn.savefig(PAGE.with_suffix(".png"), dpi=120, metadata={"Software": None})


def main() -> None:
    results = {scenario: measured(scenario) for scenario in SCENARIOS}
    text = PAGE.read_text() if "--write" in sys.argv else ""
    for scenario, found in results.items():
        print(f"{scenario}\n\n{table(found)}")
        text = re.sub(rf"(### {scenario}.*?\n\n)\| metric .*?\n(?!\|)", rf"\g<1>{table(found)}", text, flags=re.DOTALL)
    print(f"ROC AUC with the share among all rows as the prior: {with_the_wrong_share():.3f}")
    if "--write" in sys.argv:
        PAGE.write_text(text)
        figure(results)


if __name__ == "__main__":
    main()
