"""fit_file does what `distpu fit FILE` does: it reads a user's file and returns a model, ranked rows and counts."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import datasets
from .estimator import PUEstimator
from .files.run_folder import RunFolder
from .inputs import read_labels
from .methods import make
from .methods.auto import AutoPU
from .params import near
from .prior import is_number

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Answer:
    """The result of fit_file: which unlabelled rows are positive, and how many."""

    model: PUEstimator
    ranked: pd.DataFrame  # columns row, probability, positive; every unlabelled row, the likeliest first
    label: str  # the label column
    labelled: int
    unlabelled: int
    prior: float  # share of positives among the unlabelled rows; NaN for a method that uses none
    estimated: bool  # whether the prior was estimated; model.prior_estimate_ has the estimator's name and interval
    predicted: int  # unlabelled rows that the model calls positive
    seconds: float  # of training, with the time before a kill
    finished_before: bool  # whether the folder was restored instead of trained
    folder: Path | None

    @property
    def hidden(self) -> float:
        """Expected number of positives among the unlabelled rows."""
        return self.prior * self.unlabelled


def fit_file(
    path: str | Path,
    label: str | None = None,
    *,
    positive: Any = None,
    method: str = "auto",
    prior: Any = "auto",
    folder: str | Path | None = None,
    random_state: int = 0,
    **settings: Any,
) -> Answer:
    """Fit a method on a .csv, .parquet or .npz file and rank its unlabelled rows, as `distpu fit FILE` does.

    label     the label column: 1 = known positive, 0 or empty = unlabelled (.npz: the array y)
    positive  the label value of known positives, when it is not 1
    folder    the model and ranked.csv are written there; a finished folder is restored instead of trained
    method    a name in METHODS; "auto" takes BlendPU for a table and DistPU for images
    settings  of the method, such as epochs=20 or preset="paper"
    """
    told = {"prior": prior, "random_state": random_state, **settings}
    make(method, told)._check_parameters()  # so that a wrong setting is reported before the file is read
    X, y, label = read_own(path, label)
    given = told.pop("pos_label", None) if positive is None else positive
    model = make(method, {**told, "pos_label": positive_value(y, label, given)})
    if model.supervised:
        warnings.warn(
            f"{method} is no PU method: it takes every unlabelled row, hidden positives too, for a negative; "
            "use it on true labels, or take another method",
            UserWarning,
            stacklevel=2,
        )
    place = None if folder is None else Path(folder)
    run = None if place is None else RunFolder(place)
    before = run is not None and run.finished
    start, earlier = time.perf_counter(), run.seconds() if run else 0.0
    model.fit(X, y, folder=place)
    seconds = earlier + time.perf_counter() - start
    if isinstance(model, AutoPU):
        model = model.chosen_
    answer = _answer(model, X, y, label, not is_number(prior), seconds, before, place)
    if run is not None:
        table = answer.ranked
        content = scores_csv(table["row"].to_numpy(), table["probability"].to_numpy(), table["positive"].to_numpy())
        run.keep_ranked(content)
    return answer


def _answer(
    model: PUEstimator, X: Any, y: Any, label: str, estimated: bool, seconds: float, before: bool, folder: Path | None
) -> Answer:
    import pandas as pd

    own = getattr(model, "oof_scores_", None)  # of models that did not see the row; others take it for a negative
    decision, p = model.judged(X) if own is None else model._judged(own)
    s, _ = read_labels(y, model.pos_label)
    unlabelled = np.flatnonzero(s == 0)
    order = unlabelled[np.argsort(-decision[unlabelled], kind="stable")]  # sure rows may share a probability
    ranked = pd.DataFrame({"row": order, "probability": p[order], "positive": (decision[order] >= 0).astype(int)})
    called = int(ranked["positive"].sum())
    return Answer(
        model, ranked, label, int(s.sum()), len(order), model.prior_, estimated, called, seconds, before, folder
    )


def read_own(path: str | Path, label: str | None) -> tuple[Any, np.ndarray, str]:
    """Return X, y and the name of the label column of a user's file."""
    path = Path(path)
    if label is None and path.suffix != ".npz" and path.expanduser().is_file():
        raise ValueError(
            f"{path} needs a label column; add --label COLUMN, in Python label='COLUMN' "
            "(1 = known positive, 0 or empty = unlabelled)"
        )
    X, y = datasets.read(path, label)
    if y is None:
        raise ValueError(
            f"{path} holds no labels; add an array 'y' (1 = known positive, 0 = unlabelled), or name "
            "one with --label, in Python label="
        )
    return X, y, label or "y"


def positive_value(y: np.ndarray, label: str, told: Any) -> Any:
    """Return the value that marks known positives; None if 0/1, -1/1, true/false or blanks leave no doubt.

    Of two other values an estimator takes the second one, with a warning. For a file the user must say which.
    """
    import pandas as pd

    present = y[~pd.isna(y)].ravel().tolist()
    values = sorted(set(present), key=lambda v: (str(type(v)), v))
    shown = " and ".join(map(repr, values)) if len(values) < 4 else f"{len(values)} values such as {values[0]!r}"
    if told is not None:
        spelt = {str(told), str(told).capitalize()}  # --positive true stands for True
        same = [v for v in values if v == told or str(v) in spelt or (isinstance(v, float) and f"{v:g}" in spelt)]
        if not same:
            hint = near(told, values)
            raise ValueError(f"positive={told} is not in column {label!r}, which holds {shown or 'nothing'}{hint}")
        return same[0]
    if 1 < len(values) < 10 and values not in ([0, 1], [-1, 1]):  # False is 0, True is 1
        options = f"--positive {values[0]} or, in Python, positive={values[0]!r}"
        raise ValueError(f"column {label!r} holds {shown}; say which one marks the known positives, such as {options}")
    return None


def scores_csv(rows: np.ndarray, p: np.ndarray, positive: np.ndarray) -> str:
    """Return the text of a .csv file with the columns row, probability and positive."""
    lines = [f"{row},{score:.6g},{int(mark)}" for row, score, mark in zip(rows, p, positive, strict=True)]
    return "\n".join(["row,probability,positive", *lines, ""])
