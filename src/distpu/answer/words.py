"""Says an answer's numbers in sentences. The terminal and the page say the same."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import TYPE_CHECKING

from ..encode.leaks import TELLS
from ..threshold.choice import PLAIN, VALUED, read_choice

if TYPE_CHECKING:
    from .fitting import Answer

MOST = 8  # names of columns in a sentence
CLOSE = 0.05  # counts that differ by less, as a share of the larger one, count as equal


def percent(share: float) -> str:
    """Return a share with one digit below 10 % and above 90 %, where it matters."""
    value = 100 * share
    return f"{value:.1f} %" if value < 10 or 90 < value < 100 else f"{value:.0f} %"


def where_the_cut_is(answer: Answer) -> str:
    """Say which rule set the cut."""
    cut = answer.model.cut_
    choice = read_choice("auto" if cut is None else cut.choice)
    if choice.kind == "probability":
        return f"rows with a probability of at least {choice.value:g}"
    text = PLAIN.get(choice.kind) or VALUED[choice.kind]
    return text if choice.kind in PLAIN else f"{choice}: {text}"


def columns_told(answer: Answer) -> str:
    """Say which kinds of columns were used and which columns were left out; nothing where all were plain numbers."""
    listed = getattr(getattr(answer.model, "encoder_", None), "columns_", None)
    if not listed:
        return ""
    kinds = Counter(one.kind for one in listed if one.used)
    plural = {"category": "categories"}
    used = ", ".join(f"{n} {kind if n == 1 else plural.get(kind, f'{kind}s')}" for kind, n in kinds.most_common())
    tells = {one.name: f", but {TELLS}: --keep {shlex.quote(one.name)}" for one in listed if TELLS in one.done}
    left = [f"{one.name} ({one.kind}{tells.get(one.name, '')})" for one in listed if not one.used]
    more = f" and {len(left) - MOST} more" if len(left) > MOST else ""
    return f"columns used: {used or 'none'}" + (f"; left out: {', '.join(left[:MOST])}{more}" if left else "")


LOOKED = "looked.csv"


def rows_to_look_at(answer: Answer) -> str:
    """Return the command that writes the rows most worth a look to a file; "" where the method cannot use verdicts."""
    sampled = answer.sample is not None  # --looked reads a whole table
    if not answer.model.takes_negatives or answer.folder is None or _in_folders(answer) or sampled:
        return ""
    words = ["distpu", "next", str(answer.folder)]
    if answer.top is not None:  # so that the file shows the rows, not their numbers alone
        words += ["--data", str(answer.source), *(["--id", answer.id] if answer.id else [])]
    return shlex.join([*words, "--out", LOOKED])


def what_next(answer: Answer) -> str:
    """Say what a person does with the rows on top."""
    if command := rows_to_look_at(answer):
        return f"write the {answer.what} most worth a look to a file ({command}), {with_verdicts()}"
    mark = f"mark those that are positive in column {answer.label!r}"
    if _in_folders(answer):
        mark = f"put those that are positive into {answer.source / 'found'} and the others into "
        mark += str(answer.source / "negative")
    elif answer.sample is not None and answer.model.takes_negatives:
        mark = f"write your verdicts into column {answer.label!r}, name their values with --negative and --found"
    return f"look at the {answer.what} on top, {mark}, and fit again with a --folder of its own"


def with_verdicts() -> str:
    return f"write yes or no into its column 'verdict', and fit again with --looked {LOOKED} and a --folder of its own"


def _in_folders(answer: Answer) -> bool:
    return answer.source.is_dir() and answer.images is not None


def counts_explained(answer: Answer) -> str:
    """Say why the number of rows called positive is not the number of hidden positives, where they differ."""
    hidden, called, given = answer.hidden, answer.predicted, answer.model.expected_
    if hidden != hidden:  # the method knows no prior
        return ""
    gap, what = called - hidden, answer.what
    unknown = ""
    if given is None:
        unknown = f" How many of them are right was not estimated, because no {what} were held out of training: "
        unknown += "--threshold prior holds out a fifth."
    if abs(gap) <= max(1.0, CLOSE * max(called, hidden)):
        text = f"The cut calls about as many {what} positive as are expected to be."
        if given is not None and called:
            text += (
                f" They are not all the same {what}: about {(1 - given.precision) * called:,.0f} of those called "
                "should be false alarms, and about as many positives stay below the cut."
            )
        return text + unknown
    if gap < 0:
        text = f"Fewer {what} are called positive ({called:,}) than are expected to be ({hidden:,.0f}): "
        text += f"below the cut, positives and negatives look alike, and most {what} there are negative."
        more = "--threshold recall=0.9 calls more of them, with more false alarms."
    else:
        text = f"More {what} are called positive ({called:,}) than are expected to be ({hidden:,.0f}): "
        text += "the cut accepts false alarms so as to miss fewer positives."
        more = f"--threshold precision=0.9 calls fewer {what}, of which more are right."
    if given is not None:
        right = float(given.precision) * called
        missed = max(0.0, hidden - right)
        text += f" Of the {called:,} about {right:,.0f} should be positive; about {missed:,.0f} are missed."
    return f"{text}{unknown} {more}"
