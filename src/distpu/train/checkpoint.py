"""The state of a stage of training as one flat dict of tensors, and back."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..files.tensors import Tensors


def pack(model: nn.Module, objective: nn.Module, optimizer: torch.optim.Optimizer) -> Tensors:
    """Everything that the rest of a stage depends on, the random state included, as one flat dict."""
    state = {f"model.{k}": v for k, v in model.state_dict().items()}
    state |= {f"objective.{k}": v for k, v in objective.state_dict().items()}
    for number, slots in optimizer.state_dict()["state"].items():
        state |= {f"optimizer.{number}.{name}": torch.as_tensor(v) for name, v in slots.items()}
    state["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        state["random.cuda"] = torch.cuda.get_rng_state()
    return state


def unpack(state: Tensors, model: nn.Module, objective: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    def part(prefix: str) -> Tensors:
        return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}

    model.load_state_dict(part("model."))
    objective.load_state_dict(part("objective."))
    slots: dict[int, dict[str, Tensor]] = {}
    for key, value in part("optimizer.").items():
        number, name = key.split(".", 1)
        slots.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": slots, "param_groups": optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(state["random.cpu"])
    if "random.cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["random.cuda"])
