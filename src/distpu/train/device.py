"""Adapts training to the machine: device, precision, compiling, threads. The objective stays the same.

Large networks train in bfloat16. They are compiled where the run is long enough to pay for it. On a CPU with few cores
a small network gets one thread, since a second thread costs more than it gives.
"""

from __future__ import annotations

import contextlib
import math
import shutil
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..kinds import Shown, short
from . import launch, parallel
from .graph import Captured
from .loop import Objective, Step

T = TypeVar("T")


def as_tensor(x: np.ndarray) -> torch.Tensor:
    """Return a tensor on the same memory, for reading only. A memory map stays a memory map."""
    if min(x.strides, default=0) < 0:  # torch has no negative strides, as a reversed view has
        x = x.copy()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(x)


def find_device(name: str) -> torch.device:
    if launch.size() > 1 and name in ("auto", "cuda") and torch.cuda.is_available():  # a GPU for each rank of a machine
        name = f"cuda:{launch.local_rank() % torch.cuda.device_count()}"
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.ones(1, device=device).item()  # the device 'meta' makes tensors without values
    except (RuntimeError, AssertionError, TypeError) as error:
        why = short(Shown(str(error).splitlines()[0]))
        raise ValueError(f"device={short(name)} is not there ({why}); use 'auto' or 'cpu'") from None
    return device


PRECISIONS = ("auto", "float32", "bfloat16")


# Work is counted in floating-point operations of one row's pass through the network. Measured:
# docs/log/2026-11.md#the-fast-path-on-a-gpu-kept and docs/log/2026-11.md#threads-and-bfloat16-on-a-cpu-kept
BFLOAT16_FROM = {"cpu": 9e5, "cuda": 1e7}  # per row; with less work, casts take the time that bfloat16 saves


ONE_THREAD_BELOW = 6e8  # per batch; with less work, two to four threads wait for each other longer than they help


COMPILE_FROM = 2.5e15  # per stage; from here on, compiling saves the time it takes within one to three runs


@dataclass(frozen=True)
class Speed:
    """The user's settings for speed. 'auto' decides by the device and the amount of work."""

    precision: str = "auto"  # of the passes in training: bfloat16 for large networks, else float32 (on a GPU: TF32)
    compile: str | bool = "auto"
    capture: str | bool = "auto"

    def bfloat16(self, device: torch.device, work: float) -> bool:
        if self.precision != "auto":
            return self.precision == "bfloat16"
        return work >= BFLOAT16_FROM.get(device.type, math.inf) and has_bfloat16(device)

    def compiled(self, device: torch.device, work: float, many_shapes: bool = False) -> bool:
        """Return whether to compile the network for a stage. Its work is rows times epochs times work per row.

        With many batch sizes the network would be compiled for each of them, which takes longer than the training:
        docs/log/2026-11.md#a-first-search-of-nnpu-pusb-and-self-pu-on-alzheimer-replaced
        """
        if parallel.ranks() > 1:  # BatchNorm talks to the other ranks in the middle of a pass
            return False
        if self.compile != "auto":
            return bool(self.compile)
        return device.type == "cuda" and work >= COMPILE_FROM and not many_shapes and _can_compile()

    def step(
        self,
        model: nn.Module,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        device: torch.device,
        view: Callable[[Tensor], Tensor] | None = None,
    ) -> Step:
        recorded = self.capture and device.type == "cuda" and parallel.ranks() == 1
        kind = Captured if recorded else Step
        return kind(model, objective, optimizer, device, view)


def has_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return device.type == "cpu" and (torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _can_compile() -> bool:
    from torch.utils._triton import has_triton

    return has_triton() and any(map(shutil.which, ("cc", "gcc", "clang")))


@contextlib.contextmanager
def arithmetic(precision: str, device: torch.device) -> Iterator[None]:
    """Set the arithmetic of a GPU: deterministic kernels, and TF32 unless float32 was asked for.

    Deterministic kernels give the same bits every time and cost no time:
    docs/log/2026-11.md#the-fast-path-on-a-gpu-kept
    """
    if device.type != "cuda":
        yield
        return
    before, tf32 = torch.get_float32_matmul_precision(), precision != "float32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    same_bits = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=tf32)
    try:
        with torch.cuda.device(device), same_bits:  # torch takes streams and the random state of the current device
            yield
    finally:
        torch.set_float32_matmul_precision(before)


@torch.no_grad()
def work_of_a_row(net: nn.Module, rows: Tensor) -> float:
    """Count the floating-point operations of one row in a network, in matrix products and convolutions."""
    from torch.utils.flop_counter import FlopCounterMode

    training = net.training
    with FlopCounterMode(display=False) as counter:
        net.eval()(rows)
    net.train(training)
    return counter.get_total_flops() / len(rows)


def with_threads(work: Iterator[T], device: torch.device, work_per_batch: float) -> Iterator[T]:
    """Yield the items, computing each with one thread if steps are small and the CPU has few cores.

    The number of threads must not depend on the machine's load: results would no longer be reproducible.
    """
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
