"""How far the Alzheimer test rows lie from the training rows, and how far rows that a search holds out do.

    python tools/slices.py [DATA_ROOT]

For each set of rows: the distance to the nearest training row (56x56 pixels, 0 to 1), and how often that row's label is
the same. Half a minute on one core. True labels are used: it describes the data and chooses nothing.
"""

from __future__ import annotations

import sys

import numpy as np

from distpu.datasets import load


def nearest(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of each row of a to the nearest of b, and which that is."""
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return np.sqrt(squared.min(1).clip(0)), squared.argmin(1)


def main(root: str | None = None) -> None:
    data = load("alzheimer", root)
    if data.apart is None:
        sys.exit("the files of this copy are not numbered as in the release: its slices are not known")
    x, x_test, y = small(data.x), small(data.x_test), data.y
    random = np.random.default_rng(0).permutation(len(x)) < len(x) / 2
    print("| rows | number | to the nearest, median | nearer than 3, % | its label is the same, % |")
    print("|---" * 5 + "|")
    show("test, from all that train", x_test, data.y_test, x, y)
    for name, out in (
        ("a random half, from the other", random),
        ("the last seven slices, from the others", data.apart),
    ):
        show(name, x[out], y[out], x[~out], y[~out])


def show(name: str, a: np.ndarray, y_a: np.ndarray, b: np.ndarray, y_b: np.ndarray) -> None:
    distance, which = nearest(a, b)
    near, same = 100 * (distance < 3).mean(), 100 * (y_b[which] == y_a).mean()
    print(f"| {name} | {len(a):,} | {np.median(distance):.1f} | {near:.0f} | {same:.1f} |")


def small(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), 56, 4, 56, 4).mean((2, 4), dtype=np.float32).reshape(len(x), -1) / 255


if __name__ == "__main__":
    if len(sys.argv) > 2 or "-h" in sys.argv[1:] or "--help" in sys.argv[1:]:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit(f"slices: {error}")
