"""A log: a file with a JSON object in each line, to which a run appends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]  # an object of a JSON file: config.json, a line of metrics.jsonl


def log_lines(rows: Iterable[Json]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read_log(path: Path) -> Iterator[Json]:
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # a kill tore this line
            return
        if not isinstance(row, dict):
            return  # neither a torn or damaged line nor what follows it counts
        yield row
