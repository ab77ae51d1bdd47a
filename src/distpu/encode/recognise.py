"""Tells what a column holds: numbers, yes and no, categories, dates, text, vectors, an id, or nothing to learn from."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from .category import Boolean, as_boolean, category
from .cells import Cells
from .date import Date, formats_of
from .kind import Kind
from .ngrams import NGrams
from .number import MOST, Number, common_unit, decimal_of, parsed, without_unit
from .text import Text
from .vector import Vector, numbers

MOSTLY = 0.95  # of the cells that are not blank decide what a column holds; the others are read as blanks
UNIQUE = 0.98  # share of different values in a column that names its rows
NAMED = 0.5  # the same in a column whose name says that it is an id: an animal may have two rows, or a customer three
WORDS = 3  # words beside numbers at most
SENTENCE = 2.5  # words in a text on average; names and codes have fewer
_NAME = re.compile(
    r"(^|[^a-zA-Z])(id|ids|uuid|guid|rowid|row[_ ]?(number|nr|no)|index|idx|key|pk)([^a-zA-Z]|$)", re.IGNORECASE
)
_LONG = re.compile(r"[-+]?[0-9]{16,}")
_CAMEL = re.compile(r"[a-z](ID|Id|UUID|Uuid|GUID|Guid|Key)$")


@dataclass(frozen=True)
class Limits:
    """Settings of TableEncoder that a column is encoded by."""

    one_hot: int
    components: int
    terms: int


@dataclass(frozen=True)
class Found:
    """What a column holds and what is done with it. `maker` is None where the column is left out."""

    kind: str
    done: str
    maker: Kind | None = None


def recognise(name: str, cells: Cells, limits: Limits, keep: bool = False) -> Found:
    """Tell what a column holds by a sample of its rows. `keep`: it is wanted even if it looks useless."""
    there = ~cells.blank
    if not there.any():
        return Found("constant", "left out: every row is blank")
    if cells.form == "number":
        return _number(name, cells, keep)
    if cells.form == "date":
        if np.isnat(Date().dates(cells)).all():
            return Found("constant", "left out: no date is between the years 1500 and 2500")
        return _date(Date().take(cells), cells, "dates")
    if cells.form == "vector":
        return _vector(cells)
    return _texts(name, cells, limits, keep)


def _number(name: str, cells: Cells, keep: bool) -> Found:
    assert cells.number is not None
    value = np.where(np.abs(cells.number) < MOST, cells.number, np.nan)
    there = value[~np.isnan(value)]
    if not len(there):
        return Found("constant", "left out: no row holds a finite number")
    blanks = len(there) < len(value)
    if not keep and not blanks and there.min() == there.max():
        return Found("constant", f"left out: every row holds {there[0]:g}")
    whole = bool((there == np.floor(there)).all())
    if whole and 19000101 <= there.min() and there.max() <= 21001231:
        from .cells import as_text

        texts = as_text(cells)
        if not np.isnat(Date(["%Y%m%d"]).dates(texts)[~texts.blank]).any() and len(set(texts.values or [])) > 1:
            return _date(Date(["%Y%m%d"], whole=True).take(texts), texts, "dates written as 20240131")
    if not keep and whole and (why := _numbers_rows(name, there)):
        return Found("id", f"left out: {why}")
    return Found("number", "as it is", Number().take(value))


def _numbers_rows(name: str, value: np.ndarray) -> str:
    """Say why whole numbers name the rows; "" if they do not."""
    n, different = len(value), len(np.unique(value))
    if n >= 20 and is_id_name(name) and different >= NAMED * n:
        return "its name and its different values say that it is an id"
    if n < 20 or different < UNIQUE * n:
        return ""
    steps = np.diff(np.sort(value))
    if different == n and (steps == 1).all():
        return "it numbers the rows"
    return ""


def is_id_name(name: str) -> bool:
    return bool(_NAME.search(name) or _CAMEL.search(name))


def _date(maker: Date, cells: Cells, what: str) -> Found:
    at = maker.dates(cells)
    if len(np.unique(at[~np.isnat(at)])) < 2 and not cells.blank.any():
        return Found("constant", "left out: every row holds the same date")
    return Found("date", f"{what}: {', '.join(maker.parts)}", maker)


def _vector(cells: Cells) -> Found:
    lengths = [len(row) for v in cells.vectors or [] if (row := numbers(v)) is not None]
    if not any(lengths) or len(set(lengths)) > 1:
        return Found("vector", "left out: its lists do not hold numbers of one length")
    return Found("vector", f"lists of {lengths[0]} numbers, a column for each", Vector(lengths[0]))


def _texts(name: str, cells: Cells, limits: Limits, keep: bool) -> Found:
    values, counts = cells.values or [], cells.counts
    seen = np.flatnonzero(counts)
    values, counts = [values[i] for i in seen], counts[seen]
    total, blanks = int(counts.sum()), int(counts.sum()) < len(cells)
    if len(values) == 1 and not blanks and not keep:
        return Found("constant", f"left out: every row holds {_short(values[0])}")
    truth = np.array([as_boolean(v) for v in values])
    if not np.isnan(truth).any() and len(set(truth)) == 2:
        fill = float(np.average(truth, weights=counts) >= 0.5)
        return Found("boolean", f"1 for {_short(values[int(np.argmax(truth))])}, else 0", Boolean(fill))
    if (found := _numbers_as_text(name, cells, values, counts, keep)) is not None:
        return found
    formats = formats_of(values, counts, MOSTLY)
    if formats:
        return _date(Date(formats).take(cells), cells, f"dates such as {_short(values[0])}")
    if (vectors := _vectors_as_text(values, counts)) is not None:
        return vectors
    unique = len(values) / total
    words = float(np.average([len(v.split()) for v in values], weights=counts))
    long = float(np.average([len(v) for v in values], weights=counts))
    named = is_id_name(name) and unique >= NAMED
    if not keep and total >= 20 and words < SENTENCE and (named or (unique >= UNIQUE and _codes(values))):
        return Found("id", "left out: its values differ from row to row and name the rows")
    if len(values) > 2 * limits.one_hot and (words >= SENTENCE or long > 40) and unique > 0.2:
        ngrams = NGrams.fit(values, limits.components, limits.terms)
        if ngrams is not None:
            done = f"free text: {ngrams.width} directions of its words and letters, its length, capitals and digits"
            return Found("text", done, Text(ngrams))
    return _category(cells, values, limits)


def _category(cells: Cells, values: list[str], limits: Limits) -> Found:
    ngrams = None
    if len(values) > limits.one_hot:
        ngrams = NGrams.fit(values, min(10, limits.components), limits.terms, words=False)
    made = category(cells, limits.one_hot, ngrams)
    if len(made.values) == 1 and len(values) == 2:
        return Found("category", f"1 for {_short(made.values[0])}, 0 for {_short(made.others[0])}", made)
    done = f"{len(values):,} values: a column for {'each' if not made.others else f'each of {len(made.values)}'}"
    if made.counts:
        done += ", how frequent a value is" + (f", {ngrams.width} directions of its letters" if ngrams else "")
    return Found("category", done, made)


def _numbers_as_text(name: str, cells: Cells, values: list[str], counts: np.ndarray, keep: bool) -> Found | None:
    """Numbers in disguise. A few words among the numbers, such as 'never', have a column each."""
    if not any(c.isdigit() for v in values[:50] for c in v):
        return None
    if _names(values):
        return None
    total, unit = counts.sum(), common_unit(values, counts, MOSTLY)
    if len(unit) == 1 and len({len(v) for v in values}) == 1 and not any(" " in v for v in values):
        unit = ""  # 0012X is a code
    bare = without_unit(values, unit)
    decimal = decimal_of(bare)
    good = {ordered: ~np.isnan(parsed(bare, decimal, ordered)) for ordered in (False, True)}
    ordered = bool(good[True].sum() > good[False].sum())
    ok = good[ordered]
    odd = [v for v, fine in zip(values, ok, strict=True) if not fine]
    mostly = counts[ok].sum() >= MOSTLY * total
    few_words = ok.sum() >= 3 and 0 < len(odd) <= WORDS and counts[ok].sum() >= 0.3 * total
    if not (mostly or few_words):
        return None
    maker = Number(decimal=decimal, ordered=ordered, clean=False, words=odd if few_words else [], unit=unit)
    value = maker.values(cells)
    maker.take(value)
    there = value[~np.isnan(value)]
    if not keep and not odd and (there == np.floor(there)).all() and (why := _numbers_rows(name, there)):
        return Found("id", f"left out: {why}")
    first = next((v for v, plain in zip(values, good[False], strict=True) if not plain), values[0])
    done = f"numbers in order, such as {_short(first)}" if ordered else "numbers written as text"
    done += f" with the unit {_short(unit)}" if unit else ""
    if maker.words:
        done += f", and a column for {', '.join(_short(w) for w in odd)}"
    elif odd:
        others = f" and {len(odd) - 1} other texts are" if len(odd) > 1 else " is"
        done += f"; {_short(odd[0])}{others} read as blank"
    return Found("number", done, maker)


def _vectors_as_text(values: list[str], counts: np.ndarray) -> Found | None:
    """Lists of numbers of one length in nearly all cells, such as '[0.1, 0.2]' or a place on earth."""
    if all(numbers(v) is None for v in values[:20]):
        return None
    lengths = np.array([0 if (row := numbers(v)) is None else len(row) for v in values])
    length = int(np.argmax(np.bincount(lengths, weights=counts)))
    if length < 2 or counts[lengths == length].sum() < MOSTLY * counts.sum():
        return None
    return Found("vector", f"lists of {length} numbers written as text, a column for each", Vector(length))


def _names(values: list[str]) -> bool:
    """Whether long whole numbers name something: as floats, some of these texts would be one number."""
    long = [v.lstrip("+").lstrip("0") for v in values if _LONG.fullmatch(v)]
    return bool(long) and len(set(map(float, long))) < len(set(long))


def _codes(values: list[str]) -> bool:
    """Whether texts look like codes: one word with digits in it, all nearly as long."""
    look = values[:1000]
    lengths = np.array([len(v) for v in look])
    one_word = np.mean([not re.search(r"[\s@/]", v) for v in look])
    digits = np.mean([any(c.isdigit() for c in v) for v in look])
    return bool(one_word > 0.95 and digits > 0.8 and np.ptp(np.quantile(lengths, [0.1, 0.9])) <= 3)


def _short(value: str) -> str:
    return repr(value if len(value) <= 30 else value[:27] + "...")
