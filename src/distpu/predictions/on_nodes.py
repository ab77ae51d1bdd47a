"""Scores Parquet data on the nodes of a Ray cluster: the pieces of a local run, in its order.

A task scores some pieces of one file and has no other effect: a task whose node was lost is done again elsewhere. The
pieces return to this process, which writes them: only this process writes a file, and its memory stays flat.
"""

from __future__ import annotations

import math
import socket
import warnings
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..datasets.pieces import of_file, parquet_files
from ..on_ray import Cluster, Here
from ..progress import Bar
from .part import Piece

if TYPE_CHECKING:
    from .streaming import Job

MOST = 10  # pieces of a task: if its node is lost, no more than these are scored again
TASKS = 4  # for each core at least, if there are so many pieces: cores must not wait for the last task

Said = list[tuple[str, type[Warning], frozenset[Any] | None]]  # messages; and what kinds of cells they tell of


@dataclass(frozen=True)
class Unit:
    """Some pieces of one file."""

    file: Path
    first: int  # number of the first piece in the file
    count: int
    start: int  # number of its first row in the data


@dataclass(frozen=True)
class Plan:
    """How a job is cut into tasks."""

    job: Job
    files: dict[Path, int]  # with their numbers of rows

    @classmethod
    def of(cls, job: Job) -> Plan:
        files = None if job.x is not None else parquet_files(job.path)
        if files is None:
            raise ValueError(f"--pool ray scores Parquet files, and {job.path} is no such data; leave --pool out")
        return cls(job, {file.absolute(): rows for file, rows in files.items()})

    def units(self, done: int, slots: int) -> Iterator[Unit]:
        """Yield the tasks after the first `done` pieces."""
        size, start = self.job.size, 0
        left = sum(math.ceil(rows / size) for rows in self.files.values()) - done
        most = max(1, min(MOST, left // (TASKS * slots)))
        for file, rows in self.files.items():
            of_file = math.ceil(rows / size)
            for first in range(min(done, of_file), of_file, most):
                yield Unit(file, first, min(most, of_file - first), start + first * size)
            done, start = max(0, done - of_file), start + rows

    def scored(self, cluster: Cluster | Here, done: int, start: int) -> Iterator[Piece]:
        """Yield the scores of the pieces after the first `done` ones, which have `start` rows."""
        job, total, shared = self.job, sum(self.files.values()), cluster.share(self.job)
        tasks = ((shared, unit) for unit in self.units(done, cluster.slots()))
        with Bar(job.progress, after=1.0) as bar:
            for pieces, said in cluster.in_order(score, tasks):
                for one in said:
                    job.say(*one)
                for piece in pieces:
                    start += len(piece)
                    yield piece
                bar.update(f"scoring {job.path.name}", start, total)


def score(job: Job, unit: Unit) -> tuple[list[Piece], Said]:
    """Score the pieces of a unit, on a node. Also return what is to be said of them."""
    if not unit.file.exists():
        where = f"on the node {socket.gethostname()}"
        raise ValueError(f"{unit.file} is not there {where}; --pool ray needs data on a disk that all nodes share")
    job = copy(job)
    job.said, job.known = [], set()  # what was said here is said to the user where the pieces are written
    names = () if job.id is None else (job.id,)
    start, found = unit.start, []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for X in islice(of_file(unit.file, job.wanted, job.size, names, first=unit.first), unit.count):
            found.append(job.piece(X, start))
            start += len(found[-1])
    return found, [(str(one.message), one.category, getattr(one.message, "kinds", None)) for one in said]
