"""The command line as a user meets it: main() with arguments in, exit code and both streams out."""

import contextlib
import io
import os
import sys
from typing import NamedTuple
from unittest import mock

from distpu import cli


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def distpu(*args, columns=80) -> Ended:
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["distpu", *map(str, args)]),
        mock.patch.dict(os.environ, COLUMNS=str(columns)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    return Ended(code, out.getvalue(), err.getvalue())


def done(*args, **options) -> str:
    """What a command prints that must succeed."""
    ended = distpu(*args, **options)
    assert ended.code == 0, ended.err
    return ended.out


def refused(*args) -> str:
    """The one line that a command must refuse with."""
    ended = distpu(*args)
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.startswith("distpu: ") and ended.err.count("\n") == 1, ended.err
    return ended.err
