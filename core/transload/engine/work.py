"""How much an op computes, by what its dialect says of it: of facts that are given, for who folds constants has no others."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from ..ir import Op, TensorType, Value

__all__ = ["FactsOf", "is_product", "products_by", "size_of", "steps_by", "work_by"]

FactsOf = Callable[[str], Any]
"""From a kind to its facts by op name: `transload.plugin_host.Host.facts`."""
_PRODUCT = re.compile(r"conv(?!ert)|matmul|dot(?!e)|gemm|fully_connected|einsum", re.IGNORECASE)
_PRODUCTS_OF_STEP = 32
"""How many multiplications of a product take as long as a number of another op: products are numpy's."""


def size_of(value: Value) -> int:
    """How many numbers a value has; sizes that are not known count as 1."""
    type_ = value.type
    if not isinstance(type_, TensorType) or type_.shape is None:
        return 0
    return math.prod(1 if size is None else size for size in type_.shape)


def is_product(name: str) -> bool:
    """Whether an op of this name is a convolution, a matrix product, or another one."""
    return _PRODUCT.search(name.partition(".")[2]) is not None


def products_by(op: Op, facts: FactsOf) -> int:
    """The multiplications of an op: what its dialect says (facts of kind `products`), or those of a matrix product, where it has
    the name of one: of M*K by K*N, K is sqrt(MK * KN / MN)."""
    said = facts("products")[op.name]
    if said is not None and (count := int(said(op))):
        return count
    if not is_product(op.name) or not op.operands:
        return 0
    made = sum(map(size_of, op.results))
    sizes = [size for size in map(size_of, op.operands[:2]) if size]
    return made if len(sizes) < 2 or not made else int(made * max(1.0, math.sqrt(sizes[0] * sizes[1] / made)))


def steps_by(op: Op, facts: FactsOf) -> int:
    """The numbers that an op computes on the way; where its regions are run at each step, for each op in them."""
    steps = facts("steps")[op.name]
    if steps is None:
        return 0
    inner = sum(1 for region in op.regions for block in region.blocks for each in block for _ in each.walk())
    return int(steps(op)) * max(inner - len(op.regions), 1)


def work_by(op: Op, facts: FactsOf) -> int:
    """What an op computes on the way to its results, in multiplications: in the time of another number there are many of them."""
    return products_by(op, facts) + _PRODUCTS_OF_STEP * steps_by(op, facts)
