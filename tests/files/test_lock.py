"""The one lock: a second process waits or is refused; nothing outside the folder is touched."""

import errno
import fcntl
import os
import subprocess
import sys
import time

import pytest

from distpu.files.lock import lock

HOLD = """
import sys, time
from pathlib import Path
from distpu.files.lock import lock
with lock(Path(sys.argv[1]), leave_file=sys.argv[2] == "file"):
    print("held", flush=True)
    time.sleep(float(sys.argv[3]))
"""


def hold(folder, kind, seconds):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), kind, str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_second_process_is_refused_or_waits(kind, tmp_path):
    leave = kind == "file"
    with hold(tmp_path, kind, 60) as process:
        with pytest.raises(ValueError, match="is being trained by another process; wait for it or name another"):
            with lock(tmp_path, leave_file=leave):
                pass
        process.kill()  # the system drops the lock
    with lock(tmp_path, leave_file=leave):
        pass
    with hold(tmp_path, kind, 0.5):
        start = time.monotonic()
        with lock(tmp_path, wait=True, leave_file=leave):
            assert time.monotonic() - start > 0.2
    assert os.listdir(tmp_path) == ([".lock"] if leave else [])


def test_a_disk_without_locks_is_no_obstacle(tmp_path, monkeypatch):
    def refuse(number):
        def flock(*_):
            raise OSError(number, os.strerror(number))

        return flock

    monkeypatch.setattr(fcntl, "flock", refuse(errno.ENOLCK))
    with lock(tmp_path), lock(tmp_path, wait=True, leave_file=False):
        pass
    monkeypatch.setattr(fcntl, "flock", refuse(errno.EIO))
    with pytest.raises(ValueError, match="cannot be written"), lock(tmp_path):
        pass


def test_a_lock_that_is_a_link_or_a_pipe_is_refused(tmp_path):
    folder, outside = tmp_path / "run", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("precious")
    for target in (outside, tmp_path / "nowhere"):
        (folder / ".lock").symlink_to(target)
        with (
            pytest.raises(ValueError, match=r"\.lock is a link, which distpu does not follow; remove it"),
            lock(folder),
        ):
            pass
        (folder / ".lock").unlink()
    assert outside.read_text() == "precious" and not (tmp_path / "nowhere").exists()
    os.mkfifo(folder / ".lock")
    with pytest.raises(ValueError, match=r"\.lock is not a plain file; remove it"), lock(folder):
        pass


def test_a_file_of_the_same_inode_is_not_emptied(tmp_path):
    (tmp_path / "outside").write_text("precious")
    (tmp_path / "run").mkdir()
    os.link(tmp_path / "outside", tmp_path / "run/.lock")
    with lock(tmp_path / "run"):
        pass
    assert (tmp_path / "outside").read_text() == "precious"
