"""The examples run, and find what they say."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def output(name, *args):
    (path,) = (path for path in EXAMPLES if path.stem == name)
    ended = subprocess.run([sys.executable, path, *args], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def numbers(text, pattern):
    return [float(number) for number in re.search(pattern, text).groups()]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_an_example_imports_is_there(path):
    assert "main" in runpy.run_path(str(path))


def test_a_table():
    text = output("table")
    estimated, true = numbers(text, r"share of cases among them: ([\d.]+)%; the truth is ([\d.]+)%")
    assert abs(estimated - true) < 10
    assert numbers(text, r"among the first 50 rows: (\d+)")[0] >= 45
    assert numbers(text, r"rows called right: ([\d.]+)%")[0] > 88


@pytest.mark.slow
def test_images(tmp_path):
    text = output("images", str(tmp_path / "picture.png"))
    found, there = numbers(text, r"found: (\d+) of (\d+)")
    assert found > 0.9 * there
    assert numbers(text, r"of which ([\d.]+)% are zeros")[0] > 80
    assert (tmp_path / "picture.png").stat().st_size > 5_000


@pytest.mark.slow
def test_a_method_of_ones_own():
    text = output("add_a_method")
    ours, _ = numbers(text, r"rank-pu +accuracy ([\d.]+)%  AUC ([\d.]+)")
    theirs, _ = numbers(text, r"nnpu +accuracy ([\d.]+)%  AUC ([\d.]+)")
    assert ours > 80 and theirs > 80
