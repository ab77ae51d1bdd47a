"""Shows progress: by rich on a terminal (stderr), as HTML in a Jupyter kernel, and nowhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .notebook import KernelBar, in_kernel

T = TypeVar("T")
PAUSE = 0.2  # seconds between two pictures of a bar in a notebook: each is a message to the browser


def _console() -> Any:
    """Return rich's console on stderr, or None if nothing can be shown."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(stderr=True)


def tell(text: str) -> None:
    """Print a line on stderr: what a user must know before a long step."""
    if text:
        print(text, file=sys.stderr, flush=True)


@contextmanager
def busy(text: str, show: bool = True) -> Iterator[None]:
    """Show a spinner during a step of unknown length."""
    if show and in_kernel():
        bar = KernelBar()
        bar.show(text, None, None)
        try:
            yield
        finally:
            bar.stop()
        return
    console = _console() if show else None
    if console is None:
        yield
        return
    with console.status(text):
        yield


def watched(
    items: Iterable[T], text: str, total: int | None, done: int = 0, size: Callable[[T], int] = lambda item: 1
) -> Iterator[T]:
    """Yield the items. A progress bar shows how many are done."""
    with Bar(after=0) as bar:
        for item in items:
            done += size(item)
            bar.update(text, done, total)
            yield item


class Bar:
    """A progress bar that appears after `after` seconds. Each text has a line of its own."""

    def __init__(self, show: bool = True, after: float = 2.0):
        self.kernel = show and in_kernel()
        self.console = _console() if show and not self.kernel else None
        self.next = time.monotonic() + after
        self.bar: Any = None
        self.tasks: dict[str, Any] = {}

    def update(self, text: str, done: int, total: int | None, note: str = "") -> None:
        if (self.console is None and not self.kernel) or time.monotonic() < self.next:
            return
        if self.kernel:
            self.bar = self.bar or KernelBar()
            self.bar.show(text, done, total, note)
            self.next = time.monotonic() + PAUSE
            return
        if self.bar is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            counts = MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.fields[note]}")
            columns = TextColumn("{task.description}"), BarColumn(), *counts
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.bar.start()
        if text not in self.tasks:
            self.tasks[text] = self.bar.add_task(text, total=total, note="")
        self.bar.update(self.tasks[text], completed=done, note=note)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
