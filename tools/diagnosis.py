"""The example of docs/diagnosis.md: a table in which large cases are likelier to be labelled, and its diagnosis.

python tools/diagnosis.py             prints the diagnosis
python tools/diagnosis.py --write     writes it into the page, and draws the page's figure (needs matplotlib)
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from distpu import cli

PAGE = Path(__file__).parents[1] / "docs/diagnosis.md"
ROWS, SHARE, LABELLED = 3000, 0.3, 250


def example() -> pd.DataFrame:
    """Fraud differs in five columns. A case is likelier to be known the larger its amount is."""
    random = np.random.default_rng(0)
    fraud = random.random(ROWS) < SHARE
    table = pd.DataFrame(random.normal(size=(ROWS, 7)), columns=list("abcdefg"))
    table.columns = pd.Index(["amount", "hour", "distance", "visits", "age", "branch", "weekday"])
    table.iloc[:, :5] += 1.5 * fraud[:, None]
    known = np.exp(table["amount"].to_numpy()) * fraud
    table["fraud"] = np.nan
    table.loc[random.choice(ROWS, LABELLED, replace=False, p=known / known.sum()), "fraud"] = 1
    return table.round(3)


def diagnosed(*options: str) -> str:
    """What the command prints."""
    told, out = ["distpu", "diagnose", "transactions.csv", "--label", "fraud", *options], io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.object(sys, "argv", told),
        mock.patch.dict(os.environ, COLUMNS="100"),
        contextlib.redirect_stdout(out),
        contextlib.suppress(SystemExit),
    ):
        example().to_csv("transactions.csv", index=False)
        cli.main()
    return out.getvalue()


def main() -> None:
    if "--write" not in sys.argv:
        print(diagnosed())
        return
    text = diagnosed("--plot", str(PAGE.with_suffix(".png")))
    shown = f"```\n$ distpu diagnose transactions.csv --label fraud\n{text.split('picture:')[0].rstrip()}\n```"
    page = re.sub(r"```\n\$ distpu diagnose transactions.*?\n```", lambda _: shown, PAGE.read_text(), flags=re.DOTALL)
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
