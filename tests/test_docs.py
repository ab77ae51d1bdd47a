"""The guides run as they are written, and the README has the results as they are."""

import re
from pathlib import Path

import numpy as np

from distpu import METHODS
from distpu.files.folder import read_log
from distpu.metrics import METRICS
from distpu.study import experiment as experiments
from distpu.study import tables

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def test_the_guide_to_a_new_method_to_the_letter(toy, tmp_path, monkeypatch):
    X, s, y = toy
    file, line, test, use = blocks("new-method.md")
    (tmp_path / "biased_ce.py").write_text(file)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("distpu.methods.METHODS", dict(METHODS))
    from biased_ce import BiasedCE, biased_ce_risk

    import distpu.methods

    scope = {"METHODS": distpu.methods.METHODS, "BiasedCE": BiasedCE, "biased_ce_risk": biased_ce_risk, "X": X, "s": s}
    for block in (line, test, use):
        exec(block, scope)
    scope["test_biased_ce_risk"]()
    assert distpu.methods.METHODS["biased-ce"] is BiasedCE
    assert distpu.BiasedCE is BiasedCE  # as `distpu methods biased-ce` tells a reader to import it
    classifier = scope["classifier"]
    assert (classifier.predict(X) == y)[s == 0].mean() > 0.6
    assert classifier.get_params()["power"] == 1.0
    np.testing.assert_array_equal(BiasedCE(**classifier.get_params()).fit(X, s).predict(X), classifier.predict(X))


def test_the_readme_has_the_results_as_they_are():
    """Its two tables beside the lines that they come from."""
    root = DOCS.parent
    experiment = experiments.read(str(root / "experiments/table-2.toml"))
    lines = [line for line in read_log(root / "results/table-2/runs.jsonl") if line["keep"] == "last"]
    readme = (root / "README.md").read_text().splitlines()

    def shown(cell, metric):
        return str(tables.figure(lines, cell, metric))

    column = {"fashion-mnist": 1, "cifar-10": 3, "alzheimer": 5}
    for cell in experiment.cells:
        row = next(line for line in readme if line.startswith(f"| {cell.label} |") and "±" in line)
        told = "{:.2f} ± {:.2f}".format(*cell.published["accuracy"])
        ours, paper = row.strip("| ").split(" | ")[column[cell.dataset] :][:2]
        assert (ours, paper) == (shown(cell, "accuracy"), told)
        if cell.method == "dist-pu" and any(line["dataset"] == cell.dataset for line in lines):
            name = "Fashion-MNIST" if cell.dataset == "fashion-mnist" else tables.DATASETS[cell.dataset]
            seeds = sum((line["dataset"], line["method"]) == (cell.dataset, cell.method) for line in lines)
            few = "" if seeds == len(experiment.seeds) else f" ({seeds} seeds)"
            ours = next(line for line in readme if line.startswith(f"| {name}, ours{few} |"))
            for metric in METRICS:
                assert shown(cell, metric).split(" ")[0] in ours
