"""What `distpu fit FILE` answers: a model, scores of all unlabelled rows, and how many are positive."""

from __future__ import annotations

from .fitting import Answer, fit_file
from .looking import next_rows, write_rows
from .reading import positive_value, read_own

__all__ = ["Answer", "fit_file", "next_rows", "positive_value", "read_own", "write_rows"]
