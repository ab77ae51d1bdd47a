"""What the parts of the fault suite share: the budget, the counts for the page, the table and the commands."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

# Seconds for the whole suite in one process; each part has a share of them. tools/faults.py --budget takes others.
BUDGET = int(os.environ.get("DISTPU_FAULTS_BUDGET", "720"))
COUNTS = "DISTPU_FAULTS_COUNTS"  # the file of counts that tools/faults.py reads


@dataclass
class Part:
    """Counts trials until a number is reached or the part's share of the budget is used."""

    name: str
    goal: int
    seconds: float
    tried: int = 0
    note: str = ""

    def __post_init__(self):
        self.start = time.monotonic()

    @property
    def on(self) -> bool:
        return self.tried < self.goal and time.monotonic() - self.start < self.seconds

    def keep(self) -> None:
        """Write the count. Each trial ended as it should: else the test would have failed."""
        if path := os.environ.get(COUNTS):
            row = {"what": self.name, "tried": self.tried, "goal": self.goal, "note": self.note,
                   "seconds": round(time.monotonic() - self.start)}  # fmt: skip
            with open(path, "a") as file:
                file.write(json.dumps(row) + "\n")
        assert self.tried >= min(self.goal, 2), f"{self.name}: {self.tried} trials in {self.seconds:.0f} s"


PASSED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture
def part(request):
    """part(name, goal, share) counts; what was counted is kept when the test has passed."""
    parts: list[Part] = []

    def begin(name: str, goal: int, share: float) -> Part:
        parts.append(Part(name, goal, share * BUDGET))
        return parts[-1]

    yield begin
    if request.node.stash.get(PASSED, False):
        for one in parts:
            one.keep()


@pytest.fixture(scope="session")
def table(tmp_path_factory) -> Path:
    random = np.random.default_rng(0)
    s = np.arange(150) < 40
    frame = pd.DataFrame(random.normal(size=(150, 3)) + (np.arange(150) < 80)[:, None], columns=list("abc"))
    frame = frame.assign(kind=random.choice(["red", "green"], 150), y=s.astype(int))
    path = tmp_path_factory.mktemp("table") / "t.csv"
    frame.to_csv(path, index=False)
    return path


METHODS = {  # stages and checkpoints; one stage; parts of a wrapper; parts of folds
    "dist-pu": ["--set", "warm_up_epochs=12", "--set", "epochs=12", "--set", "batch_size=16"],
    "nnpu": ["--set", "epochs=30", "--set", "batch_size=16"],
    "bagging-pu": ["--set", "n_estimators=40"],
    "blend-pu": ["--set", "folds=2", "--set", "trees=8", "--set", "bags=2"],
}


def fit(method: str, table: Path, folder: Path) -> list[str]:
    own = ["--prior", "0.4", *METHODS[method]]
    return ["fit", str(table), "--label", "y", "--method", method, *own, "--folder", str(folder)]


TIMES = {"seconds.json", "report.json", "report.html", ".lock"}  # the time that a run took is its own


def content(folder: Path) -> dict[str, bytes]:
    """The files of a run with what they hold, but for those that tell the time."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name not in TIMES}


def assert_same(folder: Path, whole: Path) -> None:
    here, there = content(folder), content(whole)
    assert here.keys() == there.keys(), here.keys() ^ there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def assert_one_line(err: str) -> None:
    """What a command says that ends with a mistake: lines of ours, the last of which is the mistake."""
    lines = err.strip().splitlines()
    assert lines and "Traceback" not in err, err
    assert lines[-1].startswith("distpu: ") and len(lines[-1]) < 1500, err


@pytest.fixture
def disk(tmp_path):
    """Make a small disk: disk(bytes, inodes) mounts it; calling it again changes its size."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = False

    def sized(bytes: int, files: int = 0, options: str = "") -> Path:
        nonlocal mounted
        size = f"size={bytes},nr_inodes={files}{options}"
        words = ["mount", "-o", f"remount,{size}", str(place)] if mounted else ["mount", "-t", "tmpfs", "-o", size,
                                                                               "tmpfs", str(place)]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode and not mounted:
            pytest.skip(f"no disk can be mounted here ({done.stderr.strip()})")
        assert not done.returncode, done.stderr
        mounted = True
        return place

    def clear() -> None:
        nonlocal mounted
        if mounted:
            subprocess.run(["umount", str(place)], check=True)
        mounted = False

    sized.clear = clear
    yield sized
    clear()
