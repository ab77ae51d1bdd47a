"""Finds where to cut the scores."""

from .cut import cut_at

__all__ = ["cut_at"]
