"""The functions of a graph: those that are used become private functions of the module, one op a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from transload.ir import Module, Op, Symbol, set_results

from .graph import Importer, result_name
from .nodes import Edge, Graph, arguments_of
from .opdefs import OpDef
from .types import tensor_of

__all__ = ["import_functions"]


def import_functions(
    module: Module, importer: Importer, functions: Mapping[str, Any], signatures: Mapping[str, OpDef],
) -> None:
    """Add the functions that a module's ops name, and those that these name, to it.

    functions: `FunctionDef`s by name; signatures: the same functions as ops.
    """
    pending = list(dict.fromkeys(_named(module.ops())))
    known = set(module.functions)
    while pending:
        name = pending.pop()
        if name in known:
            continue
        known.add(name)
        if name not in functions:
            importer.problems.add(f"function {name!r}", "is used, and is not in the graph's library")
            continue
        pending += _named(_import(module, importer, functions[name], signatures).walk())


def _import(module: Module, importer: Importer, function: Any, signatures: Mapping[str, OpDef]) -> Op:
    problems = importer.problems
    name, arguments = function.signature.name, arguments_of(function)
    edges = [(argument, index) for argument, elements in arguments.items() for index in range(len(elements))]
    graph = Graph(function.node_def, problems, signatures, arguments)
    problems.refuse()
    made = module.add_function(
        name, [tensor_of(arguments[argument][index]) for argument, index in edges], [result_name(edge) for edge in edges])
    made.attributes["sym_visibility"] = "private"
    block = made.regions[0].block
    values = dict(zip(edges, block.arguments, strict=True))
    results = list(_results(function, graph))
    roots = [edge[0] for edge in results] + list(function.control_ret.values())
    stateful = [node.name for node in graph.nodes.values() if node.definition is not None and node.definition.stateful]
    importer.nodes(graph.ordered(graph.needed([*roots, *stateful])), block, values, graph)
    set_results(made, [values[edge] for edge in results])
    return made


def _results(function: Any, graph: Graph) -> Iterator[Edge]:
    """What a function returns, in the order of its signature."""
    for output in function.signature.output_arg:
        edge = graph.edge(function.ret.get(output.name, ""))
        if edge is None:
            graph.problems.add(
                f"function {function.signature.name!r}", f"returns {output.name!r}, which nothing in it computes")
            graph.problems.refuse()
        else:
            yield edge


def _named(ops: Iterable[Op]) -> Iterator[str]:
    """The functions that ops name in their attributes."""
    for op in ops:
        for value in op.attributes.values():
            yield from (str(item) for item in (value if isinstance(value, list) else (value,)) if isinstance(item, Symbol))
