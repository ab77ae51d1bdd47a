"""Trees of scikit-learn and LightGBM as one TreeEnsembleRegressor node: the sum of their leaves, by row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Graph

NAN = 2  # LightGBM's missing types: 0 none, 1 zero, 2 NaN


@dataclass
class Tree:
    """Arrays of one tree. A leaf has left = -1. A row goes left where its value is at most the threshold."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    blank_left: np.ndarray  # whether a blank goes left
    value: np.ndarray


def of_forest(forest: Any) -> list[Tree]:
    """Return the trees of a scikit-learn forest; their sum is the probability of the second class."""
    trees = []
    for one in forest.estimators_:
        tree = one.tree_
        share = tree.value[:, 0, 1] / tree.value[:, 0, :].sum(1) / len(forest.estimators_)
        go_left = np.asarray(getattr(tree, "missing_go_to_left", np.zeros(tree.node_count))).astype(bool)
        trees.append(Tree(tree.feature, tree.threshold, tree.children_left, tree.children_right, go_left, share))
    return trees


def of_booster(text: str, columns: np.ndarray | None, weight: float) -> list[Tree]:
    """Return the trees of LightGBM's text form, weighted; `columns` are those of the table that the booster saw."""
    trees = []
    for part in text[: text.find("\nend of trees")].split("\nTree=")[1:]:
        fields = dict(re.findall(r"^(\w+)=(.*)$", part, re.MULTILINE))
        leaves, inner = int(fields["num_leaves"]), int(fields["num_leaves"]) - 1
        values = weight * _numbers(fields["leaf_value"])
        if not inner:
            zero = np.zeros(1, dtype=np.int64)
            trees.append(Tree(zero, np.zeros(1), zero - 1, zero - 1, zero.astype(bool), values))
            continue
        feature, threshold = _numbers(fields["split_feature"]).astype(int), _numbers(fields["threshold"])
        kind = _numbers(fields["decision_type"]).astype(int)
        missing = (kind >> 2) & 3
        if (kind & 1).any() or (missing == 1).any():
            raise ValueError("its trees split on categories or take 0 for a blank")
        # without blanks in training, LightGBM takes a blank for 0
        go_left = np.where(missing == NAN, (kind & 2) > 0, threshold >= 0)
        sides = [_numbers(fields[side]).astype(int) for side in ("left_child", "right_child")]
        left, right = (np.where(side >= 0, side, inner + ~side) for side in sides)  # leaves follow the inner nodes
        none, end = np.zeros(leaves, dtype=int), np.full(leaves, -1)
        trees.append(
            Tree(
                np.concatenate([feature if columns is None else columns[feature], none]),
                np.concatenate([threshold, none.astype(float)]),
                np.concatenate([left, end]),
                np.concatenate([right, end]),
                np.concatenate([go_left, none.astype(bool)]),
                np.concatenate([np.zeros(inner), values]),
            )
        )
    return trees


def _numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.split()])


def ensemble(graph: Graph, x: str, trees: list[Tree]) -> str:
    """Add a node for these trees and return their sums, (n,) in float64."""
    from onnx import helper, numpy_helper

    sizes = [len(tree.left) for tree in trees]
    leaf = np.concatenate([tree.left < 0 for tree in trees])
    number = np.concatenate([np.full(size, i) for i, size in enumerate(sizes)])
    inside = np.concatenate([np.arange(size) for size in sizes])

    def joined(name: str) -> np.ndarray:
        return np.concatenate([np.asarray(getattr(tree, name)) for tree in trees])

    def tensor(name: str, values: np.ndarray) -> Any:
        return numpy_helper.from_array(np.ascontiguousarray(values, dtype=np.float64), name)

    out = graph.name()
    graph.nodes.append(
        helper.make_node(
            "TreeEnsembleRegressor",
            [x],
            [out],
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function="SUM",
            nodes_treeids=number.tolist(),
            nodes_nodeids=inside.tolist(),
            nodes_featureids=np.where(leaf, 0, joined("feature")).astype(int).tolist(),
            nodes_values_as_tensor=tensor("nodes_values", np.where(leaf, 0.0, joined("threshold"))),
            nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_truenodeids=np.where(leaf, 0, joined("left")).astype(int).tolist(),
            nodes_falsenodeids=np.where(leaf, 0, joined("right")).astype(int).tolist(),
            nodes_missing_value_tracks_true=(joined("blank_left") & ~leaf).astype(int).tolist(),
            target_treeids=number[leaf].tolist(),
            target_nodeids=inside[leaf].tolist(),
            target_ids=[0] * int(leaf.sum()),
            target_weights_as_tensor=tensor("target_weights", joined("value")[leaf]),
        )
    )
    return graph.flat(graph.cast(out))
