"""A network as ONNX nodes, by PyTorch's own exporter."""

from __future__ import annotations

import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np


def exported(model: Any) -> Any:
    """Return the network of a method as an ONNX model: rows "x" in, logits out. The number of rows is free."""
    import torch

    module = model.model_.cpu().eval()
    rows = torch.zeros((3, *model.shape_), dtype=torch.uint8 if model.bytes_ else torch.float32)
    quiet = logging.getLogger("torch.onnx")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")  # of PyTorch about itself
            program = torch.onnx.export(
                _logits(module),
                (rows,),
                input_names=["x"],
                output_names=["logit"],
                dynamic_shapes={"x": {0: torch.export.Dim("rows")}},
                dynamo=True,
            )
    except Exception as error:  # a network of a user's own may hold anything
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(f"PyTorch cannot export its network ({reason[:200]})") from None
    finally:
        quiet.setLevel(level)
    assert program is not None
    return program.model_proto


def _logits(module: Any) -> Any:
    """Return the network without the check of its output's shape: len(x) would fix the number of rows in the graph."""
    import torch

    from ..nets import Network

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            z = self.module._passed(x, lambda body, x: body(x)) if isinstance(self.module, Network) else self.module(x)
            return z.float().reshape(-1)

    return Logits()


def sample(model: Any, rows: int, random: np.random.Generator) -> np.ndarray:
    """Return rows as the network's own scaling expects them."""
    if model.bytes_:
        return random.integers(0, 256, (rows, *model.shape_), dtype=np.uint8)
    held = model.model_.state_dict()
    mean, scale = (held[name].cpu().double().numpy() if name in held else 1.0 for name in ("mean", "scale"))
    return (mean + scale * random.normal(size=(rows, *model.shape_))).astype(np.float32)
