"""Disks that fill at every write, and disks that become read-only: one line, and the same command goes on later."""

import random

import pytest

from faults.conftest import METHODS, assert_one_line, assert_same, fit
from faults.forked import Started, run, slept

pytestmark = pytest.mark.faults
PAGE = 4096
ROOM = 2**26


def used(folder):
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("method", ["dist-pu", "bagging-pu"])
def test_fit_on_a_disk_that_fills(method, table, tmp_path, disk, part):
    """The disk has one page more each time, up to what the whole run takes: it fills at every write in turn."""
    assert run(*fit(method, table, tmp_path / "whole"), place=tmp_path).code == 0
    most = used(tmp_path / "whole") // PAGE + 2
    count, draw = part(f"a disk that fills, `fit` of {method}", 25, 0.035), random.Random(method)
    sizes = sorted(draw.sample(range(1, most), min(count.goal, most - 1)))
    count.goal, full = len(sizes), 0
    while count.on:
        pages = sizes.pop(draw.randrange(len(sizes)))
        place = disk(pages * PAGE)
        ended = run(*fit(method, table, place / "run"), place=tmp_path)
        if ended.code:
            assert ended.code == 2, ended
            assert_one_line(ended.err)
            assert "No space left on device" in ended.err or "there is no room" in ended.err, ended.err
            assert not list((place / "run").glob(".*.tmp")), "a temporary file is left"
            full += 1
        disk(ROOM)
        ended = run(*fit(method, table, place / "run"), place=tmp_path)
        assert ended.code == 0, ended.err
        assert_same(place / "run", tmp_path / "whole")
        disk.clear()
        count.tried += 1
    count.note = f"{full} were full; all ended with the same bits after room was made"


def test_fit_on_a_disk_without_room_for_another_file(table, tmp_path, disk, part):
    count = part("a disk that takes no more files, `fit` of nnpu", 10, 0.014)
    assert run(*fit("nnpu", table, tmp_path / "whole"), place=tmp_path).code == 0
    while count.on:
        place = disk(ROOM, 2 + count.tried)
        ended = run(*fit("nnpu", table, place / "run"), place=tmp_path)
        if ended.code:
            assert ended.code == 2, ended
            assert_one_line(ended.err)
        disk(ROOM, 1000)
        ended = run(*fit("nnpu", table, place / "run"), place=tmp_path)
        assert ended.code == 0, ended.err
        assert_same(place / "run", tmp_path / "whole")
        disk.clear()
        count.tried += 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_to_a_disk_that_fills(ending, table, tmp_path, disk, part):
    import pandas as pd

    assert run(*fit("nnpu", table, tmp_path / "model"), place=tmp_path).code == 0
    pd.concat([pd.read_csv(table)] * 20, ignore_index=True).to_csv(tmp_path / "rows.csv", index=False)
    words = ["predict", tmp_path / "model", tmp_path / "rows.csv", "--out"]
    assert run(*words, tmp_path / f"whole.{ending}", place=tmp_path).code == 0
    count, full = part(f"a disk that fills, `predict` to .{ending}", 20, 0.021), 0
    while count.on:
        place = disk((1 + 2 * count.tried) * PAGE)
        out = place / f"o.{ending}"
        ended = run(*words, out, place=tmp_path)
        if ended.code:
            assert ended.code == 2, ended
            assert_one_line(ended.err)
            assert not out.exists() and {path.name for path in place.iterdir()} <= {f".o.{ending}.part"}
            full += 1
        disk(ROOM)
        assert run(*words, out, place=tmp_path).code == 0
        assert out.read_bytes() == (tmp_path / f"whole.{ending}").read_bytes()
        assert [path.name for path in place.iterdir()] == [out.name]
        disk.clear()
        count.tried += 1
    count.note = f"{full} were full; all ended with the same bits after room was made"


def test_files_that_may_not_grow(table, tmp_path, part):
    """A limit on the size of files, as a quota sets it: it needs no root."""
    assert run(*fit("nnpu", table, tmp_path / "whole"), place=tmp_path).code == 0
    largest = max(path.stat().st_size for path in (tmp_path / "whole").iterdir())
    count, draw = part("a limit on the size of files, `fit` of nnpu", 20, 0.021), random.Random(0)
    while count.on:
        folder = tmp_path / f"run-{count.tried}"
        ended = run(*fit("nnpu", table, folder), place=tmp_path, largest=draw.randrange(1, largest))
        assert ended.code == 2, ended
        ended = run(*fit("nnpu", table, folder), place=tmp_path)
        assert ended.code == 0, ended.err
        assert_same(folder, tmp_path / "whole")
        count.tried += 1


def test_a_disk_that_becomes_read_only(table, tmp_path, disk, part):
    count, draw = part("a disk that becomes read-only while `fit` runs", 12, 0.021), random.Random(0)
    for method in METHODS:
        assert run(*fit(method, table, tmp_path / method), place=tmp_path).code == 0
    while count.on:
        method = list(METHODS)[count.tried % len(METHODS)]
        place = disk(ROOM)
        process = Started(*fit(method, table, place / "run"), place=tmp_path)
        slept(draw.uniform(0, 1))
        try:
            disk(ROOM, options=",ro")
        except AssertionError:  # a file is open for writing just now: the system refuses
            assert process.ended().code == 0
        else:
            ended = process.ended()
            if ended.code:
                assert ended.code == 2, ended
                assert_one_line(ended.err)
        disk(ROOM, options=",rw")
        ended = run(*fit(method, table, place / "run"), place=tmp_path)
        assert ended.code == 0, ended.err
        assert_same(place / "run", tmp_path / method)
        disk(ROOM, options=",ro")
        assert "finished before" in run(*fit(method, table, place / "run"), place=tmp_path).out
        disk.clear()
        count.tried += 1
