"""Graphs with control flow of TensorFlow 1: every node an op of `tf_executor`, ops that are none of its own in an island each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from transload.ir import I32, Block, Op, Region, TensorType, Type, Value

from ..graph import Importer, location_of
from ..nodes import BACK_EDGE, Edge, Graph, Node
from ..types import referred, tensor_of
from .dialect import CONTROL, TOKEN

__all__ = ["import_graph"]

_OPS = {
    "Switch": "Switch", "RefSwitch": "Switch", "_SwitchN": "SwitchN", "Merge": "Merge", "RefMerge": "Merge", "Enter": "Enter",
    "RefEnter": "Enter", "Exit": "Exit", "RefExit": "Exit", "LoopCond": "LoopCond", "ControlTrigger": "ControlTrigger"}
_KEPT = {"Enter": ("frame_name", "is_constant", "parallel_iterations"), "SwitchN": ("num_outs",)}


def import_graph(importer: Importer, nodes: Iterable[Node], values: dict[Edge, Value], outputs: list[Edge], graph: Graph) -> Op:
    """A `tf_executor.graph` of nodes that are in order; `values` are the feeds. Its results are the outputs."""
    block = Block()
    nodes, tokens = list(nodes), {}
    sinks: dict[str, Value] = {}
    values = dict(values)
    given = {name for name, _ in values}
    for node in nodes:
        if node.op in BACK_EDGE:
            source = block.append(Op(
                "tf_executor.NextIteration.Source", (), [tensor_of(node.elements[0]), TOKEN, CONTROL], {}, (), location_of(node)))
            values[node.name, 0], sinks[node.name], tokens[node.name] = source.results
    for node in nodes:
        if node.name in given:
            continue
        data = [values[edge] for edge in node.inputs]
        control = [tokens[name] for name in node.control if name in tokens]
        if node.op in BACK_EDGE:
            block.append(Op("tf_executor.NextIteration.Sink", [sinks[node.name], *data, *control], (), {}, (), location_of(node)))
            continue
        op = block.append(
            _flow(importer, node, data, control) if node.op in _OPS else _island(importer, node, data, control, graph))
        tokens[node.name] = op.results[-1]
        for index in range(len(node.elements)):
            values[node.name, index] = op.results[index]
    fetched = [values[edge] for edge in outputs]
    block.append(Op("tf_executor.fetch", fetched))
    return Op("tf_executor.graph", (), [value.type for value in fetched], {}, [Region([block])])


def _flow(importer: Importer, node: Node, data: list[Value], control: list[Value]) -> Op:
    """One of the executor's own ops."""
    name = _OPS[node.op]
    types: list[Type] = [tensor_of(referred(element)) for element in node.elements]
    if name == "Merge" and len(types) == 2:
        types[1] = TensorType((), I32)
    attributes: dict[str, Any] = {
        key: importer.attribute(node, key, node.attributes[key]) for key in _KEPT.get(name, ()) if key in node.attributes}
    return Op(f"tf_executor.{name}", [*data, *control], [*types, CONTROL], attributes, (), location_of(node))


def _island(importer: Importer, node: Node, data: list[Value], control: list[Value], graph: Graph) -> Op:
    inner = importer.op(node, data, graph)
    body = Block()
    body.append(inner)
    body.append(Op("tf_executor.yield", inner.results))
    types = [*(value.type for value in inner.results), CONTROL]
    return Op("tf_executor.island", control, types, {}, [Region([body])], location_of(node))


