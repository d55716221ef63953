"""Control flow: subgraphs that an operator runs become regions, or are put in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from transload.errors import ConversionError, Finding
from transload.ir import Block, Module, Op, Region, Value
from transload.ir.regions import functions_named
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.control import body_of, choose, loop, put_in_place, switch

__all__ = ["TABLE", "check_subgraphs", "entries", "subgraph_region"]

TABLE = RewriteTable()

_LIMIT = 1_000_000
"""How many operators a model may have once every subgraph stands where it is run."""


def entries(module: Module) -> list[Op]:
    """The functions that are models of their own: the main one, and those with a signature; operators run the others."""
    return [
        function for function in module.functions.values()
        if function.attributes.get("sym_visibility") != "private" or "tfl.signatures" in function.attributes]


def check_subgraphs(module: Module) -> bool:
    """Raise `ConversionError` where subgraphs run each other in a circle, or would grow beyond measure put in place."""
    _check_sizes(module.functions)
    return False


def _callees(function: Op) -> list[str]:
    """The functions that operators of a function run, as often as they do."""
    return [name for op in function.walk() for name in functions_named(op)]


def _check_sizes(functions: Mapping[str, Op]) -> None:
    """Raise where putting subgraphs in place would not end, or end in too many operators."""
    sizes: dict[str, int] = {}
    callees = {name: _callees(function) for name, function in functions.items()}
    pending = [(name, False) for name in functions]
    open_names: set[str] = set()
    while pending:
        name, done = pending.pop()
        if done:
            open_names.discard(name)
            own = sum(1 for _ in functions[name].walk())
            sizes[name] = own + sum(sizes[callee] for callee in callees[name])
            if sizes[name] > _LIMIT:
                raise ConversionError(
                    "the model's subgraphs cannot be put in place",
                    [Finding(f"subgraph {name}", f"with all that it runs it has {sizes[name]} operators; the limit is {_LIMIT}")])
        elif name not in sizes:
            if name in open_names:
                continue
            open_names.add(name)
            pending.append((name, True))
            for callee in callees[name]:
                if callee in open_names:
                    raise ConversionError(
                        "the model's subgraphs cannot be put in place",
                        [Finding(f"subgraph {callee}", f"it runs itself, through subgraph {name}")])
                if callee not in sizes:
                    pending.append((callee, False))


def subgraph_region(rw: Rewriter, symbol: str, end: str) -> Region:
    """A subgraph as it is, as a region with its inputs as arguments and its outputs given by an op named `end`."""
    given = _block(rw, symbol)
    block = Block([argument.type for argument in given.arguments])
    copies, results = body_of(rw, given, block.arguments, f"subgraph {symbol}")
    for copy in (*copies, Op(end, results)):
        block.append(copy)
    return Region([block])


def _block(rw: Rewriter, symbol: str) -> Block:
    return rw.function(symbol).regions[0].block


@TABLE("tfl.call", "tfl.stablehlo_composite")
def call(op: Op, rw: Rewriter) -> Sequence[Value]:
    """CALL, STABLEHLO_COMPOSITE: the subgraph stands in the operator's place."""
    symbol = op.attribute("subgraph" if op.name == "tfl.call" else "decomposition")
    return put_in_place(rw, _block(rw, symbol), op.operands, f"subgraph {symbol}", len(op.results))


@TABLE("tfl.if")
def if_(op: Op, rw: Rewriter) -> Sequence[Value]:
    """IF: one of two regions; where the condition is constant only the chosen subgraph is left, in its place."""
    blocks = _block(rw, op.attribute("then_branch")), _block(rw, op.attribute("else_branch"))
    return choose(op, rw, op.operands[0], blocks, op.operands[1:])


@TABLE("tfl.stablehlo_case")
def case(op: Op, rw: Rewriter) -> Sequence[Value]:
    """STABLEHLO_CASE: the subgraph of a number, the last for a number that there is none of."""
    return switch(op, rw, op.operands[0], [_block(rw, str(each)) for each in op.attribute("branches")], op.operands[1:])


@TABLE("tfl.while", "tfl.stablehlo_while")
def while_(op: Op, rw: Rewriter) -> Sequence[Value]:
    """WHILE, STABLEHLO_WHILE: two regions on the state, or the steps one after the other (`transload_hub.control.loop`)."""
    return loop(op, rw, _block(rw, op.attribute("cond")), _block(rw, op.attribute("body")))
