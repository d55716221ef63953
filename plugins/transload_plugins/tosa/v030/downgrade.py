"""TOSA 1.0 to 0.30: operands become attributes, where they are constants.

Refused is what 0.30 cannot say: operators that came later (erf, sin, cos, variables, shape operators), parameters
computed at run time, NaNs passed over, ranks above 4 where 0.30 ends there, casts between float types and f16
convolutions that sum in f32 (0.30 hands out the sums). ARGMAX of floats is converted whatever its NaN mode is: in
0.30 a NaN is never the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.errors import OpenSizes
from transload.ir import F16, I8, I16, UI8, UI16, FloatType, Module, NoneType, Op, TensorType, Value
from transload.ir.attributes import DenseArray
from transload.ir.types import F32, INDEX
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from ..dialect.base import dims_of, storage_of
from .base import UNCHANGED, one_number
from .dialect import TOSA030
from .movement import reached
from .upgrade import taken_regions

if TYPE_CHECKING:
    from ..dialect.control import CondIf, Custom, WhileLoop, Yield
    from ..dialect.conversion import Const, ConstShape, Rescale
    from ..dialect.elementwise import Mul, Negate
    from ..dialect.movement import Pad, Reshape, Resize, Slice, Tile
    from ..dialect.product import MatMul, Rfft2d
    from ..dialect.spatial import ArgMax, AvgPool2d, Conv2d, Conv3d, DepthwiseConv2d, TransposeConv2d

__all__ = ["TABLE", "make_unsigned"]

TABLE = RewriteTable()
_UNSIGNED = {I8: UI8, I16: UI16}


def make_unsigned(module: Module) -> bool:
    """Give tensors of `tosa` that are read and written as unsigned everywhere the unsigned types that 0.30 has."""
    unsigned = _unsigned_values(module)
    for value in unsigned:
        value.type = value.tensor_type.with_element(_UNSIGNED[value.element])  # type: ignore[index]
    return bool(unsigned)


def _unsigned_values(module: Module) -> list[Value]:
    """Values that every op reads and writes as unsigned: arguments and results of rescales, whose type becomes unsigned."""
    found: dict[Value, bool] = {}
    for op in module.walk():
        if op.name != "tosa.rescale":
            continue
        for value, flag in ((op.operands[0], "input_unsigned"), (op.results[0], "output_unsigned")):
            if op.attributes.get(flag) and isinstance(value.type, TensorType) and value.type.element in _UNSIGNED:
                found[value] = all(_reads_unsigned(user) for user in value.uses) and (
                    value.op is None or bool(value.op.name == "tosa.rescale" and value.op.attributes.get("output_unsigned")))
    return [value for value, fits in found.items() if fits]


def _reads_unsigned(user: Op) -> bool:
    return user.name in ("func.return", "tosa.yield") or (user.name == "tosa.rescale" and user.attributes["input_unsigned"])


def _checked(value: Value) -> Value:
    """The result of a 0.30 op just made; `Unsupported` where 0.30 does not take it as it stands."""
    op = value.op
    if op is None or op.dialect != "tosa030":
        return value
    definition = op.declaration.definition
    datatypes = getattr(definition, "datatypes", None)
    why = datatypes.refuse(op) if datatypes is not None else None
    if why is None:
        why = next((
            f"{c.doc}{'' if outcome is False else f': {outcome}'}" for c in op.declaration.constraints
            if (outcome := c.check(op)) is not True), None)
    if why is None and op.operands and isinstance(op.operands[0].type, TensorType):
        low, high = getattr(definition, "ranks", (0, None))
        rank = op.operands[0].type.rank
        if rank is not None and (rank < low or (high is not None and rank > high)):
            why = f"rank {rank}, where 0.30 takes {low} to {high}"
    if why is not None:
        raise Unsupported(f"TOSA 0.30 does not take it: {why}")
    return value


def _emit(rw: Rewriter, name: str, *operands: Value, **more: Any) -> Any:
    made = rw.emit(f"tosa030.{name}", *operands, **more)
    for value in made if isinstance(made, tuple) else (made,):
        _checked(value)
    return made


def _number(rw: Rewriter, value: Value, what: str) -> int:
    """The number in a constant of one element; of floats 0, which is the only zero point they have."""
    array = rw.need_constant(value, what).reshape(-1)
    return 0 if isinstance(storage_of(value), FloatType) else int(array[0])


def _sizes(value: Value, what: str) -> tuple[int, ...]:
    dims = dims_of(value)
    if dims is None:
        raise Unsupported(f"{what} must be a constant, and is computed at run time", "0.30 has it as an attribute")
    return dims


def _nans(op: Op) -> None:
    if op.attribute("nan_mode") == "IGNORE" and isinstance(storage_of(op.operands[0]), FloatType):
        raise Unsupported("passes over NaNs (nan_mode IGNORE)", "in 0.30 a NaN always wins")


@TABLE(*(f"tosa.{name}" for name in UNCHANGED.split()))
def same(op: Op, rw: Rewriter) -> Any:
    """What 0.30 has with the same operands; NaN modes and error bounds are later inventions."""
    _nans(op)
    name = op.name.partition(".")[2]
    known = TOSA030.ops[f"tosa030.{name}"].attributes
    attributes = {key: op.attribute(key) for key in op.declaration.attributes if key in known}
    return _emit(rw, name, *op.operands, element=op.results[0].element, **attributes)


@TABLE("tosa.const")
def constant(op: Const, rw: Rewriter) -> Value:
    """The same data."""
    return rw.create("tosa030.const", (), (op.result.type,), {"value": op.values}, location=op.location).result


@TABLE("tosa.const_shape")
def constant_shape(op: ConstShape, rw: Rewriter) -> Value:
    """Read by those who turn it into an attribute, and erased at the end."""
    return rw.create("tosa030.const", (), (TensorType(op.values.shape, INDEX),), {"value": op.values}).result


@TABLE("tosa.argmax")
def argmax(op: ArgMax, rw: Rewriter) -> Value:
    """See the module's docstring for NaNs."""
    return _emit(rw, "argmax", op.input, axis=op.axis, element=op.result.element)


@TABLE("tosa.avg_pool2d")
def average(op: AvgPool2d, rw: Rewriter) -> Value:
    """Zero points as attributes."""
    return _emit(
        rw, "avg_pool2d", op.input, kernel=op.kernel, stride=op.stride, pad=op.pad,
        input_zp=_number(rw, op.input_zp, "the input's zero point"),
        output_zp=_number(rw, op.output_zp, "the result's zero point"))


def _convolve(op: Conv2d | Conv3d | DepthwiseConv2d | TransposeConv2d, rw: Rewriter, **attributes: Any) -> Value:
    if storage_of(op.input) == F16 and op.acc_type == F32:
        raise Unsupported("sums f16 in f32 and gives f16", "0.30 gives such sums as f32, and has no cast to f16")
    channels = op.result.shape[-1]
    bias = op.bias
    if bias.shape == (1,) and channels != 1:
        bias = _emit(rw, "tile", bias, multiples=(channels,))
    return _emit(
        rw, op.name.partition(".")[2], op.input, op.weight, bias, input_zp=_number(rw, op.input_zp, "the input's zero point"),
        weight_zp=_number(rw, op.weight_zp, "the weights' zero point"), element=op.result.element, **attributes)


@TABLE("tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d")
def convolution(op: Conv2d | Conv3d | DepthwiseConv2d, rw: Rewriter) -> Value:
    """Zero points as attributes; a bias of one number repeated."""
    return _convolve(op, rw, pad=op.pad, stride=op.stride, dilation=op.dilation)


@TABLE("tosa.transpose_conv2d")
def transpose_convolution(op: TransposeConv2d, rw: Rewriter) -> Value:
    """0.30 cuts `out_pad` off, and cannot add any."""
    if max(op.out_pad) > 0:
        raise Unsupported(f"out_pad {op.out_pad} adds to the result", "0.30 can only cut off")
    return _convolve(op, rw, out_pad=tuple(-pad for pad in op.out_pad), stride=op.stride, out_shape=tuple(op.result.shape))


@TABLE("tosa.matmul")
def matmul(op: MatMul, rw: Rewriter) -> Value:
    """Zero points as attributes."""
    return _emit(
        rw, "matmul", op.a, op.b, a_zp=_number(rw, op.a_zp, "a's zero point"), b_zp=_number(rw, op.b_zp, "b's zero point"),
        element=op.result.element)


@TABLE("tosa.rfft2d")
def rfft2d(op: Rfft2d, rw: Rewriter) -> list[Value]:
    """0.30's own drops rows that 1.0 gives; the complex transform has them all, and columns too many."""
    n, rows, columns = op.results[0].shape
    zeros = rw.constant(np.zeros(op.input_real.shape, np.float32), dialect="tosa030")
    return [
        _emit(rw, "slice", part, start=(0, 0, 0), size=(n, rows, columns))
        for part in _emit(rw, "fft2d", op.input_real, zeros, inverse=False)]


@TABLE("tosa.mul")
def multiply(op: Mul, rw: Rewriter) -> Value:
    """The shift as an attribute."""
    return _emit(rw, "mul", op.input1, op.input2, shift=_number(rw, op.shift, "the shift"))


@TABLE("tosa.negate")
def negate(op: Negate, rw: Rewriter) -> Value:
    """Zero points as attributes."""
    return _emit(
        rw, "negate", op.input1, input1_zp=_number(rw, op.input1_zp, "the input's zero point"),
        output_zp=_number(rw, op.output_zp, "the result's zero point"))


@TABLE("tosa.pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    """Padding and value as attributes."""
    value = rw.need_constant(op.pad_const, "the value to pad with").reshape(-1)[0]
    padding = _sizes(op.padding, "the padding")
    return _emit(rw, "pad", op.input1, padding=padding, pad_const=one_number(value, storage_of(op.input1)))


@TABLE("tosa.reshape")
def reshape(op: Reshape, rw: Rewriter) -> Value:
    """The shape as an attribute."""
    return _emit(rw, "reshape", op.input1, new_shape=_sizes(op.operand("shape"), "the shape"))


@TABLE("tosa.slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """Start and size as attributes."""
    return _emit(rw, "slice", op.input1, start=_sizes(op.start, "the start"), size=_sizes(op.size, "the size"))


@TABLE("tosa.tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    """The multiples as an attribute."""
    return _emit(rw, "tile", op.input1, multiples=_sizes(op.multiples, "the multiples"))


@TABLE("tosa.rescale")
def rescale(op: Rescale, rw: Rewriter) -> Value:
    """Scales and zero points as attributes, unsigned numbers as types. INEXACT_ROUND may round either way, so it may once."""
    points = []
    for value, point, flag in ((op.input, op.input_zp, op.input_unsigned), (op.output, op.output_zp, op.output_unsigned)):
        stored: Any = storage_of(value)
        if flag and not stored.unsigned:
            raise Unsupported(f"a tensor of {stored} is read as unsigned here and as signed elsewhere", "0.30 has types for each")
        number = _number(rw, point, "a zero point")
        points.append(number % (1 << stored.width) if stored.unsigned else number)
    scales = {
        key: tuple(int(n) for n in rw.need_constant(value, f"the {key}").reshape(-1))
        for key, value in (("multiplier", op.multiplier), ("shift", op.shift))}
    return _emit(
        rw, "rescale", op.input, input_zp=points[0], output_zp=points[1], **scales, scale32=op.scale32,
        double_round=op.rounding_mode == "DOUBLE_ROUND", per_channel=op.per_channel, element=op.result.element)


@TABLE("tosa.resize")
def resize(op: Resize, rw: Rewriter) -> Value:
    """The ratio of 1.0 as a stride in units of 2^-shift, or as a float."""
    scale, offset = _sizes(op.scale, "the scale"), _sizes(op.offset, "the offset")
    if None in op.input.shape or None in op.result.shape:
        raise OpenSizes("sizes are known only when the model runs")
    size: Any = op.input.shape[1:3]
    out: Any = op.result.shape[1:3]
    mode = "NEAREST" if op.mode == "NEAREST_NEIGHBOR" else op.mode
    if isinstance(storage_of(op.input), FloatType):
        shift = 0
        strides: Any = DenseArray([float(np.float32(scale[2 * a + 1] / scale[2 * a])) for a in (0, 1)], F32)
        starts: Any = DenseArray([float(np.float32(offset[a] / scale[2 * a])) for a in (0, 1)], F32)
    else:
        shift = max(scale[0], scale[2]).bit_length() - 1
        if mode == "NEAREST":
            shift = max(shift, 1)  # the nearest place is the same in finer units
        unit = 1 << shift
        if any(unit % n or (mode == "BILINEAR" and n != unit) for n in scale[::2]):
            raise Unsupported(f"scales of {scale[0]} and {scale[2]}", "0.30 has one power of two for both")
        factors = [unit // n for n in scale[::2]]
        strides, starts = (
            tuple(factor * part for factor, part in zip(factors, parts, strict=True)) for parts in (scale[1::2], offset))
    border = tuple(o - reached(s, shift, start, step) for o, s, start, step in zip(out, size, starts, strides, strict=True))
    return _emit(
        rw, "resize", op.input, output_size=tuple(out), stride=strides, offset=starts, border=border, shift=shift, mode=mode,
        element=op.result.element)


@TABLE("tosa.custom")
def custom(op: Custom, rw: Rewriter) -> Sequence[Value]:
    """Name and domain under the names of 0.30."""
    return rw.create(
        "tosa030.custom", op.operands, [result.type for result in op.results],
        {"identifier": op.operator_name, "config": op.domain_name, "implementation_attrs": op.implementation_attrs},
        location=op.location).results


@TABLE("tosa.yield")
def yield_(op: Yield, rw: Rewriter) -> list[Value]:
    """The end of a graph."""
    outer = op.parent_op
    is_condition = outer is not None and outer.name == "tosa030.while_loop" and op.parent is outer.regions[0].blocks[0]
    rw.create("tosa030.yield", [_rank_0(rw, value) for value in op.operands] if is_condition else op.operands)
    return []


def _rank_0(rw: Rewriter, condition: Value) -> Value:
    """A condition as 0.30 has it."""
    return condition if condition.rank == 0 else _emit(rw, "reshape", condition, new_shape=())


@TABLE("tosa.cond_if")
def cond_if(op: CondIf, rw: Rewriter) -> Sequence[Value]:
    """The graphs move; what is in them is converted after."""
    operands = (_rank_0(rw, op.condition), *(value for value in op.input_list if not isinstance(value.type, NoneType)))
    return rw.create("tosa030.cond_if", operands, [result.type for result in op.results], {}, taken_regions(op)).results


@TABLE("tosa.while_loop")
def while_loop(op: WhileLoop, rw: Rewriter) -> Sequence[Value]:
    """The graphs move; what is in them is converted after."""
    return rw.create("tosa030.while_loop", op.operands, [result.type for result in op.results], {}, taken_regions(op)).results
