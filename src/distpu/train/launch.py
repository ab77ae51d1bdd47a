"""Which of several processes this is: torchrun, SLURM or Kubernetes starts them and numbers them. No torch.

A *rank* is one of the processes that train one network together, and also its number. The first one, rank 0, alone
prints and writes.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

JOINED = "DISTPU_RANK_PID"  # of the process that is a rank: its children inherit its environment and are none
NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

_alone = 0


class Lost(ConnectionError):
    """Another rank ended."""


def size() -> int:
    """Return how many ranks there are: 1 in a process that was started by itself."""
    return _place()[1]


def rank() -> int:
    return _place()[0]


def first() -> bool:
    """Return whether this process prints and writes."""
    return rank() == 0


def local_rank() -> int:
    """Return the number of this rank on its machine, which is the number of its GPU."""
    told = os.environ.get("LOCAL_RANK") or os.environ.get("SLURM_LOCALID") or ""
    return int(told) if told.isdecimal() else rank()


@contextmanager
def alone() -> Iterator[None]:
    """Let each process fit a model of its own in this block, though it was started as one of several ranks."""
    global _alone
    _alone += 1
    try:
        yield
    finally:
        _alone -= 1


def group() -> Any:
    """Return torch.distributed if this process is in a group of processes, else None."""
    found = sys.modules.get("torch.distributed")
    return found if found is not None and found.is_available() and found.is_initialized() else None


def refuse_several(what: str) -> None:
    """Refuse what one process does alone: others would do all of it again, and write to the same files."""
    if size() > 1:
        raise ValueError(f"{what}, so one process is enough, but {size()} were started; start it without torchrun")


def leave() -> None:
    """End this process's part in the group. Without it, gloo's threads may abort the process at its end."""
    if (found := group()) is not None:
        found.destroy_process_group()


def at_exit() -> None:
    """End a script's part in the group. A script that failed ends at once: the other ranks must not wait for it."""
    if hasattr(sys, "last_type"):
        sys.stderr.flush()
        os._exit(1)
    leave()


def _place() -> tuple[int, int]:
    """Return (rank, size)."""
    if _alone:
        return 0, 1
    if (found := group()) is not None:
        return found.get_rank(), found.get_world_size()
    child = multiprocessing.parent_process() is not None or os.environ.get(JOINED, str(os.getpid())) != str(os.getpid())
    numbers = [os.environ.get(name, "") for name in NEEDED[:2]]
    if child or not all(number.isdecimal() for number in numbers):
        return 0, 1
    return int(numbers[0]), int(numbers[1])
