"""Tasks and the pool: runs in this process, in several, or on a Ray cluster, with the same results."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .. import datasets, nets
from ..datasets import Dataset
from ..on_ray import joined
from .experiment import Cell
from .runs import Result, judge, simulate

if TYPE_CHECKING:
    from .ray_pool import RayPool


@dataclass(frozen=True, eq=False)  # a task is equal to itself alone: the settings of a cell are a dict
class Task:
    """One run of a cell, small enough to be sent to another process."""

    cell: Cell
    seed: int
    folder: Path
    root: str | None = None  # of the data sets
    every_epoch: bool = False  # each epoch is tested; in a search it is judged on the held-out PU rows


class Pool:
    """Runs tasks, `jobs` at a time: one job in this process, several jobs in processes of their own."""

    def __init__(self, jobs: int):
        self.jobs = jobs

    def run(self, tasks: list[Task]) -> Generator[tuple[Task, Result | str], None, None]:
        """Results as they come, each with its task. A run that fails gives the text of its error instead."""
        if self.jobs == 1:
            yield from ((task, run_task(task, progress="auto")) for task in tasks)
        else:
            yield from self._in_processes(tasks)

    def _in_processes(self, tasks: list[Task]) -> Generator[tuple[Task, Result | str], None, None]:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        # Each run has one thread: two runs side by side are much faster than one run on two threads.
        with ProcessPoolExecutor(self.jobs, mp_context=get_context("spawn"), initializer=_start_worker) as pool:
            try:
                with _ctrl_c_waits():  # the workers start here and inherit the blocked signal
                    running = {pool.submit(run_task, task): task for task in tasks}
                for future in as_completed(running):
                    try:
                        result = future.result()
                    except BrokenProcessPool:
                        result = "its process was killed, perhaps because memory ran out (--jobs 1 needs less)"
                    yield running[future], result
            except BaseException:  # Ctrl-C, or the caller reads no more: leaving the pool would first run all tasks
                for worker in [*(getattr(pool, "_processes", None) or {}).values()]:
                    worker.terminate()
                raise


@contextmanager
def opened(kind: str, jobs: int | None, data: Iterable[Dataset], runs: int) -> Iterator[Pool | RayPool]:
    """Open the pool for so many runs: 'local' or 'ray'. Without `jobs`, the machine or the cluster says how many."""
    if kind == "local":
        yield Pool(min(runs, jobs or side_by_side(data)))
        return
    from .ray_pool import RayPool

    with joined("--pool ray") as cluster:
        yield RayPool(cluster, runs, jobs)


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C is delivered afterwards. Processes that are started meanwhile never receive it."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def side_by_side(data: Iterable[Dataset]) -> int:
    """How many runs at a time: a core each; on a GPU one, or five MLPs where MPS lets processes share it.

    Five MLPs at a time without MPS take as long as one after the other, with MPS half as long.
    A ResNet-50 fills the GPU by itself.
    """
    import torch

    if torch.cuda.is_available():
        mps = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")) / "control"
        return 5 if mps.exists() and all(map(small, data)) else 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def small(data: Dataset) -> bool:
    """Rows for an MLP: an epoch takes seconds on a CPU and hardly occupies a GPU."""
    return nets.auto_network(data.x.shape[1:]) == "mlp"


def _start_worker() -> None:
    """Each worker uses one thread and ignores Ctrl-C; the parent stops the workers."""
    import signal
    import threading

    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker ends with the command: a worker that outlives it would hold its run folder."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@cache  # of all sets: the runs of a table alternate between them
def loaded(name: str, root: str | None) -> Dataset:
    return datasets.load(name, root)


def run_task(task: Task, progress: str | bool = False, data: Dataset | None = None) -> Result | str:
    """Run a task in this process. The data set is loaded if it is not given."""
    cell = task.cell
    try:
        data = loaded(cell.dataset, task.root) if data is None else data
        if cell.folds is not None:
            return judge(
                cell.method,
                data,
                folds_of=cell.folds,
                seed=task.seed,
                settings=cell.settings,
                reading=cell.reading or None,
                every_epoch=task.every_epoch,
            )
        return simulate(
            cell.method,
            data,
            task.folder,
            labelled=cell.labelled,
            scenario=cell.scenario,
            unlabelled=cell.unlabelled,
            prior=cell.prior,
            seed=task.seed,
            settings={"progress": progress, **cell.settings},
            reading=cell.reading or None,
            every_epoch=task.every_epoch,
            held_out=cell.held_out,
        )
    except (ValueError, FloatingPointError, OSError, RuntimeError) as error:  # RuntimeError: out of memory, say
        text = " ".join(str(error).split()) or type(error).__name__
        return f"{text} (fewer runs at a time need less: --jobs 1)" if "out of memory" in text else text
