"""Text of a user's as HTML that stays text, and the few elements that the page is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

SHORT = 18  # characters of a cell that is not broken into lines
WORD = 14  # characters of a word that is not broken
# Control characters, marks that turn the direction of text round, and halves of characters: they are spelt out.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def text(value: Any) -> str:
    """Return any value as text that HTML does not interpret, in elements and in quoted attributes."""
    return escape(_ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", str(value)), quote=True)


def user(value: Any) -> str:
    """Return a user's own text. Its direction does not reach beyond it."""
    return f"<bdi>{text(value)}</bdi>"


def cell(value: Any) -> str:
    """Return a user's value for a table. A short one stays on one line, and a short word in one piece."""
    said = str(value)
    if len(said) <= SHORT:
        return f'<span class="short">{user(said)}</span>'
    whole = max(map(len, said.split()), default=0) <= WORD
    return f'<span class="words">{user(said)}</span>' if whole else user(said)


def join(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def percent(share: float) -> str:
    """Return a share with one digit below 10 % and above 90 %, where it matters. The page's script does the same."""
    value = 100 * share
    return f"{value:.1f} %" if value < 10 or 90 < value < 100 else f"{value:.0f} %"


def count(value: float) -> str:
    return f"{value:,.0f}"


def give(pair: Sequence[float]) -> str:
    """Return a share and its standard error."""
    value, error = pair
    return f"{percent(value)} ± {percent(error)}" if error else percent(value)


def section(name: str, title: str, *parts: str) -> str:
    return f'<section id="{name}"><h2>{text(title)}</h2>\n{join(*parts)}\n</section>'


def two(left: str, *right: str) -> str:
    """Return two blocks side by side; on a phone one below the other."""
    return f'<div class="two"><div>{left}</div><div>{join(*right)}</div></div>'


def paragraph(content: str, css: str = "") -> str:
    return (f'<p class="{css}">{content}</p>' if css else f"<p>{content}</p>") if content else ""


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = (), now: int | None = None
) -> str:
    """Return a table of cells that are HTML already. `right`: columns of numbers; `now`: the row to stress."""

    def cells(tag: str, line: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="n">{c}</{tag}>' if i in right else f"<{tag}>{c}</{tag}>" for i, c in enumerate(line)
        )

    body = "".join(f"<tr{' class=now' if k == now else ''}>{cells('td', line)}</tr>\n" for k, line in enumerate(rows))
    return (
        f'<div class="wide"><table><thead><tr>{cells("th", header)}</tr></thead>\n<tbody>{body}</tbody></table></div>'
    )


def key(entries: Iterable[tuple[str, str]]) -> str:
    """Return what the colours of a chart mean: class and text."""
    return f'<ul class="key">{"".join(f"<li class={css}>{text(what)}</li>" for css, what in entries)}</ul>'


def details(summary: str, content: str) -> str:
    return f"<details><summary>{text(summary)}</summary>\n{content}\n</details>"


def terms(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and what stands beside them, both HTML already."""
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in pairs)}</dl>"
