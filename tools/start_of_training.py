"""The first steps of Dist-PU+ on CIFAR-10, at the rate of the runs that went wrong and with a rate that rises.

    python tools/start_of_training.py DATA_ROOT cnn-13 8        network and seed; minutes on one core
    python tools/start_of_training.py DATA_ROOT resnet-18 5

The 13-layer CNN began at 5e-4, ResNet-18 at 0.01, a third of its full rate. The rising rate takes 200 steps to 5e-4 and
400 steps to 0.03, as the presets have it.

A line has the step, R_lab / (2 prior), and the mean p of the unlabelled and of the labelled images of its batch. Where
every p is 1, R_lab / (2 prior) is 0.75.
docs/log/2026-11.md#the-start-of-dist-pu-scores-pushed-to-1-mended has what came out.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from distpu import DistPUPlus, nets
from distpu.datasets import load
from distpu.datasets.draw import draw_pu
from distpu.train.data import mean_where
from distpu.train.loop import Recipe

LABELLED, UNLABELLED, STEPS, EPOCH, PRIOR = 16, 80, 61, 200, 0.4
BEGAN = {"cnn-13": 5e-4, "resnet-18": 0.01}


def main(root: str, network: str, seed: int) -> None:
    data = load("cifar-10", root, download=False)
    index, s = draw_pu(data.y, data.labelled, seed=seed)
    x = data.x[index]
    preset = {} if network == "cnn-13" else DistPUPlus.presets["resnet-18"]
    told = {name: preset[name] for name in ("optimiser", "lr", "decay_all") if name in preset}
    for rises in (False, True):
        torch.manual_seed(seed)
        net = nets.Network(nets.body(network, (3, 32, 32)), torch.tensor(127.5), torch.tensor(64.0)).train()
        recipe = Recipe(epochs=100, weight_decay=5e-4, rise=preset.get("rise", 1), **told)
        optimizer, random = recipe.optimizer(net), np.random.default_rng(seed)
        for step in range(STEPS):
            rows = [random.choice(np.flatnonzero(s == k), n) for k, n in ((1, LABELLED), (0, UNLABELLED))]
            batch, labels = (
                torch.from_numpy(x[np.concatenate(rows)]).float(),
                torch.tensor([1] * LABELLED + [0] * UNLABELLED),
            )
            for group in optimizer.param_groups:
                group["lr"] = recipe.rate(0, (step + 1) / EPOCH) if rises else BEGAN[network]
            p = net(batch).sigmoid()
            mean = mean_where(p, labels == 0)
            lab = mean_where(1 - p, labels == 1) + (mean - PRIOR).abs() / (2 * PRIOR)
            optimizer.zero_grad()
            lab.backward()
            optimizer.step()
            if step % 5 == 0:
                how = "rises" if rises else "fixed"
                print(
                    f"{how} step {step:3} R {lab:.3f}  p of U {mean:.3f}  of P {p[labels == 1].mean():.3f}", flush=True
                )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
