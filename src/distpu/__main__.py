"""`python -m distpu`, and the command `distpu`."""

import signal
import sys


def main() -> None:
    """Run the command line; the base install has none, and says what to type."""
    try:
        run = _imported()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        print(f'distpu: the command line needs {error.name}; type: pip install "distpu[cli]"', file=sys.stderr)
        sys.exit(2)
    run()


def _imported():
    """Import the command line. Ctrl-C ends the process meanwhile: there is nothing to keep, and nothing to explain."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # as in a job in the background
        from .cli import main as run

        return run
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .cli import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return run


if __name__ == "__main__":
    main()
