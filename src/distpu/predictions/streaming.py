"""predict_file does what `distpu predict` does: it scores data in pieces and writes the file whole or not at all."""

from __future__ import annotations

import errno
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__, datasets
from ..answer.pictures import for_model, takes_images
from ..encode.told import StrangeCells
from ..estimator import PUEstimator
from ..files.out import check_out, opened_out, plain_goal
from ..files.scores import check_ending
from ..on_ray import Lost, check_pool, joined
from ..params import need
from ..progress import Bar
from ..saved import load
from ..threshold.choice import read_choice
from . import output, rows
from .first import FirstRows
from .on_nodes import Plan
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
    pool: str = "local",
    sheet: str | None = None,
) -> Predictions:
    """Score the rows of a file, a folder of files or a data set's test rows with the model of a run folder.

    data       CSV, Parquet, .npy, .npz, a folder of tables, whose columns are matched by name, or a folder of images
    out        a .csv or .parquet file with the columns id, score, probability, decision; None: standard output as CSV
    id         the column that names the rows; else the model's own, else a row's number, from 0
    threshold  another cut than that of the fit; "rows=100" calls the 100 rows of these data that score highest
    rank       adds each row's rank; this needs 24 bytes of memory a row
    strict     a damaged image is an error, else it is named and left out
    sheet      the sheet of an Excel file; else the first one that holds rows
    pool       "local", or "ray": the nodes of a Ray cluster score Parquet data, which all nodes must see, side by side

    Rows are scored in pieces, so memory does not grow with the data. A killed call leaves a part beside `out`, and the
    same call goes on from it; the result has the same bits as without a kill, and on Ray the same bits as here.
    """
    check_pool(pool)
    out = None if out is None else Path(out)
    if out is not None:
        check_out(out, data)
        check_ending(out)
        if out.name.lower().endswith(".parquet"):
            need("pyarrow", "parquet", "writing Parquet")
    model, choice = load(folder), None if threshold is None else read_choice(threshold)
    if choice is not None and choice.kind != "rows":
        model.set_threshold(choice)
    first = int(choice.value) if choice is not None and choice.kind == "rows" else None
    with datasets.of_sheet(sheet, data):
        job = Job(model, str(data), id, rows_at_a_time, data_root, progress, strict, first)
        goal = None if out is None else plain_goal(out)
        if pool == "ray" and (out is None or goal is None):
            raise ValueError(
                "--pool ray needs --out FILE, in Python out=: a pipe cannot take back what a lost node was doing"
            )
        if out is None or goal is None:
            return job.streamed(out, rank)
        goal.parent.mkdir(parents=True, exist_ok=True)
        of: dict[str, Any] = {"distpu": __version__, "model": rows.model_identity(Path(folder)), "data": job.identity()}
        of |= {
            "cut": str(model.threshold if choice is None else choice),
            "id": job.id,
            "rows": rows_at_a_time,
            "sheet": sheet,
        }
        if pool == "local":
            return job.into_file(out, goal, of, rank)
        plan = Plan.of(job)
        with joined("--pool ray") as cluster:
            return job.into_file(out, goal, of, rank, partial(plan.scored, cluster))


class Job:
    """One model on one source of rows. A copy of it scores on another node."""

    def __init__(
        self,
        model: PUEstimator,
        data: str,
        id: str | None,
        size: int,
        data_root: str | Path | None,
        progress: bool,
        strict: bool,
        first: int | None,
    ):
        self.model, self.size, self.progress, self.first = model, size, progress, first
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
        self.said: list[str] = []
        self.known: set[Any] = set()  # kinds of differences that were said

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
        return rows.pieces(self.path, self.wanted, self.size, self.id, self.decimal)

    @property
    def wanted(self) -> list[str] | None:
        """The columns to read; None: all of them."""
        if self.names is None:
            return None
        return [*self.names, *([self.id] if self.id not in (None, *self.names) else [])]

    def scored(self, done: int = 0, start: int = 0) -> Iterator[Piece]:
        """Yield the scores of the pieces after the first `done` ones, which have `start` rows."""
        total = self.total() if self.progress else None
        with Bar(self.progress, after=1.0) as bar:
            for X in islice(self.source(), done, None):
                piece = self.piece(X, start)
                start += len(piece)
                bar.update(f"scoring {self.path.name}", start, None if total is None else max(total, start))
                yield piece

    def piece(self, X: Any, start: int) -> Piece:
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
            self.say(str(one.message), one.category, getattr(one.message, "kinds", None))
        return Piece(start, decision, p, (decision >= 0).astype(np.int8), ids)

    def say(self, message: str, category: type[Warning], kinds: frozenset[Any] | None = None) -> None:
        """Say a difference once, not for every piece that has it: numbers in it may change from piece to piece."""
        kinds = frozenset(["".join(c for c in message if not c.isdigit())]) if kinds is None else kinds
        if kinds - self.known:
            self.known |= kinds
            self.said.append(message)
            if category is StrangeCells:
                warnings.warn(StrangeCells(message, kinds), stacklevel=6)
            else:
                warnings.warn(message, category, stacklevel=6)

    # ----------------------------------------------------------------- output

    def streamed(self, out: Path | None, rank: bool) -> Predictions:
        """Write to a pipe, a device or standard output, where nothing can be taken back."""
        pieces: Iterable[Piece] = self.scored()
        if rank or self.first is not None:
            pieces = list(pieces)
        ranks = output.ranks_of(pieces) if rank else None
        counted = _Counted(self._called(lambda: pieces))
        if out is None:
            output.write_csv(_Text(), counted, ranks)  # type: ignore[arg-type]
        else:
            with opened_out(out) as file:
                output.write_csv(file, counted, ranks)
        return Predictions(counted.rows, counted.positive, out, 0, tuple(self.said))

    def into_file(
        self,
        out: Path,
        goal: Path,
        of: dict[str, Any],
        rank: bool,
        scored: Callable[[int, int], Iterator[Piece]] | None = None,
    ) -> Predictions:
        """Write a file whole or not at all. `scored` yields the pieces after the first ones; else this process does."""
        with Part.opened(goal, of) as part:
            before = part.rows
            try:
                for piece in (scored or self.scored)(len(part), part.rows):
                    part.add(piece)
                positive = self._assemble(out, part, rank)
            except OSError as error:  # such as a full disk
                if part.rows and error.errno is not None:
                    why = f"{out} cannot be written ({error.strerror})"
                    room = "free some room; " * (error.errno in (errno.ENOSPC, errno.EDQUOT))
                    kept = f"the scores of {part.rows:,} rows are kept in {part.path}"
                    raise ValueError(f"{why}; {room}{kept}, and the same command goes on from there") from None
                part.remove()
                error.filename = error.filename or str(out)  # a write names no file
                raise
            except Lost as error:
                kept = f"the scores of {part.rows:,} rows are kept, and the same command goes on from there"
                raise ValueError(f"rows after number {part.rows:,} could not be scored: {error}; {kept}") from None
            except Exception:  # wrong data: another try would read other files
                part.remove()
                raise
            part.remove()
            return Predictions(part.rows, positive, out, before, tuple(self.said))

    def _assemble(self, out: Path, part: Part, rank: bool) -> int:
        """Write the file from the pieces of the part. Return how many rows are called positive."""
        ranks = output.ranks_of(part.pieces()) if rank else None
        pieces = _Counted(self._called(part.pieces))
        with opened_out(out) as file:
            if out.name.lower().endswith(".parquet"):
                output.write_parquet(file, pieces, ranks, part.kinds <= {"row", "int"})
            else:
                output.write_csv(file, pieces, ranks)
        return pieces.positive

    def _called(self, pieces: Callable[[], Iterable[Piece]]) -> Iterable[Piece]:
        """Return the pieces with the cut that was asked for. One that calls so many rows needs all scores first."""
        if self.first is None:
            return pieces()
        found = FirstRows.of(pieces(), self.first)
        if found.remark:
            self.say(found.remark, UserWarning)
        return found.moved(pieces())


class _Counted:
    """Counts the rows that pass."""

    def __init__(self, pieces: Iterable[Piece]):
        self.pieces, self.rows, self.positive = pieces, 0, 0

    def __iter__(self) -> Iterator[Piece]:
        for piece in self.pieces:
            self.rows, self.positive = self.rows + len(piece), self.positive + int(piece.decision.sum())
            yield piece


class _Text:
    """Standard output: the bytes of the file, or text where it was replaced, by a notebook for example."""

    def write(self, content: bytes) -> None:
        if (raw := getattr(sys.stdout, "buffer", None)) is not None:
            raw.write(content)
        else:
            sys.stdout.write(content.decode())
