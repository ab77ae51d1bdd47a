"""Copies rows from host memory to a GPU ahead of time: while one part is used, the next parts are being copied."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch
from torch import Tensor

Part = TypeVar("Part", Tensor, slice)  # row numbers, or a slice
AHEAD = 4  # parts being copied at a time


def stream(x: Tensor, parts: Iterable[Part], device: torch.device, ahead: int = AHEAD) -> Iterator[tuple[Part, Tensor]]:
    """Yield (part, x[part] on the device) for each part, in order.

    This takes page-locked memory for `ahead` parts, and memory for as many on the device.
    """
    if x.device == device or device.type != "cuda":
        yield from ((part, _take(x, part).to(device)) for part in parts)
        return
    copies, slots = torch.cuda.Stream(device), [_Slot() for _ in range(ahead)]
    waiting: deque[tuple[Part, Future]] = deque()
    with ThreadPoolExecutor(1) as worker:
        for number, part in enumerate(parts):
            waiting.append((part, worker.submit(slots[number % ahead].send, x, part, copies)))
            if len(waiting) == ahead:
                yield _arrived(*waiting.popleft())
        while waiting:
            yield _arrived(*waiting.popleft())


def _take(x: Tensor, part: Part) -> Tensor:
    return x[part] if isinstance(part, slice) else x.index_select(0, part.to(x.device))


class _Slot:
    """Page-locked memory for one part that is being copied."""

    def __init__(self) -> None:
        self.memory, self.left = torch.empty(0), torch.cuda.Event()

    def send(self, x: Tensor, part: Tensor | slice, copies: torch.cuda.Stream) -> tuple[Tensor, torch.cuda.Event]:
        self.left.synchronize()  # wait until the part before has been copied
        rows = x[part] if isinstance(part, slice) else part.cpu()
        if len(self.memory) < len(rows):
            self.memory = torch.empty(len(rows), *x.shape[1:], dtype=x.dtype, pin_memory=True)
        here = self.memory[: len(rows)]
        if isinstance(part, slice):
            here.copy_(rows)
        else:
            torch.index_select(x, 0, rows, out=here)
        with torch.cuda.stream(copies):
            there = here.to(copies.device, non_blocking=True)
            self.left.record()
        return there, self.left


def _arrived(part: Part, sending: Future) -> tuple[Part, Tensor]:
    there, left = sending.result()
    now = torch.cuda.current_stream(there.device)
    now.wait_event(left)
    there.record_stream(now)
    return part, there
