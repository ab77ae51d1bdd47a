"""scikit-learn models in files: read back as they were, or refused in one line."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from distpu.files import models


@pytest.fixture(scope="module")
def rows():
    x = np.random.default_rng(0).normal(size=(200, 4))
    return x, (x[:, 0] > 0).astype(int)


@pytest.mark.parametrize("model", [RandomForestClassifier(5), HistGradientBoostingClassifier(max_iter=5)])
def test_a_model_comes_back_as_it_was(model, rows, tmp_path):
    model.fit(*rows)
    models.save(tmp_path / "model", {"model": model}, "BaggingPU")
    again = models.load(tmp_path / "model")["model"]
    np.testing.assert_array_equal(again.predict_proba(rows[0]), model.predict_proba(rows[0]))


def test_what_could_run_code_is_neither_written_nor_read(rows, tmp_path):
    import skops.io

    state = {"model": FunctionTransformer(eval)}
    with pytest.raises(ValueError, match="BaggingPU holds .*eval.*, which has no file that is safe to load"):
        models.save(tmp_path / "model", state, "BaggingPU")
    assert not (tmp_path / "model").exists()
    (tmp_path / "strange").write_bytes(skops.io.dumps(state))
    with pytest.raises(ValueError, match="it holds .*eval.*, which is not on the list"):
        models.load(tmp_path / "strange")


@pytest.mark.parametrize("kind", ["Tree", "TreePredictor"])
def test_a_tree_that_points_outside_itself_is_refused(kind, rows, tmp_path, monkeypatch):
    """Compiled code follows the children of a node without a look: such a file could crash the process."""
    model = RandomForestClassifier(2) if kind == "Tree" else HistGradientBoostingClassifier(max_iter=2)
    model.fit(*rows)
    if kind == "Tree":
        model.estimators_[0].tree_.children_left[0] = 10**6
    else:
        model._predictors[0][0].nodes["left"][0] = 10**6
    models.save(tmp_path / "model", {"model": model}, "BaggingPU")
    with pytest.raises(ValueError, match="a tree points outside itself"):
        models.load(tmp_path / "model")


def test_damage_is_one_line(rows, tmp_path):
    models.save(tmp_path / "model", {"model": RandomForestClassifier(2).fit(*rows)}, "BaggingPU")
    whole = (tmp_path / "model").read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 10):
        (tmp_path / "model").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="cannot be used") as found:
            models.load(tmp_path / "model")
        assert "\n" not in str(found.value)
    (tmp_path / "model").write_bytes(whole)
    with zipfile.ZipFile(tmp_path / "model") as archive:
        schema = json.loads(archive.read("schema.json"))
    schema["content"] = None
    with zipfile.ZipFile(tmp_path / "model", "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))
    with pytest.raises(ValueError, match="cannot be used"):
        models.load(tmp_path / "model")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        models.load(tmp_path / "none")


def test_a_bad_tree_is_found_however_deep_it_lies(rows, tmp_path, monkeypatch):
    model = RandomForestClassifier(2).fit(*rows)
    model.estimators_[0].tree_.children_left[0] = 10**6
    for _ in range(6):
        model = make_pipeline(model)
    models.save(tmp_path / "model", {"model": model}, "BaggingPU")
    with pytest.raises(ValueError, match="a tree points outside itself"):
        models.load(tmp_path / "model")
    monkeypatch.setattr(models, "MOST_NESTED", 5)
    with pytest.raises(ValueError, match="nested too deeply to be checked"):
        models.load(tmp_path / "model")


def test_a_model_of_scikit_learn_is_read_without_torch(rows, tmp_path):
    """Importing skops imports all of scikit-learn, which would import torch: two seconds of every predict."""
    models.save(tmp_path / "model", {"model": RandomForestClassifier(2).fit(*rows)}, "BaggingPU")
    code = (
        "import sys; from pathlib import Path; from distpu.files import models; "
        f"models.load(Path({str(tmp_path / 'model')!r})); print('torch' in sys.modules, models.BRIDGE in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("model", [RandomForestClassifier(3), HistGradientBoostingClassifier(max_iter=3)])
def test_equal_models_are_equal_bytes(model, rows, tmp_path):
    """Also one that was read from a file: a run that was killed has parts of both kinds."""
    model.fit(*rows)
    models.save(tmp_path / "first", {"models": [model, model], "zero": 0.0, "also": -0.0}, "BaggingPU")
    code = f"""
from distpu.files import models
state = models.load(__import__('pathlib').Path({str(tmp_path / "first")!r}))
assert state['models'][0] is state['models'][1] and str(state['also']) == '-0.0'
models.save(__import__('pathlib').Path({str(tmp_path / "again")!r}), state, 'BaggingPU')
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "first").read_bytes()
    with zipfile.ZipFile(tmp_path / "first") as file:
        assert {part.date_time for part in file.infolist()} == {(1980, 1, 1, 0, 0, 0)} and file.testzip() is None
