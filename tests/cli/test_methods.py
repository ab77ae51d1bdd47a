"""`distpu methods` and `distpu data`."""

from dataclasses import fields

import pytest

from distpu import METHODS, datasets
from distpu.params import paper_value
from terminal import done


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lists_cut_nothing_off(columns, tmp_path):
    root = tmp_path / "a-folder-with-a-rather-long-name" / "and-another"
    text = done("data", "--data-root", root, columns=columns)
    lines = [line.split() for line in text.splitlines()]
    for info in datasets.catalog(root):
        line = next(line for line in lines if line and line[0] == info.name)
        assert {str(info.train), str(info.test), str(info.labelled), "x".join(map(str, info.shape))} <= set(line)
        assert info.where in text or str(root) in text  # a path in one piece
    listed = done("methods", columns=columns)
    assert [line.split(" ")[0] for line in listed.splitlines()[1:-2] if line[0] != " "] == [*METHODS]
    for printed in (listed, done("methods", "dist-pu", columns=columns)):
        assert "…" not in printed and max(map(len, printed.splitlines())) <= max(columns, 68)


def test_a_method_shows_its_settings():
    text = done("methods", "dist-pu")
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for field in fields(METHODS["dist-pu"]):
        assert [field.name, str(paper_value(field))] in [line[:2] for line in lines]
    assert "R_lab = 2 prior |E_P[p] - 1| + |E_U[p] - prior|" in text
    assert "CVPR 2022" in text and "from distpu import DistPU" in text
    flat = " ".join(text.split())
    assert "(at least 0 and at most 1)" in flat and "(auto, True, False)" in flat
    for name in METHODS:
        assert done("methods", name).startswith(name)
