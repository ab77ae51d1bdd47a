"""report.json -> report.html: one file without scripts or styles of others. Nothing but report.json is read."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..files.atomic import REMEDY
from ..files.run_folder import RunFolder
from .html import join, text, user
from .sections import SECTIONS, curve_data, headline

SCHEMA = 2  # of report.json; a page is made from this schema only


def write_page(folder: str | Path) -> Path:
    """Make report.html of a run folder again, from its report.json."""
    run = RunFolder(folder)
    if not run.exists:
        raise FileNotFoundError(f"{folder} is no run folder; name one that `distpu fit FILE` made")
    if not (run.path / RunFolder.FACTS).exists():
        raise FileNotFoundError(
            f"{run.path / RunFolder.FACTS} does not exist; run the same `distpu fit` again, which writes it"
        )
    facts = run.facts()
    if facts["schema"] != SCHEMA:
        raise ValueError(
            f"{run.path / RunFolder.FACTS} has schema {facts['schema']!r}, and this version of distpu reads schema "
            f"{SCHEMA}; run the same `distpu fit` again"
        )
    try:
        html = page(facts)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, ZeroDivisionError):
        raise ValueError(f"{run.path / RunFolder.FACTS} lacks facts that the page needs; {REMEDY}") from None
    return run.keep_page(html)


def page(facts: dict[str, Any]) -> str:
    """Return the page as one HTML text."""
    style, script = ((files(__package__) / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    body = join(*(section(facts) for section in SECTIONS))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(facts['source'])}: hidden positives</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{headline(facts)}\n<main>\n{body}\n</main>\n{_footer(facts)}\n"
        f'<script type="application/json" id="curve-data">{embedded(curve_data(facts))}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def embedded(value: Any) -> str:
    """Return JSON that cannot end the script element: no <, > or &, and only ASCII."""
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _footer(facts: dict[str, Any]) -> str:
    return (
        f"<footer><p>Made by distpu {text(facts['distpu'])} from {user(facts['source'])}. This file needs no network "
        "and sends nothing. <code>distpu report FOLDER</code> makes it again from report.json.</p></footer>"
    )
