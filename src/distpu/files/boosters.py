"""Checks LightGBM's text form of boosted trees before LightGBM reads it: its compiled code follows every number."""

from __future__ import annotations

import re

import numpy as np

START, END = "tree\n", "\nend of trees"


def check(text: str) -> None:
    """Raise ValueError if a tree points outside itself, or has parts that this package never writes."""
    trees = [place.start() + 1 for place in re.finditer(r"\nTree=\d+\n", text)]
    head, end = text[: trees[0]] if trees else text, text.find(END) + 1
    if not trees or end <= trees[-1]:
        raise ValueError("its boosted trees are not whole")
    sizes = np.diff([*trees, end])
    told = _numbers(head, "tree_sizes", len(trees))
    columns = int(_numbers(head, "max_feature_idx", 1)[0]) + 1
    if (told != sizes).any():
        raise ValueError("its boosted trees have other sizes than it says")
    for start, size in zip(trees, sizes, strict=True):
        _check_tree(text[start : start + size], columns)


def _check_tree(tree: str, columns: int) -> None:
    leaves, categories, linear = (int(_numbers(tree, key, 1)[0]) for key in ("num_leaves", "num_cat", "is_linear"))
    if leaves < 1 or categories or linear:
        raise ValueError("its boosted trees have parts that distpu never writes")
    _numbers(tree, "leaf_value", leaves)
    inner = leaves - 1
    if not inner:
        return
    left, right, feature, _ = (
        _numbers(tree, key, inner) for key in ("left_child", "right_child", "split_feature", "decision_type")
    )
    _numbers(tree, "threshold", inner)
    children, own = np.concatenate([left, right]), np.tile(np.arange(inner), 2)
    # a node has a higher number than its parent, so that no path goes round; a leaf is ~number
    down = np.where(children >= 0, (children > own) & (children < inner), ~children.astype(int) < leaves)
    if not down.all() or (feature < 0).any() or (feature >= columns).any():
        raise ValueError("a tree points outside itself")


def _numbers(text: str, key: str, count: int) -> np.ndarray:
    """The numbers of the only line with this key."""
    lines = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    values = np.array([float(word) for word in lines[0].split()]) if len(lines) == 1 else np.empty(0)
    if len(values) != count:
        raise ValueError(f"its boosted trees have {len(values)} values of {key} and must have {count}")
    return values
