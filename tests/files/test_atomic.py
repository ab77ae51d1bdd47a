"""Files are written whole or not at all, through no link, and a failure leaves nothing behind."""

import errno
import os
import stat

import pytest

from distpu.files import atomic


def test_a_full_disk_leaves_the_old_content_and_no_temporary_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    atomic.write(path, b"old")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as error:
        atomic.write(path, b"new")
    assert error.value.filename == str(path) and error.value.errno == errno.ENOSPC
    assert str(error.value).endswith(f": '{path}'")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]


def test_a_file_size_limit_leaves_no_temporary_file(tmp_path):
    """The system itself refuses to write, as on a full disk."""
    resource = pytest.importorskip("resource")
    pid = os.fork()
    if pid == 0:  # the limit cannot be raised again: in a process of its own
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            atomic.write(tmp_path / "file", bytes(100_000))
        except OSError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert os.listdir(tmp_path) == []


def test_a_temporary_name_cannot_be_guessed(tmp_path):
    names = set()
    for _ in range(3):
        with atomic.temporary(tmp_path / "file"):
            names.update(os.listdir(tmp_path))
        (tmp_path / "file").unlink()
    assert len(names) == 3 and {atomic.left_over(name) for name in names} == {"file"}
    assert atomic.left_over("config.json.tmp") == "config.json"  # as version 0.1 called it
    assert atomic.left_over("notes.txt") is None and atomic.left_over(".tmp") is None


def test_a_link_is_replaced_and_never_followed(tmp_path):
    outside, link = tmp_path / "outside", tmp_path / "link"
    outside.write_text("precious")
    link.symlink_to(outside)
    with pytest.raises(OSError):
        atomic.append(link, b"more")
    atomic.write(link, b"new")
    assert not link.is_symlink() and link.read_text() == "new" and outside.read_text() == "precious"


def test_the_mode_is_that_of_any_new_file(tmp_path):
    before = os.umask(0o027)
    try:
        atomic.write(tmp_path / "new", b"")
        atomic.write(tmp_path / "given", b"", mode=0o606)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "given").stat().st_mode) == 0o606


@pytest.mark.parametrize("content", [b"", b"{nonsense", b"\xff\x00", b"[" * 100_000, b"1" * 5000], ids=lambda b: b[:3])
def test_what_is_not_json_is_one_line(content, tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"config\.json is not valid JSON \(.*\); the folder is damaged") as error:
        atomic.read_json(path)
    assert "\n" not in str(error.value)


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ValueError, match="it is not a plain file"):
        atomic.read_json(tmp_path / "config.json")
