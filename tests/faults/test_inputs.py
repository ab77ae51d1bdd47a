"""Ten thousand made-up inputs: a result or one clear line, no traceback, no hang, no wrong answer in silence."""

import importlib.util
import json
import time
import traceback
from collections import Counter
from pathlib import Path

import pytest

from faults.forked import Started, nursery
from pages import ROOT

pytestmark = pytest.mark.faults


def throw(kind: str, first: int, number: int, seconds: float, folder: str, answer: str) -> None:
    """Throw inputs of these seeds; write how many were fine and refused, and what went wrong."""
    import warnings

    warnings.simplefilter("ignore")
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "tools/fuzz.py")
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    start, count, wrong = time.monotonic(), Counter(), []
    for seed in range(first, first + number):
        Path(f"{answer}.seed").write_text(f"{kind} {seed}")  # that a hang or a crash names
        try:
            count[getattr(fuzz, f"one_{kind}")(seed, Path(folder))] += 1
        except Exception:
            wrong.append(f"{kind} seed {seed}: {traceback.format_exc()[-600:]}")
        if time.monotonic() - start > seconds:
            break
    Path(answer).write_text(json.dumps({**count, "wrong": wrong}))


WHAT = {
    "file": ("tables in files, read and encoded", 8_000, 0.113),
    "array": ("arrays and labels, through `fit` and `predict` in Python", 1_700, 0.043),
    "command": ("files, through the commands", 300, 0.085),
}


@pytest.mark.parametrize("kind", WHAT)
def test_made_up_inputs(kind, tmp_path, part):
    what, number, share = WHAT[kind]
    count = part(f"fuzzed {what}", number, share)
    Started.context = Started.context or nursery()
    told = (kind, 1_000_000, number, count.seconds, str(tmp_path), str(tmp_path / "answer"))
    process = Started.context.Process(target=throw, args=told)
    process.start()
    process.join(3 * count.seconds + 120)
    at = (tmp_path / "answer.seed").read_text()
    if process.is_alive():
        process.kill()
        raise AssertionError(f"it hung at {at}")
    assert process.exitcode == 0, f"it ended with {process.exitcode} at {at}"
    found = json.loads((tmp_path / "answer").read_text())
    assert not found["wrong"], "\n\n".join(found["wrong"][:5])
    count.tried = found.get("fine", 0) + found.get("refused", 0)
    count.note = f"{found.get('fine', 0):,} gave a result, {found.get('refused', 0):,} were refused in one line"
