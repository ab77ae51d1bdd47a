"""docs/predict.md and docs/serve.md, to the letter."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import distpu as package
from pages import blocks, table, text_of
from terminal import done

pytest.importorskip("onnxruntime", reason='pip install "distpu[onnx]" brings it')


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder in which both pages were followed, and the names that their Python made."""
    place, before = tmp_path_factory.mktemp("guide"), Path.cwd()
    os.chdir(place)
    try:
        data, *python = blocks("docs/predict.md")
        scope: dict = {}
        exec(data, scope)
        commands = [line.split()[1:] for line in text_of("docs/predict.md").splitlines() if line.startswith("distpu ")]
        assert len(commands) == 8
        for words in commands:
            done(*words)
        for block in python:
            exec(block, scope)
    finally:
        os.chdir(before)
    return place, scope


def test_predict_writes_what_the_page_says(followed):
    place, scope = followed
    scores, rows = pd.read_csv(place / "scores.csv"), table("docs/predict.md", "column", "what it is")
    assert [name.strip("`") for name in rows] == list(scores)
    assert scores["id"].tolist() == scope["table"]["customer"][1000:].tolist()
    assert scope["done"].rows == 2000 and scope["done"].positive == scores["decision"].sum()
    ranked = pd.read_parquet(place / "ranked.parquet").sort_values("rank")
    assert ranked["score"].is_monotonic_decreasing
    truth = scope["fraud"][1000:]
    assert truth[scores["score"].to_numpy().argsort()[-100:]].mean() > 0.6  # a fifth of all rows
    assert pd.read_csv(place / "sure.csv")["decision"].sum() < scores["decision"].sum()


def test_the_graph_of_the_page_gives_the_same_probabilities(followed):
    place, scope = followed
    expected = pd.read_parquet(place / "scores.parquet")["probability"][:1000]
    np.testing.assert_allclose(scope["probability"], expected, atol=1e-4)


def test_a_server_answers_as_the_page_says(followed):
    testclient = pytest.importorskip("starlette.testclient")
    from distpu.serve.app import Scorer, create_app

    body, answer, refused = (json.loads(block) for block in blocks("docs/serve.md", "json"))
    client = testclient.TestClient(create_app(Scorer(followed[0] / "model")))
    found = client.post("/score", json=body).json()
    assert set(found) == set(answer) and found["warnings"] == []
    assert [row.keys() for row in found["rows"]] == [row.keys() for row in answer["rows"]]
    assert [row["decision"] for row in found["rows"]] == [row["decision"] for row in answer["rows"]]
    bad = {"rows": [{**body["rows"][0], "age": "old"}]}
    assert client.post("/score", json=bad).json() == refused
    for call in table("docs/serve.md", "call", "what it answers"):
        method, path = call.strip("`").split()
        assert method == "POST" or client.get(path).status_code == 200, call
    assert client.get("/version").json()["distpu"] == package.__version__


def test_the_pages_name_limits_and_numbers_that_the_code_has():
    from distpu.export.onnx_file import TABLES, TOLERANCE
    from distpu.predictions.rows import ROWS
    from distpu.serve.running import GRACE
    from distpu.serve.schema import SHOWN, Limits

    predict, serve = (" ".join(text_of(f"docs/{name}.md").split()) for name in ("predict", "serve"))
    assert f"read {ROWS:,} rows at a time" in predict and f"more than {TOLERANCE:.4f} is not written" in predict
    assert all(f"`{name}`" in predict for name in TABLES)
    assert f"above {Limits.bytes // 10**6} MB or more than {Limits.rows:,} rows" in serve
    assert f"above {Limits.text:,} characters" in serve and f"the first {SHOWN} problems" in serve
    assert GRACE == 10 and "ten seconds at most" in serve
