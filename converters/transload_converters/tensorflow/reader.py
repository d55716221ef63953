"""Reading graphs of TensorFlow (`.pb`): one node, one op of dialect `tf`; nothing is decided here but the inputs' static shapes.

A frozen graph does not say what it gives: the main function's results are what nothing in the graph uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transload.errors import ReadError, UsageError
from transload.input_shapes import static_shapes
from transload.ir import I32, NONE, IntAttr, Module, TensorType, new_module, set_results
from transload.ir.verify import check
from transload.plugin import Source
from transload.protobuf import cut_out

from .graph import Importer, result_name
from .nodes import CONTROL_FLOW, Edge, Graph, Node, Problems, op_def_of
from .tensors import IN_GRAPH, Contents
from .types import sizes_of, tensor_of

__all__ = ["detect", "read"]

_MARK = 1000
"""The field of a tensor that stands for a content which was cut out; see messages.proto."""
_DAMAGED = "the file is damaged, was cut short, or is no graph of TensorFlow"
_SCALARS_UNKNOWN = 24
"""Producers of graphs before this version wrote the shape of a scalar where they knew none."""
_NO_OUTPUTS = frozenset({
    "NoOp", "Const", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Assert", "Print", "PrintV2", "VarHandleOp",
    "Variable", "VariableV2", "SaveV2", "Assign", "AssignVariableOp", "ScalarSummary", "HistogramSummary", "ImageSummary",
    "MergeSummary", "AudioSummaryV2", "AudioSummary", "MergeV2Checkpoints"})
"""Ops whose results are no outputs of a graph where nothing uses them."""


def detect(head: bytes, path: Path | None = None) -> bool:
    """Whether a file's first bytes look like a graph: a node, which begins with its name, and then its op or its versions."""
    if head[:1] != b"\x0a" or len(head) < 8:
        return False
    place = 1
    while place < 6 and head[place] & 0x80:
        place += 1
    return head[place + 1:place + 2] == b"\x0a"


def read(source: Source, inputs: Mapping[str, TensorType] | None = None) -> Module:
    """Import a frozen graph. `inputs` gives shapes of inputs that the file leaves open.

    Raises `ReadError` for anything that is wrong with the file, `UsageError` where `inputs` does not fit it.
    """
    from .messages_pb2 import GraphDef

    data, cuts = cut_out(source.data, IN_GRAPH, mark=_MARK)
    graph_def = parse(GraphDef(), data, source.name)
    if not graph_def.node:
        raise ReadError(f"{source.name}: has no nodes", hint=_DAMAGED)
    return module_of(graph_def, Contents(source.name, cuts), inputs or {})


def parse(message: Any, data: bytes | memoryview, name: str) -> Any:
    """A message with the content of a file; `ReadError` where that is none."""
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(bytes(data))
    except (DecodeError, RuntimeError, ValueError) as error:
        raise ReadError(f"{name}: is not a protobuf message of a TensorFlow model: {error}", hint=_DAMAGED) from None
    return message


def module_of(graph_def: Any, contents: Contents, wanted: Mapping[str, TensorType]) -> Module:
    """The module of a frozen graph."""
    problems = Problems(contents.name)
    functions = {function.signature.name: op_def_of(function.signature) for function in graph_def.library.function}
    graph = Graph(graph_def.node, problems, functions)
    problems.refuse()
    outputs = sinks(graph)
    if not outputs:
        raise ReadError(f"{contents.name}: the graph computes nothing that it gives out", hint=_DAMAGED)
    fed = fed_nodes(graph, wanted)
    needed = graph.needed((name for name, _ in outputs), fed)
    if executed := sorted({graph.nodes[name].op for name in needed} & CONTROL_FLOW):
        raise ReadError(f"{contents.name}: has control flow of TensorFlow 1 ({', '.join(executed)}), which is not read")
    placeholders = [node for name, node in fed.items() if name in needed]
    module = new_module()
    module.attributes["tf.versions"] = {"producer": IntAttr(graph_def.versions.producer, I32)}
    types, notes = input_types(placeholders, graph_def.versions.producer, wanted, contents.name)
    main = module.add_function("main", [types[node.name] for node in placeholders], [node.name for node in placeholders])
    block = main.regions[0].block
    values = {(node.name, 0): argument for node, argument in zip(placeholders, block.arguments, strict=True)}
    Importer(contents, problems).nodes(graph.ordered(needed - set(fed)), block, values, graph)
    problems.refuse()
    set_results(main, [values[edge] for edge in outputs], [result_name(edge) for edge in outputs])
    module.notes = notes
    if findings := check(module):
        raise ReadError(f"{contents.name}: the model's ops are not as TensorFlow defines them", findings)
    return module


def sinks(graph: Graph) -> list[Edge]:
    """The results of nodes that nothing uses, in the file's order: what a frozen graph gives out."""
    uses = graph.uses()
    return [
        (node.name, index) for node in graph.nodes.values() if not uses[node.name] and node.op not in _NO_OUTPUTS
        for index in range(len(node.elements))]


def fed_nodes(graph: Graph, wanted: Mapping[str, TensorType]) -> dict[str, Node]:
    """The nodes that are inputs, by name, in the file's order: placeholders, and whatever the user speaks of as an input.

    A placeholder with a default is one where its default is not to be had from the graph alone (an iterator over a data set).
    """
    def is_fed(node: Node) -> bool:
        if node.op in ("Placeholder", "PlaceholderV2"):
            return True
        if node.name in wanted and len(node.elements) == 1:
            return True
        return node.op == "PlaceholderWithDefault" and not _is_constant(graph, node)

    return {name: node for name, node in graph.nodes.items() if is_fed(node)}


def _is_constant(graph: Graph, node: Node) -> bool:
    """Whether a node hands on a constant."""
    for _ in graph.nodes:
        if node.op == "Const":
            return True
        if node.op not in ("Identity", "PlaceholderWithDefault") or not node.inputs or node.inputs[0][0] not in graph.nodes:
            return False
        node = graph.nodes[node.inputs[0][0]]
    return False


def input_types(
    placeholders: list[Node], producer: int, wanted: Mapping[str, TensorType], where: str,
) -> tuple[dict[str, TensorType], tuple[str, ...]]:
    """The types of inputs, made static, by name, and what was chosen that nobody said."""
    declared = {node.name: _declared_sizes(node, producer) for node in placeholders}
    elements = {node.name: node.elements[0] for node in placeholders}
    for name, type_ in wanted.items():
        if name in elements and type_.element not in (NONE, elements[name]):
            raise UsageError(f"{where}: input {name!r} has elements {elements[name]}, not {type_.element}")
    given = {name: type_.shape for name, type_ in wanted.items() if type_.shape is not None}
    found = static_shapes(declared, given, where)
    return {name: tensor_of(elements[name], shape) for name, shape in found.shapes.items()}, found.notes


def _declared_sizes(node: Node, producer: int) -> list[int | None] | None:
    if "shape" not in node.attributes:
        return None  # it has no such attribute in old graphs, and elsewhere where it is no placeholder
    sizes = sizes_of(node.attributes["shape"].shape)
    if sizes is None or (not sizes and producer < _SCALARS_UNKNOWN):
        return None
    return list(sizes)
