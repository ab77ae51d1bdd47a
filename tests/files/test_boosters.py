"""Boosted trees in LightGBM's text form: what LightGBM wrote passes, what points outside is refused."""

import lightgbm
import numpy as np
import pytest

import distpu
from distpu.files import boosters, models


@pytest.fixture(scope="module")
def text():
    x = np.random.default_rng(0).normal(size=(300, 4))
    settings = {"objective": "binary", "num_leaves": 6, "verbosity": -1, "num_threads": 1}
    return lightgbm.train(settings, lightgbm.Dataset(x, x[:, 0] > 0.1 * x[:, 1]), 3).model_to_string()


def test_what_lightgbm_writes_passes(text):
    boosters.check(text)
    x = np.zeros((60, 2))
    constant = lightgbm.train({"verbosity": -1}, lightgbm.Dataset(x, np.arange(60) % 2), 2)  # trees of one leaf
    boosters.check(constant.model_to_string())


@pytest.mark.parametrize(
    "key, change, message",
    [
        ("left_child", lambda v: [10**6, *v[1:]], "points outside itself"),
        ("right_child", lambda v: [0, *v[1:]], "points outside itself"),  # a path that goes round
        ("left_child", lambda v: [-(10**6), *v[1:]], "points outside itself"),
        ("split_feature", lambda v: [4, *v[1:]], "points outside itself"),
        ("split_feature", lambda v: [-1, *v[1:]], "points outside itself"),
        ("threshold", lambda v: v[1:], "values of threshold and must have"),
        ("num_leaves", lambda v: [10**6], "and must have"),
        ("num_cat", lambda v: [1], "never writes"),
    ],
)
def test_a_crafted_tree_is_refused(text, key, change, message):
    lines = text.splitlines(keepends=True)
    i = next(i for i, line in enumerate(lines) if line.startswith(f"{key}="))
    values = [float(v) if "." in v or "e" in v else int(v) for v in lines[i].split("=")[1].split()]
    lines[i] = f"{key}={' '.join(map(str, change(values)))}\n"
    crafted = "".join(lines)
    starts = [crafted.index(f"Tree={k}\n") for k in range(3)] + [crafted.index("\nend of trees") + 1]
    sizes = " ".join(map(str, np.diff(starts)))
    told = next(line for line in lines if line.startswith("tree_sizes="))
    crafted = crafted.replace(told, f"tree_sizes={sizes}\n")
    with pytest.raises(ValueError, match=message):
        boosters.check(crafted)


def test_other_sizes_are_refused(text):
    told = next(line for line in text.splitlines() if line.startswith("tree_sizes="))
    with pytest.raises(ValueError, match="other sizes than it says"):
        boosters.check(text.replace(told, "tree_sizes=1 2 3"))
    with pytest.raises(ValueError, match="not whole"):
        boosters.check(text[:100])


@pytest.mark.parametrize("method", ["blend-pu", "dist-pu-boost"])
def test_a_models_file_is_checked_when_it_is_read(method, toy, tmp_path):
    from small import small

    X, s, _ = toy
    small(method).fit(X, s).save(tmp_path / "model")
    path = tmp_path / "model/model.skops"
    state = models.load(path)
    (name,) = (key for key in ("states_", "trees_") if key in state)
    found, place = (state[name][0][2][0], 1) if name == "states_" else (state[name], 0)
    assert found[place].startswith(boosters.START)
    found[place] = found[place].replace("split_feature=", "split_feature=99 ", 1)
    models.save(path, state, "test")
    with pytest.raises(ValueError, match="boosted trees"):
        distpu.load(tmp_path / "model")
