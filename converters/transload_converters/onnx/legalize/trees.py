"""Ensembles of trees of domain `ai.onnx.ml`, as products of matrices.

All decisions of all trees are taken at once. A leaf is reached where the decisions on the way to it are what they have to be:
with +1 for each that must be true and -1 for each that must be false, their sum is then the number of the former, and else less.
Source of the idea: Nakandala et al., A Tensor Compiler for Unified Machine Learning Prediction Serving, OSDI 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import F32, I32, Op, Value
from transload.rewrite import Rewriter
from transload_hub import tables

from .ml import TRANSFORMS, best, classified, like, matrix, need_numbers, numbers, scored, second_class
from .table import MAX_CONSTANT, OnnxTable, attr, cast, choice, permute, reshape, shape_of

__all__ = ["TABLE"]

TABLE = OnnxTable()

_ML = "onnx.ai.onnx.ml"
_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_COMPARE = {"LEQ": "LessOrEqual", "LT": "Less", "GTE": "GreaterOrEqual", "GT": "Greater", "EQ": "Equal"}


@dataclass
class _Tree:
    """A tree: of each decision the feature, mode, number (or set), and whether NaN means true; the way to each leaf."""

    features: list[int] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    missing: list[bool] = field(default_factory=list)
    members: list[Sequence[float]] = field(default_factory=list)
    ways: list[list[tuple[int, bool]]] = field(default_factory=list)
    """Of each leaf the decisions on the way to it, and what they are."""
    leaves: list[list[tuple[int, float]]] = field(default_factory=list)
    """Of each leaf (target, weight) pairs."""


Node = tuple[int, str, float, bool, Sequence[float], Any, Any]
"""Feature, mode, number, whether NaN means true, set, and the keys of the nodes to go on with where true and where false."""


def _tree(root: Any, node: Callable[[Any], Node | list[tuple[int, float]]], most: int) -> _Tree:
    """A tree walked from its root; `node(key)` gives a decision, or the pairs of a leaf."""
    tree = _Tree()
    stack: list[tuple[Any, list[tuple[int, bool]]]] = [(root, [])]
    while stack:
        key, way = stack.pop()
        found = node(key)
        if isinstance(found, list):
            tree.ways.append(way)
            tree.leaves.append(found)
            continue
        place = len(tree.features)
        if place > most:
            raise Unsupported("is a tree that comes back to where it was")
        feature, mode, value, missing, members, then, otherwise = found
        if mode not in _MODES:
            raise Unsupported(f"decides by {mode!r}, and must by one of {', '.join(_MODES)}")
        for column, entry in zip((tree.features, tree.modes, tree.values, tree.missing, tree.members),
                                 (feature, mode, value, missing, members), strict=True):
            column.append(entry)  # type: ignore[attr-defined]
        stack += [(otherwise, [*way, (place, False)]), (then, [*way, (place, True)])]
    return tree


def _reached(rw: Rewriter, x: Value, trees: Sequence[_Tree]) -> Value:
    """Which leaf of each tree is reached by each row: [trees, rows, leaves] of 0 and 1, in the element type of `x`."""
    rows = shape_of(x)[0]
    width, leaves = max(max(len(tree.features) for tree in trees), 1), max(len(tree.ways) for tree in trees)
    if len(trees) * width * leaves > MAX_CONSTANT >> 4:
        raise Unsupported(f"has {len(trees)} trees of up to {leaves} leaves, more than are converted")
    ways = tables.zeros((len(trees), width, leaves))
    wanted = tables.full((len(trees), 1, leaves), -1.0 - width)  # of leaves that a tree does not have
    for t, tree in enumerate(trees):
        for leaf, way in enumerate(tree.ways):
            for place, truth in way:
                ways[t, place, leaf] = 1 if truth else -1
            wanted[t, 0, leaf] = sum(truth for _, truth in way)
    decided = cast(rw, _decisions(rw, x, trees, width), x.element)
    taken = permute(rw, reshape(rw, decided, (rows, len(trees), width)), (1, 0, 2))
    sums = rw.emit("top.MatMul", taken, like(rw, ways, x))
    return cast(rw, rw.emit("top.Compare", sums, like(rw, wanted, x), mode="Equal"), x.element)


def _decisions(rw: Rewriter, x: Value, trees: Sequence[_Tree], width: int) -> Value:
    """All decisions [rows, trees * width] of i1."""
    def flat(name: str, default: Any) -> list[Any]:
        return [each for tree in trees for each in (*getattr(tree, name), *[default] * (width - len(tree.features)))]

    features = np.array(flat("features", 0), np.int64)
    if features.max(initial=0) >= shape_of(x)[1] or features.min(initial=0) < 0:
        raise Unsupported(f"decides by column {features.max()}, and the input has {shape_of(x)[1]}")
    modes, missing = np.array(flat("modes", "LEQ")), np.array(flat("missing", False))
    taken = rw.emit("top.Gather", x, rw.constant(features), axis=1)
    values = like(rw, flat("values", 0.0), x)
    parts = []
    for mode in sorted(set(modes) - {"MEMBER"}):
        name = _COMPARE.get(mode)
        truth = rw.emit("top.Compare", taken, values, mode=name) if name else rw.emit(
            "top.LogicalNot", rw.emit("top.Compare", taken, values, mode="Equal"))
        parts.append(truth if (modes == mode).all() else rw.emit("top.LogicalAnd", truth, rw.constant(modes == mode)))
    if missing.any():
        parts.append(rw.emit("top.LogicalAnd", rw.emit("top.IsNaN", taken), rw.constant(missing)))
    sets = [(place, member) for place, members in enumerate(flat("members", ())) for member in members]
    if sets:
        places, members = np.array([place for place, _ in sets]), [member for _, member in sets]
        column = rw.emit("top.Gather", x, rw.constant(features[places]), axis=1)
        equal = cast(rw, rw.emit("top.Compare", column, like(rw, members, x), mode="Equal"), x.element)
        into = np.zeros((len(sets), len(features)))
        into[np.arange(len(sets)), places] = 1
        parts.append(rw.emit("top.Compare", rw.emit("top.MatMul", equal, like(rw, into, x)), like(rw, 0.5, x), mode="Greater"))
    truth = parts[0]
    for part in parts[1:]:
        truth = rw.emit("top.LogicalOr", truth, part)
    return truth


def _aggregated(rw: Rewriter, x: Value, trees: Sequence[_Tree], targets: int, function: str) -> Value:
    """What the reached leaves give [rows, targets]: their sum, mean, least or greatest."""
    if not trees or targets < 1:
        raise Unsupported(f"has {len(trees)} trees and {targets} targets")
    leaves = max(len(tree.ways) for tree in trees)
    weights, there = tables.zeros((len(trees), leaves, targets)), tables.zeros((len(trees), leaves, targets))
    join = {"MIN": min, "MAX": max}.get(function, lambda a, b: a + b)
    for t, tree in enumerate(trees):
        for leaf, pairs in enumerate(tree.leaves):
            for target, weight in pairs:
                if not 0 <= target < targets:
                    raise Unsupported(f"gives target {target} of {targets}")
                weights[t, leaf, target] = join(weights[t, leaf, target], weight) if there[t, leaf, target] else weight
                there[t, leaf, target] = 1
    reached = _reached(rw, x, trees)
    given = rw.emit("top.MatMul", reached, like(rw, weights, x))
    if function in ("SUM", "AVERAGE"):
        return rw.emit("top.Reduce", given, axes=(0,), keepdims=False, mode="ReduceSum" if function == "SUM" else "ReduceMean")
    if function not in ("MIN", "MAX"):
        raise Unsupported(f"aggregates by {function!r}")
    if not there.all():
        has = rw.emit("top.Compare", rw.emit("top.MatMul", reached, like(rw, there, x)), like(rw, 0.5, x), mode="Greater")
        limit = np.finfo(np.float32).max * (1 if function == "MIN" else -1)
        given = rw.emit("top.Where", has, given, like(rw, limit, x))
    return rw.emit("top.Reduce", given, axes=(0,), keepdims=False, mode="ReduceMin" if function == "MIN" else "ReduceMax")


# --- the operators


@TABLE(f"{_ML}.TreeEnsemble")
def tree_ensemble(op: Op, rw: Rewriter) -> Value:
    """TreeEnsemble, whose nodes name each other by their places."""
    x = matrix(rw, op)
    features, modes, splits = (need_numbers(op, f"nodes_{name}") for name in ("featureids", "modes", "splits"))
    missing = numbers(op, "nodes_missing_value_tracks_true")
    children = [(need_numbers(op, f"nodes_{side}nodeids", np.int64), need_numbers(op, f"nodes_{side}leafs", np.int64))
                for side in ("true", "false")]
    targets, weights = need_numbers(op, "leaf_targetids", np.int64), need_numbers(op, "leaf_weights")
    sizes = {array.size for array in (features, modes, splits, *(each for pair in children for each in pair))}
    if len(sizes) != 1 or targets.size != weights.size or (missing is not None and missing.size != features.size):
        raise Unsupported("its nodes, or its leaves, are not described by as many numbers each")
    every = numbers(op, "membership_values")
    every = np.zeros(0) if every is None else every
    sets = iter(np.split(every, np.flatnonzero(np.isnan(every)) + 1))
    members = [[v for v in next(sets, ()) if v == v] if mode == 6 else [] for mode in modes]

    def node(key: tuple[int, bool]) -> Node | list[tuple[int, float]]:
        place, leaf = key
        if not 0 <= place < (len(targets) if leaf else len(features)):
            raise Unsupported(f"goes on at {'leaf' if leaf else 'node'} {place}, which does not exist")
        if leaf:
            return [(int(targets[place]), float(weights[place]))]
        then, otherwise = ((int(ids[place]), bool(leafs[place])) for ids, leafs in children)
        mode = _MODES[int(modes[place])] if modes[place] < len(_MODES) else str(modes[place])
        nan = missing is not None and bool(missing[place])
        if then == otherwise and then[1]:  # a tree that is one leaf
            return node(then)
        return int(features[place]), mode, float(splits[place]), nan, members[place], then, otherwise

    trees = [_tree((int(root), False), node, len(features)) for root in need_numbers(op, "tree_roots", np.int64)]
    function = ("AVERAGE", "SUM", "MIN", "MAX")[choice(op, "aggregate_function", range(4), 1)]
    transform = TRANSFORMS[choice(op, "post_transform", range(5), 0)]
    return scored(rw, _aggregated(rw, x, trees, attr(op, "n_targets", 1), function), transform)


def _older(op: Op, what: str) -> list[_Tree]:
    """The trees of a TreeEnsembleRegressor or -Classifier, whose nodes are named by a tree's and a node's number.

    `what` is how the attributes of leaves begin: "target" or "class".
    """
    names = "treeids", "nodeids", "featureids", "truenodeids", "falsenodeids"
    trees, nodes, features, then, otherwise = (need_numbers(op, f"nodes_{name}", np.int64) for name in names)
    values, weights = (next((found for name in (f"{stem}_as_tensor", stem) if (found := numbers(op, name)) is not None), None)
                       for stem in ("nodes_values", f"{what}_weights"))
    modes, missing = list(attr(op, "nodes_modes") or ()), numbers(op, "nodes_missing_value_tracks_true")
    columns = trees, nodes, features, then, otherwise, modes
    if values is None or weights is None or {len(each) for each in columns} != {len(values)}:
        raise Unsupported("its nodes are not described by as many numbers each")
    place = {(int(tree), int(node)): i for i, (tree, node) in enumerate(zip(trees, nodes, strict=True))}
    leaves: dict[tuple[int, int], list[tuple[int, float]]] = {}
    ids = (need_numbers(op, f"{what}_{name}", np.int64) for name in ("treeids", "nodeids", "ids"))
    for tree, node, target, weight in zip(*ids, weights, strict=True):
        leaves.setdefault((int(tree), int(node)), []).append((int(target), float(weight)))

    def node_of(key: tuple[int, int]) -> Node | list[tuple[int, float]]:
        i = place.get(key)
        if i is None:
            raise Unsupported(f"goes on at node {key[1]} of tree {key[0]}, which does not exist")
        if modes[i] == "LEAF":
            return leaves.get(key, [])
        nan = missing is not None and missing.size > 0 and bool(missing[i])
        mode = modes[i].removeprefix("BRANCH_")
        return int(features[i]), mode, float(values[i]), nan, (), (key[0], int(then[i])), (key[0], int(otherwise[i]))

    roots: dict[int, int] = {}
    for i, tree in enumerate(trees):
        roots.setdefault(int(tree), int(nodes[i]))
    return [_tree(key, node_of, len(nodes)) for key in roots.items()]


def _base(op: Op) -> np.ndarray:
    found = next((each for name in ("base_values_as_tensor", "base_values") if (each := numbers(op, name)) is not None), None)
    return np.zeros(0) if found is None else found


@TABLE(f"{_ML}.TreeEnsembleRegressor")
def tree_ensemble_regressor(op: Op, rw: Rewriter) -> Value:
    """TreeEnsembleRegressor."""
    x, targets, base = matrix(rw, op), attr(op, "n_targets", 1), _base(op)
    total = _aggregated(rw, x, _older(op, "target"), targets, attr(op, "aggregate_function", "SUM"))
    if base.size not in (0, targets):
        raise Unsupported(f"has {base.size} base values for {targets} targets")
    total = rw.emit("top.Add", total, like(rw, base, x)) if base.size else total
    transform = choice(op, "post_transform", TRANSFORMS, "NONE")
    return cast(rw, total if targets == 1 and transform != "PROBIT" else scored(rw, total, transform), F32)


@TABLE(f"{_ML}.TreeEnsembleClassifier")
def tree_ensemble_classifier(op: Op, rw: Rewriter) -> list[Value]:
    """TreeEnsembleClassifier: scores, and the class of the greatest; of two classes trees may score one."""
    x, base = matrix(rw, op), _base(op)
    count = len(attr(op, "classlabels_int64s") or attr(op, "classlabels_strings") or ())
    trees, transform = _older(op, "class"), attr(op, "post_transform", "NONE")
    scored_classes = {target for tree in trees for pairs in tree.leaves for target, _ in pairs}
    if base.size not in (0, count) and not (base.size == 1 and count == 2):
        raise Unsupported(f"has {base.size} base values for {count} classes")
    scores = cast(rw, _aggregated(rw, x, trees, count, "SUM"), F32)
    if count != 2 or scored_classes != {0}:
        if base.size:
            scores = rw.emit("top.Add", scores, rw.constant(base.astype(np.float32)))
        if count == 2 and op.results[0].uses:
            raise Unsupported("chooses between two classes that trees score both, which ONNX and onnxruntime do differently",
                              "take its scores alone")
        return [classified(op, rw, best(rw, scores)), scored(rw, scores, transform)][: len(op.results)]
    if base.size > 1:
        raise Unsupported("has two base values for two classes of which trees score one: onnxruntime adds the first, and gives 0 "
                          "for the other class", "give it one base value")
    score = rw.emit("top.Slice", scores, offset=(0, 0), ends=(shape_of(scores)[0], 1), steps=(1, 1))
    if base.size:
        score = rw.emit("top.AddConst", score, const_val=float(base[-1]))
    positive = all(weight >= 0 for tree in trees for pairs in tree.leaves for _, weight in pairs)
    place = _above(rw, score, 0.5 if positive else 0.0)
    return [classified(op, rw, place), second_class(rw, score, transform, complement=positive)][: len(op.results)]


def _above(rw: Rewriter, score: Value, threshold: float) -> Value:
    """1 for each row whose score is above a threshold, else 0."""
    above = rw.emit("top.Compare", score, like(rw, threshold, score), mode="Greater")
    return reshape(rw, cast(rw, above, I32), (shape_of(score)[0],))
