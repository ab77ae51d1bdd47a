"""A Parquet table that is too large to be held: its labels, a sample of its rows, and all rows in a memory map.

The rule: a Parquet file or folder of more than CELLS cells is read piece by piece. A method that trains a network
learns all rows, from a memory map. Any other method learns a sample of at most ROWS rows and CELLS cells. The sample
holds all labelled rows, up to half of it, and unlabelled rows drawn at random. All rows are scored (all_rows.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets.pieces import files_of, of_file, parquet_files
from ..datasets.table import check_columns, in_file
from ..encode import Encoded, TableEncoder
from ..encode.told import StrangeCells
from ..estimator import PUEstimator
from ..files.scratch import Scratch
from ..params import near
from ..progress import Bar
from .looking import as_ids

if TYPE_CHECKING:
    import pandas as pd

CELLS = 50_000_000  # 2,500,000 rows of 20 columns; a table with more is read piece by piece
ROWS = 1_000_000  # of the sample, at most
PIECE = 50_000  # rows that are read at a time
DIFFERENT = 1000  # values of a label column, at most: with more it holds no labels


@dataclass(frozen=True)
class Sample:
    """Which rows of a large table a model learnt, or which it was looked at by."""

    rows: np.ndarray  # their numbers in the table, rising
    labelled: int
    unlabelled: int
    of: int  # rows of the table
    all_labelled: bool
    learns_all: bool  # whether the method itself learnt all rows, and the sample served all else

    @property
    def told(self) -> str:
        """The rule in a sentence or two."""
        which = "all" if self.all_labelled else "a random part of the"
        held = (
            f"a sample of {len(self.rows):,} rows: {which} {self.labelled:,} labelled ones and {self.unlabelled:,} "
            "unlabelled ones drawn at random"
        ).replace(f"part of the {self.labelled:,} labelled ones", f"part of the labelled ones ({self.labelled:,})")
        if self.learns_all:
            return (
                f"The network learnt all {self.of:,} rows, from a memory map on disk. The kinds of the columns and the "
                f"pictures come from {held}. All rows are scored and counted."
            )
        return f"The table has {self.of:,} rows, and the model learnt from {held}. All rows are scored and counted."


@dataclass(frozen=True)
class LargeTable:
    """A Parquet table that is read piece by piece. Of its labels a byte or two a row are in memory."""

    path: Path
    label: str
    columns: list[str]  # beside the label
    rows: int
    id: str | None
    values: np.ndarray  # the different labels, as a table in memory would have them
    codes: np.ndarray  # of each row: the place of its label in `values`

    @classmethod
    def of(cls, path: str | Path, label: str | None, id: str | None = None) -> LargeTable | None:
        """Return a table of more than CELLS cells; None for others, and for files that are not Parquet."""
        path = Path(path).expanduser()
        if label is None or not path.exists() or not _is_parquet(path):
            return None
        files = parquet_files(path)
        if files is None or sum(files.values()) * max(1, _width(next(iter(files)))) <= CELLS:
            return None
        columns = _columns(path, files, label, id)
        values, codes = _labels(path, label, sum(files.values()))
        if id is not None:
            _check_names(path, id)
        return cls(path, label, columns, len(codes), id, values, codes)

    def pieces(self, columns: list[str] | None = None, text: str = "") -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield (number of the first row, rows) with the columns beside the label, or with these ones."""
        start = 0
        with Bar(bool(text), after=1.0) as bar:
            for piece in _pieces(self.path, self.columns if columns is None else columns, self._texts):
                yield start, piece
                start += len(piece)
                bar.update(text, start, self.rows)
        if start != self.rows:
            raise ValueError(f"{self.path} changed while it was read ({self.rows:,} rows, then {start:,}); run again")

    @property
    def _texts(self) -> tuple[str, ...]:
        return () if self.id is None else (self.id,)

    def sampled(self, s: np.ndarray, seed: int, learns_all: bool) -> Sample:
        """Draw the sample: rows that are labelled or looked at, up to half of it, and unlabelled ones."""
        most = max(4, min(ROWS, CELLS // len(self.columns)))
        random = np.random.default_rng([seed, self.rows])
        known = np.flatnonzero(s != 0)
        whole = len(known) <= most // 2
        known = known if whole else random.choice(known, most // 2, replace=False)
        others = int((s == 0).sum())
        drawn = np.arange(others) if others <= most - len(known) else random.choice(others, most - len(known), False)
        rows = np.sort(np.concatenate([known, unlabelled_rows(s, np.sort(drawn))]))
        labelled = int((s[rows] == 1).sum())
        return Sample(rows, labelled, int((s[rows] == 0).sum()), self.rows, whole, learns_all)

    def taken(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows, by their numbers, which rise."""
        import pandas as pd

        parts = []
        for start, piece in self.pieces(text=f"drawing a sample of {self.path.name}"):
            a, b = np.searchsorted(rows, [start, start + len(piece)])
            if b > a:
                parts.append(piece.iloc[rows[a:b] - start])
        return pd.concat(parts, ignore_index=True)

    def few(self, rows: np.ndarray) -> pd.DataFrame:
        """Return a few rows in this order. Of the files only the pieces that hold them are read."""
        import pandas as pd

        files = parquet_files(self.path) or {}
        ends = np.cumsum([*files.values()])
        parts = []
        for row in rows.tolist():
            number = int(np.searchsorted(ends, row, side="right"))
            within = row - (int(ends[number - 1]) if number else 0)
            found = of_file([*files][number], self.columns, PIECE, self._texts, first=within // PIECE)
            parts.append(next(found).reset_index(drop=True).iloc[[within % PIECE]])
        return pd.concat(parts).set_axis(rows) if parts else pd.DataFrame(columns=self.columns)

    def mapped(self, encoder: TableEncoder, folder: Path | None) -> np.ndarray:
        """Return all rows as numbers, in a memory map on the disk of `folder`. Strange cells are told once."""
        said: set[Any] = set()
        with Scratch(folder, encoder.width_) as scratch:
            scratch.check_room(self.rows)
            for _, piece in self.pieces(text=f"writing the memory map of {self.path.name}"):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    scratch.append(encoder.transform(piece))
                tell_new(caught, said)
            return scratch.mapped()


def encoded(table: LargeTable, model: PUEstimator, X: pd.DataFrame, s: np.ndarray, folder: Path | None) -> Encoded:
    """Fit the encoder of a method on the sample, and return all rows as numbers in a memory map."""
    encoder = model._new_encoder().fit(X, None if model.supervised else s)
    return Encoded(table.mapped(encoder, folder), encoder)


def unlabelled_rows(s: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the numbers of the unlabelled rows at these places among all unlabelled ones. Places rise."""
    found, before = [np.empty(0, dtype=np.int64)], 0
    for start in range(0, len(s), 2**20):
        part = np.flatnonzero(s[start : start + 2**20] == 0)
        a, b = np.searchsorted(places, [before, before + len(part)])
        found.append(part[places[a:b] - before] + start)
        before += len(part)
    return np.concatenate(found)


def tell_new(caught: list[warnings.WarningMessage], said: set[Any]) -> None:
    """Pass warnings on, each kind once: numbers in it may change from piece to piece."""
    for one in caught:
        text = "".join(c for c in str(one.message) if not c.isdigit())
        kinds: frozenset[Any] = getattr(one.message, "kinds", None) or frozenset([text])
        if kinds - said:
            said |= kinds
            message = StrangeCells(str(one.message), kinds) if one.category is StrangeCells else str(one.message)
            warnings.warn(message, one.category, stacklevel=5)


def _is_parquet(path: Path) -> bool:
    if path.is_dir():
        inside = (one for one in path.rglob("*") if one.is_file() and not one.name.startswith((".", "_")))
        return all(one.name.lower().endswith(".parquet") for one in islice(inside, 20))
    return path.name.lower().endswith(".parquet")


def _width(file: Path) -> int:
    import pyarrow.parquet as pq

    return len(pq.read_schema(file).names)


def _columns(path: Path, files: dict[Path, int], label: str, id: str | None) -> list[str]:
    """Return the columns beside the label. All files must have the same ones."""
    import pyarrow.parquet as pq

    first: list[str] = []
    for number, file in enumerate(files):
        empty = pq.read_schema(file).empty_table().to_pandas()
        names = [str(name) for name in empty.columns]
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ValueError(f"{file} has two columns {twice!r}; rename one of them")
        if number and set(names) != set(first):
            raise ValueError(f"{path} has tables with different columns; give a folder whose tables have the same ones")
        first = first or names
    check_columns(empty, path, [label])
    if id is not None and id not in first:
        raise ValueError(f"{path} has no column {id!r} that could name the rows{near(id, first)}")
    odd = [name for name in first if name.startswith("Unnamed: ") and empty[name].dtype.kind == "i"]
    if odd:
        warnings.warn(f"{path} has a column without a name that numbers the rows; it is left out", stacklevel=5)
    left = [name for name in first if name != label and name not in odd]
    if not [name for name in left if name != id]:
        raise ValueError(f"{path} has no column besides the label; add the columns to learn from")
    return left


def _pieces(path: Path, columns: list[str], texts: tuple[str, ...] = ()) -> Iterator[pd.DataFrame]:
    for file in files_of(path):
        for piece in of_file(file, columns, PIECE, texts):
            yield piece.reset_index(drop=True)


def _labels(path: Path, label: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the different labels and which one each row has."""
    import pandas as pd

    places: dict[Any, int] = {}
    codes, blanks = np.empty(rows, dtype=np.int16), False
    start = 0
    for piece in _pieces(path, [label]):
        code, found = pd.factorize(in_file(piece[label]), use_na_sentinel=True)
        of = np.array([places.setdefault(value, len(places)) for value in found.tolist()] + [-1], dtype=np.int16)
        if len(places) > DIFFERENT:
            raise ValueError(
                f"column {label!r} holds more than {DIFFERENT} values; name a column that marks the known positives"
            )
        codes[start : start + len(code)] = of[code]
        blanks, start = blanks or bool((code < 0).any()), start + len(code)
    values = [*places]
    if blanks:
        codes[codes < 0] = len(values)
        values.append(None if any(isinstance(v, str) for v in values) else float("nan"))
    plain = np.array(values) if not any(isinstance(v, str) for v in values) else np.array(values, dtype=object)
    return plain, codes


def _check_names(path: Path, id: str) -> None:
    """Refuse a column of names with a blank or with a name twice. Of each name eight bytes are kept."""
    import pandas as pd

    hashes, blank = [], 0
    for piece in _pieces(path, [id], (id,)):
        blank += int(piece[id].isna().sum())
        hashes.append(
            pd.util.hash_array(np.array([str(one) for one in as_ids(piece[id])], dtype=object), categorize=False)
        )
    found = np.sort(np.concatenate(hashes))
    same = int((found[1:] == found[:-1]).sum())
    if blank or same:
        what = f"{blank:,} blank cells" if blank else f"{same:,} rows with a name that another row has"
        raise ValueError(
            f"column {id!r} has {what}, so it cannot name the rows; leave --id out, or name another column"
        )
