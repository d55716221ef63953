"""What each operation of a tensor processor computes: pure functions of numpy arrays, on integers and on floats, to the last bit.

    OPERATIONS["tpu.conv2d"](x, weights, bias, multiplier, shift, dtype="int8", strides=(2, 2), input_zero=-128, ...)

One function is the meaning of an operation everywhere: the kernels of dialect `tpu` call it with whole tensors, the simulator
with slices of them, with the padding that is a slice's own. So what it gives for an element must not depend on what else it is
given:

- integer sums are exact, whatever their order;
- float sums are taken in float32 one term after the other, in the order of the operands' elements (`sums.in_order`), so that a
  slice and the whole round alike. Operands and results of 16 bits are widened and rounded once.

`dtype` is the element type of the result, by its name; every function takes it. Absent operands are None.
A plugin adds operations as facts of kind "operation": `Facts("operation", "acme", {"acme.sharpen": function})`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from transload.errors import UsageError
from transload.facts import FactTable
from transload.plugin_host import host

from . import conversion, elementwise, functions, movement, pooling, products, resizing, rows, tables

__all__ = ["OPERATIONS", "operation"]


def _table(*modules: Any) -> FactTable:
    table = FactTable("tpu")
    for module in modules:
        for name in module.OPERATIONS:
            table.add(getattr(module, name), name)
    return table


OPERATIONS: FactTable = _table(conversion, elementwise, functions, movement, pooling, products, resizing, rows, tables)
"""The functions by the names of `tpu` ops."""


def operation(name: str) -> Callable[..., Any]:
    """The function that computes an operation, by the name of its op: of `tpu` where it says no dialect.

    Raises `UsageError` where nobody registered one.
    """
    full = name if "." in name else f"tpu.{name}"
    found: Callable[..., Any] | None = host().facts("operation")[full]
    if found is None:
        raise UsageError(f"no operation {full!r} is known", hint=f"known: {', '.join(_names())}; a plugin adds one as a fact")
    return found


def _names() -> Iterable[str]:
    return sorted(name.partition(".")[2] for name in OPERATIONS)
