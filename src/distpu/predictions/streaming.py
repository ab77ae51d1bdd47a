"""predict_file does what `distpu predict` does: it scores data in pieces and writes the file whole or not at all."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, datasets
from ..answer.pictures import for_model, takes_images
from ..estimator import PUEstimator
from ..files.out import check_out, opened_out, plain_goal
from ..files.scores import check_ending
from ..params import need
from ..progress import Bar
from ..saved import load
from . import output, rows
from .part import Part, Piece


@dataclass(frozen=True)
class Predictions:
    """The result of predict_file."""

    rows: int
    positive: int  # rows that the model calls positive
    out: Path | None
    resumed: int  # rows that an earlier, killed run had scored
    differences: tuple[str, ...]  # between these rows and those that the model was trained on


def predict_file(
    folder: str | Path,
    data: str | Path,
    out: str | Path | None = None,
    *,
    id: str | None = None,
    threshold: Any = None,
    rank: bool = False,
    strict: bool = False,
    rows_at_a_time: int = rows.ROWS,
    data_root: str | Path | None = None,
    progress: bool = True,
) -> Predictions:
    """Score the rows of a file, a folder of files or a data set's test rows with the model of a run folder.

    data       CSV, Parquet, .npy, .npz, a folder of tables, whose columns are matched by name, or a folder of images
    out        a .csv or .parquet file with the columns id, score, probability, decision; None: standard output as CSV
    id         the column that names the rows; else the model's own, else a row's number, from 0
    threshold  another cut than that of the fit
    rank       adds each row's rank; this needs 24 bytes of memory a row
    strict     a damaged image is an error, else it is named and left out

    Rows are scored in pieces, so memory does not grow with the data. A killed call leaves a part beside `out`, and the
    same call goes on from it; the result has the same bits as without a kill.
    """
    out = None if out is None else Path(out)
    if out is not None:
        check_out(out, data)
        check_ending(out)
        if out.name.lower().endswith(".parquet"):
            need("pyarrow", "parquet", "writing Parquet")
    model = load(folder)
    if threshold is not None:
        model.set_threshold(threshold)
    job = _Job(model, str(data), id, rows_at_a_time, data_root, progress, strict)
    goal = None if out is None else plain_goal(out)
    if out is None or goal is None:
        return job.streamed(out, rank)
    goal.parent.mkdir(parents=True, exist_ok=True)
    of: dict[str, Any] = {"distpu": __version__, "model": rows.model_identity(Path(folder)), "data": job.identity()}
    of |= {"cut": str(model.threshold), "id": job.id, "rows": rows_at_a_time}
    return job.into_file(out, goal, of, rank)


class _Job:
    """One model on one source of rows."""

    def __init__(
        self,
        model: PUEstimator,
        data: str,
        id: str | None,
        size: int,
        data_root: str | Path | None,
        progress: bool,
        strict: bool,
    ):
        self.model, self.size, self.progress = model, size, progress
        self.path = Path(data).expanduser()
        encoder = model.encoder_
        self.encodes, own = encoder is not None, getattr(encoder, "id", None)
        self.decimal: str | None = getattr(encoder, "decimal_", None)
        self.names = None if (names := getattr(model, "feature_names_in_", None)) is None else list(names)
        if encoder is not None:  # columns that were left out of training may be missing now
            self.names = [column.name for column in encoder.columns_ if column.used]
        self.x: Any = None  # rows that are in memory or mapped into it
        self.own_ids: list[str] | None = None
        self.images: datasets.Images | None = None
        if data in datasets.NAMES:
            self.x = datasets.load(data, data_root).x_test
        elif self.names is None and self._holds_images():
            self.images = for_model(model, self.path, strict)
            self.x, self.own_ids = self.images.x, [str(name) for name in self.images.names]
        self.id = id if id is not None else own if isinstance(own, str) else None
        self.said: dict[str, str] = {}

    def _holds_images(self) -> bool:
        if self.path.is_dir():
            return not rows.holds_tables(self.path)
        return self.path.name.lower().endswith(rows.KINDS) and takes_images(self.model, self.path)

    def identity(self) -> str:
        if self.images is not None:  # a table of paths stays the same when its images change
            return f"{rows.identity(self.path)} {self.images.identity}"
        return rows.identity(self.path) if self.path.exists() else self.path.name

    def total(self) -> int | None:
        return len(self.x) if self.x is not None else rows.about_how_many(self.path)

    def source(self) -> Iterator[Any]:
        if self.x is not None:
            return rows.slices(self.x, self.size)
        wanted = (
            None if self.names is None else [*self.names, *([self.id] if self.id not in (None, *self.names) else [])]
        )
        return rows.pieces(self.path, wanted, self.size, self.id, self.decimal)

    def scored(self, done: int = 0, start: int = 0) -> Iterator[Piece]:
        """Yield the scores of the pieces after the first `done` ones, which have `start` rows."""
        total = self.total() if self.progress else None
        with Bar(self.progress, after=1.0) as bar:
            for X in islice(self.source(), done, None):
                piece = self._piece(X, start)
                start += len(piece)
                bar.update(f"scoring {self.path.name}", start, None if total is None else max(total, start))
                yield piece

    def _piece(self, X: Any, start: int) -> Piece:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            X, ids = rows.taken_out(X, self.id, self.path)
            if ids is None and self.own_ids is not None:
                ids = self.own_ids[start : start + len(X)]
            if self.names is not None and hasattr(X, "columns"):
                X = X[self.names]
                X = X if self.encodes else rows.as_numbers(X, start, self.path)
            try:
                decision, p = self.model.judged(X)
            except ValueError as error:
                if not start:
                    raise
                raise ValueError(f"{self.path}, after row {start}: {error}") from None
        for one in caught:
            self._say(str(one.message), one.category)
        return Piece(start, decision, p, (decision >= 0).astype(np.int8), ids)

    def _say(self, message: str, category: type[Warning]) -> None:
        """Say a difference once, not for every piece that has it: numbers in it may change from piece to piece."""
        kind = "".join(c for c in message if not c.isdigit())
        if kind not in self.said:
            self.said[kind] = message
            warnings.warn(message, category, stacklevel=6)

    # ----------------------------------------------------------------- output

    def streamed(self, out: Path | None, rank: bool) -> Predictions:
        """Write to a pipe, a device or standard output, where nothing can be taken back."""
        counted = _Counted(self.scored())
        pieces: Iterable[Piece] = counted
        ranks = None
        if rank:
            pieces = list(pieces)
            ranks = output.ranks_of(pieces)
        if out is None:
            output.write_csv(_Text(), pieces, ranks)  # type: ignore[arg-type]
        else:
            with opened_out(out) as file:
                output.write_csv(file, pieces, ranks)
        return Predictions(counted.rows, counted.positive, out, 0, tuple(self.said.values()))

    def into_file(self, out: Path, goal: Path, of: dict[str, Any], rank: bool) -> Predictions:
        with Part.opened(goal, of) as part:
            before = part.rows
            try:
                for piece in self.scored(len(part), part.rows):
                    part.add(piece)
                self._assemble(out, part, rank)
            except OSError as error:  # such as a full disk
                if part.rows and error.errno is not None:
                    why = f"{out} cannot be written ({error.strerror})"
                    kept = f"the scores of {part.rows:,} rows are kept in {part.path}"
                    raise ValueError(f"{why}; {kept}, and the same command goes on from there") from None
                part.remove()
                raise
            except Exception:  # wrong data: another try would read other files
                part.remove()
                raise
            part.remove()
            return Predictions(part.rows, part.positive, out, before, tuple(self.said.values()))

    def _assemble(self, out: Path, part: Part, rank: bool) -> None:
        ranks = output.ranks_of(part.pieces()) if rank else None
        with opened_out(out) as file:
            if out.name.lower().endswith(".parquet"):
                output.write_parquet(file, part.pieces(), ranks, part.kinds <= {"row", "int"})
            else:
                output.write_csv(file, part.pieces(), ranks)


class _Counted:
    """Counts the rows that pass."""

    def __init__(self, pieces: Iterable[Piece]):
        self.pieces, self.rows, self.positive = pieces, 0, 0

    def __iter__(self) -> Iterator[Piece]:
        for piece in self.pieces:
            self.rows, self.positive = self.rows + len(piece), self.positive + int(piece.decision.sum())
            yield piece


class _Text:
    """Standard output as whoever replaced it has it, a notebook for example."""

    def write(self, content: bytes) -> None:
        sys.stdout.write(content.decode())
