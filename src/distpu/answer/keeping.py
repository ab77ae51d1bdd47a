"""Writes what stands beside the model of a fit: scores.csv, the facts, the page."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.run_folder import RunFolder
from ..files.scores import score_lines
from ..progress import busy

if TYPE_CHECKING:
    from .fitting import Answer


def kept(answer: Answer, X: Any, s: np.ndarray, run: RunFolder, report: bool) -> Answer:
    """Write what stands beside the model: the seconds, the ranked rows and the page."""
    ranked = answer.ranked
    with run.answering():
        if answer.images is not None and answer.images.broken:
            run.keep_broken(answer.images.broken)
        if not answer.finished_before:
            run.keep_seconds(answer.seconds)
        with _read_only_is_fine(run, answer.finished_before):
            run.keep_ranked(lambda: score_lines(*(ranked[name].to_numpy() for name in ranked)))
        if report:
            try:
                with busy("making the page"):
                    answer = _with_facts(answer, X, s)
                    with _read_only_is_fine(run, answer.finished_before):
                        _write_page(answer, run)
            except OSError:  # such as a full disk, which the user must know
                raise
            except Exception as error:  # a mistake of ours must not cost the user a finished fit
                warnings.warn(
                    f"the page could not be made ({type(error).__name__}: {error}); model and scores are in {run}",
                    UserWarning,
                    stacklevel=3,
                )
    return answer


@contextmanager
def _read_only_is_fine(run: RunFolder, finished: bool) -> Iterator[None]:
    """Warn only, where the answer of a finished run cannot be written again: its folder may be mounted read-only."""
    try:
        yield
    except OSError as error:
        if not finished or error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        warnings.warn(
            f"{error.filename or run} cannot be written ({error.strerror}); what is there stays as it is",
            UserWarning,
            stacklevel=4,
        )


def _with_facts(answer: Answer, X: Any, s: np.ndarray) -> Answer:
    from .facts import facts

    return replace(answer, facts=facts(answer, X, s))


def _write_page(answer: Answer, run: RunFolder) -> None:
    """Write report.json and report.html."""
    from ..report.page import write_page

    assert answer.facts is not None
    run.keep_facts(answer.facts)
    write_page(run.path)
