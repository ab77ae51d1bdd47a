"""Experiments and results are found in the working folder, in the clone and in the package."""

import shutil

import pytest

from distpu.study import experiment as experiments
from distpu.study import places, reproduce
from distpu.study.places import Results
from study.tiny import REPOSITORY, line
from terminal import done


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An installed copy without a clone, and an empty working folder."""
    shutil.copytree(REPOSITORY / "experiments/paper", tmp_path / "package/experiments/paper")
    shutil.copytree(REPOSITORY / "results/paper/table-2", tmp_path / "package/results/paper/table-2")
    monkeypatch.setattr(places, "CLONE", tmp_path / "none")
    monkeypatch.setattr(places, "PACKAGE", tmp_path / "package")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "package"


def counted(text, name):
    row = next(row.split() for row in text.splitlines() if row.startswith(f"{name} "))
    return row[1:4]


def test_outside_the_clone_the_list_says_what_the_clone_has(tmp_path, monkeypatch):
    inside = done("reproduce")
    monkeypatch.chdir(tmp_path)
    outside = done("reproduce")
    assert outside == inside
    assert counted(outside, "figure-1") == ["15", "of", "15"]
    assert [row for row in outside.splitlines() if row.endswith("/")] == [
        "paper/",
        "laptop/",
        "plus/",
        "search/",
        "speed/",
    ]
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("own", [False, True])
def test_the_packages_results_are_read_and_those_of_the_working_folder_written(package, own):
    if own:  # a folder of that name that is none of ours
        (package.parent / "work/results").mkdir()
    assert counted(done("reproduce"), "table-2")[0] != "0"
    before = sorted(package.glob("**/*"))
    assert "results/paper/table-2/README.md" in done("reproduce", "table-2", "--show")
    page = (package.parent / "work/results/paper/table-2/README.md").read_text()
    assert page == (REPOSITORY / "results/paper/table-2/README.md").read_text()  # with the package's notes.md
    assert not (package.parent / "work/results/paper/table-2/runs.jsonl").exists()  # no copies of the package's lines
    assert sorted(package.glob("**/*")) == before


def test_a_line_of_the_working_folder_counts_more_than_the_packages(package):
    experiment = experiments.read("table-2").chosen("dist-pu:cifar-10", 1)
    kept = places.results()
    assert kept == Results(places.Path("results"), package / "results")
    assert reproduce.missing(experiment, kept.ledger(experiment.place).find(experiment.asks)) == []
    (cell,) = experiment.cells
    kept.ledger(experiment.place).keep([line(cell, seconds=-1.0)])
    found = [one for one in kept.ledger(experiment.place).find(experiment.asks) if one.keep == "last"]
    assert [one.seconds for one in found] == [-1.0]


def test_told_results_are_the_only_ones(tmp_path):
    assert places.results(tmp_path) == Results(tmp_path)
    assert "0 of 15 " in done("reproduce", "--results", tmp_path)


def test_notes_stand_in_the_page_as_they_are(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny/notes.md").write_text("What it *says*.\n\n## Notes\n\n- a: b\n")
    tiny = experiments.replace(experiments.read("figure-1"), name="tiny", folder="")
    reproduce.write(tiny, Results(tmp_path))
    page = (tmp_path / "tiny/README.md").read_text()
    assert page.startswith(f"# {tiny.title}\n\nWhat it *says*.\n\n`distpu reproduce")
    assert page.endswith("## Notes\n\n- a: b\n")


def test_a_copy_without_experiments_says_so(tmp_path, monkeypatch):
    for name in ("CLONE", "PACKAGE"):
        monkeypatch.setattr(places, name, tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="install it again, or name a TOML file"):
        places.experiments()
