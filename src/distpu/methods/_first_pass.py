"""Scores of images for the estimate of the prior: by networks that were not trained on the rows that they score.

The rows are halved. On each half a network learns labelled against unlabelled rows, both weighed alike, for a few
epochs on shifted and flipped images, and scores the other half. No prior enters. Without the shifts and flips it knows
its labelled rows by heart before it ranks others well. A forest on principal components of pixels, which serves tables,
ranks colour images badly: docs/log/2026-11.md#the-prior-of-images-from-a-networks-scores-kept
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from .. import nets
from ..datasets.draw import folds
from ..train.data import PUData
from ..train.device import Speed, arithmetic, as_tensor
from ..train.loop import Recipe, Risk
from ..train.run import Run
from ..train.scoring import logits
from ..train.views import views_for
from ._parts import pn_risks

STEPS, EPOCHS = 160, (8, 20)  # training of a half: about so many steps, in at least and at most so many epochs
BATCH, RATE, DECAY = (32, 256), 5e-4, 5e-3


def scores_by_halves(
    rows: np.ndarray,
    s: np.ndarray,
    build: Callable[[], nets.Network],
    device: torch.device,
    speed: Speed,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of the labelled and of the unlabelled rows."""
    fold, z, views = folds(rows, s, 2, seed), np.empty(len(s)), views_for("auto", rows)
    if any(not s[fold == k].any() for k in (0, 1)):
        raise ValueError("prior='auto' needs at least 2 different labelled positives; give the prior as a number")
    devices = [device] if device.type == "cuda" else []
    with arithmetic(speed.precision, device), torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        for k in (0, 1):
            learnt, judged = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            data = PUData(as_tensor(rows[learnt]), torch.from_numpy(s[learnt]).float(), float("nan")).to(device)
            run = Run(data, build, speed=speed, views=views)
            net = run.net()
            run.train("first-pass", net, Risk("naive", balanced), _recipe(len(learnt)))
            z[judged] = logits(net, as_tensor(rows[judged]), device).cpu().double().numpy()
    return z[s == 1], z[s == 0]


def balanced(z: Tensor, s: Tensor) -> Tensor:
    positive, negative = pn_risks(z, s)
    return positive + negative


def _recipe(rows: int) -> Recipe:
    batch = int(np.clip(rows // 16, *BATCH))
    epochs = int(np.clip(round(STEPS * batch / rows), *EPOCHS))
    return Recipe(epochs=epochs, lr=RATE, weight_decay=DECAY, batch_size=batch, sampling="stratified")
