"""Simulated PU experiments: a labelled data set in, a finished run folder with test metrics out."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from .. import metrics
from ..datasets import Dataset
from ..datasets.draw import draw_pu, folds
from ..estimator import versions
from ..files.run_folder import RunFolder
from ..inputs import read_labels
from ..methods import METHODS
from ..methods._network import SMALL, NetworkMethod
from ..params import near
from ..train.data import fits
from ..train.device import as_tensor
from ..train.scoring import logits

Result = dict[str, Any]

DEMO = ("dist-pu", "nnpu", "naive")
SAID_ELSEWHERE = ("prior", "pos_label", "device", "random_state", "progress", "preset")  # in a line, or no part of it


def settings_for(method: str, dataset: str, rows: int, preset: str = "auto") -> dict[str, Any]:
    """A method's settings for a data set. 'auto': those searched for it, or for small data; 'paper': its defaults."""
    presets = getattr(_class(method), "presets", {})
    if preset == "paper":
        return {}
    if preset == "auto":
        return presets.get(dataset, presets.get("small", {}) if rows < SMALL else {})
    if preset not in presets:
        raise ValueError(f"{method} has no preset {preset!r}{near(preset, presets)}; use auto, paper"
                         f"{''.join(f', {name}' for name in presets)}")  # fmt: skip
    return presets[preset]


def make(method: str, settings: dict[str, Any]) -> Any:
    """A classifier by name, its settings checked; with the nearest name where method or setting is not known."""
    known = [f.name for f in fields(_class(method))]
    for name in settings:
        if name not in known:
            raise ValueError(f"{method} has no setting {name!r}{near(name, known)} (distpu methods {method} lists all)")
    if trains_network(method):
        settings = {"preset": "paper", **settings}  # a study says each setting itself
    classifier = METHODS[method](**settings)
    classifier._check_parameters()
    return classifier


def trains_network(method: str) -> bool:
    return issubclass(_class(method), NetworkMethod)


def _class(method: str) -> Any:
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not known{near(method, METHODS)} (distpu methods lists all)")
    return METHODS[method]


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
    every_epoch: bool = False,
    held_out: int = 0,
) -> Result:
    """Hide labels, fit, test. prior: a number, 'auto' to estimate it, or 'true' for the real share (the paper's way).

    True labels are used after training only: for the test metrics and the picture. The last epoch is tested.

    every_epoch  tests each epoch of the last stage too; the best is kept beside the last, as "oracle"
    held_out     one PU row in so many is kept from training, or the rows that lie apart where the data set has such;
                 by PU accuracy they say which epoch is tested
    """
    run = RunFolder(folder)
    index, s = draw_pu(data.y, data.labelled if labelled is None else labelled, scenario, seed)
    true_prior = float(data.y[index][s == 0].mean())
    share = true_prior if prior == "true" else prior
    classifier = make(method, {"prior": share, "random_state": seed, **(settings or {})})
    x, y, held = data.x[index], data.y[index], None
    which: int | str = "apart" if held_out and data.apart is not None else held_out
    if held_out:
        out = held_out_rows(data, index, s, which, seed)[0]
        held, x, y, s = (x[out], s[out]), x[~out], y[~out], s[~out]
    watch = EveryEpoch((data.x_test, data.y_test), held, share)
    if (every_epoch or held_out) and trains_network(method):
        classifier._observe = watch
    start, before = time.perf_counter(), run.seconds()
    # the ceiling learns from the truth; a finished folder is restored, or says what differs
    classifier.fit(_rows_for(method, x), y if classifier.supervised else s, folder=folder)
    if known := run.result():
        return known
    seconds = before + time.perf_counter() - start - watch.seconds
    score = classifier.predict_proba(_rows_for(method, x))[:, 1]
    result = {
        "method": method,
        "dataset": data.name,
        "seed": seed,
        **_tested(classifier, method, data),
        "true_prior": true_prior,
        "prior_told": share,
        "prior": classifier.prior_ if np.isfinite(classifier.prior_) else None,
        "seconds": round(seconds, 2),
        **({"held_out": which} if held_out else {}),
        "settings": {"labelled": int(s.sum()), "scenario": scenario, **_settings(classifier, settings or {})},
        "device": _device_name(classifier) if trains_network(method) else "cpu",
        "versions": versions(),
    }
    run.keep_scores({"score": score.astype(np.float32), "s": s.astype(np.int8), "y": y.astype(np.int8)})
    run.keep_result(result)
    run.mark_done()
    return result


def judge(
    method: str,
    data: Dataset,
    *,
    folds_of: int | str,
    seed: int,
    settings: dict[str, Any],
    every_epoch: bool = False,
) -> Result:
    """PU accuracy and PU AUC of settings, on held-out PU rows: each once, over folds; or those that lie 'apart'.

    True labels are not looked at: only the prior is the true one, as in the paper's protocol. The seed should be none
    of those that are reported.

    every_epoch  scores the held-out rows after each epoch too: on Fashion-MNIST a quarter more time, or half
    """
    index, s = draw_pu(data.y, data.labelled, seed=seed)
    prior = float(data.y[index][s == 0].mean())
    x, z, histories, watching = data.x[index], np.empty(len(s)), [], 0.0
    parts = held_out_rows(data, index, s, folds_of, seed)
    start = time.perf_counter()
    for out in parts:
        classifier = make(method, {"prior": prior, "random_state": seed, "progress": False, **settings})
        held = x[out], s[out]
        watch = EveryEpoch(held=held, prior=prior)
        if every_epoch:
            classifier._observe = watch
        classifier.fit(x[~out], s[~out])
        z[out] = classifier.decision_function(held[0])
        histories.append(classifier.history_)
        watching += watch.seconds
    seconds = time.perf_counter() - start - watching
    judged = np.any(parts, axis=0)
    s, z = s[judged], z[judged]
    return {
        "method": method,
        "dataset": data.name,
        "seed": seed,
        "keep": "last",
        "pu_accuracy": metrics.pu_accuracy(s, z, prior),
        "pu_auc": metrics.pu_auc(s, z),
        **({"by_epoch": {n: _by_epoch(histories, n) for n in ("pu_accuracy", "pu_auc")}} if every_epoch else {}),
        "folds": folds_of,
        "prior": prior,
        "seconds": round(seconds, 2),
        "settings": _settings(classifier, settings),
        "device": _device_name(classifier),
        "versions": versions(),
    }


def held_out_rows(data: Dataset, index: np.ndarray, s: np.ndarray, folds_of: int | str, seed: int) -> list[np.ndarray]:
    """Which PU rows are held out, fold by fold; 'apart': once, those that the data set says are like its test rows."""
    if folds_of != "apart":
        fold = folds(data.x[index], s, int(folds_of), seed)
        return [fold == k for k in range(int(folds_of))]
    if data.apart is None:
        given = f"folds='apart' needs rows that lie apart, and this copy of {data.name} names none"
        raise ValueError(f"{given}; give a number of folds")
    return [data.apart[index]]


def _by_epoch(histories: list[list[Result]], name: str) -> dict[str, list[float]]:
    """A figure's path in each stage, mean over the folds. Networks are judged by z >= 0, also PUSB's and VPU's."""
    stages = dict.fromkeys(row["stage"] for row in histories[0])
    paths = {
        stage: [[row[name] for row in history if row["stage"] == stage] for history in histories] for stage in stages
    }
    return {stage: np.mean(path, axis=0).round(4).tolist() for stage, path in paths.items()}


def _settings(classifier: Any, told: dict[str, Any]) -> dict[str, Any]:
    """All of a method's settings, told or default: a line still says what was run when a default has changed."""
    whole = {**classifier.get_params(deep=False), **getattr(classifier, "settings_", {})}
    if not isinstance(classifier, NetworkMethod):
        whole = told
    return {name: value for name, value in whole.items() if name not in SAID_ELSEWHERE}


class EveryEpoch:
    """Figures of an epoch's network, for the log: test metrics, PU metrics on held-out PU rows, or both."""

    def __init__(
        self,
        test: tuple[np.ndarray, np.ndarray] | None = None,
        held: tuple[np.ndarray, np.ndarray] | None = None,
        prior: Any = None,
    ):
        self.sets = {name: (as_tensor(rows[0]), rows[1]) for name, rows in (("test", test), ("held", held)) if rows}
        self.prior = prior
        self.seconds = 0.0  # spent here: no part of the training

    def __call__(self, net: Any) -> dict[str, float]:
        start = time.perf_counter()
        device = next(net.parameters()).device
        figures: dict[str, float] = {}
        for name, (x, label) in self.sets.items():
            if fits(x, device):  # there once and for all
                x = x.to(device)
                self.sets[name] = x, label
            z = logits(net, x).cpu().double().numpy()
            if name == "test":
                figures |= {f"test_{metric}": value for metric, value in metrics.evaluate(label, z).items()}
            else:
                figures["pu_accuracy"] = metrics.pu_accuracy(label, z, float(self.prior))
                figures["pu_auc"] = metrics.pu_auc(label, z)
        self.seconds += time.perf_counter() - start
        return figures


def _tested(classifier: Any, method: str, data: Dataset) -> Result:
    """Test metrics of the epoch that is kept, and which that is; beside them the best one, where all were tested."""
    logged = classifier.history_[-1] if trains_network(method) else {}
    if "pu_accuracy" in logged:
        return {"keep": "pu", **_best_epoch(classifier.history_, "pu_accuracy")}
    z = classifier.decision_function(_rows_for(method, data.x_test))
    oracle = {"oracle": _best_epoch(classifier.history_, "test_accuracy")} if "test_accuracy" in logged else {}
    return {"keep": getattr(classifier, "keeps", "last"), **metrics.evaluate(data.y_test, z), **oracle}


def _best_epoch(history: list[Result], by: str) -> Result:
    """Test metrics of the epoch of the last stage that is best by a figure; of equals the first."""
    last = [row for row in history if row["stage"] == history[-1]["stage"]]
    best = max(last, key=lambda row: row[by])
    return {"epoch": best["epoch"] + 1, "epochs": len(last), **{k[5:]: best[k] for k in best if k.startswith("test_")}}


def _device_name(classifier: Any) -> str:
    import torch

    device = next(classifier.model_.parameters()).device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _rows_for(method: str, x: np.ndarray) -> np.ndarray:
    return x if trains_network(method) else x.reshape(len(x), -1)


def fit_table(X: Any, y: Any, method: str, folder: Path, settings: dict[str, Any]) -> Result:
    """Fit on a user's own table; rank its unlabelled rows into ranked.csv, the likeliest positives first."""
    classifier = make(method, settings)
    start, before = time.perf_counter(), RunFolder(folder).seconds()
    classifier.fit(X, y, folder=folder)
    seconds = before + time.perf_counter() - start
    p = classifier.predict_proba(X)[:, 1]
    s, _ = read_labels(y, classifier.pos_label)
    unlabelled = np.flatnonzero(s == 0)
    order = unlabelled[np.argsort(-p[unlabelled], kind="stable")]
    RunFolder(folder).keep_ranked(scores_csv(order, p[order]))
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
