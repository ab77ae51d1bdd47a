"""Encodes real tables in three ways, with BlendPU behind each: ordinal codes, skrub's TableVectorizer, TableEncoder.

    DISTPU_TABLES=... python tools/bench_encode.py --out runs.jsonl [--tables a b] [--seeds 0 1] [--rows 4000]
    python tools/bench_encode.py --out runs.jsonl --show   # the table of results/encode/README.md

skrub is no dependency of distpu: `pip install skrub` first, or it is left out. A line per table, seed and encoder: AUC
on test rows, seconds to encode, seconds in all, columns. Text tables have a fourth line: TF-IDF and logistic regression
of labelled against unlabelled rows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from distpu import BlendPU
from distpu.encode import TableEncoder
from real_tables import ordinal, source

TEXTS = {"review_sentences": "sentence", "youtube_spam": "CONTENT"}


def codes(train, test, s):
    both = ordinal(pd.concat([train, test], ignore_index=True))
    return both[: len(train)], both[len(train) :]


def skrubs(train, test, s):
    from skrub import TableVectorizer

    made = TableVectorizer().fit(train)
    return tuple(np.asarray(made.transform(X), dtype=np.float32) for X in (train, test))


def ours(train, test, s):
    made = TableEncoder().fit(train, s)
    return made.transform(train), made.transform(test)


HELD_BACK = ("german_credit", "metro_traffic", "review_sentences", "titanic")  # their scores chose nothing


def show(path: Path) -> None:
    """Print the mean AUC of each table and encoder, and the seconds to encode."""
    lines = pd.read_json(path, lines=True)
    order = [way for way in ("ordinal", "skrub", "distpu", "tf-idf + logistic") if way in set(lines["encoder"])]
    auc = lines.pivot_table(index="table", columns="encoder", values="auc")[order]
    seconds = lines.pivot_table(index="table", columns="encoder", values="encode")[order[:3]]
    for title, held in (("development", False), ("held back", True)):
        part = auc[auc.index.isin(HELD_BACK) == held]
        print(f"\n{title}\n\n| table | {' | '.join(order)} | seconds: {', '.join(order[:3])} |")
        print("|---" * (len(order) + 2) + "|")
        for name, row in part.iterrows():
            cells = ["" if np.isnan(v) else f"{v:.3f}" for v in row]
            print(f"| {name} | {' | '.join(cells)} | {', '.join(f'{v:.1f}' for v in seconds.loc[name])} |")
        print(f"| mean | {' | '.join(f'{v:.3f}' for v in part[order[:3]].mean())} |" + " |" * (len(order) - 2))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    if args.show:
        show(args.out)
        return
    tables = source()
    ways = {"ordinal": codes, "skrub": skrubs, "distpu": ours}
    try:
        import skrub  # noqa: F401
    except ImportError:
        del ways["skrub"]
    warnings.simplefilter("ignore")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for name in args.tables or tables.names():
        for seed in args.seeds:
            train, s, test, y, _ = tables.split(name, seed, rows=args.rows)
            test, y = test[:10_000], y[:10_000]
            lines = []
            for way, encode in ways.items():
                start = time.perf_counter()
                x, x_test = encode(train, test, s)
                middle = time.perf_counter()
                z = BlendPU(random_state=seed, progress=False).fit(x, s).decision_function(x_test)
                auc, seconds = roc_auc_score(y, z), time.perf_counter() - start
                lines.append(
                    {"encoder": way, "auc": auc, "encode": middle - start, "all": seconds, "width": x.shape[1]}
                )
            if name in TEXTS:
                start, column = time.perf_counter(), TEXTS[name]
                plain = make_pipeline(TfidfVectorizer(), LogisticRegression(class_weight="balanced"))
                z = plain.fit(train[column], s).decision_function(test[column])
                lines.append({"encoder": "tf-idf + logistic", "auc": roc_auc_score(y, z), "encode": 0.0,
                              "all": time.perf_counter() - start, "width": 0})  # fmt: skip
            with open(args.out, "a") as out:
                for line in lines:
                    line |= {"table": name, "seed": seed, "rows": len(s)}
                    out.write(
                        json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}) + "\n"
                    )
            print(name, seed, " ".join(f"{line['encoder']} {line['auc']:.3f}" for line in lines), flush=True)


if __name__ == "__main__":
    main()
