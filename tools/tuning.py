"""Does tuning help? The default settings against the tuned ones, by true labels of test rows, on real tables.

    DISTPU_TABLES=FOLDER python tools/tuning.py           writes results/tuning/tables.md; FOLDER holds tables.py
    DISTPU_TABLES=FOLDER python tools/tuning.py epochs    writes results/tuning/epochs.md

Each table is made a PU problem by its own `split` (seed 0, at most ROWS training rows). `tune_settings` sees the PU
labels alone, and BBE estimates the prior. Then the default settings, the best ones by each metric and the recommended
ones are fitted on all training rows and tested. True labels decide nothing. Four tables are held back for the
end; one more has only text, dates and ids, which are not encoded here.
Lines that are in results/tuning/searches.jsonl are not made again.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import optuna
import pandas as pd
import sklearn

import real_tables
from distpu import metrics
from distpu.judge import more_is_better
from distpu.methods import make
from distpu.prior import estimate_prior
from distpu.tune import COMPLETE, tune_settings

OUT = Path(__file__).parents[1] / "results/tuning"
HELD_BACK = ("metro_traffic", "review_sentences", "titanic", "german_credit")
LEFT_OUT = (*HELD_BACK, "youtube_spam")  # the latter has only text, dates and ids
ROWS, TRIALS = 2000, 20
FEWER = 600  # rows, to choose the epoch of a network
METHODS = ("elkan-noto", "bagging-pu", "dist-pu")
FEW = {"dist-pu": ("ionosphere", "horse_colic", "oil_spill")}  # a network takes minutes on the others
BY = ("pu_accuracy", "pu_auc", "pu_f1")
SHOWN = ("accuracy", "f1", "auc")
SHARES = (0.0, 0.2)  # of rows held out to choose the epoch kept


def problem(source, name: str, most: int = ROWS):
    """Rows and labels of a table: numbers as they are, categories by their place in the alphabet, blanks NaN."""
    X, s, X_test, y_test, _ = source.split(name, seed=0, rows=most, na_values=source.BLANKS)
    both = pd.concat([X, X_test], ignore_index=True)
    both = both.drop(
        columns=[c for kind in (source.IDS, source.TEXTS, source.DATES) for c in kind.get(name, []) if c in both]
    )
    columns = []
    for column in (both[c] for c in both):
        if column.dtype.kind not in "biuf":
            codes = column.astype("category").cat.codes.astype(float)
            column = codes.where(codes >= 0)
        columns.append(column.astype(float).to_numpy())
    x = np.column_stack(columns).astype(np.float32)
    x = x[:, ~np.isnan(x[: len(X)]).all(axis=0)]  # scikit-learn's boosting fails on a column that is all blank
    return x[: len(X)], s, x[len(X) :], y_test


def filled(x: np.ndarray, x_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A network takes no blanks: they get the training rows' medians."""
    medians = np.nan_to_num(np.nanmedian(x, axis=0))
    return np.where(np.isnan(x), medians, x), np.where(np.isnan(x_test), medians, x_test)


def measure(table: str, method: str, x: np.ndarray, s: np.ndarray, x_test: np.ndarray, y_test: np.ndarray) -> dict:
    scores: dict[int, np.ndarray] = {}
    start = time.process_time()
    folder = Path("/tmp") / f"distpu-tuning-{os.getpid()}-{table}-{method}"
    found = tune_settings(x, s, method, trials=TRIALS, prior="bbe", folder=folder)
    seconds = time.process_time() - start
    for trial in found.trials:
        if trial.state == COMPLETE:
            with np.load(folder / f"trial-{trial.number:04d}.npz") as file:
                scores[trial.number] = file["score"]
    chosen = {"default": 0, "recommended": found.best.number if found.worth else 0}
    for by in BY:
        value = {n: more_is_better(by, s, z, found.prior, "case-control") for n, z in scores.items()}
        chosen[by] = max(value, key=lambda n: value[n])
    tested = {}
    for number in sorted(set(chosen.values())):
        told = {**found.told, "prior": found.prior, "progress": False, **found.trials[number].settings}
        z = make(method, told).fit(x, s).decision_function(x_test)
        tested[number] = {k: v for k, v in metrics.evaluate(y_test, z).items() if k in SHOWN}
    return {
        "table": table, "method": method, "rows": len(s), "labelled": int(s.sum()), "prior": found.prior,
        "trials": len(found.trials), "complete": len(scores), "seconds": round(seconds, 1),
        "seen": found.best.value - found.default.value, "gain": found.gain, "error": found.error, "worth": found.worth,
        "settings": found.best.settings, "chosen": chosen,
        "test": {what: tested[number] for what, number in chosen.items()},
    }  # fmt: skip


def report(lines: list[dict]) -> str:
    host = f"{platform.machine()}, {os.cpu_count()} cores, one used; Python {platform.python_version()}, "
    versions = f"optuna {optuna.__version__}, scikit-learn {sklearn.__version__}"
    text = [
        "# Does tuning help?\n",
        f"`tools/tuning.py`: {TRIALS} trials, 3 folds, at most {ROWS:,} training rows, prior by BBE; "
        f"{sum(line['seconds'] for line in lines):,.0f} CPU seconds. {host}{versions}.\n",
        "Test figures in percent, by true labels of test rows, which decided nothing. *best*: the best trial by PU "
        "accuracy. *recommended*: the best where the gain is larger than its standard error, else the default.\n",
    ]
    for method in METHODS:
        mine = [line for line in lines if line["method"] == method]
        if not mine:
            continue
        text.append(f"## {method}, {len(mine)} tables\n")
        text.append("| settings | accuracy | F1 | AUC | accuracy: better, worse than the default |")
        text.append("|---|---|---|---|---|")
        for what, name in (("default", "default"), ("pu_accuracy", "best by PU accuracy"), ("pu_auc", "best by PU AUC"),
                           ("pu_f1", "best by PU F1"), ("recommended", "recommended")):  # fmt: skip
            cells = [f"{100 * np.mean([line['test'][what][k] for line in mine]):.1f}" for k in SHOWN]
            gains = [line["test"][what]["accuracy"] - line["test"]["default"]["accuracy"] for line in mine]
            counts = f"{sum(g > 0 for g in gains)}, {sum(g < 0 for g in gains)}" if what != "default" else ""
            text.append(f"| {name} | {' | '.join(cells)} | {counts} |")
        text.append("")
        head = "| table | labelled | prior | PU accuracy: gain seen | gain, choice paid for | recommended | "
        text.append(head + "accuracy default | best | AUC default | best |")
        text.append("|---" * 10 + "|")
        for line in mine:
            test = line["test"]
            gain = f"{100 * line['seen']:+.1f} | {100 * line['gain']:+.1f} ± {100 * line['error']:.1f}"
            cells = [f"{100 * test[what][k]:.1f}" for k in ("accuracy", "auc") for what in ("default", "pu_accuracy")]
            take = "best" if line["worth"] else "default"
            told = f"{line['labelled']} | {line['prior']:.2f} | {gain} | {take}"
            text.append(f"| {line['table']} | {told} | {' | '.join(cells)} |")
        text.append("")
    return "\n".join(text)


def epochs(source) -> None:
    """Compare the last epoch of Dist-PU with the one that held-out PU rows choose."""
    rows, start = [], time.process_time()
    for table in (name for name in source.names() if name not in LEFT_OUT):
        x, s, x_test, y_test = problem(source, table, FEWER)
        x, x_test = filled(x, x_test)
        prior = estimate_prior(x, s, "bbe")
        found = {}
        for share in SHARES:
            told = {"prior": prior, "random_state": 0, "progress": False, "validation_fraction": share}
            z = make("dist-pu", told).fit(x, s).decision_function(x_test)
            found[share] = metrics.evaluate(y_test, z)
        rows.append((table, int(s.sum()), prior, found))
        print(table, found, file=sys.stderr, flush=True)
    text = [
        "# The epoch kept: the last one, or the best on held-out PU rows\n",
        f"`tools/tuning.py epochs`: dist-pu, preset by size, at most {FEWER} training rows, prior by BBE; "
        f"{time.process_time() - start:,.0f} CPU seconds. Test figures in percent, by true labels of test rows, which "
        "decided nothing. *chosen*: validation_fraction=0.2.\n",
        "| table | labelled | prior | " + " | ".join(f"{k}, last | {k}, chosen" for k in SHOWN) + " |",
        "|---" * (3 + len(SHOWN) * len(SHARES)) + "|",
    ]
    for table, labelled, prior, found in rows:
        cells = [f"{100 * found[share][k]:.1f}" for k in SHOWN for share in SHARES]
        text.append(f"| {table} | {labelled} | {prior:.2f} | {' | '.join(cells)} |")
    means = [f"{100 * np.mean([row[3][share][k] for row in rows]):.1f}" for k in SHOWN for share in SHARES]
    text.append(f"| **mean** | | | {' | '.join(means)} |\n")
    (OUT / "epochs.md").write_text("\n".join(text))
    print("\n".join(text))


def main() -> None:
    warnings.simplefilter("ignore")
    source = real_tables.source()
    OUT.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:] == ["epochs"]:
        return epochs(source)
    runs = OUT / "searches.jsonl"
    lines = [json.loads(line) for line in runs.read_text().splitlines()] if runs.exists() else []
    made = {(line["table"], line["method"]) for line in lines}
    for method in METHODS:
        for table in source.names():
            if table in LEFT_OUT or (table, method) in made or table not in FEW.get(method, [table]):
                continue
            x, s, x_test, y_test = problem(source, table)
            if method == "dist-pu":
                x, x_test = filled(x, x_test)
            lines.append(measure(table, method, x, s, x_test, y_test))
            print(table, method, lines[-1]["seconds"], lines[-1]["test"], file=sys.stderr, flush=True)
            with runs.open("a") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    (OUT / "tables.md").write_text(report(lines))
    print(report(lines))


if __name__ == "__main__":
    main()
