"""From a program's graphs to ops: every call of an operator one for one.

Sizes are numbers by now: the shapes of the inputs fix the symbols, and what a program computes from sizes alone is computed as
it is read. A size that is known only at run time stays as its text (`u0`), for whoever can do without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transload.errors import Finding, ReadError, merge_findings
from transload.ir import (
    F32,
    F64,
    I64,
    NONE,
    ArrayData,
    Block,
    ComplexType,
    Dense,
    DenseArray,
    FloatType,
    FusedLocation,
    Op,
    Region,
    TensorType,
    Type,
    Value,
    dtype_of,
)
from transload.ir.types import BOOL

from .program import OMITTED, Graph, Node, Ref, Sym
from .schemas import NARROW, Argument, is_one_of, op_name, overwriting, schema_of
from .symbols import Expression, Symbols

__all__ = ["Importer", "Scope", "number_as_tensor"]

_HIGHER_ORDER = "aten.higher_order."


class Scope:
    """The tensors of one graph by name, those of the graphs around it, and how its values are called."""

    def __init__(self, graph: Graph, outer: Scope | None = None, names: Mapping[str, str] | None = None) -> None:
        self.graph, self.outer = graph, outer
        self.values: dict[str, Value] = {}
        self.names = names or {}
        self.none: Value | None = None

    def find(self, name: str) -> Value | None:
        """The tensor of a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        return None


def value_names(graph: Graph, taken: Sequence[str]) -> dict[str, str]:
    """How the values of a graph are called: by the module that computes them, where it is one, or by module and node."""
    calls = Counter(node.path for node in graph.nodes)
    names: dict[str, str] = {}
    used = set(taken)
    for node in graph.nodes:
        outputs = _refs(node.outputs)
        for output in outputs:
            whole = node.path if node.path and calls[node.path] == 1 and len(outputs) == 1 else ""
            name = whole or (f"{node.path}/{output.name}" if node.path else output.name)
            if name in used:
                name = f"{node.path}/{output.name}" if whole else output.name
            names[output.name] = name
            used.add(name)
    return names


def _refs(outputs: Sequence[Any]) -> list[Ref]:
    """The tensors among what a node gives, lists of them taken apart."""
    return [each for output in outputs for each in (output if isinstance(output, list) else [output]) if isinstance(each, Ref)]


_FACTORS = frozenset(("mul", "multiply", "div", "divide", "true_divide", "floor_divide"))
"""Operators of which PyTorch keeps a number beside 16-bit floats as it is: it computes with f32, and rounds what comes of it."""


def number_as_tensor(number: bool | int | float, element: Type | None = None) -> tuple[np.ndarray, Type]:
    """The array of a number where a tensor is due, and its element type; beside an `element` it takes that, of its own kind."""
    own: Type = BOOL if isinstance(number, bool) else I64 if isinstance(number, int) else F64
    if element is not None and (isinstance(element, FloatType) or (own != F64 and element != BOOL)):
        own = element
    elif own == F64:
        own = F32
    try:
        return np.array(number, dtype_of(own)), own
    except OverflowError:
        return np.array(number, np.float64), F64


class Importer:
    """Builds the ops of one program. What is wrong with it is collected in `findings`; `finish` raises it."""

    def __init__(self, where: str, symbols: Symbols) -> None:
        self.where, self.symbols = where, symbols
        self.findings: list[Finding] = []

    def finish(self) -> None:
        """Raise `ReadError` with everything that was found wrong."""
        if self.findings:
            raise ReadError(f"{self.where}: the program is not as torch.export writes one", merge_findings(self.findings))

    def problem(self, what: str, why: str, name: str = "") -> None:
        self.findings.append(Finding(what, why, (name,) if name else ()))

    def type_of(self, scope: Scope, name: str) -> Type:
        """The type of a tensor as the program says it; of any shape where sizes are not known."""
        meta = scope.graph.tensors.get(name)
        if meta is None:
            return TensorType(None, F32)
        sizes = tuple(self.symbols.size(size) for size in meta.sizes)
        if any(size is not None and size < 0 for size in sizes):
            self.problem("a tensor", f"has the sizes {list(sizes)}", name)
            return TensorType(None, meta.element)
        return TensorType(sizes, meta.element)

    def nodes(self, block: Block, scope: Scope) -> None:
        """Ops for all calls of a graph, but those that compute sizes or check them."""
        for node in scope.graph.nodes:
            if _refs(node.outputs) or overwriting(op_name(node.target)) is not None:
                self.node(node, block, scope)

    def node(self, node: Node, block: Block, scope: Scope) -> None:
        """The op of a call."""
        name = op_name(node.target)
        outputs = _refs(node.outputs)
        types = [self.type_of(scope, output.name) for output in outputs]
        location = [scope.names.get(output.name, output.name) for output in outputs]
        if name.startswith(_HIGHER_ORDER):
            op = self.higher_order(name, node, types, block, scope)
        else:
            operands, attributes = self.arguments(name, node, block, scope)
            op = Op(name, operands, types, attributes)
        op.location = location[0] if len(location) == 1 else FusedLocation(tuple(location)) if location else node.name
        block.append(op)
        for output, value in zip(outputs, op.results, strict=True):
            self.define(output.name, value, scope)

    def define(self, name: str, value: Value, scope: Scope) -> None:
        if name in scope.values:
            self.problem("graph", "defines a tensor that is defined already", name)
        scope.values[name] = value

    def use(self, given: Any, block: Block, scope: Scope, user: str, element: Type | None = None) -> Value:
        """The value of an argument that is due to be a tensor: one by its name, none, or a number."""
        if isinstance(given, Ref):
            value = scope.find(given.name)
            if value is not None:
                return value
            self.problem(user, f"uses {given.name!r}, which nothing defines")
        elif isinstance(given, Sym):
            given = self.number(given, scope)
        if isinstance(given, bool | int | float | complex):
            return self.constant(given, element, block)
        if given is not None and not isinstance(given, Ref):
            self.problem(user, f"is given {str(given)[:60]!r} for a tensor")
        if scope.none is None:
            scope.none = block.insert(Op("aten.NoValue", (), (NONE,)), block.first).results[0]
        return scope.none

    def constant(self, number: bool | int | float | complex, element: Type | None, block: Block) -> Value:
        """A number among tensors, of the element type that PyTorch computes with: it yields to a tensor's own of its kind."""
        if isinstance(number, complex):
            wide = element in (F64, ComplexType(F64))
            data = np.array(number, np.complex128 if wide else np.complex64)
            type_ = TensorType((), ComplexType(F64 if wide else F32))
            return block.append(Op("aten.Constant", (), (type_,), {"value": Dense(ArrayData(data), type_)})).results[0]
        array, own = number_as_tensor(number, element)
        return block.append(Op("aten.Constant", (), (TensorType((), own),), {"value": Dense(ArrayData(array))})).results[0]

    def number(self, given: Any, scope: Scope) -> Any:
        """A number, or, of a size that is known only at run time, its text."""
        if not isinstance(given, Sym):
            return given
        found: Any = None
        outer: Scope | None = scope
        while outer is not None and found is None:
            found = outer.graph.sizes.get(given.name)
            outer = outer.outer
        if found is None:
            self.problem("a size", "is used and not computed", given.name)
            return 0
        known = self.symbols.number(found)
        return known if known is not None else found.text if isinstance(found, Expression) else given.name

    # --- arguments

    def arguments(self, name: str, node: Node, block: Block, scope: Scope) -> tuple[list[Value], dict[str, Any]]:
        """The operands and attributes of a call, in the order of the operator's signature."""
        plain = overwriting(name)
        schema = schema_of(name) or schema_of(plain or name)
        given = dict(node.inputs)
        if schema is None:
            return self._undeclared(given, name, block, scope)
        known = schema.arguments
        first = known[0].name if known else ""
        if "self" in given and first not in given and plain is not None:  # `dropout_(self)`, `dropout(input)`
            given = {first if key == "self" else key: value for key, value in given.items()}
        unknown = given.keys() - {argument.name for argument in known} - {"device", "layout", "pin_memory", "generator"}
        if unknown:
            self.problem(name, f"has arguments that it does not know: {', '.join(sorted(unknown))}")
        element = self._element(given, scope)
        if element in NARROW and (plain or name).split(".")[-2] in _FACTORS:
            number = given.get("other")
            element = F32 if isinstance(number, int | float) and not is_one_of(element, number) else element
        operands: list[Value] = []
        segments: list[int] = []
        attributes: dict[str, Any] = {}
        for argument in known:
            present = argument.name in given
            value = given.get(argument.name)
            if argument.is_tensor:
                values = self._tensors(argument, value, name, block, scope, element)
                segments.append(len(values))
                operands += values
            elif present and value is not OMITTED and value is not None:
                attributes[argument.name] = self._plain(argument, value, name, scope)
            elif argument.required and not present:
                self.problem(name, f"lacks its argument {argument.name!r}")
        if sum(argument.is_tensor and argument.many for argument in known) > 1:
            attributes["segments"] = tuple(segments)
        return operands, attributes

    def _element(self, given: Mapping[str, Any], scope: Scope) -> Type | None:
        """The element type of the first tensor among arguments, to which numbers beside it yield."""
        for value in given.values():
            first = value[0] if isinstance(value, list) and value else value
            found = scope.find(first.name) if isinstance(first, Ref) else None
            if found is not None and isinstance(found.type, TensorType):
                return found.type.element
        return None

    def _tensors(
        self, argument: Argument, value: Any, user: str, block: Block, scope: Scope, element: Type | None,
    ) -> list[Value]:
        if not argument.many:
            if value is None and not argument.optional:
                self.problem(user, f"lacks its argument {argument.name!r}")
            return [self.use(value, block, scope, user, element)]
        if value is not None and not isinstance(value, list):
            self.problem(user, f"is given {str(value)[:60]!r} for the list {argument.name!r}")
            return []
        return [self.use(each, block, scope, user, element) for each in value or ()]

    def _plain(self, argument: Argument, value: Any, user: str, scope: Scope) -> Any:
        """An argument that is no tensor, as an attribute."""
        if isinstance(value, Ref | Graph) or (isinstance(value, list) and any(isinstance(each, Ref | Graph) for each in value)):
            self.problem(user, f"is given a tensor for {argument.name!r}")
            return 0
        if isinstance(value, list):
            return _listed([self.number(each, scope) for each in value])
        value = self.number(value, scope)
        if isinstance(value, complex):
            return str(value)
        if argument.kind == "float" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value

    def _undeclared(
        self, given: Mapping[str, Any], name: str, block: Block, scope: Scope,
    ) -> tuple[list[Value], dict[str, Any]]:
        """The arguments of an operator that is not known here: of a library of the user's own, say."""
        operands: list[Value] = []
        attributes: dict[str, Any] = {}
        for key, value in given.items():
            parts = value if isinstance(value, list) else [value]
            if any(isinstance(part, Ref) for part in parts):
                operands += [self.use(part, block, scope, name) for part in parts]
            elif isinstance(value, list):
                attributes[key] = _listed([self.number(part, scope) for part in value])
            elif value is not None and value is not OMITTED and not isinstance(value, Graph):
                attributes[key] = self.number(value, scope)
        return operands, attributes

    # --- operators with graphs

    def higher_order(self, name: str, node: Node, types: Sequence[Type], block: Block, scope: Scope) -> Op:
        """An operator whose graphs are regions: their blocks are given the operands."""
        graphs = [value for _, value in node.inputs if isinstance(value, Graph)]
        flat: list[Value] = []
        segments: list[int] = []
        attributes: dict[str, Any] = {}
        for key, value in node.inputs:
            if isinstance(value, Graph) or value is OMITTED:
                continue
            parts = value if isinstance(value, list) else [value]
            if not isinstance(value, list) and not isinstance(value, Ref | Sym):
                if key and value is not None:
                    attributes[key] = value
                continue
            flat += [self.use(part, block, scope, name) for part in parts]
            segments.append(len(parts))
        attributes["segments"] = tuple(segments)
        return Op(name, flat, types, attributes, [self.region(graph, scope) for graph in graphs])

    def region(self, graph: Graph, outer: Scope) -> Region:
        """A graph as a region of one block."""
        scope = Scope(graph, outer)
        names = [given.name if isinstance(given, Ref) else None for given in graph.inputs]
        block = Block([self.type_of(scope, name) if name else TensorType((), I64) for name in names], names)
        for name, argument in zip(names, block.arguments, strict=True):
            if name is not None:
                self.define(name, argument, scope)
        self.nodes(block, scope)
        results = [each for output in graph.outputs for each in (output if isinstance(output, list) else [output])]
        block.append(Op("aten.Yield", [self.use(each, block, scope, "aten.Yield") for each in results]))
        return Region([block])


def _listed(values: list[Any]) -> Any:
    """A list as an attribute: of integers a tuple, of floats as MLIR has them, else as it is."""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return tuple(values)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return DenseArray(tuple(map(float, values)), F64)
    return values
