"""Draws small charts as inline SVG. Colours are CSS classes, so that a page has light, dark and printed charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from unicodedata import east_asian_width

BARS_FROM = 158  # where the bars begin, right of their texts
Points = Sequence[tuple[float, float]]


def number(value: float) -> str:
    """Return a short number for a tick."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.0f}k" if abs(value) < 1e6 else f"{value / 1e6:,.3g}M"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"


def share(value: float) -> str:
    return f"{100 * value:.3g} %"


def wide(text: str) -> float:
    """Return about how many units a text takes in a chart, in a wide font. Capitals and Chinese signs take more."""
    return sum(13.0 if east_asian_width(c) in "WF" else 9.5 if c.isupper() else 8.1 for c in text)


def cut(text: str, room: float) -> str:
    """Return as much of the text as fits into the room."""
    while wide(text) > room:
        text = text.removesuffix("…")[:-1] + "…"
    return text


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high."""
    span = high - low
    if not span > 0:
        return [low]
    step = 10 ** math.floor(math.log10(span / most))
    step *= next(times for times in (1, 2, 5, 10) if span / (times * step) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass
class Chart:
    """A chart with two axes. Methods add shapes; str() is the SVG."""

    x: tuple[float, float]
    y: tuple[float, float]
    title: str  # what a screen reader says
    x_label: str = ""
    y_label: str = ""
    x_text: Callable[[float], str] = number
    y_text: Callable[[float], str] = number
    width: int = 480
    height: int = 280
    left: int = 52
    right: int = 14
    top: int = 22
    bottom: int = 44
    shapes: list[str] = field(default_factory=list)

    def px(self, x: float) -> float:
        low, high = self.x
        inside = self.width - self.left - self.right
        return round(self.left + (min(max(x, low), high) - low) / ((high - low) or 1) * inside, 1)

    def py(self, y: float) -> float:
        low, high = self.y
        inside = self.height - self.top - self.bottom
        return round(self.height - self.bottom - (min(max(y, low), high) - low) / ((high - low) or 1) * inside, 1)

    def line(self, points: Points, css: str) -> None:
        path = " ".join(f"{self.px(x)},{self.py(y)}" for x, y in points)
        self.shapes.append(f'<polyline class="line {css}" points="{path}"/>')

    def band(self, points: Sequence[tuple[float, float, float]], css: str) -> None:
        """Fill between two lines: x, low, high."""
        up = [f"{self.px(x)},{self.py(high)}" for x, _, high in points]
        down = [f"{self.px(x)},{self.py(low)}" for x, low, _ in reversed(points)]
        self.shapes.append(f'<polygon class="band {css}" points="{" ".join([*up, *down])}"/>')

    def steps(self, edges: Sequence[float], heights: Sequence[float], css: str) -> None:
        """Fill a histogram."""
        path = [f"{self.px(edges[0])},{self.py(0)}"]
        for low, high, height in zip(edges, edges[1:], heights, strict=False):
            path += [f"{self.px(low)},{self.py(height)}", f"{self.px(high)},{self.py(height)}"]
        path.append(f"{self.px(edges[-1])},{self.py(0)}")
        self.shapes.append(f'<polygon class="steps {css}" points="{" ".join(path)}"/>')

    def vertical(self, x: float, css: str, text: str = "", id: str = "") -> None:
        at, name = self.px(x), f' id="{escape(id)}"' if id else ""
        low, high = self.height - self.bottom, self.top
        self.shapes.append(f'<line{name} class="mark {css}" x1="{at}" x2="{at}" y1="{low}" y2="{high}"/>')
        if text:
            end = "end" if at > self.width * 0.6 else "start"
            side = -5 if end == "end" else 5
            self.shapes.append(
                f'<text class="note" x="{at + side}" y="{high + 10}" text-anchor="{end}">{escape(text)}</text>'
            )

    def shade(self, low: float, high: float, css: str) -> None:
        """Fill from one x to another, over the whole height."""
        a, b = self.px(low), self.px(high)
        height = self.height - self.top - self.bottom
        self.shapes.append(f'<rect class="{css}" x="{a}" y="{self.top}" width="{round(b - a, 1)}" height="{height}"/>')

    def dot(self, x: float, y: float, css: str, id: str = "") -> None:
        name = f' id="{escape(id)}"' if id else ""
        self.shapes.append(f'<circle{name} class="dot {css}" cx="{self.px(x)}" cy="{self.py(y)}" r="4.5"/>')

    def __str__(self) -> str:
        low, foot = self.height - self.bottom, self.height
        parts = []
        for value in ticks(*self.y, most=5):
            at = self.py(value)
            parts.append(f'<line class="grid" x1="{self.left}" x2="{self.width - self.right}" y1="{at}" y2="{at}"/>')
            text = escape(self.y_text(value))
            parts.append(f'<text x="{self.left - 7}" y="{at + 4}" text-anchor="end">{text}</text>')
        for value in ticks(*self.x, most=5):
            said = self.x_text(value)
            at = min(self.px(value), round(self.width - wide(said) / 2, 1))  # the last one does not reach over the edge
            parts.append(f'<text x="{at}" y="{low + 18}" text-anchor="middle">{escape(said)}</text>')
        parts.append(f'<line class="axis" x1="{self.left}" x2="{self.width - self.right}" y1="{low}" y2="{low}"/>')
        middle = (self.left + self.width - self.right) / 2
        if self.x_label:
            parts.append(
                f'<text class="label" x="{middle}" y="{foot - 6}" text-anchor="middle">{escape(self.x_label)}</text>'
            )
        if self.y_label:
            parts.append(f'<text class="label" x="2" y="12">{escape(self.y_label)}</text>')
        box = f'viewBox="0 0 {self.width} {self.height}"'
        content = "".join([*parts, *self.shapes])
        return f'<svg class="chart" role="img" aria-label="{escape(self.title)}" {box}>{content}</svg>'


def bars(rows: Sequence[tuple[str, float, float, str]], title: str, width: int = 480) -> str:
    """Draw horizontal bars: text, value, error, and what stands at the end of the bar. Negative values have no bar."""
    step, left, right = 30, BARS_FROM, 74
    most = max([value + error for _, value, error, _ in rows] + [1e-12])
    parts = []
    for k, (text, value, error, end) in enumerate(rows):
        y, room = k * step + 6, width - left - right
        long = max(0.0, value) / most * room
        parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{text}</text>')
        parts.append(f'<rect class="bar" x="{left}" y="{y}" width="{max(1.5, round(long, 1))}" height="18" rx="2"/>')
        if error:
            a, b = (left + max(0.0, value + side * error) / most * room for side in (-1, 1))
            parts.append(f'<line class="whisker" x1="{a:.1f}" x2="{b:.1f}" y1="{y + 9}" y2="{y + 9}"/>')
        at = left + max(long, max(0.0, value + error) / most * room) + 7
        parts.append(f'<text x="{at:.1f}" y="{y + 14}">{escape(end)}</text>')
    box = f'viewBox="0 0 {width} {len(rows) * step + 8}"'
    return f'<svg class="chart" role="img" aria-label="{escape(title)}" {box}>{"".join(parts)}</svg>'
