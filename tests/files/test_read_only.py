"""A finished run on a disk that cannot be written: it is asked again, and nothing is written."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from distpu import fit_file
from distpu.files import atomic
from distpu.files.run_folder import RunFolder
from terminal import distpu, done

SETTINGS = ("--method", "nnpu", "--prior", "0.4", "--set", "epochs=1")


@contextmanager
def read_only(folder):
    """A read-only mount where this is allowed; else a folder without the right to write."""
    mounted = os.geteuid() == 0 and _mount("--bind", folder, folder) and _mount("-o", "remount,bind,ro", folder)
    if not mounted and os.geteuid() == 0:
        pytest.skip("root may write everywhere, and may not mount here")
    if not mounted:
        folder.chmod(0o500)
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
        else:
            folder.chmod(0o700)


def _mount(*words):
    return not subprocess.run(["mount", *map(str, words)], capture_output=True).returncode


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(80, 3)), columns=list("abc")).assign(y=np.arange(80) < 25)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_file_is_asked_again(table, tmp_path):
    command = ("fit", table, "--label", "y", *SETTINGS, "--folder", tmp_path / "run")
    done(*command)
    before = content(tmp_path / "run")
    with read_only(tmp_path / "run"):
        told = distpu(*command)
        assert (told.code, told.err) == (0, "") and "finished before, not trained again" in told.out
        assert "not trained again" in done(*command, "--no-report") and done("report", tmp_path / "run")
    assert content(tmp_path / "run") == before


def test_a_copy_elsewhere_answers_with_a_warning(table, tmp_path):
    """Its page would name another folder."""
    fit_file(table, "y", method="elkan-noto", folder=tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    (tmp_path / "copy" / RunFolder.RANKED).unlink()
    before = content(tmp_path / "copy")
    with read_only(tmp_path / "copy"), pytest.warns(UserWarning, match="scores.csv cannot be written .*stays as it is"):
        again = fit_file(table, "y", method="elkan-noto", folder=tmp_path / "copy", report=False)
    with read_only(tmp_path / "run"), pytest.warns(UserWarning, match="report.json cannot be written .*stays as it is"):
        fit_file(table.rename(tmp_path / "other.csv"), "y", method="elkan-noto", folder=tmp_path / "run")
    assert again.finished_before and content(tmp_path / "copy") == before


def test_a_named_set_is_asked_again(tmp_path):
    command = ("fit", "digits", "--method", "nnpu", "--set", "epochs=1", "--folder", tmp_path / "run")
    done(*command)
    with read_only(tmp_path / "run"):
        assert "finished before, not trained again" in done(*command)


def test_what_is_not_finished_is_refused(table, tmp_path):
    (tmp_path / "run").mkdir()
    with read_only(tmp_path / "run"):
        told = distpu("fit", table, "--label", "y", *SETTINGS, "--folder", tmp_path / "run")
    assert told.code == 2 and "run cannot be written (" in told.err and "name another folder" in told.err


def test_a_file_is_written_again_where_its_content_differs(tmp_path):
    path = tmp_path / "file"
    atomic.renew(path, b"abc")
    at = path.stat().st_ino
    atomic.renew(path, b"abc")
    assert path.stat().st_ino == at
    for other in (b"ab", b"abcd", b"abd", b""):
        atomic.renew(path, other)
        assert path.read_bytes() == other
    assert atomic.holds(path, []) and not atomic.holds(path, [b"a"]) and not atomic.holds(tmp_path / "none", [])
    (tmp_path / "real").write_bytes(b"abc")
    path.unlink()
    path.symlink_to(tmp_path / "real")
    atomic.renew(path, b"abc")
    assert not path.is_symlink() and path.read_bytes() == b"abc"


def test_what_a_kill_left_while_the_answer_was_written_is_removed(table, tmp_path):
    command = ("fit", table, "--label", "y", *SETTINGS, "--folder", tmp_path / "run")
    done(*command)
    before = content(tmp_path / "run")
    (tmp_path / "run/.report.html.0123456789abcdef.tmp").write_bytes(b"half a pa")
    (tmp_path / "run/.mine.tmp").write_bytes(b"of the user")
    (tmp_path / "run/stage-nnpu.safetensors").write_bytes(b"a checkpoint; the kill came after the file done")
    assert "not trained again" in done(*command)
    assert content(tmp_path / "run") == {**before, ".mine.tmp": b"of the user"}
