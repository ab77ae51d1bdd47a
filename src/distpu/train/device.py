"""What suits the machine at hand: the device, the precision, compiling, threads. Nothing of what an objective computes.

Large networks train in bfloat16. They are compiled where the run is long enough to pay for it. On a CPU with few cores
a small network gets one thread, since a second thread costs more than it gives.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from .graph import Captured
from .loop import Objective, Step

T = TypeVar("T")


def as_tensor(x: np.ndarray) -> torch.Tensor:
    """The same memory, to be read only: a memory map stays one."""
    if min(x.strides, default=0) < 0:  # a reversed view; torch knows none
        x = x.copy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(x)


def find_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise ValueError(f"device={name!r} is not there ({str(error).splitlines()[0]}); use 'auto' or 'cpu'") from None
    return device


PRECISIONS = ("auto", "float32", "bfloat16")


# Measured (LOG.md). Work is counted in floating-point operations of one row's pass through the network.
BFLOAT16_FROM = {"cpu": 9e5, "cuda": 1e7}  # per row; below it casts cost what they save. The MLP on 784 inputs: 1e6


ONE_THREAD_BELOW = 6e8  # per batch: up to here two to four threads wait for each other longer than they help


COMPILE_FROM = 2.5e15  # per stage: from here one to three seeds win back what compiling the network took


@dataclass(frozen=True)
class Speed:
    """What a user may say about it; 'auto' decides by the device and the amount of work."""

    precision: str = "auto"  # of the passes in training: bfloat16 for large networks, else float32 (on a GPU: TF32)
    compile: str | bool = "auto"
    capture: str | bool = "auto"

    def bfloat16(self, device: torch.device, work: float) -> bool:
        if self.precision != "auto":
            return self.precision == "bfloat16"
        return work >= BFLOAT16_FROM.get(device.type, math.inf) and has_bfloat16(device)

    def compiled(self, device: torch.device, work: float, many_shapes: bool = False) -> bool:
        """Whether to compile for a stage of so much work: rows times epochs times work per row.

        Not where batches come in many sizes, for it is done for each: Self-PU on Alzheimer took 541 s (LOG.md).
        """
        if self.compile != "auto":
            return bool(self.compile)
        return device.type == "cuda" and work >= COMPILE_FROM and not many_shapes and _can_compile()

    def step(
        self, model: nn.Module, objective: Objective, optimizer: torch.optim.Optimizer, device: torch.device
    ) -> Step:
        kind = Captured if self.capture and device.type == "cuda" else Step
        return kind(model, objective, optimizer, device)


def has_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _can_compile() -> bool:
    from torch.utils._triton import has_triton

    return has_triton() and any(map(shutil.which, ("cc", "gcc", "clang")))


@contextlib.contextmanager
def arithmetic(precision: str, device: torch.device) -> Iterator[None]:
    """On a GPU: the same bits every time, which was measured to cost nothing; TF32 unless float32 was asked for."""
    if device.type != "cuda":
        yield
        return
    before, tf32 = torch.get_float32_matmul_precision(), precision != "float32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    same_bits = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=tf32)
    try:
        with torch.cuda.device(device), same_bits:  # streams and random state are those of the current device
            yield
    finally:
        torch.set_float32_matmul_precision(before)


@torch.no_grad()
def work_of_a_row(net: nn.Module, rows: Tensor) -> float:
    """Floating-point operations of one row's way through a network: matrix products and convolutions."""
    from torch.utils.flop_counter import FlopCounterMode

    training = net.training
    with FlopCounterMode(display=False) as counter:
        net.eval()(rows)
    net.train(training)
    return counter.get_total_flops() / len(rows)


def with_threads(work: Iterator[T], device: torch.device, work_per_batch: float) -> Iterator[T]:
    """One CPU thread for small steps where there are few, else all. Not by the load: the bits must not hang on it."""
    if device.type != "cpu" or work_per_batch >= ONE_THREAD_BELOW or torch.get_num_threads() >= 8:
        yield from work
        return
    done = object()
    while True:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            item = next(work, done)
        finally:
            torch.set_num_threads(before)
        if item is done:
            return
        yield item  # type: ignore[misc]
