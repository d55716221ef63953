"""Shapes for the example in an error, of inputs of which a graph does not say even the rank: as what uses them takes.

A convolution says four sizes and the channels, a product of matrices the width; what only enters into arithmetic can be a scalar.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from transload.ir import Dense

from .nodes import Edge, Graph, Node
from .tensors import Contents

__all__ = ["likely_shape"]

_PIXELS = 224
_MOST = 200
"""Nodes that are looked at."""
_KEEP = frozenset({
    "Identity", "Cast", "Sub", "Add", "AddV2", "Mul", "RealDiv", "Div", "Maximum", "Minimum", "Neg", "Relu", "Relu6", "Tanh",
    "Sigmoid", "Square", "Sqrt", "Rsqrt", "Exp", "Log", "BiasAdd", "Pad", "PadV2", "MirrorPad", "Enter", "Switch", "StopGradient",
    "CheckNumerics", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs", "ClipByValue", "PlaceholderWithDefault", "Snapshot"})
"""Ops whose result has as many dimensions as their data, where that is all that they are given but constants."""
_IMAGES = frozenset({
    "MaxPool", "AvgPool", "MaxPoolV2", "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea", "FusedBatchNorm",
    "FusedBatchNormV2", "FusedBatchNormV3", "SpaceToDepth", "DepthToSpace", "CropAndResize"})
_FIXED = frozenset({"Const", "VariableV2", "VarHandleOp", "Variable"})
_CONVOLUTIONS = frozenset({"Conv2D", "DepthwiseConv2dNative", "Conv3D"})


def likely_shape(graph: Graph, uses: Mapping[str, Sequence[Node]], edge: Edge, contents: Contents) -> tuple[int, ...]:
    """A shape with which what uses a result may compute; that of a scalar, where nothing says another."""
    pending: deque[tuple[Edge, tuple[int, ...]]] = deque([(edge, ())])  # with the places of dimensions that were added
    seen = {edge}
    while pending and len(seen) < _MOST:
        here, added = pending.popleft()
        for user in uses.get(here[0], ()):
            if here not in user.inputs:
                continue
            place = user.inputs.index(here)
            found = _asked(graph, user, place)
            if found is not None:
                return _without(found, added)
            after = (user.name, 0)
            if after in seen:
                continue
            others = (_origin(graph, user, each) for each in range(len(user.inputs)) if each != place)
            if user.op in _KEEP and (user.op == "Switch" or all(each is not None and each.op in _FIXED for each in others)):
                seen.add(after)
                pending.append((after, added))
            elif user.op == "ExpandDims" and place == 0 and (axis := _axis(graph, user, contents)) is not None:
                seen.add(after)
                pending.append((after, (axis, *added)))
    return ()


def _asked(graph: Graph, user: Node, place: int) -> tuple[int, ...] | None:
    """The shape that a node asks of an operand."""
    is_first = user.attributes["data_format"].s.startswith(b"NC") if "data_format" in user.attributes else False
    if user.op in _CONVOLUTIONS and place == 0:
        filters = _shape(graph, user, 1)
        if filters is None or len(filters) != (5 if user.op == "Conv3D" else 4):
            return None
        rank, channels = len(filters), filters[2 if user.op != "Conv3D" else 3]
        sizes = tuple(1 if size == 1 and number == 0 else _PIXELS for number, size in enumerate(filters[:rank - 2]))
        return (1, channels, *sizes) if is_first else (1, *sizes, channels)
    if user.op in _IMAGES and place == 0:
        return (1, 3, _PIXELS, _PIXELS) if is_first else (1, _PIXELS, _PIXELS, 3)
    if user.op == "MatMul":
        other = _shape(graph, user, 1 - place)
        turned = user.attributes["transpose_b" if place == 0 else "transpose_a"].b
        if other is None or len(other) != 2:
            return None
        return (1, other[1 if turned else 0]) if place == 0 else (other[0 if turned else 1], 1)
    return None


def _without(shape: tuple[int, ...], added: Sequence[int]) -> tuple[int, ...]:
    """A shape before dimensions were added to it, of which the last one comes first."""
    sizes = list(shape)
    for axis in added:
        if -len(sizes) <= axis < len(sizes):
            del sizes[axis]
    return tuple(sizes)


def _shape(graph: Graph, user: Node, place: int) -> tuple[int, ...] | None:
    node = _origin(graph, user, place)
    if node is None or node.op not in _FIXED:
        return None
    if node.op == "Const":
        return tuple(dim.size for dim in node.attributes["value"].tensor.tensor_shape.dim)
    return tuple(dim.size for dim in node.attributes["shape"].shape.dim)


def _axis(graph: Graph, user: Node, contents: Contents) -> int | None:
    """The dimension that an ExpandDims adds."""
    node = _origin(graph, user, 1)
    if node is None or node.op != "Const":
        return None
    value = contents.read(node.attributes["value"].tensor, node.name)
    return int(value.numpy().flat[0]) if isinstance(value, Dense) and value.type.num_elements == 1 else None


def _origin(graph: Graph, user: Node, place: int) -> Node | None:
    """The node whose value an operand is, handed on by others."""
    for _ in range(_MOST):
        if place >= len(user.inputs):
            return None
        node = graph.nodes.get(user.inputs[place][0])
        if node is None or node.op not in ("Identity", "Enter", "Switch", "ReadVariableOp"):
            return node
        user, place = node, 0
    return None
