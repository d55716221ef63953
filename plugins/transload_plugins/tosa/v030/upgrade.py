"""TOSA 0.30 to 1.0: attributes become operands, and what 1.0 dropped is expressed by what it has.

What 1.0 cannot say is refused: samples of `resize` outside its limits. Sums of f16 and bf16 that are handed out
as f32 become a convolution in f32, for 1.0's give the type of their input.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from transload.ir import (
    F16,
    F32,
    I8,
    I16,
    I32,
    I48,
    UI8,
    UI16,
    Dense,
    FloatType,
    IntegerType,
    Module,
    Op,
    TensorType,
    Type,
    Value,
    note_elements,
)
from transload.ir.module import update_function_type
from transload.rewrite import Rewriter, RewriteTable, Unsupported

from .. import build
from ..dialect.base import storage_of
from .base import UNCHANGED

if TYPE_CHECKING:
    from ..dialect.control import CondIf, WhileLoop, Yield
    from ..dialect.spatial import ArgMax
    from .elementwise import Mul, Negate
    from .movement import Const, Custom, Pad, Rescale, Reshape, Resize, Slice, Tile
    from .tensor import AvgPool2d, Conv2d, Conv3d, DepthwiseConv2d, FullyConnected, MatMul, Rfft2d, TransposeConv2d, Weighted

__all__ = ["TABLE", "make_signless", "taken_regions"]

TABLE = RewriteTable()

_SIGNLESS: dict[Any, Any] = {UI8: I8, UI16: I16}


def make_signless(module: Module) -> bool:
    """Tensors of ui8 and ui16 as i8 and i16: in 1.0 only `rescale` says how it reads them.

    Of arguments and results it is noted (`transload.ir.borders`), so that they are given and taken as before.
    """
    changed = False
    borders = [
        (function, list(map(_unsigned, block.arguments)), list(map(_unsigned, block.terminator.operands)))
        for function in module.functions.values() for block in function.regions[0].blocks[:1]]

    def signless(value: Value) -> None:
        nonlocal changed
        if isinstance(value.type, TensorType) and value.type.element in _SIGNLESS:
            value.type = value.type.with_element(_SIGNLESS[value.type.element])
            changed = True

    for op in module.walk():
        for result in op.results:
            signless(result)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    signless(argument)
        dense = op.attributes.get("values") if op.name == "tosa.const" else None
        if isinstance(dense, Dense) and dense.type.element in _SIGNLESS:
            element = _SIGNLESS[dense.type.element]
            array = np.asarray(dense.numpy(), order="C")
            op.attributes["values"] = Dense(array.view(f"int{8 * array.dtype.itemsize}"), dense.type.with_element(element))
    for function, inputs, outputs in borders:
        update_function_type(function)
        note_elements(function, inputs, outputs)
    return changed


def _unsigned(value: Value) -> Type | None:
    """The element type of a tensor of ui8 or ui16; None of any other."""
    return value.type.element if isinstance(value.type, TensorType) and value.type.element in _SIGNLESS else None


def _same(op: Op, rw: Rewriter) -> Any:
    attributes = {name: op.attribute(name) for name in op.declaration.attributes}
    return rw.emit(f"tosa.{op.name.partition('.')[2]}", *op.operands, element=op.results[0].element, **attributes)


for _name in UNCHANGED.split():
    TABLE(f"tosa030.{_name}")(_same)


@TABLE("tosa030.const")
def constant(op: Const, rw: Rewriter) -> Value:
    """The element type of the value says more than that of the numbers: i4, i48."""
    return rw.create("tosa.const", (), (op.result.type,), {"values": op.value}, location=op.location).result


@TABLE("tosa030.argmax")
def argmax(op: ArgMax, rw: Rewriter) -> Value:
    """0.30 passes over NaNs."""
    mode = "IGNORE" if isinstance(storage_of(op.input), FloatType) else "PROPAGATE"
    return rw.emit("tosa.argmax", op.input, axis=op.axis, nan_mode=mode)


def _accumulator(value: Value) -> Any:
    """The type of sums over such elements; floats in f32, as exact as 0.30 allows."""
    stored = storage_of(value)
    return F32 if isinstance(stored, FloatType) else I48 if stored == I16 else I32


@TABLE("tosa030.avg_pool2d")
def average(op: AvgPool2d, rw: Rewriter) -> Value:
    """Zero points as operands; i16 is summed in i32."""
    return rw.emit(
        "tosa.avg_pool2d", op.input, build.zero_point(rw, op.input_zp, op.input.element),
        build.zero_point(rw, op.output_zp, op.input.element), kernel=op.kernel, stride=op.stride, pad=op.pad,
        acc_type=F32 if isinstance(storage_of(op.input), FloatType) else I32)


def _convolve(rw: Rewriter, name: str, op: Weighted, x: Value, weight: Value, element: Any, **attributes: Any) -> Value:
    """A 1.0 convolution of the op's operands, in f32 where narrow floats are summed and handed out in it."""
    if element == F32 and storage_of(x) != F32:
        x, weight = build.cast(rw, x, F32), build.cast(rw, weight, F32)
    accumulator = F16 if element == F16 else _accumulator(x)
    return rw.emit(
        f"tosa.{name}", x, weight, op.bias, build.zero_point(rw, op.input_zp, x.element),
        build.zero_point(rw, op.weight_zp, weight.element), element=element, acc_type=accumulator, **attributes)


@TABLE("tosa030.conv2d", "tosa030.conv3d", "tosa030.depthwise_conv2d")
def convolution(op: Conv2d | Conv3d | DepthwiseConv2d, rw: Rewriter) -> Value:
    """Zero points as operands."""
    return _convolve(
        rw, op.name.partition(".")[2], op, op.input, op.weight, op.result.element, pad=op.pad, stride=op.stride,
        dilation=op.dilation)


@TABLE("tosa030.fully_connected")
def fully_connected(op: FullyConnected, rw: Rewriter) -> Value:
    """A 1x1 convolution of one place. 1.0 reshapes no i48: the rescale that follows goes before the reshape."""
    if op.result.element == I48 and any(user.name != "tosa030.rescale" for user in op.result.uses):
        users = ", ".join(sorted({user.name for user in op.result.uses}))
        raise Unsupported(f"its i48 result of rank 2 goes to {users}", "1.0 has i48 of rank 4 only: rescale the result first")
    (n, inner), outer = op.input.shape, op.weight.shape[0]
    x, weight = build.reshape(rw, op.input, (n, 1, 1, inner)), build.reshape(rw, op.weight, (outer, 1, 1, inner))
    point = {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0)}
    return build.reshape(rw, _convolve(rw, "conv2d", op, x, weight, op.result.element, **point), (n, outer))


@TABLE("tosa030.transpose_conv2d")
def transpose_convolution(op: TransposeConv2d, rw: Rewriter) -> Value:
    """1.0 adds `out_pad` where 0.30 cuts it off."""
    _, height, width, _ = op.weight.static_shape
    extents = (height, height, width, width)
    if any(pad >= extent for pad, extent in zip(op.out_pad, extents, strict=True)):
        raise Unsupported(f"out_pad {op.out_pad} cuts off as much as the kernel {extents[::2]} or more, which 1.0 does not take")
    out_pad = tuple(-pad for pad in op.out_pad)
    return _convolve(rw, "transpose_conv2d", op, op.input, op.weight, op.result.element, out_pad=out_pad, stride=op.stride)


@TABLE("tosa030.matmul")
def matmul(op: MatMul, rw: Rewriter) -> Value:
    """Zero points as operands."""
    return rw.emit(
        "tosa.matmul", op.a, op.b, build.zero_point(rw, op.a_zp, op.a.element), build.zero_point(rw, op.b_zp, op.b.element),
        element=op.result.element)


@TABLE("tosa030.rfft2d")
def rfft2d(op: Rfft2d, rw: Rewriter) -> list[Value]:
    """1.0 gives all rows; 0.30 the first half and one."""
    n, rows, columns = op.results[0].shape
    return [
        build.slice_(rw, part, (0, 0, 0), (n, rows, columns))  # type: ignore[arg-type]
        for part in rw.emit("tosa.rfft2d", op.input)]


@TABLE("tosa030.mul")
def multiply(op: Mul, rw: Rewriter) -> Value:
    """The shift as an operand."""
    return rw.emit("tosa.mul", op.input1, op.input2, build.scalar(rw, op.shift, I8))


@TABLE("tosa030.negate")
def negate(op: Negate, rw: Rewriter) -> Value:
    """Zero points as operands."""
    return build.negate(rw, op.input1, op.input1_zp, op.output_zp)


@TABLE("tosa030.pad")
def pad(op: Pad, rw: Rewriter) -> Value:
    """Padding and value as operands."""
    value = build.scalar(rw, op.pad_const, storage_of(op.input1))
    return rw.emit("tosa.pad", op.input1, build.shape_const(rw, op.padding), value)


@TABLE("tosa030.reshape")
def reshape(op: Reshape, rw: Rewriter) -> Value:
    """The shape as an operand."""
    return rw.emit("tosa.reshape", op.input1, build.shape_const(rw, op.new_shape))


@TABLE("tosa030.slice")
def slice_(op: Slice, rw: Rewriter) -> Value:
    """Start and size as operands."""
    return rw.emit("tosa.slice", op.input1, build.shape_const(rw, op.start), build.shape_const(rw, op.size))


@TABLE("tosa030.tile")
def tile(op: Tile, rw: Rewriter) -> Value:
    """The multiples as an operand."""
    return rw.emit("tosa.tile", op.input1, build.shape_const(rw, op.multiples))


@TABLE("tosa030.rescale")
def rescale(op: Rescale, rw: Rewriter) -> Value:
    """Scales and zero points as operands; unsigned types as flags, the types themselves are dropped at the end."""
    source, target = storage_of(op.input), storage_of(op.output)
    signs = [isinstance(t, IntegerType) and t.unsigned for t in (source, target)]
    multiplier, shift = np.array(op.multiplier, np.int32 if op.scale32 else np.int16), np.array(op.shift, np.int8)
    maker = op.input.op
    of_layer = maker is not None and maker.name == "tosa.reshape" and source == I48  # of a fully connected layer
    folded = maker if of_layer else None
    scaled = rw.emit(
        "tosa.rescale", op.input if folded is None else folded.operands[0], build.const(rw, multiplier), build.const(rw, shift),
        build.zero_point(rw, op.input_zp, _SIGNLESS.get(source, source)),
        build.zero_point(rw, op.output_zp, _SIGNLESS.get(target, target)),
        element=op.result.element, scale32=op.scale32, rounding_mode="DOUBLE_ROUND" if op.double_round else "SINGLE_ROUND",
        per_channel=op.per_channel, input_unsigned=signs[0], output_unsigned=signs[1])
    return build.reshape(rw, scaled, op.result.shape) if folded else scaled


@TABLE("tosa030.resize")
def resize(op: Resize, rw: Rewriter) -> Value:
    """A stride in units of 2^-shift, or a float, as the ratio that 1.0 has; the border so that the result's size comes out."""
    scale: list[int] = []
    offset: list[int] = []
    border: list[int] = []
    for axis in (0, 1):
        n, d, start = _ratio(op, axis)
        size, out = op.input.shape[1 + axis], op.output_size[axis]
        if size is None:
            raise Unsupported("the size of the input is known only when the model runs")
        end = (out - 1) * d - (size - 1) * n + start
        if not (-n <= start < 16 * n and -16 * n <= end < n):
            raise Unsupported(
                f"offset {start} and border {end} in units of 1/{n} are beyond what 1.0 allows",
                "sample within one place of the input")
        scale += (n, d)
        offset.append(start)
        border.append(end)
    mode = "NEAREST_NEIGHBOR" if op.mode == "NEAREST" else op.mode
    return rw.emit("tosa.resize", op.input, *(build.shape_const(rw, part) for part in (scale, offset, border)), mode=mode)


def _ratio(op: Op, axis: int) -> tuple[int, int, int]:
    """Numerator and denominator of the scale along an axis, and the offset in units of 1/numerator."""
    step, start = op.attributes["stride"][axis], op.attributes["offset"][axis]
    if not isinstance(storage_of(op.operands[0]), FloatType):
        return 1 << op.attribute("shift"), int(step), int(start)
    for n in range(1, 2049):
        d, o = round(step * n), round(start * n)
        if all(np.float32(Fraction(part, n)) == np.float32(given) for part, given in ((d, step), (o, start))):
            return n, d, o
    raise Unsupported(
        f"stride {step} and offset {start} are no fractions with a denominator up to 2048", "1.0 scales by such only")


@TABLE("tosa030.custom")
def custom(op: Custom, rw: Rewriter) -> Sequence[Value]:
    """Identifier and configuration under the names of 1.0."""
    return rw.create(
        "tosa.custom", op.operands, [result.type for result in op.results],
        {"operator_name": op.identifier, "domain_name": op.config, "implementation_attrs": op.implementation_attrs},
        location=op.location).results


def _one_element(rw: Any, condition: Value) -> Value:
    """A condition of rank 0 as the tensor of one element that 1.0 takes."""
    return build.reshape(rw, condition, (1,)) if condition.rank == 0 else condition


@TABLE("tosa030.yield")
def yield_(op: Yield, rw: Rewriter) -> list[Value]:
    """The end of a graph; that of a loop's condition gives one element."""
    outer = op.parent_op
    is_condition = outer is not None and outer.name == "tosa.while_loop" and op.parent is outer.regions[0].blocks[0]
    rw.create("tosa.yield", [_one_element(rw, value) for value in op.operands] if is_condition else op.operands)
    return []


@TABLE("tosa030.cond_if")
def cond_if(op: CondIf, rw: Rewriter) -> Sequence[Value]:
    """The graphs move; what is in them is converted after."""
    condition = _one_element(rw, op.condition)
    return rw.create(
        "tosa.cond_if", (condition, *op.input_list), [result.type for result in op.results], {}, taken_regions(op)).results


@TABLE("tosa030.while_loop")
def while_loop(op: WhileLoop, rw: Rewriter) -> Sequence[Value]:
    """The graphs move; what is in them is converted after."""
    return rw.create("tosa.while_loop", op.operands, [result.type for result in op.results], {}, taken_regions(op)).results


def taken_regions(op: Op) -> list[Any]:
    """The op's regions, taken from it."""
    regions = list(op.regions)
    op.regions.clear()
    return regions
