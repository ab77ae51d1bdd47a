"""Scores of data of any size: a run folder and rows in, a file of scores out. Memory does not grow with the rows."""

from __future__ import annotations

from .streaming import Predictions, predict_file

__all__ = ["Predictions", "predict_file"]
