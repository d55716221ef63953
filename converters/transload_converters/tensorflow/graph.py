"""From a graph's nodes to ops of dialect `tf`, one for one, in an order in which they can run.

Names and attributes are TensorFlow's; what operands and results tell (`OpDef.derived`), the device and attributes that begin
with `_` are left out. A node whose op is a function of the library is a call of it, and ops in a stateless and a stateful form
are one op with `is_stateless`, as in TensorFlow's own MLIR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from transload.ir import F32, Block, Dense, FloatAttr, FusedLocation, Location, Op, Symbol, TensorType, Value

from .nodes import VARIABLES, Edge, Graph, Node, Problems
from .tensors import Contents, Strings
from .types import STRING, element_of, shape_attribute, sizes_of, tensor_of

__all__ = ["Importer", "location_of", "result_name"]

_STATELESS = {"StatelessIf": "If", "StatelessWhile": "While", "StatelessCase": "Case"}
_FUNCTIONAL = frozenset({"If", "While", "Case"})


def result_name(edge: Edge) -> str:
    """What TensorFlow calls a node's result: the node's name, and behind a colon the number of all but the first."""
    return edge[0] if edge[1] == 0 else f"{edge[0]}:{edge[1]}"


class Importer:
    """Makes ops of the nodes of one file.

    `variables` are the values that variables have to begin with, `constants` those of constants that the file does not hold, both
    by the name of the node.
    """

    def __init__(
        self, contents: Contents, problems: Problems, variables: Mapping[str, Dense | Strings] | None = None,
        constants: Mapping[str, Strings] | None = None,
    ) -> None:
        self.contents = contents
        self.problems = problems
        self.variables = variables or {}
        self.constants = constants or {}
        self.switched_off: set[str] = set()
        """Switches of training, which are false."""

    def nodes(self, nodes: Iterable[Node], block: Block, values: dict[Edge, Value], graph: Graph) -> None:
        """Append the ops of nodes, which are in order; `values` are those defined so far, and are added to: what
        is given in the place of a result stays."""
        for node in nodes:
            op = block.append(self.op(node, [values[edge] for edge in node.inputs], graph))
            for index, value in enumerate(op.results):
                values.setdefault((node.name, index), value)

    def op(self, node: Node, operands: list[Value], graph: Graph) -> Op:
        """The op of a node on its operands."""
        name, attributes = self._name_and_attributes(node, graph)
        types = [tensor_of(element) for element in node.elements]
        if node.op in VARIABLES and isinstance(self.variables.get(node.name), Dense):
            attributes["value"] = self.variables[node.name]
        elif node.name in self.switched_off:
            name, attributes, operands = "tf.Const", {"value": Dense(np.array(False))}, []
        elif node.op == "Const":
            value = self.constants.get(node.name) or self.constant(node)
            if isinstance(value, Strings):
                attributes, types = {"value_strings": list(value)}, [TensorType(value.shape, STRING)]
            elif value is not None:
                attributes, types = {"value": value}, [TensorType(value.shape, types[0].element)]
        return Op(name, operands, types, attributes, (), location_of(node))

    def constant(self, node: Node) -> Dense | Strings | None:
        """The value of a Const; None where it has none, which is a problem."""
        if "value" not in node.attributes or node.attributes["value"].WhichOneof("value") != "tensor":
            self.problems.add("Const", "has no value", node.name)
            return None
        return self.contents.read(node.attributes["value"].tensor, node.name)

    def _name_and_attributes(self, node: Node, graph: Graph) -> tuple[str, dict[str, Any]]:
        if node.op in graph.functions:
            called = "tf.StatefulPartitionedCall" if graph.functions[node.op].stateful else "tf.PartitionedCall"
            return called, {"f": Symbol(node.op)}
        left_out = node.definition.derived if node.definition is not None else frozenset()
        attributes = {
            key: self.attribute(node, key, value) for key, value in sorted(node.attributes.items())
            if key not in left_out and not key.startswith("_")}
        plain = _STATELESS.get(node.op, node.op)
        if plain in _FUNCTIONAL:
            attributes["is_stateless"] = plain != node.op
        return "tf." + "".join(c if c.isascii() and (c.isalnum() or c in "._$") else "_" for c in plain), attributes

    def attribute(self, node: Node, key: str, value: Any) -> Any:
        """An `AttrValue` as an attribute of the IR."""
        kind = value.WhichOneof("value")
        if kind == "list":
            field = next((field for field in _FIELDS if getattr(value.list, field)), "")
            return [self._plain(node, key, field, item) for item in getattr(value.list, field, ())]
        if kind is None:
            return []  # an empty list is written as nothing at all
        if kind == "placeholder":
            self.problems.add(node.op, f"its attribute {key} is for the caller of its function to say, and none does", node.name)
            return None
        return self._plain(node, key, kind, getattr(value, kind))

    def _plain(self, node: Node, key: str, kind: str, value: Any) -> Any:
        """One value of a kind, by the field that holds it in an `AttrValue`."""
        if kind == "s":
            return value.decode("utf-8", "backslashreplace")
        if kind == "f":
            return FloatAttr(value, F32)
        if kind == "type":
            element = element_of(value)
            if element is None:
                self.problems.add(node.op, f"its attribute {key} names type number {value}, which does not exist", node.name)
            return element
        if kind == "shape":
            return shape_attribute(sizes_of(value))
        if kind == "tensor":
            return self.contents.read(value, f"{node.name} {key}")
        if kind == "func":
            return Symbol(value.name)
        return value


_FIELDS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


def location_of(node: Node) -> Location:
    """The names of a node's results as its location; that of a node without any is the node's."""
    if len(node.elements) <= 1:
        return node.name
    return FusedLocation(tuple(result_name((node.name, index)) for index in range(len(node.elements))))

