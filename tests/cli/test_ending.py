"""How a command ends: with closed or full streams, stopped early, with a value of ten thousand characters."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from distpu import datasets
from distpu.cli import _ending
from distpu.cli._options import read_settings
from terminal import distpu, refused

COMMAND = [sys.executable, "-m", "distpu"]


def shell(line):
    words = f"{sys.executable} -m distpu {line}"
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", ["--version", "data", "--help"])
def test_a_closed_or_full_stdout_is_one_line(command):
    for stream, why in ((">&-", "is closed"), (">/dev/full", "cannot be written (No space left on device)")):
        ended = shell(f"{command} {stream}")
        told = f"distpu: standard output {why}; send it to a file, or to /dev/null if it is not needed\n"
        assert (ended.returncode, ended.stderr) == (2, told)


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_reads_no_more_is_no_mistake(reader):
    ended = shell(f"data | {reader}; echo ${{PIPESTATUS[0]}} >&2")
    assert ended.stderr in ("0\n", "1\n")  # 0: all was written before the reader ended


def test_a_mistake_has_its_exit_code_where_nobody_reads_stderr():
    assert [shell(f"nonsense {stream}").returncode for stream in ("2>&-", "2>/dev/full", ">&- 2>&-")] == [2, 2, 2]


def test_no_file_takes_the_number_of_a_closed_stream(tmp_path):
    """What a library prints by its number would land in that file."""
    code = """
import os, sys
from distpu.cli._ending import ended
def command():
    with open(sys.argv[1], "w") as file:
        os.system("echo printed; echo printed >&2")
        file.write("content")
ended(command)
"""
    run = f"{sys.executable} -c '{code}' {tmp_path / 'file'} <&- >&- 2>&-"
    subprocess.run(["bash", "-c", run], check=False, timeout=60)
    assert (tmp_path / "file").read_text() == "content"


def test_ctrl_c_before_the_command_line_is_imported_ends_without_a_traceback(tmp_path):
    """The signal comes when a module is looked for: so the moment is the same each time."""
    code = """
import os, signal, sys
class Stops:
    def find_spec(self, name, *_):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stops())
sys.argv[2:] = ["fit", "digits"]
from distpu.__main__ import main
main()
"""
    for name, end in (("distpu.cli", -signal.SIGINT), ("typer", -signal.SIGINT), ("distpu.cli.fit", -signal.SIGINT)):
        ended = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stderr) == (end, ""), name


SWALLOWS = """
import importlib, os, signal, sys, types
from distpu.cli._ending import ended
class Swallows:  # as modules do that try something else when an import fails
    def find_spec(self, name, *_):
        if name == "json":
            try:
                os.kill(os.getpid(), signal.SIGINT)
                sum(range(1000))
            except BaseException:
                pass
sys.meta_path.insert(0, Swallows())
sys.modules.pop("json", None)
sys.exit(ended(lambda: importlib.import_module("json") and None))
"""


def test_ctrl_c_in_an_import_is_not_swallowed():
    ended = subprocess.run([sys.executable, "-c", SWALLOWS], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (130, f"distpu: {_ending.GOES_ON}\n")


def test_a_job_in_the_background_goes_on_after_ctrl_c():
    """A shell without job control starts it with SIGINT ignored."""
    process = subprocess.Popen(
        [*COMMAND, "data"],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert b"digits" in process.communicate(timeout=60)[0] and process.returncode == 0


def test_a_working_folder_that_is_gone(tmp_path):
    (tmp_path / "gone").mkdir()
    ended = subprocess.run(
        ["bash", "-c", f"cd {tmp_path / 'gone'}; rmdir {tmp_path / 'gone'}; {sys.executable} -m distpu fit digits"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.stderr.endswith("distpu: the working folder does not exist any more; change to another one (cd)\n")
    assert ended.returncode == 2 and "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "there is not enough memory; give fewer rows or columns, or end other programs"),
        (MemoryError("9 GiB"), "there is not enough memory (9 GiB); give fewer rows or columns, or end other programs"),
        (OSError(errno.ENOSPC, "No space", "a/b"), "a/b: No space; free some room, and the same command goes on "
         "from there"),
        (OSError(errno.EACCES, "Permission denied", "a/b"), "a/b: Permission denied"),
        (FileNotFoundError("x is not there; make it"), "x is not there; make it"),
    ],
)  # fmt: skip
def test_errors_of_the_system_are_one_line(error, line, monkeypatch):
    def broken(root):
        raise error

    monkeypatch.setattr(datasets, "catalog", broken)
    assert refused("data") == f"distpu: {line}\n"


def test_a_long_value_is_shortened():
    long = "q" * 12_000
    for words in (
        ["fit", "digits", "--method", long],
        ["fit", f"{long}.csv", "--label", "y"],
        ["fit", "digits", "--set", long],
        ["fit", "digits", "--prior", long],
        ["predict", long, "digits"],
        ["reproduce", long],
        [long],
        ["fit", "digits", f"--{long}"],
    ):
        line = refused(*words)
        assert "qqqqq...qqqqq" in line and len(line) < 1500, words


@pytest.mark.parametrize(
    "text", ["-" * 100_000 + "1", "1+" * 50_000 + "1", "[" * 500 + "]" * 500, "(" * 5000, "9" * 5000]
)
def test_a_setting_that_is_nested_too_deeply_is_a_text(text):
    assert read_settings([f"epochs={text}"]) == {"epochs": text}
    line = refused("fit", "digits", "--method", "nnpu", "--set", f"epochs={text}")
    assert line.startswith("distpu: epochs=") and "must be a whole number" in line and len(line) < 1500


@pytest.mark.parametrize("columns", ["0", "-5", "1", "5", "100000", "x"])
def test_a_terminal_of_any_width(columns):
    assert distpu("data", columns=columns).code == 0


def test_characters_that_the_terminal_lacks_are_spelt_out():
    ended = subprocess.run(
        [*COMMAND, "compare", "--help"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        timeout=60,
    )
    assert ended.returncode == 0 and not ended.stderr
