"""The file of scores: CSV or Parquet by its ending, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from ..files.scores import score_lines
from .part import Piece


def write_csv(file: BinaryIO, pieces: Iterable[Piece], ranks: np.ndarray | None) -> None:
    header = True
    for piece in pieces:
        rank = None if ranks is None else ranks[piece.start : piece.start + len(piece)]
        for lines in score_lines(piece.names, piece.score, piece.probability, rank, piece.decision, header):
            file.write(lines)
        header = False


def write_parquet(file: BinaryIO, pieces: Iterable[Piece], ranks: np.ndarray | None, whole_ids: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds: dict[str, Any] = {"id": pa.int64() if whole_ids else pa.string(), "score": pa.float64()}
    kinds |= {"probability": pa.float64()} | ({} if ranks is None else {"rank": pa.int64()}) | {"decision": pa.int8()}
    schema = pa.schema(list(kinds.items()))
    with pq.ParquetWriter(file, schema) as writer:
        for piece in pieces:
            names = list(piece.names) if whole_ids else [None if one is None else _text(one) for one in piece.names]
            columns = {"id": names, "score": piece.score, "probability": piece.probability, "decision": piece.decision}
            if ranks is not None:
                columns["rank"] = ranks[piece.start : piece.start + len(piece)]
            writer.write_table(pa.table({name: columns[name] for name in kinds}, schema=schema))


def _text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()  # half of a surrogate pair is no text for Parquet


def ranks_of(pieces: Iterable[Piece]) -> np.ndarray:
    """Return the rank of each row, 1 for the likeliest. This needs 24 bytes of memory a row."""
    score = np.concatenate([piece.score for piece in pieces])
    order = np.argsort(-score, kind="stable")
    ranks = np.empty(len(score), dtype=np.int64)
    ranks[order] = np.arange(1, len(score) + 1)
    return ranks
