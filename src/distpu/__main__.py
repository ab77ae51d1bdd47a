"""`python -m distpu`, and the command `distpu`."""

import sys


def main() -> None:
    """Run the command line; the base install has none, and says what to type."""
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        print(f'distpu: the command line needs {error.name}; type: pip install "distpu[cli]"', file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
