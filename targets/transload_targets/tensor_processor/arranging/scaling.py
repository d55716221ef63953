"""What floats are multiplied by, with the op before or after: sums of products, and casts.

A network that quantizes its activations as it runs multiplies them by what makes the greatest of them a full integer, and sums of
products by what that was worth. Each is an op that reads and writes all of a tensor, where the sum or the cast does it as well.
"""

from __future__ import annotations

from math import prod

import numpy as np

from transload.ir import F32, Block, Op, Value, is_absent
from transload.ir.build import Builder, constant_of

from ..chip import Chip
from ..shapes import local_shape
from .values import one_number

__all__ = ["scale_sums", "spread_at_once"]

SUMS = ("tpu.conv2d", "tpu.matmul")


def scale_sums(block: Block, chip: Chip) -> bool:
    """Let sums of products be multiplied where they are made, and what is added to that be their bias."""
    changed = False
    for op in list(block):
        found = _scaled(op) if op.results and op.results[0].uses else None
        if found is None:
            continue
        maker, factor = found
        adding, bias = _added(op)
        last = adding or op
        bounds = {name: last.attribute(name) for name in ("low", "high")}
        build = Builder(block, op, op.location)
        given = None if bias is None else build.constant(np.broadcast_to(bias, (_channels(op.results[0]),)).copy())
        made = build.emit(maker.name, *maker.operands[:2], given, factor, element=op.results[0].element,
                          **{**maker.attributes, **bounds})
        last.results[0].replace_all_uses_with(made)
        changed = True
    return changed


def _scaled(op: Op) -> tuple[Op, Value] | None:
    """The sum of products that an op multiplies by a number, or one a channel, and these; None where it does something else."""
    if op.name != "tpu.mul" or op.results[0].element != F32:
        return None
    for product, factor in (op.operands, op.operands[::-1]):
        maker = product.op
        if maker is None or maker.name not in SUMS or list(product.uses) != [op] or factor is product:
            continue
        if len([value for value in maker.operands if not is_absent(value)]) > 2 or maker.operands[0].element != F32:
            continue
        if _is_bounded(maker):
            continue
        if product.type == op.results[0].type and _is_by_channel(factor, product) and _is_one_matrix(maker):
            return maker, factor
    return None


def _added(op: Op) -> tuple[Op | None, np.ndarray | None]:
    """The sum that is all that reads a product, and the numbers that it adds, one or one a channel; None where there is none."""
    (result,) = op.results
    adding = next(iter(result.uses)) if len(result.uses) == 1 else None
    if adding is None or adding.name != "tpu.add" or adding.attribute("subtract") or _is_bounded(op):
        return None, None
    for value, other in (adding.operands, adding.operands[::-1]):
        dense = None if is_absent(other) or other is value else constant_of(other)
        if value is result and dense is not None and adding.results[0].type == result.type and _is_by_channel(other, result):
            return adding, dense.numpy().reshape(-1)
    return None, None


def _is_bounded(op: Op) -> bool:
    return op.attribute("low") is not None or op.attribute("high") is not None


def _channels(value: Value) -> int:
    return local_shape(value.static_shape)[1]


def _is_by_channel(value: Value, whole: Value) -> bool:
    """Whether a tensor has one number, or one for each channel of another."""
    n, c, h, w = local_shape(value.static_shape)
    return value.element == F32 and n * h * w == 1 and c in (1, _channels(whole))


def _is_one_matrix(op: Op) -> bool:
    """Whether channels of a result are columns of one matrix, or filters."""
    return op.name != "tpu.matmul" or (prod(op.operands[1].static_shape[:-2]) == 1 and len(op.results[0].static_shape) <= 3)


def spread_at_once(block: Block, chip: Chip) -> bool:
    """Let casts multiply floats by what makes the greatest of them a full number: a constant over a number that is computed."""
    changed = False
    for op in list(block):
        product = op.operands[0].op if op.name == "tpu.cast" and len(op.operands) == 1 else None
        if product is None or product.name != "tpu.mul" or product.results[0].element != F32 or list(
                product.results[0].uses) != [op]:
            continue
        if _is_bounded(product):
            continue
        for source, factor in (product.operands, product.operands[::-1]):
            quotient = factor.op
            if quotient is None or quotient.name != "tpu.binary" or quotient.attribute("function") != "div":
                continue
            full, greatest = one_number(quotient.operands[0]), quotient.operands[1]
            if full is None or greatest.static_shape != (1,) * source.rank or source.type != product.results[0].type:
                continue
            attributes = {**op.attributes, "full": float(full[0])}
            op.results[0].replace_all_uses_with(Builder(block, op, op.location).emit(
                "tpu.cast", source, greatest, element=op.results[0].element, **attributes))
            changed = True
            break
    return changed
