"""The named data sets: what each one is, and the checksums and counts of the right copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..params import near


@dataclass(frozen=True, eq=False)
class Dataset:
    name: str
    x: np.ndarray
    y: np.ndarray  # true labels, int64, 1 = positive
    x_test: np.ndarray
    y_test: np.ndarray
    labelled: int  # labelled positives in the paper's protocol
    positive: str  # the positive class in words
    apart: np.ndarray | None = None  # training rows as far from the others as test rows are; None where any row is


@dataclass(frozen=True)
class Info:
    name: str
    train: int
    test: int
    shape: tuple[int, ...]  # of one row
    positive: str
    labelled: int
    where: str  # the path of the set, or how to get the set


INFO = {
    "digits": Info("digits", 901, 896, (64,), "even digits", 100, "in scikit-learn"),
    "breast-cancer": Info("breast-cancer", 285, 284, (30,), "malignant", 50, "in scikit-learn"),
    "fashion-mnist": Info("fashion-mnist", 60_000, 10_000, (1, 28, 28), "tops", 500, "downloads 31 MB"),
    "cifar-10": Info("cifar-10", 50_000, 10_000, (3, 32, 32), "vehicles", 1000, "downloads 170 MB"),
    "alzheimer": Info("alzheimer", 5121, 1279, (1, 224, 224), "demented", 769, "put it at {}/alzheimer"),
}


NAMES = tuple(INFO)


SOURCES = {
    "fashion-mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",  # http: the md5 is checked
    "cifar-10": "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
}

# bytes that a download may have: over twice what the official file for Fashion-MNIST has, and half more for CIFAR-10
MOST = {"fashion-mnist": 64 * 2**20, "cifar-10": 256 * 2**20}
UNPACKED = 64 * 2**20  # bytes that an unpacked file may have; the largest official one has 47 million


MD5 = {
    "fashion-mnist": {  # of the decompressed files, since the gzip headers differ between releases
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
    "cifar-10": {  # of rows (label, 3072 pixels), which is the layout of the official .bin files
        "data_batch_1": "5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2": "5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3": "942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4": "ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5": "53f37980c15c3d472c316c40844f3f0d",
        "test_batch": "803d5f7f4d78ea53de84dbe85f74fb6d",
    },
}


COUNTS = {  # images per class of the Alzheimer release
    "train": {"MildDemented": 717, "ModerateDemented": 52, "NonDemented": 2560, "VeryMildDemented": 1792},
    "test": {"MildDemented": 179, "ModerateDemented": 12, "NonDemented": 640, "VeryMildDemented": 448},
}


PEOPLE = {"MildDemented": 28, "ModerateDemented": 2, "NonDemented": 100, "VeryMildDemented": 70}


TEST_SLICES = 7  # the test rows are the last six or seven of a person's 32 slices


def info(name: str) -> Info:
    if name not in INFO:
        hint = near(str(name).lower(), NAMES)
        raise ValueError(f"data set {name!r} is not known{hint} (distpu data lists all)")
    return INFO[name]
