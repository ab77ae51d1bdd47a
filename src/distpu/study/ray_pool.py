"""Runs of a study on a Ray cluster: the same run folders and results as in processes of this machine.

A node needs this package and nothing else: the data sets travel to it. If the node shares the disk of the run folders,
it trains in them, and a lost run goes on elsewhere from its last checkpoint. If not, it trains in a folder of its own,
whose files travel back, and a lost run begins anew.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ..datasets import Dataset
from ..files import atomic
from ..files.lock import LOCK, lock
from ..files.run_folder import RunFolder
from ..on_ray import Cluster, Lost
from .pool import Task, loaded, run_task
from .runs import Result

Files = dict[str, bytes]


class RayPool:
    """Runs tasks on the nodes of a cluster, `jobs` at a time."""

    def __init__(self, cluster: Cluster, runs: int, jobs: int | None):
        self.cluster, self.most = cluster, jobs
        self.jobs = min(runs, jobs or cluster.slots())

    def run(self, tasks: list[Task]) -> Generator[tuple[Task, Result | str], None, None]:
        """Results as they come, each with its task. A run that fails gives the text of its error instead."""
        finished = [task for task in tasks if RunFolder(task.folder).has_result]
        yield from ((task, run_task(task)) for task in finished)
        wanted = [task for task in tasks if task not in finished]
        names = {(task.cell.dataset, task.root) for task in wanted}
        shared = {name: self.cluster.share(loaded(*name)) for name in names}
        token = secrets.token_hex(16)
        calls = []
        for task in wanted:
            if task.cell.folds is None:
                _mark(task.folder, token)
            there = replace(task, folder=task.folder.absolute())
            calls.append((task, (there, shared[task.cell.dataset, task.root], token)))
        for task, ended in self.cluster.as_they_end(on_node, calls, self.most):
            if isinstance(ended, Lost):
                yield task, str(ended)
                continue
            result, files = ended
            if files:
                bring(task.folder, files)
            yield task, result


def _mark(folder: Path, token: str) -> None:
    """Write a token into the lock file of a folder. A node that reads the token there shares the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / LOCK, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o666)
    with open(handle, "w") as file:
        file.write(token)


def _shared(folder: Path, token: str) -> bool:
    try:
        return (folder / LOCK).read_text() == token
    except (OSError, UnicodeDecodeError):
        return False


def on_node(task: Task, data: Dataset, token: str) -> tuple[Result | str, Files]:
    """Run a task on a node. Without a disk in common, the files of its folder are returned as well."""
    if task.cell.folds is not None:  # it has no folder
        return run_task(task, data=data), {}
    if _shared(task.folder, token):
        with lock(task.folder, wait=True):  # a worker of a lost node may take a second to end
            pass
        return run_task(task, data=data), {}
    with TemporaryDirectory(prefix="distpu-") as place:
        own = replace(task, folder=Path(place) / task.folder.name)
        result = run_task(own, data=data)
        if isinstance(result, str):
            return result, {}
        there = [path for path in own.folder.iterdir() if RunFolder.owns(path.name) and path.name != LOCK]
        return result, {path.name: path.read_bytes() for path in there}


def bring(folder: Path, files: Files) -> None:
    """Write the files of a finished run. The one that says that it is finished comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    last = (RunFolder.RESULT, RunFolder.DONE)
    for name in sorted(files, key=lambda name: (name in last and 1 + last.index(name), name)):
        atomic.write(folder / name, files[name])
