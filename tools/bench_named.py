"""The other methods that the paper names, on real tables and on texts, with nothing given but the labels.

    DISTPU_TABLES=FOLDER python tools/bench_named.py [--rows 4000] [--tables A,B] [--methods "A;B"] [--texts]

Tables are those of bench_tables.py, without the four held back; texts are two columns of sentences as counts of words,
which methods on columns read as a sparse table. Test labels are read for the results alone; no setting was chosen by
them. One thread, one draw. Writes results/named/.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import bench_tables as bench  # beside this file; sets one thread
import numpy as np
import pandas as pd

import real_tables

OUT = Path(__file__).parents[1] / "results/named"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {  # the name in the table -> method, settings
    "blend-pu": ("blend-pu", {}),
    "two-step": ("two-step", {}),
    "two-step, 1-dnf": ("two-step", {"reliable": "1-dnf"}),
    "two-step, knn": ("two-step", {"reliable": "knn"}),
    "s-em": ("s-em", {}),
    "llgc": ("llgc", {}),
    "max-margin": ("max-margin", {}),
    "kldce": ("kldce", {}),
    "ldce": ("kldce", {"kernel": "linear"}),
    "kldce, paper's centroid": ("kldce", {"centroid": "paper"}),
    "kernel-upu": ("kernel-upu", {}),
    "kernel-upu, binormal": ("kernel-upu", {"prior": "binormal"}),
    "pan": ("pan", {}),
    "pulns": ("pulns", {}),
    "genpu": ("genpu", {}),
}
NETWORKS = ("pan", "pulns", "genpu")
TEXTS = ("youtube_spam", "review_sentences")
ON_TEXTS = ("blend-pu", "two-step", "two-step, 1-dnf", "two-step, knn", "s-em", "llgc", "kldce", "ldce", "max-margin",
            *NETWORKS)  # fmt: skip


def line(table: str, name: str, x: Any, s: np.ndarray, xt: Any, y: np.ndarray, truth: float, **more: Any) -> dict:
    """Fit and judge one method."""
    from distpu.methods import make
    from distpu.prior import estimator

    estimator._recent.clear()  # else the first method alone would pay for the estimate of the prior
    method, settings = METHODS[name]
    start = time.process_time()
    model = make(method, {"random_state": 0, "progress": False, **settings, **more})
    try:
        z = model.fit(x, s).decision_function(xt)
    except ValueError as error:  # such as the paper's centroid, which many tables do not allow
        print(f"{table} {name}: {error}", flush=True)
        return {"table": table, "method": name, "error": str(error)}
    found = bench.measured(y, z, z >= 0, model.prior_, truth, time.process_time() - start)
    print(f"{table} {name}: " + ", ".join(f"{k} {v:.3g}" for k, v in found.items()), flush=True)
    return {"table": table, "method": name, "labelled": int(s.sum()), "truth": truth, **found}


def tables(source: Any, rows: int, names: list[str], methods: list[str], done: set[tuple[str, str]]) -> list[dict]:
    lines = []
    for table in names:
        X, s, X_test, y, truth = source.split(table, seed=0, rows=rows, na_values=source.BLANKS)
        x, xt = bench.encoded(X, X_test, source.IDS.get(table, []), source.DATES.get(table, []))
        middle = np.where(np.isnan(x).all(0), 0, np.nanmedian(x, axis=0))
        for name in methods:
            if (table, name) not in done:
                fill = METHODS[name][0] in NETWORKS  # networks take no blanks
                a, b = (np.where(np.isnan(part), middle, part) if fill else part for part in (x, xt))
                lines.append(line(table, name, a, s, b, y, truth))
    return lines


def texts(source: Any, methods: list[str], done: set[tuple[str, str]]) -> list[dict]:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    lines = []
    for table in TEXTS:
        X, s, X_test, y, truth = source.split(table, seed=0)
        (column,) = source.TEXTS[table]
        words = CountVectorizer(min_df=2)
        x, xt = words.fit_transform(X[column]).astype(float), words.transform(X_test[column]).astype(float)
        for name in methods:
            if (f"{table}, words", name) not in done:
                inside = {"estimator": LogisticRegression(max_iter=1000)} if METHODS[name][0] == "two-step" else {}
                a, b = (x.toarray(), xt.toarray()) if METHODS[name][0] in NETWORKS else (x, xt)  # networks are dense
                lines.append(line(f"{table}, words", name, a, s, b, y, truth, **inside))
    return lines


def means(lines: pd.DataFrame) -> list[str]:
    """A row per method: means over the tables that it has."""
    head = "| method | tables | accuracy | F1 | AUC | error of the prior | CPU seconds a table |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for name in METHODS:
        its = lines[lines["method"] == name].dropna(subset=["auc"])
        if len(its):
            m = its[list(bench.COLUMNS)].mean()
            shown = f"{m.accuracy:.1f} | {m.f1:.1f} | {m.auc:.1f} | {m.prior_error:.3f} | {m.seconds:.1f} |"
            rows.append(f"| {name} | {len(its)} | {shown}")
    return rows


def page(lines: pd.DataFrame, rows: int) -> str:
    words = lines["table"].str.endswith(", words")
    each = lines.dropna(subset=["auc"]).pivot_table(index="table", columns="method", values="auc", sort=False)
    each = each[[name for name in METHODS if name in each]]
    parts = [
        "# The other methods that the paper names",
        f"`DISTPU_TABLES=FOLDER python tools/bench_named.py --rows {rows}`: one draw, at most {rows:,} training rows, "
        "one thread, nothing given but the labels. Means on test rows. `runs.jsonl` has every line.",
        "## Development tables",
        *means(lines[~words]),
        "## Texts as counts of words",
        "youtube_spam and review_sentences. Two-step has a logistic regression inside.",
        *means(lines[words]),
        "## AUC, each table",
        "| table | " + " | ".join(each.columns) + " |",
        "|---|" + "---|" * len(each.columns),
        *(f"| {name} | " + " | ".join("-" if np.isnan(v) else f"{v:.1f}" for v in row) + " |"
          for name, row in zip(each.index, each.to_numpy(), strict=True)),
    ]  # fmt: skip
    text = ""
    for before, part in zip(["", *parts], parts, strict=False):
        text += ("\n" if before.startswith("|") and part.startswith("|") else "\n\n" if text else "") + part
    return text + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--tables", default="")
    parser.add_argument("--methods", default="")
    parser.add_argument("--texts", action="store_true", help="the texts instead of the tables")
    parser.add_argument("--only-page", action="store_true", help="write the page from runs.jsonl again")
    told = parser.parse_args()
    warnings.filterwarnings("ignore")
    OUT.mkdir(parents=True, exist_ok=True)
    kept = OUT / "runs.jsonl"
    if not told.only_page:
        source = real_tables.source()
        names = told.tables.split(",") if told.tables else [n for n in source.names() if n not in bench.HELD_BACK]
        for one in [*names] if not told.texts else [""]:
            lines = pd.read_json(kept, lines=True) if kept.exists() else pd.DataFrame(columns=["table", "method"])
            done = set(zip(lines["table"], lines["method"], strict=True))
            chosen = told.methods.split(";") if told.methods else list(ON_TEXTS if told.texts else METHODS)
            new = texts(source, chosen, done) if told.texts else tables(source, told.rows, [one], chosen, done)
            lines = pd.concat([lines, pd.DataFrame(new)], ignore_index=True)
            lines.to_json(kept, orient="records", lines=True, double_precision=6)
    (OUT / "README.md").write_text(page(pd.read_json(kept, lines=True), told.rows))


if __name__ == "__main__":
    main()
