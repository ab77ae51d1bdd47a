"""Packs networks and stages of training into tensors for a run folder, and unpacks them after a check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from .. import nets
from ..files.run_folder import RunFolder
from ..files.tensors import Tensors

SLOTS = {"Adam": ("step", "exp_avg", "exp_avg_sq"), "SGD": ("momentum_buffer",)}  # what is stored for each parameter


def restored(folder: RunFolder, network: Any, shape: nets.Shape) -> nets.Network:
    """Return the trained network of a finished run."""
    weights = folder.weights()
    try:
        if not callable(network) and not nets.is_outside(network):  # a name of another package fixes the size
            with torch.device("meta"):  # the meta device takes no memory: a damaged shape may ask for terabytes
                planned = nets.body(network, shape).state_dict()
            _compare(_part(weights, "body."), planned)
        _check_scaling(weights, shape)
        with torch.random.fork_rng(devices=[]):
            body = nets.body(network, shape)
        _compare(_part(weights, "body."), body.state_dict())
        model = nets.Network(body, weights["mean"], weights["scale"])
        model.load_state_dict(weights)
    except _Misfit as error:
        raise ValueError(
            f"the weights in {folder} do not fit network={network!r} for rows of shape {shape} ({error}); "
            "pass the network that the folder was trained with, or train into a new folder"
        ) from None
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"the network of {folder} cannot be built: {reason}") from None
    return model


def pack(model: nn.Module, objective: nn.Module, optimizer: torch.optim.Optimizer) -> Tensors:
    """Return everything that the rest of a stage depends on, the random state included, as one flat dict."""
    state = {f"model.{k}": v for k, v in model.state_dict().items()}
    state |= {f"objective.{k}": v for k, v in objective.state_dict().items()}
    for number, slots in optimizer.state_dict()["state"].items():
        state |= {f"optimizer.{number}.{name}": torch.as_tensor(v) for name, v in slots.items()}
    state["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        state["random.cuda"] = torch.cuda.get_rng_state()
    return state


def unpack(state: Tensors, model: nn.Module, objective: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Load the state. If it belongs to something else, raise ValueError and change nothing."""
    _compare(_part(state, "model."), model.state_dict())
    _compare(_part(state, "objective."), objective.state_dict())
    slots = _slots(_part(state, "optimizer."), optimizer)
    generators = {"random.cpu": torch.get_rng_state()}
    if "random.cuda" in state and torch.cuda.is_available():
        generators["random.cuda"] = torch.cuda.get_rng_state()
    for name, now in generators.items():
        _compare({k: v for k, v in state.items() if k == name}, {name: now})
    try:
        torch.set_rng_state(state["random.cpu"])
        if "random.cuda" in generators:
            torch.cuda.set_rng_state(state["random.cuda"])
    except RuntimeError:
        torch.set_rng_state(generators["random.cpu"])
        raise _Misfit("its random state is damaged") from None
    model.load_state_dict(_part(state, "model."))
    objective.load_state_dict(_part(state, "objective."))
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})


class _Misfit(ValueError):
    """Tensors do not have the names, shapes or types that are wanted."""


def _part(state: Tensors, prefix: str) -> Tensors:
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def _compare(there: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    for name in sorted(there.keys() ^ wanted.keys()):
        raise _Misfit(f"{name} is {'missing' if name in wanted else 'not known'}")
    for name, tensor in wanted.items():
        found = there[name]
        if is_lazy(tensor):  # a lazy layer has no shape yet and takes the one found here
            continue
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            raise _Misfit(f"{name} is {_kind(found)}, not {_kind(tensor)}")


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def _check_scaling(weights: Tensors, shape: nets.Shape) -> None:
    """Check that mean and scale fit one row: each axis is that of the row, or 1, or there are no axes."""
    grey = len(shape) == 3 and shape[0] == 1
    rows = (shape, (3, *shape[1:])) if grey else (shape,)  # resnet-50 takes a grey image as three equal channels
    for name in ("mean", "scale"):
        if name not in weights:
            raise _Misfit(f"{name} is missing")
        size = tuple(weights[name].shape)
        fits = any(
            len(size) in (0, len(row)) and all(a in (1, b) for a, b in zip(size, row, strict=False)) for row in rows
        )
        if not fits or not weights[name].is_floating_point():
            raise _Misfit(f"{name} is {_kind(weights[name])}")
    strange = [key for key in weights if key not in ("mean", "scale") and not key.startswith("body.")]
    if strange:
        raise _Misfit(f"{strange[0]} is not known")


def _slots(state: Tensors, optimizer: torch.optim.Optimizer) -> dict[int, Tensors]:
    """Return what the optimiser stores, by the number of the parameter."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    slots: dict[int, Tensors] = {}
    for key, value in state.items():
        number, _, name = key.partition(".")
        if not number.isascii() or not number.isdecimal() or len(number) > 9 or int(number) >= len(parameters):
            raise _Misfit(f"the optimiser has no parameter {number}")
        slots.setdefault(int(number), {})[name] = value
    for at, found in slots.items():
        like = parameters[at].detach()
        slots_of = SLOTS[type(optimizer).__name__]
        _compare(found, {name: torch.zeros((), dtype=torch.float32) if name == "step" else like for name in slots_of})
    return slots
