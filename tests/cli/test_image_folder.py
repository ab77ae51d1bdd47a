"""distpu fit and predict on a folder of images."""

import csv

import numpy as np
import pytest
from PIL import Image

from terminal import distpu, done, refused

QUICK = ("--set", "epochs=2", "--set", "warm_up_epochs=2", "--prior", "0.5")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Bright positives and dark negatives of 8 x 8 pixels: 10 known, 20 and 20 unlabelled; new/ has three."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    random = np.random.default_rng(0)

    def picture(name, bright):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(150 * bright, 150 * bright + 100, (8, 8), dtype=np.uint8)).save(path)

    for i in range(10):
        picture(f"photos/positive/{i}.png", 1)
    for i in range(40):
        picture(f"photos/unlabeled/{i:02d}.png", i % 2)
    for name, bright in (("b/=bright.png", 1), ("a, dark.png", 0), ("c.png", 1)):
        picture(f"new/{name}", bright)
    return tmp_path


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_a_folder_to_its_ranked_images(here):
    (here / "photos/unlabeled/torn.png").write_bytes(b"")
    ended = distpu("fit", "photos", *QUICK)
    assert ended.code == 0, ended.err
    assert ended.err.splitlines()[:2] == [
        "51 grey images, all 8 x 8 pixels",
        "1 image cannot be read (unlabeled/torn.png: the file is empty)",
    ]
    assert "50 images: 10 labelled positives, 40 unlabelled images" in ended.out
    assert "put those that are positive into photos/found and the others into photos/negative" in " ".join(
        ended.out.split()
    )
    run = here / "runs/photos-dist-pu-seed0"
    assert (run / "broken.csv").read_text() == "id,reason\nunlabeled/torn.png,the file is empty\n"
    ranked = rows((run / "scores.csv").read_text())
    assert len(ranked) == 40 and {row["id"] for row in ranked} == {f"unlabeled/{i:02d}.png" for i in range(40)}
    assert np.mean([int(row["id"][10:12]) % 2 for row in ranked[:20]]) > 0.8

    (here / "new/torn.jpg").write_text("text")
    ended = distpu("predict", run, "new")
    assert "1 image cannot be read (torn.jpg: it is no image that Pillow knows)" in ended.err
    scores = rows(ended.out)
    assert [next(iter(row.values())) for row in scores] == ["a, dark.png", "b/=bright.png", "c.png"]
    p = [float(row["probability"]) for row in scores]
    assert p[0] < min(p[1:])
    assert "leave --strict out" in refused("predict", run, "new", "--strict")


def test_a_table_that_names_images(here):
    """The same images by a table have the same scores."""
    done("fit", "photos", *QUICK, "--folder", "a")
    files = sorted(p.relative_to(here).as_posix() for p in (here / "photos").rglob("*.png"))
    lines = [f"{name},{'yes' if '/positive/' in name else ''}" for name in files]
    (here / "t.csv").write_text("\n".join(["file,known", *lines, ""]))
    ended = distpu("fit", "t.csv", "--label", "known", "--images", "file", *QUICK, "--folder", "b")
    assert ended.code == 0 and ended.err.startswith("50 grey images"), ended.err
    a, b = (rows((here / run / "scores.csv").read_text()) for run in "ab")
    assert b == [{**row, "id": f"photos/{row['id']}"} for row in a]

    (here / "photos").rename(here / "photographs-of-the-week")  # a path that is cut off cannot be opened
    (here / "t.csv").write_text((here / "t.csv").read_text().replace("photos/", "photographs-of-the-week/"))
    told = done("fit", "t.csv", "--label", "known", "--images", "file", *QUICK, "--folder", "c")
    assert f"\nphotographs-of-the-week/{a[0]['id']}  " in told

    (here / "n.csv").write_text("x,file\n1,new/c.png\n2,new/gone.png\n3,new/b/=bright.png\n")
    ended = distpu("predict", "b", "n.csv")
    assert "1 image cannot be read (new/gone.png: No such file or directory)" in ended.err
    assert [row["id"] for row in rows(ended.out)] == ["new/c.png", "new/b/=bright.png"]


def table_of_images(here):
    files = sorted(p.relative_to(here).as_posix() for p in (here / "photos").rglob("*.png"))
    lines = [f"{name},{int('/positive/' in name)}" for name in files]
    (here / "t.csv").write_text("\n".join(["file,y", *lines, ""]))


def test_labels_of_0_and_1_in_a_table_leave_no_doubt(here):
    """They are numbers, as in a table without images, and auto takes the same method with and without --images."""
    table_of_images(here)
    done("fit", "t.csv", "--label", "y", *QUICK, "--folder", "a")
    done("fit", "t.csv", "--label", "y", "--images", "file", *QUICK, "--folder", "b")
    a, b = (rows((here / run / "scores.csv").read_text()) for run in "ab")
    assert a == b and len(a) == 40


@pytest.mark.parametrize("method", ["auto", "elkan-noto"])
def test_a_model_of_a_table_of_images_scores_such_a_table(here, method):
    table_of_images(here)
    done("fit", "t.csv", "--label", "y", "--method", method, *(QUICK if method == "auto" else ()), "--folder", "run")
    (here / "n.csv").write_text("file\nnew/c.png\nnew/b/=bright.png\n")
    assert [row["id"] for row in rows(done("predict", "run", "n.csv"))] == ["new/c.png", "new/b/=bright.png"]


def test_a_table_without_images_for_a_model_of_images(here):
    done("fit", "photos", *QUICK, "--folder", "a", "--no-report")
    (here / "n.csv").write_text("x,file\n1,gone.png\n")
    assert "n.csv has no column of paths of images that are there" in refused("predict", "a", "n.csv")


def test_a_column_of_paths_is_recognised_where_nothing_else_is_there(here):
    from distpu.answer import read_own

    (here / "t.csv").write_text("file,y\nphotos/positive/0.png,1\nphotos/unlabeled/00.png,0\n")
    assert read_own("t.csv", "y")[0].shape == (2, 1, 8, 8)
    (here / "u.csv").write_text("file,y,a\nphotos/positive/0.png,1,5\nphotos/unlabeled/00.png,0,6\n")
    ended = distpu("fit", "u.csv", "--label", "y")
    assert "--images file learns the images instead" in ended.err
    (here / "v.csv").write_text("file,y,a\ngone/0.png,1,5\ngone/00.png,0,6\n")
    assert "--images" not in distpu("fit", "v.csv", "--label", "y").err
    assert "has no column 'fil'; did you mean 'file'" in refused("fit", "t.csv", "--label", "y", "--images", "fil")
    assert "holds no paths of images" in refused("fit", "u.csv", "--label", "y", "--images", "a")
    assert "--images is for a table" in refused("fit", "photos", "--images", "a")


def test_images_that_a_person_looked_at(here):
    """negative/ and found/ are of use to PUbN, which --method auto takes then; other methods say that they cannot."""
    for name, kind in (("01", "found"), ("03", "found"), ("00", "negative"), ("02", "negative")):
        (here / "photos" / kind).mkdir(exist_ok=True)
        (here / f"photos/unlabeled/{name}.png").rename(here / f"photos/{kind}/{name}.png")
    done("fit", "photos", "--set", "epochs=2", "--set", "posterior_epochs=2", "--prior", "0.5")
    ranked = rows((here / "runs/photos-pubn-seed0/scores.csv").read_text())
    assert len(ranked) == 36 and all(row["id"].startswith("unlabeled/") for row in ranked)
    ended = distpu("fit", "photos", "--method", "dist-pu", *QUICK)
    assert ended.code == 2 and "dist-pu cannot use the 2 rows of neg_label=-1; use one of" in ended.err


def test_a_method_for_tables_takes_images_too(here):
    done("fit", "photos", "--method", "elkan-noto", "--folder", "run")
    assert len(rows(done("predict", "run", "new"))) == 3


def test_mistakes(here):
    assert "leave --label out" in refused("fit", "photos", "--label", "y")
    assert "--size 3 must lie between 8 and 1024" in refused("fit", "photos", "--size", "3")
    assert "has no folder positive/ and no folder unlabeled/" in refused("fit", "new")
    (here / "t.csv").write_text("a,y\n1,1\n2,0\n3,0\n")
    assert "--size and --strict are for images" in refused("fit", "t.csv", "--label", "y", "--strict")
    (here / "none").mkdir()
    assert "none has no folder positive/ and no folder unlabeled/ and no images" in refused("fit", "none")


def test_a_model_of_a_table_refuses_images(here):
    random = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{int(i < 20)}" for i, (a, b) in enumerate(random.normal(size=(80, 2)))]
    (here / "t.csv").write_text("\n".join(["a,b,y", *lines, ""]))
    done("fit", "t.csv", "--label", "y", "--method", "elkan-noto", "--folder", "run")
    assert "new is a folder without tables" in refused("predict", "run", "new")


@pytest.mark.parametrize("command", ["prior", "diagnose"])
def test_other_commands_take_a_folder(here, command):
    assert distpu(command, "photos", *(("--estimators", "bbe") if command == "prior" else ())).code == 0
