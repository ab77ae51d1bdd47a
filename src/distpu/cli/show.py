"""`distpu show`: what a model is and how it was made."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from ._print import fill, print_table, visible


def show(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished run folder.")],
    json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON, for other programs.")] = False,
) -> None:
    """Say what a model is and how it was made.

    Method, data, prior, cut and what it should give, columns, settings, versions, seconds and files:

        distpu show runs/transactions-auto-seed0

    Nothing is loaded but the folder's JSON files. For other programs:

        distpu show runs/transactions-auto-seed0 --json
    """
    from json import dumps

    from ..show import describe

    facts = describe(folder)
    if json:
        print(dumps(facts, indent=1))
        return
    lines = {
        "method": f"{facts['method']['name']}: {facts['method']['what']}",
        "data": _data(facts["data"]),
        "labels": _classes(facts["classes"]),
        "prior": _prior(facts["prior"]),
        "cut": _cut(facts["cut"], facts["called"]),
        "settings": _settings(facts),
        "made by": ", ".join(f"{name} {value}" for name, value in facts["versions"].items()),
        "trained in": "" if facts["seconds"] is None else f"{facts['seconds']:.1f} s",
        "files": ", ".join(f"{name} ({_size(size)})" for name, size in facts["files"].items() if size),
    }
    print_table(["", f"the model in {visible(str(folder))}"], [(key, text) for key, text in lines.items() if text])
    _print_columns(facts["columns"])
    print()
    print(f"score new rows:  distpu predict {shlex.quote(str(folder))} FILE -o scores.csv")


def _data(data: dict[str, Any]) -> str:
    parts = [f"{data['rows']:,} rows"] if "rows" in data else []
    if "shape" in data:
        *several, last = data["shape"]
        parts.append(f"of {last:,} numbers" if not several else f"of shape {'x'.join(map(str, data['shape']))}")
    if "labelled" in data:
        parts.append(f"with {data['labelled']:,} labelled positives")
    return " ".join([*([f"{data['dataset']}:"] if "dataset" in data else []), *parts])


def _classes(classes: list[Any] | None) -> str:
    if classes is None:
        return ""
    other, positive = (f"{v:g}" if isinstance(v, float) else repr(v) for v in classes)
    return f"{positive} is positive, {other} is every other row"


def _prior(prior: dict[str, Any]) -> str:
    if prior["share"] is None:
        return "none: the method needs none"
    from ..answer.words import percent

    how = "the method's own" if prior["asked"] == "auto" else "given"
    text = f"{percent(prior['share'])} of the unlabelled rows are positive ("
    text += f"estimated by {prior['estimator']}" if prior["estimator"] else how
    if prior["interval"] and prior["level"]:
        low, high = prior["interval"]
        span = f"at most {percent(high)}" if prior["two_sided"] is False else f"{percent(low)} to {percent(high)}"
        text += f"; {100 * prior['level']:g} % interval: {span}"
    return text + ")"


def _cut(cut: dict[str, Any] | None, called: int | None) -> str:
    from ..answer.words import percent

    calls = "" if called is None else f"; it calls {called:,} of the unlabelled rows"
    if cut is None:
        return f"the method's own{calls}; what it gives is not known, since no rows were held out"
    if called is None:
        return f"{cut['choice']}: {cut['expected']}"
    right, found = (f"{percent(share)} ± {percent(error)}" for share, error in (cut["precision"], cut["recall"]))
    about = f"{cut['hidden']:,.0f} of {cut['unlabelled']:,} unlabelled rows should be positive"
    if cut["hidden_interval"]:
        about += " ({:,.0f} to {:,.0f})".format(*cut["hidden_interval"])
    gives = f"{right} of these should be right, and {found} of the positives found"
    return f"{cut['choice']}: about {about}{calls}; {gives}"


def _settings(facts: dict[str, Any]) -> str:
    told = {k: v for k, v in facts["settings"].items() if v is not None and k not in ("prior", "progress", "device")}
    preset = f"preset {facts['preset']!r}: " if facts["preset"] else ""
    return preset + ", ".join(f"{name}={visible(str(value))}" for name, value in told.items())


def _print_columns(columns: list[dict[str, Any]] | None) -> None:
    if columns is None:
        return
    print()
    if all(column["kind"] == "number" and column["what"] in ("as it is", "taken as it is") for column in columns):
        names = ", ".join(visible(column["name"]) for column in columns[:40])
        fill(f"{len(columns)} columns of numbers, taken as they are: {names}{', ...' * (len(columns) > 40)}")
        return
    rows = [(visible(c["name"]), c["kind"], str(c["width"]), visible(c["what"], 200)) for c in columns]
    print_table(["column", "kind", "numbers", "what was done"], rows, right=(2,))


def _size(size: int) -> str:
    return f"{size:,} B" if size < 10_000 else f"{size / 1e3:,.0f} kB" if size < 1e7 else f"{size / 1e6:,.0f} MB"
