"""Several processes (ranks) train one network, with the loss and the gradient of one process: the only such place.

    each rank cuts the same batch and draws the same random numbers, since all have the same seed
    a pass:   a rank passes its share of the rows; the logits of all ranks are put together; BatchNorm's means and
              variances are those of the whole batch
    the loss: each rank computes it, from the logits of the whole batch
    backward: a slope goes to the rank that has the row, times the number of ranks; then gradients are averaged

So an objective sees the whole batch before any absolute value, maximum, rank or logarithm, and no method knows of
ranks. What is computed from gathered logits has the same gradient on each rank, which the average leaves as it is. What
is computed from a rank's own rows has a part of it, and the average of `ranks` times the parts is their sum.

Plain averaging of each rank's own loss (DDP) optimises another loss: |mean - prior| is no sum over rows.
"""

from __future__ import annotations

import atexit
import builtins
import datetime
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from .. import nets
from . import launch

T = TypeVar("T")
WAIT = datetime.timedelta(minutes=30)  # for a rank that reads or computes what the others wait for
LOST = "the connection to the other ranks was lost: one of them ended or took over half an hour"

_ranks, _rank = 1, 0  # of the ranks that train together at this moment
_control: Any = None  # the group that sends tensors of the CPU

# ------------------------------------------------------------- joining


def join(device: torch.device) -> None:
    """Join the group of all ranks. A group that the user's script has made is taken."""
    global _control
    if launch.group() is None:
        missing = [name for name in launch.NEEDED if not os.environ.get(name)]
        if missing:
            raise ValueError(f"{missing[0]} is not set, but RANK and WORLD_SIZE are; set it, or start with torchrun")
        with _talking():
            dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo", timeout=WAIT)
        os.environ[launch.JOINED] = str(os.getpid())
        atexit.register(launch.at_exit)
        _control = None
    if _control is None or dist.group.WORLD is not _control[0]:
        told = dist.get_backend_config()
        _control = dist.group.WORLD, None if "gloo" in str(told) else dist.new_group(backend="gloo", timeout=WAIT)


@contextmanager
def together() -> Iterator[None]:
    """Let the ranks share each pass of a network in this block. With one rank nothing changes."""
    global _ranks, _rank
    before = _ranks, _rank
    _ranks, _rank = launch.size(), launch.rank()
    try:
        with _shared(_ranks > 1):
            yield
    finally:
        _ranks, _rank = before


@contextmanager
def whole() -> Iterator[None]:
    """Let each rank pass all rows in this block, as one process does: for a formula with a gradient inside."""
    with _shared(False):
        yield


@contextmanager
def _shared(on: bool) -> Iterator[None]:
    before = nets.Network.spread
    nets.Network.spread = staticmethod(spread) if on else None
    try:
        yield
    finally:
        nets.Network.spread = before if before is None else staticmethod(before)


def ranks() -> int:
    """Return how many ranks share the work at this moment."""
    return _ranks


# ---------------------------------------------------------- messages


@contextmanager
def _talking() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        told = " ".join(str(error).split()).split(". ")[0]
        why = re.sub(r"^\[.*?\] *", "", told)[:120]  # without the place in gloo's source
        raise launch.Lost(f"{LOST} ({why}); the same command goes on from the last checkpoint") from None


def add_up(x: Tensor) -> Tensor:
    """Replace x by its sum over the ranks."""
    with _talking():
        dist.all_reduce(x, group=_group(x))
    return x


def _group(x: Tensor) -> Any:
    return None if x.device.type == "cuda" else _control[1]


def send(content: bytes | None) -> bytes:
    """Return the first rank's bytes."""
    size = torch.tensor([len(content or b"")])
    with _talking():
        dist.broadcast(size, 0, group=_control[1])
        data = torch.empty(int(size), dtype=torch.uint8)
        if content:
            data.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        if len(data):
            dist.broadcast(data, 0, group=_control[1])
    return data.numpy().tobytes()


def from_first(make: Callable[[], T]) -> T:
    """Return what `make` returns on the first rank, as JSON can hold it; an error there is raised on every rank."""
    if launch.size() == 1:
        return make()
    if not launch.first():
        told = json.loads(send(None))
        if "error" in told:
            kind = getattr(builtins, told["error"], ValueError)
            raise kind(told["text"])
        return told["value"]
    try:
        with launch.alone():
            value = make()
    except Exception as error:
        send(json.dumps({"error": type(error).__name__, "text": str(error)}).encode())
        raise
    send(json.dumps({"value": value}).encode())
    return value


def check_same(value: str, what: str) -> None:
    """Refuse ranks that do not all have the same."""
    crc = torch.zeros(launch.size(), dtype=torch.long)
    crc[launch.rank()] = zlib.crc32(value.encode())
    add_up(crc)
    if differ := [number for number in range(len(crc)) if crc[number] != crc[0]]:
        raise ValueError(f"rank {differ[0]} has {what} than rank 0; start all ranks alike, on copies of the same data")


def level(model: nn.Module) -> None:
    """Give every rank the first one's weights. Machines of one kind have the same bits anyway; others round apart."""
    if _ranks == 1:
        return
    drawn = [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_initialized() else [])]
    check_same(str([zlib.crc32(state.numpy().tobytes()) for state in drawn]), "drawn other random numbers")
    tensors = [tensor for tensor in model.state_dict().values() if tensor.is_floating_point()]
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    with _talking():
        dist.broadcast(flat, 0, group=_group(flat))
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view_as(tensor))


# ------------------------------------------------------------- a pass


def _own(n: int) -> slice:
    return slice(n * _rank // _ranks, n * (_rank + 1) // _ranks)


def own(parts: Sequence[T]) -> Sequence[T]:
    """Return this rank's share of some parts."""
    return parts[_own(len(parts))]


def spread(through: Callable[[Tensor], Any], x: Tensor) -> Any:
    """Return what `through` gives for all rows, of which this rank passes its share."""
    if len(x) < 2 * _ranks:  # too few to share: each rank passes all of them
        return through(x)
    rows = _own(len(x))
    with WholeBatch(rows, len(x)):
        found = through(x[rows])
    parts = found if isinstance(found, tuple) else (found,)
    gathered = tuple(_Gathered.apply(part, rows, len(x)) for part in parts)
    return gathered if isinstance(found, tuple) else gathered[0]


def average_gradients(parameters: Iterable[Tensor]) -> None:
    """Replace each gradient by its mean over the ranks."""
    if _ranks == 1:
        return
    slopes = [p.grad for p in parameters if p.grad is not None]
    flat = add_up(torch.cat([slope.flatten() for slope in slopes])) / _ranks
    for slope, mean in zip(slopes, flat.split([slope.numel() for slope in slopes]), strict=True):
        slope.copy_(mean.view_as(slope))


class _Gathered(torch.autograd.Function):
    """The rows of all ranks in their order. A slope goes back to the rank that has the row, times the ranks."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, rows: slice, n: int) -> Tensor:
        if part.dim() == 0 or len(part) != rows.stop - rows.start:
            return part.clone()  # not a value per row: Network says so
        ctx.rows, ctx.dtype = rows, part.dtype
        full = torch.zeros(n, *part.shape[1:], dtype=torch.promote_types(part.dtype, torch.float32), device=part.device)
        full[rows] = part
        return add_up(full)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        return (slope[ctx.rows] * _ranks).to(ctx.dtype), None, None


class _Normalised(torch.autograd.Function):
    """BatchNorm by the mean and the variance of the rows of all ranks: (x - mean) / sqrt(var + eps), mean, var, n."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        axes, shape = [0, *range(2, x.dim())], [1, -1] + [1] * (x.dim() - 2)
        of_own, mean_of_own = torch.var_mean(wide, axes, correction=0)
        count = wide.new_full((1,), x.numel() / x.shape[1])
        table = wide.new_zeros(_ranks, 1 + 2 * x.shape[1])
        table[_rank] = torch.cat([count, mean_of_own, of_own])
        counts, means, variances = add_up(table).split([1, x.shape[1], x.shape[1]], 1)
        n = counts.sum()
        mean = (counts * means).sum(0) / n
        var = (counts * (variances + (means - mean).square())).sum(0) / n
        root = (var + eps).rsqrt()
        normal = (wide - mean.view(shape)) * root.view(shape)
        ctx.save_for_backward(normal, root, n)
        ctx.axes, ctx.shape, ctx.dtype = axes, shape, x.dtype
        ctx.mark_non_differentiable(mean, var, n)
        return normal, mean, var, n

    @staticmethod
    def backward(ctx: Any, slope: Tensor, *_: Any) -> Any:
        normal, root, n = ctx.saved_tensors
        sums = add_up(torch.stack([slope.sum(ctx.axes), (slope * normal).sum(ctx.axes)])) / n
        mean, along = (part.view(ctx.shape) for part in sums)
        return (root.view(ctx.shape) * (slope - mean - normal * along)).to(ctx.dtype), None


DROPOUTS = {functional.dropout, functional.dropout1d, functional.dropout2d, functional.dropout3d}
DRAWS = {"rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "normal", "normal_"}
DRAWS |= {"uniform_", "bernoulli", "bernoulli_", "exponential_", "multinomial", "poisson", "random_", "rrelu"}
DRAWS |= {"alpha_dropout", "feature_alpha_dropout", "gumbel_softmax", "fractional_max_pool2d"}


class WholeBatch(TorchFunctionMode):
    """Makes what a network does over the rows of a batch do it over all ranks' rows: BatchNorm and dropout."""

    def __init__(self, rows: slice, n: int):
        super().__init__()
        self.rows, self.n = rows, n

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.batch_norm:
            return _batch_norm(*args, **kwargs)
        if func in DROPOUTS:
            return self._dropout(func, *args, **kwargs)
        name = getattr(func, "__name__", "")
        attends = name == "scaled_dot_product_attention" and (kwargs.get("dropout_p") or [*args, 0, 0, 0, 0, 0][4])
        if name in DRAWS or attends:
            raise ValueError(
                f"the network draws random numbers ({name}), which {_ranks} ranks would draw alike for different rows; "
                "train it on one rank, or with dropout only"
            )
        return func(*args, **kwargs)

    def _dropout(self, func: Any, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        """Draw for all rows, as one process does, and take this rank's share."""
        if not training or p == 0:
            return x
        per_row = len(x) // (self.rows.stop - self.rows.start)  # a network may cut a row into several
        drawn = func(x.new_ones(self.n * per_row, *x.shape[1:]), p, True)
        return x * drawn[self.rows.start * per_row : self.rows.stop * per_row]


def _batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not training:
        return functional.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
    normal, mean, var, n = _Normalised.apply(x, eps)
    if running_mean is not None and running_var is not None:
        with torch.no_grad():
            running_mean.lerp_(mean.to(running_mean.dtype), momentum)
            running_var.lerp_((var * n / (n - 1)).to(running_var.dtype), momentum)
    shape = [1, -1] + [1] * (x.dim() - 2)
    normal = normal if weight is None else normal * weight.view(shape)
    return (normal if bias is None else normal + bias.view(shape)).to(x.dtype)
