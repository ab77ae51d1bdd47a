"""How a command begins and ends: its streams, one line for a mistake, the exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

import typer

from ..train import launch

MISTAKE, STOPPED, CUT = 2, 130, 1  # exit codes: of a mistake, of Ctrl-C, of a reader such as `head` that reads no more
GOES_ON = "stopped; what was finished is kept, and the same command goes on from there"
GRACE = 3.0  # seconds that torchrun needs to end the other ranks when one has ended
LONG, START, END = 400, 200, 60  # a word of more characters is shown by its start and its end
MOST, FIRST, LAST = 1400, 900, 400  # a line of more characters likewise: a value may have thousands of words


def ended(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code. A user's mistake is one line on stderr."""
    _open_streams()
    if not launch.first():  # the first rank prints
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")
    with warnings.catch_warnings(), _stoppable():
        warnings.showwarning = lambda message, *_, **__: say(message)
        code = _tried(command)
    if code == STOPPED:
        say(GOES_ON)
    return _flushed(code)


def left(code: int) -> NoReturn:
    """End the process. One of several ranks ends at once: gloo's threads may abort a process that ends slowly."""
    if launch.group() is None:
        sys.exit(code)
    if code == 0:  # else another rank may not answer any more
        launch.leave()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _tried(command: Callable[[], Any]) -> int:
    try:
        _check_place()
        return command() or 0
    except (KeyboardInterrupt, typer.Abort):
        return STOPPED
    except launch.Lost as error:  # another rank ended, and said why
        return _mistake(error, late=True)
    except OSError as error:
        return _mistake(_of_system(error))
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        return _mistake(f"there is not enough memory{why}; give fewer rows or columns, or end other programs")
    except (ValueError, FloatingPointError) as error:
        return _mistake(error)
    except ImportError as error:
        if "pip install" not in str(error):  # not a package that is an extra: a mistake of ours
            raise
        return _mistake(error)
    except Exception as error:
        # An error of typer itself has format_message; its class lives elsewhere in each version.
        if not hasattr(error, "format_message"):
            raise
        path = getattr(getattr(error, "ctx", None), "command_path", "distpu")
        return _mistake(f"{error.format_message().rstrip('.')} ({path} --help shows how)")


def say(what: object, to: Any = None) -> None:
    """Print one line on stderr. Long words are shortened: a value of a million characters hides the rule."""
    words = (word if len(word) <= LONG else f"{word[:START]}...{word[-END:]}" for word in str(what).split())
    line = " ".join(words)
    line = line if len(line) <= MOST else f"{line[:FIRST]} ... {line[-LAST:]}"
    with suppress(OSError):  # nobody reads stderr
        print(f"distpu: {line}", file=to or sys.stderr)


def _mistake(what: object, late: bool = False) -> int:
    """Say what was wrong; return the exit code.

    Of several ranks the first one speaks. Another one speaks if the launcher has not ended it after GRACE seconds: then
    the mistake is its own. So does a rank that lost another one.
    """
    if launch.size() > 1 and (late or not launch.first()):
        time.sleep(GRACE)
        say(f"rank {launch.rank()}: {what}", to=sys.__stderr__)
    else:
        say(what)
    return MISTAKE


def _of_system(error: OSError) -> str:
    if error.errno is None:  # raised by us, with a line of its own
        return str(error)
    if not error.filename:  # of stdout: every file of ours has a name
        closed = error.errno == errno.EBADF
        why = "is closed" if closed else f"cannot be written ({error.strerror or error})"
        return f"standard output {why}; send it to a file, or to /dev/null if it is not needed"
    what = f"{error.filename}: {error.strerror}"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{what}; free some room, and the same command goes on from there" if full else what


def _check_place() -> None:
    """Refuse a working folder that was removed: libraries end the process there without a word of why."""
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ValueError("the working folder does not exist any more; change to another one (cd)") from None


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let Ctrl-C end the command also in the middle of an import, where an exception may be swallowed."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            say(GOES_ON)
            os._exit(STOPPED)
        frame = frame.f_back
    raise KeyboardInterrupt


# --------------------------------------------------------------------- streams


def _open_streams() -> None:
    """Open the standard streams that are closed, and let stdout print every character in some form.

    The first file that is opened takes the number of a closed stream. What a library prints would land in that file.
    Nothing can be written to a stdout that was closed: a result that is lost is a mistake. A closed stderr swallows.
    """
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest free number is this one: those below are open
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flushed(code: int) -> int:
    """Write what is left in stdout; return the exit code."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        code = code or CUT
    except OSError as error:
        code = code or _mistake(_of_system(error))
    with open(os.devnull, "w") as nowhere:  # else Python tries again at its end, and complains
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return code
