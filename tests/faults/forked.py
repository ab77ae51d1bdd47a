"""Runs the command line in processes that are forked from one that has imported everything: a trial takes no import.

The forking process has trained nothing and has one thread, so its children are as new as a process of their own.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def nursery() -> Any:
    """The context whose processes are forked from the one that has imported distpu."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "80"}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["faults.imported"])
    return context


def command(words: list[str], out: str, err: str, largest: int | None = None) -> None:
    """Be the process of a command: its streams are files, and it is told of Ctrl-C."""
    os.setsid()  # a signal for the command reaches its workers too, and nobody else
    for number, path in ((1, out), (2, err)):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(handle, number)
        os.close(handle)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if largest is not None:  # each file that would become larger fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    sys.argv = ["distpu", *words]
    from distpu.__main__ import main

    code: Any = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stderr.flush()
    os._exit(int(code))


@dataclass
class Ended:
    code: int
    out: str
    err: str


class Started:
    """A command that runs."""

    context: Any = None
    number = 0

    def __init__(self, *words: Any, place: Path, largest: int | None = None):
        Started.context = Started.context or nursery()
        Started.number += 1
        self.streams = [place / f"{Started.number}.{name}" for name in ("out", "err")]
        told = ([str(word) for word in words], *map(str, self.streams), largest)
        self.process = Started.context.Process(target=command, args=told)
        self.process.start()

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:  # before it has a session of its own, or after its end
            if self.process.is_alive():
                os.kill(self.process.pid, number)

    def ended(self, seconds: float = 120) -> Ended:
        """Wait for the end. A command that hangs is a failure."""
        self.process.join(seconds)
        if self.process.is_alive():
            self.signal(signal.SIGKILL)
            self.process.join()
            raise AssertionError(f"it hung for {seconds} s")
        return Ended(self.process.exitcode, *(path.read_text() if path.exists() else "" for path in self.streams))


def run(*words: Any, place: Path, largest: int | None = None) -> Ended:
    return Started(*words, place=place, largest=largest).ended()


def slept(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)
