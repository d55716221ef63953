"""How many numbers a module computes: those of its values, and those on the way to them.

A maximum over windows of a million computes a million numbers for each that it gives, and a sum by a program of ten ops ten for
each that it reads. What an op is computed by, its dialect says (facts of kind `steps`): a file of a hundred bytes may ask for
work without end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from ..budget import VARIABLE, allowance
from ..errors import Finding, RunError
from ..ir import Dense, Module, Op, SplatData, TensorType, Value
from ..ir.build import constant_of
from ..plugin_host import host

__all__ = ["elements_of", "is_product", "need_few_steps", "over_windows", "products_of", "size_of", "weighted",
           "work_in"]

_PRODUCT = re.compile(r"conv(?!ert)|matmul|dot(?!e)|gemm|fully_connected|einsum", re.IGNORECASE)

_PRODUCTS_OF_STEP = 32
"""How many multiplications of a product take as long as a number of another op: products are numpy's."""


def elements_of(module: Module) -> int:
    """How many numbers all values of a module have together, with those that its ops compute on the way; each region is counted
    once, but for those that such an op runs for each step.

    Constants that are held already are left out. A splat is one number until it is computed with: a file
    of 464 bytes may have one of 4 GB.
    """
    return sum(max(_elements(op), _steps(op)) for op in module.ops())


def need_few_steps(module: Module) -> None:
    """Raise `RunError` where an op computes more on the way to its results than all values together may have, or multiplies more
    often than all ops together may where a model is verified.

    The values themselves are counted where a model is verified: who runs one knows of which sizes it is."""
    most = allowance()
    for op in module.ops():
        for count, allowed, how, name in (
                (_steps(op), most.elements, "compute {:,} numbers", "elements"),
                (products_of(op), most.products, "multiply {:,} times", "products")):
            if count > allowed:
                does = how.format(count)
                raise RunError(
                    f"to run the module would {does} for one op, and {allowed:,} are allowed",
                    [Finding(op.name, f"would {does}", (op.origin,) if op.origin else ())],
                    hint=f"{VARIABLE}={name}={count} allows that")


def size_of(value: Value) -> int:
    """How many numbers a value has; sizes that are not known count as 1."""
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.shape is None:
        return 0
    return math.prod(1 if size is None else size for size in type_.shape)


def over_windows(op: Op, sizes: Iterable[int], computes_padding: bool = False) -> int:
    """The steps of an op each of whose results is computed of a window of such sizes: of what its first operand has, or, where it
    `computes_padding`, of what stands beside that, too."""
    window = math.prod(sizes)
    return size_of(op.results[0]) * (window if computes_padding else min(window, size_of(op.operands[0])))


def is_product(name: str) -> bool:
    """Whether an op of this name is a convolution, a matrix product, or another one."""
    return _PRODUCT.search(name.partition(".")[2]) is not None


def products_of(op: Op) -> int:
    """The multiplications of an op: what its dialect says (facts of kind `products`), or those of a matrix product, where it has
    the name of one: of M*K by K*N, K is sqrt(MK * KN / MN)."""
    said = host().facts("products")[op.name]
    if said is not None and (count := int(said(op))):
        return count
    if not is_product(op.name) or not op.operands:
        return 0
    made = sum(map(size_of, op.results))
    sizes = [size for size in map(size_of, op.operands[:2]) if size]
    return made if len(sizes) < 2 or not made else int(made * max(1.0, math.sqrt(sizes[0] * sizes[1] / made)))


def work_in(op: Op) -> int:
    """What an op computes on the way to its results, in multiplications: in the time of another number there are many of them."""
    return products_of(op) + _PRODUCTS_OF_STEP * _steps(op)


def weighted(value: Value, weights: Value, channels: int) -> int:
    """The multiplications of an op that has each number of `value` multiplied by all `weights` of one channel, which is the
    dimension `channels` of these; 0 where their shape is not known."""
    shape = weights.shape_or_none
    return size_of(value) * (size_of(weights) // max(shape[channels] or 1, 1)) if shape else 0


def _elements(op: Op) -> int:
    return sum(size_of(value) for value in op.results
               if isinstance(value.type, TensorType) and value.type.is_static and not _held(constant_of(value)))


def _steps(op: Op) -> int:
    """The numbers that an op computes on the way; where its regions are run at each step, for each op in them."""
    steps = host().facts("steps")[op.name]
    if steps is None:
        return 0
    inner = sum(1 for region in op.regions for block in region.blocks for each in block for _ in each.walk())
    return int(steps(op)) * max(inner - len(op.regions), 1)


def _held(constant: Dense | None) -> bool:
    return constant is not None and not isinstance(constant.data, SplatData)
