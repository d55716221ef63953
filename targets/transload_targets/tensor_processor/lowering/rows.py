"""Reductions and softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, F32, FloatType, QuantType, Value
from transload.rewrite import Rewriter, RewriteTable
from transload_hub.scales import apply_scale, exp_on_negative_values, per_step, scale32, softmax_input_scale

from .common import chip_of, dtype_of_value, need, quantized, reshape, same_numbers, static
from .conversion import requantized
from .scaling import Rescale, rescale, ways_of

if TYPE_CHECKING:
    from transload_hub.ops.activation import Softmax
    from transload_hub.ops.reduce import Arg, Reduce

__all__ = ["TABLE"]

TABLE = RewriteTable()

_FUNCTIONS = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
              "ReduceAll": "all", "ReduceAny": "any"}


@TABLE("top.Reduce")
def reduce(op: Reduce, rw: Rewriter) -> Value:
    function = _FUNCTIONS.get(str(op.mode))
    x = op.input
    if op.mode == "ReduceL2" and isinstance(x.element, FloatType):
        return _norm(op, rw)
    if function is None:
        raise Unsupported(f"a chip has no {op.mode}")
    need(rw, "reduce", x)
    axes = tuple(sorted(axis % x.rank for axis in op.axes))
    source, target = quantized(x), quantized(op.result)
    shape = static(op.result)
    if x.is_quantized or op.result.is_quantized:
        if source is None or target is None:
            raise Unsupported(f"a reduction of {x.element} to {op.result.element}")
        return reshape(rw, _of_integers(op, rw, function, axes, source, target), shape)
    if function in ("all", "any") and x.element != BOOL:
        raise Unsupported(f"{op.mode} of {x.element}")
    plain = isinstance(x.element, FloatType) or x.element == BOOL or function in ("max", "min", "sum")
    if not plain or op.result.element != x.element or (x.element == BOOL and function not in ("all", "any")):
        raise Unsupported(f"{op.mode} of {x.element}")
    made: Value = rw.emit("tpu.reduce", x, function=function, axes=axes)
    return reshape(rw, made, shape)


def _norm(op: Reduce, rw: Rewriter) -> Value:
    """The root of a sum of squares, of floats."""
    need(rw, "unary", op.input)
    need(rw, "reduce", op.input)
    axes = tuple(sorted(axis % op.input.rank for axis in op.axes))
    total = rw.emit("tpu.reduce", rw.emit("tpu.unary", op.input, function="square"), function="sum", axes=axes)
    return reshape(rw, rw.emit("tpu.unary", total, function="sqrt"), static(op.result))


def _of_integers(
    op: Reduce, rw: Rewriter, function: str, axes: tuple[int, ...], source: QuantType, target: QuantType,
) -> Value:
    """Sums and means of stored numbers, scaled once with LiteRT's factor; their extremes."""
    x = op.input
    if function in ("max", "min"):
        extreme = rw.emit("tpu.reduce", x, function=function, axes=axes)
        return requantized(rw, extreme, target, str(op.rounding))
    if function not in ("sum", "mean"):
        raise Unsupported(f"{op.mode} of quantized numbers")
    count = math.prod(static(x)[axis] for axis in axes)
    largest = max(abs(source.storage_min - source.zero_point), abs(source.storage_max - source.zero_point))
    if count * largest >> 31:
        raise Unsupported(f"a sum of {count} numbers of more than 32 bits")
    chip, rounding = chip_of(rw), str(op.rounding)
    divisor = max(count, 1) if function == "mean" else 1
    if chip.multiplier_bits == 8 or rounding != "double":
        scale = rescale(chip, per_step(source.scale, target.scale) / divisor, rounding)
    else:
        scale = _divided(chip, per_step(float(np.float32(source.scale)), float(np.float32(target.scale))), divisor)
    return rw.emit(
        "tpu.reduce", x, element=target, function="sum", axes=axes, input_zero=source.zero_point, output_zero=target.zero_point,
        **scale.attributes)


def _divided(chip: Any, real: float, count: int) -> Rescale:
    """A factor over a count as LiteRT has it: the multiplier, moved up by as many bits as the count has, divided, truncated."""
    multiplier, shift = scale32(real)
    bits = min(count.bit_length() - 1, 32, 62 - shift)
    return Rescale((multiplier << bits) // count, shift + bits, ways_of(chip, "double"))


@TABLE("top.Arg")
def arg(op: Arg, rw: Rewriter) -> Value:
    x = op.input
    if quantized(x) is None and x.is_quantized:
        raise Unsupported(f"an extreme of {x.element}")
    need(rw, "arg", x)
    if dtype_of_value(op.result) not in ("int32", "int64"):
        raise Unsupported(f"places as {op.result.element}")
    static(x)
    made: Value = rw.emit(
        "tpu.arg", x, element=op.result.element, function="max" if op.mode == "ArgMax" else "min", axis=op.axis % x.rank,
        last=op.select_last_index)
    return reshape(rw, made, static(op.result))


@TABLE("top.Softmax")
def softmax(op: Softmax, rw: Rewriter) -> Value:
    x = op.input
    need(rw, "softmax", x)
    axis = op.axis % x.rank
    source, target = quantized(x), quantized(op.result)
    if not x.is_quantized and not op.result.is_quantized:
        return rw.emit("tpu.softmax", x, axis=axis, beta=op.beta, log=op.log)
    if source is not None and target is not None and str(op.rounding) in ("once", "exact"):
        return _by_reals(op, rw, x, axis, source, target)
    if source is None or target is None or op.log or source.storage.width != 8 or str(op.rounding) != "double":
        raise Unsupported(f"softmax of {x.stored_element} to {op.result.stored_element}, rounded {op.rounding}, in fixed point")
    unit = QuantType(target.storage, target.expressed, (1.0 / (1 << target.storage.width),), (target.storage.range[0],))
    near = target.zero_point == unit.zero_point and math.isclose(target.scale, unit.scale, rel_tol=1e-3)
    if not (near or same_numbers(unit, target)) or static(x)[axis] > 1 << 12:
        raise Unsupported(f"softmax to {target}, which is not all numbers from 0 to 1")
    return rw.emit("tpu.softmax", x, rw.constant(_exponentials(source, op.beta)), element=target, axis=axis)


def _by_reals(op: Softmax, rw: Rewriter, x: Value, axis: int, source: QuantType, target: QuantType) -> Value:
    """What is rounded but once: the real numbers' softmax, in floats of 32 bits, and that in the result's type."""
    need(rw, "cast", x, op.result)
    for operation in ("cast", "softmax"):
        if not chip_of(rw).supports(operation, "float32"):
            raise Unsupported(f"rounded {op.rounding} it is one of floats, and {chip_of(rw).name} has no {operation} of float32")
    reals = rw.emit("tpu.cast", x, element=F32, scale=source.scale, zero=source.zero_point)
    made = rw.emit("tpu.softmax", reals, axis=axis, beta=op.beta, log=op.log)
    last: Value = rw.emit("tpu.cast", made, element=target, scale=target.scale, zero=target.zero_point, mode="half-even")
    return last


def _exponentials(source: QuantType, beta: float) -> np.ndarray:
    """exp(beta * scale * d) in Q0.31 of differences d from -255 to 0; 0 where LiteRT leaves a number out."""
    scale, least = softmax_input_scale(beta, source.scale)
    differences = np.arange(-255, 1, dtype=np.int64)
    fixed = apply_scale(np.where(differences >= least, differences, 0), scale)
    return np.where(differences >= least, exp_on_negative_values(fixed, 5), 0).astype(np.int32)
