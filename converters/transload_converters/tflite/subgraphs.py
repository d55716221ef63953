"""Whether subgraphs take and give what the operators say that run them: a file that contradicts itself is not written.

LiteRT looks at the numbers of inputs and outputs before it runs a model; of subgraphs that run each other in a circle it takes
memory until its process ends.

Source: `tensorflow/lite/kernels/if.cc`, `while.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from transload.errors import Finding
from transload.ir import Module, Op
from transload.ir.regions import functions_named

__all__ = ["misfits"]


class _Run(NamedTuple):
    """That an operator runs the subgraph which an attribute names, with so many inputs, for so many outputs."""

    attribute: str
    inputs: int
    outputs: int


def misfits(module: Module) -> Iterator[Finding]:
    """What is wrong with the subgraphs that operators run: not there, of other numbers of inputs and outputs, in a circle."""
    functions = module.functions
    for op in module.ops():
        names = (op.origin,) if op.origin else ()
        missing = [name for name in functions_named(op) if name not in functions]
        for name in missing:
            yield Finding(op.name, f"runs the function {name!r}, which the module does not have", names)
        for run in () if missing else _runs(op):
            block = functions[str(op.attributes.get(run.attribute))].regions[0].block
            counts = len(block.arguments), len(block.terminator.operands)
            if counts != (run.inputs, run.outputs):
                yield Finding(
                    op.name, f"its {run.attribute} takes {counts[0]} tensors and gives {counts[1]}, where it is to take "
                    f"{run.inputs} and give {run.outputs}", names)
    yield from _circles(functions)


def _runs(op: Op) -> list[_Run]:
    taken, given = len(op.operands), len(op.results)
    if op.name == "tfl.if":
        return [_Run(branch, taken - 1, given) for branch in ("then_branch", "else_branch")]
    if op.name == "tfl.while":
        return [_Run("cond", taken, 1), _Run("body", taken, taken), _Run("body", given, given)]
    return [_Run("subgraph", taken, given)] if op.name == "tfl.call" else []


def _circles(functions: Mapping[str, Op]) -> Iterator[Finding]:
    """Functions that run themselves, each circle once."""
    runs = {name: [callee for op in function.walk() for callee in functions_named(op)] for name, function in functions.items()}
    done: set[str] = set()
    for start in functions:
        way: list[str] = []
        pending: list[tuple[str, bool]] = [(start, False)]
        while pending:
            name, left = pending.pop()
            if left:
                done.add(way.pop())
            elif name in way:
                yield Finding(f"function {name!r}", f"runs itself, through {way[-1]!r}", (), "LiteRT knows no recursion")
            elif name not in done and name in functions:
                way.append(name)
                pending += [(name, True), *((callee, False) for callee in runs[name])]
