"""The server's own page: it explains the calls and loads nothing from elsewhere."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from .schema import MIXED, Limits, Schema

EXAMPLES = {"number": 1.5, MIXED: 1.5, "boolean": True, "date": "2026-11-18", "vector": [0.1, 0.2]}
STYLE = "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}pre{background:#eee;padding:1em;\
overflow:auto}td,th{text-align:left;padding:.2em 1em .2em 0;vertical-align:top}"


def example(schema: Schema) -> Any:
    """Return a row as a client may send it."""
    if schema.width is not None:
        return [0.0] * schema.width
    named = {} if schema.id is None else {schema.id: "A-17"}
    return named | {column.name: EXAMPLES.get(column.kind, "text") for column in schema.used}


def _id(schema: Schema) -> str:
    number = "its number in the call"
    return number if schema.id is None else f"what you send as <code>{escape(schema.id)}</code>, else {number}"


def page(facts: dict[str, Any], schema: Schema, limits: Limits) -> str:
    """Return the page. Everything that comes from the model is escaped."""
    row = escape(json.dumps(example(schema), ensure_ascii=False))
    columns = "".join(
        f"<tr><td>{escape(c.name)}</td><td>{escape(c.kind)}</td><td>{'needed' if c.used else 'not used'}</td></tr>"
        for c in schema.columns
    )
    table = f"<table><tr><th>column</th><th>kind</th><th></th></tr>{columns}</table>" if columns else ""
    about = "".join(f"<tr><td>{escape(k)}</td><td>{escape(str(v))}</td></tr>" for k, v in facts.items())
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>distpu</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>
<h1>distpu: {escape(str(facts["method"]))}</h1><table>{about}</table>
<h2>POST /score</h2>
<p>Send a list of rows, or an object with the key <code>rows</code>. Blanks are <code>null</code>.</p>
<pre>curl -H 'Content-Type: application/json' -d '[{row}]' ADDRESS/score</pre>
<p>The answer has for each row its id ({_id(schema)}), its score (positive from 0 on), its probability of being
positive, and the decision, 1 where the model calls the row positive. A call takes {limits.rows:,} rows,
{limits.bytes:,} bytes at most. Rows that do not fit are refused with status 422 and a list of what is wrong.</p>
<h2>Columns</h2>{table}
<h2>Other calls</h2><p>GET /health, /version, /schema, /openapi.json</p></body></html>
"""
