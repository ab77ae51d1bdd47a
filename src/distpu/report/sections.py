"""The sections of the page, each from the facts of report.json. The answer comes first."""

from __future__ import annotations

from typing import Any

from .charts import (
    curve_chart,
    drivers_chart,
    geometry,
    histogram_chart,
    learning_charts,
    members_chart,
    sensitivity_chart,
)
from .html import cell, count, details, give, join, key, paragraph, percent, section, table, terms, text, two, user

Facts = dict[str, Any]
FIRST, MANY = 10, 12  # rows on top, and columns, that are shown without a click


def things(facts: Facts) -> str:
    """What a row is called: rows, or images."""
    return "images" if facts.get("what") == "images" else "rows"


def headline(facts: Facts) -> str:
    """The answer: how many, how sure, and what the cut gives."""
    prior, total, what = facts["prior"], facts["unlabelled"], things(facts)
    kicker = (
        f"{user(facts['source'])} · {count(facts['rows'])} {what}, of which {count(facts['labelled'])} are labelled"
    )
    looked = facts["looked_at"]
    if sum(looked.values()):
        kicker += f", {count(sum(looked.values()))} looked at ({count(looked['positive'])} found positive)"
    kicker += f" ({user(facts['label'])}) · {text(facts['made'])}"
    if prior is None:
        title = f"{count(facts['called'])} of {count(total)} unlabelled {what} are called positive"
        lead = "This method does not estimate how many positives are hidden."
    else:
        title = f"About {count(prior['hidden'])} of the {count(total)} unlabelled {what} should be positive"
        lead = _how_sure(prior, total, what)
    told = facts["counts_explained"]
    parts = [
        paragraph(kicker, "kicker"),
        f"<h1>{text(title)}</h1>",
        paragraph(lead, "lead"),
        _tiles(facts),
        paragraph(text(told)) if told else "",
        paragraph(text(facts["sample"])) if facts.get("sample") else "",
        _notice(facts["findings"]),
    ]
    return f"<header>{join(*parts)}</header>"


def _how_sure(prior: Facts, total: int, what: str) -> str:
    share = percent(prior["share"])
    if prior["how"] == "given":
        return f"You gave the share of positives among the unlabelled {what}: {share}."
    if prior["interval"] is None:
        return f"That is {share} of the unlabelled {what}, estimated from the data ({text(prior['how'])})."
    low, high = prior["interval"]
    level = f"{100 * prior['level']:.0f} % interval" if prior["level"] else "interval"
    if prior.get("two_sided") is False:
        return (
            f"At most {count(high * total)}, that is {percent(high)} ({level}). The number is an upper bound: "
            "positives and negatives look too much alike in this table to say how much lower it may be."
        )
    span = f"Between {count(low * total)} and {count(high * total)} ({level})"
    return f"{span}; the estimate is {share} of the unlabelled {what}."


def _tiles(facts: Facts) -> str:
    expected, total = facts["cut"]["expected"], count(facts["unlabelled"])
    tiles = []
    if facts["prior"] is not None:
        span = facts["prior"]["interval"]
        ends = [count(end * facts["unlabelled"]) for end in span] if span else None
        tiles.append((count(facts["prior"]["hidden"]), "hidden positives expected", " to ".join(ends) if ends else ""))
    tiles.append((count(facts["called"]), f"{things(facts)} called positive", f"of {total}; {facts['cut']['words']}"))
    if expected is not None:
        for name, what, note in (
            ("precision", "of those called should be right", "precision"),
            ("recall", "of the hidden positives should be found", "recall"),
        ):
            value, error = expected[name]
            tiles.append((percent(value), what, f"± {percent(error)} ({note})"))
    lines = [f'<li><b>{text(n)}</b><span class="what">{text(w)}</span><span>{text(m)}</span></li>' for n, w, m in tiles]
    return f'<ul class="tiles">{"".join(lines)}</ul>'


def _notice(findings: list[Facts]) -> str:
    grave = [one for one in findings if one["level"] in ("warning", "look")]
    if not grave:
        return ""
    level = "warning" if any(one["level"] == "warning" for one in grave) else "look"
    what = "one thing" if len(grave) == 1 else f"{len(grave)} things"
    names = ", ".join(text(one["name"]) for one in grave)
    said = f'Before you rely on this, read <a href="#checks">{what} to check</a>: {names}.'
    return f'<div class="notice {level}"><p>{said}</p></div>'


def top_rows(facts: Facts) -> str:
    top = facts["top"]
    header = ["", text(facts["id"] or "row"), "probability", *(user(name) for name in top["columns"])]
    lines = [
        [text(row["rank"]), cell(row["id"]), _bar(row["probability"]), *(cell(one) for one in row["cells"])]
        for row in top["rows"]
    ]
    first = table(header, lines[:FIRST], right=(0,))
    more = details(f"{len(lines) - FIRST} more", table(header, lines[FIRST:], right=(0,))) if lines[FIRST:] else ""
    named = "" if facts["id"] else "Row 0 is the first row of data in the file."
    where = f"scores.csv has all {count(facts['unlabelled'])}."
    if facts.get("sample"):
        where = f"scores.csv has the likeliest ones, and scores.parquet all {count(facts['unlabelled'])}."
    said = f"The {things(facts)} that are most likely positive. {named} {where}"
    if top["not_shown"]:
        others = f"{count(top['not_shown'])} more {'are' if top['not_shown'] > 1 else 'is'}"
        said += f" The columns shown matter most for the scores; {others} not shown."
    return section("top", "Look at these first", paragraph(said), _sheet(facts["images"]), first, more)


def _bar(p: float) -> str:
    shown = f"{p:.3f}" if p < 0.9995 else "> 0.999"
    bar = f'<rect class="bar" x="0" y="1" width="{max(1.0, round(56 * p, 1))}" height="8" rx="2"/>'
    return f'<span class="short">{shown} <svg width="58" height="10" aria-hidden="true">{bar}</svg></span>'


def _sheet(images: Facts | None) -> str:
    """The contact sheet and the occlusion maps, where the rows are images."""
    if not images:
        return ""
    parts = []
    for name, title in (("sheet", ""), ("maps", "What the model looks at")):
        cells = [
            f'<li><img src="{text(one["src"])}" alt="{text(one["id"])}">'
            f"<span>{_place(one['id'])}</span><span>{text(one.get('note', ''))}</span></li>"
            for one in images.get(name) or []
            if str(one["src"]).startswith("data:image/")
        ]
        if cells:
            parts.append(f"<h3>{title}</h3>" if title else "")
            parts.append(f'<ul class="sheet">{"".join(cells)}</ul>')
    return join(*parts, paragraph(text(images.get("words", "")), "quiet"))


def _place(path: Any) -> str:
    """Return a path that is broken behind its folders first."""
    return f"<bdi>{text(path).replace('/', '/<wbr>')}</bdi>"


def curve(facts: Facts) -> str:
    points = facts["curve"]["points"]
    if not points:
        return ""
    start = _nearest(points, facts["called"])
    what = things(facts)
    said = f"Move the slider: how many {what}, likeliest first, can you look at? The numbers say what they should give."
    if not facts["curve"]["held_out"]:
        said += (
            " They come from the model's own probabilities, which no held-out rows have checked: take them with care, "
        )
        said += "or fit again with <code>--set calibrate=true</code>."
    slider = (
        f'<label for="rows">{what.capitalize()} to look at</label>'
        f'<input id="rows" class="screen" type="range" min="0" max="{len(points) - 1}" step="1" value="{start}">'
        '<output for="rows"><p class="big"><span id="say-rows">{rows}</span></p>'
        f"<p>all {what} "
        'with a probability of at least <b id="say-probability">{probability}</b></p>'
        '<p><b id="say-right">{right}</b> of them should be positive: '
        '<b id="say-precision">{precision}</b> are right</p>'
        '<p><b id="say-recall">{recall}</b> of all hidden positives are found</p>'
        '<p><b id="say-wrong">{wrong}</b> would be false alarms</p></output>'
    ).format(**_spoken(points[start], what))
    colours = key(
        [
            ("one", f"precision: of the {what} looked at, how many are positive"),
            ("other", "recall: of the positives, how many are among them"),
        ]
    )
    note = "Bands: one standard error up and down. The line starts at the cut that the model uses now."
    chart = join(
        colours, curve_chart(points, start, what), paragraph(note if facts["curve"]["held_out"] else "", "quiet")
    )
    return section(
        "cut",
        f"How many {what} should you look at?",
        paragraph(said),
        two(chart, slider),
    )


def _spoken(point: Facts, what: str) -> dict[str, str]:
    right = point["precision"] * point["rows"]
    return {
        "rows": f"{count(point['rows'])} {what if point['rows'] != 1 else what[:-1]}",
        "probability": f"{point['probability']:.2f}",
        "right": count(right),
        "precision": give((point["precision"], point["precision_error"])),
        "recall": give((point["recall"], point["recall_error"])),
        "wrong": count(point["rows"] - right),
    }


def _nearest(points: list[Facts], rows: int) -> int:
    return min(range(len(points)), key=lambda i: abs(points[i]["rows"] - rows))


def curve_data(facts: Facts) -> Facts:
    """What the script needs to move the marks of the curve."""
    points = facts["curve"]["points"]
    return {"points": points, "what": things(facts), **geometry(points)}


def sure(facts: Facts) -> str:
    prior, histogram = facts["prior"], facts["histogram"]
    parts = []
    if prior is not None:
        how = "as you gave it" if prior["how"] == "given" else f"estimated {text(prior['how'])}"
        parts.append(
            paragraph(
                "Share of positives among the unlabelled rows (the <em>prior</em>): "
                f"<b>{percent(prior['share'])}</b>, {how}."
            )
        )
        parts.append(paragraph(_interval_read(prior)))
        assumes = prior.get("assumes_shape") and not prior.get("few")
        if prior.get("two_sided") is False or assumes:  # else the sentence above says the same
            parts.append(paragraph(text(prior.get("reading", "")), "quiet"))
    if facts["reliability"] is not None:
        parts.append(paragraph(_reliability(facts["reliability"])))
    parts.append(
        paragraph(
            "All of this rests on one assumption: the labelled rows are a random draw from all positives. If rows of "
            "some kind are labelled more often, positives of the other kind are missed and the numbers are too low."
        )
    )
    whose = "rows held out of training" if histogram["held_out"] else "the rows trained on (none were held out)"
    chart = join(
        key([("other", "labelled rows"), ("one", "unlabelled rows")]),
        histogram_chart(histogram),
        paragraph(
            f"Scores of {whose}; each shape has the same area. Rows right of the line are called positive. Unlabelled "
            "rows that lie under the labelled ones are the hidden positives.",
            "quiet",
        ),
    )
    return section("sure", "How sure is it?", two(chart, *parts))


def _interval_read(prior: Facts) -> str:
    """How the interval can be read, without the words of the trade."""
    if prior["interval"] is None:
        return ""
    if prior.get("two_sided") is False:
        return "Read its upper end only. The true number may be anywhere below it."
    if prior.get("few"):
        return text(prior["reading"])
    if prior.get("assumes_shape"):
        return (
            "Positives and negatives overlap here, so the data alone say only how many positives there can be at most. "
            "The lower end rests on an assumption about the shape of the scores."
        )
    return "Positives and negatives score apart here, so both ends of the interval can be trusted."


def _reliability(found: Facts) -> str:
    off, error = found["off"], found["error"]
    if off <= max(0.02, 2 * error):
        word = "That is what chance alone would give: the probabilities can be read as they are."
    elif off < 0.05:
        word = "That is small: the probabilities can be read as they are."
    else:
        word = "That is much: use the order of the rows rather than the probabilities."
    return (
        f"On rows that were not used to set them, the probabilities are off by {percent(off)} on average "
        f"(± {percent(error)}). {word} A wrong prior would not show here."
    )


def sensitivity(facts: Facts) -> str:
    lines = facts["sensitivity"]
    if not lines:
        return ""
    used = facts["prior"]["share"]
    now = min(range(len(lines)), key=lambda i: abs(lines[i]["prior"] - used))
    called = facts["called"]
    cells = [
        [
            percent(one["prior"]),
            count(one["hidden"]),
            count(one["right"] * called),
            percent(one["right"]),
            count(max(0.0, one["hidden"] - one["right"] * called)),
        ]
        for one in lines
    ]
    header = [
        "if this share is positive",
        "hidden positives",
        f"right of the {count(called)} called",
        "in percent",
        "positives missed",
    ]
    how = "an estimate" if facts["prior"]["how"] != "given" else "what you gave"
    said = (
        f"The share of positives is {how}. The table says what the {count(called)} {things(facts)} that are called "
        "positive now would give if another share is the truth. Fit again with <code>--prior P</code> if you know the "
        "share: the cut then follows it."
    )
    body = two(table(header, cells, right=range(5), now=now), sensitivity_chart(facts))
    return section("prior", "What if the share of positives is different?", paragraph(said), body)


def drives(facts: Facts) -> str:
    found = facts["drivers"]
    if not found or not found["columns"]:
        return ""
    said = (
        "Each column in turn was shuffled, and the rows were scored again. The bar says how much worse labelled rows "
        "then stand out from unlabelled ones (of 100 pairs of such rows the model now orders "
        f"{100 * found['auc']:.0f} right; a coin orders 50)."
    )
    honest = (
        "Read it as a hint, not as a cause. Columns that say the same thing stand in for each other and all look "
        f"small. It was measured on {count(found['rows'])} rows, most of which the model has seen in training"
    )
    honest += (
        f", and on the {text(found['looked_at'])} of {text(found['of'])} columns that differ most."
        if found["looked_at"] < found["of"]
        else "."
    )
    body = two(drivers_chart(found), paragraph(said), paragraph(honest, "quiet"))
    return section("drivers", "What drives the scores", body)


LEVELS = {"warning": "Act on this", "look": "Have a look", "unknown": "Not known", "ok": "Fine"}


def checks(facts: Facts) -> str:
    if not facts["findings"]:
        return ""
    parts = []
    for one in facts["findings"]:
        remedy = paragraph(text(one["remedy"]), "quiet") if one["remedy"] else ""
        level = one["level"] if one["level"] in LEVELS else "unknown"
        title = f'<p><span class="level">{LEVELS[level]}</span> · {text(one["name"])}</p>'
        parts.append(f'<div class="finding {level}">{title}{paragraph(text(one["text"]))}{remedy}</div>')
    more = "These are quick checks. <code>distpu diagnose</code> looks further, also at whether labelling is selective."
    return section("checks", "What may be wrong", *parts, paragraph(more, "quiet"))


def columns(facts: Facts) -> str:
    listed = facts["columns"]
    if not listed:
        return ""
    left = sum(not one["used"] for one in listed)
    lines = [[cell(one["name"]), text(one["kind"]), text(one["what"])] for one in listed]
    body = table(["column", "kind", "what was done"], lines)
    said = f"{len(listed)} columns were read" + (f"; {left} of them were left out." if left else " and used.")
    shown = details("Show all columns", body) if len(listed) > MANY else body
    return section("columns", "What was done to each column", paragraph(said), shown)


def learnt(facts: Facts) -> str:
    told, method = facts["learnt"], facts["method"]
    parts = [
        paragraph(
            f"Method: <b>{text(method['name'])}</b> ({text(method['paper'])}). Training took {method['seconds']:.1f} s."
        )
    ]
    if told["members"]:
        said = "Several models vote. The bars are their weights, which rows held out of training decided."
        parts += [paragraph(said), members_chart(told["members"])]
    if told["epochs"]:
        parts.append(learning_charts(told["epochs"], facts["prior"]))
    return section("learnt", "How it was learnt", *parts)


def use(facts: Facts) -> str:
    settings = terms((text(name), text(value)) for name, value in facts["settings"].items())
    made_with = terms((text(name), text(value)) for name, value in facts["versions"].items())
    parts = [
        paragraph(f"To score new {things(facts)} of the same kind with this model, type:"),
        f"<pre><code>{text(facts['command'])}</code></pre>",
        paragraph(f"To go on: {text(facts['next'])}."),
        details("Settings and versions", f"<h3>Settings</h3>{settings}<h3>Versions</h3>{made_with}"),
    ]
    return section("use", "Use it", *parts)


WORDS = {
    "labelled row": "a row that is known to be positive",
    "unlabelled row": "a row of which nobody knows: it may be positive or negative",
    "hidden positive": "an unlabelled row that is positive in truth",
    "score": "the model's number for a row; rows from 0 on are called positive",
    "probability": "how likely a row like this is positive, if the prior is right",
    "prior": "the share of positives among the unlabelled rows",
    "precision": "of the rows called positive, the share that is positive in truth",
    "recall": "of all hidden positives, the share that is called positive",
    "held out": "not used for training the model that scored them, as new rows are",
    "interval": "the truth should lie in it; at 90 %, in nine of ten such tables",
}


def words(facts: Facts) -> str:
    return section("words", "Words on this page", terms((text(name), text(what)) for name, what in WORDS.items()))


SECTIONS = (top_rows, curve, sure, sensitivity, drives, checks, columns, learnt, use, words)
