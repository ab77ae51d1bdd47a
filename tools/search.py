"""Judge settings of a method without negatives: PU accuracy on held-out PU rows, over two folds.

    python tools/search.py fashion-mnist settings.jsonl found.jsonl --seeds 100 101 --jobs 14

settings.jsonl has one JSON list a line, ["dist-pu", {"epochs": 15, "lr": 5e-4}]. Every labelled row is held out once;
copies of a row share a fold. found.jsonl gets a line per setting and seed: PU accuracy (`pa`), PU AUC (`pauc`), and,
for the reader alone, the test figures. Use other seeds than those that will be reported.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context

import numpy as np
import torch

from distpu import bench, datasets, draw_pu
from distpu.metrics import evaluate, pu_accuracy, pu_auc

FOLDS = 2


@lru_cache
def data(name: str, root: str | None) -> datasets.Dataset:
    torch.set_num_threads(1)
    return datasets.load(name, root)


def judge(name: str, root: str | None, method: str, settings: dict, seed: int) -> dict:
    start, d = time.time(), data(name, root)
    index, s = draw_pu(d.y, d.labelled, seed=seed)
    prior = float(d.y[index][s == 0].mean())
    fold = (np.random.default_rng(seed).permutation(len(d.y)) % FOLDS)[index]
    z, tests = np.empty(len(index)), []
    for k in range(FOLDS):
        classifier = bench.make(method, {"random_state": seed, "prior": prior, "progress": False, **settings})
        classifier.fit(d.x[index][fold != k], s[fold != k])
        z[fold == k] = classifier.decision_function(d.x[index][fold == k])
        test = evaluate(d.y_test, classifier.decision_function(d.x_test))
        tests.append((test["accuracy"], test["auc"]))
    found = {"pa": pu_accuracy(s, z, prior), "pauc": pu_auc(s, z), "test": np.mean(tests, 0).round(4).tolist()}
    return {"method": method, "config": settings, "seed": seed, **found, "seconds": round(time.time() - start, 1)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("settings")
    parser.add_argument("found")
    parser.add_argument("--seeds", type=int, nargs="+", default=[100])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data-root")
    options = parser.parse_args()
    with open(options.settings) as file:
        tasks = [(*json.loads(line), seed) for line in file for seed in options.seeds]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool, open(options.found, "a") as out:
        jobs = [pool.submit(judge, options.dataset, options.data_root, *task) for task in tasks]
        for job in as_completed(jobs):
            row = json.dumps(job.result())
            print(row, flush=True)
            out.write(row + "\n")
