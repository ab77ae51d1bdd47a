"""docs/images.md to the letter: its code and its commands, in order."""

import csv
import re
import shlex

from distpu.answer.pictures import CPU_SIDE
from distpu.datasets.cache import LIMIT_GB
from distpu.datasets.images import SIZES
from pages import text_of
from terminal import done

PAGE = "docs/images.md"


def test_the_guide_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    scope, said = {}, {}
    for language, block in re.findall(r"```(python|)\n(.*?)```", text_of(PAGE), re.DOTALL):
        if language:
            exec(block, scope)
            continue
        for line in block.splitlines():
            command, *words = shlex.split(line)
            assert command == "distpu"
            if "timm" not in line:
                said[line] = done(*words)
    run = tmp_path / "runs/zeros-dist-pu-seed0"
    ranked = list(csv.DictReader((run / "scores.csv").read_text().splitlines()))
    hidden = (scope["digit"][200:400] == 0).sum()
    right = [scope["digit"][int(row["id"][10:14])] == 0 for row in ranked[:hidden]]
    assert sum(right) > 0.8 * hidden and len(ranked) + (scope["digit"][:200] == 0).sum() == 400
    assert "<img src=" in (run / "report.html").read_text()
    assert len(list(csv.DictReader((tmp_path / "new.csv").read_text().splitlines()))) == len(ranked)
    by_table = list(csv.DictReader((tmp_path / "runs/by-table/scores.csv").read_text().splitlines()))
    assert by_table == [{**row, "id": f"zeros/{row['id']}"} for row in ranked]
    told = capsys.readouterr().out.strip()
    assert re.fullmatch(r"about \d+ of \d+ images are zeros; the likeliest: unlabeled/\d{4}\.png", told), told
    assert (tmp_path / "vectors.csv").exists()


def test_the_guides_numbers_are_the_codes():
    text = " ".join(text_of(PAGE).split())
    *first, last = map(str, SIZES)
    assert f"{', '.join(first)} or {last} pixels" in text
    assert f"without a GPU at most {CPU_SIDE};" in text and f"at most {CPU_SIDE} x {CPU_SIDE} pixels" in text
    assert f"at most {LIMIT_GB:g} GB" in text
