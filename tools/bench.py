"""Speed, measured: our training epoch against a bare loop over one tensor with the same network and optimiser.

    make bench        (or: python tools/bench.py [--rows 60500] [--epochs 5])

Both train the paper's MLP on Fashion-MNIST-sized rows, batch 256, with the sigmoid uPU risk and fused Adam. They take
turns, epoch by epoch, and the median ratio is reported: a shared machine is slow for both alike.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import time

import torch

from distpu import nets
from distpu.data import PUData
from distpu.methods.upu import upu_risk
from distpu.run import Run
from distpu.train import Recipe, Risk


def bare_epoch(net, x, s, prior, optimizer, batch_size):
    """What a researcher writes by hand: a permutation, slices, loss, step."""
    net.train()
    order = torch.randperm(len(x))
    for start in range(0, len(x), batch_size):
        index = order[start : start + batch_size]
        z, labelled = net(x[index].float()).squeeze(1), s[index] == 1
        p, u = z[labelled], z[~labelled]
        positive = prior * (torch.sigmoid(-p).mean() - torch.sigmoid(p).mean()) if len(p) else 0
        loss = positive + torch.sigmoid(u).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def training(rows: int, epochs: int) -> None:
    torch.manual_seed(0)
    x = torch.randint(0, 256, (rows, 784), dtype=torch.uint8)
    s = (torch.arange(rows) < rows // 120).float()
    bare = nets.mlp((784,))
    recipe = Recipe(epochs=epochs)
    optimizer = recipe.optimizer(bare)
    run = Run(PUData(x, s, 0.4), lambda: nets.Network(nets.mlp((784,)), torch.zeros(()), torch.ones(())))
    ours = run.epochs("bench", run.net(), Risk("upu", lambda z, s: upu_risk(z, s, 0.4)), recipe)
    times: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(epochs):
        for name, step in (("bare", lambda: bare_epoch(bare, x, s, 0.4, optimizer, 256)), ("ours", lambda: next(ours))):
            start = time.perf_counter()
            step()
            times[name].append(time.perf_counter() - start)
    ratios = [o / b for o, b in zip(times["ours"], times["bare"], strict=True)]
    print(f"MLP, {rows} rows of 784, batch 256, {torch.get_num_threads()} threads, {epochs} epochs in turns")
    for name, values in times.items():
        print(f"  {name:5} {statistics.median(values):6.2f} s per epoch (from {min(values):.2f} to {max(values):.2f})")
    print(f"  ours / bare: median {statistics.median(ratios):.3f} (from {min(ratios):.3f} to {max(ratios):.3f})")


def start_up() -> None:
    for what, command in (
        ("import distpu", [sys.executable, "-c", "import distpu"]),
        ("distpu --help", [sys.executable, "-m", "distpu", "--help"]),
        ("from distpu import DistPU", [sys.executable, "-c", "from distpu import DistPU"]),
    ):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        print(f"  {what:26} {statistics.median(times):.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60500)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {platform.machine()}")
    training(options.rows, options.epochs)
    print("start-up")
    start_up()
