"""Tasks and the pool: runs in this process, in several, or on a Ray cluster, with the same results."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import datasets, nets
from ..datasets import Dataset
from ..on_ray import joined
from ..progress import tell
from .experiment import Cell
from .runs import Result, judge, simulate

if TYPE_CHECKING:
    from .ray_pool import RayPool


TRIES = 3  # of a run whose process is killed
KILLED = f"its process was killed {TRIES} times, perhaps because memory ran out (--jobs 1 needs less)"


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
        """Run each task in one of several workers. A task whose worker is killed is tried again by another one."""
        from multiprocessing.connection import wait

        waiting, tries = deque(tasks), Counter[Task]()
        workers: dict[Any, Worker] = {}  # by the connection to each

        def start_next() -> None:
            worker = Worker()
            workers[worker.connection] = worker
            worker.take(waiting.popleft())

        try:
            while waiting and len(workers) < self.jobs:
                start_next()
            while workers:
                for connection in wait([*workers]):
                    worker = workers[connection]
                    task, result = worker.task, worker.result()
                    if result is not None:
                        yield task, result
                        if waiting:
                            worker.take(waiting.popleft())
                        else:
                            del workers[connection]
                            worker.end()
                        continue
                    del workers[connection]
                    worker.end()
                    tries[task] += 1
                    if tries[task] < TRIES:
                        tell(f"{task.cell.method} seed {task.seed}: its process was killed; it is tried again")
                        waiting.appendleft(task)
                    else:
                        yield task, KILLED
                    if waiting:
                        start_next()
        finally:  # Ctrl-C, or the caller reads no more: the runs that are left are not made
            for worker in workers.values():
                worker.end()


class Worker:
    """A process with one thread that runs one task after the other: two runs side by side are much faster than one run
    on two threads."""

    def __init__(self) -> None:
        from multiprocessing import get_context

        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _ctrl_c_waits():  # the worker starts here and inherits the blocked signal
            self.process.start()
        theirs.close()  # else nobody would notice that the process has ended
        self.task: Task

    def take(self, task: Task) -> None:
        self.task = task
        with suppress(BrokenPipeError, ConnectionResetError):  # it was killed meanwhile, as `result` will say
            self.connection.send(task)

    def result(self) -> Result | str | None:
        """Return what the task gave; None if the process was killed."""
        try:
            result = self.connection.recv()
        except (EOFError, OSError):
            return None
        if isinstance(result, BaseException):
            raise result
        return result

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def _work(connection: Any) -> None:
    """Run the tasks that come, in a process of its own."""
    import traceback

    _start_worker()
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            result: Any = run_task(task)
        except Exception:  # a mistake of ours: the command ends with it
            result = RuntimeError(traceback.format_exc())
        connection.send(result)


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
