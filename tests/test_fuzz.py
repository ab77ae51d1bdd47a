"""Made-up files: a result or one clear line, never a traceback. `python tools/fuzz.py --files 10000` makes more."""

import importlib.util
from collections import Counter

import pytest

from pages import ROOT

spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tools/fuzz.py")
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


def test_files_are_read_and_encoded_or_refused_in_one_line(tmp_path):
    count = Counter(fuzz.one_file(seed, tmp_path) for seed in range(150))
    assert min(count["fine"], count["refused"]) > 30


@pytest.mark.filterwarnings("ignore")  # warnings are for the user of the command
def test_commands_answer_or_refuse_in_one_line(tmp_path):
    count = Counter(fuzz.one_command(seed, tmp_path) for seed in range(6))
    assert count["fine"] and count["refused"]


@pytest.mark.slow
def test_ten_thousand_files(tmp_path):
    assert sum(Counter(fuzz.one_file(seed, tmp_path) for seed in range(10_000)).values()) == 10_000
