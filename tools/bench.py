"""Speed, measured on the machine at hand: our training epoch against three others, all in one run.

    make bench                                     everything; about 4 minutes on 2 cores
    python tools/bench.py --only mlp growth        some parts: mlp cnn-13 resnet-50 predict growth start-up
    python tools/bench.py --out results/speed/bench-cpu  also writes bench.json, README.md and growth.png there

bare    what a researcher writes by hand: the rows in one tensor on the device, slices of a permutation, a boolean-mask
        loss, fused Adam, float32, eager; on a CPU with one thread or all, whichever is faster
loader  what research code does: a Dataset that hands out single rows, a DataLoader that collates them, the same loop
floor   what the machine could do at best: the floating-point operations of the epoch at the rate of a large matrix
        product in our precision, and four passes over every layer's output at the rate of a large copy

Ours and the bare loop take turns, epoch by epoch, and the median of the ratios is reported: a shared machine is slow
for both alike. Every part runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from torch import nn

from distpu import nets
from distpu.methods.upu import upu_risk
from distpu.train import device
from distpu.train.data import PUData
from distpu.train.loop import Recipe, Risk
from distpu.train.run import Run
from distpu.train.scoring import logits

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
PRIOR = 0.4
# the paper's three: rows, shape, batch; on a CPU the convolutional ones get few rows, at a whole epoch's ratio
SETS = {
    "mlp": (60_500, (1, 28, 28), 256),
    "cnn-13": (51_000 if GPU else 384, (3, 32, 32), 256 if GPU else 128),
    "resnet-50": (5_890 if GPU else 32, (1, 224, 224), 128 if GPU else 16),
}


def wait() -> None:
    if GPU:
        torch.cuda.synchronize()


def timed(work) -> float:
    wait()
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start


def peak_gb() -> float:
    if GPU:
        return torch.cuda.max_memory_allocated() / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)


# ------------------------------------------------------------------- the others


class ByHand(nn.Module):
    def __init__(self, name: str, shape: tuple[int, ...], mean, scale):
        super().__init__()
        self.body, self.mean, self.scale = nets.NETWORKS[name](shape), mean.to(DEVICE), scale.to(DEVICE)

    def forward(self, x):
        return self.body((x - self.mean) / self.scale).squeeze(1)


def by_hand_step(net, x, s, optimizer):
    z, labelled = net(x), s == 1
    p, u = z[labelled], z[~labelled]
    positive = PRIOR * (torch.sigmoid(-p).mean() - torch.sigmoid(p).mean()) if len(p) else 0
    loss = positive + torch.sigmoid(u).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def bare_epoch(net, x, s, optimizer, batch_size):
    net.train()
    order = torch.randperm(len(x), device=DEVICE)
    for start in range(0, len(x), batch_size):
        index = order[start : start + batch_size]
        by_hand_step(net, x[index].float(), s[index], optimizer)


class Rows(torch.utils.data.Dataset):
    def __init__(self, x, s):
        self.x, self.s = x, s

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i].float(), self.s[i]


def loader_epoch(net, loader, optimizer):
    net.train()
    for x, s in loader:
        by_hand_step(net, x.to(DEVICE, non_blocking=True), s.to(DEVICE, non_blocking=True), optimizer)


# -------------------------------------------------------------------- the floor


def matmul_rate(dtype: torch.dtype) -> float:
    n = 8192 if GPU else 1024
    a, b = (torch.randn(n, n, device=DEVICE).to(dtype) for _ in range(2))
    a @ b
    return 2 * n**3 / min(timed(lambda: a @ b) for _ in range(5))


def copy_rate() -> float:
    a = torch.empty(2**31 if GPU else 2**28, dtype=torch.uint8, device=DEVICE)
    b = torch.ones_like(a)
    a.copy_(b)
    return 2 * a.nbytes / min(timed(lambda: a.copy_(b)) for _ in range(5))


def floor(net: nn.Module, work: float, rows: int, shape: tuple[int, ...], dtype: torch.dtype) -> float:
    seen = []
    hooks = [
        layer.register_forward_hook(lambda m, i, o: seen.append(o.numel()))
        for layer in net.modules()
        if isinstance(layer, (nn.Conv2d, nn.Linear))
    ]
    with torch.no_grad():
        net.eval()(torch.zeros(2, *shape, device=DEVICE))
    for hook in hooks:
        hook.remove()
    moved = 4 * sum(seen) / 2 * dtype.itemsize
    return rows * (3 * work / matmul_rate(dtype) + moved / copy_rate())


# ------------------------------------------------------------------------ parts


def training(name: str, epochs: int) -> dict:
    rows, shape, batch = SETS[name]
    torch.manual_seed(0)
    x = torch.randint(0, 256, (rows, *shape), dtype=torch.uint8)
    s = (torch.arange(rows) % 60 == 0).float()
    constants = nets.scaling_constants("auto", x[:2], name)
    recipe = Recipe(epochs=epochs, batch_size=batch)
    on_device = PUData(x, s, PRIOR).to(DEVICE)
    in_host_memory = PUData(x, s.to(DEVICE), PRIOR)

    def ours(speed: device.Speed, data: PUData = on_device):
        run = Run(data, lambda: nets.Network(nets.body(name, shape), *constants), speed=speed)
        net = run.net()
        risk = Risk("upu", lambda z, s: upu_risk(z, s, PRIOR))
        return run, net, run.epochs("bench", net, risk, recipe)

    bare, looped = (ByHand(name, shape, *constants).to(DEVICE) for _ in range(2))
    bare_optimizer, looped_optimizer = recipe.optimizer(bare), recipe.optimizer(looped)
    speeds = {"ours": device.Speed(compile=False)}
    if GPU and name != "mlp":
        speeds["ours, compiled"] = device.Speed(compile=True)
    found: dict[str, list[float]] = {"bare": [], **{key: [] for key in speeds}}

    def bare_epoch_on(threads: int) -> float:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        seconds = timed(lambda: bare_epoch(bare, on_device.x, on_device.s, bare_optimizer, batch))
        torch.set_num_threads(before)
        return seconds

    threads = min((torch.get_num_threads(), 1), key=bare_epoch_on)
    with device.arithmetic("auto", DEVICE):
        runs = {key: ours(speed) for key, speed in speeds.items()}
        if GPU:
            key = "ours, rows in host memory"
            runs[key], found[key] = ours(device.Speed(compile=False), in_host_memory), []
        first = {key: timed(lambda run=run: next(run[2])) for key, run in runs.items()}
        for _ in range(epochs - 1):
            found["bare"].append(bare_epoch_on(threads))
            for key, run in runs.items():
                found[key].append(timed(lambda run=run: next(run[2])))
    workers = min(8, (os.cpu_count() or 1) - 1) if (os.cpu_count() or 1) > 2 else 0
    loader = torch.utils.data.DataLoader(Rows(x, s), batch, shuffle=True, num_workers=workers, pin_memory=GPU)
    per_item = timed(lambda: loader_epoch(looped, loader, looped_optimizer))
    peak = peak_gb()  # of all of the above; the floor below takes memory of its own
    run, net, _ = runs["ours"]
    dtype = torch.bfloat16 if net.in_bfloat16 else torch.float32
    best = floor(net, run._work, rows, shape, dtype)
    middle = {key: statistics.median(values) for key, values in found.items()}
    return {
        "network": name,
        "rows": rows,
        "batch": batch,
        "precision": str(dtype).removeprefix("torch."),
        "threads of the bare loop": threads,
        "seconds": {**middle, "loader": per_item, "floor": best},
        "first epoch": first,
        "ratio to bare": {
            key: statistics.median(a / b for a, b in zip(found[key], found["bare"], strict=True)) for key in runs
        },
        "peak GB": peak,
    }


def predict() -> dict:
    """A million rows of 784 features from host memory."""
    torch.manual_seed(0)
    net = nets.Network(nets.mlp((784,)), torch.zeros(()), torch.ones(())).to(DEVICE)
    rows = 1_000_000
    small = torch.rand(rows // 10, 784)
    logits(net, small)
    before = peak_gb()
    x = torch.rand(rows, 784)
    held = peak_gb() if not GPU else before
    seconds = min(timed(lambda: logits(net, x)) for _ in range(3 if GPU else 1))
    found = {"rows": rows, "seconds": seconds, "GB/s": x.nbytes / seconds / 1e9, "peak GB beyond X": peak_gb() - held}
    if GPU:
        pinned = torch.empty(2**28, dtype=torch.uint8, pin_memory=True)
        there = torch.empty_like(pinned, device=DEVICE)
        found["pinned copy GB/s"] = pinned.nbytes / min(timed(lambda: there.copy_(pinned)) for _ in range(5)) / 1e9
        paged = torch.ones(2**28, dtype=torch.uint8)
        found["pageable copy GB/s"] = paged.nbytes / min(timed(lambda: there.copy_(paged)) for _ in range(5)) / 1e9
    return found


def one_size(rows: int, features: int, epochs: int) -> dict:
    torch.manual_seed(0)

    def build():
        return nets.Network(nets.mlp((features,), 64), torch.zeros(()), torch.ones(()))

    def train(data: PUData, epochs: int) -> None:
        run = Run(data.to(DEVICE), build)
        run.train("bench", run.net(), Risk("upu", lambda z, s: upu_risk(z, s, PRIOR)), Recipe(epochs, batch_size=4096))

    train(PUData(torch.rand(8192, features), (torch.arange(8192) % 60 == 0).float(), PRIOR), 2)  # torch's first times
    data = PUData(torch.rand(rows, features), (torch.arange(rows) % 60 == 0).float(), PRIOR)
    if GPU:
        torch.cuda.reset_peak_memory_stats()
    before = peak_gb()
    seconds = timed(lambda: train(data, epochs))
    return {
        "rows": rows,
        "features": features,
        "epochs": epochs,
        "microseconds per row and epoch": seconds / rows / epochs * 1e6,
        "rows GB": data.x.nbytes / 1e9,
        "beyond GB": peak_gb() - (data.x.nbytes / 1e9 if GPU else before),
    }


GROWTH = {
    "rows": [(10**4, 20, 4), (10**5, 20, 2), (10**6, 20, 2), (10**7, 20, 2)],
    "features": [(10**5, 10, 2), (10**5, 100, 2), (10**5, 1000, 2), (10**5, 3000, 2)],
    "epochs": [(10**5, 20, 1), (10**5, 20, 4), (10**5, 20, 16), (10**5, 20, 64)],
}


def all_sizes() -> dict:
    """On a GPU peak memory can be counted anew, so one process does for all sizes."""
    return {what: [one_size(*size) for size in sizes] for what, sizes in GROWTH.items()}


def start_up() -> dict:
    found = {}
    for what, command in (
        ("python -c pass", ["-c", "pass"]),
        ("import distpu", ["-c", "import distpu"]),
        ("distpu --help", ["-m", "distpu", "--help"]),
        ("from distpu import DistPU", ["-c", "from distpu import DistPU"]),
    ):
        times = [
            timed(lambda command=command: subprocess.run([sys.executable, *command], check=True, capture_output=True))
            for _ in range(5)
        ]
        found[what] = statistics.median(times)
    return found


# ---------------------------------------------------------------------- report


def machine() -> str:
    name = torch.cuda.get_device_name() if GPU else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, torch {torch.__version__}, Python {platform.python_version()}"


def training_table(parts: list[dict]) -> str:
    lines = [
        "| network | rows | precision | ours, s per epoch | / bare loop | / per-item loader | / floor | peak memory |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for part in parts:
        seconds = part["seconds"]
        for key, ratio in part["ratio to bare"].items():
            ours = seconds[key]
            label = f"{part['network']}{key.removeprefix('ours')}"
            lines.append(
                f"| {label} | {part['rows']:,} | {part['precision']} | {ours:.3g} | {ratio:.2f} | "
                f"{ours / seconds['loader']:.2f} | {ours / seconds['floor']:.2f} | {part['peak GB']:.1f} GB |"
            )
    return "\n".join(lines)


def growth_table(growth: dict[str, list[dict]]) -> str:
    lines = [
        "| what grows | rows | features | epochs | µs per row and epoch | the rows | peak memory beyond them |",
        "|---|---|---|---|---|---|---|",
    ]
    for what, sizes in growth.items():
        for z in sizes:
            lines.append(
                f"| {what} | {z['rows']:,} | {z['features']} | {z['epochs']} | "
                f"{z['microseconds per row and epoch']:.2f} | {z['rows GB']:.2f} GB | {z['beyond GB']:.2f} GB |"
            )
    return "\n".join(lines)


def growth_picture(growth: dict[str, list[dict]], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 5.5), sharey="row", constrained_layout=True)
    for (what, sizes), (above, below) in zip(growth.items(), axes.T, strict=True):
        at = [z[what] for z in sizes]
        above.loglog(at, [z["microseconds per row and epoch"] for z in sizes], "o-", color="#1b6ca8")
        below.loglog(at, [max(z["rows GB"], 1e-3) for z in sizes], "--", color="#888888", label="the rows")
        below.loglog(at, [max(z["beyond GB"], 1e-3) for z in sizes], "o-", color="#1b6ca8", label="beyond them")
        below.set_xlabel(what)
        above.grid(alpha=0.3)
        below.grid(alpha=0.3)
    axes[0, 0].set_ylabel("µs per row and epoch")
    axes[1, 0].set_ylabel("memory, GB")
    axes[1, 0].legend(frameon=False)
    figure.suptitle(f"How cost grows (MLP of width 64, batch 4096; {'GPU' if GPU else 'CPU'})")
    figure.savefig(path, dpi=120)


def part(*arguments: str) -> dict:
    """In a process of its own, for its peak memory."""
    done = subprocess.run([sys.executable, __file__, "--part", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everything = [*SETS, "predict", "growth", "start-up"]
    parser.add_argument("--only", nargs="+", choices=everything, default=everything)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        name, *sizes = options.part
        found = {
            "predict": predict,
            "growth": lambda: one_size(*map(int, sizes)),
            "all-sizes": all_sizes,
        }.get(name, lambda: training(name, int(sizes[0])))()
        print(json.dumps(found))
        return
    text = [f"# Speed: {machine()}", "", "`make bench` (`tools/bench.py` says what is compared). One run.", ""]
    print(text[0])
    result: dict = {"machine": machine()}
    chosen = [name for name in SETS if name in options.only]
    if chosen:
        result["training"] = []
        for name in chosen:
            print(f"... {name}", file=sys.stderr)
            result["training"].append(part(name, str(options.epochs)))
        text += [training_table(result["training"]), ""]
        print(text[-2])
    if "predict" in options.only:
        print("... predict", file=sys.stderr)
        result["predict"] = found = part("predict")
        words = ", ".join(f"{key} {value:.3g}" for key, value in found.items() if key != "rows")
        text += [f"A million rows of 784 float32 features scored by the MLP, from host memory: {words}.", ""]
        print(text[-2])
    if "growth" in options.only:
        result["growth"] = part("all-sizes") if GPU else {}
        for what, sizes in GROWTH.items() if not GPU else ():
            print(f"... growth with {what}", file=sys.stderr)
            result["growth"][what] = [part("growth", *map(str, size)) for size in sizes]
        text += [growth_table(result["growth"]), ""]
        print(text[-2])
        if options.out:
            text += ["![growth](growth.png)", ""]
    if "start-up" in options.only:
        result["start-up"] = start_up()
        text += ["Start-up: " + ", ".join(f"`{k}` {v:.2f} s" for k, v in result["start-up"].items()) + ".", ""]
        print(text[-2])
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "bench.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.out / "README.md").write_text("\n".join(text))
        if "growth" in result:
            growth_picture(result["growth"], options.out / "growth.png")


if __name__ == "__main__":
    main()
