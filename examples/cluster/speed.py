"""Seconds of an epoch, by one process and by several.

    OMP_NUM_THREADS=1 python examples/cluster/speed.py table
    torchrun --standalone --nproc-per-node 2 examples/cluster/speed.py table

The argument is "table" (784 numbers, the paper's MLP) or "images" (32 x 32 in colour, a small ResNet).
"""

import sys
import time

import numpy as np

from distpu import NNPU
from distpu.train import launch

ROWS = {"table": (20_000, 784), "images": (1_024, 3, 32, 32)}
NETWORK = {"table": "mlp", "images": "resnet-8"}


def seconds(kind: str, epochs: int, X: np.ndarray, s: np.ndarray) -> float:
    start = time.perf_counter()
    settings = dict(prior=0.4, network=NETWORK[kind], preset="paper", precision="float32", random_state=0)
    NNPU(epochs=epochs, batch_size=256, **settings).fit(X, s)
    return time.perf_counter() - start


def main(kind: str = "table") -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=ROWS[kind]).astype(np.float32)
    s = (np.arange(len(X)) < len(X) // 10).astype(int)
    few, more = seconds(kind, 1, X, s), seconds(kind, 4, X, s)
    if launch.first():
        print(f"{kind}, {launch.size()} rank(s): {(more - few) / 3:.2f} s an epoch of {len(X):,} rows, batch 256")


if __name__ == "__main__":
    main(*sys.argv[1:])
