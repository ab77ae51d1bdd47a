"""What the commands do and print. Results go to stdout, progress and warnings to stderr."""

from __future__ import annotations

import shutil
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from . import bench, checkpoint, datasets
from .estimator import load
from .methods import METHODS

out = Console(soft_wrap=False)
METRICS = {"accuracy": "acc", "precision": "prec", "recall": "rec", "f1": "F1", "auc": "AUC", "ap": "AP"}


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", no_wrap=number >= left)
    return table


def _percent(values: list[float]) -> str:
    mean = f"{100 * np.mean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ± {100 * np.std(values, ddof=1):.2f}"


def _share(values: list[float | None]) -> str:
    known = [v for v in values if v is not None]
    if not known:
        return "-"
    return f"{np.mean(known):.3f}" if len(known) == 1 else f"{np.mean(known):.3f} ± {np.std(known, ddof=1):.3f}"


def results_table(groups: dict[str, list[bench.Result]]) -> Table:
    """One line per method: the six test metrics in percent, the true prior and the one used, seconds per run."""
    table = _table("method", *METRICS.values(), "true prior", "prior used", "seconds")
    for name, results in groups.items():
        scores = [_percent([r[m] for r in results]) for m in METRICS]
        priors = [_share([r["true_prior"] for r in results]), _share([r["prior"] for r in results])]
        table.add_row(name, *scores, *priors, f"{np.mean([r['seconds'] for r in results]):.1f}")
    return table


def fit_named(
    name: str,
    root: Path | None,
    method: str,
    folder: Path,
    labelled: int | None,
    scenario: str,
    prior: str | float,
    seed: int,
    settings: dict[str, Any],
) -> None:
    bench.make(method, settings)  # a mistake shows before the data is loaded
    data = datasets.load(name, root)
    result = bench.simulate(
        method, data, folder, labelled=labelled, scenario=scenario, prior=prior, seed=seed, settings=settings
    )
    out.print(results_table({method: [result]}))
    out.print(
        f"test rows: {len(data.y_test)}, true labels used for this table only; run folder: {folder}",
        soft_wrap=True,
    )


def fit_file(
    path: str, label: str | None, positive: str | None, method: str, folder: Path, settings: dict[str, Any]
) -> None:
    bench.make(method, settings)
    X, y = _read_own(path, label)
    if positive is not None:
        settings = {**settings, "pos_label": _as_label(positive, y)}
    result = bench.fit_table(X, y, method, folder, settings)
    hidden = result["prior"] * result["unlabelled"]
    out.print(
        f"{result['labelled']} labelled positives, {result['unlabelled']} unlabelled rows, {result['seconds']:.1f} s"
    )
    if np.isfinite(hidden):
        how = "estimated" if settings.get("prior") == "auto" else "given"
        out.print(f"positives among the unlabelled rows ({how}): {result['prior']:.1%}, about {hidden:.0f} rows")
    out.print(f"predicted positive: {result['predicted']} of {result['unlabelled']} unlabelled rows")
    table = _table("unlabelled row", "probability")
    for row, p in result["top"]:
        table.add_row(str(row), f"{p:.3f}")
    out.print(table)
    out.print(f"all of them, likeliest first: {folder / 'ranked.csv'}; run folder: {folder}", soft_wrap=True)
    out.print(f"score new rows:  distpu predict {folder} FILE", soft_wrap=True)


def _read_own(path: str, label: str | None) -> tuple[Any, Any]:
    if not Path(path).exists() and not Path(path).suffix:
        datasets.load(path)  # neither a name nor a file: says which name is near
    X, y = datasets.read(path, label)
    if y is None:
        raise ValueError(
            f"which column of {path} is the label? add --label COLUMN (1 = known positive, 0 = unlabelled)"
        )
    return X, y


def _as_label(text: str, y: np.ndarray) -> Any:
    """The command line's text as the value that the label column holds."""
    for value in np.unique(np.asarray(y[~_missing(y)]).astype(object)):
        if str(value) == text or (isinstance(value, (int, float)) and text == f"{value:g}"):
            return value
    return text


def _missing(y: np.ndarray) -> np.ndarray:
    import pandas as pd

    return pd.isna(y)


def predict(folder: Path, data: str, path: Path | None, root: Path | None) -> None:
    classifier = load(folder)
    if data in datasets.NAMES:
        X = datasets.load(data, root).x_test
    else:
        columns = getattr(classifier, "feature_names_in_", None)
        X, _ = datasets.read(data, columns=None if columns is None else list(columns))
    p = classifier.predict_proba(X)[:, 1]
    scores = bench.scores_csv(np.arange(len(p)), p)
    if path is None:
        sys.stdout.write(scores)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.write(path, scores.encode())
        out.print(f"{len(p)} rows scored, {int((p >= 0.5).sum())} predicted positive: {path}", soft_wrap=True)


def demo(folder: Path, seeds: int, prior: str | float, fresh: bool) -> None:
    from . import plots

    if seeds < 1:
        raise ValueError(f"seeds={seeds} must be at least 1")
    if fresh and (folder / "demo.png").exists():
        shutil.rmtree(folder)
    data = datasets.load("digits")
    out.print(
        f"Digits, even against odd: {len(data.y)} training rows, {data.labelled} of the even ones labelled, "
        f"all else unlabelled; {len(data.y_test)} test rows."
    )
    groups: dict[str, list[bench.Result]] = {}
    for method in ("dist-pu", "nnpu", "naive"):
        for seed in range(seeds):
            run = folder / f"{method}-seed{seed}"
            result = bench.simulate(method, data, run, prior=prior, seed=seed, settings=bench.DEMO[method])
            groups.setdefault(method, []).append(result)
        done = groups[method]
        print(f"{method}: test accuracy {_percent([r['accuracy'] for r in done])}", file=sys.stderr)
    out.print(results_table(groups))
    picture = plots.demo([folder / f"{m}-seed0" for m in groups], folder / "demo.png")
    out.print(f"picture: {picture}", soft_wrap=True)
    out.print(f"run folders: {folder}/*-seed*  (finished ones are kept; --fresh trains again)", soft_wrap=True)


def methods(name: str | None) -> None:
    if name is not None:
        return _method(name)
    table = _table("name", "prior", "what it is", "paper", left=4)
    for key, cls in METHODS.items():
        table.add_row(key, "needed" if cls.needs_prior else "no", _first_line(cls), cls.paper)
    out.print(table)
    out.print("distpu methods NAME shows a method's settings.")


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _method(name: str) -> None:
    cls = type(bench.make(name, {}))
    module = sys.modules[cls.__module__].__doc__ or ""
    out.print(f"{name}  ({cls.__name__})\n\n{module.strip()}\n", markup=False, highlight=False)
    table = _table("setting", "default", "what it is", left=3)
    for f in fields(cls):
        choices = f.metadata.get("one_of")
        text = f.metadata["help"] + (f"  ({', '.join(map(str, choices))})" if choices else "")
        table.add_row(f.name, str(f.default), text)
    out.print(table, markup=False)


def data(root: Path | None) -> None:
    table = _table("name", "train", "test", "a row", "positive", "labelled", "where", left=7)
    for info in datasets.catalog(root):
        shape = " x ".join(map(str, info.shape))
        row = (f"{info.train:,}", f"{info.test:,}", shape, info.positive, str(info.labelled), info.where)
        table.add_row(info.name, *row)
    out.print(table)
