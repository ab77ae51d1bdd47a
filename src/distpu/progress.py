"""Progress on a terminal's stderr; nothing where there is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .train.loop import Epoch

T = TypeVar("T")


@contextmanager
def busy(text: str, show: bool = True) -> Iterator[None]:
    """A spinner on a terminal's stderr for a step of unknown length."""
    if not (show and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def over_runs(items: Iterable[T], total: int, text: str, jobs: int) -> Iterator[T]:
    """The items, under a bar on a terminal, above which whoever reads them may print; one run at a time has its own."""
    if not sys.stderr.isatty() or jobs == 1:
        yield from items
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        for item in items:
            bar.advance(task)
            yield item


class Bar:
    """A progress bar on a terminal's stderr, for whatever takes longer than two seconds."""

    def __init__(self, title: str):
        self.title, self.start = title, time.monotonic()
        self.bar: Any = None
        self.tasks: dict[str, Any] = {}

    def __call__(self, stage: str, epoch: Epoch) -> None:
        if not sys.stderr.isatty() or time.monotonic() - self.start < 2:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self.bar = Progress(
                *columns, TextColumn("{task.fields[loss]}"), console=Console(stderr=True), transient=True
            )
            self.bar.start()
        if stage not in self.tasks:
            self.tasks[stage] = self.bar.add_task(f"{self.title} {stage}", total=epoch.of, loss="")
        loss = f"loss {sum(epoch.terms.values()):.4f}"  # its terms, which the log has, would leave the bar no room
        self.bar.update(self.tasks[stage], completed=epoch.number + 1, loss=loss)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
