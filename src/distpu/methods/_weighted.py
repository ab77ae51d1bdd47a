"""Weighted: what a method inherits from, first, if its fit takes sample_weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..weights import refuse


class Weighted:
    """The fit of methods that can weigh rows. They read the weights from `_weight`, which is None without weights."""

    takes_weights = True

    def fit(
        self: Any, X: Any, y: Any, *, sample_weight: Any = None, folder: str | Path | None = None, **refused: Any
    ) -> Any:
        """Learn from PU labels; a finished `folder` is restored instead of trained.

        A weight in `sample_weight` is how many rows a row stands for; a row of weight 0 counts as absent. With
        `folder`, the run is logged and saved there. If a run is killed, call the same fit again: the run continues
        from its last checkpoint. A folder made with other parameters or other data is refused.
        """
        refuse(self.name, refused)
        return self._fit(X, y, folder, sample_weight)
