"""Which tensor of a checkpoint each variable of a graph is restored from.

A saver is a part of the graph: RestoreV2 reads tensors by name, and Assign or AssignVariableOp gives them to variables. So the
graph is asked, not a naming scheme: SavedModels of TensorFlow 1, where the saver's nodes stand beside the others, and those of
TensorFlow 2, where they are a function that is given the variables, are read alike. Variables that no saver reaches have the
tensors that the objects of a SavedModel say (`objects`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from transload.errors import ReadError

from .checkpoint import Part
from .nodes import VARIABLES, Edge, Graph, arguments_of, function_of
from .tensors import Contents, Strings

__all__ = ["Restored", "restored"]

_ASSIGNS = frozenset({"Assign", "AssignVariableOp"})
_HAND_ON = frozenset({"Identity", "Cast", "Reshape"})
_PART = re.compile(r"(?:\d+ )+([\d,:-]+)")
_DEEPEST = 64
_MOST_CALLS = 1_000
"""Calls that are followed; a saver is one, or a few. Functions that call each other twice would be without end."""


class Restored(NamedTuple):
    """A tensor of a checkpoint, or a part of one."""

    name: str
    part: Part | None


def restored(graph: Graph, functions: Mapping[str, Any], restore: str, contents: Contents) -> dict[str, Restored]:
    """What each variable is restored from, by the name of its node, when the node `restore` is run.

    functions: the `FunctionDef`s of the library by name.
    """
    finder = _Finder(functions, contents)
    return dict(finder.assigned(graph, graph.needed([restore]), {}, 0))


class _Finder:
    def __init__(self, functions: Mapping[str, Any], contents: Contents) -> None:
        self.functions = functions
        self.contents = contents
        self.followed: set[tuple[str, frozenset[tuple[Edge, str]]]] = set()
        """The functions that were looked into, with the variables that they were given."""

    def assigned(
        self, graph: Graph, names: set[str], given: Mapping[Edge, str], depth: int,
    ) -> Iterator[tuple[str, Restored]]:
        """The variables that nodes of a graph assign what they restore. `given` says of arguments which variables they are."""
        for name in names:
            node = graph.nodes[name]
            if node.op in _ASSIGNS and len(node.inputs) == 2:
                variable = self._variable(graph, node.inputs[0], given)
                source = self._source(graph, node.inputs[1])
                if variable is not None and source is not None:
                    yield variable, source
                continue
            called = self.functions.get(node.op) or self.functions.get(function_of(node))
            if called is not None and depth < _DEEPEST and len(self.followed) < _MOST_CALLS:
                arguments = arguments_of(called)
                flat = [(argument, index) for argument, elements in arguments.items() for index in range(len(elements))]
                inner = Graph(called.node_def, graph.problems, graph.functions, arguments)
                handles = {
                    edge: variable for edge, given_edge in zip(flat, node.inputs, strict=False)
                    if (variable := self._variable(graph, given_edge, given)) is not None}
                call = called.signature.name, frozenset(handles.items())
                if call not in self.followed:
                    self.followed.add(call)
                    yield from self.assigned(inner, set(inner.nodes), handles, depth + 1)

    def _variable(self, graph: Graph, edge: Edge, given: Mapping[Edge, str]) -> str | None:
        """The variable that a value refers to."""
        node = graph.nodes.get(edge[0])
        for _ in range(len(graph.nodes) + 1):
            if node is None:
                return given.get(edge)
            if node.op in VARIABLES:
                return node.name
            if node.op not in _HAND_ON or not node.inputs:
                return None
            edge = node.inputs[0]
            node = graph.nodes.get(edge[0])
        return None

    def _source(self, graph: Graph, edge: Edge) -> Restored | None:
        """The tensor of the checkpoint that a value is."""
        for _ in range(len(graph.nodes)):
            node = graph.nodes.get(edge[0])
            if node is None or not node.inputs:
                return None
            if node.op == "RestoreV2" and len(node.inputs) == 3:
                names, slices = (self._texts(graph, each) for each in node.inputs[1:])
                if edge[1] >= len(names) or edge[1] >= len(slices):
                    return None
                return Restored(names[edge[1]], part_of(slices[edge[1]]))
            if node.op not in _HAND_ON:
                return None
            edge = node.inputs[0]
        return None

    def _texts(self, graph: Graph, edge: Edge) -> list[str]:
        node = graph.nodes.get(edge[0])
        if node is None or node.op != "Const" or "value" not in node.attributes:
            return []
        value = self.contents.read(node.attributes["value"].tensor, node.name)
        return value if isinstance(value, Strings) else []


def part_of(text: str) -> Part | None:
    """The part of a tensor that RestoreV2 is told: `10 20 0,5:-`, the whole shape and each extent; None: all of it."""
    if not text:
        return None
    found = _PART.fullmatch(text)
    if found is None:
        raise ReadError(f"a saver restores the part {text[:40]!r} of a tensor, which is none")
    extents = [each.partition(",") for each in found[1].split(":")]
    return tuple((0, None) if start == "-" else (int(start), int(length)) for start, _, length in extents)
