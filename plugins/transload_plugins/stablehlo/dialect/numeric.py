"""Batch normalization, linear algebra, Fourier transforms, random numbers."""

from __future__ import annotations

from typing import Any

from transload.ir.declare import BOOLEAN, FLOAT32, INT, DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import ComplexType, TensorType, Type

from ..attributes import DIMS, DISTRIBUTION, FFT_TYPE, RNG_ALGORITHM, TRANSPOSE
from ..types import (
    baseline,
    compatible,
    element_of,
    is_complex,
    is_float,
    same,
    same_baseline,
    same_shape,
    same_type,
    shape_of,
    sizes_fit,
    tensor,
)
from .base import STABLEHLO
from .movement import dims_of

_operand, _result = operand, result  # the names are also those of operands
VECTOR = tensor("fq", rank=1)
FLOATS = tensor("fq")
NUMBERS = tensor("fcq")


class _BatchNorm(DeclaredOp):
    """Normalization over all dimensions but one."""

    epsilon = attribute(FLOAT32, "added to the variance")
    feature_index = attribute(INT, "the dimension that is kept")

    @constraint
    def c1(op) -> bool:
        """(C1) feature_index is a dimension of the operand"""
        return 0 <= op.feature_index < len(shape_of(op.operands[0]))

    @constraint
    def c2(op) -> bool:
        """(C2) operands and results have the same element type, but for scales and zero points"""
        return same([baseline(value) for value in (*op.operands, *op.results)])


def _has_features(op: BatchNormGrad | BatchNormInference | BatchNormTraining, value: Any) -> bool | str:
    """Whether a vector has an element a feature."""
    shape = shape_of(op.operands[0])
    if not 0 <= op.feature_index < len(shape):
        return True  # (C1)
    size = shape[op.feature_index]
    return sizes_fit(shape_of(value)[0], size) or f"{shape_of(value)[0]}, not {size}"


@STABLEHLO.op("batch_norm_training")
class BatchNormTraining(_BatchNorm):
    """The operand normalized by its own mean and variance, and these."""

    operand_ = _operand("the tensor", FLOATS)
    scale = _operand("a factor a feature", VECTOR)
    offset = _operand("added, a number a feature", VECTOR)
    output = _result("normalized", FLOATS)
    batch_mean = _result("mean of each feature", VECTOR)
    batch_var = _result("variance of each feature", VECTOR)

    @constraint
    def c3(op) -> bool | str:
        """(C3) scale has an element a feature"""
        return _has_features(op, op.scale)

    @constraint
    def c4(op) -> bool | str:
        """(C4) offset has an element a feature"""
        return _has_features(op, op.offset)

    @constraint
    def c5(op) -> bool | str:
        """(C5) batch_mean has an element a feature"""
        return _has_features(op, op.batch_mean)

    @constraint
    def c6(op) -> bool | str:
        """(C6) batch_var has an element a feature"""
        return _has_features(op, op.batch_var)

    @constraint
    def c7(op) -> bool | str:
        """(C7) operand and output have the same type, but for scales and zero points"""
        return same_baseline(op.operands[0], op.output)

    def infer(op) -> list[Type]:
        return [op.operands[0].type, op.operands[1].type, op.operands[1].type]


@STABLEHLO.op("batch_norm_inference")
class BatchNormInference(_BatchNorm):
    """The operand normalized by a mean and variance that are given."""

    operand_ = _operand("the tensor", FLOATS)
    scale = _operand("a factor a feature", VECTOR)
    offset = _operand("added, a number a feature", VECTOR)
    mean = _operand("mean of each feature", VECTOR)
    variance = _operand("variance of each feature", VECTOR)
    result = _result("normalized", FLOATS)

    @constraint
    def c3(op) -> bool | str:
        """(C3) scale has an element a feature"""
        return _has_features(op, op.scale)

    @constraint
    def c4(op) -> bool | str:
        """(C4) offset has an element a feature"""
        return _has_features(op, op.offset)

    @constraint
    def c5(op) -> bool | str:
        """(C5) mean has an element a feature"""
        return _has_features(op, op.mean)

    @constraint
    def c6(op) -> bool | str:
        """(C6) variance has an element a feature"""
        return _has_features(op, op.variance)

    @constraint
    def c7(op) -> bool | str:
        """(C7) operand and result have the same type, but for scales and zero points"""
        return same_baseline(op.operands[0], op.result)

    def infer(op) -> Type:
        return op.operands[0].type


@STABLEHLO.op("batch_norm_grad")
class BatchNormGrad(_BatchNorm):
    """Gradients of batch_norm_training in its operands."""

    operand_ = _operand("the tensor", FLOATS)
    scale = _operand("a factor a feature", VECTOR)
    mean = _operand("mean of each feature", VECTOR)
    variance = _operand("variance of each feature", VECTOR)
    grad_output = _operand("gradient in the output", FLOATS)
    grad_operand = _result("gradient in the operand", FLOATS)
    grad_scale = _result("gradient in scale", VECTOR)
    grad_offset = _result("gradient in offset", VECTOR)

    @constraint
    def c3(op) -> bool | str:
        """(C3) operand, grad_output and grad_operand have the same shape"""
        return same_shape(op.operands[0], op.grad_output, op.grad_operand)

    @constraint
    def c4(op) -> bool | str:
        """(C4) scale, mean, variance, grad_scale and grad_offset have the same shape"""
        return same_shape(op.scale, op.mean, op.variance, op.grad_scale, op.grad_offset)

    @constraint
    def c5(op) -> bool | str:
        """(C5) scale has an element a feature"""
        return _has_features(op, op.scale)

    def infer(op) -> list[Type]:
        return [op.operands[0].type, op.operands[1].type, op.operands[1].type]


# --- linear algebra


@STABLEHLO.op("cholesky")
class Cholesky(DeclaredOp):
    """Matrices taken apart into a triangular one times its conjugate transpose."""

    a = _operand("Hermitian, positive-definite matrices", NUMBERS)
    result = _result("triangular matrices", NUMBERS)
    lower = attribute(BOOLEAN, "whether the lower triangle is read and given", default=False)

    @constraint
    def c1(op) -> bool | str:
        """(C1) a and the result have the same type, but for scales and zero points"""
        return same_baseline(op.a, op.result)

    @constraint
    def c2(op) -> bool:
        """(C2) a has at least rank 2"""
        return len(shape_of(op.a)) >= 2

    @constraint
    def c3(op) -> bool:
        """(C3) the matrices are square"""
        shape = shape_of(op.a)
        return len(shape) < 2 or sizes_fit(shape[-2], shape[-1])

    def infer(op) -> Type:
        return op.operands[0].type


@STABLEHLO.op("triangular_solve")
class TriangularSolve(DeclaredOp):
    """Systems of linear equations with triangular matrices."""

    a = _operand("the matrices", NUMBERS)
    b = _operand("the right-hand sides", NUMBERS)
    result = _result("the solutions", NUMBERS)
    left_side = attribute(BOOLEAN, "whether the matrix stands left of the solution")
    lower = attribute(BOOLEAN, "whether the lower triangle is read")
    unit_diagonal = attribute(BOOLEAN, "whether the diagonal is taken to be 1")
    transpose_a = attribute(TRANSPOSE, "whether the matrix is transposed first")

    @constraint
    def c1(op) -> bool:
        """(C1) a and b have the same element type, but for scales and zero points"""
        return baseline(op.a) == baseline(op.b)

    @constraint
    def c2(op) -> bool:
        """(C2) a and b have the same rank, at least 2"""
        return len(shape_of(op.a)) == len(shape_of(op.b)) >= 2

    @constraint
    def c3(op) -> bool:
        """(C3) the matrices are square, as large as b is on the side where they stand, and as many"""
        a, b = shape_of(op.a), shape_of(op.b)
        if len(a) < 2 or len(b) < 2:
            return True  # (C2)
        return compatible(a[:-2], b[:-2]) and sizes_fit(a[-2], a[-1]) and sizes_fit(a[-1], b[-2 if op.left_side else -1])

    @constraint
    def c4(op) -> bool | str:
        """(C4) b and the result have the same type, but for scales and zero points"""
        return same_baseline(op.b, op.result)

    @constraint
    def i6(op) -> bool:
        """(I6) transpose_a is NO_TRANSPOSE, TRANSPOSE or ADJOINT"""
        return op.transpose_a != "TRANSPOSE_INVALID"

    def infer(op) -> Type:
        return op.operands[1].type


# --- Fourier transforms


@STABLEHLO.op("fft")
class Fft(DeclaredOp):
    """Discrete Fourier transforms over the last one to three dimensions, and their inverses."""

    operand_ = _operand("the tensor", tensor("fc"))
    result = _result("the transform", tensor("fc"))
    fft_type = attribute(FFT_TYPE, "forward or inverse, of complex or real numbers")
    fft_length = attribute(DIMS, "sizes of the dimensions, on the real side")

    @constraint
    def c1(op) -> bool:
        """(C1) fft_length has no more sizes than the operand has dimensions"""
        return len(op.fft_length) <= len(shape_of(op.operands[0]))

    @constraint
    def c2(op) -> bool | str:
        """(C2) FFT and IFFT are of complex numbers; RFFT takes the real ones of such, and IRFFT gives them"""
        before, after = element_of(op.operands[0]), element_of(op.result)
        if op.fft_type in ("FFT", "IFFT"):
            return (is_complex(before) and before == after) or f"{before} to {after}"
        if op.fft_type == "RFFT":
            return (is_float(before) and after == ComplexType(before)) or f"{before} to {after}"
        return (is_float(after) and before == ComplexType(after)) or f"{before} to {after}"

    @constraint
    def c3(op) -> bool:
        """(C3) fft_length has 1 to 3 sizes"""
        return 1 <= len(op.fft_length) <= 3

    @constraint
    def c4(op) -> bool | str:
        """(C4) the last dimensions of the real tensor have the sizes fft_length"""
        real = next((value for value in (op.operands[0], op.result) if is_float(value)), None)
        if real is None or not op.fft_length:
            return True
        last = shape_of(real)[-len(op.fft_length) :]
        return compatible(last, op.fft_length) or f"{last}, not {op.fft_length}"

    @constraint
    def c5(op) -> bool | str:
        """(C5) the result has the operand's shape, but that the complex side of a real transform has size N / 2 + 1 last"""
        before, after = shape_of(op.operands[0]), shape_of(op.result)
        if op.fft_type in ("FFT", "IFFT"):
            return same_shape(op.operands[0], op.result)
        real, complex_ = (before, after) if op.fft_type == "RFFT" else (after, before)
        half = None if real[-1] is None else real[-1] // 2 + 1 if real[-1] else 0
        return (compatible(real[:-1], complex_[:-1]) and sizes_fit(complex_[-1], half)) or f"{before} to {after}"

    def infer(op) -> Type:
        shape, element = shape_of(op.operands[0]), element_of(op.operands[0])
        if op.fft_type == "RFFT":
            last = None if shape[-1] is None else shape[-1] // 2 + 1 if shape[-1] else 0
            return TensorType((*shape[:-1], last), ComplexType(element))
        if op.fft_type == "IRFFT" and isinstance(element, ComplexType):
            return TensorType((*shape[:-1], op.fft_length[-1]), element.element)
        return op.operands[0].type


# --- random numbers


@STABLEHLO.op("rng")
class Rng(DeclaredOp):
    """Random numbers, uniform in `[a, b)`, or normal of mean a and deviation b."""

    a = _operand("the least, or the mean", tensor("bif", rank=0))
    b = _operand("the bound, or the deviation", tensor("bif", rank=0))
    shape = _operand("the sizes", tensor("n", rank=1, static=True))
    result = _result("the numbers", tensor("bif"))
    rng_distribution = attribute(DISTRIBUTION, "how they are spread")
    traits = ("random",)

    @constraint
    def c1(op) -> bool:
        """(C1) a, b and the result have the same element type"""
        return same([element_of(value) for value in (op.a, op.b, op.result)])

    @constraint
    def c2(op) -> bool:
        """(C2) normal numbers are floats"""
        return op.rng_distribution != "NORMAL" or is_float(op.a)

    @constraint
    def c3(op) -> bool | str:
        """(C3) the result has the shape `shape`"""
        known = dims_of(op.operands[2])
        if known is None:
            return sizes_fit(shape_of(op.operands[2])[0], len(shape_of(op.result)))
        return compatible(known, shape_of(op.result)) or f"{shape_of(op.result)}, not {known}"


@STABLEHLO.op("rng_bit_generator")
class RngBitGenerator(DeclaredOp):
    """Random bits that a state determines, and the state after them."""

    initial_state = _operand("the state: of ui64 where the program runs (I2)", tensor("if"))
    output_state = _result("the state after it", tensor("if"))
    output = _result("the bits, as elements", tensor("if", static=True))
    rng_algorithm = attribute(RNG_ALGORITHM, "how they are computed")

    @constraint
    def c1(op) -> bool | str:
        """(C1) initial_state and output_state have the same type"""
        return same_type(op.initial_state, op.output_state)

    @constraint
    def c2(op) -> bool | str:
        """(C2) the state has 2 elements for THREE_FRY, 2 or 3 for PHILOX"""
        if len(shape_of(op.initial_state)) != 1:
            return True  # as all released artifacts of older versions have it, which no verifier refuses; it does not run
        size = shape_of(op.initial_state)[0]
        allowed = {"THREE_FRY": (2, None), "PHILOX": (2, 3, None)}.get(op.rng_algorithm)
        return allowed is None or size in allowed or f"it has {size}"
