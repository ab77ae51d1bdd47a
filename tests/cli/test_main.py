"""Help, and how a command ends."""

import subprocess
import sys

import pytest

import distpu as package
from distpu import datasets
from terminal import distpu, done


def test_the_command_line_imports_late():
    code = "import sys, distpu.cli; print({'torch', 'sklearn', 'pandas', 'matplotlib'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_a_real_process():
    run = [sys.executable, "-m", "distpu"]
    version = subprocess.run([*run, "--version"], capture_output=True, text=True)
    assert (version.returncode, version.stdout) == (0, f"distpu {package.__version__}\n")
    mistake = subprocess.run([*run, "fit", "digits", "--set", "epochs"], capture_output=True, text=True)
    assert (mistake.returncode, mistake.stdout) == (2, "")
    assert mistake.stderr == "distpu: --set epochs must read field=value, such as --set epochs=20\n"


def test_help_comes_with_an_example():
    assert distpu() == distpu("--help")
    assert "distpu fit table.csv --label fraud" in done("--help")
    for command in (
        "fit",
        "predict",
        "show",
        "export",
        "serve",
        "prior",
        "demo",
        "reproduce",
        "compare",
        "methods",
        "data",
    ):
        assert command in done("--help")
        assert f"\n      distpu {command}" in done(command, "--help")  # an example on a line of its own
    assert "..." not in done("--help").split("Commands:")[1]  # no summary is cut off


def test_a_stop_says_that_it_can_go_on(monkeypatch):
    def stopped(root):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "catalog", stopped)
    ended = distpu("data")
    assert (
        ended.code == 130
        and ended.err == "distpu: stopped; what was finished is kept, and the same command goes on from there\n"
    )


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    def broken(root):
        raise RuntimeError("a bug")

    monkeypatch.setattr(datasets, "catalog", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        distpu("data")


def test_a_warning_is_one_line_on_stderr(monkeypatch):
    import warnings

    def warns(root):
        warnings.warn("two\nlines", UserWarning, stacklevel=1)
        return []

    monkeypatch.setattr(datasets, "catalog", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert distpu("data").err == "distpu: two lines\n"


@pytest.mark.parametrize("command", ["fit", "compare", "tune", "diagnose", "prior"])
def test_the_help_names_the_kinds_of_tables(command):
    said = " ".join(distpu(command, "--help", columns=500).out.split())
    assert "A table (.csv, .tsv, .parquet, .arrow or .xlsx, or a folder of them)" in said
