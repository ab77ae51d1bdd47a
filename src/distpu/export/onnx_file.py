"""to_onnx does what `distpu export` does: it writes a graph and compares it with the method before it is kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..estimator import PUEstimator
from ..files import atomic
from ..files.run_folder import RunFolder
from ..methods import METHODS
from ..params import need
from ..saved import load
from ..threshold import Cuts
from ..threshold.calibration import FAR, SURE
from . import scorers
from .graph import ML_OPSET, OPSET, Graph

ROWS = 256  # of the sample on which the graph is compared with the method
TOLERANCE = 1e-4  # of probabilities
OF_SCORES = 10  # times that is the tolerance of scores, by their size where that is above 1
ENCODER = (RunFolder.ENCODER, RunFolder.ENCODER_ARRAYS)
TABLES = {"blend-pu": scorers.blend, "dist-pu-boost": scorers.boosted}


@dataclass(frozen=True)
class Exported:
    """The result of to_onnx."""

    path: Path
    columns: list[str] | None  # names of the input's columns in order; None for images and arrays
    shape: tuple[int, ...]  # of one row of the input
    rows: int  # on which both were compared
    score_difference: float  # the largest, by the size of the score where that is above 1
    probability_difference: float
    beside: list[Path]  # further files that were written: <stem>.encoder.json, and .safetensors where it has arrays


def to_onnx(
    folder: str | Path, file: str | Path, *, data: str | Path | None = None, tolerance: float = TOLERANCE
) -> Exported:
    """Write the model of a run folder as an ONNX file with the outputs score and probability.

    The input "x" holds encoded rows in float32 (images: as in training). A row is called positive where score >= 0.
    For a table with an encoder, the encoder stays outside: its files are written beside, and the input's columns are
    encoder_.get_feature_names_out(), which the file's metadata lists. The graph is compared with the method on `data`,
    or on drawn rows. A file that differs by more than `tolerance` is not kept.
    """
    onnx = need("onnx", "onnx", "exporting")
    need("onnxruntime", "onnx", "comparing the graph with the model")
    out = Path(file)
    _check_out(out)
    _check_method(RunFolder(folder))
    model = load(folder, device="cpu")
    rows = _drawn(model) if data is None else _read(model, data)
    try:
        proto = _network_graph(model) if model.trains_network else _table_graph(model)
    except ValueError as error:
        raise ValueError(f"{model.name} in {folder} cannot be exported: {error}") from None
    columns = _columns(model)
    facts = {"distpu": __version__, "method": model.name, "columns": columns, "classes": model.classes_.tolist()}
    facts |= {"positive": "score >= 0", "threshold": str(model.threshold)}
    onnx.helper.set_model_props(proto, {"distpu": json.dumps(facts)})
    onnx.checker.check_model(proto)
    content = proto.SerializeToString()
    score, probability = _differences(model, content, rows)
    if not max(score / OF_SCORES, probability) <= tolerance:
        raise ValueError(
            f"the graph of {model.name} differs from the model by {score:.2g} in scores and {probability:.2g} in "
            f"probabilities on {len(rows)} rows, more than {OF_SCORES * tolerance:g} or {tolerance:g}; "
            "it is not written"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(out, content)
    beside = []
    for name in ENCODER:
        if (source := Path(folder) / name).exists():
            beside.append(out.with_name(f"{out.stem}.{name}"))  # two models may lie in one folder
            atomic.write(beside[-1], source.read_bytes())
    return Exported(out, columns, rows.shape[1:], len(rows), score, probability, beside)


def _check_out(out: Path) -> None:
    if out.is_dir():
        raise ValueError(f"{out} is a folder; name a file that ends in .onnx")
    if RunFolder(out.parent).exists:
        raise ValueError(f"{out} lies in a run folder, whose files it could replace; name another place")


def _check_method(run: RunFolder) -> None:
    """Refuse a method that has no graph before its model is loaded."""
    run.check_finished()
    name = run.config()["method"]
    if name in METHODS and name not in TABLES and not METHODS[name].trains_network:
        raise ValueError(
            f"{name} in {run.path} cannot be exported: there is no graph for it; {', '.join(sorted(TABLES))} and the "
            "methods that train a network have one; distpu predict and distpu serve take this model"
        )


def _columns(model: PUEstimator) -> list[str] | None:
    encoder = getattr(model, "encoder_", None)
    if encoder is not None:
        return [str(name) for name in encoder.get_feature_names_out()]
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


# ----------------------------------------------------------------------- graphs


def _table_graph(model: Any) -> Any:
    from onnx import TensorProto, helper

    if model.name not in TABLES:  # a method that a user added
        raise ValueError("there is no graph for it")
    graph, width = Graph(), _width(model)
    x = graph.cast("x")
    _judged(graph, model, TABLES[model.name](graph, x, model))
    rows = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", width])
    return _model([rows], graph, [], [("", OPSET), ("ai.onnx.ml", ML_OPSET)], 8)


def _network_graph(model: Any) -> Any:
    from .network import exported

    need("onnxscript", "onnx", "exporting a network")
    inner = exported(model)
    graph = Graph()
    z = graph.cast(inner.graph.output[0].name)
    _judged(graph, model, z)
    opsets = [(one.domain, one.version) for one in inner.opset_import]
    made = _model(list(inner.graph.input), graph, list(inner.graph.node), opsets, inner.ir_version)
    made.graph.initializer.extend(inner.graph.initializer)
    made.functions.extend(inner.functions)
    return made


def _model(inputs: list[Any], graph: Graph, before: list[Any], opsets: list[tuple[str, int]], ir: int) -> Any:
    from onnx import TensorProto, helper

    outputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["rows"]) for name in ("score", "probability")]
    body = helper.make_graph([*before, *graph.nodes], "distpu", inputs, outputs, graph.constants)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    return helper.make_model(body, opset_imports=imports, ir_version=ir, producer_name="distpu")


def _judged(graph: Graph, model: Any, z: str) -> None:
    """Add what comes after the raw score: the method's decision, the cut, the probability (Cuts._judged)."""
    own = _decision(graph, model, z)
    for name in ("_probability", "_calibrated_on", "_in_population"):
        if getattr(type(model), name) is not getattr(Cuts, name):
            raise ValueError("it turns scores into probabilities in a way of its own")
    cut = model.cut_
    if cut is None:
        score, p = own, graph.op("Sigmoid", own)
    else:
        score = graph.op("Sub", own, float(cut.at)) if cut.chosen else own
        p = _calibrated(graph, own, cut.calibration)
    from onnx import helper

    graph.nodes += [helper.make_node("Identity", [value], [to]) for value, to in ((score, "score"), (p, "probability"))]


def _decision(graph: Graph, model: Any, z: str) -> str:
    if type(model)._decide is Cuts._decide or (model.name == "pusb" and model.threshold_on != "scored"):
        return graph.op("Sub", z, float(model.threshold_))
    if model.name == "vpu":
        most = model.certainty * model.peak_
        inside = graph.op("Min", z, float(np.log(most / (1 - most))))
        log_p = graph.op("Sub", graph.op("Log", graph.op("Sigmoid", inside)), float(np.log(model.peak_)))
        rest = graph.op("Log", graph.op("Sub", 1.0, graph.op("Exp", log_p)))
        return graph.op("Add", graph.op("Sub", log_p, rest), graph.op("Sub", z, inside))
    raise ValueError("its decision needs all rows at once, or is of a form of its own")


def _calibrated(graph: Graph, z: str, map: Any) -> str:
    t = graph.clip(graph.op("Div", graph.op("Sub", z, map.center), map.spread), -FAR, FAR)
    smooth = graph.op("Sigmoid", graph.op("Add", graph.op("Mul", t, map.slope), map.intercept))
    steps = graph.interp(graph.column(t), np.array(map.z), np.array(map.p))
    return graph.clip(graph.op("Mul", graph.op("Add", smooth, steps), 0.5), SURE, 1 - SURE)


# ------------------------------------------------------------------- comparison


def _width(model: Any) -> int:
    encoder = getattr(model, "encoder_", None)
    return int(model.n_features_in_ if encoder is None else encoder.width_)


def _drawn(model: Any) -> np.ndarray:
    """Draw rows that lie where the training rows lay, as far as the model tells."""
    random = np.random.default_rng(0)
    if model.trains_network:
        from .network import sample

        return sample(model, ROWS, random)
    known = _values(model)
    x = np.column_stack([random.choice(values, ROWS) for values in known])
    x = x + random.normal(size=x.shape) * 0.1 * np.abs(x)
    x[random.random(x.shape) < 0.02] = np.nan  # blanks
    return x.astype(np.float32)


def _values(model: Any) -> list[np.ndarray]:
    """Return values of each column: the thresholds at which trees split it."""
    from .trees import of_booster

    found: list[list[float]] = [[0.0, 1.0] for _ in range(_width(model))]
    texts = model.trees_ if model.name == "dist-pu-boost" else []
    pairs = [(None, text) for text in texts]
    if model.name == "blend-pu":
        boosted = [member for fitted in model.members_ for member in fitted if isinstance(member, scorers.Boosted)]
        pairs = [(columns, text) for member in boosted for columns, text in member.state]
    for columns, text in pairs:
        for tree in of_booster(text, columns, 1.0):
            for feature, threshold in zip(tree.feature[tree.left >= 0], tree.threshold[tree.left >= 0], strict=True):
                found[feature].append(float(threshold))
    return [np.clip(values, -1e30, 1e30) for values in found]


def _read(model: Any, data: str | Path) -> np.ndarray:
    from ..datasets import pieces, read

    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return np.asarray(read(data)[0][:ROWS], dtype=np.uint8 if getattr(model, "bytes_", False) else np.float32)
    encoder = getattr(model, "encoder_", None)
    used = list(names) if encoder is None else encoder.used_
    frame = next(iter(pieces(data, columns=used, rows=ROWS, decimal=getattr(encoder, "decimal_", None))))
    return np.asarray(frame if encoder is None else encoder.transform(frame), dtype=np.float32)


def _differences(model: Any, content: bytes, rows: np.ndarray) -> tuple[float, float]:
    """Return the largest differences of scores and probabilities between the graph and the method."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    score, p = session.run(["score", "probability"], {"x": rows})
    true_score, true_p = model._judged(model._raw_scores(rows))
    by = np.maximum(1, np.abs(true_score))
    return float(np.max(np.abs(score - true_score) / by)), float(np.max(np.abs(p - true_p)))
