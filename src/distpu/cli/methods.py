"""`distpu methods`: the methods, or one of them with its settings."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Annotated

import typer

from ._print import fill, print_table


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One method: its paper, its equations, all its settings.")
    ] = None,
) -> None:
    """List the methods, or show one with its settings.

    Any of the settings can be given to fit, as --set FIELD=VALUE:

        distpu methods dist-pu
    """
    from ..methods import METHODS, check_name

    if name is not None:
        check_name(name)
        return _method(name)
    rows = [
        (key, "needed" if cls.needs_prior else "no", f"{_first_line(cls)}\n{cls.paper}") for key, cls in METHODS.items()
    ]
    print_table(["name", "prior", "what it is"], rows)
    print("\na method's equations and settings:  distpu methods NAME")


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _method(name: str) -> None:
    from ..params import paper_value
    from ..study import runs as bench

    cls = type(bench.make(name, {}))
    print(f"{name}   in Python: from distpu import {cls.__name__}\n")
    fill((sys.modules[cls.__module__].__doc__ or "").strip())
    print()
    words = {"above": "above {}", "least": "at least {}", "most": "at most {}", "below": "below {}"}
    rows = []
    for f in fields(cls):
        rules = [text.format(f.metadata[key]) for key, text in words.items() if key in f.metadata]
        rules += [", ".join(map(str, f.metadata.get("one_of", ())))]
        rule = " and ".join(filter(None, rules))
        rows.append((f.name, str(paper_value(f)), f.metadata["help"] + (f"  ({rule})" if rule else "")))
    print_table(["setting", "default", "what it is"], rows)
    print(f"\ndistpu fit table.csv --label COLUMN --method {name}")
