"""`distpu reproduce` for many variants of Dist-PU with Mixup: a warm-up that some of them share is made once a draw.

    python tools/shared_warm_up.py search-alzheimer-5 [what distpu reproduce takes] [compiled]

What is learnt from a warm-up's end on is the same to the bit: the network, the random state and the log are put back.
Only the seconds of a line lack the warm-up, where it was taken over. The runs must follow one another in one process
(--jobs 1, which is the rule on a GPU). compiled: the network is, from 1e15 operations a stage on instead of 2.5e15, for
a search of many short runs; to other bits than plain ones.
"""

from __future__ import annotations

import copy
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

from distpu import cli
from distpu.methods.dist_pu import WarmUp
from distpu.train import checkpoint, device
from distpu.train.run import Run

COMPILED_FROM = 1e15
MOST = 4  # warm-ups kept: a draw's folds, or an ablation's bases
# what the warm-up does not read; the recipe has what `epochs` is to it
WITH_MIXUP = ("epochs", "lr", "lr_floor", "weight_decay", "entropy", "entropy_schedule", "mixup", "mixed_entropy",
              "alpha", "fold", "targets", "labelled_target")  # fmt: skip
kept: dict[Any, Any] = {}  # what a warm-up was made from, and how it ended
train = Run.epochs


def epochs(run: Run, stage: str, model: Any, objective: Any, recipe: Any) -> Iterator[Any]:
    if not (stage == "warm-up" and isinstance(objective, WarmUp)):
        yield from train(run, stage, model, objective, recipe)
        return
    settings = {name: value for name, value in objective.of.get_params().items() if name not in WITH_MIXUP}
    rows = [zlib.crc32(t.cpu().contiguous().numpy()) for t in (run.data.x, run.data.s)]
    told = replace(recipe, period=recipe.period or recipe.epochs)  # None is the stage's own length
    key = (repr(settings), told, *rows, torch.get_rng_state().numpy().tobytes())
    optimizer = recipe.optimizer(model)  # a stage has its own: none of it outlives the warm-up
    if key in kept:
        state, history = kept[key]
        checkpoint.unpack(state, model, objective, optimizer)
        run.history += copy.deepcopy(history)
        if run._folder:  # a stage with Mixup would write it; there may be none
            run._folder.rewrite_log(run.history)
        return
    yield from train(run, stage, model, objective, recipe)
    if len(kept) == MOST:
        del kept[next(iter(kept))]
    kept[key] = copy.deepcopy((checkpoint.pack(model, objective, optimizer), run.history))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    if "compiled" in sys.argv:
        sys.argv.remove("compiled")
        device.COMPILE_FROM = COMPILED_FROM
    Run.epochs = epochs  # type: ignore[method-assign]
    sys.argv[1:1] = ["reproduce"]
    sys.argv += ["--jobs", "1"]
    cli.main()
