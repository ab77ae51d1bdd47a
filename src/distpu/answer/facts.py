"""Collects every fact of the page as plain JSON: report.json. The page is made from it alone."""

from __future__ import annotations

import math
import shlex
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..diagnosis.quick import MOST, quick_findings
from ..diagnosis.scores import MAX_COLUMNS, sampled
from ..estimator import versions
from ..files.run_folder import Json, RunFolder
from ..files.scores import missing, short_number
from ..inputs import numbers
from ..prior.known import SHAPES
from ..prior.separable import APART
from ..report.page import SCHEMA
from .curves import cuts_by_probability, cuts_of, histogram, other_priors, reliable, scores
from .drivers import drivers
from .sheet import sheet
from .words import counts_explained, what_next, where_the_cut_is

if TYPE_CHECKING:
    from .fitting import Answer

CELL, SHOWN = 80, 8  # characters of a cell; columns of the top rows
EPOCHS = 200  # points of a curve of training


def facts(answer: Answer, X: Any, s: np.ndarray, seed: int = 0) -> Json:
    """Return all facts of an answer. X, s: the rows and PU labels that the model was fitted on."""
    model = answer.model
    known = math.isfinite(answer.prior)
    table = hasattr(X, "iloc")
    found = {
        "schema": SCHEMA,
        "distpu": __version__,
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(_finished_at(answer))),
        "source": answer.source.name,
        "label": answer.label,
        "positive": _plain(model.classes_[1]),
        "id": answer.id,
        "what": answer.what,
        "next": what_next(answer),
        "kind": "table" if table else "images" if np.ndim(X) > 2 else "vectors",
        "rows": answer.rows,
        "labelled": answer.labelled,
        "unlabelled": answer.unlabelled,
        "sample": None if answer.sample is None else answer.sample.told,
        "looked_at": {"negative": answer.negatives, "positive": answer.found},
        "method": {"name": model.name, "class": type(model).__name__, "paper": model.paper, "seconds": answer.seconds},
        "prior": _prior(answer) if known else None,
        "called": answer.predicted,
        "cut": _cut(answer),
        "counts_explained": counts_explained(answer),
        "drivers": _drivers(answer, X, s, seed) if table else None,
        "histogram": _histogram(answer, X, s),
        "curve": _curve(answer, X, s),
        "reliability": None if model.cut_ is None else reliable(model.cut_),
        "sensitivity": None if model.cut_ is None else other_priors(model.cut_, model.prior_interval_),
        "learnt": _learnt(answer),
        "findings": _findings(answer, X, s, seed) if known else [],
        "columns": _columns(model, X) if table else None,
        "images": sheet(answer, X) if not table and np.ndim(X) > 2 else None,
        "settings": {name: _plain(value) for name, value in model._plain_parameters().items()},
        "versions": _versions(answer),
        "command": _command(answer),
    }
    found["top"] = _top(answer, found["drivers"])
    return _finite(found)


def _finite(value: Any) -> Any:
    """Return the same with null for every number that is not finite: JSON has none."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _finished_at(answer: Answer) -> float:
    """Return when training ended: a page that is made again must not differ."""
    return time.time() if answer.folder is None else RunFolder(answer.folder).finished_at()


def _prior(answer: Answer) -> Json:
    found = answer.model.prior_estimate_
    how = "given" if not answer.estimated else "the method's own estimate" if found is None else f"by {found.name}"
    given = {"share": answer.prior, "how": how, "hidden": answer.hidden, "interval": None, "level": None}
    if found is not None and found.interval is not None:
        given |= {"interval": list(found.interval), "level": found.level}
        apart = found.separability is not None and found.separability > APART
        given |= {"two_sided": found.two_sided, "assumes_shape": found.name in SHAPES and not apart}
        given |= {"reading": found.reading, "note": found.note, "few": found.few}
    return given


def _cut(answer: Answer) -> Json:
    expected, cut = answer.model.expected_, answer.model.cut_
    choice = "auto" if cut is None else cut.choice
    given = None if expected is None else expected.as_json()
    return {"choice": choice, "words": where_the_cut_is(answer), "least_probability": answer.least, "expected": given}


def _histogram(answer: Answer, X: Any, s: np.ndarray) -> Json:
    cut, model = answer.model.cut_, answer.model
    if cut is not None:
        return histogram(cut, np.empty(0), np.empty(0))
    decision = model.judged(X)[0]
    return histogram(None, decision[s == 1], decision[s == 0])


def _curve_of_sample(answer: Answer, X: Any, s: np.ndarray) -> Json:
    """Return the curve of the unlabelled rows of a sample, with the counts of all rows."""
    decision, p = (values[s == 0] for values in answer.model.judged(X))
    points = cuts_by_probability(np.sort(p)[::-1], int((decision >= 0).sum()))
    times = answer.unlabelled / len(p)
    return {"held_out": False, "points": [{**one, "rows": round(one["rows"] * times)} for one in points]}


def _curve(answer: Answer, X: Any, s: np.ndarray) -> Json:
    cut = answer.model.cut_
    p = answer.ranked["probability"].to_numpy()
    if answer.sample is not None and cut is None:
        return _curve_of_sample(answer, X, s)
    if cut is not None:
        own = p if hasattr(answer.model, "oof_scores_") and answer.sample is None else None
        return {"held_out": True, "points": cuts_of(cut, answer.model.prior_interval_, answer.predicted, own)}
    return {"held_out": False, "points": cuts_by_probability(p, answer.predicted)}


def _drivers(answer: Answer, X: Any, s: np.ndarray, seed: int) -> Json | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shuffled rows are no rows of the user's
        unused = {str(c.name) for c in _encoded(answer.model) if not c.used}
        return drivers(answer.model, X, s, seed, unused)


def _top(answer: Answer, driven: Json | None) -> Json:
    """Return the likeliest rows, with the columns that matter most."""
    names: list[str] = []
    if answer.top is not None:
        own = list(answer.top.columns)
        ids = [name for name in own if name in {c.name for c in _encoded(answer.model) if c.kind == "id"}][:1]
        names = [*ids, *([one["column"] for one in driven["columns"]] if driven else own)]
        names = list(dict.fromkeys(names))[:SHOWN]  # what names a row comes first, then what drives its score
    ranked = answer.ranked.head(0 if answer.top is None else len(answer.top))
    if answer.top is None:
        ranked = answer.ranked.head(25)
    rows = []
    for place, (row, line) in enumerate(zip(ranked.index, ranked.itertuples(index=False), strict=True)):
        cells = [] if answer.top is None else [_text(answer.top[name].iloc[place]) for name in names]
        numbers = {"row": int(row), "rank": int(line.rank), "decision": int(line.decision)}
        rows.append({"id": _text(line.id), "probability": float(line.probability), **numbers, "cells": cells})
    others = 0 if answer.top is None else answer.top.shape[1] - len(names)
    return {"columns": names, "not_shown": others, "rows": rows}


def _learnt(answer: Answer) -> Json:
    """Return how the model came about: curves of a network, or members of a blend and their weights."""
    model = answer.model
    history = getattr(model, "history_", None) or []
    step = max(1, len(history) // EPOCHS)
    told: Json = {"epochs": [_numbers_of(row) for row in history[::step]], "members": None}
    weights, members = getattr(model, "weights_", None), getattr(model, "_members", None)
    if weights is not None and callable(members):
        names = list(members())
        if len(names) in (len(weights), len(weights) - 1):
            told["members"] = {name: float(w) for name, w in zip(names, weights, strict=False)}
    return told


def _numbers_of(row: Json) -> Json:
    return {key: value for key, value in row.items() if isinstance(value, (int, float, str)) and not _infinite(value)}


def _infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _findings(answer: Answer, X: Any, s: np.ndarray, seed: int) -> list[Json]:
    """Return what the cheap part of a diagnosis finds. A page without it is better than none."""
    cut = answer.model.cut_
    plain = (s == 0) | (s == 1)  # rows that a person looked at are neither a draw of positives nor of all rows
    if not plain.all():
        X, s = (X.loc[plain] if hasattr(X, "iloc") else X[plain]), s[plain]
    scored = None
    if cut is not None:
        z_p, z_u = (scores(table, 50_000) for table in (cut.held_out.labelled, cut.held_out.unlabelled))
        scored = np.repeat([1, 0], [len(z_p), len(z_u)]), np.concatenate([z_p, z_u])
    try:
        sample = _sample(answer.model, X, s, seed)
        listed = quick_findings(s, answer.prior, answer.model.prior_interval_, scored, _keys(X), sample, seed)
    except ValueError:  # too few different labelled rows
        listed = quick_findings(s, answer.prior, answer.model.prior_interval_, scored)
    return [{"name": one.name, "level": one.level, "text": one.text, "remedy": one.remedy} for one in listed]


def _sample(model: Any, X: Any, s: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, str]] | None:
    """Return some rows of a table as numbers, and of which column each is; None for images and wide tables."""
    if not hasattr(X, "iloc"):
        return None
    rows = sampled(s, MOST, seed)
    part, encoder = X.iloc[rows], getattr(model, "encoder_", None)
    x = numbers(part) if encoder is None else encoder.transform(part)
    names = list(part.columns) if encoder is None else list(encoder.get_feature_names_out())
    if x is None or len(names) > MAX_COLUMNS or len(set(names)) < len(names):
        return None
    sources = names if encoder is None else encoder.sources_
    return rows, x, {str(name): str(source) for name, source in zip(names, sources, strict=True)}


def _keys(X: Any) -> np.ndarray | None:
    """Return a number per row of a table; equal rows have equal numbers."""
    import pandas as pd

    if not hasattr(X, "iloc"):
        return None
    try:
        hashed = pd.util.hash_pandas_object(X, index=False).to_numpy()
    except TypeError:  # vectors in a cell
        return None
    return np.unique(hashed, return_inverse=True)[1].ravel()


def _encoded(model: Any) -> list[Any]:
    """Return what the encoder says of each column; nothing where the columns were taken as they are."""
    return list(getattr(getattr(model, "encoder_", None), "columns_", ()))


def _columns(model: Any, X: Any) -> list[Json]:
    if listed := _encoded(model):
        return [
            {"name": str(c.name), "kind": c.kind, "what": c.done, "used": bool(c.used), "width": int(c.width)}
            for c in listed
        ]
    blank = X.isna().mean()
    return [
        {
            "name": str(name),
            "kind": "number",
            "what": "used as it is"
            + (f"; {100 * blank.iloc[j]:.1f} % of its cells are blank" if blank.iloc[j] else ""),
            "used": True,
            "width": 1,
        }
        for j, name in enumerate(X.columns)
    ]


def _versions(answer: Answer) -> Json:
    if answer.folder is not None:
        return RunFolder(answer.folder).config().get("versions", {})
    return versions()


def _command(answer: Answer) -> str:
    folder = "FOLDER" if answer.folder is None else shlex.quote(str(answer.folder))
    new = (
        "NEW-IMAGES" if answer.images is not None and answer.source.is_dir() else f"NEW{answer.source.suffix or '.csv'}"
    )
    return f"distpu predict {folder} {new} --out new-scores.csv"


def _text(value: Any) -> str:
    """Return a user's value as a short text."""
    if missing(value):
        return ""
    text = short_number(value) if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return text if len(text) <= CELL else text[: CELL - 1] + "…"


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, (str, int, bool, type(None))) or not _infinite(value) else str(value)
