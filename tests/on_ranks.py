"""Trains on several ranks. Run by tests/train/test_parallel.py: `python on_ranks.py FOLDER`.

It imports everything once and forks the ranks: 3 of them, then 2, take every method's steps, which rank 0 writes to
FOLDER/SIZE.pt. Then 3 train into FOLDER/run, where rank 0 is killed, and 2 go on.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

from distpu import METHODS, DistPU, nets
from distpu.files.run_folder import RunFolder
from distpu.train import launch, loop, parallel
from small import NETWORKS, small

SIZES = (3, 2)
TIMEOUT = 300  # seconds; it takes about 15 on two free cores


def rows(n=62):
    """Two clouds, of which two batches have 31 rows each: no multiple of 2 or 3."""
    random = np.random.default_rng(0)
    y = (np.arange(n) < 0.4 * n).astype(int)
    X = (random.normal(size=(n, 6)) + 2.0 * y[:, None]).astype(np.float32)
    order = random.permutation(n)
    return X[order], ((np.arange(n) < 0.15 * n).astype(int))[order], y[order]


MORE = {  # what the defaults leave out: further branches of an objective, further row sets
    "nnpu abs": ("nnpu", {"correction": "abs"}),
    "naive batch": ("naive", {"negatives": "batch"}),
    "apu purr, target": ("apu", {"variant": "purr", "target_prior": 0.5}),
    "pubn, negatives": ("pubn", {"rho": 0.1}),
    "vpu all": ("vpu", {"population": "all", "epochs": 1}),
    "dist-pu-plus pairs": ("dist-pu-plus", {"pairs": 1.0, "hidden": 8, "targets": "mean", "memory": 0.5, "keep": 0.5}),
    "self-pu, clean": ("self-pu", {"epochs": 2, "warm_up": 0.0, "every": 0.5, "distil_from": 0.5}),
    "dist-pu, held out": ("dist-pu", {"validation_fraction": 0.2}),
    "nnpu, images": ("nnpu", {}),
}
CASES = {**{name: (name, {}) for name in NETWORKS}, **MORE}
EPOCHS = {"p3mix": {"epochs": 3}, "self-pu": {"epochs": 4}, "holistic-pu": {"trend_epochs": 2}, "genpu": {"epochs": 1}}


def cases(size):
    """Return what is trained on so many ranks. One number of ranks is enough for further branches."""
    return [case for case in CASES if size == SIZES[-1] or case not in MORE]


def table(shape):
    """No bias before BatchNorm: its slope is a rounding error, which Adam makes a step of."""
    layers = [nn.Linear(shape[0], 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1)]
    return nn.Sequential(*layers)


def images(shape):
    """BatchNorm in two kinds, and dropout: what looks at the whole batch, and what draws random numbers."""
    layers = [nn.Conv2d(shape[0], 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout2d(0.3), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(16, 8, bias=False), nn.BatchNorm1d(8), nn.Linear(8, 1))


def fitted(case):
    """Return a fitted method, and of each step the sums of its terms and the gradient."""
    name, settings = CASES[case]
    X, s, y = rows()
    extra = {}
    if case == "apu purr, target":
        extra = {"target_unlabelled": X[:40] + 0.1}
    if case == "pubn, negatives":
        extra = {"biased_negatives": X[y == 0][:11]}
    if case == "self-pu, clean":
        extra = {"clean_rows": X[:20], "clean_labels": y[:20]}
    if case == "nnpu, images":
        X, settings = np.tile(X[:, :4, None], (1, 1, 4)).reshape(-1, 1, 4, 4), {**settings, "network": images}
    short = {f: 1 for f in METHODS[name].__dataclass_fields__ if f.endswith("epochs")} | EPOCHS.get(name, {})
    model = small(name, **{"prior": 0.35, "network": table, **short, **settings})
    with recorded() as steps, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y if name == "pn" else s, **extra)
    return model, steps


@contextmanager
def recorded():
    steps, train = [], loop.Step._train

    def recording(self, batch):
        train(self, batch)
        of = [p.grad.flatten() for group in self.optimizer.param_groups for p in group["params"] if p.grad is not None]
        steps.append((self.sums.clone(), torch.cat(of)))

    loop.Step._train = recording
    try:
        yield steps
    finally:
        loop.Step._train = train


def check(folder):
    rank = int(os.environ["RANK"])
    for size in SIZES:
        if rank >= size:
            break
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet-{size}", rank=rank, world_size=size)
        found = {"passed": counted_rows(), "alike": {}}
        for case in cases(size):
            model, steps = fitted(case)
            found[case] = model.model_.state_dict(), steps, model.prior_, model.threshold_
            found["alike"][case] = alike(model)
        X, s, _ = rows()
        found["alike"]["no seed"] = alike(small("nnpu", prior=0.35, epochs=1, random_state=None).fit(X, s))
        found["refused"] = refusals(rank)
        found["plain"] = plain_averaging(rank, size)
        if rank == 0:
            torch.save(found, folder / f"{size}.pt")
        dist.barrier()
        dist.destroy_process_group()


def alike(model):
    """Return whether all ranks have the same weights, bit by bit."""
    crc = torch.tensor([zlib.crc32(w.numpy().tobytes()) for w in model.model_.state_dict().values()])
    all_of_them = [torch.zeros_like(crc) for _ in range(dist.get_world_size())]
    dist.all_gather(all_of_them, crc)
    return all(torch.equal(one, crc) for one in all_of_them)


def counted_rows():
    """Return how many rows of a training pass this rank's network was given, of how many."""
    seen = []

    def network(shape):
        net = nn.Linear(shape[0], 1)
        net.register_forward_pre_hook(lambda _, x: seen.append(len(x[0])) if net.training else None)
        return net

    X, s, _ = rows()
    DistPU(prior=0.35, network=network, warm_up_epochs=1, epochs=0, batch_size=31, random_state=0).fit(X, s)
    return seen[-1], 31


class Random(nn.Linear):
    def forward(self, x):
        return super().forward(x + torch.rand_like(x))


def refusals(rank):
    """Return the messages for what cannot be trained on several ranks."""
    X, s, _ = rows()
    told = {}
    for what, fit in {
        "other rows": lambda: small("nnpu", prior=0.35, epochs=1).fit(X + rank, s),
        "other settings": lambda: small("nnpu", prior=0.35, epochs=1 + rank).fit(X, s),
        "draws": lambda: small("nnpu", prior=0.35, epochs=1, network=lambda shape: Random(shape[0], 1)).fit(X, s),
        "compile": lambda: small("nnpu", prior=0.35, epochs=1, compile=True).fit(X, s),
        "a table": lambda: small("elkan-noto").fit(X, s),
    }.items():
        try:
            fit()
        except ValueError as error:
            told[what] = str(error)
    with launch.alone():
        told["alone"] = small("nnpu", prior=0.35, epochs=1).fit(X + rank, s).n_iter_
    return told


def plain_averaging(rank, size):
    """Return the gradient of Dist-PU's risk by one process, by our ranks, and by averaging each rank's own (DDP)."""
    from distpu.methods.dist_pu import label_distribution_risk as risk

    X, s, _ = rows()
    x, s = torch.from_numpy(X[:20]), torch.from_numpy(s[:20]).float()
    torch.manual_seed(0)
    net = nets.Network(nets.mlp((6,), width=16), torch.zeros(6), torch.ones(6))
    own = slice(len(x) * rank // size, len(x) * (rank + 1) // size)

    def gradient(x, s, average=False):
        net.zero_grad()
        value = risk(net(x).sigmoid(), s, 0.35)
        value.backward()
        parallel.average_gradients(net.parameters())
        slope = torch.cat([p.grad.flatten() for p in net.parameters()])
        if average:
            for tensor in (slope, value := value.detach().clone()):
                dist.all_reduce(tensor)
            slope, value = slope / size, value / size
        return value.detach(), slope

    one, plain = gradient(x, s), gradient(x[own], s[own], average=True)
    with parallel.together():
        ours = gradient(x, s)
    return {"one": one, "ours": ours, "plain": plain}


def fit(folder, kill_after=None):
    """Train Dist-PU into a folder. `kill_after`: rank 0 is killed when so many epochs of Mixup were saved."""
    if kill_after is not None:
        save = RunFolder.keep_checkpoint

        def dying_save(self, stage, state, done):
            save(self, stage, state, done)
            if (stage, done) == ("mixup", kill_after):
                os.kill(os.getpid(), signal.SIGKILL)

        RunFolder.keep_checkpoint = dying_save
    X, s, _ = rows()
    model = small("dist-pu", prior=0.35, warm_up_epochs=2, epochs=3, network=table, random_state=3)
    return model.fit(X, s, folder=folder)


def forked(size, job, *arguments):
    """Run a job in one process per rank; return each rank's exit code and what it wrote to stderr."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(size):
        told = {"RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        file = tempfile.TemporaryFile()
        if (child := os.fork()) == 0:
            os.dup2(file.fileno(), 2)
            os.environ.update({name: str(value) for name, value in told.items()})
            code = 1
            try:
                job(*arguments)
                launch.leave()
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)  # gloo's threads may abort a process that ends slowly
        children.append((child, file))
    codes, errors = [], []
    for child, file in children:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        file.seek(0)
        errors.append(file.read().decode())
    return codes, errors


def launched(folder):
    """Run this file, or take what it found before. Nothing that it started is left alive."""
    told = folder / "ended.json"
    if told.exists():
        return json.loads(told.read_text())
    env = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    process = subprocess.Popen([sys.executable, __file__, str(folder)], env=env, start_new_session=True)
    try:
        assert process.wait(TIMEOUT) == 0
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return json.loads(told.read_text())


def main(folder):
    torch.set_num_threads(1)
    ended = {"check": forked(max(SIZES), check, folder)}
    ended["killed"] = forked(3, fit, folder / "run", 1)
    ended["logged"] = len(RunFolder(folder / "run").log())
    ended["resumed"] = forked(2, fit, folder / "run")
    (folder / "ended.json").write_text(json.dumps(ended))


if __name__ == "__main__":
    import on_ranks  # under this name, so that a network is called the same here and in the test

    on_ranks.main(Path(sys.argv[1]))
