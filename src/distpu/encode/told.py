"""What the encoder says of cells that it cannot learn from, and of cells that are not as in training."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from ..kinds import short
from .cells import Cells
from .kind import FAR_OFF, Kind

SHOWN = 5  # columns that a warning names


def refuse_infinite(infinite: dict[str, np.ndarray]) -> None:
    """Refuse to learn from infinity: it is most often a division by 0, and no number stands for it.

    `infinite` has for columns by name which rows of the whole frame are infinite.
    """
    if not infinite:
        return
    name, bad = next(iter(infinite.items()))
    rows, cells = int(np.any([*infinite.values()], axis=0).sum()), sum(int(one.sum()) for one in infinite.values())
    raise ValueError(
        f"Input X contains infinity (or a value too large for float32): {cells} in {rows} rows, first in row "
        f"{int(np.flatnonzero(bad)[0])}, column {short(name)}; fill them in or drop those rows"
    )


class StrangeCells(UserWarning):
    """Cells that are not as in training. `kinds` has the pairs of column and what its cells are."""

    def __init__(self, text: str, kinds: frozenset[tuple[str, str]]) -> None:
        super().__init__(text)
        self.kinds = kinds


@dataclass
class Strange:
    """Counts cells that are not as in training, column by column, with an example of each kind."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    remedies: dict[str, str] = field(default_factory=dict)  # by column

    def add(self, name: str, maker: Kind, cells: Cells, odd: dict[str, np.ndarray]) -> None:
        for what, rows in odd.items():
            if count := int(rows.sum()):
                of = self.counts.setdefault(name, {})
                of[what] = of.get(what, 0) + count
                self.examples.setdefault((name, what), cells.shown(int(rows.argmax())))
                if what != FAR_OFF and maker.remedy:
                    self.remedies[name] = maker.remedy

    def tell(self) -> None:
        """Warn once of all of them."""
        if not self.counts:
            return
        of = []
        for name, counts in self.counts.items():
            parts = [f"{n} {what}, such as {self.examples[name, what]}" for what, n in counts.items()]
            of.append(f"{name!r} ({'; '.join(parts)})")
        more = f" and {len(of) - SHOWN} more columns" if len(of) > SHOWN else ""
        kinds = frozenset(self.examples)
        text = f"cells that are not as in training: {', '.join(of[:SHOWN])}{more}"
        if any(what != FAR_OFF for _, what in kinds):
            text += "; what cannot be read and new values count as blank"
        if any(what == FAR_OFF for _, what in kinds):
            text += "; far-off numbers are taken as they are: check their unit"
        for name, remedy in list(self.remedies.items())[:SHOWN]:
            text += f"; {remedy.format(name=repr(name))}"
        warnings.warn(StrangeCells(text, kinds), stacklevel=4)
