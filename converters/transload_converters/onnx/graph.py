"""From a `GraphProto` to ops: every node one for one, in an order in which values are defined before use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from transload.errors import Finding, ReadError, merge_findings
from transload.ir import (
    NONE,
    ArrayData,
    Block,
    Dense,
    DenseArray,
    FusedLocation,
    Op,
    Region,
    TensorType,
    Type,
    Value,
)
from transload.ir.names import FreshNames
from transload.ir.types import F64

from .dialect import op_name, region_names, schema_of
from .tensors import TensorReader, strings_of
from .types import STRING, UNKNOWN, value_type

__all__ = ["MAX_DEPTH", "GraphImporter", "Scope", "fill_in", "types_of"]

MAX_DEPTH = 32
"""How deep subgraphs may lie in each other: each is three messages of the 100 that protocol buffers are read deep."""

MAX_CALLS = 128
"""How deep calls of functions may lie in each other, where these are written in other opset versions than the model."""


class Scope:
    """Values by name, and those of the graphs around."""

    def __init__(self, outer: Scope | None = None, types: Mapping[str, Type] | None = None) -> None:
        self.outer = outer
        self.values: dict[str, Value] = {}
        self.types = types or {}
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.none: Value | None = None

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            value = scope.values.get(name)
            if value is not None:
                return value
            scope = scope.outer
        return None


def types_of(graph: Any) -> dict[str, Type]:
    """The types of a graph's values that the file, or shape inference, knows."""
    return {info.name: value_type(info.type) for group in (graph.value_info, graph.output, graph.input) for info in group}


class GraphImporter:
    """Builds the ops of one model's graphs.

    `opsets` are the versions by domain; `overrides` goes into every op as an attribute (for operators that are
    expanded by their own definition, which may be written in another opset version). `functions` of the model,
    by domain, name and overload, are expanded where they are called. What is wrong with the graph is collected
    in `findings`; `finish` raises it.
    """

    def __init__(
        self, tensors: TensorReader, opsets: Mapping[str, int], overrides: Mapping[str, Any] | None = None,
        functions: Mapping[tuple[str, str, str], Any] | None = None,
    ) -> None:
        self.tensors = tensors
        self.opsets = opsets
        self.overrides = dict(overrides or {})
        self.functions = functions or {}
        self.told: dict[str, str] | None = None  # in a function, what its values are called in the model
        self.calls = 0  # that it lies in
        self.fresh = FreshNames()
        self.findings: list[Finding] = []

    def finish(self) -> None:
        """Raise `ReadError` with everything that was found wrong."""
        if self.findings:
            raise ReadError(f"{self.tensors.name}: the model's graph is not valid", merge_findings(self.findings))

    def problem(self, what: str, why: str, name: str = "", hint: str = "") -> None:
        self.findings.append(Finding(what, why, (name,) if name else (), hint))

    # --- a graph

    def initializers(self, graph: Any, block: Block, scope: Scope, raw: Mapping[int, memoryview] | None = None) -> None:
        """Constants for a graph's initializers, sparse ones included."""
        raw = raw or {}
        for place, tensor in enumerate(graph.initializer):
            if tensor.data_type == 8:
                attributes: dict[str, Any] = {"value_strings": strings_of(tensor)}
                type_: Type = TensorType(tuple(tensor.dims), STRING)
            else:
                dense = self.tensors.read(tensor, tensor.name, raw.get(place))
                attributes, type_ = {"value": dense}, dense.type
            op = block.append(Op("onnx.Constant", (), (type_,), attributes, (), tensor.name))
            self.define(tensor.name, op.results[0], scope, "initializer")
        for sparse in graph.sparse_initializer:
            dense = self.densify(sparse)
            op = block.append(Op("onnx.Constant", (), (dense.type,), {"value": dense}, (), sparse.values.name))
            self.define(sparse.values.name, op.results[0], scope, "initializer")

    def nodes(self, nodes: Iterable[Any], block: Block, scope: Scope) -> None:
        """Ops for the nodes of a graph; where the file does not have them in order, they are put in order."""
        for node in self.in_order(list(nodes), scope):
            function = self.functions.get((node.domain, node.op_type, node.overload))
            if function is not None:
                self.call(function, node, block, scope)
            else:
                self.node(node, block, scope)

    def outputs(self, names: Iterable[str], scope: Scope, what: str) -> list[Value]:
        """The values of a graph's outputs."""
        values = []
        for name in names:
            value = scope.find(name)
            if value is None:
                self.problem(what, "is an output that nothing computes", name)
            else:
                values.append(value)
        return values

    def define(self, name: str, value: Value, scope: Scope, what: str) -> None:
        if not name:
            self.problem(what, "has no name")
        elif name in scope.values:
            self.problem(what, "defines a value that is defined already: every value has one definition", name)
        else:
            scope.values[name] = value

    def in_order(self, nodes: list[Any], scope: Scope) -> list[Any]:
        """The nodes so that what one uses is defined before it (the file's order where it is such)."""
        maker = {name: place for place, node in enumerate(nodes) for name in node.output if name}
        if all(maker.get(name, -1) < place for place, node in enumerate(nodes) for name in _used_names(node)):
            return nodes
        ordered: list[Any] = []
        state = [0] * len(nodes)  # 0 new, 1 waiting for what it uses, 2 done
        for first in range(len(nodes)):
            stack = [(first, iter(_used_names(nodes[first])))] if not state[first] else []
            state[first] = state[first] or 1
            while stack:
                place, names = stack[-1]
                for name in names:
                    other = maker.get(name)
                    if other is None or state[other] == 2:
                        continue
                    if state[other] == 1:
                        self.problem("graph", "has a cycle: a value is computed from itself", name)
                        self.finish()
                    state[other] = 1
                    stack.append((other, iter(_used_names(nodes[other]))))
                    break
                else:
                    state[place] = 2
                    ordered.append(nodes[place])
                    stack.pop()
        return ordered

    # --- a node

    def node(self, node: Any, block: Block, scope: Scope) -> Op:
        """The op of a node."""
        name = op_name(node.domain, node.op_type)
        outputs = list(node.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        inputs = list(node.input)
        while inputs and not inputs[-1]:
            inputs.pop()
        operands = [self.use(key, block, scope, name) for key in inputs]
        attributes, graphs = self.attributes(node, name)
        if name == "onnx.Constant":
            attributes = self.constant_value(attributes, outputs[0] if outputs else "")
        types = [scope.types.get(key, UNKNOWN) if key else NONE for key in outputs]
        if name == "onnx.Constant" and isinstance(attributes.get("value"), Dense):
            types = [attributes["value"].type]
        if name == "onnx.Constant" and "value_strings" in attributes:
            types = [TensorType(_shape_of_texts(node), STRING)]
        if node.domain not in ("", "ai.onnx"):
            attributes["domain"] = node.domain
        else:
            attributes.update(self.overrides)
        regions = [self.subgraph(graph, scope) for graph in graphs]
        op = block.append(Op(name, operands, types, attributes, regions, _location([self.tell(key) for key in outputs])))
        if not outputs:
            self.problem(name, "computes nothing: it has no output", node.name)
        for key, value in zip(outputs, op.results, strict=False):
            if key:
                self.define(key, value, scope, name)
        return op

    def tell(self, key: str) -> str:
        """What a value is called in the model: in a function, as its call calls it, or by a name that no other has."""
        if self.told is None or not key:
            return key
        if key not in self.told:
            self.told[key] = self.fresh(f"{key}__1")
        return self.told[key]

    def call(self, function: Any, node: Any, block: Block, scope: Scope) -> None:
        """The ops of a function in the place of a call, each with the opset version that the function is written in."""
        versions = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in function.opset_import}
        if len(node.input) > len(function.input) or len(node.output) > len(function.output):
            self.problem(function.name, f"takes {len(function.input)} values and gives {len(function.output)}, and is called "
                         f"with {len(node.input)} for {len(node.output)}", node.name)
            return
        given = dict(zip(function.input, node.input, strict=False))
        attributes = {attribute.name: attribute for attribute in (*function.attribute_proto, *node.attribute)}
        body = type(function).FromString(function.SerializeToString()).node
        for inner in body:
            fill_in(inner, attributes, {name for name in function.input if not given.get(name)})
        version = versions.get("", self.overrides.get("onnx.opset", self.opsets.get("")))
        importer = GraphImporter(self.tensors, versions, {"onnx.opset": version}, self.functions)
        importer.findings, importer.fresh, importer.calls = self.findings, self.fresh, self.calls + 1
        if importer.calls > MAX_CALLS:
            raise ReadError(f"{self.tensors.name}: functions of another opset version than the model's call each other more than "
                            f"{MAX_CALLS} deep", hint="write the functions and the model in the same opset version")
        importer.told = {name: self.tell(key) for name, key in zip(function.output, node.output, strict=False)}
        inside = Scope(types={name: scope.types[key] for name, key in zip(function.output, node.output, strict=False)
                              if key in scope.types})
        inside.depth = scope.depth
        for name, key in given.items():
            if key:
                self.define(name, self.use(key, block, scope, function.name), inside, "input of a function")
        importer.nodes(body, block, inside)
        values = importer.outputs(function.output[: len(node.output)], inside, function.name)
        for key, value in zip(node.output, values, strict=False):
            if key:
                self.define(key, value, scope, function.name)

    def use(self, key: str, block: Block, scope: Scope, user: str) -> Value:
        value = scope.find(key) if key else None
        if value is not None:
            return value
        if key:
            self.problem(user, f"uses {key!r}, which nothing defines")
        if scope.none is None:
            scope.none = block.append(Op("onnx.NoValue", (), (NONE,))).results[0]
        return scope.none

    def subgraph(self, graph: Any, outer: Scope) -> Region:
        """A branch or loop body as a region; values from outside are used as they are."""
        scope = Scope(outer, types_of(graph))
        if scope.depth > MAX_DEPTH:
            raise ReadError(f"{self.tensors.name}: subgraphs lie more than {MAX_DEPTH} deep in each other")
        block = Block()
        for info in graph.input:
            self.define(info.name, block.add_argument(value_type(info.type), info.name), scope, "input of a subgraph")
        self.initializers(graph, block, scope)
        self.nodes(graph.node, block, scope)
        values = self.outputs([info.name for info in graph.output], scope, "subgraph")
        block.append(Op("onnx.Yield", values))
        return Region([block])

    # --- attributes

    def attributes(self, node: Any, name: str) -> tuple[dict[str, Any], list[Any]]:
        """A node's attributes as Python values, and its subgraphs in the order of the op's regions."""
        values: dict[str, Any] = {}
        graphs: dict[str, list[Any]] = {}
        for attribute in node.attribute:
            key = attribute.name
            if key in values or key in graphs:
                self.problem(name, f"has attribute {key!r} twice", node.output[0] if node.output else "")
            elif attribute.ref_attr_name:
                self.problem(name, f"attribute {key!r} refers to {attribute.ref_attr_name!r} of a function, outside of any")
            elif attribute.type == 5:
                graphs[key] = [attribute.g]
            elif attribute.type == 10:
                graphs[key] = list(attribute.graphs)
            else:
                values[key] = self.attribute(attribute, name)
        if not graphs:
            return values, []
        schema = schema_of(node.op_type, self.opsets.get(node.domain, 1 << 30), node.domain)
        order = [key for key in region_names(schema) if key in graphs] if schema is not None else []
        order += sorted(set(graphs) - set(order))
        if schema is None:
            values["region_names"] = [key for key in order for _ in graphs[key]]
        return values, [graph for key in order for graph in graphs[key]]

    def attribute(self, attribute: Any, name: str) -> Any:
        """One attribute's value, by its `AttributeProto.type`."""
        kind, what = attribute.type, f"{name} {attribute.name}"
        if kind == 1:
            return float(attribute.f)
        if kind == 2:
            return int(attribute.i)
        if kind == 3:
            return _text(attribute.s)
        if kind == 4:
            return self.tensor_value(attribute.t, what)
        if kind == 6:
            return DenseArray(map(float, attribute.floats), F64)
        if kind == 7:
            return tuple(map(int, attribute.ints))
        if kind == 8:
            return [_text(item) for item in attribute.strings]
        if kind == 9:
            return [self.tensor_value(tensor, what) for tensor in attribute.tensors]
        if kind == 11:
            return self.densify(attribute.sparse_tensor)
        if kind == 12:
            return [self.densify(tensor) for tensor in attribute.sparse_tensors]
        if kind == 13:
            return value_type(attribute.tp)
        if kind == 14:
            return [value_type(item) for item in attribute.type_protos]
        self.problem(name, f"attribute {attribute.name!r} has type number {kind}, which does not exist")
        return 0

    def tensor_value(self, tensor: Any, what: str) -> Any:
        """A tensor attribute: a constant, or the list of its texts."""
        if tensor.data_type == 8 and not what.startswith("onnx.Constant "):
            name, _, attribute = what.partition(" ")
            self.problem(name, f"attribute {attribute!r} holds text, and only numbers can be converted")
        return strings_of(tensor) if tensor.data_type == 8 else self.tensors.read(tensor, tensor.name or what)

    def constant_value(self, attributes: dict[str, Any], name: str) -> dict[str, Any]:
        """The operator Constant has an attribute for each kind of value; the op has `value` for all numbers."""
        for key, value in attributes.items():
            if key in ("value", "sparse_value"):
                return {"value": value} if isinstance(value, Dense) else {"value_strings": value}
            number = {"value_float": np.float32, "value_int": np.int64}.get(key.removesuffix("s"))
            if number is not None:
                array = np.array(value)
                if array.dtype.kind not in "if":
                    self.problem("onnx.Constant", f"has in {key} what are no numbers", name)
                    return {}
                return {"value": Dense(ArrayData(array.astype(number)))}
            if key in ("value_string", "value_strings"):
                return {"value_strings": [value] if isinstance(value, str) else value}
        self.problem("onnx.Constant", "has no value", name)
        return {}

    def densify(self, sparse: Any) -> Dense:
        """A sparse tensor as a dense one. `indices` are places in the flattened tensor, or rows of subscripts."""
        what = sparse.values.name or "sparse tensor"
        shape = tuple(sparse.dims)
        values = self.tensors.read(sparse.values, what)
        places = self.tensors.read(sparse.indices, what)
        indices, size = places.numpy(), math.prod(shape)
        if any(n < 0 for n in shape):
            raise ReadError(f"{self.tensors.name}: sparse tensor {what!r} claims the shape {list(shape)[:8]}")
        self.tensors.unpack(what, size * values.data.dtype.itemsize, values.nbytes + places.nbytes)
        try:
            flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), shape)
            array = np.zeros(size, values.data.dtype)
            if flat.size and (flat.min() < 0 or flat.max() >= size):
                raise ValueError("an index is outside the tensor")
            array[flat] = values.numpy()
            array = array.reshape(shape)
        except (ValueError, TypeError, IndexError) as error:
            raise ReadError(f"{self.tensors.name}: sparse tensor {what!r} is not valid: {error}") from None
        return Dense(ArrayData(array), TensorType(shape, values.type.element))


def fill_in(node: Any, attributes: dict[str, Any], absent: set[str]) -> None:
    """Put the attributes of an operator, or of a call, where its definition refers to them, and leave out absent operands."""
    for index, name in enumerate(node.input):
        if name in absent:
            node.input[index] = ""
    kept = []
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            given = attributes.get(attribute.ref_attr_name)
            if given is None:
                continue
            name = attribute.name
            attribute.CopyFrom(given)
            attribute.name = name
        graphs = [attribute.g] if attribute.type == 5 else attribute.graphs
        for graph in graphs:
            for inner in graph.node:
                fill_in(inner, attributes, absent)
        kept.append(attribute)
    if len(kept) != len(node.attribute):
        copies = [type(attribute).FromString(attribute.SerializeToString()) for attribute in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _shape_of_texts(node: Any) -> tuple[int, ...]:
    """The shape of the texts that an operator Constant holds: a tensor, a text or a list of texts."""
    held = next(attribute for attribute in node.attribute if attribute.name in ("value", "value_string", "value_strings"))
    if held.type == 4:
        return tuple(held.t.dims)
    return () if held.type == 3 else (len(held.strings),)


def _location(outputs: list[str]) -> Any:
    """The names of an op's results as its location."""
    if len(outputs) == 1:
        return outputs[0]
    return FusedLocation(tuple(name or None for name in outputs)) if outputs else None


def _used_names(node: Any) -> list[str]:
    """The names that a node uses, those that its subgraphs take from outside included."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        graphs = [attribute.g] if attribute.type == 5 else attribute.graphs if attribute.type == 10 else ()
        for graph in graphs:
            names.extend(_captured_names(graph))
    return names


def _captured_names(graph: Any) -> list[str]:
    inside = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    inside.update(name for node in graph.node for name in node.output)
    used = [name for node in graph.node for name in _used_names(node)] + [info.name for info in graph.output]
    return [name for name in used if name not in inside]
