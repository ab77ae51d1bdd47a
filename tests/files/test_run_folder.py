"""A run folder from somebody else: fit writes nothing outside it, whatever it holds."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import distpu
from distpu.files.run_folder import RunFolder
from small import interrupt, small

X = np.random.default_rng(0).normal(size=(60, 6))
S = np.arange(60) < 20
STAGE = "stage-nnpu.safetensors"


def fit(folder):
    return small("nnpu", prior=0.4, epochs=3).fit(X, S, folder=folder)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run folder whose process was stopped in its third epoch."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        interrupt(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            fit(folder)
    assert (folder / STAGE).exists()
    return folder


@pytest.fixture
def place(stopped, tmp_path):
    (tmp_path / "outside").write_text("precious")
    return shutil.copytree(stopped, tmp_path / "run")


def assert_nothing_outside(place):
    assert (place.parent / "outside").read_text() == "precious"
    assert sorted(os.listdir(place.parent)) == ["outside", "run"]


@pytest.mark.parametrize("name", sorted({*RunFolder.NAMES, STAGE, "stage-other.before.safetensors", "part-0001.skops"}))
@pytest.mark.parametrize("target", ["outside", "nowhere"])
def test_a_file_that_is_a_link_is_refused(name, target, place):
    (place / name).unlink(missing_ok=True)
    (place / name).symlink_to(place.parent / target)
    with pytest.raises(ValueError, match=r"is a link[,;] .*(name another folder|remove it)$") as error:
        fit(place)
    assert str(place / name) in str(error.value) and "\n" not in str(error.value)
    assert_nothing_outside(place)


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_file_that_is_not_plain_is_refused(kind, place):
    (place / "metrics.jsonl").unlink()
    os.mkfifo(place / "metrics.jsonl") if kind == "pipe" else (place / "metrics.jsonl").mkdir()
    with pytest.raises(ValueError, match=r"metrics.jsonl is not a plain file; .* name another folder"):
        fit(place)


OLD_TEMPORARY = ["config.json.tmp", "metrics.jsonl.tmp", "model.json.tmp", STAGE + ".tmp", "done.tmp"]
TEMPORARY = [*OLD_TEMPORARY, ".config.json.0123456789abcdef.tmp", f".{STAGE}.0123456789abcdef.tmp"]


@pytest.mark.parametrize("linked", [False, True], ids=["left by a killed process", "a link"])
def test_temporary_files_are_removed_and_never_written_through(linked, place):
    for name in TEMPORARY:
        if linked:
            (place / name).symlink_to(place.parent / "outside")
        else:
            (place / name).write_text("half of")
    (place / "notes.tmp").write_text("the user's own")
    fit(place)
    assert_nothing_outside(place)
    left = sorted(p.name for p in place.iterdir() if p.name.endswith(".tmp"))
    assert left == ["notes.tmp"] and (place / "notes.tmp").read_text() == "the user's own"


@pytest.mark.parametrize("left", ["config.json.tmp", ".config.json.0123456789abcdef.tmp"])
def test_a_process_killed_before_its_first_file_blocks_no_second(left, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / left).write_text("{")
    fit(tmp_path / "run")
    assert RunFolder(tmp_path / "run").finished and not (tmp_path / "run" / left).exists()


def test_a_log_with_a_second_name_is_not_appended_to(place):
    (place / "metrics.jsonl").unlink()
    os.link(place.parent / "outside", place / "metrics.jsonl")
    fit(place)
    assert_nothing_outside(place)


def test_the_folder_itself_may_be_a_link_that_the_user_named(place):
    (place.parent / "latest").symlink_to(place)
    fit(place.parent / "latest")
    assert RunFolder(place).finished


def test_the_room_loads_no_torch():
    code = (
        "import sys, distpu.files.run_folder, distpu.files.out; "
        "print(sorted({'torch', 'numpy', 'safetensors'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_other_room_spells_a_name():
    """Only files/ opens or writes a file of a run by its name; prose may speak of one."""
    source = Path(distpu.__file__).parent
    names = RunFolder.NAMES
    for path in sorted(source.rglob("*.py")):
        if path.parent.name == "files":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
                word = node.value.isalpha()  # "done" is also what was done to a column
                spelt = [name for name in names if node.value.endswith(f"/{name}") or (node.value == name and not word)]
                spelt += [name for name in (".safetensors", ".skops") if name in node.value]
                assert not spelt, f"{path}:{node.lineno} spells {node.value!r}; ask RunFolder"
