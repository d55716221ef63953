"""Matrix products and Fourier transforms (0.30 sections 2.3.6, 2.3.8 and 2.3.10)."""

from __future__ import annotations

from transload.errors import ShapeError
from transload.ir import F32, I48, TensorType
from transload.ir.declare import BOOLEAN, DeclaredOp, attribute, constraint, operand, result

from .base import (
    FP8,
    SCALAR,
    TOSA,
    accumulator_result,
    inferred_shapes_fit,
    merge_dims,
    rank,
    same,
    shape_of,
    storage_of,
    typed_rows,
    zero_points_fit,
)


def _product(op: MatMul | MatMulT, columns: int, inner: int) -> TensorType:
    a, b = shape_of(op.a), shape_of(op.b)
    stored = storage_of(op.a)
    element = F32 if str(stored) == "bf16" else I48 if str(stored) == "i16" else accumulator_result(stored)
    if a is None or b is None:
        return TensorType(None, element)
    if a[2] is not None and b[inner] is not None and a[2] != b[inner]:
        raise ShapeError(
            f"{op.called}: rows of {a[2]} times columns of {b[inner]}", hint="they must be of equal length")
    return TensorType((merge_dims(op, a[0], b[0]), a[1], b[columns]), element)


MULTIPLIED = typed_rows(
    "a b a_zp b_zp output", "i8 i8 i8 i8 i32", "i16 i16 i16 i16 i48", "f16 f16 f16 f16 f16", "f16 f16 f16 f16 f32",
    "bf16 bf16 bf16 bf16 f32", "f32 f32 f32 f32 f32",
    *(f"{a} {b} {a} {b} {o}" for a in FP8.split() for b in FP8.split() for o in ("f16", "f32")),
    later=("i16 i16 i16 i16 i64",))


@TOSA.op("matmul")
class MatMul(DeclaredOp):
    """Products of N matrices (2.3.8): sums over C of `(a - a_zp) * (b - b_zp)`.

    1.0: the zero points are operands of one element, zero for other types than i8. Give `element` F32 to
    accumulate f16 in f32.
    """

    a = operand("N,H,C", rank(3))
    b = operand("N,C,W", rank(3))
    a_zp = operand("zero point of a", SCALAR)
    b_zp = operand("zero point of b", SCALAR)
    output = result("N,H,W: i32 for i8, i48 for i16, f32 for bf16", rank(3))
    datatypes = MULTIPLIED

    @constraint
    def output_shape(op) -> bool | str:
        """the sizes of N and C agree, and the result is N,H,W"""
        return inferred_shapes_fit(op)

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8"""
        return zero_points_fit(op, ("a", "a_zp"), ("b", "b_zp"))

    def infer(op) -> TensorType:
        return _product(op, 2, 1)


@TOSA.op("matmul_t")
class MatMulT(DeclaredOp):
    """`matmul` with the second matrix transposed, its batch 1 or N (since 1.1)."""

    a = operand("N,H,C", rank(3))
    b = operand("D,W,C where D is 1 or N", rank(3))
    a_zp = operand("zero point of a", SCALAR)
    b_zp = operand("zero point of b", SCALAR)
    output = result("N,H,W", rank(3))
    datatypes = MULTIPLIED
    since = "1.1"

    @constraint
    def output_shape(op) -> bool | str:
        """the sizes of N and C agree, and the result is N,H,W"""
        return inferred_shapes_fit(op)

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for i8"""
        return zero_points_fit(op, ("a", "a_zp"), ("b", "b_zp"))

    def infer(op) -> TensorType:
        return _product(op, 1, 2)


def _power_of_two(size: int | None) -> bool:
    return size is None or (size > 0 and size & (size - 1) == 0)


class Transform(DeclaredOp):
    """What Fourier transforms have in common, of all versions."""

    @constraint
    def powers_of_two(op) -> bool | str:
        """height and width are powers of two (ERROR_IF !power_of_two)"""
        shape = shape_of(op.operands[0])
        return shape is None or all(map(_power_of_two, shape[1:])) or f"{op.operands[0].type}"

    @constraint
    def output_shape(op) -> bool | str:
        """both results have the shape that the transform gives"""
        return inferred_shapes_fit(op)


class Fourier(Transform):
    local_bound = attribute(BOOLEAN, "whether the error bound depends on nearby elements only", default=False)


@TOSA.op("fft2d")
class Fft2d(Fourier):
    """A batch of complex 2-D Fourier transforms, not normalised in either direction (2.3.6)."""

    input_real = operand("real part, N,H,W", rank(3))
    input_imag = operand("imaginary part, N,H,W", rank(3))
    output_real = result("real part, N,H,W", rank(3))
    output_imag = result("imaginary part, N,H,W", rank(3))
    inverse = attribute(BOOLEAN, "whether to transform back")
    datatypes = same("input_real input_imag output_real output_imag", "f32")

    def infer(op) -> list[TensorType]:
        return [op.input_real.tensor_type, op.input_real.tensor_type]


@TOSA.op("rfft2d")
class Rfft2d(Fourier):
    """A batch of 2-D Fourier transforms of real numbers (2.3.10); 1.0: the result is N,H,W/2+1."""

    input_real = operand("N,H,W", rank(3))
    output_real = result("real part, N,H,W/2+1", rank(3))
    output_imag = result("imaginary part, N,H,W/2+1", rank(3))
    datatypes = same("input_real output_real output_imag", "f32")

    def infer(op) -> list[TensorType]:
        shape = shape_of(op.input_real)
        if shape is not None:
            shape = (shape[0], shape[1], None if shape[2] is None else shape[2] // 2 + 1)
        return [TensorType(shape, op.input_real.element)] * 2
