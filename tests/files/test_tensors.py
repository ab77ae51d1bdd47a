"""Tensors on disk: the same bytes whenever they are the same, and every damage is noticed."""

import json
import os

import pytest
import torch
from safetensors.torch import save_file

from distpu.files import tensors
from flipped import flips

SOME = {"b": torch.arange(5.0), "a": torch.tensor([True, False]), "c": torch.tensor(3)}


@pytest.fixture
def path(tmp_path):
    tensors.save(tmp_path / "model.safetensors", SOME, stage="x", epochs_done=2)
    return tmp_path / "model.safetensors"


def test_what_is_saved_is_loaded(path):
    loaded, meta = tensors.load(path)
    assert meta == {"stage": "x", "epochs_done": 2} and loaded.keys() == SOME.keys()
    assert all(torch.equal(loaded[k], SOME[k]) and loaded[k].dtype == SOME[k].dtype for k in SOME)


def test_every_flipped_bit_and_every_cut_is_noticed(path):
    content = path.read_bytes()
    for damaged in [*flips(content), *(content[:i] for i in range(len(content))), content + b"\0"]:
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model.safetensors is damaged \([^\n]*\)$"):
            tensors.load(path)


def test_a_signed_file_without_a_meta_that_can_be_read(path):
    for meta in ("", "[]", "null", '"x"', "{nonsense"):
        save_file(SOME, path, metadata={"sha256": tensors._digest(SOME, meta), "meta": meta})
        with pytest.raises(ValueError, match=r"is damaged \("):
            tensors.load(path)
    for metadata in ({}, {"meta": "{}"}, {"sha256": tensors._digest(SOME, "{}")}):
        save_file(SOME, path, metadata=metadata)
        with pytest.raises(ValueError, match=r"is damaged \("):
            tensors.load(path)


@pytest.mark.parametrize("shape", [[2**60], [-1], [2**31, 2**31], "5", [5.5]])
def test_a_tensor_larger_than_the_file_is_not_allocated(shape, path):
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 20]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(20))
    with pytest.raises(ValueError, match=r"is damaged \("):
        tensors.load(path)


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        tensors.load(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ValueError, match=r"is damaged \(it is not a plain file\)"):
            tensors.load(place)


def test_the_same_tensors_are_the_same_bytes(path, tmp_path):
    """safetensors alone writes the two entries of the header's metadata in either order."""
    content = path.read_bytes()
    for i in range(20):
        items = list(SOME.items())
        other = tmp_path / f"{i}.safetensors"
        tensors.save(other, dict(items[i % 3 :] + items[: i % 3]), stage="x", epochs_done=2)
        assert other.read_bytes() == content
