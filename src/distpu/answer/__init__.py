"""What `distpu fit FILE` answers: a model, scores of all unlabelled rows, and how many are positive."""

from __future__ import annotations

from .fitting import Answer, fit_file
from .reading import positive_value, read_own

__all__ = ["Answer", "fit_file", "positive_value", "read_own"]
