"""Kind: what the kinds of columns share. A kind learns from a column and writes it as float32 columns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .cells import Cells
from .state import Rules, check

FAR_OFF = "far outside the range in training"


class Kind:
    """One column of a table, once it is known what it holds."""

    how: ClassVar[str]  # the name in a stored encoder
    RULES: ClassVar[Rules]  # of the fields that are stored

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that are written."""
        raise NotImplementedError

    @property
    def fills(self) -> list[float]:
        """What stands for a blank in each of the columns that are written."""
        raise NotImplementedError

    @property
    def remedy(self) -> str:
        """What to do about cells that cannot be read, with {name} for the column; empty where there is nothing."""
        return ""

    def write(self, cells: Cells, out: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Fill `out`. Return which rows are blank, and which cells are not as in training, by what they are."""
        raise NotImplementedError

    def to_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {key: getattr(self, key) for key in self.RULES}, {}

    @classmethod
    def from_state(cls, state: dict[str, Any], arrays: dict[str, np.ndarray], where: str) -> Kind:
        check(state, cls.RULES, where)
        return cls(**{key: state[key] for key in cls.RULES})
