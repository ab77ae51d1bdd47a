"""The prior of colour images, from a network's scores and from a forest's: PU problems of CIFAR-10 against the truth.

    python tools/bench_image_prior.py DATA_ROOT              3,000 images, 250 labelled; minutes on one core
    python tools/bench_image_prior.py DATA_ROOT 50000 1000   at full size, for a machine with a GPU
    python tools/bench_image_prior.py DATA_ROOT fashion-mnist 5,6,7     a named set as the paper draws it, these seeds

The classes that count as positive differ from problem to problem. A line has the estimate, its 90 % interval and the
seconds of the processor. Without a GPU the network of colour images is ResNet-8.
docs/log/2026-11.md#the-prior-of-images-from-a-networks-scores-kept has what came out.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from distpu import NNPU
from distpu.datasets import NAMES, load, readers
from distpu.datasets.draw import draw_pu
from distpu.datasets.known import MD5
from distpu.estimator import PUEstimator
from distpu.nets import auto_network

GROUPS = (
    (5, (0, 1, 8, 9)),
    (0, (0, 8)),
    (1, (2, 3, 4)),
    (3, (0, 2, 4, 6, 8)),
    (6, (0, 1, 8, 9)),
    (7, (1, 9, 7)),
    (8, (3, 5)),
)


def problem(x: np.ndarray, kind: np.ndarray, group: tuple[int, ...], n: int, labelled: int, seed: int) -> Any:
    rows = np.random.default_rng(seed).permutation(len(kind))[:n]
    y = np.isin(kind[rows], group).astype(int)
    index, s = draw_pu(y, labelled, seed=seed)
    return x[rows][index], s, float(y[index][s == 0].mean())


def main(root: str, n: int = 3000, labelled: int = 250) -> None:
    folder = Path(root) / "cifar-10-batches-py"
    batches = list(MD5["cifar-10"])[: -(-n // 10_000)]
    raw = np.concatenate([readers.checked(readers.cifar_rows, folder, name) for name in batches])
    x, kind = raw[:, 1:].reshape(-1, 3, 32, 32), raw[:, 0]
    for seed, group in GROUPS:
        rows, s, truth = problem(x, kind, group, n, labelled, seed)
        print_line(rows, s, {"group": group, "seed": seed, "truth": round(truth, 3)})


def as_the_paper_draws(root: str, name: str, seeds: list[int]) -> None:
    data = load(name, root, download=False)
    for seed in seeds:
        index, s = draw_pu(data.y, data.labelled, seed=seed)
        truth = float(data.y[index][s == 0].mean())
        print_line(data.x[index], s, {"set": name, "seed": seed, "truth": round(truth, 3)})


def print_line(rows: np.ndarray, s: np.ndarray, line: dict[str, Any]) -> None:
    """Print both estimates. Where images are small and grey, `prior="auto"` takes the forest, and it stands alone."""
    small_and_grey = auto_network(rows.shape[1:]) == "mlp"
    method = NNPU(network="auto" if torch.cuda.is_available() or small_and_grey else "resnet-8")
    method._check_rows(rows, reset=True)
    method = method._with_preset("paper")
    ways = {"network": NNPU._estimated, "forest": PUEstimator._estimated}
    if small_and_grey:
        del ways["network"]
    for name, estimate in ways.items():
        start = time.process_time()
        found = estimate(method, rows, s)
        low, high = found.interval or (found.prior, found.prior)
        line[name] = [round(share, 3) for share in (found.prior, low, high)]
        line[f"{name}_seconds"] = round(time.process_time() - start)
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[2:] and sys.argv[2] in NAMES:
        as_the_paper_draws(sys.argv[1], sys.argv[2], [int(seed) for seed in sys.argv[3].split(",")])
    else:
        main(sys.argv[1], *map(int, sys.argv[2:]))
