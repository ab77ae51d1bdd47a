"""Where experiments and results lie: in the working folder, in a clone beside the sources, or in the package."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..params import near

if TYPE_CHECKING:  # PyTorch takes seconds to import, and a wrong name should be told at once
    from .ledger import Ledger, Read

CLONE = Path(__file__).parents[3]  # of an editable install
PACKAGE = Path(__file__).parents[1]  # a wheel has experiments/ and results/ in it
NOTES = "notes.md"


def experiments() -> Path:
    """The folder of the experiments; ./experiments counts where it holds the paper's."""
    for place in (Path("experiments"), CLONE / "experiments", PACKAGE / "experiments"):
        if any(place.glob("**/table-2.toml")):
            return place
    raise FileNotFoundError("this copy of distpu has no experiments; install it again, or name a TOML file")


def files() -> dict[str, Path]:
    """The TOML file of every experiment, by name, folder by folder: the paper's first."""
    found = sorted(experiments().glob("**/*.toml"))
    return {path.stem: path for path in sorted(found, key=lambda path: path.parent.name != "paper")}


def file_of(name: str) -> Path:
    """The TOML file of an experiment: by name, or one of the user's own."""
    path = Path(name) if name.endswith(".toml") else files().get(name)
    if path is not None and path.exists():
        return path
    if name.endswith(".toml"):
        raise ValueError(f"there is no file {name}; name a TOML file, or an experiment (distpu reproduce lists them)")
    known = list(files())
    raise ValueError(
        f"there is no experiment {name!r}{near(name, known)} (known: {', '.join(known)}; or name a TOML file)"
    )


@dataclass(frozen=True)
class Results:
    """The folder of all results that is written to, and perhaps another one that is only read."""

    root: Path
    also: Path | None = None

    def ledger(self, place: str, read: Read | None = None) -> Ledger:
        from .ledger import Ledger

        return Ledger(self.root, place, self.also, read)

    def notes(self, place: str) -> str:
        """What was written by hand for a page, to stand in it as it is."""
        for root in filter(None, (self.root, self.also)):
            if (path := root / place / NOTES).is_file():
                return path.read_text(encoding="utf-8")
        return ""


def results(told: Path | None = None) -> Results:
    """Where results are kept: as told; ./results where there is one; the clone's; else ./results, beside the package's.

    Results of the clone or the package are read too, so that a command outside the clone finds what was made.
    """
    from .ledger import RUNS

    if told is not None:
        return Results(told)
    here = Path("results")
    there = (place / "results" for place in (CLONE, PACKAGE))
    known = next((place for place in there if any(place.glob(f"**/table-2/{RUNS}"))), None)
    if known is None or (here.is_dir() and here.resolve() == known.resolve()):
        return Results(here)
    if not here.is_dir() and known == CLONE / "results" and os.access(known, os.W_OK):
        return Results(known)
    return Results(here, known)
