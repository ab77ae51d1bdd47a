"""Schema: the columns that a model takes, and rows of JSON checked against them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..encode.number import Number
from ..encode.vector import numbers
from ..params import near

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 20  # problems that an answer lists
OTHERS = (str, int, float, bool)  # categories, dates and texts come as any of these
MIXED = "number or text"  # numbers beside '<1' or words, as in training
WORDS = {
    "number": "a number",
    MIXED: "a number or a text",
    "vector": "a list of numbers",
    "boolean": "true, false, a number or a text",
}


@dataclass(frozen=True)
class Limits:
    """What one call may hold."""

    bytes: int = 10_000_000  # of a body
    rows: int = 10_000
    text: int = 100_000  # characters of one value


@dataclass(frozen=True)
class Column:
    name: str
    kind: str
    used: bool


class Refused(ValueError):
    """Rows that the model does not take. `problems` says where."""

    def __init__(self, message: str, problems: list[dict[str, Any]] | None = None, status: int = 422):
        super().__init__(message)
        self.problems, self.status = problems or [], status


class Schema:
    """The columns of a model; `width` is set for a model of unnamed columns, whose rows are lists."""

    def __init__(self, model: Any, id: str | None = None):
        encoder = getattr(model, "encoder_", None)
        names = getattr(model, "feature_names_in_", None)
        self.width: int | None = None
        self._signs: dict[str, str] = {}  # the decimal sign of columns of numbers that hold texts too
        if encoder is not None:
            self._signs = _mixed(encoder)
            self.columns = [
                Column(c.name, MIXED if c.name in self._signs else c.kind, c.used) for c in encoder.columns_
            ]
        elif names is not None:
            self.columns = [Column(str(name), "number", True) for name in names]
        else:
            shape = getattr(model, "shape_", None) or (model.n_features_in_,)
            if len(shape) != 1:
                raise ValueError(f"the model takes images of shape {shape}; distpu serve takes tables")
            self.columns, self.width = [], int(shape[0])
        self.id = None if self.width is not None else id if id is not None else _own_id(encoder, self.columns)
        self.used = [column for column in self.columns if column.used]
        self.known = {column.name: column for column in self.columns}

    def as_json(self) -> dict[str, Any]:
        if self.width is not None:
            return {"rows": f"lists of {self.width} numbers", "width": self.width, "id": None}
        listed = [{"name": c.name, "kind": c.kind, "needed": c.used} for c in self.columns]
        return {"rows": "objects of column and value", "columns": listed, "id": self.id}

    def as_json_schema(self) -> dict[str, Any]:
        """Return the JSON schema of a body, for the OpenAPI document."""
        number: dict[str, Any] = {"type": ["number", "null"]}
        if self.width is not None:
            row: dict[str, Any] = {"type": "array", "items": number, "minItems": self.width, "maxItems": self.width}
        else:
            kinds = {"number": number, "vector": {"type": "array", "items": {"type": "number"}}}
            kinds[MIXED] = {"type": ["string", "number", "null"]}
            any_value = {"type": ["string", "number", "boolean", "null"]}
            row = {"type": "object", "additionalProperties": False, "required": [c.name for c in self.used]}
            row["properties"] = {c.name: kinds.get(c.kind, any_value) for c in self.columns}
            if self.id is not None:
                row["properties"].setdefault(self.id, any_value)
        rows = {"type": "array", "items": row}
        return {"oneOf": [rows, {"type": "object", "required": ["rows"], "properties": {"rows": rows}}]}

    # ------------------------------------------------------------------ checks

    def read(self, body: Any, limits: Limits) -> tuple[Any, list[Any]]:
        """Return the rows as a model takes them, and their ids; Refused with every problem where they are wrong."""
        rows = body.get("rows") if isinstance(body, dict) else body
        if isinstance(body, dict) and set(body) != {"rows"}:
            raise Refused('send a list of rows, or an object with the one key "rows"')
        if not isinstance(rows, list):
            raise Refused('send a list of rows, or an object with the one key "rows"')
        if not rows:
            raise Refused("there are no rows")
        if len(rows) > limits.rows:
            raise Refused(f"there are {len(rows)} rows; one call takes at most {limits.rows}", status=413)
        problems: list[dict[str, Any]] = []
        for number, row in enumerate(rows):
            for column, message in self._wrong(row, limits):
                problems.append({"row": number, "column": column, "message": message})
            if len(problems) >= SHOWN:
                break
        if problems:
            raise Refused(f"row {problems[0]['row']}: {problems[0]['message']}", problems[:SHOWN])
        if self.width is not None:
            import numpy as np

            return np.array(rows, dtype=float), list(range(len(rows)))
        ids = [row.get(self.id, i) if self.id is not None else i for i, row in enumerate(rows)]
        return self._frame(rows), ids

    def _wrong(self, row: Any, limits: Limits) -> list[tuple[str | None, str]]:
        if self.width is not None:
            if not isinstance(row, list) or len(row) != self.width:
                return [(None, f"a row must be a list of {self.width} numbers")]
            bad = next((i for i, value in enumerate(row) if not _fits(value, "number")), None)
            return [] if bad is None else [(str(bad), f"position {bad} must be a number or null")]
        if not isinstance(row, dict):
            return [(None, "a row must be an object of column and value")]
        found: list[tuple[str | None, str]] = []
        for column in self.used:
            if column.name not in row:
                found.append((column.name, f"column {column.name!r} is missing; send null if it is blank"))
        for name, value in row.items():
            known = self.known.get(name)
            if known is None and name != self.id:
                shown = printable(name if len(name) <= 100 else f"{name[:100]}...")
                found.append((shown, f"column {shown!r} is not known{near(name[:100], self.known)}"))
            elif isinstance(value, str) and printable(value) != value:
                found.append((name, f"column {name!r} holds half of a character, which is no text"))
            elif isinstance(value, str) and len(value) > limits.text:
                found.append((name, f"column {name!r} has {len(value)} characters; at most {limits.text} are taken"))
            elif known is not None and known.used and not _fits(value, known.kind):
                rule = WORDS.get(known.kind, "a text, a number, true or false")
                found.append((name, f"column {name!r} must be {rule}, or null; it is {_shown(value)}"))
            elif name == self.id and isinstance(value, (int, float)) and not _finite(value):
                found.append(
                    (name, f"column {name!r} must be a finite number or a text, or null; it is {_shown(value)}")
                )
            elif isinstance(value, (list, dict)) and (known is None or known.kind != "vector"):
                found.append((name, f"column {name!r} must hold one value; it is {_shown(value)}"))
        return found

    def _frame(self, rows: list[dict[str, Any]]) -> pd.DataFrame:
        import numpy as np
        import pandas as pd

        columns: dict[str, Any] = {}
        for column in self.used:
            values = [row[column.name] for row in rows]
            if column.name in self._signs:
                values = [_as_written(value, self._signs[column.name]) for value in values]
            if column.kind == "number":
                values = np.array([math.nan if value is None else float(value) for value in values])  # type: ignore
            columns[column.name] = pd.Series(values, dtype=float if column.kind == "number" else object)
        return pd.DataFrame(columns)


def _own_id(encoder: Any, columns: list[Column]) -> str | None:
    """Return the column that names the rows: the model's own, the only one that was recognised as an id, or "id"."""
    told, known = getattr(encoder, "id", None), [column.name for column in columns if column.kind == "id"]
    if isinstance(told, str) or len(known) == 1:
        return told if isinstance(told, str) else known[0]
    return None if any(column.name == "id" for column in columns) else "id"


def _mixed(encoder: Any) -> dict[str, str]:
    """Return the columns of numbers that held texts too, such as '<1' or '5 EUR', with their decimal sign."""
    found = [part for part in getattr(encoder, "_parts", ()) if isinstance(part.maker, Number)]
    return {part.column.name: part.maker.decimal for part in found if not part.maker.clean}


def _as_written(value: Any, decimal: str) -> Any:
    """Return a number as the training file wrote it: beside texts it is read like them."""
    return repr(value).replace(".", decimal) if isinstance(value, (int, float)) else value


def _fits(value: Any, kind: str) -> bool:
    if value is None or kind == MIXED and isinstance(value, str):
        return True
    if kind in ("number", MIXED):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and _finite(value)
    if kind == "vector" and isinstance(value, str):
        return numbers(value) is not None
    if kind == "vector":
        return isinstance(value, list) and all(_fits(one, "number") and one is not None for one in value)
    return isinstance(value, OTHERS) and (not isinstance(value, (int, float)) or _finite(value))


def printable(text: str) -> str:
    """Return a text that UTF-8 can hold: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _shown(value: Any) -> str:
    text = repr(value) if not isinstance(value, (list, dict)) else f"a {'list' if isinstance(value, list) else 'dict'}"
    return text if len(text) <= 60 else f"{text[:60]}..."
