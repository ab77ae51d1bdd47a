"""Methods on real tables with nothing given but the labels: accuracy, F1, AUC, error of the prior, CPU seconds.

    DISTPU_TABLES=FOLDER python tools/bench_tables.py [--draws 3] [--rows 20000] [--methods blend-pu,...]

FOLDER holds tables.py, whose `split` makes the PU problems. Test labels are read for the table of results alone. Four
tables were held back while the default was being developed (HELD_BACK); they are reported apart. Categories become
ordinal numbers, dates days, weekdays and hours, texts 50 components of TF-IDF; identifiers are left out. One thread.
Writes results/tables/README.md.

forest: 200 trees, leaves of 5 rows, labelled against unlabelled rows, out of fold, cut by Elkan-Noto's c.
forest, true prior: the same scores, cut at the quantile of the true prior. No tool could know that prior.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import sklearn

from distpu.datasets.draw import folds

OUT = Path(__file__).parents[1] / "results/tables"
HELD_BACK = ("metro_traffic", "review_sentences", "titanic", "german_credit")
COLUMNS = ("accuracy", "f1", "auc", "prior_error", "prior_bias", "seconds")


def encoded(
    train: pd.DataFrame, test: pd.DataFrame, drop: list[str], dates: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers stay; dates become days; texts 50 components; other values their place among the values of train."""
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    for name in train.columns.drop(drop, errors="ignore"):
        a, b = train[name], test[name]
        if name in dates:
            columns.append((_date(a), _date(b)))
            continue
        if a.dtype.kind in "biuf":
            columns.append((a.to_numpy(float)[:, None], b.to_numpy(float)[:, None]))
            continue
        a, b = a.astype(object).where(a.notna()), b.astype(object).where(b.notna())
        known = a.dropna().astype(str)
        if len(known) and known.str.split().str.len().mean() > 4 and known.nunique() > len(known) / 2:
            columns.append(_text(a, b))
            continue
        places = {value: i for i, value in enumerate(sorted(known.unique()))}
        columns.append(tuple(part.astype(str).map(places).to_numpy(float)[:, None] for part in (a, b)))  # type: ignore
    x, xt = (np.concatenate(parts, axis=1).astype(np.float32) for parts in zip(*columns, strict=True))
    some = ~np.isnan(x).all(0)  # scikit-learn's boosting fails on a column of blanks
    return x[:, some], xt[:, some]


def _date(column: pd.Series) -> np.ndarray:
    """Days since 1970, the day of the week and the hour."""
    when = pd.to_datetime(column, format="mixed", errors="coerce")
    days = (when - pd.Timestamp(0)).dt.total_seconds() / 86_400
    return np.column_stack([part.to_numpy(float) for part in (days, when.dt.dayofweek, when.dt.hour)])


def _text(a: pd.Series, b: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    words = TfidfVectorizer(min_df=2, sublinear_tf=True)
    model = make_pipeline(words, TruncatedSVD(50, random_state=0))
    return model.fit_transform(a.fillna("").astype(str)), model.transform(b.fillna("").astype(str))


def forest(x: np.ndarray, s: np.ndarray, xt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-fold scores of the training rows and mean scores of the test rows."""
    from sklearn.ensemble import RandomForestClassifier

    fold, z, zt = folds(x, s, 5, 0), np.empty(len(s)), np.zeros(len(xt))
    for k in range(5):
        model = RandomForestClassifier(200, min_samples_leaf=5, random_state=0).fit(x[fold != k], s[fold != k])
        z[fold == k] = model.predict_proba(x[fold == k])[:, 1]
        zt += model.predict_proba(xt)[:, 1] / 5
    return z, zt


def measured(y: np.ndarray, z: np.ndarray, called: np.ndarray, prior: float, truth: float, seconds: float) -> dict:
    from sklearn.metrics import f1_score, roc_auc_score

    error = prior - truth
    return dict(accuracy=100 * (called == y).mean(), f1=100 * f1_score(y, called), auc=100 * roc_auc_score(y, z),
                prior_error=abs(error), prior_bias=error, seconds=seconds)  # fmt: skip


def lines_of(
    table: str, draw: int, source: Any, rows: int, methods: list[str], with_forest: bool = True
) -> list[dict[str, Any]]:
    from distpu.methods import make

    X, s, X_test, y, truth = source.split(table, seed=draw, rows=rows, na_values=source.BLANKS)
    x, xt = encoded(X, X_test, source.IDS.get(table, []), source.DATES.get(table, []))
    lines = []

    def add(name: str, **values: Any) -> None:
        line = {"table": table, "draw": draw, "method": name, "labelled": int(s.sum()), "truth": truth, **values}
        lines.append(line)
        print(f"{table} {draw} {name}: " + ", ".join(f"{k} {line[k]:.3g}" for k in COLUMNS), flush=True)

    if with_forest:
        start = time.process_time()
        z, zt = forest(x, s, xt)
        seconds = time.process_time() - start
        c, n_p, n_u = z[s == 1].mean(), (s == 1).sum(), (s == 0).sum()
        share = float(np.clip(n_p * (1 - c) / c / n_u, 0, 1))
        add("forest", **measured(y, zt, zt >= c / 2, share, truth, seconds))
        add("forest, true prior",
            **measured(y, zt, zt >= np.quantile(z[s == 0], 1 - truth), truth, truth, seconds))  # fmt: skip
    for name in methods:
        start = time.process_time()
        model = make(name, {"random_state": draw, "progress": False})
        fill = np.where(np.isnan(x).all(0), 0, np.nanmedian(x, axis=0)) if name not in TAKES_BLANKS else None
        a, b = (x, xt) if fill is None else (np.where(np.isnan(x), fill, x), np.where(np.isnan(xt), fill, xt))
        z_test = model.fit(a, s).decision_function(b)
        add(name, **measured(y, z_test, z_test >= 0, model.prior_, truth, time.process_time() - start))
    return lines


TAKES_BLANKS = ("auto", "blend-pu", "dist-pu-boost", "elkan-noto", "bagging-pu", "two-step")


def table_of(lines: pd.DataFrame) -> list[str]:
    """A row per method: means over tables, the draws of a table first."""
    by_table = lines.groupby(["method", "table"], sort=False)[list(COLUMNS)].mean()
    means = by_table.groupby("method", sort=False).mean()
    head = "| method | accuracy | F1 | AUC | error of the prior | bias | CPU seconds a table |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for name, m in means.iterrows():
        known = "true prior" in str(name)
        error, bias = ("-", "-") if known else (f"{m.prior_error:.3f}", f"{m.prior_bias:+.3f}")
        rows.append(f"| {name} | {m.accuracy:.1f} | {m.f1:.1f} | {m.auc:.1f} | {error} | {bias} | {m.seconds:.1f} |")
    return rows


def page(lines: pd.DataFrame, rows: int, draws: int) -> str:
    import lightgbm

    held = lines["table"].isin(HELD_BACK)
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    each = lines.pivot_table(index="table", columns="method", values="auc", sort=False)
    parts = [
        "# Real tables, nothing given but the labels",
        f"`tools/bench_tables.py --draws {draws} --rows {rows}`: {platform.machine()}, one thread; {versions}, "
        f"lightgbm {lightgbm.__version__}. At most {rows:,} training rows. Means over tables and draws, on test rows.",
        f"## {len(set(lines['table'][~held]))} development tables",
        *table_of(lines[~held]),
        f"## {len(set(lines['table'][held]))} tables held back until the end",
        f"{', '.join(HELD_BACK)}. No choice was made on them for this table; their priors were seen as part of a mean "
        "in an earlier benchmark of estimators, and their figures once before, with the cut and the prior of then.",
        *table_of(lines[held]),
        "## AUC, each table",
        "| table | " + " | ".join(each.columns) + " |",
        "|---" * (len(each.columns) + 1) + "|",
        *(f"| {name} | " + " | ".join(f"{v:.1f}" for v in row) + " |" for name, row in each.iterrows()),
    ]
    text = "\n".join(part if part.startswith("|") else f"\n{part}\n" for part in parts)
    return text.strip().replace("\n\n\n", "\n\n") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--methods", default="blend-pu")
    parser.add_argument("--tables", default="")
    parser.add_argument("--only-page", action="store_true", help="write the page from results/tables/runs.jsonl again")
    told = parser.parse_args()
    warnings.filterwarnings("ignore")
    OUT.mkdir(parents=True, exist_ok=True)
    kept = OUT / "runs.jsonl"
    done = pd.read_json(kept, lines=True) if kept.exists() else pd.DataFrame(columns=["table", "draw", "method"])
    if not told.only_page:
        import real_tables  # beside this file

        source = real_tables.source()
        for draw in range(told.draws):
            for table in told.tables.split(",") if told.tables else source.names():
                have = set(done[(done["table"] == table) & (done["draw"] == draw)]["method"])
                methods = [name for name in told.methods.split(",") if name not in have]
                if methods or not have:
                    new = pd.DataFrame(lines_of(table, draw, source, told.rows, methods, "forest" not in have))
                    done = pd.concat([done, new[~new["method"].isin(have)]], ignore_index=True)
                    done.to_json(kept, orient="records", lines=True, double_precision=6)
    (OUT / "README.md").write_text(page(done, told.rows, int(done["draw"].max()) + 1))


if __name__ == "__main__":
    main()
