"""What a look at the likeliest rows brings: on real tables, and the count of hidden positives where the truth is known.

    DISTPU_TABLES=FOLDER python tools/feedback.py [--draws 1] [--rows 3000] [--tables NAME,...]
    python tools/feedback.py --simulated

A person looks at the 50 or 200 unlabelled rows of highest out-of-fold score and marks each as positive or not. BlendPU
and DistPUBoost are fitted again in two ways: with the positives marked as labelled ones and the negatives left
unlabelled, and with both (found_label, neg_label). AUC is that on test rows, which nobody looked at. "next 50" is the
share of positives among the 50 likeliest rows that are left. "left" is the estimated number of positives that are left,
divided by the true one. Test labels and the labels of rows that nobody looked at are read for the results alone. A
table of fewer than three times as many rows as are looked at is left out. One thread. Writes
results/feedback/README.md after each table, or simulated.md with --simulated.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

OUT = Path(__file__).parents[1] / "results/feedback"
LOOKS = (50, 200)
TEST = 5000  # test rows at most


def problem(source: Any, table: str, draw: int, rows: int) -> tuple[np.ndarray, ...]:
    """Return rows, PU labels and true labels of a training part, and rows and true labels of a test part."""
    from bench_tables import encoded

    X, y = source.load(table, na_values=source.BLANKS)
    random = np.random.RandomState(draw)
    order = random.permutation(len(y))
    cut = round(0.7 * len(y))
    train, test = order[:cut][:rows], order[cut:][:TEST]
    parts = (X.iloc[part].reset_index(drop=True) for part in (train, test))
    x, xt = encoded(*parts, source.IDS.get(table, []), source.DATES.get(table, []))
    positives = np.flatnonzero(y[train] == 1)
    labelled = min(max(30, min(500, round(0.3 * len(positives)))), len(positives) // 2)
    s = np.zeros(len(train), dtype=int)
    s[random.choice(positives, labelled, replace=False)] = 1
    return x, s, y[train], xt, y[test]


def lines_of(source: Any, table: str, draw: int, rows: int) -> list[dict[str, Any]]:
    from sklearn.metrics import roc_auc_score

    from distpu import BlendPU, DistPUBoost

    x, s, y, xt, yt = problem(source, table, draw, rows)
    lines = []
    for cls in (BlendPU, DistPUBoost):
        first = cls(random_state=draw).fit(x, s)
        unlabelled = np.flatnonzero(s == 0)
        ranked = unlabelled[np.argsort(-first.oof_scores_[unlabelled], kind="stable")]
        for looks in LOOKS:
            if looks > len(ranked) / 3:
                continue
            top, left = np.split(ranked, [looks])
            positive, both = s.copy(), s.copy()
            positive[top[y[top] == 1]] = 1
            both[top] = np.where(y[top] == 1, 2, -1)
            models = {
                "no look": first,
                "positives as labelled": cls(random_state=draw).fit(x, positive),
                "both": cls(random_state=draw, neg_label=-1, found_label=2).fit(x, both),
            }
            for name, model in models.items():
                z = model.oof_scores_[left]
                fitted_on = {"no look": s, "positives as labelled": positive, "both": both}[name]
                hidden = model.prior_ * (fitted_on == 0).sum() - ((y[top] == 1).sum() if name == "no look" else 0)
                lines.append({
                    "table": table, "method": cls.name, "looks": looks, "marked": name,
                    "auc": 100 * roc_auc_score(yt, model.decision_function(xt)),
                    "next 50": 100 * y[left[np.argsort(-z, kind="stable")][:50]].mean(),
                    "left": max(0.0, hidden) / max(1, y[left].sum()), "found": 100 * y[top].mean(),
                })  # fmt: skip
                print(lines[-1], flush=True)
    return lines


def simulated(draws: int = 20) -> pd.DataFrame:
    """Scores are normal in both classes, so that the estimator's own assumption holds. Nothing is fitted."""
    from distpu.looked import before, share_now
    from distpu.prior.binormal import binormal

    lines = []
    cases = [(2000, 0.2, 2.0, 100), (2000, 0.2, 1.2, 100), (2000, 0.05, 2.5, 40), (5000, 0.3, 2.0, 300)]
    for n, share, apart, labelled in cases:
        for looks in LOOKS:
            found = []
            for draw in range(draws):
                random = np.random.default_rng(draw)
                y = random.random(n) < share
                z = random.normal(size=n) + apart * y
                s = np.zeros(n, dtype=int)
                s[random.choice(np.flatnonzero(y), labelled, replace=False)] = 1
                unlabelled = np.flatnonzero(s == 0)
                top = unlabelled[np.argsort(-z[unlabelled])][:looks]
                s[top] = np.where(y[top], 2, -1)
                first, plain, left = before(s), s >= 1, s == 0
                told = share_now(binormal(z[first == 1], z[first == 0]), s, None) * left.sum()
                found.append((y[left].sum(), told, binormal(z[plain], z[left]) * left.sum()))
            true, told, plain = np.mean(found, axis=0)
            lines.append({"rows": n, "positive": share, "distance of the classes": apart, "labelled": labelled,
                          "looks": looks, "positives left": true, "found_label": told,
                          "marked as labelled": plain})  # fmt: skip
    return pd.DataFrame(lines)


def table_of(frame: pd.DataFrame, digits: int = 0) -> str:
    def cell(value: Any) -> str:
        whole = isinstance(value, (int, np.integer)) or value != value
        return str(value) if whole else f"{value:.{digits}f}" if value >= 10 else f"{value:.3g}"

    lines = frame.itertuples(index=False)
    cells = [[value if isinstance(value, str) else cell(value) for value in line] for line in lines]
    rows = [list(frame.columns), ["---"] * frame.shape[1], *cells]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draws", type=int, default=1)
    options.add_argument("--rows", type=int, default=3000)
    options.add_argument("--tables")
    options.add_argument("--simulated", action="store_true")
    told = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if told.simulated:
        text = "# Positives left after a look, mean of 20 draws\n\n`python tools/feedback.py --simulated`\n\n"
        (OUT / "simulated.md").write_text(text + table_of(simulated()) + "\n")
        return
    import real_tables

    warnings.simplefilter("ignore")
    source = real_tables.source()
    names = told.tables.split(",") if told.tables else source.names()
    lines: list[dict[str, Any]] = []
    for name in names:
        for draw in range(told.draws):
            lines += lines_of(source, name, draw, told.rows)
        (OUT / "README.md").write_text(summary(pd.DataFrame(lines), told.draws, told.rows))


def summary(frame: pd.DataFrame, draws: int, rows: int) -> str:
    keys = ["method", "looks", "marked"]
    frame["marked"] = pd.Categorical(frame["marked"], ["no look", "positives as labelled", "both"])
    groups = frame.groupby(keys, observed=True)
    mean = groups[["auc", "next 50"]].mean().join(groups["left"].median()).join(groups["table"].nunique())
    shown = mean.reset_index().astype({"marked": str}).rename(columns={"left": "left, median", "table": "tables"})
    per = frame.pivot_table(index=["table", "looks"], columns=["method", "marked"], values="auc", observed=True)
    per.columns = [f"{method}, {marked}" for method, marked in per.columns]
    return (
        f"# Feedback\n\n`python tools/feedback.py --draws {draws} --rows {rows}`, {frame['table'].nunique()} tables\n\n"
        f"{table_of(shown, 1)}\n\nAUC on test rows by table:\n\n{table_of(per.reset_index(), 1)}\n"
    )


if __name__ == "__main__":
    main()
