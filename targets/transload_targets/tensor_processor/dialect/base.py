"""The dialect object `TPU`, and what declarations of several families share."""

from __future__ import annotations

from transload.errors import ShapeError
from transload.ir import Op, TensorType, Type
from transload.ir.core import Value
from transload.ir.declare import FLOAT, INT, DeclaredOp, Dialect, attribute, constraint, enum

from ..chip.description import ROUNDINGS

__all__ = ["ROUNDING", "TPU", "Clamped", "Rescaled", "beyond_limits", "broadcast", "fail", "shape_of"]

TPU = Dialect(
    "tpu",
    """
    Operations of a tensor processor, which hold all that a chip has to know: multipliers, shifts, zero points, bounds. What an op
    computes of stored numbers is the function of its name in `tensor_processor.arithmetic`. Values keep their quantized types,
    which say what the stored numbers mean; no op asks for them. Tensors of rank 4 are [N, C, H, W]. Constants stay `top.Weight`,
    as in TPU-MLIR.
    """,
    none="top.None")

ROUNDING = enum(*ROUNDINGS)
"""How a sum is rounded when it is scaled, see `arithmetic.scaling`."""


_LIMITS = {"zero": (-(1 << 31), (1 << 31) - 1), "multiplier": (-(1 << 31), (1 << 31) - 1), "shift": (-62, 62)}
"""By the last word of its name, the least and the greatest number that an attribute of integers may be."""


def beyond_limits(op: Op) -> str:
    """Which zero point, multiplier or shift a chip has no bits for; nothing where it has them for all."""
    for name, number in op.attributes.items():
        least, most = _LIMITS.get(name.rpartition("_")[2], (None, None))
        if least is not None and most is not None and isinstance(number, int) and not least <= number <= most:
            return f"{name} {number}"
    return ""


class Clamped(DeclaredOp):
    """Base of ops whose result may be kept between two numbers, of those that are stored."""

    @constraint
    def numbers_have_bits(op) -> bool | str:
        """zero points and multipliers have 32 bits, and shifts go by 62 at most"""
        return beyond_limits(op) or True

    low = attribute(FLOAT, "the least stored number that may result; absent: that of the type", optional=True)
    high = attribute(FLOAT, "the greatest stored number that may result; absent: that of the type", optional=True)


class Rescaled(Clamped):
    """Base of ops that scale a sum to the type of their result."""

    output_zero = attribute(INT, "zero point of the result", default=0)
    rounding = attribute(ROUNDING, "how the scaled sum is rounded", default="double")


def fail(op: Op, why: str) -> ShapeError:
    """The error to raise where the operands of an op do not fit."""
    return ShapeError(f"{op.called}: {why}" if op.origin else f"{op.name}: {why}")


def shape_of(value: Value, op: Op, rank: int | None = None) -> tuple[int, ...]:
    """The sizes of a tensor, which a chip has to know; of this rank where one is given."""
    shape = value.shape_or_none
    if shape is None or None in shape:
        raise fail(op, f"an operand of {value.type} has sizes that are not known")
    if rank is not None and len(shape) != rank:
        raise fail(op, f"an operand of {value.type} has not {rank} dimensions")
    return tuple(shape)  # type: ignore[arg-type]


def broadcast(op: Op) -> Type:
    """The type of an elementwise result: operands of one rank, in each dimension of one size or 1."""
    shapes = [shape_of(value, op) for value in op.operands]
    if len({len(shape) for shape in shapes}) != 1 or any(len(set(sizes) - {1}) > 1 for sizes in zip(*shapes, strict=True)):
        raise fail(op, f"shapes {', '.join(map(str, shapes))} do not broadcast at one rank")
    sizes = tuple(next((size for size in each if size != 1), 1) for each in zip(*shapes, strict=True))
    return TensorType(sizes, op.operands[0].element)
