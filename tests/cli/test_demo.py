"""`distpu demo`."""

import re

from distpu.study import runs as bench
from terminal import distpu


def test_demo(tmp_path, monkeypatch, no_training):
    tiny = {"dist-pu": {"warm_up_epochs": 1, "epochs": 1}, "nnpu": {"epochs": 1}, "naive": {"epochs": 1}}
    monkeypatch.setattr(bench, "settings_for", lambda method, *_: tiny[method])
    demo = ("demo", "--folder", tmp_path, "--prior", "true", "--seeds", "2")
    ended = distpu(*demo)
    assert ended.code == 0 and ended.err.count("test accuracy") == 3
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    lines = ended.out.splitlines()
    header = next(line for line in lines if "dist-pu" in line)
    assert header.split() == list(tiny)
    accuracy = next(line for line in lines if line.startswith("accuracy"))
    assert accuracy.count("±") == 3 and len(accuracy) <= 80
    runs = {f"{m}-seed{seed}" for m in tiny for seed in (0, 1)}
    assert {p.name for p in tmp_path.iterdir()} == {*runs, "demo.png", "penguins.csv", "penguins"}
    assert (tmp_path / "penguins/report.html").stat().st_size > 10_000
    called, females, hidden, expected = map(int, re.findall(r"\d+", ended.out.split("How right it was")[1])[:4])
    assert females > 0.6 * called and hidden == 105 and 50 < expected < 160
    assert all((tmp_path / run / "result.json").exists() for run in runs)

    (tmp_path / "mine.txt").write_text("keep")
    before = (tmp_path / "nnpu-seed0/done").stat().st_mtime_ns
    distpu(*demo, "--fresh")
    assert (tmp_path / "nnpu-seed0/done").stat().st_mtime_ns > before
    assert (tmp_path / "mine.txt").read_text() == "keep"
    no_training()
    second = distpu(*demo)
    assert second.code == 0 and second.err == ended.err
    timed = ("seconds", "trained")
    assert [x for x in second.out.splitlines() if not any(word in x for word in timed)] == [
        x for x in lines if not any(word in x for word in timed)
    ]
