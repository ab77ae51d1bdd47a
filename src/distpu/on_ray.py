"""Calls functions here or on a Ray cluster, with the same results. What a lost node was doing is done again elsewhere.

The cluster is the one that is there, else one of this machine alone, which is started and ended.
"""

from __future__ import annotations

import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from .params import near, need

T = TypeVar("T")
POOLS = ("local", "ray")
RETRIES = 5  # how often a task is begun again whose worker or node was lost
AHEAD = 3  # tasks for each core that are begun before the first of them is wanted


def check_pool(name: str) -> None:
    if name not in POOLS:
        raise ValueError(f"pool={name!r} must be one of {', '.join(map(repr, POOLS))}{near(name, POOLS)}")


@contextmanager
def opened(pool: str, what: str) -> Iterator[Here | Cluster]:
    """Open a pool by its name; `what` needs it."""
    check_pool(pool)
    if pool == "local":
        yield Here()
    else:
        with joined(what) as cluster:
            yield cluster


class Here:
    """This process: one task after the other."""

    def slots(self) -> int:
        return 1

    def share(self, value: T) -> T:
        return value

    def in_order(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """Yield function(*arguments) of each task. A task is begun when its result is wanted."""
        yield from (function(*arguments) for arguments in tasks)


@contextmanager
def joined(what: str) -> Iterator[Cluster]:
    """Join the cluster of RAY_ADDRESS, else the one that `ray start` began here, else start one and end it again.

    A program that has called ray.init itself keeps its cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = need("ray", "ray", what)
    if ray.is_initialized():
        yield Cluster(ray)
        return
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    told = os.environ.get("RAY_ADDRESS", "")
    if told not in ("", "local"):
        if not _answers(told):
            raise ValueError(f"no Ray cluster answers at RAY_ADDRESS={told}; start Ray there, or unset RAY_ADDRESS")
        ray.init(**quiet)
    elif not told and _answers(_begun_here()):
        ray.init(**quiet)
    else:
        ray.init(address="local", include_dashboard=False, **quiet)
    try:
        yield Cluster(ray)
    finally:
        ray.shutdown()


def _begun_here() -> str:
    """Return the address that `ray start` left on this machine, "" where there is none."""
    place = os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp"
    try:
        return (Path(place) / "ray" / "ray_current_cluster").read_text().strip()
    except OSError:
        return ""


def _answers(address: str) -> bool:
    """Return whether somebody listens there: Ray itself waits for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]") or "127.0.0.1", int(port)), timeout=10):
            return bool(colon)
    except (OSError, ValueError):
        return False


class Cluster:
    """The nodes that Ray knows. Nodes may come and go while a command runs."""

    def __init__(self, ray: Any):
        self.ray = ray

    def slots(self) -> int:
        """Return how many tasks run at a time: one for each GPU where there are such, else one for each core."""
        there = self.ray.cluster_resources()
        return max(1, int(there.get("GPU") or there.get("CPU", 1)))

    def share(self, value: Any) -> Any:
        """Put a value where all tasks can read it. It travels once to each node."""
        return self.ray.put(value)

    def as_they_end(
        self, function: Callable[..., Any], tasks: list[tuple[T, tuple[Any, ...]]], most: int | None = None
    ) -> Generator[tuple[T, Any], None, None]:
        """Yield (name, function(*arguments)) for each (name, arguments), whichever ends first, `most` at a time.

        If the workers of a task were lost too often, the task's result is the exception `Lost`.
        """
        begin, left = self._begin(function, gpu=True), deque(tasks)
        running: dict[Any, T] = {}
        try:
            while left or running:
                while left and (most is None or len(running) < most):
                    name, arguments = left.popleft()
                    running[begin(*arguments)] = name
                (ended,), _ = self.ray.wait([*running], num_returns=1)
                yield running.pop(ended), self._result(ended)
        finally:
            self._cancel(running)

    def in_order(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Generator[Any, None, None]:
        """Yield function(*arguments) of each task in the order of the tasks. Only a few are begun ahead of need."""
        begin, left = self._begin(function), iter(tasks)
        running: deque[Any] = deque()
        try:
            while True:
                room = max(0, AHEAD * self.slots() - len(running))  # nodes may have been lost
                for arguments in islice(left, room):
                    running.append(begin(*arguments))
                if not running:
                    return
                result = self._result(running[0])
                running.popleft()
                if isinstance(result, Lost):
                    raise result
                yield result
        finally:
            self._cancel(running)

    def _begin(self, function: Callable[..., Any], gpu: bool = False) -> Callable[..., Any]:
        gpus = 1 if gpu and self.ray.cluster_resources().get("GPU") else 0
        told = {"num_cpus": 1, "num_gpus": gpus, "max_retries": RETRIES, "scheduling_strategy": "SPREAD"}
        begin = self.ray.remote(**told)(_with_one_thread)
        return lambda *arguments: begin.remote(function, *arguments)

    def _result(self, ended: Any) -> Any:
        errors = self.ray.exceptions
        try:
            return self.ray.get(ended)
        except errors.RayTaskError as error:  # the function itself failed; Ray's own text is its traceback
            raise error.cause from None
        except errors.OutOfMemoryError:
            return Lost("its node ran out of memory; give Ray tasks more of it, or use larger nodes")
        except errors.RayError as error:
            why = str(error).strip().splitlines()[0].rstrip(".")
            return Lost(f"its process was lost on {RETRIES + 1} nodes or workers, one after the other ({why})")

    def _cancel(self, tasks: Iterable[Any]) -> None:
        for one in tasks:
            with suppress(Exception):  # the cluster itself may be gone
                self.ray.cancel(one, force=True)


def _with_one_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a worker of Ray. A task has one core, so its libraries get one thread."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are imported later
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)
    return function(*arguments)


class Lost(RuntimeError):
    """A task was begun several times, and its worker or node was lost each time."""
