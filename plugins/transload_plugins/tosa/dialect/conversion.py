"""Type conversion and data nodes (0.30 sections 2.13 and 2.14)."""

from __future__ import annotations

from typing import Any

from transload.ir import I8, I16, I32, I48, TensorType
from transload.ir.build import constant_of
from transload.ir.declare import ANY, BOOLEAN, CONSTANT, DeclaredOp, attribute, constraint, operand, result

from .base import (
    FLOATS,
    FP8,
    INTEGERS,
    ROUNDING_MODE,
    SCALAR,
    TOSA,
    DataTypes,
    SameElements,
    equal_sizes,
    int4_excess,
    rank,
    same,
    shape_of,
    shape_rank,
    shape_type,
    storage,
    storage_of,
    typed_rows,
)

_INTS = ["i8", "i16", "i32"]
_ALL_FLOATS = f"{FLOATS} {FP8}".split()
_CASTS = [
    *(f"i1 {t}" for t in _INTS), *(f"{t} i1" for t in _INTS), *(f"{a} {b}" for a in _INTS for b in _INTS if a != b),
    *(f"{a} {b}" for a in _INTS for b in FLOATS.split()), *(f"{a} {b}" for a in FLOATS.split() for b in _INTS),
    *(f"{a} {b}" for a in _ALL_FLOATS for b in _ALL_FLOATS if a != b and not a[1] == b[1] == "8" and {a, b} != {"f16", "bf16"}),
]


@TOSA.op("cast")
class Cast(DeclaredOp):
    """The same number in another type (2.13.1).

    Integers wrap; anything but zero is true; a float becomes the nearest integer, ties to even, saturated
    (0.30: ties away from zero); integers become the nearest float. Inference cannot know the type: give `element`.
    """

    input = operand("the tensor")
    output = result("of the same shape")
    datatypes = typed_rows(
        "input output", *_CASTS, later=("i64 i1", "i1 i64", *(f"{t} i64" for t in _INTS), *(f"i64 {t}" for t in _INTS)))

    @constraint
    def same_shape(op) -> bool | str:
        """the result has the operand's shape"""
        return equal_sizes(shape_of(op.input), shape_of(op.output)) or f"{op.output.type} of {op.input.type}"

    def infer(op) -> TensorType:
        return op.input.tensor_type


@TOSA.op("rescale")
class Rescale(DeclaredOp):
    """`apply_scale(x - input_zp, multiplier, shift) + output_zp`, saturated (2.13.2): a scale of multiplier * 2^-shift.

    1.0: multiplier, shift and zero points are operands; multipliers are i32 (`scale32`) or i16; one number,
    or with `per_channel` one an index of the last dimension. Zero points are zero but for i8 and, where
    unsigned, i16. `input_unsigned` and `output_unsigned` read and write i8 and i16 as unsigned numbers.
    Inference cannot know the type: give `element`.
    """

    input = operand("the tensor: i8, i16, i32 or i48", INTEGERS)
    multiplier = operand("i32 or i16 numbers, not negative", rank(1))
    shift = operand("i8 numbers from 2 to 62", rank(1))
    input_zp = operand("zero point of the input", SCALAR)
    output_zp = operand("zero point of the result", SCALAR)
    output = result("i8, i16 or i32, of the same shape", INTEGERS)
    scale32 = attribute(BOOLEAN, "whether multipliers have 32 bits; 16 otherwise, the only ones for i48")
    rounding_mode = attribute(
        ROUNDING_MODE, "SINGLE_ROUND: half up once; DOUBLE_ROUND: twice, as gemmlowp; INEXACT_ROUND: either way")
    per_channel = attribute(BOOLEAN, "whether there is a multiplier and shift for each index of the last dimension")
    input_unsigned = attribute(BOOLEAN, "whether the input's i8 or i16 is read as unsigned")
    output_unsigned = attribute(BOOLEAN, "whether the result's i8 or i16 is written as unsigned")
    datatypes = DataTypes(
        "input input_zp output_zp output",
        [f"{a} {a} {b} {b}" for a in ("i8", "i16", "i32", "i48") for b in ("i8", "i16", "i32")],
        [f"i64 i64 {b} {b}" for b in ("i8", "i16", "i32")])
    traits = ("elementwise",)

    @constraint
    def scales_fit(op) -> bool | str:
        """multiplier and shift have one number, or per channel one for each index of the last dimension"""
        source, multiplier, shift = op.operands[:3]
        shape = shape_of(source)
        expected = 1
        if op.attributes["per_channel"]:
            if shape is None or not shape or shape[-1] is None:
                return True if shape is None or shape else "per channel needs a tensor of rank 1 or more"
            expected = shape[-1]
        for value in (multiplier, shift):
            counted = shape_of(value)
            if counted and counted[0] not in (None, expected):
                return f"{counted[0]} numbers where {expected} are expected"
        return True

    @constraint
    def multiplier_type(op) -> bool | str:
        """multipliers are i32 with scale32 and i16 without; i48 takes no scale32; shifts are i8"""
        wide = op.attributes["scale32"]
        source, multiplier, shift = map(storage_of, op.operands[:3])
        if multiplier != (I32 if wide else I16):
            return f"{multiplier} with scale32 = {wide}"
        if shift != I8:
            return f"shift is {shift}"
        return not (wide and source == I48) or "i48 with scale32"

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for 8 bits, and 0 or 32768 for unsigned 16 bits"""
        source, _, _, input_zp, output_zp = op.operands
        for value, point, side in ((source, input_zp, "input_unsigned"), (op.results[0], output_zp, "output_unsigned")):
            unsigned = op.attributes[side]
            stored: Any = storage_of(value)
            if stored.width == 8:
                continue
            dense = constant_of(point)
            if dense is None or not dense.numpy().size:
                continue
            number = int(dense.numpy().reshape(-1)[0])
            if number and not (unsigned and stored.width == 16 and abs(number) == 32768):
                return f"{number} for {stored}"
        return True

    @constraint
    def rounding(op) -> bool:
        """DOUBLE_ROUND takes 32-bit multipliers only"""
        return op.attributes["rounding_mode"] != "DOUBLE_ROUND" or op.attributes["scale32"]

    @constraint
    def unsigned_sides(op) -> bool | str:
        """not both sides are unsigned; i32 and i48 are not; nor does an unsigned side face i32 (i48 either)"""
        if not (op.attributes["input_unsigned"] or op.attributes["output_unsigned"]):
            return True
        source, target = storage_of(op.operands[0]), storage_of(op.results[0])
        if op.input_unsigned and op.output_unsigned:
            return "both sides are unsigned"
        wide = I32 in (source, target) or I48 in (source, target)
        if op.input_unsigned and (source not in (I8, I16) or (wide and target == I32)):
            return f"input_unsigned from {source} to {target}"
        if op.output_unsigned and (target not in (I8, I16) or (wide and source == I32)):
            return f"output_unsigned from {source} to {target}"
        return True

    @constraint
    def same_shape(op) -> bool | str:
        """the result has the operand's shape"""
        source, target = op.operands[0], op.results[0]
        return equal_sizes(shape_of(source), shape_of(target)) or f"{target.type} of {source.type}"

    def infer(op) -> TensorType:
        return op.input.tensor_type


@TOSA.op("const")
class Const(DeclaredOp):
    """A tensor known at compile time (2.14.1)."""

    output = result("the tensor")
    values = attribute(CONSTANT, "its elements")
    datatypes = same("output", f"i1 i4 i8 i16 i32 i48 {FLOATS} {FP8}", later="i64")
    traits = ("constant",)

    @constraint
    def values_fit(op) -> bool | str:
        """the values have the result's shape and stored element type"""
        # By far the most frequent op: read without the accessors.
        dense, type_ = op.attributes["values"].type, op.results[0].tensor_type
        fits = dense.element == storage(type_) and equal_sizes(dense.shape, type_.shape)
        return fits or f"{dense} for {type_}"

    @constraint
    def int4_is_symmetric(op) -> bool | str:
        """numbers of i4 are from -7 to 7"""
        return int4_excess(op.attributes["values"]) or True

    def infer(op) -> TensorType:
        return op.values.type


@TOSA.op("const_shape")
class ConstShape(DeclaredOp):
    """A list of sizes known at compile time (since 1.0): a `!tosa.shape<N>` with its N numbers."""

    output = result("the sizes", ANY)
    values = attribute(CONSTANT, "`dense<...> : tensor<Nxindex>`")
    traits = ("constant",)

    @constraint
    def length_fits(op) -> bool | str:
        """the shape's length is the number of values"""
        count = op.values.type.num_elements
        return shape_rank(op.output.type) == count or f"{op.output.type} of {count} values"

    def infer(op) -> Any:
        return shape_type(op.values.type.num_elements)


@TOSA.op("identity")
class Identity(SameElements):
    """The tensor as it is (2.14.2)."""

    input1 = operand("the tensor")
    output = result("the same")
    datatypes = same("input1 output", f"i1 i4 i8 i16 i32 i48 {FLOATS} {FP8}", later="i64")

    def infer(op) -> TensorType:
        return op.input1.tensor_type


@TOSA.op("apply_scale")
class ApplyScale(DeclaredOp):
    """`(value * multiplier + round) >> shift` of numbers (1.9.2); not an operator of the specification: MLIR's code
    generation brings it forth, and text that holds it is read here."""

    value = operand("the number or tensor", ANY)
    multiplier = operand("i32 or i16", ANY)
    shift = operand("i8", ANY)
    output = result("i32", ANY)
    rounding_mode = attribute(ROUNDING_MODE, "see rescale")

    def infer(op) -> Any:
        type_ = op.value.type
        return type_.with_element(I32) if isinstance(type_, TensorType) else I32
