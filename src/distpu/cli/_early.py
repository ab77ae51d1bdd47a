"""Checks that need no heavy import, so that a mistake is told at once. What they let pass is checked again later."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

PRIOR = Path(__file__).parents[1] / "prior/known.py"


def check_file(path: str, label: str | None = None, needs_label: bool = False) -> None:
    """Refuse a path that is not there, a table without rows, and a label column that the table does not have.

    A path that is not there may be a misspelt file or a misspelt data set.
    """
    from .. import datasets
    from ..datasets.header import check_table
    from ..params import near

    if not Path(path).expanduser().exists() and not Path(path).suffix:
        hint = near(path.lower(), datasets.NAMES)
        raise ValueError(f"{path!r} is neither a file nor a data set{hint} (distpu data lists the data sets)")
    check_table(path, label, needs_label)


def check_options(
    method: str, settings: dict[str, Any], prior: str | None = None, threshold: str | None = None
) -> None:
    """Refuse a method, a setting, a prior or a threshold that cannot be."""
    from ..methods import check_told
    from ..threshold.choice import read_choice

    check_prior(prior)
    for value in (threshold, settings.get("threshold")):
        if value is not None:
            read_choice(value)
    check_told(method, settings)


def check_prior(text: str | None) -> None:
    """Refuse a --prior that is neither a share, nor 'auto' or 'true', nor the name of an estimator."""
    from ..params import near

    words = ("auto", "true", *prior_names())
    if text is None or text in words:
        return
    try:
        share = float(text)
    except ValueError:
        raise ValueError(
            f"--prior {text} must be a number strictly between 0 and 1, 'auto', 'true' or the name of an estimator"
            f"{near(text, words)} (one of {', '.join(words[2:])})"
        ) from None
    if not 0 < share < 1:
        raise ValueError(f"--prior {text} must lie strictly between 0 and 1 (or be 'auto' or an estimator's name)")


def check_estimators(text: str) -> list[str]:
    """Return the estimators of the prior that a text names, separated by commas; 'all' and 'scores' name several."""
    from ..params import near

    known, groups = prior_names(), {"all": prior_names(), "scores": prior_names("ON_SCORES")}
    names = groups[text] if text in groups else [name.strip() for name in text.split(",")]
    for name in names:
        if name != "auto" and name not in known:
            raise ValueError(f"prior estimator {name!r} is not known{near(name, known)} (one of {', '.join(known)})")
    return names


def prior_names(*dicts: str) -> list[str]:
    """Return the names of the estimators of the prior, from the source: importing them takes a second."""
    dicts = dicts or ("ON_SCORES", "ON_ROWS")
    found: list[str] = []
    for node in ast.parse(PRIOR.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in dicts:
            assert isinstance(node.value, ast.Dict)
            found += [ast.literal_eval(key) for key in node.value.keys if key is not None]
    return found
