"""A griffe extension for the API reference. Sources are read, never imported.

A field `x: int = param(3, "what it is", least=1)` becomes a row of the class's table of parameters: its default 3, its
help, its range. Of a field that presets may set, `tuned(3, ...)`, the paper's value is shown. A field of another
dataclass becomes a row of its table of attributes, with the comment behind it. In a docstring, lines of a name, two
spaces or more and a text become a list.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe

NOTHING = "&nbsp;"  # a row of a table needs some text
RANGES = {"above": ">", "least": "≥", "below": "<", "most": "≤"}
COLUMNS = re.compile(r"^(\S+(?:=\S+)?) {2,}(\S.*(?:\n {3,}\S.*)*)$", re.MULTILINE)


class Params(griffe.Extension):
    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        value = attr.value
        comment = re.search(r"  # (.*)$", attr.source.splitlines()[-1]) if attr.source else None
        if comment and attr.annotation and "ClassVar" not in str(attr.annotation):
            attr.extra["comment"]["text"] = comment[1]
        if not isinstance(value, griffe.ExprCall) or str(value.function) not in ("param", "tuned"):
            return
        named = {a.name: str(a.value) for a in value.arguments if isinstance(a, griffe.ExprKeyword)}
        default, help_ = [a for a in value.arguments if not isinstance(a, griffe.ExprKeyword)]
        ranges = ", ".join(f"{sign} {named[word]}" for word, sign in RANGES.items() if word in named)
        attr.extra["param"]["help"] = ast.literal_eval(str(help_)) + (f" ({ranges})" if ranges else "")
        attr.value = default

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        told = {a.name: a.extra["param"]["help"] for a in cls.members.values() if a.extra.get("param")}
        if told and cls.docstring:
            _add(cls, "Parameters", told)
        fields = [a for a in cls.members.values() if a.is_attribute and a.annotation and "property" not in a.labels]
        if not told and cls.docstring and "dataclass" in " ".join(str(d.value) for d in cls.decorators):
            _add(cls, "Attributes", {a.name: a.extra.get("comment", {}).get("text", "") for a in fields})

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = COLUMNS.sub(_item, obj.docstring.value)


def _add(cls: griffe.Class, title: str, told: dict[str, str]) -> None:
    rows = "\n".join(f"    {name}: {text or NOTHING}" for name, text in told.items())
    if told and cls.docstring:
        cls.docstring.value = f"{cls.docstring.value}\n\n{title}:\n{rows}"


def _item(match: re.Match[str]) -> str:
    return f"- `{match[1]}`: {' '.join(match[2].split())}"
