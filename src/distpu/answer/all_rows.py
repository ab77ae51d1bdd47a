"""Scores every row of a large table piece by piece: a Parquet file of all unlabelled rows, the top ones, the counts."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..encode import Encoded
from ..estimator import PUEstimator
from ..files import atomic
from ..files.lock import lock
from ..files.run_folder import RunFolder
from ..files.scratch import in_parts
from ..progress import Bar
from .large import PIECE, LargeTable, Sample, tell_new
from .looking import as_ids

if TYPE_CHECKING:
    import pandas as pd

TOP = 1_000_000  # rows of scores.csv, at most
OF = b"distpu"  # the key of the file's metadata that says of what the scores are


@dataclass(frozen=True)
class Scores:
    """Scores of some unlabelled rows, in the order of the file."""

    row: np.ndarray
    id: np.ndarray
    score: np.ndarray
    probability: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> Scores:
        return Scores(self.row[chosen], self.id[chosen], self.score[chosen], self.probability[chosen])

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class AllRows:
    """What the scores of all rows say."""

    top: pd.DataFrame  # as Answer.ranked, of the TOP likeliest rows
    called: int
    least: float | None  # the lowest probability of a row that is called
    rows: int


def all_rows(
    model: PUEstimator,
    table: LargeTable,
    s: np.ndarray,
    sample: Sample,
    rows: Encoded | None,
    run: RunFolder | None,
) -> AllRows:
    """Score all rows and keep the unlabelled ones. A file that has these scores is read instead.

    s     PU labels of all rows
    rows  all rows as numbers, if the method learnt them; else they are read again
    """
    if run is None:
        return _counted(_unlabelled(_scored(model, table, sample, rows), s))
    of = json.dumps({"model": _checksum(run.path), "data": _identity(table), "id": table.id})
    if _holds(run.path / RunFolder.SCORED, of):
        return _counted(_read(run.path / RunFolder.SCORED, s))
    return _counted(_written(run, _unlabelled(_scored(model, table, sample, rows), s), of, table.id is not None))


def _scored(model: PUEstimator, table: LargeTable, sample: Sample, rows: Encoded | None) -> Iterator[Scores]:
    """Yield the scores of all rows. A row that trained the model has the score of models that did not see it."""
    own = getattr(model, "oof_scores_", None)
    alike = getattr(model, "_scores_alike", None)  # of a method whose every row can be scored as those it learnt are
    told: set[Any] = set()
    with Bar(model.progress in ("auto", True), after=1.0) as bar:
        for start, X, ids in _pieces(table, rows):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                x = X if rows is not None else model._rows(X)
                score = model._raw_scores(x) if alike is None else alike(x, start)
            tell_new(caught, told)
            number = np.arange(start, start + len(score))
            a, b = np.searchsorted(sample.rows, [start, start + len(score)])
            if own is not None:
                score[sample.rows[a:b] - start] = own[a:b]
            decision, p = model._judged(score)
            yield Scores(number, number if ids is None else ids, decision, p)
            bar.update(f"scoring {table.path.name}", start + len(score), table.rows)


def _pieces(table: LargeTable, rows: Encoded | None) -> Iterator[tuple[int, Any, np.ndarray | None]]:
    if rows is None:
        for start, X in table.pieces():
            yield start, X, None if table.id is None else as_ids(X[table.id])
        return
    if table.id is None:
        for number, x in enumerate(in_parts(rows.x, PIECE)):
            yield number * PIECE, x, None
        return
    start = 0
    for _, names in table.pieces([table.id]):
        yield start, rows.x[start : start + len(names)], as_ids(names[table.id])
        start += len(names)


def _unlabelled(pieces: Iterable[Scores], s: np.ndarray) -> Iterator[Scores]:
    for piece in pieces:
        yield piece[np.flatnonzero(s[piece.row] == 0)]


def _written(run: RunFolder, pieces: Iterable[Scores], of: str, named: bool) -> Iterator[Scores]:
    """Write the scores beside the model, whole or not at all, and pass them on."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"id": pa.string() if named else pa.int64(), "score": pa.float64(), "probability": pa.float64()}
    schema = pa.schema([*kinds.items(), ("decision", pa.int8())], metadata={OF: of.encode()})
    with _kept(run) as file, pq.ParquetWriter(file, schema) as writer:
        for piece in pieces:
            names = [str(one).encode("utf-8", "replace").decode() for one in piece.id] if named else piece.id
            called = (piece.score >= 0).astype(np.int8)
            writer.write_table(pa.table([names, piece.score, piece.probability, called], schema=schema))
            yield piece


@contextmanager
def _kept(run: RunFolder) -> Iterator[BinaryIO]:
    """A file that takes the place of scores.parquet when it is whole. What a killed process left is removed."""
    with lock(run.path):
        for path in run.path.iterdir():
            if atomic.left_over(path.name) == RunFolder.SCORED:
                path.unlink()
        with atomic.temporary(run.path / RunFolder.SCORED) as file:
            yield file


def _holds(path: Path, of: str) -> bool:
    """Return whether the file is whole and has these scores."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return (pq.read_schema(path).metadata or {}).get(OF) == of.encode()
    except (OSError, pa.ArrowInvalid):
        return False


def _read(path: Path, s: np.ndarray) -> Iterator[Scores]:
    import pyarrow.parquet as pq

    at = 0
    for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(PIECE):
        row = _from(s, at, batch.num_rows)
        id, score, p = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("id", "score", "probability"))
        yield Scores(row, id, score, p)
        at = int(row[-1]) + 1


def _from(s: np.ndarray, at: int, count: int) -> np.ndarray:
    """Return the numbers of the first `count` unlabelled rows from row `at` on."""
    found = [np.empty(0, dtype=np.int64)]
    while count:
        part = (np.flatnonzero(s[at : at + PIECE] == 0) + at)[:count]
        found.append(part)
        count, at = count - len(part), at + PIECE
    return np.concatenate(found)


def _counted(pieces: Iterable[Scores]) -> AllRows:
    """Count all rows and keep the likeliest. Of equal scores the earlier row comes first, as in a table in memory."""
    import pandas as pd

    kept: list[Scores] = []
    rows = called = held = 0
    least, floor = None, -np.inf
    for piece in pieces:
        positive = piece.score >= 0
        rows, called = rows + len(piece), called + int(positive.sum())
        if positive.any():
            lowest = float(piece.probability[positive].min())
            least = lowest if least is None else min(least, lowest)
        part = piece[np.flatnonzero(piece.score > floor)] if held >= TOP else piece
        kept, held = [*kept, part], held + len(part)
        if held > 2 * TOP:
            kept = [_likeliest(kept)]
            held, floor = len(kept[0]), float(kept[0].score[-1])
    first = _likeliest(kept)
    columns = {
        "id": first.id,
        "score": first.score,
        "probability": first.probability,
        "rank": np.arange(1, len(first) + 1),
        "decision": (first.score >= 0).astype(int),
    }
    return AllRows(pd.DataFrame(columns, index=pd.Index(first.row, name="row")), called, least, rows)


def _likeliest(parts: list[Scores]) -> Scores:
    """Return the TOP likeliest rows, in order."""
    columns = zip(*((one.row, one.id, one.score, one.probability) for one in parts), strict=True)
    whole = Scores(*(np.concatenate(column) for column in columns))
    return whole[np.argsort(-whole.score, kind="stable")[:TOP]]


def _checksum(folder: Path) -> str:
    """Return a checksum of the files that make the scores."""
    digest = hashlib.sha256()
    for one in sorted(folder.iterdir()):
        if one.name in (RunFolder.MODEL, RunFolder.MODELS, RunFolder.WEIGHTS, RunFolder.ENCODER):
            with open(one, "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _identity(table: LargeTable) -> list[list[Any]]:
    """Return names, sizes and times of the files: the content of large data is not read twice."""
    from ..datasets.pieces import files_of

    return [[str(one.resolve()), one.stat().st_size, one.stat().st_mtime_ns] for one in files_of(table.path)]
