"""Trials: the files of a search for settings, in the folder of a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from . import atomic
from .log import Json, log_lines, read_log

if TYPE_CHECKING:
    import numpy as np


class Trials:
    """The trials of a search, in a folder that also has a config.json."""

    TRIALS = "trials.jsonl"
    path: Path

    def trials(self) -> list[Json]:
        """The trials so far, up to the first line that is torn or damaged."""
        return list(read_log(self.path / self.TRIALS))

    def rewrite_trials(self, rows: Iterable[Json]) -> None:
        atomic.write(self.path / self.TRIALS, log_lines(rows).encode())

    def append_trial(self, row: Json) -> None:
        atomic.append(self.path / self.TRIALS, log_lines([row]).encode())

    def trial_scores(self, number: int) -> np.ndarray | None:
        """The held-out scores of a trial; None where they are missing or damaged."""
        from . import arrays

        try:
            return arrays.read_npz(self._trial(number), "score")["score"]
        except arrays.DAMAGED:
            return None

    def keep_trial_scores(self, number: int, score: np.ndarray) -> None:
        from . import arrays

        arrays.write_npz(self._trial(number), {"score": score})

    def _trial(self, number: int) -> Path:
        return self.path / f"trial-{number:04d}.npz"
