"""The run folder of several ranks: the first one holds it and writes. The others read a copy of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..files.run_folder import Json, RunFolder
from . import launch, parallel


def of_ranks(folder: RunFolder) -> RunFolder:
    """Return what a rank takes for the run folder."""
    return Sent(folder.path) if launch.first() else Copy(folder.path)


class Sent(RunFolder):
    """The folder itself, on the first rank."""

    @contextmanager
    def opened(self, config: Json) -> Iterator[tuple[Json, bool]]:
        with ExitStack() as until:
            there, finished = parallel.from_first(lambda: until.enter_context(super(Sent, self).opened(config)))
            files = self.to_go_on_from()
            parallel.from_first(lambda: [path.name for path in files])
            for path in files:
                parallel.send(path.read_bytes())
            yield there, finished


class Copy(RunFolder):
    """The files that a run is restored or continued from, in a folder that goes away. What is kept goes nowhere."""

    @contextmanager
    def opened(self, config: Json) -> Iterator[tuple[Json, bool]]:
        nothing: Any = None
        there, finished = parallel.from_first(lambda: nothing)
        with tempfile.TemporaryDirectory() as place:
            self.path = Path(place)
            for name in parallel.from_first(lambda: nothing):
                (self.path / name).write_bytes(parallel.send(None))
            yield there, finished

    def keep_prior(self, *_: Any) -> None:
        pass

    def keep_seconds(self, *_: Any) -> None:
        pass

    def keep_checkpoint(self, *_: Any) -> None:
        pass

    def keep_weights(self, *_: Any) -> None:
        pass

    def keep_encoder(self, *_: Any) -> None:
        pass

    def rewrite_log(self, *_: Any) -> None:
        pass

    def append_to_log(self, *_: Any) -> None:
        pass

    def finish(self, *_: Any) -> None:
        pass
