"""Puts what was measured into sentences, with a level and a remedy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..metrics import Metric
from ..threshold import Expected
from .columns import TELLING, Column
from .copies import Copies
from .selective import SURE, Contrast

FEW, SOME = 20, 100  # labelled rows
WEAK, NONE = 0.6, 2.0  # an AUC that is hardly better than chance; standard errors above 1/2
WIDE = 2.0  # upper end of the prior's interval over the lower one
TOGETHER = -5.0  # standard deviations: labelled rows stand together in the file


@dataclass(frozen=True)
class Finding:
    """One answer of a diagnosis."""

    name: str
    level: str  # "ok", "unknown" (it could not be tested), "look" or "warning"
    text: str  # one or two sentences
    remedy: str = ""  # what to do; empty where nothing is to be done
    numbers: dict[str, Any] = field(default_factory=dict)


def enough_labelled(labelled: int, prior: float, low: float, high: float) -> Finding:
    text = (
        f"{_rows(labelled, 'labelled')}. The share of positives among the unlabelled rows is estimated at "
        f"{_share(prior)}, between {_share(low)} and {_share(high)} (90 % interval)."
    )
    numbers = {"labelled": labelled, "prior": prior, "low": low, "high": high}
    if labelled < FEW:
        text += f" From fewer than {FEW} labelled rows an estimate may be wrong by a factor of two or more."
        remedy = "Label more rows, or give the prior if you know it: --prior P."
        return Finding("labelled rows", "warning", text, remedy, numbers)
    if labelled < SOME:
        remedy = "Four times as many labelled rows would halve the interval. Give the prior if you know it: --prior P."
        return Finding("labelled rows", "look", text, remedy, numbers)
    return Finding("labelled rows", "ok", text, "", numbers)


def separable(auc: Metric, corrected: Metric, prior: float, labelled: int, unlabelled: int) -> Finding:
    most = float(np.clip(2 * (1 - auc + 2 * auc.error), 0, 1))  # labelled against unlabelled: AUC <= 1 - prior / 2
    numbers = {
        "auc": float(auc),
        "error": auc.error,
        "auc_of_classes": float(corrected),
        "auc_of_classes_error": corrected.error,
        "largest_prior": most,
    }
    text = (
        f"A model ranks a labelled row above an unlabelled one in {_percent(auc)} of pairs "
        f"(AUC {auc:.3f} ± {auc.error:.3f})."
    )
    if auc < 0.5 + NONE * auc.error or auc < WEAK:
        text += " That is hardly better than chance: the columns do not say which rows are like the labelled ones."
        remedy = "Add columns that have to do with the label, or label more rows."
        return Finding("separability", "warning", text, remedy, numbers)
    if most * unlabelled < labelled / 4:
        hidden = int(np.ceil(most * unlabelled))
        text += (
            f" So few unlabelled rows are like the labelled ones that at most {hidden:,} of {unlabelled:,} can be "
            "positive, if labelling is not selective."
        )
        remedy = (
            "Are nearly all positives labelled already? If not, a column gives the label away, or only some kind of "
            "positives was labelled."
        )
        return Finding("separability", "warning", text, remedy, numbers)
    text += (
        f" With {_share(prior)} of the unlabelled rows positive, positives rank above negatives in "
        f"{_percent(corrected)} of pairs: {_word(corrected)}."
    )
    return Finding("separability", "ok", text, "", numbers)


def selective(contrasts: list[Contrast], given: float | None, largest: float, reason: str) -> Finding:
    """given: the prior that the user knows; largest: the largest prior that is consistent with the labelled rows."""
    numbers: dict[str, Any] = {
        "columns": [
            {"column": c.column, "larger": c.larger, "error": c.error, "allowed": c.allowed, "z": c.z}
            for c in contrasts
            if c.tested
        ]
    }
    ask = (
        "Ask how rows came to be labelled. If labelling favours such rows, the estimated prior is too low and hidden "
        "positives of the other kind are missed: label some of these, or leave the column out."
    )
    if given is not None and given > largest:
        text = (
            f"You say that {_share(given)} of the unlabelled rows are positive, but at most {_share(largest)} are like "
            "the labelled rows. So the labelled rows are no random draw of the positives, or a column gives the label "
            "away."
        )
        return Finding("labelling", "warning", text, ask, numbers | {"given": given, "largest": largest})
    differ = [c for c in contrasts if c.differs]
    if differ:
        first = differ[0]
        share = max(first.larger, 1 - first.larger)
        others = f" The same holds for {_names([c.column for c in differ[1:]])}." if differ[1:] else ""
        text = (
            f"Labelled rows have {'larger' if first.larger > 0.5 else 'smaller'} values of {first.column!r} than the "
            f"unlabelled rows that the other columns find just as likely, in {_percent(share)} of pairs (50 % would be "
            f"no difference).{others} Either labelling is selective, or {first.column!r} is itself what makes a row "
            "positive; the data cannot tell which."
        )
        return Finding("labelling", "warning" if first.z > SURE else "look", text, ask, numbers)
    tested = [c for c in contrasts if c.tested]
    if not tested:
        text = f"Whether labelling is selective could not be tested: {reason}."
        return Finding("labelling", "unknown", text, "Ask how rows came to be labelled.", numbers)
    text = (
        f"Labelled rows are like the unlabelled rows that the other columns find just as likely, in "
        f"{'the column' if len(tested) == 1 else f'each of the {len(tested)} columns'} tested "
        f"({_names([c.column for c in tested])}): no sign of selective labelling."
    )
    return Finding("labelling", "ok", text, "", numbers)


def copies(found: Copies) -> Finding:
    numbers = {
        "labelled_with_copy": found.labelled_with_copy,
        "unlabelled_with_copy": found.unlabelled_with_copy,
        "labelled_twice": found.labelled_twice,
        "share": found.share,
        "usual": found.usual,
    }
    if not found.labelled_with_copy:
        return Finding("copies", "ok", "No labelled row has an exact copy among the unlabelled rows.", "", numbers)
    text = (
        f"{_rows(found.labelled_with_copy, 'labelled')} ({_percent(found.share)}) have an exact copy among the "
        f"unlabelled rows, {_rows(found.unlabelled_with_copy, 'unlabelled')} in all."
    )
    if not found.across:
        text += f" Such repetition is usual here: {_percent(found.usual)} of the unlabelled rows have a copy too."
        return Finding("copies", "ok", text, "", numbers)
    text += " Each pair says labelled and unlabelled of the same row."
    remedy = (
        "Take the unlabelled copies out if they are the same cases. Keep them if the labelled rows were drawn from the "
        "unlabelled ones on purpose (case-control)."
    )
    return Finding("copies", "look", text, remedy, numbers)


def give_away(columns: list[Column], without: float | None, prior: float, left_out: Sequence[str] = ()) -> Finding:
    """without: the prior estimated without the suspicious columns that `fit` does not leave out by itself."""
    numbers: dict[str, Any] = {"columns": [{"column": c.name, "auc": c.auc} for c in columns[:10]]}
    odd = [c for c in columns if c.level != "ok"]
    if not odd:
        first = columns[0]
        text = f"No column alone gives the label away. The strongest, {first.name!r}, has an AUC of {first.auc:.2f}."
        return Finding("give-away", "ok", text, "", numbers)
    first = odd[0]
    numbers |= {"suspicious": [c.name for c in odd], "prior_without": without}
    if first.by_blanks:
        how = (
            f"Column {first.name!r} is blank in {_percent(first.blank_labelled)} of the labelled and "
            f"{_percent(first.blank_unlabelled)} of the unlabelled rows."
        )
    elif first.pure:
        how = (
            f"There are ranges of column {first.name!r} in which {_percent(first.pure)} of the rows are labelled; they "
            f"hold {_percent(first.covers)} of the labelled rows. Alone it has an AUC of {first.auc:.2f}."
        )
    elif first.auc >= TELLING:
        how = f"Column {first.name!r} alone tells labelled from unlabelled rows with an AUC of {first.auc:.2f}."
    else:
        how = (
            f"Column {first.name!r} alone tells positives from negatives with an AUC of {first.auc_of_classes:.2f}, if "
            f"{_share(prior)} of the unlabelled rows are positive."
        )
    more = f" {_names([c.name for c in odd[1:]])} {'is' if len(odd) == 2 else 'are'} suspicious too." if odd[1:] else ""
    change, used = "", [c.name for c in odd if c.name not in left_out]
    if out := [c.name for c in odd if c.name in left_out]:
        it = "it" if len(out) == 1 else "them"
        named = it if not used else _names(out)
        change = f" distpu fit leaves {named} out, and the other answers are without {it} (--keep uses {it})."
    if without is not None:
        it = "it" if len(used) == 1 else "them"
        names = it if not out and len(used) == len(odd) else _names(used)
        change += f" Without {names} the estimated prior is {_share(without)} instead of {_share(prior)}."
    remedy = (
        "Is the value known before anybody knows the label? If not (an id, a date of labelling, a field filled in "
        "later), leave the column out (--drop COLUMN) and diagnose again."
    )
    if not used:
        remedy = "Nothing is to be done if its values came with the label or number the rows, as it seems."
    level = "warning" if any(c.level == "warning" for c in odd if c.name in used) else "look"
    return Finding("give-away", level, how + more + change, remedy, numbers)


def order(runs: int, expected: float, deviation: float, follow: list[str]) -> Finding:
    numbers = {"runs": runs, "expected": expected, "deviation": deviation, "columns_in_order": follow}
    if deviation > TOGETHER:
        return Finding(
            "row order", "ok", "Labelled rows are spread over the file as chance would have it.", "", numbers
        )
    text = f"Labelled rows stand together in the file ({runs:,} runs, {expected:,.0f} by chance)."
    if not follow:
        return Finding("row order", "ok", text + " No column follows the order, so no harm is done.", "", numbers)
    one = len(follow) == 1
    text += (
        f" {'Column' if one else 'Columns'} {_names(follow)} {'follows' if one else 'follow'} the order of the rows."
    )
    remedy = f"If {'it is an id' if one else 'they are ids'} or a time of entry, leave {'it' if one else 'them'} out."
    return Finding("row order", "look", text, remedy, numbers)


def sensitivity(
    prior: float, called: int, expected: Expected, interval: tuple[float, float] | None, reading: str
) -> Finding:
    """interval: that of an estimated prior, None where it is given; reading: why an estimate is an upper bound."""
    precision, recall = expected.precision, expected.recall
    numbers = {"prior": prior, "called": called, "precision": float(precision), "recall": float(recall)}
    source = "given" if interval is None else "estimated"
    text = (
        f"At the {source} prior of {_share(prior)}, {_called(called, 'unlabelled')} called "
        f"positive. Of these {_percent(precision)} (± {_points(precision.error)}) should be positive; "
        f"{_percent(recall)} (± {_points(recall.error)}) of the positives should be among them."
    )
    if interval is None:
        return Finding("prior", "ok", text, "", numbers)
    low, high = interval
    fewest, most = (round(end * expected.unlabelled) for end in interval)
    if_low = float(precision) * low / prior
    numbers |= {"hidden_low": fewest, "hidden_high": most, "precision_if_low": if_low}
    text += (
        f" By the interval of the prior, {fewest:,} to {most:,} unlabelled rows are positive. If its lower end is the "
        f"truth, only {_percent(if_low)} of the {called:,} are positive."
    )
    text += f" {reading}" if reading else ""
    if high > WIDE * low:
        remedy = "The result hangs on the prior. Give it if you know it (--prior P), or check some rows by hand."
        return Finding("prior", "look", text, remedy, numbers)
    return Finding("prior", "ok", text, "", numbers)


def _share(share: float) -> str:
    """Return a share of rows in percent, with a digit more where it is small or near to 1."""
    percent = 100 * share
    return (
        f"{percent:.2g} %"
        if percent < 1
        else f"{percent:.1f} %"
        if percent < 10 or percent > 90
        else f"{percent:.0f} %"
    )


def _points(error: float) -> str:
    return f"{100 * error:.0f}"


def _called(count: int, kind: str = "") -> str:
    return f"{_rows(count, kind)} {'is' if count == 1 else 'are'}"


def _rows(count: int, kind: str) -> str:
    return f"{count:,} {kind} row{'s' * (count != 1)}"


def _percent(share: float) -> str:
    percent = 100 * float(share)
    near_an_end = 0.05 <= percent < 1 or 99 < percent < 99.95
    return f"{percent:.1f} %" if near_an_end else f"{percent:.0f} %"


def _names(names: list[str], most: int = 4) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _word(auc: float) -> str:
    for least, word in ((0.97, "the classes are well apart"), (0.9, "the classes overlap a little")):
        if auc >= least:
            return word
    return "the classes overlap, and the true prior may be lower than the estimate"
