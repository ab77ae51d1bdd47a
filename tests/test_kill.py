"""kill -9 at any moment, start again: the final weights are the same bits."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from distpu.files import atomic
from distpu.files.lock import lock
from distpu.files.run_folder import RunFolder
from killed import train

SCRIPT = Path(__file__).with_name("killed.py")
POINTS = [
    "epoch warm-up 0",
    "epoch warm-up 3",
    "epoch mixup 2",
    "writing 1",
    "writing 3",
    "moving 2",
    "between",
    "finishing",
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(folder)
    return folder


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, arguments)], env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def assert_same(folder, whole):
    assert (folder / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert (folder / "metrics.jsonl").read_text() == (whole / "metrics.jsonl").read_text()
    assert (folder / "done").exists() and not list(folder.glob("stage-*"))


QUICK = ("epoch mixup 2", "writing 1", "moving 2", "finishing")  # the others in make test-slow


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=[pytest.mark.slow] * (point not in QUICK)) for point in POINTS]
)
def test_killed_at_a_chosen_point(point, whole, tmp_path):
    process = start(tmp_path / "run", point)
    assert process.wait(120) == -signal.SIGKILL
    assert not (tmp_path / "run" / "done").exists()
    train(tmp_path / "run")
    assert_same(tmp_path / "run", whole)


def test_killed_from_outside_again_and_again(whole, tmp_path):
    folder, log, kills = tmp_path / "run", tmp_path / "run" / "metrics.jsonl", 0
    for lines in (1, 2, 5):
        process = start(folder)
        while process.poll() is None and not (log.exists() and len(log.read_text().splitlines()) >= lines):
            time.sleep(0.001)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    assert kills, "every process had ended before it could be killed"
    train(folder)
    assert_same(folder, whole)


@pytest.mark.parametrize(
    "damage", ["flipped", *(pytest.param(how, marks=pytest.mark.slow) for how in ("truncated", "empty"))]
)
def test_a_damaged_checkpoint_falls_back_to_the_one_before(damage, whole, tmp_path):
    folder = tmp_path / "run"
    assert start(folder, "epoch mixup 2").wait(120) == -signal.SIGKILL
    newest = folder / "stage-mixup.safetensors"
    content = bytearray(newest.read_bytes())
    if damage == "flipped":
        content[-5] ^= 1
    newest.write_bytes({"truncated": content[:-100], "flipped": content, "empty": b""}[damage])
    with pytest.warns(RuntimeWarning, match="stage-mixup.safetensors is damaged.*going on from the state before it"):
        train(folder)
    assert_same(folder, whole)


def test_all_checkpoints_of_a_stage_damaged(whole, tmp_path):
    folder = tmp_path / "run"
    assert start(folder, "epoch mixup 2").wait(120) == -signal.SIGKILL
    for path in folder.glob("stage-mixup*"):
        path.write_bytes(b"garbage")
    with pytest.warns(RuntimeWarning, match="is damaged"):
        train(folder)
    assert_same(folder, whole)


def test_a_run_that_was_stopped_counts_all_its_seconds(tmp_path):
    folder = tmp_path / "run"
    assert start(folder, "epoch mixup 2").wait(120) == -signal.SIGKILL
    before = RunFolder(folder).seconds()
    assert before > 0
    atomic.write_json(folder / "seconds.json", {"seconds": before + 1000})
    train(folder)
    assert 1000 + before < RunFolder(folder).seconds() < 1000 + before + 100
    for text in ("", '{"seconds": null}', "[]"):
        (folder / "seconds.json").write_text(text)
        assert RunFolder(folder).seconds() == 0


def test_one_process_per_folder(tmp_path):
    with lock(tmp_path), pytest.raises(ValueError, match="being trained by another process"), lock(tmp_path):
        pass
    with lock(tmp_path):  # free again
        pass
