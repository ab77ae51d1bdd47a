"""Settings tried cheaply: PU accuracy on held-out rows, with a network of a quarter of the width, on one CPU core.

    python tools/proxy.py cifar-10 vpu '{"held_out": 0, "weight_decay": 0.005}' [SEED [FOLDS]]

CIFAR-10 with a narrow CNN-13; Alzheimer, shrunk to 56x56, with a narrow ResNet-50. No test row is read. One fold
of what a search judges by, with the share called positive: it says what a search on a GPU should try.
FOLDS: 2, for a random half (CIFAR-10), or apart, for the last slices (Alzheimer).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn

from distpu import metrics, nets
from distpu.datasets import load
from distpu.datasets.draw import draw_pu
from distpu.study.runs import EveryEpoch, held_out_rows, make


def narrow_resnet(shape: nets.Shape) -> nn.Module:
    net = nets.ResNet50(width=16)
    net.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)  # the rows are small: not halved here
    nn.init.kaiming_normal_(net.conv1.weight, mode="fan_out", nonlinearity="relu")
    return net


def main(dataset: str, method: str, settings: str = "{}", seed: str = "100", folds: str = "") -> None:
    torch.set_num_threads(1)
    data = load(dataset)
    index, s = draw_pu(data.y, data.labelled, seed=int(seed))
    prior = float(data.y[index][s == 0].mean())
    x = data.x[index]
    out = held_out_rows(data, index, s, folds or ("apart" if dataset == "alzheimer" else 2), int(seed))[0]
    network: Callable[[nets.Shape], nn.Module]
    network, scaling = partial(nets.cnn13, width=24), "imagenet"
    if dataset == "alzheimer":
        x = x.reshape(len(x), 1, 56, 4, 56, 4).mean((3, 5)).round().astype(np.uint8)
        network, scaling = narrow_resnet, "standard"
    told = {"prior": prior, "random_state": int(seed), "network": network, "scaling": scaling, **json.loads(settings)}
    start = time.monotonic()
    classifier = make(method, told)
    classifier._observe = EveryEpoch(held=(x[out], s[out]), prior=prior)
    classifier.fit(x[~out], s[~out])
    z, held = classifier.decision_function(x[out]), s[out]
    by_epoch = [f"{100 * row['pu_accuracy']:.1f}/{100 * row['pu_auc']:.1f}" for row in classifier.history_]
    print(
        f"{method} on {dataset}, seed {seed}, {settings}: PU accuracy {100 * metrics.pu_accuracy(held, z, prior):.2f}, "
        f"PU AUC {100 * metrics.pu_auc(held, z):.2f}, share of U called positive {(z[held == 0] >= 0).mean():.3f}; "
        f"accuracy/AUC by epoch {' '.join(by_epoch)}; "
        f"{time.monotonic() - start:.0f} s"
    )


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 6 or sys.argv[1] not in ("cifar-10", "alzheimer"):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError) as error:
        sys.exit(f"proxy: {error}")
