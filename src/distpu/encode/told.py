"""What the encoder says of cells that it cannot learn from, and of cells that are not as in training."""

from __future__ import annotations

import warnings

import numpy as np

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
        f"{int(np.flatnonzero(bad)[0])}, column {name!r}; fill them in or drop those rows"
    )


def tell(strange: dict[str, dict[str, int]]) -> None:
    """Warn once of all cells that are not as in training."""
    if not strange:
        return
    of = [f"{name!r} ({', '.join(f'{n} {what}' for what, n in what.items())})" for name, what in strange.items()]
    more = f" and {len(of) - SHOWN} more columns" if len(of) > SHOWN else ""
    warnings.warn(
        f"cells that are not as in training: {', '.join(of[:SHOWN])}{more}; words and new values are read as blanks, "
        "far-off numbers as they are",
        UserWarning,
        stacklevel=4,
    )
