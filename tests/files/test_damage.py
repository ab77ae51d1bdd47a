"""Damaged files of a run folder: every one is refused with one line, and none changes a prediction in silence."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from distpu.files import atomic
from distpu.files.run_folder import RunFolder
from small import small

X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["amount", "age", "visits"])
Y = np.where(np.arange(40) < 15, "yes", "no")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    small("pusb", prior=0.4, epochs=1, pos_label="yes").fit(X, Y, folder=folder)
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def flips(content):
    for i in range(len(content)):
        for bit in range(8):
            yield content[:i] + bytes([content[i] ^ 1 << bit]) + content[i + 1 :]


@pytest.mark.parametrize("name", ["model.json", "config.json"])
def test_every_flipped_bit_is_noticed_or_means_the_same(name, folder, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda handle: None)
    path, run = folder / name, RunFolder(folder)
    read = run.fitted if name == "model.json" else run.config
    content, before = path.read_bytes(), read()
    refused = 0
    for damaged in flips(content):
        path.write_bytes(damaged)
        try:
            assert read() == before, damaged
        except ValueError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert refused > 0.99 * 8 * len(content)


def test_the_checksum_is_of_the_values_not_of_the_layout(folder):
    path = folder / "model.json"
    before = RunFolder(folder).fitted()
    path.write_text(json.dumps(dict(reversed(json.loads(path.read_text()).items()))))
    assert RunFolder(folder).fitted() == before


def test_a_damaged_prior_is_estimated_again(tmp_path):
    run = RunFolder(tmp_path)
    assert run.prior() is None
    run.keep_prior(0.25)
    assert run.prior() == 0.25
    for text in ("", "[]", '{"prior": "0.3"}', '{"prior": null}', '{"prior": NaN}', '{"prior": 1.5}', '{"prior": {}}'):
        (tmp_path / "prior.json").write_text(text)
        assert run.prior() is None
    (tmp_path / "prior.json").write_text('{"prior": 0.25}')  # as version 0.1 wrote it
    assert run.prior() == 0.25


def test_keys_that_are_no_strings_keep_the_checksum_valid(tmp_path):
    value = {"by epoch": {2: 0.5, 10: 0.25}, "none": None, "pair": (1, 2)}
    atomic.write_signed(tmp_path / "file", value)
    read, signed = atomic.read_signed(tmp_path / "file")
    assert signed and read == {"by epoch": {"2": 0.5, "10": 0.25}, "none": None, "pair": [1, 2]}
