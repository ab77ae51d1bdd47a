"""Arrays of numbers in .npy and .npz files, such as embeddings."""

import numpy as np
import pytest

from distpu import datasets
from distpu.datasets import damaged, read, read_label_array
from terminal import done, refused


@pytest.fixture
def here(toy, tmp_path, monkeypatch):
    """X.npy and y.npy."""
    monkeypatch.chdir(tmp_path)
    X, s, _ = toy
    np.save("X.npy", X.astype(np.float32))
    np.save("y.npy", s)
    return tmp_path


def test_an_npy_file_is_mapped(here, toy):
    X, y = read("X.npy")
    assert isinstance(X, np.memmap) and y is None
    np.testing.assert_array_equal(X, toy[0].astype(np.float32))
    np.testing.assert_array_equal(read("X.npy", "y.npy")[1], toy[1])


def test_labels_beside_an_array(here, toy):
    options = ("--method", "elkan-noto", "--set", "folds=2", "--prior", "0.4")
    first = done("fit", "X.npy", "--labels", "y.npy", "--folder", "a", *options)
    assert "30 labelled positives, 270 unlabelled rows" in first
    scores = done("predict", "a", "X.npy")
    assert len(scores.splitlines()) == 301
    np.savez("both.npz", X=toy[0].astype(np.float32), y=toy[1])
    done("fit", "both.npz", "--folder", "b", *options)
    assert done("predict", "b", "both.npz") == scores
    np.savez("labels.npz", y=toy[1])
    np.savez("rows.npz", X=toy[0].astype(np.float32))
    done("fit", "rows.npz", "--labels", "labels.npz", "--folder", "c", *options)
    assert done("predict", "c", "rows.npz") == scores


def test_mistakes(here):
    assert "X.npy needs labels; add --labels FILE.npy" in refused("fit", "X.npy")
    assert "gone.npy does not exist" in refused("fit", "X.npy", "--labels", "gone.npy")
    np.save("few.npy", np.ones(3))
    assert "300 rows, but few.npy has 3 labels" in refused("fit", "X.npy", "--labels", "few.npy")
    assert "cannot hold labels (shape (300, 6)" in refused("fit", "X.npy", "--labels", "X.npy")
    assert "leave one out" in refused("fit", "X.npy", "--labels", "y.npy", "--label", "y.npy")
    np.save("flat.npy", np.ones(7))
    assert "it has shape (7,) and type float64" in refused("fit", "flat.npy", "--labels", "y.npy")
    (here / "t.csv").write_text("a,y\n1,1\n2,0\n")
    assert "name the label column of t.csv with --label" in refused("fit", "t.csv", "--label", "y", "--labels", "y.npy")


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 no zip", b"\x93NUMPY\x01\x00\xff\xff{"])
def test_damaged_files(here, content):
    (here / "bad.npy").write_bytes(content)
    with pytest.raises(ValueError, match="bad.npy"):
        read("bad.npy")
    (here / "bad.npz").write_bytes(content)
    with pytest.raises(ValueError, match="bad.npz"):
        read_label_array("bad.npz")


def test_an_array_of_objects_is_not_unpickled(here):
    np.save("objects.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="objects.npy cannot be used"):
        read("objects.npy")


def test_a_bomb_of_arrays_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(damaged, "PLAUSIBLE", 2**20)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((2**18, 3)), y=np.zeros(2**18))
    for reader in (datasets.read, datasets.read_label_array):
        with pytest.raises(ValueError, match="bomb.npz cannot be used .it inflates to .* GiB, as an archive bomb does"):
            reader(tmp_path / "bomb.npz")
    np.savez(tmp_path / "large.npz", X=np.zeros((2**18, 3)), y=np.zeros(2**18))  # as large as it says
    assert len(datasets.read(tmp_path / "large.npz")[0]) == 2**18
