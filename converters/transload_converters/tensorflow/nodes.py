"""A graph's nodes: what each one takes and gives, which of them are needed, and in which order they can run.

An input of a node is `name`, `name:2` or, in the body of a function, `name:output:2`; `^name` is a control edge.
Source: tensorflow/core/framework/node_def.proto, function.proto.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transload.errors import Finding, ReadError, merge_findings
from transload.ir import Type

from . import opdefs
from .opdefs import Argument, AttributeDef, OpDef
from .types import UNKNOWN, element_named, element_of, name_of, reference_of

__all__ = [
    "BACK_EDGE", "CONTROL_FLOW", "VARIABLES", "Edge", "Graph", "Node", "Problems", "arguments_of", "function_of", "op_def_of"]

Edge = tuple[str, int]
"""One result of a node: the node's name and the number of the result."""

BACK_EDGE = frozenset({"NextIteration", "RefNextIteration"})
"""What hands a value to the next iteration of a loop: the only edges against the order."""
CONTROL_FLOW = frozenset({
    *BACK_EDGE, "Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit", "LoopCond",
    "ControlTrigger"})
"""Ops that the executor treats apart: dialect `tf_executor`."""
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
"""Ops that are variables: of TensorFlow 2, and, the last two, of TensorFlow 1."""


class Problems(list[Finding]):
    """What is wrong with one file. `refuse` raises it all."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.file = name

    def add(self, what: str, why: str, name: str = "") -> None:
        """A finding about an op or a part of the file, by the name of the node."""
        self.append(Finding(what, why, (name,) if name else ()))

    def refuse(self) -> None:
        """Raise `ReadError` with all that was found, if anything was."""
        if self:
            raise ReadError(
                f"{self.file}: the graph is not valid", merge_findings(self), "the file is damaged, or no graph of TensorFlow")


@dataclass(eq=False)
class Node:
    """A node: where its data comes from, after which nodes it runs, and the element types of what it gives."""

    name: str
    op: str
    inputs: list[Edge]
    control: list[str]
    attributes: Mapping[str, Any]
    """`AttrValue`s by name."""
    elements: list[Type] = field(default_factory=list)
    definition: OpDef | None = None

    @property
    def before(self) -> Iterator[str]:
        """The nodes that this one needs."""
        yield from (name for name, _ in self.inputs)
        yield from self.control


def function_of(node: Node) -> str:
    """The function that a node calls by its attribute `f`; '' where it has none."""
    return node.attributes["f"].func.name if "f" in node.attributes else ""


def op_def_of(proto: Any) -> OpDef:
    """The `OpDef` message of a function's signature, in the form of TensorFlow's own ops."""
    def argument(entry: Any) -> Argument:
        return Argument(entry.name, name_of(entry.type), entry.type_attr, entry.number_attr, entry.type_list_attr, entry.is_ref)

    attributes = {entry.name: AttributeDef(entry.name, entry.type) for entry in proto.attr}
    return OpDef(
        proto.name, tuple(map(argument, proto.input_arg)), tuple(map(argument, proto.output_arg)), attributes, proto.is_stateful)


def arguments_of(function: Any) -> dict[str, list[Type]]:
    """The element types of a `FunctionDef`'s arguments, by name. One may be several values."""
    found: dict[str, list[Type]] = {}
    for argument in op_def_of(function.signature).inputs:
        elements = [element_named(argument.type)] if argument.type else [UNKNOWN]
        found[argument.name] = [reference_of(element) for element in elements] if argument.is_ref else elements
    return found


class Graph:
    """The nodes of a graph, or of a function's body, by name, in the file's order.

    `functions` are the signatures of the library, which nodes can name as their op; `arguments` what a function's body takes
    from outside: element types by name. Problems are collected; whoever makes a graph says when to `refuse`.
    """

    def __init__(
        self, protos: Iterable[Any], problems: Problems, functions: Mapping[str, OpDef],
        arguments: Mapping[str, Sequence[Type]] | None = None,
    ) -> None:
        self.problems = problems
        self.functions = functions
        self.arguments = arguments or {}
        self.nodes: dict[str, Node] = {}
        protos = list(protos)
        for proto in protos:
            self._enter(proto)
        self._count_unknown(protos)
        for proto in protos:
            self._connect(proto, self.nodes.get(proto.name))

    # --- nodes and edges

    def _enter(self, proto: Any) -> None:
        if not proto.name:
            self.problems.add(f"a node of op {proto.op!r}", "has no name")
        elif proto.name in self.nodes or proto.name in self.arguments:
            self.problems.add(proto.op, "has the name of another node: every node has its own", proto.name)
        else:
            definition = opdefs.definition(proto.op) or self.functions.get(proto.op)
            node = Node(proto.name, proto.op, [], [], proto.attr, [], definition)
            node.elements = self._elements(node)
            self.nodes[node.name] = node

    def _elements(self, node: Node) -> list[Type]:
        """The element types of a node's results."""
        if node.definition is None:
            return []
        return [element for output in node.definition.outputs for element in self._argument(node, output)]

    def _argument(self, node: Node, argument: Argument) -> list[Type]:
        """The element types of one output, of which there may be several of one name."""
        if argument.type_list_attr:
            elements = [self._element(node, number) for number in node.attributes[argument.type_list_attr].list.type] \
                if argument.type_list_attr in node.attributes else []
        else:
            element = element_named(argument.type) if argument.type else self._named(node, argument.type_attr)
            elements = [element] * self._count(node, argument.number_attr)
        return [reference_of(element) for element in elements] if argument.is_ref else elements

    def _named(self, node: Node, key: str) -> Type:
        """The type that an attribute of a node says."""
        if key in node.attributes:
            return self._element(node, node.attributes[key].type)
        known = node.definition.attributes.get(key) if node.definition is not None else None
        if known is None or not known.has_default:
            self.problems.add(node.op, f"does not say its type {key}", node.name)
            return UNKNOWN
        return element_named(known.default)

    def _element(self, node: Node, number: int) -> Type:
        element = element_of(number)
        if element is None:
            self.problems.add(node.op, f"has type number {number}, which does not exist", node.name)
        return element or UNKNOWN

    def _count(self, node: Node, key: str) -> int:
        if not key:
            return 1
        count = node.attributes[key].i if key in node.attributes else 0
        if not 0 <= count <= 1 << 16:
            self.problems.add(node.op, f"says that it has {count:,} outputs", node.name)
            return 0
        return int(count)

    def _count_unknown(self, protos: Iterable[Any]) -> None:
        """Give ops that only the model knows as many results as are used, of the type that its one attribute `T` says."""
        for proto in protos:
            for text in proto.input:
                name, index = self._plain(text)
                node = self.nodes.get(name)
                if node is not None and node.definition is None and not text.startswith("^") and 0 <= index < 1 << 10:
                    element = element_of(node.attributes["T"].type) if "T" in node.attributes else None
                    node.elements += [element or UNKNOWN] * (index + 1 - len(node.elements))
        for node in self.nodes.values():
            if node.definition is None and not node.elements:
                node.elements = [UNKNOWN]

    def _connect(self, proto: Any, node: Node | None) -> None:
        if node is None:
            return
        for text in proto.input:
            if text.startswith("^"):
                if text[1:] in self.nodes:
                    node.control.append(text[1:])
                elif text[1:] not in self.arguments:
                    self.problems.add(node.op, f"runs after {text[1:]!r}, which is no node of the graph", node.name)
                continue
            edge = self.edge(text)
            if edge is None:
                self.problems.add(node.op, f"uses {text!r}, which nothing computes", node.name)
            elif node.control:
                self.problems.add(node.op, "has an input behind its control edges", node.name)
            else:
                node.inputs.append(edge)

    def edge(self, text: str) -> Edge | None:
        """The result that an input names; None where there is none such."""
        name, index = self._plain(text)
        elements = self.nodes[name].elements if name in self.nodes else self.arguments.get(name, ())
        return (name, index) if 0 <= index < len(elements) else None

    def _plain(self, text: str) -> Edge:
        """`name:2` and `name:output:2` as the name and the number among all results; -1 for what is not so."""
        name, *rest = text.split(":")
        if not rest:
            return name, 0
        if not rest[-1].isdecimal() or len(rest[-1]) > 9 or len(rest) > 2:
            return name, -1
        number = int(rest[-1])
        if len(rest) == 1:
            return name, number
        node = self.nodes.get(name)
        if node is None or node.definition is None:
            return name, number
        start = 0
        for output in node.definition.outputs:
            if output.name == rest[0]:
                return name, start + number
            start += len(self._argument(node, output))
        return name, -1

    # --- what is needed, and in which order

    def needed(self, roots: Iterable[str], fed: Container[Edge] = ()) -> set[str]:
        """The nodes that must run for some of them to be computed, control edges included, where the results `fed` are given.

        A node of which all results are given need not run.
        """
        found: set[str] = set()
        pending = [name for name in roots if name in self.nodes]
        while pending:
            name = pending.pop()
            node = self.nodes.get(name)
            if node is None or name in found or self.is_fed(node, fed):
                continue
            found.add(name)
            pending += (edge[0] for edge in node.inputs if edge not in fed)
            pending += node.control
        return found

    @staticmethod
    def is_fed(node: Node, fed: Container[Edge]) -> bool:
        """Whether all results of a node are given."""
        return bool(node.elements) and all((node.name, index) in fed for index in range(len(node.elements)))

    def ordered(self, wanted: Container[str]) -> list[Node]:
        """Nodes so that what one needs comes before it; where the file has them so, in its order. Loops go round by a
        NextIteration alone: any other cycle is a problem, and is raised. What is not `wanted` need not come."""
        ordered: list[Node] = []
        done: dict[str, bool] = {}  # False: waits for what it needs
        for first in self.nodes:
            if first not in wanted or first in done:
                continue
            done[first] = False
            stack = [(self.nodes[first], self._earlier(self.nodes[first], wanted))]
            while stack:
                node, before = stack[-1]
                for name in before:
                    if done.get(name) is False:
                        self.problems.add(node.op, "has a cycle: it is computed from itself, and by no loop", node.name)
                        self.problems.refuse()
                    if name not in done:
                        done[name] = False
                        stack.append((self.nodes[name], self._earlier(self.nodes[name], wanted)))
                        break
                else:
                    done[node.name] = True
                    ordered.append(node)
                    stack.pop()
        return ordered

    def _earlier(self, node: Node, wanted: Container[str]) -> Iterator[str]:
        """What of the wanted nodes has to come before a node: all that it needs but for back edges."""
        is_merge = node.op in ("Merge", "RefMerge")
        return (name for name in node.before if name in wanted and not (is_merge and self.nodes[name].op in BACK_EDGE))

    def uses(self) -> dict[str, list[Node]]:
        """By node, those that use it, by data or control."""
        found: dict[str, list[Node]] = {name: [] for name in self.nodes}
        for node in self.nodes.values():
            for name in dict.fromkeys(node.before):
                if name in found:
                    found[name].append(node)
        return found
