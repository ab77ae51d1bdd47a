"""Trains into a folder and, when told, kills its own process with SIGKILL at a chosen point. Run by test_kill.py.

    python killed.py FOLDER [POINT]

POINT: "epoch STAGE N"  after an epoch was logged, before it is saved
       "writing N"      when half of the N-th checkpoint is on disk
       "moving N"       after the N-th checkpoint's predecessor was moved away
       "between"        between the two stages
       "finishing"      when the model is written and `done` is not
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch

from distpu import DistPU, nets
from distpu.files import atomic, tensors
from distpu.methods import dist_pu
from distpu.train import run


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point):
    kind, *rest = point.split()
    counts = {"saved": 0, "passes": 0}
    log, write, save, logits = run.Run._log, tensors.write, tensors.save, dist_pu.logits

    def dying_log(self, stage, epoch, *more):
        log(self, stage, epoch, *more)
        if kind == "epoch" and [stage, str(epoch.number)] == rest:
            die()

    def dying_write(path, content):
        if path.name.startswith("stage-"):
            counts["saved"] += 1
            if kind == "writing" and counts["saved"] == int(rest[0]):
                with atomic.temporary(path) as file:
                    file.write(content[: len(content) // 2])
                    file.flush()
                    die()
        write(path, content)

    def dying_save(path, tensors, **meta):
        if kind == "moving" and path.name.startswith("stage-") and counts["saved"] + 1 == int(rest[0]):
            die()
        save(path, tensors, **meta)
        if kind == "finishing" and path.name == "model.safetensors":
            die()

    def dying_logits(model, x, *device):
        if kind == "between" and len(x) == 200:  # all rows: the pseudo-labels after the warm-up
            die()
        return logits(model, x, *device)

    run.Run._log, tensors.write, tensors.save, dist_pu.logits = dying_log, dying_write, dying_save, dying_logits


def train(folder):
    torch.set_num_threads(1)
    random = np.random.default_rng(0)
    s = (np.arange(200) < 40).astype(int)
    X = random.normal(size=(200, 5)) + (np.arange(200) < 100)[:, None]

    def dropout(shape):  # its masks come from torch's own random state, which must be restored too
        return torch.nn.Sequential(torch.nn.Linear(shape[0], 16), torch.nn.Dropout(0.3), nets.mlp((16,), width=16))

    return DistPU(
        prior=0.4, warm_up_epochs=4, epochs=4, batch_size=50, network=dropout, random_state=3, sampling="stratified"
    ).fit(X, s, folder=folder)


if __name__ == "__main__":
    import killed  # under this name, so that the network is called the same here and in the test

    if len(sys.argv) > 2:
        killed.arm(sys.argv[2])
    killed.train(Path(sys.argv[1]))
