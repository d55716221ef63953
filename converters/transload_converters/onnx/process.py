"""What of the package `onnx` runs in a process of its own: its C++ trusts models that it should not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from itertools import count
from typing import Any

__all__ = ["inlined", "upgraded"]

_LEVELS = 64
"""So many levels of calls are inlined at once, by `onnx.inliner`, which calls itself for each."""


def inlined(model: bytes) -> bytes:
    """The model with its functions in the places of their calls, but those that are written in another version of the operators.

    From those that have most calls in each other, which no other calls, to those that have none: then a call says all its
    attributes when its own defaults are filled in, which `onnx.inliner` knows nothing of. It could convert versions, too, but not
    in subgraphs, nor two calls in one model.
    """
    from onnx import ModelProto, inliner

    result = ModelProto.FromString(model)
    functions = {_key_of(function): function for function in ModelProto.FromString(model).functions}
    version = _version(result)
    for function in functions.values():
        _take_version(function, version)
        _compute_outputs(function)
    alike = {key for key, function in functions.items() if _version(function) in (0, version)}
    calls = {key: _called(function.node, functions) for key, function in functions.items()}
    heights = _heights(calls)
    while called := _called(result.graph.node, functions) & alike:
        first = _next(max(heights[key] for key in called), alike, functions, heights)
        _fill_in_defaults(result.graph.node, functions)
        del result.functions[:]
        result.functions.extend(functions[key] for key in sorted(first))
        alike -= first  # once each: it leaves alone those whose other domains have other versions than the model's
        result = inliner.inline_local_functions(result)
        if not result.ir_version:  # what protobuf cannot write becomes an empty model, without a word
            raise ValueError("with them inlined, the model would exceed the 2 GB of a file of protobuf")
    del result.functions[:]
    result.functions.extend(functions[key] for key in sorted(_with_called(_called(result.graph.node, functions), calls)))
    return result.SerializeToString()


def _key_of(function: Any) -> tuple[str, str, str]:
    return function.domain, function.name, function.overload


def _version(model: Any) -> int:
    """The version of ONNX's own operators that a model or a function is written in."""
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)


def _nodes(nodes: Iterable[Any]) -> Iterator[Any]:
    """Nodes, and those of their subgraphs."""
    for node in nodes:
        yield node
        for graph in _graphs(node):
            yield from _nodes(graph.node)


def _graphs(node: Any) -> list[Any]:
    return [graph for attribute in node.attribute for graph in ([attribute.g] if attribute.type == 5 else attribute.graphs)]


def _called(nodes: Iterable[Any], functions: dict[Any, Any]) -> set[Any]:
    return {(node.domain, node.op_type, node.overload) for node in _nodes(nodes)} & functions.keys()


def _heights(calls: dict[Any, set[Any]]) -> dict[Any, int]:
    """How many calls lie in each other in a function: 0 where it makes none. None calls itself."""
    heights: dict[Any, int] = {}
    for key in TopologicalSorter(calls).static_order():
        heights[key] = max((heights[inner] + 1 for inner in calls[key]), default=0)
    return heights


def _next(highest: int, among: set[Any], functions: dict[Any, Any], heights: dict[Any, int]) -> set[Any]:
    """The functions of the highest level, and of so many levels below as have no defaults, which nobody has to fill in."""
    having = max((heights[key] for key in among if functions[key].attribute_proto and heights[key] < highest), default=-1)
    lowest = max(having + 1, highest - _LEVELS + 1)
    return {key for key in among if lowest <= heights[key] <= highest}


def _with_called(keys: set[Any], calls: dict[Any, set[Any]]) -> set[Any]:
    """Functions, what they call, and what that calls."""
    found, pending = set(keys), list(keys)
    while pending:
        new = calls[pending.pop()] - found
        found |= new
        pending += new
    return found


def _fill_in_defaults(nodes: Iterable[Any], functions: dict[Any, Any]) -> None:
    """Write the defaults of functions' attributes into the calls that do not give them."""
    for node in _nodes(nodes):
        function = functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            given = {attribute.name for attribute in node.attribute}
            node.attribute.extend(default for default in function.attribute_proto if default.name not in given)


def _compute_outputs(function: Any) -> None:
    """Let nodes compute the outputs of a function and of the subgraphs in it, each its own.

    `onnx.inliner` drops an output that is an input, or is listed twice, and renames one of a subgraph that is a value around it.
    """
    taken = {name for node in _nodes(function.node) for name in (*node.input, *node.output)} | {*function.input}
    function.output[:] = _computed(function.node, function.output, taken)
    for graph in [graph for node in _nodes(function.node) for graph in _graphs(node)]:
        for info, name in zip(graph.output, _computed(graph.node, [info.name for info in graph.output], taken), strict=True):
            info.name = name


def _computed(nodes: Any, outputs: Iterable[str], taken: set[str]) -> list[str]:
    """The names of outputs, of copies where no node computes them, or they are outputs already."""
    made: list[str] = []
    own = {name for node in nodes for name in node.output}
    for name in outputs:
        if name not in own or name in made:
            copied = next(each for number in count() if (each := f"{name}_{number}") not in taken)
            taken.add(copied)
            nodes.add(op_type="Identity", input=[name], output=[copied])
            name = copied
        made.append(name)
    return made


def _take_version(function: Any, version: int) -> None:
    """Say that a function is of the model's version, where each of its operators means the same in both."""
    from onnx import defs

    own = _version(function)
    if own == version or not own or not version:
        return
    with contextlib.suppress(defs.SchemaError):
        for node in _nodes(function.node):
            if node.domain in ("", "ai.onnx") and (
                    defs.get_schema(node.op_type, own).since_version != defs.get_schema(node.op_type, version).since_version):
                return
        for entry in function.opset_import:
            if entry.domain in ("", "ai.onnx"):
                entry.version = version


def upgraded(model: bytes, opset: int) -> bytes:
    """The model, of an opset before 7, in a newer version of its operators."""
    from .ancient import brought_up

    return brought_up(model, opset)
