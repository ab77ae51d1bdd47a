"""The run folder of several ranks: the first one holds it and writes. The others read a copy of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..files.run_folder import Json, RunFolder
from . import launch, parallel


class Copy(RunFolder):
    """The files of the first rank's folder that a run is restored or continued from. What is kept goes nowhere."""

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


@contextmanager
def opened(folder: RunFolder, config: Json) -> Iterator[tuple[RunFolder, Json, bool]]:
    """Hold the folder on the first rank: (the folder or its copy, the config in it, whether the run is finished)."""
    if launch.size() == 1:
        with folder.opened(config) as (there, finished):
            yield folder, there, finished
        return
    with ExitStack() as until:
        there, finished = parallel.from_first(lambda: until.enter_context(folder.opened(config)))
        files = folder.to_go_on_from() if launch.first() else []
        names = parallel.from_first(lambda: [path.name for path in files])
        place = Path() if launch.first() else Path(until.enter_context(tempfile.TemporaryDirectory()))
        for name in names:
            content = parallel.send((folder.path / name).read_bytes() if launch.first() else None)
            if not launch.first():
                (place / name).write_bytes(content)
        yield (folder if launch.first() else Copy(place)), there, finished
