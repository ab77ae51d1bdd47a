"""A fitted method as an ONNX graph: encoded rows in, score and probability out."""

from __future__ import annotations

from .onnx_file import Exported, to_onnx

__all__ = ["Exported", "to_onnx"]
