"""Finds a named set, or downloads and checks it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ..files.lock import lock
from .damaged import one_line
from .download import fetch, unpack
from .known import MD5, MOST, SOURCES, UNPACKED
from .places import FOLDERS, file_of, found, home, places
from .readers import cifar_rows, idx


def located(name: str, root: str | Path | None, download: bool) -> Path:
    if there := found(name, root):
        return there
    place = home(root)
    missing = f"{name} is missing or incomplete in {', '.join(map(str, places(name, root)))}"
    if name == "alzheimer":
        what = '"Alzheimer\'s Dataset (4 class of Images)" (tourist55/alzheimers-dataset-4-class-of-images)'
        where = f"its folder at {place / 'alzheimer'} or its zip at {place / 'alzheimer.zip'}"
        raise FileNotFoundError(f"{missing}; get {what} with an account at Kaggle and put {where}")
    if not download:
        raise FileNotFoundError(f"{missing}; allow the download or put it at {place / FOLDERS[name][0]}")
    return _download(name, place)


def _download(name: str, home: Path) -> Path:
    """Download and check the set in a hidden folder beside its place, then move it to its place in one step."""
    target, stage = home / FOLDERS[name][0], home / f".{name}.part"
    try:
        stage.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "name a folder that you may write to"
        raise FileNotFoundError(f"{name} cannot be put into {home} ({error.strerror}); {remedy}") from error
    with lock(home, wait=True, leave_file=False):  # else two processes would write into one .part file
        if not found(name, home):  # another process may have fetched it while this one waited
            if not sys.stderr.isatty():
                print(f"fetching {name} from {SOURCES[name]} into {target}", file=sys.stderr)
            fresh = stage / target.name
            fresh.mkdir(parents=True, exist_ok=True)
            (_fetch_fashion if name == "fashion-mnist" else _fetch_cifar)(stage, fresh, target)
            _move(fresh, target)
        shutil.rmtree(stage, ignore_errors=True)
    return located(name, home, download=False)


def _move(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    for file in fresh.iterdir():  # the folder lacks some files: a user may have deleted a damaged one
        if not (target / file.name).exists():
            file.replace(target / file.name)


def _fetch_fashion(stage: Path, fresh: Path, target: Path) -> None:
    for name in MD5["fashion-mnist"]:
        if file_of(target, name) or file_of(fresh, name):
            continue
        url, part = f"{SOURCES['fashion-mnist']}/{name}.gz", stage / f"{name}.gz.part"
        fetch(url, part, MOST["fashion-mnist"])
        with one_line(url, "try again later", discard=part):
            idx(part, name)
        part.rename(fresh / f"{name}.gz")


def _fetch_cifar(stage: Path, fresh: Path, target: Path) -> None:
    url, part = SOURCES["cifar-10"], stage / "cifar-10-python.tar.gz.part"
    fetch(url, part, MOST["cifar-10"])
    with one_line(url, "try again later", discard=stage):
        unpack(part, stage, {f"{fresh.name}/{name}" for name in MD5["cifar-10"]}, UNPACKED)
        for name in MD5["cifar-10"]:
            cifar_rows(fresh / name, name)
