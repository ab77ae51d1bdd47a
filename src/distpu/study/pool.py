"""Runs of a comparison, in this process or in several."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import nets
from ..datasets import Dataset, load
from .runs import Result, judge, simulate


@dataclass(frozen=True, eq=False)  # a key by itself: its settings are a dict
class Task:
    """One run of a comparison, small enough to be sent to another process."""

    method: str
    dataset: str
    root: str | None
    folder: Path
    seed: int
    protocol: dict[str, Any]  # what simulate takes beside: labelled, scenario, prior, ...
    settings: dict[str, Any]


def compare(tasks: list[Task], jobs: int) -> Generator[tuple[Task, Result | str], None, None]:
    """Results as they come, each with its task; a run that fails gives its error's text instead."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    if jobs == 1:
        yield from ((task, _run(task, progress="auto")) for task in tasks)
        return
    # one thread a run: two runs side by side beat one on two threads by far, and spinning threads fight for cores
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_start_worker) as pool:
        try:
            with _ctrl_c_waits():  # workers start here, and are not to know of it
                running = {pool.submit(_run, task): task for task in tasks}
            for future in as_completed(running):
                try:
                    result = future.result()
                except BrokenProcessPool:
                    result = "its process was killed, for want of memory perhaps (--jobs 1 needs less)"
                yield running[future], result
        except BaseException:  # Ctrl-C, or nobody reads on: leaving the pool would first make all that is queued
            for worker in [*(getattr(pool, "_processes", None) or {}).values()]:
                worker.terminate()
            raise


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C is heard afterwards; processes that are started meanwhile never hear it."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def side_by_side(datasets: Iterable[Dataset]) -> int:
    """How many runs at a time: a core each; on a GPU one, or five MLPs where MPS lets processes share it.

    Measured (LOG.md): five MLPs at a time without MPS take as long as one after the other, with MPS half as long. A
    ResNet-50 fills the GPU by itself.
    """
    import torch

    if torch.cuda.is_available():
        mps = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")) / "control"
        return 5 if mps.exists() and all(map(small, datasets)) else 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def small(data: Dataset) -> bool:
    """Rows for an MLP: seconds an epoch on a CPU, and a GPU is hardly busy."""
    return nets.auto_network(data.x.shape[1:]) == "mlp"


def _start_worker() -> None:
    """One thread, and no life after the command's, which alone is told of Ctrl-C."""
    import signal
    import threading

    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A command that is killed leaves no process behind that holds its run folders."""
    from multiprocessing import parent_process

    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@lru_cache(maxsize=1)
def _data(name: str, root: str | None) -> Dataset:
    return load(name, root)


def _run(task: Task, progress: str | bool = False) -> Result | str:
    try:
        data = _data(task.dataset, task.root)
        if "folds_of" in task.protocol:
            return judge(task.method, data, seed=task.seed, settings=task.settings, **task.protocol)
        settings = {"progress": progress, **task.settings}
        return simulate(task.method, data, task.folder, seed=task.seed, settings=settings, **task.protocol)
    except (ValueError, FloatingPointError, OSError, RuntimeError) as error:  # the last one: out of memory, say
        text = " ".join(str(error).split()) or type(error).__name__
        return f"{text} (fewer runs at a time need less: --jobs 1)" if "out of memory" in text else text
