"""Chooses the epoch that a stage keeps, by a PU metric on rows held out from training."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from .. import metrics
from ..datasets.draw import folds
from .scoring import logits


class Validation:
    """Rows held out from training. PU accuracy chooses the epoch kept; PU AUC does where no prior is known."""

    def __init__(self, x: Tensor, s: np.ndarray, preparing: tuple[str, ...] = ()):
        self.x, self.s, self.preparing = x, s, preparing

    def chooses(self, stage: str) -> bool:
        """Return whether the stage keeps its best epoch. A stage that prepares another one keeps its last."""
        return not stage.startswith(self.preparing) if self.preparing else True

    def value(self, net: nn.Module, prior: float) -> float:
        z = logits(net, self.x, next(net.parameters()).device).cpu().double().numpy()
        return float(metrics.pu_auc(self.s, z) if math.isnan(prior) else metrics.pu_accuracy(self.s, z, prior))


class Best(nn.Module):
    """A copy of the networks at their best epoch so far. All of it is in buffers, so that a checkpoint has it."""

    value: Tensor

    def __init__(self, parts: list[nn.Module]):
        super().__init__()
        self.parts = parts  # a plain list: they do not become parts of this module
        self.register_buffer("value", torch.tensor(-math.inf, dtype=torch.float64))
        for name, tensor in self._tensors().items():
            self.register_buffer(name, tensor.clone())

    def _tensors(self) -> dict[str, Tensor]:
        states = (part.state_dict() for part in self.parts)
        return {f"{i} {k.replace('.', ' ')}": v for i, state in enumerate(states) for k, v in state.items()}

    def see(self, value: float) -> None:
        """Copy the networks if the value is the highest so far; of equal ones the later."""
        if value >= float(self.value):
            self.value.fill_(value)
            for name, tensor in self._tensors().items():
                self.get_buffer(name).copy_(tensor)

    def give_back(self) -> None:
        """Set the networks to their best epoch."""
        for name, tensor in self._tensors().items():
            tensor.copy_(self.get_buffer(name))


def held_out(x: np.ndarray, s: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return a mask of about this share of the rows. Equal rows stay together."""
    held = folds(x, s, round(1 / share), seed) == 0
    for rows, what in ((s[held], "held out"), (s[~held], "left to train on")):
        if not (rows == 1).any() or not (rows == 0).any():
            kind = "labelled" if not (rows == 1).any() else "unlabelled"
            raise ValueError(
                f"validation_fraction={share} leaves no {kind} row {what}, of {int((s == 1).sum())} labelled and "
                f"{int((s == 0).sum())} unlabelled ones; give another share, or 0 to keep the last epoch"
            )
    return held
