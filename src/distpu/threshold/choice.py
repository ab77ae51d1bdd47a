"""Choice: what a user says about the cut, in one spelling for Python and for the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..params import near

PLAIN = {
    "auto": "the method's own cut",
    "prior": "as many rows as the prior says",
    "half": "rows with a probability of at least 1/2",
}
VALUED = {
    "precision": "this share of the rows called is right",
    "recall": "this share of the positives is called",
    "cost": "a missed positive costs so many false alarms",
    "rows": "so many of the unlabelled rows, those of highest score",
}
SUCH_AS = {"precision": "0.9", "recall": "0.8", "cost": "5", "rows": "100"}
KNOWN = ", ".join([*map(repr, PLAIN), *(repr(f"{name}={value}") for name, value in SUCH_AS.items())])


@dataclass(frozen=True)
class Choice:
    """A cut as a user wants it: a kind and, where the kind has one, its value."""

    kind: str  # a key of PLAIN or VALUED, or "probability"
    value: float = math.nan

    def __str__(self) -> str:
        return self.kind if self.kind in PLAIN else f"{self.value:g}" if self.kind == "probability" else self._pair()

    def _pair(self) -> str:
        return f"{self.kind}={self.value:g}"

    @property
    def probability(self) -> float | None:
        """The probability from which on a row is called; None where the choice is about something else."""
        cuts = {"half": 0.5, "probability": self.value, "cost": 1 / (1 + self.value)}
        return cuts.get(self.kind)


def read_choice(threshold: Any) -> Choice:
    """Read "auto", "prior", "half", "precision=0.9", "recall=0.8", "cost=5", "rows=100", or a probability."""
    if isinstance(threshold, Choice):
        return threshold
    number = _number(threshold)
    if number is not None:
        if not 0 < number < 1:
            raise ValueError(
                f"threshold={threshold} must lie strictly between 0 and 1: a probability; or be one of {KNOWN}"
            )
        return Choice("probability", number)
    if not isinstance(threshold, str):
        raise ValueError(f"threshold={threshold!r} must be a probability such as 0.3, or one of {KNOWN}")
    kind, pair, text = (part.strip() for part in threshold.partition("="))
    if kind in PLAIN:
        if pair:
            raise ValueError(f"threshold={threshold!r} has a value, but {kind!r} takes none; write threshold={kind!r}")
        return Choice(kind)
    if kind not in VALUED:
        hint = near(kind, [*PLAIN, *VALUED])
        raise ValueError(
            f"threshold={threshold!r} is not known{hint}; use a probability such as 0.3, or one of {KNOWN}"
        )
    return Choice(kind, _value(kind, text, threshold))


def _value(kind: str, text: str, threshold: str) -> float:
    example = f"such as {kind}={SUCH_AS[kind]}"
    value = _number(text)
    if value is None:
        raise ValueError(f"threshold={threshold!r} must give a number for {kind}, {example}")
    if kind in ("precision", "recall") and not 0 < value <= 1:
        raise ValueError(f"threshold={threshold!r}: {kind} must be above 0 and at most 1, {example}")
    if kind == "cost" and value <= 0:
        raise ValueError(f"threshold={threshold!r}: cost must be above 0, {example}")
    if kind == "rows" and (value < 1 or value != int(value)):
        raise ValueError(f"threshold={threshold!r}: rows must be a whole number from 1, {example}")
    return value


def _number(value: Any) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, np.number)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
