"""Folders of images: which files, which labels, which size; the cache of what was decoded."""

import json
import os
import threading

import numpy as np
import pytest
from PIL import Image

from distpu.datasets import cache, is_image_folder, read_images


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/distpu/images"


def picture(path, shade=0, size=(8, 8), mode="L"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, shade if mode == "L" else (shade, 0, 0)).save(path)


@pytest.fixture
def folder(tmp_path):
    """Two positives and three unlabelled images, of the shades 1 to 5 in the order of their paths."""
    root = tmp_path / "photos"
    for shade, name in enumerate(["positive/a.png", "positive/deep/er/b.png", "unlabeled/c.png", "unlabeled/d.bmp",
                                  "unlabeled/e.PNG"], 1):  # fmt: skip
        picture(root / name, shade)
    return root


def test_a_folder(folder):
    (folder / "positive/notes.txt").write_text("no image")
    (folder / "unlabeled/._c.png").write_text("macOS writes such files")
    found = read_images(folder, labelled=True)
    assert found.names == ["positive/a.png", "positive/deep/er/b.png", "unlabeled/c.png", "unlabeled/d.bmp",
                           "unlabeled/e.PNG"]  # fmt: skip
    assert found.y.tolist() == [1, 1, 0, 0, 0] and found.broken == []
    assert found.x.shape == (5, 1, 8, 8) and found.x.dtype == np.uint8
    assert found.x[:, 0, 0, 0].tolist() == [1, 2, 3, 4, 5]
    assert found.said == "5 grey images, all 8 x 8 pixels"


def test_other_spellings_and_confirmed_negatives(folder):
    (folder / "unlabeled").rename(folder / "Unlabelled")
    picture(folder / "negative/f.png", 6)
    found = read_images(folder, labelled=True)
    assert dict(zip(found.x[:, 0, 0, 0].tolist(), found.y.tolist(), strict=True)) == {
        1: 1, 2: 1, 3: 0, 4: 0, 5: 0, 6: -1,
    }  # fmt: skip


def test_folders_without_what_is_needed(folder, tmp_path):
    with pytest.raises(ValueError, match="has no folder unlabeled/; put the known positives into positive/"):
        (folder / "unlabeled").rename(folder / "others")
        read_images(folder, labelled=True)
    (tmp_path / "empty/positive").mkdir(parents=True)
    (tmp_path / "empty/unlabeled").mkdir()
    with pytest.raises(ValueError, match="empty/positive holds no images"):
        read_images(tmp_path / "empty", labelled=True)
    (tmp_path / "bare").mkdir()
    assert is_image_folder(tmp_path / "bare")
    with pytest.raises(ValueError, match="bare has no folder positive/ and no folder unlabeled/ and no images"):
        read_images(tmp_path / "bare", labelled=True)
    with pytest.raises(ValueError, match="bare holds no images"):
        read_images(tmp_path / "bare", labelled=False)


def test_a_folder_of_tables_is_no_folder_of_images(folder, tmp_path):
    assert is_image_folder(folder) and not is_image_folder(folder / "positive/a.png")
    (folder / "truth.csv").touch()
    assert is_image_folder(folder)  # by the names of its folders
    (tmp_path / "set/year=2026").mkdir(parents=True)
    (tmp_path / "set/_SUCCESS").touch()
    (tmp_path / "set/year=2026/part-0.parquet").touch()
    assert not is_image_folder(tmp_path / "set")
    picture(tmp_path / "new/a.png")
    (tmp_path / "new/b.csv").touch()
    assert is_image_folder(tmp_path / "new")


def test_broken_files_are_listed_or_an_error(folder):
    (folder / "unlabeled/c.png").write_bytes(b"")
    (folder / "positive/a.png").write_text("text")
    found = read_images(folder, labelled=True)
    assert found.broken == [
        ("positive/a.png", "it is no image that Pillow knows"),
        ("unlabeled/c.png", "the file is empty"),
    ]
    assert found.what_is_broken.startswith("2 images cannot be read (positive/a.png: it is no image")
    assert found.x[:, 0, 0, 0].tolist() == [2, 4, 5] and found.y.tolist() == [1, 0, 0]
    with pytest.raises(ValueError, match="2 images cannot be read .* leave --strict out"):
        read_images(folder, labelled=True, strict=True)
    (folder / "positive/deep/er/b.png").write_text("text")
    with pytest.raises(ValueError, match="none of its 2 positive images can be read"):
        read_images(folder, labelled=True)
    for name in ("c.png", "d.bmp", "e.PNG"):
        (folder / "unlabeled" / name).write_text("text")
    with pytest.raises(ValueError, match="none of the 5 images can be read"):
        read_images(folder, labelled=True)


@pytest.mark.parametrize("top", [4095, 65535])
def test_twelve_bits_in_files_of_sixteen_are_told(tmp_path, top):
    (tmp_path / "in").mkdir()
    Image.fromarray(np.full((8, 8), top, np.uint16)).save(tmp_path / "in/a.png")
    found = read_images(tmp_path / "in", labelled=False)
    assert ("nearly black; save them again with values up to 65,535" in found.said) == (top == 4095)


def test_a_pipe_among_images_is_not_waited_for(folder):
    os.mkfifo(folder / "unlabeled/pipe.png")
    assert read_images(folder, labelled=True).broken == [("unlabeled/pipe.png", "the file is empty")]


def test_a_name_that_is_no_text_is_told_before_training(folder):
    try:
        (folder / os.fsdecode(b"unlabeled/\xff.png")).write_text("text")
    except OSError:
        pytest.skip("this disk takes no such name")
    with pytest.raises(ValueError, match=r"unlabeled holds '\\udcff.png', a name that is no UTF-8; rename the file"):
        read_images(folder, labelled=True)


def test_a_ring_of_links_ends(folder):
    os.symlink(folder, folder / "unlabeled/ring")
    assert len(read_images(folder / "unlabeled", labelled=False).names) == 5  # each real folder once


@pytest.mark.parametrize(
    ("sizes", "side"),
    [([(8, 8)], 8), ([(29, 40)], 28), ([(33, 33)], 32), ([(50, 80)], 64), ([(4000, 300)], 224), ([(4, 4)], 8),
     ([(32, 32), (32, 32), (300, 300)], 32)],
)  # fmt: skip
def test_the_size_follows_from_the_median(sizes, side, tmp_path):
    for number, size in enumerate(sizes):
        picture(tmp_path / f"in/{number}.png", size=size, mode="RGB")
    assert read_images(tmp_path / "in", labelled=False).x.shape[1:] == (3, side, side)


def test_a_size_of_ones_own(folder):
    found = read_images(folder, labelled=True, size=12)
    assert found.x.shape == (5, 1, 12, 12) and found.said == "5 grey images, all 8 x 8 pixels, scaled to 12 x 12"
    assert read_images(folder, labelled=True, bound=lambda side: 9).x.shape == (5, 1, 9, 9)
    assert read_images(folder, labelled=False, shape=(3, 6, 6)).x.shape == (5, 3, 6, 6)
    with pytest.raises(ValueError, match="--size 4 must lie between 8 and 1024"):
        read_images(folder, labelled=True, size=4)


# ----------------------------------------------------------------------- cache


@pytest.fixture
def decodings(monkeypatch):
    """The names of the files that are decoded."""
    names, plain = [], cache.decoded

    def counted(path, shape):
        names.append(path.name)
        return plain(path, shape)

    monkeypatch.setattr(cache, "decoded", counted)
    return names


def test_images_are_decoded_once(folder, decodings):
    first = read_images(folder, labelled=True)
    assert isinstance(first.x, np.memmap) and len(decodings) == 5
    np.testing.assert_array_equal(read_images(folder, labelled=True).x, first.x)
    assert len(decodings) == 5
    picture(folder / "unlabeled/c.png", 99, (9, 9))  # another content is another cache
    assert read_images(folder, labelled=True).x[2, 0, 0, 0] == 99
    assert len(decodings) == 10


def test_a_killed_process_is_taken_up(folder, decodings, monkeypatch, own_cache):
    monkeypatch.setattr(cache, "CHUNK", 2)
    (folder / "positive/a.png").write_text("broken")
    plain = cache.decoded

    def kill(path, shape):
        if path.name == "e.PNG":
            raise KeyboardInterrupt
        return plain(path, shape)

    monkeypatch.setattr(cache, "decoded", kill)
    with pytest.raises(KeyboardInterrupt):
        read_images(folder, labelled=True)
    (place,) = own_cache.iterdir()
    assert {p.name for p in place.iterdir()} == {"pixels.part", "progress.jsonl", ".lock"}
    with open(place / "pixels.part", "ab") as file:
        file.write(b"half of an image")
    monkeypatch.setattr(cache, "decoded", plain)
    decodings.clear()
    found = read_images(folder, labelled=True)
    assert decodings == ["e.PNG"]
    assert found.x[:, 0, 0, 0].tolist() == [2, 3, 4, 5] and [name for name, _ in found.broken] == ["positive/a.png"]
    assert {p.name for p in place.iterdir()} == {"pixels.npy", "index.json", ".lock"}


def test_a_read_error_that_passes_is_not_kept(folder, decodings, monkeypatch):
    """A lost right or network is not in a file's size and time. A damaged file is not decoded again."""
    (folder / "positive/a.png").write_text("broken")
    plain = Image.open

    def failing(path, *told):
        if path.name == "c.png":
            raise PermissionError(13, "Permission denied")
        return plain(path, *told)

    monkeypatch.setattr(Image, "open", failing)
    for again in (["a.png", "b.png", "c.png", "d.bmp", "e.PNG"], ["c.png"]):
        decodings.clear()
        found = read_images(folder, labelled=True)
        assert found.broken[1] == ("unlabeled/c.png", "Permission denied") and sorted(decodings) == again
    monkeypatch.setattr(Image, "open", plain)
    for again in (6, 0):  # the one that was tried, then all
        decodings.clear()
        found = read_images(folder, labelled=True)
        assert found.x[:, 0, 0, 0].tolist() == [2, 3, 4, 5] and len(decodings) == again
        assert [name for name, _ in found.broken] == ["positive/a.png"]


@pytest.mark.parametrize("damage", ["index.json", "pixels.npy", "short"])
def test_a_damaged_cache_is_made_again(folder, damage, own_cache):
    want = np.array(read_images(folder, labelled=True).x)
    (place,) = own_cache.iterdir()
    if damage == "short":
        content = (place / "pixels.npy").read_bytes()
        (place / "pixels.npy").write_bytes(content[:-10])
    else:
        (place / damage).write_text(json.dumps({"rows": 3, "broken": []}))
    np.testing.assert_array_equal(read_images(folder, labelled=True).x, want)


def test_two_at_once_decode_once(folder, decodings):
    found = []
    threads = [threading.Thread(target=lambda: found.append(read_images(folder, labelled=True).x)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(decodings) == 5
    assert all((x[:, 0, 0, 0] == [1, 2, 3, 4, 5]).all() for x in found)


def test_caches_are_bounded(folder, monkeypatch, own_cache):
    for size in (10, 11, 12):  # 628, 733 and 848 bytes
        read_images(folder, labelled=True, size=size)
    for number, place in enumerate(sorted(own_cache.iterdir(), key=lambda p: p.stat().st_mtime)):
        for path in place.iterdir():
            os.utime(path, (number, number))
    monkeypatch.setenv("DISTPU_CACHE_GB", str(2000e-9))
    read_images(folder, labelled=True, size=8)  # 448 bytes
    assert {cache._size(place) for place in own_cache.iterdir()} == {448, 848, 0}


def test_a_full_disk_and_a_folder_that_cannot_be_written(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cache.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10}))
    with pytest.raises(ValueError, match="take 0.0 GB, but .* has 0.0 GB free; give a smaller --size"):
        read_images(folder, labelled=True)
    monkeypatch.undo()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ValueError, match="cannot be written .* set XDG_CACHE_HOME to a folder with room"):
        read_images(folder, labelled=True)
