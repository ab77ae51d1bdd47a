"""Simulated PU experiments: a labelled data set in, a finished run folder with test metrics out."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from . import checkpoint, metrics
from .data import draw_pu
from .datasets import Dataset
from .estimator import PUClassifier
from .labels import read_labels
from .methods import METHODS

Result = dict[str, Any]

# Settings of the demo: short, chosen on held-out PU rows without true labels (LOG.md). A method's own defaults are
# the paper's, for data sets fifty times as large.
DEMO: dict[str, dict[str, Any]] = {
    "dist-pu": {
        "warm_up_epochs": 20,
        "epochs": 40,
        "warm_up_entropy": 0.1,
        "entropy": 0.1,
        "mixup": 0.3,
        "mixed_entropy": 0.3,
        "alpha": 0.1,
    },
    "nnpu": {"epochs": 60},
    "naive": {"epochs": 60},
}


def make(method: str, settings: dict[str, Any]) -> PUClassifier:
    """A classifier by name, its settings checked; with the nearest name where method or setting is not known."""
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not known{near(method, METHODS)} (distpu methods lists all)")
    known = [f.name for f in fields(METHODS[method])]
    for name in settings:
        if name not in known:
            raise ValueError(f"{method} has no setting {name!r}{near(name, known)} (distpu methods {method} lists all)")
    classifier = METHODS[method](**settings)
    classifier._check_parameters()
    return classifier


def near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else ""


def simulate(
    method: str,
    data: Dataset,
    folder: Path,
    *,
    labelled: int | None = None,
    scenario: str = "case-control",
    prior: str | float = "true",
    seed: int = 0,
    settings: dict[str, Any] | None = None,
) -> Result:
    """Hide labels, fit, test. prior: a number, 'auto' to estimate it, or 'true' for the real share (the paper's way).

    True labels are used after training only: for the test metrics and the picture.
    """
    index, s = draw_pu(data.y, data.labelled if labelled is None else labelled, scenario, seed)
    true_prior = float(data.y[index][s == 0].mean())
    share = true_prior if prior == "true" else prior
    classifier = make(method, {"prior": share, "random_state": seed, **(settings or {})})
    if (folder / "result.json").exists() and (folder / "done").exists():
        classifier.fit(data.x[index], s, folder=folder)  # restores, or says what differs
        return checkpoint.read_json(folder / "result.json")
    start = time.perf_counter()
    classifier.fit(data.x[index], s, folder=folder)
    seconds = time.perf_counter() - start
    result = {
        "method": method,
        "dataset": data.name,
        "seed": seed,
        "keep": "last",
        **metrics.evaluate(data.y_test, classifier.decision_function(data.x_test)),
        "true_prior": true_prior,
        "prior": classifier.prior_ if np.isfinite(classifier.prior_) else None,
        "seconds": round(seconds, 2),
        "settings": {"labelled": int(s.sum()), "scenario": scenario, **(settings or {})},
        "device": str(next(classifier.model_.parameters()).device),
        "versions": checkpoint.read_json(folder / "config.json")["versions"],
    }
    scores = classifier.predict_proba(data.x[index])[:, 1].astype(np.float32)
    with open(folder / "scores.npz", "wb") as file:
        np.savez_compressed(file, score=scores, s=s.astype(np.int8), y=data.y[index].astype(np.int8))
    checkpoint.write_json(folder / "result.json", result)
    return result


def fit_table(X: Any, y: Any, method: str, folder: Path, settings: dict[str, Any]) -> Result:
    """Fit on a user's own table; rank its unlabelled rows into ranked.csv, the likeliest positives first."""
    classifier = make(method, settings)
    start = time.perf_counter()
    classifier.fit(X, y, folder=folder)
    seconds = time.perf_counter() - start
    p = classifier.predict_proba(X)[:, 1]
    s, _ = read_labels(y, classifier.pos_label)
    unlabelled = np.flatnonzero(s == 0)
    order = unlabelled[np.argsort(-p[unlabelled], kind="stable")]
    checkpoint.write(folder / "ranked.csv", scores_csv(order, p[order]).encode())
    return {
        "labelled": int(s.sum()),
        "unlabelled": len(unlabelled),
        "prior": classifier.prior_,
        "predicted": int((p[unlabelled] >= 0.5).sum()),
        "top": [(int(row), float(p[row])) for row in order[:10]],
        "seconds": seconds,
    }


def scores_csv(rows: np.ndarray, p: np.ndarray) -> str:
    lines = [f"{row},{score:.6g},{int(score >= 0.5)}" for row, score in zip(rows, p, strict=True)]
    return "\n".join(["row,probability,positive", *lines, ""])
