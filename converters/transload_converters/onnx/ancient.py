"""What models before opset 7 say otherwise: how operands broadcast. ONNX's converter of versions mistakes some of it.

Its adapters from 6 to 7 insert axes in other places than `axis` says, know nothing of a PRelu's channels, and are missing for
comparisons and logic. So these operators are written here as opset 7 has them, and hidden from the converter meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from .inference import with_shapes

__all__ = ["brought_up"]

_BROADCASTING = {"Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor"}
_LAST_OF_OLD = 6
_HIDDEN = "transload.hidden"
_BEHIND_ALL = 1 << 31

_Shape = tuple["int | None", ...]
"""The sizes of a value; None where one is not known."""


def brought_up(content: bytes, opset: int) -> bytes:
    """A model of an opset before 7 in a newer one.

    Raises `ValueError` where the shape of a second operand is not known, and where operands were given axes and outputs come
    to have other shapes than declared.
    """
    from onnx import ModelProto, version_converter

    model = version_converter.convert_version(ModelProto.FromString(content), _LAST_OF_OLD)
    inferred = ModelProto.FromString(with_shapes(model.SerializeToString()))
    taken = {name for graph in _all_graphs(inferred.graph) for node in graph.node for name in (*node.input, *node.output)}
    rewritten = _spell_out(inferred.graph, {}, taken)
    inferred.opset_import.add(domain=_HIDDEN, version=1)
    result = version_converter.convert_version(inferred, opset)
    for graph in _all_graphs(result.graph):
        for node in graph.node:
            if node.domain == _HIDDEN:
                node.domain = ""
    kept = [entry for entry in result.opset_import if entry.domain != _HIDDEN]
    del result.opset_import[:]
    result.opset_import.extend(kept)
    if rewritten:
        _compare_outputs(result, model.graph.output, rewritten)
    upgraded: bytes = result.SerializeToString()
    return upgraded


def _all_graphs(graph: Any) -> Iterator[Any]:
    """A graph and those in its nodes."""
    yield graph
    for inner in _inner_graphs(graph.node):
        yield from _all_graphs(inner)


def _inner_graphs(nodes: Any) -> list[Any]:
    return [graph for node in nodes for attribute in node.attribute
            for graph in ([attribute.g] if attribute.type == 5 else attribute.graphs)]


def _shapes(graph: Any) -> dict[str, _Shape]:
    """The shapes of values that a graph tells."""
    found: dict[str, _Shape] = {}
    for info in (*graph.input, *graph.value_info, *graph.output):
        if info.type.tensor_type.HasField("shape"):
            dims = info.type.tensor_type.shape.dim
            found[info.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else None for dim in dims)
    return found | {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}


def _spell_out(graph: Any, around: Mapping[str, _Shape], taken: set[str]) -> list[str]:
    """Write operators that broadcast as opset 7 has them, in a graph and those in it, and hide them.

    Gives what they are called, of those whose shape depends on how they were read: by attributes, or axes of slopes.
    """
    shapes = {**around, **_shapes(graph)}
    nodes: list[Any] = []
    rewritten: list[str] = []
    for node in graph.node:
        if node.domain in ("", "ai.onnx") and node.op_type in _BROADCASTING | {"PRelu"}:
            attributes = {attribute.name: attribute.i for attribute in node.attribute}
            ends = _channel_axes(node, shapes) if node.op_type == "PRelu" else _axes(node, attributes, shapes)
            if ends or attributes.get("broadcast", 0):
                rewritten.append(f"{node.op_type} of {node.output[0]!r}")
            if isinstance(ends, _Behind):
                nodes += _reshaped(node, ends, taken)
            elif ends:
                nodes.append(_unsqueezed(node, ends, taken))
            del node.attribute[:]
            node.domain = _HIDDEN
        nodes.append(node)
        for inner in _inner_graphs([node]):
            rewritten += _spell_out(inner, shapes, taken)
    written = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(written)
    return rewritten


def _unsqueezed(node: Any, axes: list[int], taken: set[str]) -> Any:
    """A node that gives the second operand of another more axes; the other takes its result."""
    from onnx import helper

    name = _fresh(node.input[1], taken)
    made = helper.make_node("Unsqueeze", [node.input[1]], [name], axes=axes)
    node.input[1] = name
    return made


@dataclass(frozen=True)
class _Behind:
    """The axes that a second operand lacks, where nobody knows how many the first one has: as many as that has from one on."""

    axis: int
    rank: int
    """How many the second operand has."""


def _reshaped(node: Any, behind: _Behind, taken: set[str]) -> list[Any]:
    """Nodes that give the second operand of another one axis more for each that the first one has behind some, however many.

    Its sizes are kept, which `Reshape` calls 0, and ones follow: the sizes of the first one's axes, 0 times, and 1 more.
    """
    import numpy as np
    from onnx import helper, numpy_helper

    first, second = node.input
    nodes: list[Any] = []

    def made(operator: str, *operands: str, domain: str = "", **attributes: Any) -> str:
        name = _fresh(second, taken)
        nodes.append(helper.make_node(operator, operands, [name], domain=domain, **attributes))
        return name

    kept, zero, one = (made("Constant", value=numpy_helper.from_array(np.array(numbers, np.int64)))
                       for numbers in ([0] * behind.rank, [0], [1]))
    sizes = made("Slice", made("Shape", first), axes=[0], starts=[behind.axis], ends=[_BEHIND_ALL])
    ones = made("Add", made("Mul", sizes, zero, domain=_HIDDEN), one, domain=_HIDDEN)
    node.input[1] = made("Reshape", second, made("Concat", kept, ones, axis=0))
    return nodes


def _fresh(like: str, taken: set[str]) -> str:
    name = next(each for number in count() if (each := f"{like}_{number}") not in taken)
    taken.add(name)
    return name


def _axes(node: Any, attributes: Mapping[str, int], shapes: Mapping[str, _Shape]) -> list[int] | _Behind:
    """The axes that the second operand lacks behind its last one, where its first one lies at `axis` of the first operand."""
    axis = attributes.get("axis", -1)
    if not attributes.get("broadcast", 0) or axis == -1:  # the last axes of both are the same ones, as in opset 7
        return []
    second = _second(node, shapes)
    if None not in second and math.prod(size for size in second if size is not None) == 1:
        return []  # a number has no place
    first = shapes.get(node.input[0])
    if first is None:
        return [] if axis < 0 <= axis + len(second) else _Behind(axis + len(second), len(second))
    at = axis + len(first) if axis < 0 else axis
    lacking = len(first) - at - len(second)
    stretched = tuple(None if size == 1 else size for size in second)
    if at < 0 or not _fit(first[at:at + len(second)], stretched):
        raise ValueError(f"{node.op_type} of {node.output[0]!r} broadcasts {_text(second)} to {_text(first)} from axis {axis} on")
    return [len(second) + number for number in range(lacking)]


def _channel_axes(node: Any, shapes: Mapping[str, _Shape]) -> list[int] | _Behind:
    """The axes that the slopes of a PRelu lack: before opset 7 there is one a channel, whatever the width."""
    slopes = _second(node, shapes)
    if len(slopes) != 1 or slopes == (1,):  # one for all channels, or written as opset 7 has it
        return []
    data = shapes.get(node.input[0])
    return _Behind(2, 1) if data is None else [1 + number for number in range(len(data) - 2)]


def _second(node: Any, shapes: Mapping[str, _Shape]) -> _Shape:
    shape = shapes.get(node.input[1])
    if shape is None:
        raise ValueError(f"{node.op_type} of {node.output[0]!r} broadcasts, and the axes of {node.input[1]!r} are not known")
    return shape


def _compare_outputs(model: Any, declared: Any, rewritten: list[str]) -> None:
    """Refuse a model whose outputs have other shapes than the file says: what was `rewritten` may have meant something else."""
    bare = type(model).FromString(model.SerializeToString())
    del bare.graph.value_info[:]
    for info in bare.graph.output:
        info.type.tensor_type.ClearField("shape")
    made = _shapes(type(model).FromString(with_shapes(bare.SerializeToString())).graph)
    said = _shapes(type(model.graph)(output=declared))
    for name in said.keys() & made.keys():
        if not _fit(said[name], made[name]):
            raise ValueError(
                f"output {name!r} would have shape {_text(made[name])}, and the file says {_text(said[name])}: "
                f"{', '.join(rewritten[:3])} may broadcast otherwise than `broadcast` and `axis` mean before opset 7; where the "
                "shape in the file is the wrong one, take it away from the output, or correct it, and save the file")


def _fit(one: _Shape, other: _Shape) -> bool:
    """Whether two shapes may be the same, as far as they are known."""
    return len(one) == len(other) and all(None in pair or pair[0] == pair[1] for pair in zip(one, other, strict=True))


def _text(shape: _Shape) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"
