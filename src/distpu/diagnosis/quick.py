"""The cheap part of a diagnosis, for the page of a fitted model. Its held-out scores take the place of new models."""

from __future__ import annotations

import numpy as np

from ..metrics import pu_auc, pu_roc_auc
from ..prior import inside_unit
from . import findings
from .columns import LEVELS, by_source, follows_the_order, runs_in_order, single_columns
from .copies import count_copies
from .findings import Finding
from .scores import dense, fold_of

MOST = 10_000  # rows whose columns are looked at one by one


def quick_findings(
    s: np.ndarray,
    prior: float,
    interval: tuple[float, float] | None,
    scored: tuple[np.ndarray, np.ndarray] | None = None,
    keys: np.ndarray | None = None,
    sample: tuple[np.ndarray, np.ndarray, dict[str, str]] | None = None,
    seed: int = 0,
) -> list[Finding]:
    """Return findings, the gravest first.

    s                PU labels of all rows, in the order of the file
    prior, interval  share of positives among the unlabelled rows, as the model has it
    scored           PU labels and scores of rows held out
    keys             a number per row; equal rows have equal numbers
    sample           numbers of some rows, their columns as numbers, and by these columns' names the user's columns
    """
    labelled, unlabelled = int((s == 1).sum()), int((s == 0).sum())
    found, follow = [], []
    if interval is not None:
        found.append(findings.enough_labelled(labelled, prior, *interval))
    if scored is not None:
        auc, corrected = pu_auc(*scored), pu_roc_auc(*scored, prior)
        found.append(findings.separable(auc, corrected, prior, labelled, unlabelled))
    if keys is not None:
        found.append(findings.copies(count_copies(keys[:, None], s)))
    runs = runs_in_order(s)
    if sample is not None:
        rows, x, sources = sample
        t, part, names = s[rows], dense(x), list(sources)
        share = inside_unit(prior, t)
        scale = (unlabelled / max(1, (t == 0).sum())) / (labelled / max(1, t.sum()))
        columns = single_columns(part, t, fold_of(part, t, seed), names, share, scale)
        found.append(findings.give_away(by_source(columns, sources), None, share))
        follow = follows_the_order(part, rows, names) if runs[2] < findings.TOGETHER else []
        found.append(findings.order(*runs, list(dict.fromkeys(sources[name] for name in follow))))
    return sorted(found, key=lambda one: -LEVELS.index(one.level))
