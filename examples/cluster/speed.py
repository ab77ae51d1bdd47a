"""Seconds of an epoch, by one process and by several: the fastest of ten, since other programs may disturb some.

    OMP_NUM_THREADS=1 python examples/cluster/speed.py table
    torchrun --standalone --nproc-per-node 2 examples/cluster/speed.py table

The argument is "table" (784 numbers, the paper's MLP) or "images" (32 x 32 in colour, a small ResNet).
"""

import sys
import time
from typing import Any

import numpy as np

from distpu import NNPU
from distpu.train import launch

ROWS = {"table": (20_000, 784), "images": (1_024, 3, 32, 32)}
NETWORK = {"table": "mlp", "images": "resnet-8"}


def main(kind: str = "table", epochs: str = "10") -> None:
    random, ends = np.random.default_rng(0), [time.perf_counter()]
    X = random.normal(size=ROWS[kind]).astype(np.float32)
    s = (np.arange(len(X)) < len(X) // 10).astype(int)

    def end_of_epoch(*_: Any) -> dict[str, float]:
        ends.append(time.perf_counter())
        return {}

    model = NNPU(prior=0.4, network=NETWORK[kind], preset="paper", epochs=int(epochs), precision="float32")
    model.set_params(batch_size=256, random_state=0)
    model._observe = end_of_epoch  # type: ignore[misc]
    model.fit(X, s)
    if launch.first():
        fastest = np.diff(ends)[1:].min()  # the first epoch holds the start
        print(f"{kind}, {launch.size()} rank(s): {fastest:.2f} s an epoch of {len(X):,} rows, batch 256")


if __name__ == "__main__":
    main(*sys.argv[1:])
