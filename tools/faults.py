"""Runs the fault suite and writes docs/faults.md: what was tried, how often, and that each trial ended as it should.

python tools/faults.py                          # all of it: about as long as BUDGET in tests/faults/conftest.py
python tools/faults.py -k kills                 # a part of it; the page is left as it is
python tools/faults.py -k kills --counts FILE   # part after part into one file of counts
python tools/faults.py --page --counts FILE     # the page of that file
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/faults.md"
GROUPS = {
    "Killed at random moments": ("kill -9",),
    "Disks": ("a disk", "a limit"),
    "Signals, two processes, a folder that goes away": ("SIG", "two ", "the run folder"),
    "Damaged files": ("damaged",),
    "Made-up inputs": ("fuzzed",),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", metavar="NAMES", help="the tests to run, as pytest takes them")
    parser.add_argument("--budget", type=int, metavar="SECONDS", help="instead of BUDGET")
    parser.add_argument("--counts", type=Path, metavar="FILE", help="add the counts to this file")
    parser.add_argument("--page", action="store_true", help="write the page from the file of counts, and run nothing")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts, code = told.counts or Path(folder) / "counts", 0
        if not told.page:
            words = [sys.executable, "-m", "pytest", "-n", "0", "-m", "faults", "tests/faults", "--durations=0"]
            words += ["-k", told.k] if told.k else []
            own = {"DISTPU_FAULTS_COUNTS": str(counts.absolute())}
            own |= {"DISTPU_FAULTS_BUDGET": str(told.budget)} if told.budget else {}
            code = subprocess.run(words, cwd=ROOT, env={**os.environ, **own}).returncode
        if told.page or not (told.k or code):
            rows = {row["what"]: row for row in map(json.loads, counts.read_text().splitlines())}
            PAGE.write_text(page([*rows.values()]))
    sys.exit(code)


def machine() -> str:
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = next((line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")), "CPU")
    return f"{len(os.sched_getaffinity(0))} cores of {name}, {platform.system()} {platform.release()}"


def page(rows: list[dict]) -> str:
    known = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "scikit-learn", "lightgbm", "pandas"))
    total, seconds = (sum(row[key] for row in rows) for key in ("tried", "seconds"))
    lines = [
        "# Faults",
        "",
        f"The fault suite tried {total:,} faults on {date.today():%d %B %Y}, and each ended as it should.",
        "`make test-faults` runs it in about 20 minutes; `tools/faults.py --budget SECONDS` tries more.",
        "A run that is killed or stopped, or whose disk is full, goes on when the same command is given again. Its",
        "files then have the same bits as without the fault. A damaged file is refused in one line or gives the same",
        "scores. An input is used or refused in one line. A trial that ends in another way fails the suite, and this",
        "page is then not written.",
        "",
        f"It took {seconds / 60:.0f} minutes in one process on {machine()},",
        f"Python {platform.python_version()}, {known}.",
        "Each part has a share of the seconds: a busy machine tries fewer than are wanted.",
    ]
    for group, starts in GROUPS.items():
        found = [row for row in rows if row["what"].startswith(starts)]
        if found:
            lines += ["", f"## {group}", "", "| what | tried | wanted | how they ended |", "|---|--:|--:|---|"]
            lines += [
                f"| {row['what']} | {row['tried']:,} | {row['goal']:,} | {row['note'] or 'as they should'} |"
                for row in found
            ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
