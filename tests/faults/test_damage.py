"""Every file of a model folder truncated and with flipped bits: refused in one line, or the same scores as before."""

import random
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from faults.conftest import METHODS, assert_one_line, fit
from faults.forked import Started, nursery, run

pytestmark = pytest.mark.faults
CUTS = 6  # truncations of each file


def damages(content, draw, flips):
    """The file cut off at some places, and with one bit flipped at others."""
    cuts = {0, 1, len(content) // 2, len(content) - 1, *(draw.randrange(len(content)) for _ in range(CUTS - 4))}
    yield from (content[:at] for at in sorted(cuts) if 0 <= at < len(content))
    for _ in range(flips):
        at, bit = draw.randrange(len(content)), draw.randrange(8)
        yield content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]


def load_all(folder: str, table: str, seconds: float, flips: int, answer: str) -> None:
    """Damage each file in turn, load the folder and score the table. Writes what happened; a crash writes nothing."""
    import json

    import distpu

    warnings.simplefilter("ignore")
    folder, rows, draw, start = Path(folder), pd.read_csv(table), random.Random(0), time.monotonic()
    whole = distpu.load(folder).decision_function(rows)
    count, wrong = {"refused": 0, "same": 0}, []
    for _ in range(100):
        for path in sorted(folder.iterdir()):
            if not path.stat().st_size:
                continue
            content = path.read_bytes()
            for damaged in damages(content, draw, flips):
                path.write_bytes(damaged)
                try:
                    same = np.array_equal(distpu.load(folder).decision_function(rows), whole)
                except (ValueError, FileNotFoundError) as error:
                    same = None
                    if "\n" in str(error) or len(str(error)) > 1500:
                        wrong.append(f"{path.name}: {error}"[:300])
                except Exception as error:
                    wrong.append(f"{path.name}: {type(error).__name__}: {error}"[:300])
                else:
                    if not same:
                        wrong.append(f"{path.name}: other scores")
                count["refused" if same is None else "same"] += 1
            path.write_bytes(content)
        if time.monotonic() - start > seconds:
            break
    Path(answer).write_text(json.dumps({**count, "wrong": wrong}))


@pytest.mark.parametrize("method", METHODS)
def test_files_that_were_damaged_are_loaded_or_refused(method, table, tmp_path, part):
    import json

    assert run(*fit(method, table, tmp_path / "run"), place=tmp_path).code == 0
    count = part(f"damaged files of {method}, loaded in Python", 10**6, 0.021)
    told = (str(tmp_path / "run"), str(table), count.seconds, 12, str(tmp_path / "answer"))
    Started.context = Started.context or nursery()
    process = Started.context.Process(target=load_all, args=told)
    process.start()
    process.join(20 * count.seconds + 120)
    assert process.exitcode == 0, f"it ended with {process.exitcode}"
    found = json.loads((tmp_path / "answer").read_text())
    assert not found["wrong"], found["wrong"][:10]
    count.tried = count.goal = found["refused"] + found["same"]
    count.note = f"{found['refused']:,} refused in one line, {found['same']:,} gave the same scores"


@pytest.mark.parametrize("method", ["dist-pu", "bagging-pu"])
def test_files_that_were_damaged_through_the_command_line(method, table, tmp_path, part):
    folder, out = tmp_path / "run", tmp_path / "out.csv"
    assert run(*fit(method, table, folder), place=tmp_path).code == 0
    words = ["predict", folder, table, "--out", out]
    assert run(*words, place=tmp_path).code == 0
    whole, draw = out.read_bytes(), random.Random(0)
    count, refused = part(f"damaged files of {method}, `predict` and `fit`", 40, 0.021), 0
    shutil.copytree(folder, tmp_path / "copy")
    while count.on:
        path = draw.choice([one for one in sorted(folder.iterdir()) if one.stat().st_size])
        content = path.read_bytes()
        path.write_bytes(draw.choice([*damages(content, draw, 6)]))
        for command in (words, fit(method, table, folder)):
            out.unlink(missing_ok=True)
            ended = run(*command, place=tmp_path)
            if ended.code:
                assert ended.code == 2, ended
                assert_one_line(ended.err)
                refused += 1
            elif command is words:
                assert out.read_bytes() == whole
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "copy", folder)
        count.tried += 1
    count.note = f"{refused} of {2 * count.tried} commands refused in one line, the others gave the same scores"
