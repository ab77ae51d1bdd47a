"""Tables and prose on a terminal. Results go to stdout, progress and warnings to stderr."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

SHOWN = 5  # columns of a user's rows on the terminal


def terminal_width() -> int:
    return max(20, shutil.get_terminal_size().columns)  # 80 where there is no terminal


def visible(value: Any, most: int = 24) -> str:
    """Return a user's value as one short line. Control characters are spelt out: a terminal would obey them."""
    from ..files.scores import missing, short_number

    if missing(value):
        return ""
    text = short_number(value) if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return text if len(text) <= most else text[: most - 1] + "…"


def fill(text: str) -> None:
    """Print prose, filled to the width of the terminal. Indented or aligned lines, such as equations, stay lines."""
    lines = []
    for block in text.split("\n\n"):
        prose = not block.startswith(" ") and "   " not in block
        for line in [" ".join(block.splitlines())] if prose else block.splitlines():
            margin = "" if prose else " " * (len(line) - len(line.lstrip()) + 4)
            filler = textwrap.TextWrapper(terminal_width(), subsequent_indent=margin)
            filler.break_long_words = filler.break_on_hyphens = False  # a path or a command stays in one piece
            lines.append(filler.fill(line))
        lines.append("")
    print("\n".join(lines[:-1]))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table and cut nothing off. Columns are as wide as their cells; the last one is wrapped or put below."""
    lines, last = [header, *rows], len(header) - 1
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    start = sum(widths[:last]) + 2 * last
    room = terminal_width() - start
    for *cells, text in lines:
        left = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=False))]
        text = text.rjust(widths[last]) if last in right else text
        below = room < min(30, len(text))
        parts = _wrapped(text, terminal_width() - 4 if below else room)
        print("  ".join([*left, "" if below else parts.pop(0)]).rstrip())
        for part in parts:
            print(" " * (4 if below else start) + part)


def print_rows(
    header: Sequence[str], columns: Sequence[Sequence[str]], more: Iterable[tuple[str, Sequence[Any]]]
) -> None:
    """Print rows with as many further columns of a user's as the terminal has room for. The last one takes the rest."""
    header, cells = list(header), [list(column) for column in columns]
    room = terminal_width() - sum(max(map(len, [name, *one])) + 2 for name, one in zip(header, cells, strict=True))
    last: Sequence[Any] = ()
    for name, values in list(more)[:SHOWN]:
        shown = [visible(one) for one in values]
        wide = max(map(len, [visible(name), *shown])) + 2
        if wide > room + 2:
            break
        room, last = room - wide, values
        header, cells = [*header, visible(name)], [*cells, shown]
    if len(last) and room > 0:
        width = max(map(len, [header[-1], *cells[-1]]))
        cells[-1] = [visible(one, max(24, width + room)) for one in last]
    print_table(header, list(zip(*cells, strict=True)))


def _wrapped(text: str, width: int) -> list[str]:
    fill = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)  # a path stays in one piece
    return [piece for part in text.splitlines() for piece in fill.wrap(part)] or [""]


def mean(values: list[float | None], scale: int, digits: int) -> str:
    import numpy as np

    known = [scale * v for v in values if v is not None]
    if not known:
        return "-"
    text = f"{np.mean(known):.{digits}f}"
    return text if len(known) == 1 else f"{text} ± {np.std(known, ddof=1):.{digits}f}"


def print_results(groups: dict[str, list[Any]]) -> None:
    """A column per method: the six test metrics in percent, the true prior and the one used, seconds per run."""
    from ..metrics import METRICS

    rows = [
        (name, *(mean([r.metrics[name] for r in results], 100, 2) for results in groups.values())) for name in METRICS
    ]
    for title, key, digits in (("true prior", "true_prior", 3), ("prior used", "prior", 3), ("seconds", "seconds", 1)):
        rows.append((title, *(mean([getattr(r, key) for r in results], 1, digits) for results in groups.values())))
    print_table(["", *groups], rows, right=range(1, len(groups) + 1))


def say_settings(model: Any) -> None:
    """Print the preset that a fitted method took, and where its settings differ from the paper's."""
    from ..params import resolved

    used = getattr(model, "settings_", {})
    paper = resolved(type(model), "paper", {}) if used else {}
    differ = ", ".join(f"{name}={value}" for name, value in used.items() if value != paper.get(name))
    if differ:
        fill(f"preset {model.preset_!r}; settings other than the paper's: {differ}  (--preset paper takes the paper's)")
