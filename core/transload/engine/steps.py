"""How many numbers a module computes: those of its values, and those on the way to them.

A maximum over windows of a million computes a million numbers for each that it gives, and a sum by a program of ten ops ten for
each that it reads. What an op is computed by, its dialect says (facts of kind `steps`): a file of a hundred bytes may ask for
work without end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..budget import VARIABLE, allowance
from ..errors import Finding, RunError
from ..ir import Dense, Module, Op, SplatData, TensorType, Value
from ..ir.build import constant_of
from ..plugin_host import host
from .work import is_product, products_by, size_of, steps_by

__all__ = ["elements_of", "is_product", "need_few_steps", "over_windows", "products_of", "size_of", "weighted"]


def elements_of(module: Module) -> int:
    """How many numbers all values of a module have together, with those that its ops compute on the way; each region is counted
    once, but for those that such an op runs for each step.

    Constants that are held already are left out. A splat is one number until it is computed with: a file
    of 464 bytes may have one of 4 GB.
    """
    return sum(max(_elements(op), steps_by(op, host().facts)) for op in module.ops())


_COUNTED = 10**80


def need_few_steps(module: Module) -> None:
    """Raise `RunError` where an op computes more on the way to its results than all values together may have, or multiplies more
    often than all ops together may where a model is verified.

    The values themselves are counted where a model is verified: who runs one knows of which sizes it is."""
    most = allowance()
    for op in module.ops():
        for count, allowed, how, name in (
                (steps_by(op, host().facts), most.elements, "compute {} numbers", "elements"),
                (products_of(op), most.products, "multiply {} times", "products")):
            if count > allowed:
                does = how.format(_counted(count))
                raise RunError(
                    f"to run the module would {does} for one op, and {allowed:,} are allowed",
                    [Finding(op.name, f"would {does}", (op.origin,) if op.origin else ())],
                    hint=f"{VARIABLE}={name}={count} allows that" if count < _COUNTED else "")


def _counted(count: int) -> str:
    """The number, also where it has so many digits that Python does not write them."""
    return f"{count:,}" if count < _COUNTED else "more than 10^80"


def over_windows(op: Op, sizes: Iterable[int], computes_padding: bool = False) -> int:
    """The steps of an op each of whose results is computed of a window of such sizes: of what its first operand has, or, where it
    `computes_padding`, of what stands beside that, too."""
    window = math.prod(sizes)
    return size_of(op.results[0]) * (window if computes_padding else min(window, size_of(op.operands[0])))


def products_of(op: Op) -> int:
    """The multiplications of an op."""
    return products_by(op, host().facts)


def weighted(value: Value, weights: Value, channels: int) -> int:
    """The multiplications of an op that has each number of `value` multiplied by all `weights` of one channel, which is the
    dimension `channels` of these; 0 where their shape is not known."""
    shape = weights.shape_or_none
    return size_of(value) * (size_of(weights) // max(shape[channels] or 1, 1)) if shape else 0


def _elements(op: Op) -> int:
    return sum(size_of(value) for value in op.results
               if isinstance(value.type, TensorType) and value.type.is_static and not _held(constant_of(value)))


def _held(constant: Dense | None) -> bool:
    return constant is not None and not isinstance(constant.data, SplatData)
