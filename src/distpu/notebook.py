"""Shows results in a notebook: what a fitted method has found, above scikit-learn's diagram; and tables of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

BOX = "display:inline-block;vertical-align:top;margin:0 1.6em .6em 0;font-family:sans-serif"
BIG, SMALL = "font-size:1.5em;font-weight:600;line-height:1.25", "font-size:.85em;opacity:.75"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.1 or 0.9 < share < 1 else f"{100 * share:.0f} %"


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """Return numbers with what they are and a note, side by side."""
    return "".join(
        f'<div style="{BOX}"><div style="{BIG}">{escape(value)}</div><div>{escape(what)}</div>'
        f'<div style="{SMALL}">{escape(note)}</div></div>'
        for value, what, note in entries
    )


def table(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; every cell is text."""

    def line(tag: str, cells: Sequence[Any]) -> str:
        return f"<tr>{''.join(f'<{tag}><bdi>{escape(str(cell))}</bdi></{tag}>' for cell in cells)}</tr>"

    return (
        f"<table><thead>{line('th', header)}</thead><tbody>{''.join(line('td', one) for one in rows)}</tbody></table>"
    )


def found_by(model: Any, called: int | None = None) -> list[tuple[str, str, str]]:
    """Return what a fitted method knows of hidden positives and of its cut; nothing before fit."""
    prior, given = getattr(model, "prior_", None), getattr(model, "expected_", None)
    entries = []
    if prior is not None and math.isfinite(prior):
        span = getattr(model, "prior_interval_", None)
        note = f"{percent(span[0])} to {percent(span[1])}" if span else "no interval"
        entries.append((percent(prior), "of the unlabelled rows positive", note))
    if given is not None:
        span = given.hidden_interval
        note = f"{span[0]:,.0f} to {span[1]:,.0f}" if span else f"of {given.unlabelled:,} unlabelled rows"
        entries.append((f"{given.hidden:,.0f}", "hidden positives expected", note))
        cut = "the method's own cut" if model.cut_.choice == "auto" else f"cut: {model.cut_.choice}"
        rows = (f"{given.rows:,.0f}", f"± {given.rows.error:,.0f}; {cut}") if called is None else (f"{called:,}", cut)
        entries.append((rows[0], "rows called positive", rows[1]))
        entries.append((percent(given.precision), "of them right", f"± {percent(given.precision.error)} (precision)"))
        entries.append((percent(given.recall), "of the positives found", f"± {percent(given.recall.error)} (recall)"))
    return entries


class Shown:
    """The part of an estimator that a notebook shows."""

    def _repr_html_inner(self) -> str:
        """Return what was found, and below it scikit-learn's own diagram."""
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        found = found_by(self)
        return f"<div>{tiles(found)}</div>{diagram}" if found else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] = self._repr_html_inner()
        return shown


# ------------------------------------------------------------------- progress


def in_kernel() -> bool:
    """Return whether this is a Jupyter kernel, which shows HTML. IPython on a terminal shows none."""
    import sys

    if "IPython" not in sys.modules:
        return False
    shell = getattr(sys.modules["IPython"], "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


class KernelBar:
    """Progress bars of a Jupyter notebook; they vanish at the end."""

    def __init__(self) -> None:
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        self.html, self.lines = HTML, {}  # type: ignore[var-annotated]
        self.place = display(HTML(""), display_id=True)

    def show(self, text: str, done: int | None, total: int | None, note: str = "") -> None:
        """Draw a line of its own for each text. Without numbers the bar only moves."""
        state = f'value="{done}" max="{total}"' if done is not None and total else ""
        counted = f"{done:,} of {total:,}" if done is not None and total else "" if done is None else f"{done:,}"
        self.lines[text] = f"<div>{escape(text)} <progress {state}></progress> {counted} {escape(note)}</div>"
        self.place.update(self.html("".join(self.lines.values())))

    def stop(self) -> None:
        self.place.update(self.html(""))
