"""`distpu show`: facts from the JSON files of a folder."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from distpu import ElkanNoto
from distpu.show import describe
from small import small
from terminal import done, refused


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show") / "run"
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(300, 2)) + (np.arange(300) < 120)[:, None], columns=["age", "bad\x1b[2J"])
    ElkanNoto(LogisticRegression(), random_state=0, threshold="recall=0.9", pos_label="yes").fit(
        X, np.where(np.arange(300) < 60, "yes", "no"), folder=folder
    )
    return folder


def test_the_facts_are_those_of_the_fit(run):
    facts = json.loads(done("show", run, "--json"))
    assert facts == describe(run)
    assert facts["method"]["name"] == "elkan-noto"
    assert facts["method"]["what"] == (ElkanNoto.__doc__ or "").splitlines()[0]
    assert facts["data"]["rows"] == 300 and facts["data"]["labelled"] == 60
    assert facts["classes"] == ["no", "yes"] and facts["seed"] is not None
    assert 0 < facts["prior"]["share"] < 1
    assert facts["cut"]["choice"] == "recall=0.9" and facts["cut"]["recall"][0] == pytest.approx(0.9, abs=0.05)
    assert [column["name"] for column in facts["columns"]] == ["age", "bad\x1b[2J"]
    assert facts["settings"]["threshold"] == "recall=0.9"
    assert "python" in facts["versions"] and facts["files"]["model.json"] > 100


def test_a_person_can_read_them(run):
    text = done("show", run, columns=120)
    for part in ("elkan-noto: ", "300 rows", "60 labelled positives", "'yes' is positive", "recall=0.9: about ",
                 "of the positives", "threshold=recall=0.9", "model.skops (", "age, bad\\x1b[2J"):  # fmt: skip
        assert part in text, part
    assert "\x1b" not in text  # a terminal would obey it
    assert f"distpu predict {run} FILE" in text


def test_a_network_shows_its_preset_and_a_given_prior(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 6))
    small("nnpu", prior=0.4, epochs=1, network="mlp").fit(X, np.arange(60) < 20, folder=tmp_path / "run")
    text = done("show", tmp_path / "run", columns=200)
    assert "40 % of the unlabelled rows are positive (given)" in text and "preset " in text and "epochs=1" in text
    assert describe(tmp_path / "run")["columns"] is None and describe(tmp_path / "run")["cut"] is None


def test_columns_come_from_the_encoder(run, tmp_path):
    from distpu.files import atomic

    folder = shutil.copytree(run, tmp_path / "run")
    column = {"name": "town", "kind": "category", "done": "one column each for 3 values", "used": True, "width": 3}
    atomic.write_signed(folder / "encoder.json", {"version": 1, "params": {}, "columns": [{**column, "state": {}}]})
    assert describe(folder)["columns"] == [{**{k: v for k, v in column.items() if k != "done"}, "what": column["done"]}]
    assert "one column each for 3 values" in done("show", folder)


def test_what_is_no_model_is_refused_at_once(run, tmp_path):
    assert "is not a run folder" in refused("show", tmp_path)
    folder = shutil.copytree(run, tmp_path / "run")
    (folder / "model.json").write_text("[]")
    assert "model.json holds no object" in refused("show", folder)
    (folder / "model.json").unlink()
    assert "holds no model" in refused("show", folder)


def test_no_model_and_no_torch_is_loaded(run):
    code = f"import sys; from distpu.show import describe; describe({str(run)!r}); print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


def test_an_old_folder_can_be_shown():
    old = Path(__file__).parents[1] / "files/old-run/finished"
    assert describe(old)["method"]["name"] in done("show", old)
