"""Programs in which fusing elementwise ops would grow without bound.

XLA computes a value anew in every loop that it fuses it into. In a long chain whose values are used more than once, as in
the unrolled steps of a recurrent network of integers, that doubles again and again: loops of thousands of ops, minutes to
compile. Such programs are compiled without fusion.
"""

from __future__ import annotations

from typing import Any

from transload.ir import Op, Value

__all__ = ["options_for"]

MOST_OPS = 10**12
"""How many ops, each counted as often as it would be computed, one value may take.

XLA ends most chains long before that. Convolutional networks, whose sums over a kernel's places multiply, stay below 10^9;
unrolled recurrent networks of integers reach 10^20, and those it does not end.
"""
_IN_MEMORY = frozenset(
    f"stablehlo.{name}"
    for name in (
        "case", "constant", "convolution", "custom_call", "dot_general", "fft", "if", "reduce", "reduce_window",
        "rng_bit_generator", "scatter", "select_and_scatter", "sort", "while", "cholesky", "triangular_solve",
        "get_tuple_element", "tuple",
    )
)
"""Ops whose results go to memory, where a chain begins anew."""


def options_for(main: Op) -> dict[str, Any]:
    """Options to compile a function's program with, beside those for all."""
    ops: dict[Value, int] = {}
    for op in main.regions[0].block:
        if op.name in _IN_MEMORY or op.regions or len(op.results) != 1:
            continue
        count = 1 + sum(ops.get(operand, 0) for operand in op.operands)
        if count > MOST_OPS:
            return {"xla_disable_hlo_passes": "fusion"}
        ops[op.results[0]] = count
    return {}
