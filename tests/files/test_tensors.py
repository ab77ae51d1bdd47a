"""Tensors on disk: the same bytes whenever they are the same, and every damage is noticed."""

import pytest
import torch

from distpu.files import tensors

SOME = {"b": torch.arange(5.0), "a": torch.tensor([True, False]), "c": torch.tensor(3)}


@pytest.fixture
def path(tmp_path):
    tensors.save(tmp_path / "model.safetensors", SOME, stage="x", epochs_done=2)
    return tmp_path / "model.safetensors"


def test_what_is_saved_is_loaded(path):
    loaded, meta = tensors.load(path)
    assert meta == {"stage": "x", "epochs_done": 2} and loaded.keys() == SOME.keys()
    assert all(torch.equal(loaded[k], SOME[k]) and loaded[k].dtype == SOME[k].dtype for k in SOME)


def test_the_same_tensors_are_the_same_bytes(path, tmp_path):
    """safetensors alone writes the two entries of the header's metadata in either order."""
    content = path.read_bytes()
    for i in range(20):
        items = list(SOME.items())
        other = tmp_path / f"{i}.safetensors"
        tensors.save(other, dict(items[i % 3 :] + items[: i % 3]), stage="x", epochs_done=2)
        assert other.read_bytes() == content
