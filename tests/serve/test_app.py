"""The server: what it answers, what it refuses, and a real process that ends when it is told."""

import json
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import distpu as package
from distpu import ElkanNoto
from small import small
from terminal import refused

pytest.importorskip("fastapi", reason='pip install "distpu[serve]" brings it')
pytest.importorskip("httpx2", reason="the test client needs it")
from starlette.testclient import TestClient  # noqa: E402

from distpu.serve.app import Scorer, create_app  # noqa: E402
from distpu.serve.schema import Column, Limits, Schema  # noqa: E402

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "run"
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(200, 3)) + (np.arange(200) < 80)[:, None], columns=["age", "sum", HOSTILE])
    ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(200) < 40, folder=folder)
    return folder


@pytest.fixture(scope="module")
def client(run):
    return TestClient(create_app(Scorer(run, id="name"), Limits(bytes=20_000, rows=50, text=100)))


def rows(n=3):
    random = np.random.default_rng(1)
    return [{"age": a, "sum": b, HOSTILE: c} for a, b, c in random.normal(size=(n, 3)).tolist()]


def test_rows_get_the_scores_of_the_model(client, run):
    given = rows()
    for body in (given, {"rows": given}):
        answer = client.post("/score", json=body)
        assert answer.status_code == 200
        decision, p = package.load(run).judged(pd.DataFrame(given))
        found = answer.json()["rows"]
        assert [row["id"] for row in found] == [0, 1, 2]
        np.testing.assert_allclose([row["score"] for row in found], decision)
        np.testing.assert_allclose([row["probability"] for row in found], p)
        assert [row["decision"] for row in found] == (decision >= 0).astype(int).tolist()
    named = [{**row, "name": f"c{i}"} for i, row in enumerate(given)]
    assert [row["id"] for row in client.post("/score", json=named).json()["rows"]] == ["c0", "c1", "c2"]


def wrong(**changes):
    return [{**rows(1)[0], **changes}]


@pytest.mark.parametrize(
    "body, status, message",
    [
        ("{", 422, "the body is no JSON"),
        ("[" * 100_000, 413, "larger than 20000 bytes"),
        ("[" * 15_000, 422, "the body is no JSON"),
        ('[{"age": NaN}]', 422, "NaN is no JSON; send null"),
        ("3", 422, "send a list of rows"),
        ('{"row": []}', 422, "send a list of rows"),
        ("[]", 422, "there are no rows"),
        ("[3]", 422, "row 0: a row must be an object"),
        (json.dumps(rows(51)), 413, "there are 51 rows; one call takes at most 50"),
        (json.dumps([{"age": 1}]), 422, "column 'sum' is missing; send null if it is blank"),
        (json.dumps(wrong(agee=1)), 422, "column 'agee' is not known; did you mean 'age'?"),
        (json.dumps(wrong(age="old")), 422, "column 'age' must be a number, or null; it is 'old'"),
        (json.dumps(wrong(age=True)), 422, "column 'age' must be a number, or null; it is True"),
        (json.dumps(wrong(age=[1])), 422, "column 'age' must be a number, or null; it is a list"),
        (
            json.dumps(wrong(name=1)).replace('"name": 1', '"name": 1e999'),
            422,
            "column 'name' must be a finite number or",
        ),
        (json.dumps(wrong(name={"a": 1})), 422, "column 'name' must hold one value"),
        (json.dumps(wrong(name="x" * 101)), 422, "column 'name' has 101 characters; at most 100 are taken"),
        ('[{"age": 1' + "0" * 400 + ', "sum": 1}]', 422, "column 'age' must be a number"),
        ('[{"age": 1' + "0" * 5000 + "}]", 422, "the body is no JSON"),
    ],
    ids=range(19),
)
def test_what_does_not_fit_is_refused_and_said(client, body, status, message):
    answer = client.post("/score", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert message in json.dumps(answer.json(), ensure_ascii=False)


def test_every_problem_is_listed_with_its_place(client):
    given = rows(4)
    del given[1]["sum"]
    given[3]["age"] = "x"
    problems = client.post("/score", json=given).json()["problems"]
    assert [(one["row"], one["column"]) for one in problems] == [(1, "sum"), (3, "age")]


def test_other_content_types_and_hosts_are_refused(client):
    assert client.post("/score", content=json.dumps(rows()), headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.get("/health", headers={"Host": "elsewhere.example"}).status_code == 400


def test_rows_that_the_model_does_not_take_are_refused_by_its_own_words(client, monkeypatch):
    def refuses(self, X):
        raise ValueError("Input X contains\ninfinity")

    monkeypatch.setattr(package.PUEstimator, "judged", refuses)
    answer = client.post("/score", json=rows())
    assert answer.status_code == 422 and answer.json()["message"] == "Input X contains infinity"


def test_a_blank_is_null(client):
    assert client.post("/score", json=wrong(age=None)).status_code == 200


def test_what_a_client_asks_about_the_model(client, run):
    assert client.get("/health").json() == {"status": "ok"}
    version = client.get("/version").json()
    assert version["distpu"] == package.__version__ and version["method"] == "elkan-noto"
    assert version["model"] == client.post("/score", json=rows()).json()["model"]
    assert [column["name"] for column in client.get("/schema").json()["columns"]] == ["age", "sum", HOSTILE]
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {"/score", "/health", "/version", "/schema"}
    schema = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["oneOf"][0]["items"]["required"] == ["age", "sum", HOSTILE]


def test_the_page_needs_no_network_and_runs_nothing(client):
    answer = client.get("/docs")
    assert (
        HOSTILE not in answer.text and "&lt;script&gt;" in answer.text and "http" not in answer.text.split("</head>")[1]
    )
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


def test_the_printed_address_shows_the_page(client):
    assert client.get("/").text == client.get("/docs").text
    assert "/" not in client.get("/openapi.json").json()["paths"]


def test_texts_that_write_a_vector_are_taken_as_in_training(tmp_path):
    random = np.random.default_rng(0)
    place = random.normal(size=(200, 2)) + (np.arange(200) < 80)[:, None]
    X = pd.DataFrame({"place": [f"{a:.3f}, {b:.3f}" for a, b in place]})
    ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(200) < 40, folder=tmp_path / "run")
    client = TestClient(create_app(Scorer(tmp_path / "run")))
    text, listed = ({"place": value} for value in ("1.5, -2.0", [1.5, -2.0]))
    a, b = client.post("/score", json=[text, listed]).json()["rows"]
    assert a["score"] == b["score"]
    assert client.post("/score", json=[{"place": "somewhere"}]).status_code == 422


def test_warnings_of_the_model_reach_the_client(client, monkeypatch):
    import warnings

    def warns(self, X, real=package.PUEstimator.judged):
        warnings.warn("column 'age' is far\nfrom training", UserWarning, stacklevel=2)
        return real(self, X)

    monkeypatch.setattr(package.PUEstimator, "judged", warns)
    assert client.post("/score", json=rows()).json()["warnings"] == ["column 'age' is far from training"]


def test_rows_of_unnamed_columns_are_lists(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = small("nnpu", prior=0.4, epochs=1, network="mlp").fit(X, np.arange(60) < 20, folder=tmp_path / "run")
    client = TestClient(create_app(Scorer(tmp_path / "run")))
    found = client.post("/score", json=X[:2].tolist()).json()["rows"]
    np.testing.assert_allclose([row["probability"] for row in found], model.predict_proba(X[:2])[:, 1], rtol=1e-6)
    assert "a row must be a list of 3 numbers" in client.post("/score", json=[[1, 2]]).json()["message"]
    assert "position 1 must be a number" in client.post("/score", json=[[1, "2", 3]]).json()["message"]
    images = np.zeros((20, 1, 4, 4), dtype=np.uint8)
    images[:8] = 255
    small("nnpu", prior=0.4, epochs=1, network="mlp").fit(images, np.arange(20) < 8, folder=tmp_path / "images")
    assert "takes images of shape" in refused("serve", tmp_path / "images", "--port", free_port())


def test_kinds_of_columns_other_than_numbers():
    class Encoder:
        columns_ = [Column("town", "category", True), Column("day", "date", True), Column("v", "vector", True),
                    Column("key", "id", False)]  # fmt: skip
        id = "key"

    class Model:
        encoder_ = Encoder()

    schema = Schema(Model())
    frame, ids = schema.read([{"town": "Ulm", "day": "2026-01-02", "v": [1, 2], "key": 7}], Limits())
    assert list(frame) == ["town", "day", "v"] and frame["town"][0] == "Ulm" and ids == [7]
    frame, ids = schema.read([{"town": None, "day": None, "v": None}], Limits())
    assert frame["town"][0] is None and ids == [0]
    for bad in ({"town": ["Ulm"]}, {"v": "1"}, {"v": [1, None]}, {"day": {"a": 1}}):
        with pytest.raises(ValueError, match=f"row 0: column '{next(iter(bad))}' must"):
            schema.read([{"town": "a", "day": "b", "v": [1], **bad}], Limits())


def test_words_among_numbers_are_taken_as_in_training(tmp_path):
    random = np.random.default_rng(0)
    amounts = random.integers(1, 90, 200).astype(str).astype(object)
    amounts[::5], amounts[1::5] = "<1", "unlimited"
    X = pd.DataFrame({"limit": amounts, "a": random.normal(size=200) + (np.arange(200) < 80)})
    model = ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(200) < 40, folder=tmp_path / "run")
    client = TestClient(create_app(Scorer(tmp_path / "run")))
    given = [{"limit": value, "a": 0.5} for value in ("<1", "unlimited", 7, None)]
    for some in (given, given[:1], given[2:]):
        answer = client.post("/score", json=some)
        assert answer.status_code == 200, answer.text
        expected = model.predict_proba(pd.DataFrame(some).astype({"limit": object}))[:, 1]
        np.testing.assert_allclose([row["probability"] for row in answer.json()["rows"]], expected)
    assert client.get("/schema").json()["columns"][0]["kind"] == "number or text"
    message = client.post("/score", json=[{"limit": True, "a": 0.5}]).json()["message"]
    assert message == "row 0: column 'limit' must be a number or a text, or null; it is True"


@pytest.mark.parametrize("extra, key", [({"order_id": range(200)}, "order_id"), ({}, "id")])
def test_rows_are_given_back_with_the_id_that_they_bring(tmp_path, extra, key):
    """Of a model that was not told which column names the rows."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {**extra, "a": random.normal(size=200) + (np.arange(200) < 80), "b": random.choice(["x", "y"], 200)}
    )
    ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(200) < 40, folder=tmp_path / "run")
    client = TestClient(create_app(Scorer(tmp_path / "run")))
    given = [{"a": 1.0, "b": "x", key: "A-17"}, {"a": 1.0, "b": "x"}]
    assert [row["id"] for row in client.post("/score", json=given).json()["rows"]] == ["A-17", 1]
    assert (
        client.get("/schema").json()["id"] == key and f"&quot;{key}&quot;: &quot;A-17&quot;" in client.get("/docs").text
    )


def test_numbers_may_be_sent_as_the_training_file_wrote_them(tmp_path):
    random = np.random.default_rng(0)
    sums = random.lognormal(6, 2, 200).round(3)
    X = pd.DataFrame({"sum": [f"{v:.3f} EUR".replace(".", ",") for v in sums], "a": random.normal(size=200)})
    model = ElkanNoto(LogisticRegression(), random_state=0).fit(X, np.arange(200) < 40, folder=tmp_path / "run")
    client = TestClient(create_app(Scorer(tmp_path / "run")))
    answer = client.post("/score", json=[{"sum": "1,234 EUR", "a": 0.5}, {"sum": 1.234, "a": 0.5}]).json()
    expected = model.predict_proba(pd.DataFrame({"sum": ["1,234 EUR"], "a": [0.5]}))[0, 1]
    assert [row["probability"] for row in answer["rows"]] == pytest.approx([expected] * 2, rel=1e-6)
    assert not answer["warnings"]


def test_a_number_of_rows_is_no_cut_of_a_server(run):
    assert "counts the rows of one file" in refused("serve", run, "--threshold", "rows=5")


def test_calls_at_the_same_time_get_their_own_answers(client):
    given = rows(40)
    alone = [client.post("/score", json=[row]).json()["rows"][0]["score"] for row in given[:8]]
    found = [None] * 8

    def call(i):
        found[i] = client.post("/score", json=[given[i]]).json()["rows"][0]["score"]

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert found == alone


# ------------------------------------------------------------------ a real process


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def asked(port, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    call = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(call, timeout=30) as answer:
        return json.load(answer)


def told(port, length, hang_up=False):
    """The first words of the answer to a head that promises a body; without waiting for one if the client hangs up."""
    head = (
        f"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        line.sendall(head.encode())
        return b"" if hang_up else line.recv(100)


def test_a_real_server_starts_answers_and_ends_when_told(run):
    port = free_port()
    command = [sys.executable, "-m", "distpu", "serve", str(run), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            for _ in range(600):
                try:
                    assert asked(port, "/health") == {"status": "ok"}
                    break
                except (urllib.error.URLError, ConnectionError):
                    assert server.poll() is None, server.stderr.read()
                    time.sleep(0.1)
            assert len(asked(port, "/score", rows(5))["rows"]) == 5
            assert told(port, length=900_000_000).startswith(b"HTTP/1.1 413")  # by the header, before any body
            with pytest.raises(urllib.error.HTTPError) as large:  # a client that sends gets to read the answer
                asked(port, "/score", {"rows": "x" * 30_000_000})
            assert large.value.code == 413 and "is larger than 10000000 bytes" in large.value.read().decode()
            assert told(port, length=1000, hang_up=True) == b""
            assert asked(port, "/health") == {"status": "ok"}
            taken = refused("serve", run, "--port", port)
            assert f"127.0.0.1:{port} cannot be listened on (Address already in use)" in taken
            server.send_signal(signal.SIGTERM)
            out, err = server.communicate(timeout=60)
        finally:
            server.kill()
    assert server.returncode == 0 and err == ""
    assert f"at http://127.0.0.1:{port}  (POST /score;" in out


# --------------------------------------------------------------------- fuzzed bodies


def any_value(random, depth=0):
    plain = [None, True, 0, -1, 1e308, 10**400, "", "x" * 120, "\ud800", "=1+1", 0.5, "NaN", HOSTILE]
    if depth < 3 and random.random() < 0.3:
        keys = ["rows", "age", "sum", HOSTILE, "name", "", "\x00"]
        many = [any_value(random, depth + 1) for _ in range(random.integers(0, 4))]
        return many if random.random() < 0.5 else {keys[random.integers(len(keys))]: value for value in many}
    return plain[random.integers(len(plain))]


def test_no_body_brings_the_server_down(client):
    random, seen = np.random.default_rng(0), set()
    for number in range(300):
        if number % 3 == 0:
            body = any_value(random)
        else:
            body = rows(2)
            body[random.integers(2)][["age", "sum", "name", HOSTILE][random.integers(4)]] = any_value(random)
        content = bytearray(json.dumps(body).encode())
        if number % 5 == 0 and content:
            content[random.integers(len(content))] = random.integers(256)
        answer = client.post("/score", content=bytes(content), headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 413, 422), (answer.status_code, body)
        assert answer.json()  # whatever happened, the answer is JSON
        seen.add(answer.status_code)
    assert {200, 422} <= seen
