"""What TensorFlow is given of a file that it judges: nodes that compute, and what they need. A file may not have it do more.

A graph can write files, print into them and run what is not its own: it is enough that what is computed runs after that. So ops
are allowed by name, those that the reader knows and that the registry says have no effects, and those of variables, control flow
and numbers drawn at random. What only training needs is left out here as it is in a conversion; anything else is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from transload.errors import RunError

from . import opdefs
from .dialect import listed
from .nodes import CONTROL_FLOW, VARIABLES, Edge, Graph, Problems, op_def_of
from .passes.training import is_for_training
from .types import number_of

__all__ = ["computes", "keep_computing"]

_OUTSIDE = frozenset({
    "Copy", "CopyHost", "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "ReadFile"})
"""Ops that the reader knows, and that read or write files: those of debugging send what passes to where they are told."""
_STATES = frozenset({
    *CONTROL_FLOW, *VARIABLES,
    "Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp", "AssignVariableOp", "DestroyResourceOp",
    "DisableCopyOnRead", "IsVariableInitialized", "ReadVariableOp", "VarIsInitializedOp", "VariableShape",
    *(f"ResourceScatter{way}{word}" for way in ("", "Nd") for word in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")),
    "ResourceGather", "HashTable", "HashTableV2", "InitializeTable", "InitializeTableV2", "LookupTableFind", "LookupTableFindV2",
    "LookupTableImport", "LookupTableImportV2", "LookupTableSize", "LookupTableSizeV2",
    "Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf", "StatelessWhile", "While",
    "TensorArrayCloseV3", "TensorArrayConcatV3", "TensorArrayGatherV3", "TensorArrayReadV3", "TensorArrayScatterV3",
    "TensorArraySizeV3", "TensorArraySplitV3", "TensorArrayV3", "TensorArrayWriteV3",
    "Multinomial", "ParameterizedTruncatedNormal", "RandomGamma", "RandomPoissonV2", "RandomShuffle", "RandomStandardNormal",
    "RandomUniform", "RandomUniformInt", "StatelessRandomGetAlg", "TruncatedNormal",
    "Assert", "CheckNumerics", "CheckNumericsV2", "CudnnRNN", "CudnnRNNV2", "CudnnRNNV3", "DeepCopy", "Empty", "GuaranteeConst",
    "NoOp", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Print"})
"""Ops that the registry calls stateful, and whose states are the session's own, or that say what they meet and no more; and ops
of graphs that are none of a network."""
_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
_RESTORES = frozenset({"RestoreV2"})
"""What reads a checkpoint: allowed where variables get their values, and there alone."""


@cache
def computes(op: str) -> bool:
    """Whether an op of TensorFlow's registry does no more than compute."""
    definition = opdefs.definition(op)
    if definition is None or op in _OUTSIDE:
        return False
    return op in _STATES or (not definition.stateful and op in listed())


def keep_computing(
    graph_def: Any, given: Iterable[str], asked: Iterable[str], restores: Iterable[str] = (),
) -> dict[str, str]:
    """Leave of a graph what gives the tensors and nodes `asked` where the tensors `given` are there, and the nodes by which it
    `restores` variables from a checkpoint. Gives what the tensors that are given are called now.

    Raises `RunError` where any of it would do more than compute.
    """
    library = {function.signature.name: function for function in graph_def.library.function}
    _leave_training_out(graph_def.node, [name for name in asked if ":" in name])
    for function in library.values():
        _leave_training_out(function.node_def, function.ret.values())
    graph = Graph(graph_def.node, Problems(""), {name: op_def_of(function.signature) for name, function in library.items()})
    nodes = {node.name: node for node in graph_def.node}
    edges = {name: edge for name in given if (edge := graph.edge(name)) is not None}
    fed, functions, kept = frozenset(edges.values()), set[str](), set[str]()
    for names, more in ((asked, frozenset[str]()), (restores, _RESTORES)):
        needed = graph.needed([_node(name) for name in names], fed)
        functions |= _checked([nodes[name] for name in needed], library, more)
        kept |= needed
    renamed = _as_placeholders(graph_def, graph, nodes, kept, edges.values())
    kept.update(renamed.values())
    _keep(graph_def.node, lambda node: node.name in kept)
    _keep(graph_def.library.function, lambda function: function.signature.name in functions)
    for node in graph_def.node:
        if "_class" in node.attr:  # beside which other node it is placed, which may be gone
            del node.attr["_class"]
    return {name: f"{renamed[edge]}:0" for name, edge in edges.items()}


def _as_placeholders(
    graph_def: Any, graph: Graph, nodes: Mapping[str, Any], kept: set[str], fed: Iterable[Edge],
) -> dict[Edge, str]:
    """Put a placeholder in the place of each result that is given, and say what it is called: the same, where it was one."""
    renamed = {}
    for number, edge in enumerate(dict.fromkeys(fed)):
        node = nodes[edge[0]]
        if node.op in _PLACEHOLDERS:
            node.op = "Placeholder"
            del node.input[:]
            renamed[edge] = node.name
            continue
        while (name := f"given_{number}") in nodes:
            number += len(nodes)
        made = graph_def.node.add(name=name, op="Placeholder")
        made.attr["dtype"].type = number_of(graph.nodes[edge[0]].elements[edge[1]])
        renamed[edge] = name
    for name in kept:
        texts = nodes[name].input
        for place, text in enumerate(texts):
            found = None if text.startswith("^") else graph.edge(text)
            if found in renamed:
                texts[place] = renamed[found]
    return renamed


def _checked(nodes: Iterable[Any], library: Mapping[str, Any], more: frozenset[str]) -> set[str]:
    """The functions that nodes call, and those that these call. Raises `RunError` for what does more than compute, but for ops
    that are allowed `more`."""
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        called = {name for name in (node.op, *_functions_in(node.attr.values())) if name in library}
        if node.op not in called and node.op not in more and not computes(node.op):
            raise RunError(f"node {node.name!r} is {node.op}, which may do more than compute")
        for name in called - found:
            found.add(name)
            pending += library[name].node_def
    return found


def _functions_in(values: Iterable[Any]) -> Iterator[str]:
    """The functions that attributes name."""
    for value in values:
        for function in (value.func, *value.list.func):
            if function.name:
                yield function.name
                yield from _functions_in(function.attr.values())


def _leave_training_out(nodes: Iterable[Any], ends: Iterable[str]) -> None:
    """Have nodes do nothing that only training needs, behind what they were behind, where nobody uses what they give."""
    byname = {node.name: node for node in nodes}
    uses = Counter(_node(text) for node in byname.values() for text in node.input if not text.startswith("^"))
    uses.update(_node(text) for text in ends if not text.startswith("^"))
    pending = list(byname.values())
    while pending:
        node = pending.pop()
        if not is_for_training(node.op) or computes(node.op) or uses[node.name]:
            continue
        before = list(node.input)
        uses.subtract(_node(text) for text in before if not text.startswith("^"))
        pending += [byname[_node(text)] for text in before if _node(text) in byname]
        node.op = "NoOp"
        node.attr.clear()
        del node.input[:]
        node.input.extend(dict.fromkeys(f"^{_node(text)}" for text in before))


def _keep(entries: Any, wanted: Callable[[Any], bool]) -> None:
    kept = [entry for entry in entries if wanted(entry)]
    if len(kept) < len(entries):
        copies = [type(entry).FromString(entry.SerializeToString()) for entry in kept]
        del entries[:]
        entries.extend(copies)


def _node(text: str) -> str:
    return text.removeprefix("^").partition(":")[0]
