"""TableEncoder: a table as people have it -> float32 numbers. What it learnt is JSON and arrays, without pickle.

Each column is recognised (recognise.py) and encoded by its kind (number, category, date, text, vector). Why not skrub's
TableVectorizer: its fitted state is a tree of pipelines that needs pickle to be stored; it does not know ids,
give-aways, '<1' and '50-99', or how often a cell was new; results/encode/README.md has both side by side.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..kinds import plain_rows
from ..params import near, near_each
from .category import Boolean, Category
from .cells import cells_of
from .changes import Change, change_of, tell_changes
from .date import Date
from .frames import as_pandas, is_frame
from .kind import Kind
from .leaks import TELLS, alone, id_tells, leaks
from .number import MOST, Number
from .recognise import Found, Limits, recognise
from .state import Rules, check, is_flag, is_text, is_whole, maybe, one_of
from .text import Text
from .told import SHOWN, Strange, refuse_infinite
from .vector import Vector

HOWS: dict[str, type[Kind]] = {kind.how: kind for kind in (Number, Boolean, Category, Date, Text, Vector)}
KINDS = ("number", "boolean", "category", "date", "text", "id", "constant", "leak", "vector", "dropped")
ROWS = 50_000  # of one step of transform: its memory does not grow with the table


@dataclass(frozen=True)
class Column:
    """What a column holds and what was done with it."""

    name: str
    kind: str
    done: str
    used: bool
    width: int  # columns of numbers that it became


@dataclass
class _Part:
    """A column that is used: its encoder, and whether its blanks have a column of their own."""

    column: Column
    maker: Kind
    indicator: bool


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns a data frame with numbers, categories, dates, texts and blanks into float32 numbers.

    drop        columns to leave out
    keep        columns to use although they look like an id, a constant or a give-away
    id          the column that names the rows; it is left out
    blanks      "keep": a blank number is NaN; "fill": it is the median, and blanks have a column of their own
    one_hot     a category with more values than this has a column for its frequent values only
    components  directions of a free text at most
    terms       words, and runs of letters, that a text encoder knows at most
    rows        rows to learn from at most, drawn at random
    leaks       whether to leave out columns that give the label away; `fit` needs y for that

    `fit` sets columns_ (what each column holds and what was done with it), feature_names_in_ and
    decimal_ (the decimal sign of the text file that the frame was read from; None where it was no such file).
    """

    def __init__(
        self,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        id: str | None = None,
        blanks: str = "keep",
        one_hot: int = 20,
        components: int = 50,
        terms: int = 10_000,
        rows: int = 50_000,
        leaks: bool = True,
    ) -> None:
        self.drop = drop
        self.keep = keep
        self.id = id
        self.blanks = blanks
        self.one_hot = one_hot
        self.components = components
        self.terms = terms
        self.rows = rows
        self.leaks = leaks

    # ------------------------------------------------------------------ fit

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """Learn what each column holds. y, with 1 for labelled positives, shows columns that give the label away."""
        self._check_parameters()
        frame = self._frame(X)
        if not len(frame) or not len(frame.columns):
            raise ValueError(f"X has {len(frame)} rows and {len(frame.columns)} columns; give at least one of each")
        self._check_names([str(name) for name in frame.columns])
        sample = self._sample(len(frame))
        part = frame if sample is None else frame.iloc[sample]
        limits = Limits(self.one_hot, self.components, self.terms)
        self._parts: list[_Part] = []
        self.columns_: list[Column] = []
        infinite: dict[str, np.ndarray] = {}
        auc = self._alone(frame, y)
        given_away = {name: value for name, value in leaks(auc).items() if name not in self.keep}
        changes: dict[str, tuple[Change, str]] = {}
        for name in frame.columns:
            found, blank = self._recognised(name, part[name], frame[name], limits, infinite)
            found = self._changed(name, found, part[name], frame[name], changes)
            if found.maker is not None and name in given_away:
                told = f"it alone tells labelled from unlabelled rows (AUC {given_away[name]:.3f})"
                found = Found("leak", f"left out: {told}, as a column does that is filled in with the label")
            if found.kind == "id" and name in auc and id_tells(auc[name], int((np.asarray(y) == 1).sum())):
                told = (
                    f"{TELLS} (AUC {auc[name]:.2f}): --keep {quote(str(name))} if the rows to score have ids like these"
                )
                found = Found("id", f"{found.done}; {told}")
            self._add(name, found, blank)
        refuse_infinite(infinite)
        tell_changes(changes)
        self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        if not self._parts:
            listed = "; ".join(f"{c.name!r} {c.done}" for c in self.columns_[:SHOWN])
            raise ValueError(
                f"X has no column to learn from ({listed}); add columns, or keep some: --keep, in Python keep="
            )
        self.plain_ = self._is_plain()
        self.decimal_ = sign if (sign := frame.attrs.get("decimal")) in (".", ",") else None
        return self

    def _recognised(
        self, name: str, column: pd.Series, whole: pd.Series, limits: Limits, infinite: dict[str, np.ndarray]
    ) -> tuple[Found, np.ndarray]:
        """Recognise a column by a sample of it. Blanks and infinities of numbers are those of the whole column."""
        if name in self.drop:
            return Found("dropped", "left out, as you asked"), np.zeros(0, dtype=bool)
        if name == self.id:
            return Found("id", "left out: it names the rows, as you said"), np.zeros(0, dtype=bool)
        cells = cells_of(column)
        seen = cells if cells.number is None or len(whole) == len(column) else cells_of(whole)
        if seen.number is not None and (bad := np.abs(seen.number) >= MOST).any():
            infinite[name] = bad
        return recognise(name, cells, limits, name in self.keep), seen.blank

    def _changed(
        self, name: str, found: Found, column: pd.Series, whole: pd.Series, changes: dict[str, tuple[Change, str]]
    ) -> Found:
        """Say of a column that changes its kind half way where it does, and add it to `changes`."""
        complete = isinstance(found.maker, Number) and (found.maker.clean or bool(found.maker.words))
        if found.maker is None or complete or (change := change_of(cells_of(column))) is None:
            return found
        change = change_of(cells_of(whole)) or change if len(whole) > len(column) else change
        kind = {"number": "numbers, with blanks for the other texts", "date": "dates, with blanks for the other texts"}
        changes[name] = change, kind.get(found.kind, f"a {found.kind}")
        return replace(found, done=f"{found.done}; {change}")

    def _add(self, name: str, found: Found, blank: np.ndarray) -> None:
        if found.maker is None:
            self.columns_.append(Column(name, found.kind, found.done, False, 0))
            return
        is_number = isinstance(found.maker, (Number, Boolean, Date, Vector))
        indicator = bool(blank.any()) and (self.blanks == "fill" or not is_number)
        done = found.done
        if blank.any():
            share = f"{100 * blank.mean():.1f} %" if blank.mean() >= 0.001 else "under 0.1 %"
            done += f"; blank in {share} of the rows" + (": one more column says which" if indicator else "")
        width = len(found.maker.names(name)) + indicator
        column = Column(name, found.kind, done, True, width)
        self.columns_.append(column)
        self._parts.append(_Part(column, found.maker, indicator))

    def _alone(self, frame: pd.DataFrame, y: Any) -> dict[str, float]:
        """Return how well each column alone tells labelled from unlabelled rows."""
        if y is None or not self.leaks:
            return {}
        s = np.asarray(y)
        if s.shape != (len(frame),):
            raise ValueError(f"X has {len(frame)} rows, but y has shape {s.shape}; give one label per row")
        skip = {*self.drop, self.id}
        return alone(frame[[name for name in frame.columns if name not in skip]], s == 1)

    def _sample(self, n: int) -> np.ndarray | None:
        return None if n <= self.rows else np.sort(np.random.RandomState(0).permutation(n)[: self.rows])

    # ------------------------------------------------------------ transform

    def transform(self, X: Any) -> np.ndarray:
        """Return (rows, width) in float32. Cells that are not as in training are told of in one warning."""
        check_is_fitted(self)
        frame = self._chosen(self._frame(X))
        out = np.empty((len(frame), self.width_), dtype=np.float32)
        strange = Strange()
        for start in range(0, len(frame), ROWS):
            self._write(frame.iloc[start : start + ROWS], out[start : start + ROWS], strange)
        strange.tell()
        return out

    def _write(self, frame: pd.DataFrame, out: np.ndarray, strange: Strange) -> None:
        at = 0
        for part in self._parts:
            name, n = part.column.name, part.column.width - part.indicator
            own = out[:, at : at + n]
            cells = cells_of(frame[name])
            blank, odd = part.maker.write(cells, own)
            strange.add(name, part.maker, cells, odd)
            if self.blanks == "fill":
                for j, fill in enumerate(part.maker.fills):
                    own[np.isnan(own[:, j]), j] = fill
            if part.indicator:
                out[:, at + n] = blank
            at += part.column.width

    def numbers(self, X: Any) -> pd.DataFrame:
        """Return the columns of plain numbers as float64, with NaN for blanks and for what is no number.

        For an encoder with plain_: training had nothing but numbers, and the rows pass as they are.
        """
        frame, strange = self._chosen(self._frame(X)), Strange()
        columns = {}
        for part in self._parts:
            assert isinstance(part.maker, Number)
            cells = cells_of(frame[part.column.name])
            unused = np.empty((len(frame), 1), dtype=np.float32)
            blank, odd = part.maker.write(cells, unused)
            value = part.maker.values(cells)
            if self.blanks == "fill" and blank.any():
                value, odd = np.where(blank, part.maker.fill, value), odd | {"blank, unlike in training": blank}
            columns[part.column.name] = value
            strange.add(part.column.name, part.maker, cells, odd)
        strange.tell()
        return pd.DataFrame(columns, index=frame.index)

    @property
    def used_(self) -> list[str]:
        """Columns of the frame that transform needs."""
        return [part.column.name for part in self._parts]

    @property
    def width_(self) -> int:
        """Columns of numbers that transform returns."""
        return sum(part.column.width for part in self._parts)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that transform returns."""
        check_is_fitted(self)
        names: list[str] = []
        for part in self._parts:
            names += part.maker.names(part.column.name) + [f"{part.column.name} (blank)"] * part.indicator
        return np.array(names, dtype=object)

    @property
    def sources_(self) -> list[str]:
        """The column of the frame from which each column of transform comes."""
        return [part.column.name for part in self._parts for _ in range(part.column.width)]

    # --------------------------------------------------------------- checks

    def _check_parameters(self) -> None:
        if self.blanks not in ("keep", "fill"):
            raise ValueError(f"blanks={self.blanks!r} must be 'keep' or 'fill'{near(self.blanks, ['keep', 'fill'])}")
        for name, least in (("one_hot", 2), ("components", 1), ("terms", 2), ("rows", 20)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number of at least {least}")
        for name in ("drop", "keep"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name}={getattr(self, name)!r} must be a list of column names")

    def _check_names(self, names: list[str]) -> None:
        for what, asked in (("drop", self.drop), ("keep", self.keep), ("id", [] if self.id is None else [self.id])):
            lost = next((one for one in asked if one not in names), None)
            if lost is not None:
                raise ValueError(f"{what}: X has no column {lost!r}{near(lost, names)}")
        both = next((one for one in self.keep if one in self.drop or one == self.id), None)
        if both is not None:
            raise ValueError(f"column {both!r} is to be kept and to be left out; name it once")

    def _frame(self, X: Any) -> pd.DataFrame:
        X = plain_rows(X)
        if is_frame(X):
            return as_pandas(X)
        if hasattr(X, "toarray") or np.ndim(X) != 2:
            raise ValueError(
                f"TableEncoder takes a data frame or a 2-D array, not {type(X).__name__} of {np.ndim(X)} axes"
            )
        names = getattr(self, "feature_names_in_", None)
        array = np.asarray(X, dtype=object) if not isinstance(X, np.ndarray) else X
        if names is not None and array.shape[1] != len(names):
            raise ValueError(f"X has {array.shape[1]} columns, but TableEncoder was fitted on {len(names)}")
        frame = pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])] if names is None else names)
        return frame.infer_objects()

    def _chosen(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame if it has all columns that are used, in any order and beside others."""
        lost = [p.column.name for p in self._parts if p.column.name not in frame.columns]
        if lost:
            used = {part.column.name for part in self._parts}
            hint = near_each(lost[:SHOWN], [name for name in frame.columns if name not in used])
            listed = ", ".join(map(repr, lost[:SHOWN])) + (
                f" and {len(lost) - SHOWN} more" if len(lost) > SHOWN else ""
            )
            raise ValueError(f"X has no column{'s' * (len(lost) > 1)} {listed}{hint}; the model was trained on it")
        return frame

    # ---------------------------------------------------------------- state

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what was learnt as plain values for JSON, and arrays by name."""
        check_is_fitted(self)
        columns, used = [], {part.column.name: part for part in self._parts}
        arrays: dict[str, np.ndarray] = {}
        for i, column in enumerate(self.columns_):
            entry: dict[str, Any] = asdict(column)
            if (part := used.get(column.name)) is not None:
                state, own = part.maker.to_state()
                entry |= {"how": part.maker.how, "indicator": part.indicator, "state": state}
                arrays |= {f"{i}.{name}": value for name, value in own.items()}
            columns.append(entry)
        params = {**self.get_params(), "drop": list(self.drop), "keep": list(self.keep)}
        return {"version": 1, "params": params, "columns": columns, "decimal": self.decimal_}, arrays

    @classmethod
    def from_state(cls, state: Any, arrays: dict[str, np.ndarray]) -> TableEncoder:
        """Return the fitted encoder; ValueError in one line if the state cannot be one."""
        state = {"decimal": None, **state} if isinstance(state, dict) else state  # older ones have none
        check(state, STATE, "the encoder")
        check(state["params"], PARAMS, "params")
        made = cls(**{key: state["params"][key] for key in PARAMS})
        made._check_parameters()
        made.columns_, made._parts = [], []
        for i, entry in enumerate(state["columns"]):
            where = f"columns[{i}]"
            check(entry, COLUMN, where)
            column = Column(*(entry[key] for key in COLUMN))
            made.columns_.append(column)
            if not column.used:
                continue
            check(entry, USED, where)
            own = {key.partition(".")[2]: v for key, v in arrays.items() if key.partition(".")[0] == str(i)}
            maker = HOWS[entry["how"]].from_state(entry["state"], own, where)
            width = len(maker.names(column.name)) + entry["indicator"]
            if width != column.width or len(maker.fills) + entry["indicator"] != width:
                raise ValueError(f"{where}: width={column.width} must be {width}")
            made._parts.append(_Part(column, maker, entry["indicator"]))
        names = [column.name for column in made.columns_]
        if len(set(names)) < len(names) or not made._parts:
            raise ValueError("columns must have different names, and some must be used")
        made.feature_names_in_ = np.array(names, dtype=object)
        made.n_features_in_ = len(names)
        made.plain_, made.decimal_ = made._is_plain(), state["decimal"]
        return made

    def _is_plain(self) -> bool:
        makers = [(part.maker, part.indicator) for part in self._parts]
        plain = all(isinstance(maker, Number) and maker.clean and not extra for maker, extra in makers)
        return plain and len(makers) == len(self.columns_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


STATE: Rules = {
    "version": (one_of(1), "1"),
    "params": (lambda v: isinstance(v, dict), "an object"),
    "columns": (lambda v: isinstance(v, list) and bool(v), "a list"),
    "decimal": (one_of(None, ".", ","), "'.', ',' or null"),
}
_names = (lambda v: isinstance(v, list) and all(map(is_text, v)), "a list of strings")
PARAMS: Rules = {
    "drop": _names,
    "keep": _names,
    "id": (maybe(is_text), "a string or null"),
    "blanks": (one_of("keep", "fill"), "'keep' or 'fill'"),
    **{key: (is_whole, "a whole number") for key in ("one_hot", "components", "terms", "rows")},
    "leaks": (is_flag, "true or false"),
}
COLUMN: Rules = {
    "name": (is_text, "a string"),
    "kind": (one_of(*KINDS), f"one of {', '.join(KINDS)}"),
    "done": (is_text, "a string"),
    "used": (is_flag, "true or false"),
    "width": (is_whole, "a whole number"),
}
USED: Rules = {
    "how": (one_of(*HOWS), f"one of {', '.join(HOWS)}"),
    "indicator": (is_flag, "true or false"),
    "state": (lambda v: isinstance(v, dict), "an object"),
}


def encoded(X: Any, s: Any = None, by: TableEncoder | None = None) -> tuple[np.ndarray, list[str]]:
    """Return a frame as numbers, with NaN for blanks, and their names. Without s no give-away is left out."""
    made = (TableEncoder() if by is None else clone(by)).fit(X, s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the encoder may have learnt from a sample of these rows
        return made.transform(X), made.get_feature_names_out().tolist()
