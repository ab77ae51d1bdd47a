"""A tiny experiment, a tiny search, and how to run them."""

import json
from pathlib import Path

from typer.testing import CliRunner

from distpu.cli import app
from distpu.metrics import METRICS
from distpu.study.ledger import Ledger, Line

REPOSITORY = Path(__file__).parents[2]
TINY = """
title = "A tiny comparison"
show = "comparison"
seeds = 2
keeps = ["last", "oracle", "pu"]
against = "nnpu"

[settings.digits]
batch_size = 64

[[cells]]
method = "naive"
dataset = "digits"
settings = { epochs = 2 }
published = { accuracy = [70.0, 2.0], auc = [90.0, 1.0] }

[[cells]]
method = "nnpu"
label = "nnPU"
datasets = ["digits"]
[cells.digits]
settings = { epochs = 3, lr = 1e-3 }
"""

SEARCH = """
title = "A tiny search"
show = "search"
seeds = [100]

[[cells]]
method = "nnpu"
dataset = "digits"

[vary]
epochs = [1, 6]
"""

NAIVE = '[[cells]]\nmethod = "naive"\ndataset = "digits"\n'


def run(folder, *arguments):
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--results", str(folder / "results"), "--runs",
                                    str(folder / "runs"), "--jobs", "1"])  # fmt: skip
    assert done.exit_code == 0, done.output
    return done


def lines_in(folder, name="tiny"):
    return [json.loads(line) for line in (folder / "results" / name / "runs.jsonl").read_text().splitlines()]


def line(cell, seed=0, **more):
    told = {"settings": cell.settings, "device": "cpu", "versions": {}, "seconds": 1.0, "true_prior": 0.4, "prior": 0.4}
    names = {"key": cell.key, "method": cell.method, "dataset": cell.dataset, "variant": cell.variant or None}
    values = dict.fromkeys(METRICS, 0.5 + 0.01 * seed)
    return Line(**{**names, "seed": seed, "keep": "last", "metrics": values, **told, **more})


def known(experiment, results):
    """The lines that an experiment finds."""
    return Ledger(results, experiment.place).find(experiment.asks)
