"""Simulated PU experiments: a labelled data set in, a finished run folder with test metrics out."""

from __future__ import annotations

import time
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from .. import methods, metrics
from ..datasets import Dataset, info
from ..datasets.draw import draw_pu, folds
from ..estimator import versions
from ..files.run_folder import RunFolder
from ..methods import method_class
from ..methods._network import auto_preset
from ..params import near, paper_value
from ..prior import estimate_prior, is_number
from ..train.data import fits
from ..train.device import as_tensor
from ..train.scoring import logits
from .variants import READINGS

NUMBERS = (*metrics.METRICS, "pu_accuracy", "pu_auc")
# in JSON: what a reader looks for first, then the metrics, then the rest
FIRST = ("key", "experiment", "method", "reading", "dataset", "variant", "seed", "keep", "epoch", "epochs")
DEMO = ("dist-pu", "nnpu", "naive")
# fields of an estimator that are no settings of a cell: the protocol has them, or they do not change the result
SAID_ELSEWHERE = ("prior", "pos_label", "device", "random_state", "progress", "preset")


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The epoch that a run was tested at, and its metrics."""

    keep: str  # which epoch: the "last", the best on held-out PU rows ("pu"), the best on the test rows ("oracle")
    metrics: dict[str, float]
    epoch: int | None = None  # from 1 on; None where the last one is kept
    epochs: int | None = None

    def to_json(self) -> dict[str, Any]:
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "metrics"}
        row = {name: told.pop(name) for name in FIRST if name in told} | self.metrics | told
        return {name: value for name, value in row.items() if value is not None or name == "prior"}

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        """The inverse of to_json; ValueError where a field is missing or not known."""
        known = {f.name: f for f in fields(cls)}
        told = {name: value for name, value in row.items() if name not in NUMBERS}
        for name in told:
            if name not in known:
                raise ValueError(f"has the field {name!r}, which this version of distpu does not know")
        for name, f in known.items():
            if f.default is MISSING and name not in row and name != "metrics":
                raise ValueError(f"has no field {name!r}")
        return cls(metrics={name: row[name] for name in NUMBERS if name in row}, **told)


@dataclass(frozen=True, kw_only=True)
class Outcome(Kept):
    """What a run gave, and what it was made with."""

    method: str
    reading: str | None = None  # of the method's printed text, where it is not the plain method
    dataset: str
    seed: int
    by_epoch: dict[str, dict[str, list[float]]] | None = None  # of a search: metric -> stage -> values
    folds: int | str | None = None  # of a search
    true_prior: float | None = None
    prior_told: float | str | None = None
    prior: float | None  # the one used; None where the method needs none
    seconds: float
    held_out: int | str | None = None
    labelled: int | None = None
    scenario: str | None = None
    settings: dict[str, Any]
    device: str
    versions: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Result(Outcome):
    """A run as its folder keeps it; beside the epoch kept the best one on the test rows, where all were tested."""

    oracle: Kept | None = None

    def to_json(self) -> dict[str, Any]:
        row = super().to_json()
        return {**row, "oracle": self.oracle.to_json()} if self.oracle else row

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        settings = dict(row.get("settings", {}))
        if "labelled" not in row:  # a folder of version 0.1.0 has the protocol among the settings
            row = {**row, "labelled": settings.pop("labelled", None), "scenario": settings.pop("scenario", None)}
        oracle = Kept.from_json({"keep": "oracle", **row["oracle"]}) if row.get("oracle") else None
        return super().from_json({**row, "settings": settings, "oracle": oracle})


def settings_for(method: str, dataset: str, rows: int, preset: str = "auto") -> dict[str, Any]:
    """A method's settings for a data set. 'auto': those searched for it, or for small data; 'paper': its defaults."""
    cls = method_class(method)
    presets = cls.presets
    if preset == "auto":
        preset = dataset if dataset in presets else auto_preset(cls, info(dataset).shape, rows)
    if preset == "paper":
        return {}
    if preset not in presets:
        raise ValueError(f"{method} has no preset {preset!r}{near(preset, presets)}; use auto, paper"
                         f"{''.join(f', {name}' for name in presets)}")  # fmt: skip
    return presets[preset]


def make(method: str, settings: dict[str, Any], reading: str | None = None) -> Any:
    """A classifier by name, its settings checked; with the nearest name where method or setting is not known."""
    cls = method_class(method)
    if reading:
        readings = READINGS.get(method, {})
        if reading not in readings:
            names = ", ".join(readings) or "it has none"
            raise ValueError(f"{method} has no reading {reading!r}{near(reading, readings)} ({names})")
        cls = readings[reading]
    paper = {"preset": "paper"} if trains_network(method) else {}  # a study says each setting itself
    return methods.make(method, {**paper, **settings}, cls)


def trains_network(method: str) -> bool:
    return method_class(method).trains_network


def simulate(
    method: str,
    data: Dataset,
    folder: Path,
    *,
    labelled: int | None = None,
    scenario: str = "case-control",
    unlabelled: int | None = None,
    prior: str | float = "true",
    seed: int = 0,
    settings: dict[str, Any] | None = None,
    reading: str | None = None,
    every_epoch: bool = False,
    held_out: int = 0,
) -> Result:
    """Hide labels, fit, test. True labels are used after training only: for the test metrics and the picture.

    prior        a number, 'auto' to estimate it, or 'true' for the real share, as in the paper
    every_epoch  each epoch of the last stage is tested; the best is kept beside the last, as "oracle"
    held_out     one PU row in so many is kept from training, or the rows that lie apart where the data set names such;
                 their PU accuracy chooses the epoch that is tested
    """
    run = RunFolder(folder)
    index, s = draw_pu(data.y, data.labelled if labelled is None else labelled, scenario, seed, unlabelled)
    true_prior = float(data.y[index][s == 0].mean())
    share = true_prior if prior == "true" else prior
    classifier = make(method, {"prior": share, "random_state": seed, **(settings or {})}, reading)
    x, y, held = data.x[index], data.y[index], None
    which: int | str = "apart" if held_out and data.apart is not None else held_out
    if held_out:
        out = held_out_rows(data, index, s, which, seed)[0]
        held, x, y, s = (x[out], s[out]), x[~out], y[~out], s[~out]
    judged_by = float(share) if is_number(share) else None
    if held_out and share == "auto" and not classifier._uses_prior():  # PU accuracy needs a prior all the same
        judged_by = estimate_prior(x.reshape(len(x), -1), s)
    watch = EveryEpoch((data.x_test, data.y_test), held, judged_by)
    if (every_epoch or held_out) and trains_network(method):
        classifier._observe = watch
    start, before = time.perf_counter(), run.seconds()
    # The ceiling learns from the truth. A finished folder is restored; one of another run says what differs.
    classifier.fit(x, y if classifier.supervised else s, folder=folder)
    if known := run.result():
        return Result.from_json(known)
    seconds = before + time.perf_counter() - start - watch.seconds
    score = classifier.predict_proba(x)[:, 1]
    kept, oracle = _tested(classifier, method, data)
    result = Result(
        method=method,
        reading=reading,
        dataset=data.name,
        seed=seed,
        keep=kept.keep,
        epoch=kept.epoch,
        epochs=kept.epochs,
        metrics=kept.metrics,
        oracle=oracle,
        true_prior=true_prior,
        prior_told=share,
        prior=classifier.prior_ if np.isfinite(classifier.prior_) else None,
        seconds=round(seconds, 2),
        held_out=which or None,
        labelled=int(s.sum()),
        scenario=scenario,
        settings=resolved(classifier),
        device=_device_name(classifier) if trains_network(method) else "cpu",
        versions=versions(),
    )
    with run.answering():
        run.keep_scores({"score": score.astype(np.float32), "s": s.astype(np.int8), "y": y.astype(np.int8)})
        run.keep_result(result.to_json())
        run.mark_done()
    return result


def judge(
    method: str,
    data: Dataset,
    *,
    folds_of: int | str,
    seed: int,
    settings: dict[str, Any],
    reading: str | None = None,
    every_epoch: bool = False,
) -> Result:
    """PU accuracy and PU AUC of settings on held-out PU rows: each row once, over folds, or the rows that lie 'apart'.

    No true label is looked at, but the prior is the true one, as in the paper's protocol. The seed should be none of
    those that are reported.

    every_epoch  scores the held-out rows after each epoch too, which takes a quarter to a half more time
    """
    index, s = draw_pu(data.y, data.labelled, seed=seed)
    prior = float(data.y[index][s == 0].mean())
    x, z, histories, watching = data.x[index], np.empty(len(s)), [], 0.0
    parts = held_out_rows(data, index, s, folds_of, seed)
    start = time.perf_counter()
    for out in parts:
        classifier = make(method, {"prior": prior, "random_state": seed, "progress": False, **settings}, reading)
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
    by_epoch = {name: _by_epoch(histories, name) for name in ("pu_accuracy", "pu_auc")} if every_epoch else None
    return Result(
        method=method,
        reading=reading,
        dataset=data.name,
        seed=seed,
        keep="last",
        metrics={"pu_accuracy": metrics.pu_accuracy(s, z, prior), "pu_auc": metrics.pu_auc(s, z)},
        by_epoch=by_epoch,
        folds=folds_of,
        prior=prior,
        seconds=round(seconds, 2),
        settings=resolved(classifier),
        device=_device_name(classifier),
        versions=versions(),
    )


def held_out_rows(data: Dataset, index: np.ndarray, s: np.ndarray, folds_of: int | str, seed: int) -> list[np.ndarray]:
    """Which PU rows are held out, fold by fold. 'apart': one fold, of rows that are like the test rows."""
    if folds_of != "apart":
        fold = folds(data.x[index], s, int(folds_of), seed)
        return [fold == k for k in range(int(folds_of))]
    if data.apart is None:
        given = f"folds='apart' needs rows that lie apart, and this copy of {data.name} names none"
        raise ValueError(f"{given}; give a number of folds")
    return [data.apart[index]]


def _by_epoch(histories: list[list[dict[str, Any]]], name: str) -> dict[str, list[float]]:
    """A metric by epoch in each stage, mean over the folds. Each network is cut at z = 0, also PUSB's and VPU's."""
    stages = dict.fromkeys(row["stage"] for row in histories[0])
    paths = {
        stage: [[row[name] for row in history if row["stage"] == stage] for history in histories] for stage in stages
    }
    return {stage: np.mean(path, axis=0).round(4).tolist() for stage, path in paths.items()}


def resolved(classifier: Any) -> dict[str, Any]:
    """All settings of a method, told or the paper's: a line says what was run also when a default has changed since."""
    told = {f: getattr(classifier, f.name) for f in fields(classifier) if f.name not in SAID_ELSEWHERE}
    return {f.name: _plain(paper_value(f) if value is None else value) for f, value in told.items()}


def _plain(value: Any) -> Any:
    """As JSON holds it; what is code is named."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


class EveryEpoch:
    """Figures of an epoch's network, for the log: test metrics, PU metrics on held-out PU rows, or both.

    prior  that PU accuracy needs; None: the one that the estimator was given or has estimated
    """

    def __init__(
        self,
        test: tuple[np.ndarray, np.ndarray] | None = None,
        held: tuple[np.ndarray, np.ndarray] | None = None,
        prior: float | None = None,
    ):
        self.sets = {name: (as_tensor(rows[0]), rows[1]) for name, rows in (("test", test), ("held", held)) if rows}
        self.prior = prior
        self.seconds = 0.0  # spent here; they are no part of the training

    def __call__(self, net: Any, prior: float) -> dict[str, float]:
        start = time.perf_counter()
        device = next(net.parameters()).device
        figures: dict[str, float] = {}
        for name, (x, label) in self.sets.items():
            if fits(x, device):  # the rows are moved once and stay there
                x = x.to(device)
                self.sets[name] = x, label
            z = logits(net, x).cpu().double().numpy()
            if name == "test":
                figures |= {f"test_{metric}": value for metric, value in metrics.evaluate(label, z).items()}
            else:
                figures["pu_accuracy"] = metrics.pu_accuracy(label, z, prior if self.prior is None else self.prior)
                figures["pu_auc"] = metrics.pu_auc(label, z)
        self.seconds += time.perf_counter() - start
        return figures


def _tested(classifier: Any, method: str, data: Dataset) -> tuple[Kept, Kept | None]:
    """The epoch kept with its test metrics; beside it the best epoch on the test rows, where all were tested."""
    logged = classifier.history_[-1] if trains_network(method) else {}
    if "pu_accuracy" in logged:
        return _best_epoch(classifier.history_, "pu_accuracy", "pu"), None
    z = classifier.decision_function(data.x_test)
    oracle = _best_epoch(classifier.history_, "test_accuracy", "oracle") if "test_accuracy" in logged else None
    return Kept(keep=getattr(classifier, "keeps", "last"), metrics=metrics.evaluate(data.y_test, z)), oracle


def _best_epoch(history: list[dict[str, Any]], by: str, keep: str) -> Kept:
    """Test metrics of the epoch of the last stage that is best by a figure; of equals the first."""
    last = [row for row in history if row["stage"] == history[-1]["stage"]]
    best = max(last, key=lambda row: row[by])
    found = {name[5:]: best[name] for name in best if name.startswith("test_")}
    return Kept(keep=keep, metrics=found, epoch=best["epoch"] + 1, epochs=len(last))


def _device_name(classifier: Any) -> str:
    import torch

    device = next(classifier.model_.parameters()).device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
