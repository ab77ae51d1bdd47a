"""The graph gives what the method gives, on rows that the export did not see; what has no graph is named."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import distpu as package
from distpu import BlendPU, DistPUBoost, ElkanNoto
from distpu.export import onnx_file, to_onnx
from distpu.export.graph import OPSET, Graph
from distpu.export.trees import ensemble, of_forest
from small import small
from terminal import done, refused

onnx = pytest.importorskip("onnx", reason='pip install "distpu[onnx]" brings it')
onnxruntime = pytest.importorskip("onnxruntime")


def table(n=300, seed=0):
    """Rows with smooth, whole and skewed columns, and blanks; PU labels."""
    random = np.random.default_rng(seed)
    y = random.random(n) < 0.4
    X = random.normal(size=(n, 4)) + y[:, None]
    X[:, 1], X[:, 2] = np.round(X[:, 1]), np.exp(2 * X[:, 2])
    X[random.random(X.shape) < 0.03] = np.nan
    return pd.DataFrame(X, columns=list("abcd")), (y & (random.random(n) < 0.5)).astype(int)


def run(path, rows):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(["score", "probability"], {"x": rows})


def encoded(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that are far from training
        return X.to_numpy(np.float32) if model.encoder_ is None else model.encoder_.transform(X)


@pytest.fixture(scope="module")
def blend(tmp_path_factory):
    folder = tmp_path_factory.mktemp("blend") / "run"
    X, s = table()
    BlendPU(trees=8, bags=2, folds=2, random_state=0, threshold="recall=0.8").fit(X, s, folder=folder)
    return folder


@pytest.mark.parametrize("chosen", [True, False])
def test_a_blend_of_trees_and_kernel_is_one_graph(blend, tmp_path, chosen):
    folder, model = blend, package.load(blend)
    if not chosen:
        folder = model.set_threshold("auto").save(tmp_path / "run")
    made = to_onnx(folder, tmp_path / "model.onnx")
    assert made.rows == 256 and made.score_difference < 1e-4 and made.probability_difference < 1e-4
    x = encoded(model, table(500, seed=1)[0])
    x[0], x[1] = 1e9, -1e9  # far outside of training
    score, p = run(made.path, x)
    decision, probability = model._judged(model._raw_scores(x))
    np.testing.assert_allclose(score, decision, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(p, probability, atol=1e-4)
    assert np.ptp(p) > 0.2
    facts = json.loads({prop.key: prop.value for prop in onnx.load(made.path).metadata_props}["distpu"])
    assert facts["columns"] == made.columns and facts["positive"] == "score >= 0" and facts["method"] == "blend-pu"


def test_the_encoder_of_a_mixed_table_stays_outside_and_lies_beside(tmp_path):
    X, s = table()
    X["town"] = np.where(np.arange(len(X)) % 3 == 0, "Ulm", "Bonn")
    X["town"] = np.where(np.arange(len(X)) % 7 == 0, None, X["town"])
    model = DistPUBoost(rounds=10, bags=1, folds=2, random_state=0).fit(X, s, folder=tmp_path / "run")
    made = to_onnx(tmp_path / "run", tmp_path / "out/model.onnx")
    assert made.columns == model.encoder_.get_feature_names_out().tolist() and len(made.columns) > 5
    assert [path.name for path in made.beside] == ["model.encoder.json"]  # arrays would be in a second file
    _, p = run(made.path, model.encoder_.transform(X))
    np.testing.assert_allclose(p, model.predict_proba(X)[:, 1], atol=1e-5)
    for path in made.beside:
        assert path.read_bytes() == (tmp_path / "run" / path.name.removeprefix("model.")).read_bytes()
    again = to_onnx(tmp_path / "run", tmp_path / "out/second.onnx")
    assert not {*made.beside} & {*again.beside}  # the first export keeps its encoder


def test_boosted_trees(tmp_path):
    X, s = table()
    model = DistPUBoost(rounds=15, bags=2, folds=2, random_state=0).fit(X, s, folder=tmp_path / "run")
    made = to_onnx(tmp_path / "run", tmp_path / "model.onnx")
    X, _ = table(400, seed=2)
    score, p = run(made.path, encoded(model, X))
    decision, probability = model.judged(X)
    np.testing.assert_allclose(score, decision, atol=1e-5)
    np.testing.assert_allclose(p, probability, atol=1e-5)


@pytest.mark.parametrize("name", ["nnpu", "vpu"])
def test_a_network_of_a_table(name, tmp_path):
    random = np.random.default_rng(0)
    X = 5 + 3 * random.normal(size=(80, 4))
    model = small(name, prior=0.4, epochs=2, network="mlp").fit(X, np.arange(80) < 30, folder=tmp_path / "run")
    made = to_onnx(tmp_path / "run", tmp_path / "model.onnx")
    rows = (5 + 3 * random.normal(size=(7, 4))).astype(np.float32)
    score, p = run(made.path, rows)
    decision, probability = model.judged(rows)
    np.testing.assert_allclose(p, probability, atol=1e-5)
    np.testing.assert_allclose(score, decision, rtol=1e-3, atol=1e-3)
    assert made.columns is None and made.shape == (4,)


def test_a_network_of_images(tmp_path):
    random = np.random.default_rng(0)
    X = random.integers(0, 256, (40, 3, 8, 8), dtype=np.uint8)
    model = small("nnpu", prior=0.4, epochs=1, network="cnn-13").fit(X, np.arange(40) < 15, folder=tmp_path / "run")
    made = to_onnx(tmp_path / "run", tmp_path / "model.onnx")
    assert made.shape == (3, 8, 8)
    _, p = run(made.path, X[:5])
    np.testing.assert_allclose(p, model.predict_proba(X[:5])[:, 1], atol=1e-4)


def test_the_command_says_how_far_both_are_apart(blend, tmp_path):
    table(50, seed=3)[0].to_csv(tmp_path / "new.csv", index=False)
    text = done("export", blend, "--onnx", tmp_path / "model.onnx", "--data", tmp_path / "new.csv", columns=300)
    assert "compared with the model on 50 rows of" in text and "scores differ by at most " in text
    assert "MB; input x of shape (rows, " in text and "columns of x, in this order" in text


def test_data_to_compare_on_need_only_the_columns_that_are_used(tmp_path):
    X, s = table()
    fitted = BlendPU(trees=4, bags=1, folds=2, random_state=0)
    fitted.fit(
        X.assign(order_id=range(len(X)), same="one", kind=np.where(X["a"] > 0, "x", "y")), s, folder=tmp_path / "run"
    )
    X.assign(kind="x").to_csv(tmp_path / "new.csv", index=False)
    assert to_onnx(tmp_path / "run", tmp_path / "model.onnx", data=tmp_path / "new.csv").rows == 256


def test_what_has_no_graph_is_named_in_one_line(tmp_path, blend, monkeypatch):
    X, s = table()
    ElkanNoto(LogisticRegression(), random_state=0).fit(X.fillna(0), s, folder=tmp_path / "run")
    monkeypatch.setattr(onnx_file, "load", lambda *_, **__: pytest.fail("the model was loaded first"))
    line = refused("export", tmp_path / "run", "--onnx", tmp_path / "model.onnx")
    assert line.rstrip().endswith("distpu predict and distpu serve take this model")
    assert "elkan-noto" in line and "cannot be exported: there is no graph for it; blend-pu, dist-pu-boost and" in line
    assert "must end in .onnx" in refused("export", blend, "--onnx", tmp_path / "model.txt")
    assert "is not a run folder" in refused("export", tmp_path, "--onnx", tmp_path / "model.onnx")
    assert "lies in a run folder" in refused("export", blend, "--onnx", blend / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_a_graph_that_differs_is_not_written(blend, tmp_path, monkeypatch):
    real = onnx_file._calibrated
    monkeypatch.setattr(onnx_file, "_calibrated", lambda graph, z, map: graph.op("Mul", real(graph, z, map), 0.9))
    with pytest.raises(ValueError, match="the graph of blend-pu differs from the model by .*; it is not written"):
        to_onnx(blend, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def value_of(graph, result, x):
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [helper.make_tensor_value_info("x", kinds.DOUBLE, list(x.shape))]
    outputs = [helper.make_tensor_value_info(result, kinds.DOUBLE, None)]
    body = helper.make_graph(graph.nodes, "part", inputs, outputs, graph.constants)
    imports = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
    proto = helper.make_model(body, opset_imports=imports, ir_version=8)
    return onnxruntime.InferenceSession(proto.SerializeToString()).run([result], {"x": x})[0]


def test_the_normal_quantile():
    p = np.concatenate([np.geomspace(1e-7, 0.5, 200), 1 - np.geomspace(1e-7, 0.5, 200), [0.075, 0.925, 0.5]])
    graph = Graph()
    np.testing.assert_allclose(value_of(graph, graph.normal_quantile("x"), p), norm.ppf(p), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_interpolation_with_jumps(ties):
    at, values = np.array([0.0, 1, 1, 3, 3, 3, 4]), np.array([0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 1.0])
    x = np.array([-1.0, 0, 0.5, 1, 1.5, 3, 3.5, 4, 9])
    wanted = np.interp(x, at, values)
    if ties:
        wanted = (wanted - np.interp(-x, -at[::-1], -values[::-1])) / 2
    graph = Graph()
    np.testing.assert_allclose(value_of(graph, graph.interp("x", at, values, ties), x[:, None]), wanted, atol=1e-12)
    one = Graph()
    np.testing.assert_allclose(value_of(one, one.interp("x", at[:1], values[3:4]), x[:, None]), np.full(9, 0.4))


def test_a_forest_with_blanks():
    X, s = table()
    forest = RandomForestClassifier(5, random_state=0).fit(X, s)
    graph, (new, _) = Graph(), table(200, seed=5)
    x = new.to_numpy(np.float32).astype(float)
    found = value_of(graph, ensemble(graph, "x", of_forest(forest)), x)
    np.testing.assert_allclose(found, forest.predict_proba(new)[:, 1], atol=1e-6)
