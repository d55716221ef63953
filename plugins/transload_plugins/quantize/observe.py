"""What is observed of a float module while samples run through it: the tensors that may be quantized, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from transload.ir import BF16, F16, F32, F64, Module, Value
from transload.ir.build import constant_of

__all__ = ["can_be_quantized", "observed"]


def can_be_quantized(value: Value) -> bool:
    """Whether integers may hold a tensor: one of floats of known sizes, of 16 bits or more: floats of 8 or 4 bits are stored as
    small as that already, and nothing computes with them."""
    return value.is_static and value.element in (F32, F16, BF16, F64)


def observed(module: Module) -> dict[str, Value]:
    """The float tensors of the main function that are computed or given and that can be quantized, by name, in order.

    Names are those of the model's tensors; one that occurs again gets a number behind it. What has no name, within what an op
    of several results became, has the first of these with a number.
    """
    named: dict[str, Value] = {}
    numbers: Counter[str] = Counter()  # of thousands of tensors without a name each looks at one number, not at all before it
    for value in _tensors(module):
        name = stem = value.name or _origin(value) or "tensor"
        while name in named or (value.name is None and name == _origin(value)):
            numbers[stem] += 1
            name = f"{stem}#{numbers[stem]}"
        named[name] = value
    return named


def _origin(value: Value) -> str | None:
    """The name of the tensor that what makes a value was made for."""
    return value.op.origin if value.op is not None else None


def _tensors(module: Module) -> Iterator[Value]:
    block = module.body_of_main
    for value in (*block.arguments, *(result for op in block for result in op.results)):
        if can_be_quantized(value) and constant_of(value) is None:
            yield value
