"""Records a step on a GPU once and replays it.

A step is hundreds of small kernels, and starting them one by one takes longer than running them. So a step runs
eagerly twice. Then it is recorded as one CUDA graph and replayed. The graph reads and writes tensors that stay in
place: the batch, the progress, the weights, the optimiser's state, the sums of the terms.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from .data import Batch
from .loop import Step

WARM = 2  # eager steps before a recording, so that all that happens at first use (compiling, tuning) has happened


MOST = 32  # graphs held at a time; more new kinds of steps than this in one epoch are not recorded any more


class Captured(Step):
    """A step that is recorded on a GPU and replayed. If it cannot be recorded, it runs eagerly and a warning says so.

    A recording repeats what Python decided when it was made. So each shape of a batch gets its own recording, and so
    does each combination of the objective's plain attributes (in Self-PU: which student, which phase).
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.stream, self.pool = _side_stream(self.progress.device), torch.cuda.graph_pool_handle()
        self.graphs: dict[Any, tuple[torch.cuda.CUDAGraph, Batch]] = {}
        self.seen: dict[Any, int] = {}
        self.new, self.why_not = 0, ""

    def begin(self, progress: float, rate: float) -> None:
        super().begin(progress, rate)
        self.new = 0

    def __call__(self, batch: Batch) -> None:
        if self.why_not:
            return super().__call__(batch)
        self.count += 1
        key = self._key(batch)
        seen = self.seen[key] = self.seen.get(key, 0) + 1
        if seen <= WARM:
            self._warm_up(batch, watch=seen == WARM)
            self.new += seen == 1
            if self.new > MOST:
                self._give_up(f"over {MOST} kinds of it came in one epoch; keep what changes at every step in a tensor")
        elif key in self.graphs or self._capture(key, batch):
            graph, inputs = self.graphs[key]
            for mine, theirs in zip(vars(inputs).values(), vars(batch).values(), strict=True):
                mine.copy_(theirs)
            graph.replay()

    def _key(self, batch: Batch) -> Any:
        plain = [v for v in vars(self.objective).values() if isinstance(v, (bool, int, float, str))]
        return (batch.x.shape, batch.x.dtype, *plain)

    def _warm_up(self, batch: Batch, watch: bool) -> None:
        """Run an eager step on the stream of the recording.

        `watch` looks for places where the host waits for the device: a step with such a place cannot be recorded.
        """
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        with torch.cuda.stream(self.stream), _syncs(watch) as found:
            self._train(batch)
        here.wait_stream(self.stream)
        if found:
            self._give_up(f"the host waits for the device in {found[0].filename}, line {found[0].lineno}")

    def _capture(self, key: Any, batch: Batch) -> bool:
        if len(self.graphs) == MOST:
            self.graphs.pop(next(iter(self.graphs)))
        inputs = Batch(*(t.clone() for t in vars(batch).values()))
        graph = torch.cuda.CUDAGraph()
        here = torch.cuda.current_stream()
        self.stream.wait_stream(here)
        torch.cuda.empty_cache()  # a recording has its own memory: it gets what the eager steps no longer need
        collecting = gc.isenabled()
        gc.disable()  # else freeing a tensor during the recording would become part of it
        try:
            with torch.cuda.stream(self.stream):
                graph.capture_begin(self.pool, capture_error_mode="thread_local")
                try:
                    self._train(inputs)
                finally:
                    graph.capture_end()
        except RuntimeError as error:
            self._recover()
            self._give_up(str(error).splitlines()[0])
            self._train(batch)
            return False
        finally:
            if collecting:
                gc.enable()
        here.wait_stream(self.stream)
        self.graphs[key] = graph, inputs
        return True

    def _recover(self) -> None:
        """Record an empty step after a recording that failed.

        A failed recording leaves torch's generator in recording mode. One that succeeds ends this mode.
        """
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            empty = torch.cuda.CUDAGraph()
            empty.capture_begin(capture_error_mode="thread_local")
            self.progress.clone()
            empty.capture_end()

    def _give_up(self, why: str) -> None:
        self.why_not, self.graphs = why, {}
        warnings.warn(
            f"the step of {type(self.objective).__name__} cannot be recorded and runs eagerly, several times slower: "
            f"{why}; see docs/new-method.md, or set capture=False",
            RuntimeWarning,
            stacklevel=2,
        )


@functools.cache
def _side_stream(device: torch.device) -> torch.cuda.Stream:
    """Return one stream for all recordings, since cuBLAS keeps about 64 MB for every stream it has seen."""
    return torch.cuda.Stream(device)


@contextlib.contextmanager
def _syncs(watch: bool) -> Iterator[list[warnings.WarningMessage]]:
    """Collect the places where the host waits for the device."""
    found: list[warnings.WarningMessage] = []
    if not watch:
        yield found
        return
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield found
        finally:
            torch.cuda.set_sync_debug_mode(before)
    for warning in seen:
        if "synchronizing CUDA operation" in str(warning.message):
            found.append(warning)
        elif "debug mode" not in str(warning.message):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
