"""The guides run as they are written."""

import re
from pathlib import Path

import numpy as np

from distpu import METHODS

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
    classifier = scope["classifier"]
    assert (classifier.predict(X) == y)[s == 0].mean() > 0.6
    assert classifier.get_params()["power"] == 1.0
    np.testing.assert_array_equal(BiasedCE(**classifier.get_params()).fit(X, s).predict(X), classifier.predict(X))
