"""How each method that can be exported makes its raw score."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..methods._members import EDGE, Boosted, Forest, Kernel
from .graph import Graph
from .trees import ensemble, of_booster, of_forest

BOUND = 1e-7  # scikit-learn's QuantileTransformer takes values this close to the ends for the ends


def blend(graph: Graph, x: str, model: Any) -> str:
    """BlendPU: the members' scores, averaged over the folds, standardised and weighed."""
    weights = model.weights_[:-1] / model.spread_
    start = float(model.weights_[-1] - model.center_ @ weights)
    terms = []
    for m, members in enumerate(zip(*model.members_, strict=True)):
        of_folds = graph.sum_of([member_scores(graph, x, one) for one in members])
        terms.append(graph.op("Mul", of_folds, float(weights[m]) / len(members)))
    return graph.op("Add", graph.sum_of(terms), start)


def member_scores(graph: Graph, x: str, member: Any) -> str:
    """The log-odds of a member of a blend, (n,)."""
    if isinstance(member, Forest):
        trees = [tree for forest in member.state for tree in of_forest(forest)]
        for tree in trees:
            tree.value = tree.value / len(member.state)
        return graph.logit(graph.clip(ensemble(graph, x, trees), EDGE, 1 - EDGE))
    if isinstance(member, Boosted):
        share = 1 / len(member.state)
        return ensemble(graph, x, [t for columns, text in member.state for t in of_booster(text, columns, share)])
    if isinstance(member, Kernel):
        return _kernel(graph, x, member)
    raise ValueError(f"its member {type(member).__name__} is not known to the export")


def _kernel(graph: Graph, x: str, member: Kernel) -> str:
    medians, pipeline = member.state
    if medians is None:
        raise ValueError("it was fitted on a sparse table")
    x = graph.op("Where", graph.op("IsNaN", x), np.asarray(medians, dtype=float), x)
    *steps, last = (step for _, step in pipeline.steps)
    for step in steps[:-1]:
        x = _prepared(graph, x, step)
    features = steps[-1]
    if type(features).__name__ != "Nystroem" or features.kernel != "rbf":
        raise ValueError(f"its kernel has the step {type(features).__name__}, which is not known to the export")
    points = np.asarray(features.components_, dtype=float)
    gamma = 1 / points.shape[1] if features.gamma is None else features.gamma
    squares = graph.op("ReduceSum", graph.op("Mul", x, x), graph.const([-1], np.int64), keepdims=1)
    cross = graph.op("MatMul", x, -2 * points.T)
    distance = graph.op("Max", graph.op("Add", graph.op("Add", squares, cross), (points**2).sum(1)), 0.0)
    near = graph.op("Exp", graph.op("Mul", distance, -gamma))
    factors = features.normalization_.T @ last.coef_[0]
    return graph.op("Add", graph.flat(graph.op("MatMul", near, factors[:, None])), float(last.intercept_[0]))


def _prepared(graph: Graph, x: str, step: Any) -> str:
    kind = "passthrough" if isinstance(step, str) else type(step).__name__
    if kind == "passthrough":
        return x
    if kind == "StandardScaler":
        return graph.op("Div", graph.op("Sub", x, step.mean_), step.scale_)
    if kind == "QuantileTransformer" and step.output_distribution == "normal":
        at, values = step.quantiles_.T, np.broadcast_to(step.references_, step.quantiles_.T.shape)
        p = graph.interp(graph.column(x), at, values, ties=True)
        p = graph.op("Where", graph.op("Greater", graph.op("Add", x, BOUND), at[:, -1]), 1.0, p)
        p = graph.op("Where", graph.op("Less", graph.op("Sub", x, BOUND), at[:, 0]), 0.0, p)
        return graph.normal_quantile(graph.clip(p, BOUND, 1 - BOUND))
    raise ValueError(f"its kernel has the step {kind}, which is not known to the export")


def boosted(graph: Graph, x: str, model: Any) -> str:
    """DistPUBoost: the mean log-odds of its boosters."""
    trees = [tree for text in model.trees_ for tree in of_booster(text, None, 1 / len(model.trees_))]
    return graph.op("Add", ensemble(graph, x, trees), float(model.start_))
