"""fit_file does what `distpu fit FILE` does: it reads a user's file and returns a model, ranked rows and counts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..datasets import is_image_folder, of_sheet
from ..datasets.images import LOOKED_AT_LABELS
from ..encode import TableEncoder, is_frame
from ..estimator import PUEstimator
from ..files.run_folder import Json, RunFolder
from ..inputs import read_labels
from ..looked import FOUND, NEGATIVE
from ..methods import make
from ..methods.auto import AutoPU
from ..notebook import found_by, table, tiles
from ..params import near
from ..prior import is_number
from ..train import launch
from .all_rows import all_rows
from .keeping import kept
from .large import LargeTable, Sample, encoded
from .looking import as_ids, with_verdicts
from .pictures import method_for
from .reading import Labels, label_values, plain_labels, read_rows

if TYPE_CHECKING:
    import pandas as pd

    from ..datasets import Images

TOP, SHOWN = 25, 10  # rows whose own cells the answer holds; rows and columns that a notebook shows


@dataclass(frozen=True)
class Answer:
    """The result of fit_file: which unlabelled rows are positive, and how many."""

    model: PUEstimator
    # columns id, score, probability, rank, decision, as in scores.csv; every unlabelled row, the likeliest first; the
    # index is the number of the row in the file; of a table that is too large to be held, the million likeliest rows
    ranked: pd.DataFrame
    top: pd.DataFrame | None  # the own cells of the first rows of `ranked`; None where rows have no named columns
    source: Path  # the file
    label: str  # the label column
    id: str | None  # the column that names the rows; None: a row's number does
    labelled: int
    unlabelled: int
    prior: float  # share of positives among the unlabelled rows; NaN for a method that uses none
    estimated: bool  # whether the prior was estimated; model.prior_estimate_ has the estimator's name and interval
    predicted: int  # unlabelled rows that the model calls positive
    seconds: float  # of training, with the time before a kill
    finished_before: bool  # whether the folder was restored instead of trained
    folder: Path | None
    images: Images | None = None  # what was read, if the rows are images
    facts: Json | None = None  # what report.json says; None where it was not made
    negatives: int = 0  # rows that a person looked at and found negative
    found: int = 0  # rows that a person looked at and found positive
    sample: Sample | None = None  # the rows that a model learnt of a table that is too large to be held
    least: float | None = None  # the lowest probability of a row that is called positive

    @property
    def what(self) -> str:
        """What a row is called."""
        return "rows" if self.images is None else "images"

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return self.labelled + self.unlabelled + self.negatives + self.found

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how many, what the cut gives, and the first rows with their own cells."""
        cells = self.ranked.head(SHOWN)[[]] if self.top is None else self.top.head(SHOWN)
        if self.facts is not None:
            cells = cells[self.facts["top"]["columns"]]
        cells = cells.iloc[:, :SHOWN]
        header = ["rank", self.id or "row", "probability", *cells.columns]
        first = self.ranked.head(SHOWN)[["rank", "id", "probability"]].round(3).astype(object)
        rows = [[*a, *b] for a, b in zip(first.to_numpy(), cells.astype(object).to_numpy(), strict=True)]
        return f"<div>{tiles(found_by(self.model, self.predicted))}</div>{table(header, rows)}"

    @property
    def hidden(self) -> float:
        """Expected number of positives among the unlabelled rows."""
        return self.prior * self.unlabelled

    @property
    def hidden_interval(self) -> tuple[float, float] | None:
        """The interval of `hidden`; None where the prior has none."""
        found = self.model.prior_interval_
        return None if found is None else (found[0] * self.unlabelled, found[1] * self.unlabelled)


def fit_file(
    path: str | Path,
    label: str | None = None,
    *,
    positive: Any = None,
    negative: Any = None,
    found: Any = None,
    looked: Any = (),
    method: str = "auto",
    prior: Any = "auto",
    id: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    folder: str | Path | None = None,
    random_state: int = 0,
    images: str | None = None,
    labels: str | Path | None = None,
    size: int | None = None,
    strict: bool = False,
    report: bool = True,
    sheet: str | None = None,
    **settings: Any,
) -> Answer:
    """Fit a method on a .csv, .parquet, .npy or .npz file and rank its unlabelled rows, as `distpu fit FILE` does.

    The path may be a folder of images in positive/ and unlabeled/.

    label     the label column: 1 = known positive, 0 or empty = unlabelled (.npz: the array y)
    positive  the label value of known positives, when it is not 1
    negative  the label value of rows that a person looked at and found not to be positive
    found     the label value of rows that a person looked at, since a model ranked them high, and found positive
    looked    files that `distpu next --out` wrote and a person filled in: their verdicts are put into the labels
    id        a column that names the rows in scores.csv; without it a row's number names the row, from 0
    drop      columns to leave out
    keep      columns to use although they look like an id, a constant or a give-away
    folder    the model and scores.csv are written there; a finished folder is restored instead of trained
    sheet     the sheet of an Excel file; else the first one that holds rows
    report    whether to write report.json and report.html into the folder as well
    method    a name in METHODS; "auto" takes BlendPU for a table and for few small grey images, DistPU for other images
    images    the column of a table that holds paths of images; those are learnt
    labels    a .npy file with the labels of a .npy or .npz file, one per row
    size      side of the images in pixels; by default it follows from their own sizes
    strict    an image that cannot be read is an error; by default it is left out and listed
    settings  of the method, such as epochs=20 or preset="paper"
    """
    told = {"prior": prior, "random_state": random_state, **settings}
    if method == "auto":
        with of_sheet(sheet, path):
            method = method_for(path, label, images, bool(looked))
    make(method, told)._check_parameters()  # so that a wrong setting is reported before the file is read
    large = None if images is not None or labels is not None else LargeTable.of(path, label, id)
    if large is not None:
        return _fit_large(large, method, told, positive, negative, found, looked, drop, keep, folder, report)
    with of_sheet(sheet, path):
        own = read_rows(path, label, images=images, labels=labels, size=size, strict=strict, id=id)
    X, y, label = own.X, own.y, own.label
    ids = ids_of(X, id, Path(path))
    if id is not None and told.get("encode") is False:
        X, id = X.drop(columns=id), None
    if drop or keep or id is not None:
        told["encode"] = encoder_for(X, drop, keep, id, told.get("encode", "auto"), Path(path))
    if own.images is not None:
        ids, id = np.array(own.images.names, dtype=object), "path"
    if is_image_folder(path):
        negative, found = (value if (y == value).any() else None for value in LOOKED_AT_LABELS)
    given = [told.pop(name, None) if value is None else value for name, value in
             (("pos_label", positive), ("neg_label", negative), ("found_label", found))]  # fmt: skip
    files = [looked] if isinstance(looked, (str, Path)) else list(looked)
    if files:
        y, *given = with_verdicts(y, ids, files, *given)
    values = label_values(y, label, *given)
    y, named = values.y, {"neg_label": values.negative, "found_label": values.found}
    model = make(method, {**told, "pos_label": values.positive, **named})
    _warn_of_labels(model, bool(files), values)
    place = None if folder is None else Path(folder)
    run = RunFolder(place) if place is not None and launch.first() else None  # of several ranks, the first one writes
    before = run is not None and run.finished
    start, earlier = time.perf_counter(), run.seconds() if run else 0.0
    model.fit(X, y, folder=place)
    seconds = earlier if before else round(earlier + time.perf_counter() - start, 2)
    if isinstance(model, AutoPU):
        model = model.chosen_
    s, _ = read_labels(y, model.pos_label, None, model.neg_label, model.found_label)
    ranked = _ranked(model, X, s, ids)
    answer = Answer(
        model=model,
        ranked=ranked,
        top=_cells(X, ranked.index[:TOP], id),
        source=Path(path),
        label=label,
        id=id,
        labelled=int((s == 1).sum()),
        unlabelled=len(ranked),
        prior=model.prior_,
        estimated=not is_number(prior),
        predicted=int(ranked["decision"].sum()),
        least=None if not ranked["decision"].any() else float(ranked["probability"][ranked["decision"] == 1].iloc[-1]),
        seconds=seconds,
        finished_before=before,
        folder=place,
        images=own.images,
        negatives=int((s == NEGATIVE).sum()),
        found=int((s == FOUND).sum()),
    )
    return answer if run is None else kept(answer, X, s, run, report)


def _warn_of_labels(model: PUEstimator, looked: bool, values: Labels) -> None:
    if model.takes_negatives and not looked and values.negative is not None and values.found is None:
        warnings.warn(
            "rows were looked at and found negative; if others were found positive, give them a label value of their "
            "own and name it with --found, in Python found=: else too few positives seem to be left",
            UserWarning,
            stacklevel=3,
        )
    if model.supervised:
        warnings.warn(
            f"{model.name} is no PU method: it takes every unlabelled row, hidden positives too, for a negative; "
            "use it on true labels, or take another method",
            UserWarning,
            stacklevel=3,
        )


def _fit_large(
    large: LargeTable,
    method: str,
    told: dict[str, Any],
    positive: Any,
    negative: Any,
    found: Any,
    looked: Any,
    drop: Sequence[str],
    keep: Sequence[str],
    folder: str | Path | None,
    report: bool,
) -> Answer:
    """Do what fit_file does for a table that is too large to be held."""
    if looked:
        raise ValueError(
            f"--looked, in Python looked=, is for tables that fit into memory; write the verdicts into the column "
            f"{large.label!r} of {large.path} and name their values with --negative and --found"
        )
    if told.get("encode") is False:
        raise ValueError(f"encode=False is for tables that fit into memory, and {large.path} is read in pieces")
    values = label_values(plain_labels(large.values), large.label, positive, negative, found)
    told |= {"pos_label": values.positive, "neg_label": values.negative, "found_label": values.found}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fit reads the labels again, and warns
        of = read_labels(values.y, values.positive, None, values.negative, values.found)[0].astype(np.int8)
    s = of[large.codes]
    model = make("blend-pu" if method == "auto" else method, told)
    _refuse_held_out(model, large.rows)
    _warn_of_labels(model, False, values)
    sample = large.sampled(s, told["random_state"], model.trains_network)
    X, s_X = large.taken(sample.rows), s[sample.rows]
    if drop or keep or large.id is not None:
        model.encode = encoder_for(X, drop, keep, large.id, told.get("encode", "auto"), large.path)
    place = None if folder is None else Path(folder)
    run = RunFolder(place) if place is not None and launch.first() else None  # of several ranks, the first one writes
    before = run is not None and run.finished
    start, earlier = time.perf_counter(), run.seconds() if run else 0.0
    rows = None
    if model.trains_network:
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
        rows = encoded(large, model, X, s_X, None if place is None else place.parent)
        model.fit(rows, _short(values.y)[large.codes], folder=place)
    else:
        model.fit(X, values.y[large.codes[sample.rows]], folder=place)
    seconds = earlier if before else round(earlier + time.perf_counter() - start, 2)
    unlabelled = int((s == 0).sum())
    _count_all(model, unlabelled, run)
    scored = all_rows(model, large, s, sample, rows, run)
    top = large.few(scored.top.index[:TOP].to_numpy())
    answer = Answer(
        model=model,
        ranked=scored.top,
        top=top.drop(columns=[] if large.id is None else [large.id]),
        source=large.path,
        label=large.label,
        id=large.id,
        labelled=int((s == 1).sum()),
        unlabelled=unlabelled,
        prior=model.prior_,
        estimated=not is_number(told["prior"]),
        predicted=scored.called,
        least=scored.least,
        seconds=seconds,
        finished_before=before,
        folder=place,
        negatives=int((s == NEGATIVE).sum()),
        found=int((s == FOUND).sum()),
        sample=sample,
    )
    return answer if run is None else kept(answer, X, s_X.astype(np.int64), run, report)


def _refuse_held_out(model: PUEstimator, rows: int) -> None:
    """Refuse settings of a network that hold rows out: those rows would have to be held in memory."""
    told = [
        name for name in ("validation_fraction", "calibrate") if getattr(model, name, None) not in (0, "auto", False)
    ]
    told += ["threshold"] if model.trains_network and model.threshold != "auto" else []
    if model.trains_network and told:
        raise ValueError(
            f"{told[0]}={getattr(model, told[0])!r} holds rows out, which {model.name} cannot do with {rows:,} rows on "
            "disk; leave it out, or fit a part of the table"
        )


def _short(y: np.ndarray) -> np.ndarray:
    """Return labels in a byte or four each, where they are whole numbers or some are missing."""
    if y.dtype.kind in "iu" and abs(y).max() < 128:
        return y.astype(np.int8)
    return y.astype(np.float32) if y.dtype.kind == "f" and np.array_equal(y, y.astype(np.float32), True) else y


def _count_all(model: PUEstimator, unlabelled: int, run: RunFolder | None) -> None:
    """Make the expected counts those of all unlabelled rows: the held-out scores are of a sample."""
    cut = model.cut_
    if cut is None or cut.held_out.total == unlabelled:
        return
    model.cut_ = replace(cut, held_out=replace(cut.held_out, total=unlabelled)).moved(cut.choice)
    if run is not None:
        model._fitted().write(run.path / RunFolder.MODEL)


def _ranked(model: PUEstimator, X: Any, s: np.ndarray, ids: np.ndarray | None) -> pd.DataFrame:
    import pandas as pd

    own = getattr(model, "oof_scores_", None)  # of models that did not see the row; others take it for a negative
    decision, p = model.judged(X) if own is None else model._judged(own)
    unlabelled = np.flatnonzero(s == 0)
    order = unlabelled[np.argsort(-decision[unlabelled], kind="stable")]  # sure rows may share a probability
    columns = {
        "id": order if ids is None else ids[order],
        "score": decision[order],
        "probability": p[order],
        "rank": np.arange(1, len(order) + 1),
        "decision": (decision[order] >= 0).astype(int),
    }
    return pd.DataFrame(columns, index=pd.Index(order, name="row"))


def ids_of(X: Any, id: str | None, path: Path) -> np.ndarray | None:
    """Return the column that names the rows. Names must be unique: else nobody could find a row by its name."""
    import pandas as pd

    if id is None:
        return None
    if not isinstance(X, pd.DataFrame):
        raise ValueError(f"{path} has no named columns; leave --id out, in Python id=")
    if id not in X:
        raise ValueError(f"{path} has no column {id!r} that could name the rows{near(id, X)}")
    names = X[id]
    if names.isna().any() or not names.is_unique:
        twice = names[names.duplicated()]
        what = f"{int(names.isna().sum())} blank cells" if names.isna().any() else f"the value {twice.iloc[0]!r} twice"
        raise ValueError(
            f"column {id!r} has {what}, so it cannot name the rows; leave --id out, or name another column"
        )
    return as_ids(names)


def encoder_for(
    X: Any, drop: Sequence[str], keep: Sequence[str], id: str | None, told: Any, path: Path
) -> TableEncoder:
    """Return the encoder that leaves out and keeps the columns that a user named. It knows which one names the rows."""
    if not is_frame(X):
        raise ValueError(f"{path} has no named columns; leave --drop and --keep out, in Python drop= and keep=")
    lost = next((name for name in (*drop, *keep) if name not in X), None)
    if lost is not None:
        raise ValueError(f"{path} has no column {lost!r} beside the label to drop or to keep{near(lost, X)}")
    made = clone(told) if isinstance(told, TableEncoder) else TableEncoder()
    return made.set_params(drop=tuple(drop), keep=tuple(keep), id=id)


def _cells(X: Any, rows: Any, id: str | None) -> pd.DataFrame | None:
    """Return these rows of a table as they are in the file, without the column that names them."""
    return X.iloc[rows].drop(columns=[] if id is None else [id], errors="ignore") if hasattr(X, "iloc") else None
