"""The charts of the page, each from a part of report.json."""

from __future__ import annotations

from typing import Any

from .html import key, paragraph, percent, text
from .svg import BARS_FROM, Chart, bars, cut, share

Facts = dict[str, Any]
SHOWN = 12  # bars


def _frame(points: list[Facts], what: str = "rows") -> Chart:
    most = max([point["rows"] for point in points] + [1])
    return Chart(
        (0, most),
        (0, 1),
        f"Precision and recall against the number of {what}",
        f"{what} looked at",
        "",
        y_text=share,
        height=300,
    )


def geometry(points: list[Facts]) -> Facts:
    """Where the curve's plot lies in its picture."""
    frame = _frame(points)
    low, high = frame.x
    return {"left": frame.px(low), "right": frame.px(high), "top": frame.py(1), "bottom": frame.py(0), "most": high}


def curve_chart(points: list[Facts], start: int, what: str) -> str:
    chart = _frame(points, what)
    for name, css in (("precision", "one"), ("recall", "other")):
        band = [(p["rows"], p[name] - p[f"{name}_error"], p[name] + p[f"{name}_error"]) for p in points]
        chart.band(band, css)
        chart.line([(p["rows"], p[name]) for p in points], css)
    at = points[start]
    chart.vertical(at["rows"], "dashed", id="mark-cut")
    chart.dot(at["rows"], at["precision"], "one", id="dot-precision")
    chart.dot(at["rows"], at["recall"], "other", id="dot-recall")
    return str(chart)


def histogram_chart(found: Facts) -> str:
    edges = found["edges"]
    heights = {}
    for name in ("labelled", "unlabelled"):
        total = sum(found[name]) or 1
        heights[name] = [n / total for n in found[name]]
    most = max(max(heights["labelled"]), max(heights["unlabelled"]))
    title = "Scores of labelled and of unlabelled rows"
    chart = Chart((edges[0], edges[-1]), (0, 1.12 * most), title, "score", "share of the rows", y_text=share)
    chart.steps(edges, heights["unlabelled"], "one")
    chart.steps(edges, heights["labelled"], "other")
    chart.vertical(0, "dashed", "called positive →" if edges[-1] > 0 else "")
    return str(chart)


def sensitivity_chart(facts: Facts) -> str:
    lines, prior = facts["sensitivity"], facts["prior"]
    low, high = lines[0]["prior"], lines[-1]["prior"]
    title = "Share of today's calls that is right, against the share of positives"
    chart = Chart((low, high), (0, 1), title, "true share of positives among the unlabelled rows", "", share, share)
    if prior["interval"]:
        low, high = prior["interval"]
        chart.shade(low, high, "interval")
    chart.line([(one["prior"], one["right"]) for one in lines], "one")
    chart.vertical(prior["share"], "dashed", f"used now: {percent(prior['share'])}")
    words = [("one", "of the rows called today, the share that is right")]
    note = paragraph("Shaded: the interval of the estimate.", "quiet") if prior["interval"] else ""
    return key(words) + str(chart) + note


def drivers_chart(found: Facts) -> str:
    rows = [
        (_name(one["column"]), 100 * one["drop"], 100 * one["error"], f"{100 * one['drop']:.1f}")
        for one in found["columns"][:SHOWN]
    ]
    note = f"Pairs out of 100 that are lost; line: one standard error. The {len(rows)} strongest columns."
    return bars(rows, "What each column adds to the ranking") + paragraph(note, "quiet")


def members_chart(members: Facts) -> str:
    total = sum(abs(w) for w in members.values()) or 1
    rows = sorted(((_name(name), abs(w) / total, 0.0, percent(abs(w) / total)) for name, w in members.items()),
                  key=lambda row: -row[1])  # fmt: skip
    return bars(rows, "Weights of the models")


def _name(name: str) -> str:
    return text(cut(str(name), BARS_FROM - 10))


CSS = ("one", "other", "third", "fourth")


def learning_charts(epochs: list[Facts], prior: Facts | None) -> str:
    """The loss terms and the share predicted positive, epoch by epoch."""
    known = {"stage", "epoch", "predicted_prior", "seconds", "lr"}
    names = [name for name, value in epochs[-1].items() if name not in known and isinstance(value, (int, float))][:4]
    losses = [one[name] for one in epochs for name in names if isinstance(one.get(name), (int, float))]
    parts = []
    if losses:
        low, high = min(0.0, *losses), max(losses)
        chart = Chart((1, max(2, len(epochs))), (low, high or 1.0), "Loss terms by epoch", "epoch", "")
        for name, css in zip(names, CSS, strict=False):
            values = [(k + 1, one[name]) for k, one in enumerate(epochs) if isinstance(one.get(name), (int, float))]
            chart.line(values, css)
        parts.append(f"<div><h3>Terms of the loss</h3>{key(zip(CSS, names, strict=False))}{chart}</div>")
    shares = [(k + 1, one["predicted_prior"]) for k, one in enumerate(epochs) if "predicted_prior" in one]
    if shares:
        chart = Chart(
            (1, max(2, len(epochs))), (0, 1), "Share of rows called positive by epoch", "epoch", "", y_text=share
        )
        chart.line(shares, "one")
        words = [("one", "share of the unlabelled rows called positive")]
        if prior is not None:
            chart.line([(1, prior["share"]), (max(2, len(epochs)), prior["share"])], "fourth")
            words.append(("fourth", "prior"))
        parts.append(f"<div><h3>Rows called positive</h3>{key(words)}{chart}</div>")
    return f'<div class="two">{"".join(parts)}</div>' if parts else ""
