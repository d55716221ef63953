"""dot_general and convolution."""

from __future__ import annotations

from transload.ir import Op
from transload.ir.declare import INT, STRING, DeclaredOp, attribute, constraint, operand, result
from transload.ir.types import FloatType, QuantType, TensorType, Type

from ..attributes import ALGORITHM, BOOLS, CONV_DIMS, DIMS, DOT_DIMS, NUMBERS, PRECISIONS, precisions_of
from ..types import (
    bits_of,
    compatible,
    element_of,
    expressed_of,
    is_per_axis,
    is_quantized,
    same,
    shape_of,
    sizes_fit,
    storage_of,
    tensor,
)
from .base import STABLEHLO, all_in, ones, padding_of, results_fit, shape_error, unique_and_in, windows


def _quantized_as(op: Op) -> bool:
    """Whether operands and result are quantized in one of the ways there are: none, all, or only rhs."""
    lhs, rhs, out = is_quantized(op.operands[0]), is_quantized(op.operands[1]), is_quantized(op.result)
    return (lhs, rhs, out) in ((False, False, False), (True, True, True), (False, True, False))


def _mixed_expressed(op: Op) -> bool:
    return (
        is_quantized(op.operands[0])
        or not is_quantized(op.operands[1])
        or (element_of(op.operands[0]) == expressed_of(op.operands[1]) == element_of(op.result))
    )


def _both(op: Op) -> bool:
    return is_quantized(op.operands[0]) and is_quantized(op.operands[1]) and is_quantized(op.result)


# --- dot_general


@STABLEHLO.op("dot_general")
class DotGeneral(DeclaredOp):
    """Sums of products over contracted dimensions, one for each index of the batched and remaining ones."""

    lhs = operand("the left tensor", tensor("bifcq"))
    rhs = operand("the right tensor", tensor())
    result = result("batched dimensions, then the rest of lhs, then the rest of rhs", tensor())
    dot_dimension_numbers = attribute(DOT_DIMS, "which dimensions are batched and contracted")
    precision_config = attribute(PRECISIONS, "how exact each operand is to be", optional=True)
    algorithm = attribute(ALGORITHM, "how it is to be computed", optional=True)

    @constraint
    def c1(op) -> bool:
        """(C1) both operands have the same number of batching dimensions"""
        d = op.dot_dimension_numbers
        return len(d.lhs_batching_dimensions) == len(d.rhs_batching_dimensions)

    @constraint
    def c2(op) -> bool:
        """(C2) both operands have the same number of contracting dimensions"""
        d = op.dot_dimension_numbers
        return len(d.lhs_contracting_dimensions) == len(d.rhs_contracting_dimensions)

    @constraint
    def c3(op) -> bool:
        """(C3) batching and contracting dimensions of lhs are all different"""
        d = op.dot_dimension_numbers
        both = d.lhs_batching_dimensions + d.lhs_contracting_dimensions
        return len(set(both)) == len(both)

    @constraint
    def c4(op) -> bool:
        """(C4) batching and contracting dimensions of rhs are all different"""
        d = op.dot_dimension_numbers
        both = d.rhs_batching_dimensions + d.rhs_contracting_dimensions
        return len(set(both)) == len(both)

    @constraint
    def c5(op) -> bool:
        """(C5) lhs_batching_dimensions are dimensions of lhs"""
        return all_in(op.dot_dimension_numbers.lhs_batching_dimensions, len(shape_of(op.lhs)))

    @constraint
    def c6(op) -> bool:
        """(C6) lhs_contracting_dimensions are dimensions of lhs"""
        return all_in(op.dot_dimension_numbers.lhs_contracting_dimensions, len(shape_of(op.lhs)))

    @constraint
    def c7(op) -> bool:
        """(C7) rhs_batching_dimensions are dimensions of rhs"""
        return all_in(op.dot_dimension_numbers.rhs_batching_dimensions, len(shape_of(op.rhs)))

    @constraint
    def c8(op) -> bool:
        """(C8) rhs_contracting_dimensions are dimensions of rhs"""
        return all_in(op.dot_dimension_numbers.rhs_contracting_dimensions, len(shape_of(op.rhs)))

    @constraint
    def c9(op) -> bool:
        """(C9) batching dimensions have the same sizes in both operands"""
        d = op.dot_dimension_numbers
        return _sizes_agree(op, d.lhs_batching_dimensions, d.rhs_batching_dimensions)

    @constraint
    def c10(op) -> bool:
        """(C10) contracting dimensions have the same sizes in both operands"""
        d = op.dot_dimension_numbers
        return _sizes_agree(op, d.lhs_contracting_dimensions, d.rhs_contracting_dimensions)

    @constraint
    def c11(op) -> bool:
        """(C11) precision_config has a precision for each operand"""
        return len(op.precision_config or ()) in (0, 2)

    @constraint
    def c12(op) -> bool | str:
        """(C12) the result has the batched sizes, then the remaining ones of lhs, then those of rhs"""
        return results_fit(op)

    @constraint
    def c13(op) -> bool | str:
        """(C13) without quantization, lhs and rhs have elements of the same kind"""
        if is_quantized(op.lhs) or is_quantized(op.rhs):
            return True
        return type(element_of(op.lhs)) is type(element_of(op.rhs)) or f"{element_of(op.lhs)} and {element_of(op.rhs)}"

    @constraint
    def c14(op) -> bool:
        """(C14) lhs and the result are both quantized or neither is, and with either, rhs is"""
        return _quantized_as(op)

    @constraint
    def c15(op) -> bool:
        """(C15) the zero points of a quantized rhs are 0"""
        element = element_of(op.rhs)
        return not isinstance(element, QuantType) or not any(element.zero_points)

    @constraint
    def c16(op) -> bool:
        """(C16) rhs quantized per axis is not contracted along that axis"""
        return not is_per_axis(op.rhs) or element_of(op.rhs).axis not in op.dot_dimension_numbers.rhs_contracting_dimensions

    @constraint
    def c17(op) -> bool:
        """(C17) quantized lhs and rhs have the same storage type"""
        return not _both(op) or storage_of(op.lhs) == storage_of(op.rhs)

    @constraint
    def c18(op) -> bool:
        """(C18) quantized lhs, rhs and result have the same expressed type"""
        return not _both(op) or same([expressed_of(value) for value in (op.lhs, op.rhs, op.result)])

    @constraint
    def c19(op) -> bool:
        """(C19) the result is quantized per tensor where rhs is"""
        return not _both(op) or is_per_axis(op.rhs) or not is_per_axis(op.result)

    @constraint
    def c20(op) -> bool:
        """(C20) with only rhs quantized, lhs and the result have its expressed type"""
        return _mixed_expressed(op)

    @constraint
    def c21(op) -> bool:
        """(C21) with an algorithm, all precisions are DEFAULT"""
        return op.algorithm is None or set(precisions_of(op.precision_config)) <= {"DEFAULT"}

    @constraint
    def c22(op) -> bool:
        """(C22) the algorithm's lhs_component_count is positive"""
        return op.algorithm is None or op.algorithm.number("lhs_component_count") > 0

    @constraint
    def c23(op) -> bool:
        """(C23) the algorithm's rhs_component_count is positive"""
        return op.algorithm is None or op.algorithm.number("rhs_component_count") > 0

    @constraint
    def c24(op) -> bool:
        """(C24) the algorithm's num_primitive_operations is positive"""
        return op.algorithm is None or op.algorithm.number("num_primitive_operations") > 0

    @constraint
    def algorithm_is_known(op) -> bool | str:
        """the algorithm is one that hardware has"""
        return op.algorithm is None or op.algorithm.is_known or f"{op.algorithm}"

    def infer(op) -> Type:
        d = op.attributes["dot_dimension_numbers"]
        lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
        batch, contracted = d.lhs_batching_dimensions, d.lhs_contracting_dimensions
        rest = d.rhs_batching_dimensions + d.rhs_contracting_dimensions
        if not all_in(batch + contracted, len(lhs)) or not all_in(rest, len(rhs)):
            raise shape_error(op, f"{d} does not fit operands of rank {len(lhs)} and {len(rhs)}")
        shape = (
            [lhs[i] for i in batch]
            + [s for i, s in enumerate(lhs) if i not in batch + contracted]
            + [s for i, s in enumerate(rhs) if i not in rest]
        )
        return TensorType(tuple(shape), element_of(op.operands[0]))


def _sizes_agree(op: Op, left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
    return all(i >= len(lhs) or j >= len(rhs) or sizes_fit(lhs[i], rhs[j]) for i, j in zip(left, right, strict=False))


@STABLEHLO.op("dot")
class Dot(DeclaredOp):
    """Product of vectors or matrices (deprecated: dot_general)."""

    lhs = operand("a vector or matrix", tensor("bifcq"))
    rhs = operand("a vector or matrix", tensor())
    result = result("the product", tensor())
    precision_config = attribute(PRECISIONS, "how exact each operand is to be", optional=True)

    @constraint
    def shapes(op) -> bool | str:
        """lhs and rhs have rank 1 or 2, and the last size of lhs is the first of rhs"""
        return results_fit(op)

    def infer(op) -> Type:
        lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
        if len(lhs) not in (1, 2) or len(rhs) not in (1, 2) or not sizes_fit(lhs[-1], rhs[0]):
            raise shape_error(op, f"shapes {lhs} and {rhs} cannot be multiplied")
        return TensorType(lhs[:-1] + rhs[1:], element_of(op.operands[0]))


class _Einsum(DeclaredOp):
    """A sum of products over letters, which stand for dimensions."""

    einsum_config = attribute(STRING, "which letters are whose dimensions, `ab,bc->ac`, or `ab->a` of one operand")

    @constraint
    def letters(op) -> bool | str:
        """einsum_config has a letter for each dimension of the operands, and of those each of the result's once"""
        left, arrow, right = op.einsum_config.replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(op.operands):
            return f"{op.einsum_config!r:.100} has {len(terms)} terms for {len(op.operands)} operands"
        for term, value in [*zip(terms, op.operands, strict=True), *([(right, op.results[0])] if arrow else [])]:
            letters, rank = term.replace("...", "", 1), len(shape_of(value))
            has_rest = "..." in term  # which stands for the dimensions that have no letter
            if not (letters == "" or (letters.isascii() and letters.isalpha())):
                return f"{term!r:.100} has other characters than letters"
            if len(letters) > rank or (len(letters) < rank and not has_rest):
                return f"{term!r:.100} does not name the dimensions of {value.type}"
        letters = right.replace("...", "", 1)
        return not arrow or (len(set(letters)) == len(letters) and set(letters) <= set(left))


@STABLEHLO.op("einsum")
class Einsum(_Einsum):
    """Einstein summation of two tensors (deprecated: dot_general)."""

    lhs = operand("the left tensor", tensor("bifcq"))
    rhs = operand("the right tensor", tensor("bifcq"))
    result = result("the sums", tensor("bifcq"))


@STABLEHLO.op("unary_einsum")
class UnaryEinsum(_Einsum):
    """Einstein summation of one tensor (deprecated)."""

    operand_ = operand("the tensor", tensor("bifcq"))
    result = result("the sums", tensor("bifcq"))


# --- convolution


def _spatial(op: Op) -> int:
    return len(shape_of(op.operands[0])) - 2


def _ones(op: Op) -> tuple[int, ...]:
    return ones(_spatial(op))


class _Convolution(DeclaredOp):
    """Windows of lhs multiplied with rhs, with strides, dilations, groups, and any order of dimensions."""

    window_strides = attribute(DIMS, "steps of the window", default=_ones)
    lhs_dilation = attribute(DIMS, "distance of elements of lhs", default=_ones)
    rhs_dilation = attribute(DIMS, "distance of elements of rhs", default=_ones)
    window_reversal = attribute(BOOLS, "dimensions in which the window is reversed", default=lambda op: (False,) * _spatial(op))
    dimension_numbers = attribute(CONV_DIMS, "which dimension is what")
    feature_group_count = attribute(INT, "groups of features")
    batch_group_count = attribute(INT, "groups of the batch")
    precision_config = attribute(PRECISIONS, "how exact each operand is to be", optional=True)

    @constraint
    def c1(op) -> bool:
        """(C1) lhs and rhs have the same rank, at least 2"""
        return len(shape_of(op.operands[0])) == len(shape_of(op.operands[1])) >= 2

    @constraint
    def c2(op) -> bool:
        """(C2) window_strides has a number for each spatial dimension"""
        return len(op.window_strides) == _spatial(op)

    @constraint
    def c3(op) -> bool:
        """(C3) window_strides are positive"""
        return all(number > 0 for number in op.window_strides)

    @constraint
    def c4(op) -> bool:
        """(C4) padding has a pair of numbers for each spatial dimension"""
        if len(op.operands) == 3:
            return compatible(shape_of(op.operands[2]), (_spatial(op), 2))
        dense = op.attribute("padding")
        return dense is None or tuple(dense.shape) == (_spatial(op), 2)

    @constraint
    def c5(op) -> bool:
        """(C5) lhs_dilation has a number for each spatial dimension"""
        return len(op.lhs_dilation) == _spatial(op)

    @constraint
    def c6(op) -> bool:
        """(C6) lhs_dilation is positive"""
        return all(number > 0 for number in op.lhs_dilation)

    @constraint
    def c7(op) -> bool:
        """(C7) rhs_dilation has a number for each spatial dimension"""
        return len(op.rhs_dilation) == _spatial(op)

    @constraint
    def c8(op) -> bool:
        """(C8) rhs_dilation is positive"""
        return all(number > 0 for number in op.rhs_dilation)

    @constraint
    def c9(op) -> bool:
        """(C9) window_reversal has a flag for each spatial dimension"""
        return len(op.window_reversal) == _spatial(op)

    @constraint
    def c12(op) -> bool:
        """(C12) input_spatial_dimensions has a dimension for each spatial one"""
        return len(op.dimension_numbers.input_spatial_dimensions) == _spatial(op)

    @constraint
    def c13(op) -> bool:
        """(C13) the input's batch, spatial and feature dimensions are different ones of lhs"""
        d = op.dimension_numbers
        return unique_and_in(
            (d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension), len(shape_of(op.operands[0]))
        )

    @constraint
    def c17(op) -> bool:
        """(C17) kernel_spatial_dimensions has a dimension for each spatial one"""
        return len(op.dimension_numbers.kernel_spatial_dimensions) == _spatial(op)

    @constraint
    def c18(op) -> bool:
        """(C18) the kernel's spatial, input and output feature dimensions are different ones of rhs"""
        d = op.dimension_numbers
        return unique_and_in(
            (*d.kernel_spatial_dimensions, d.kernel_input_feature_dimension, d.kernel_output_feature_dimension),
            len(shape_of(op.operands[1])),
        )

    @constraint
    def c19(op) -> bool:
        """(C19) output_spatial_dimensions has a dimension for each spatial one"""
        return len(op.dimension_numbers.output_spatial_dimensions) == _spatial(op)

    @constraint
    def c20(op) -> bool:
        """(C20) the output's batch, spatial and feature dimensions are different ones of the result"""
        d = op.dimension_numbers
        return unique_and_in(
            (d.output_batch_dimension, *d.output_spatial_dimensions, d.output_feature_dimension), len(shape_of(op.operands[0]))
        )

    @constraint
    def c21(op) -> bool:
        """(C21) feature_group_count is positive"""
        return op.feature_group_count > 0

    @constraint
    def c22(op) -> bool:
        """(C22) batch_group_count is positive"""
        return op.batch_group_count > 0

    @constraint
    def c23(op) -> bool:
        """(C23) feature_group_count or batch_group_count is 1"""
        return op.feature_group_count == 1 or op.batch_group_count == 1

    @constraint
    def c10(op) -> bool:
        """(C10) batch_group_count divides the batch"""
        return _divides(op.batch_group_count, _size(op, 0, "input_batch_dimension"))

    @constraint
    def c11(op) -> bool:
        """(C11) feature_group_count divides the features of lhs"""
        return _divides(op.feature_group_count, _size(op, 0, "input_feature_dimension"))

    @constraint
    def c14(op) -> bool | str:
        """(C14) rhs has as many input features as a group of lhs"""
        have, features = _size(op, 1, "kernel_input_feature_dimension"), _size(op, 0, "input_feature_dimension")
        wanted = None if features is None or op.feature_group_count < 1 else features // op.feature_group_count
        return sizes_fit(have, wanted) or f"{have}, not {wanted}"

    @constraint
    def c15(op) -> bool:
        """(C15) batch_group_count divides the output features"""
        return _divides(op.batch_group_count, _size(op, 1, "kernel_output_feature_dimension"))

    @constraint
    def c16(op) -> bool:
        """(C16) feature_group_count divides the output features"""
        return _divides(op.feature_group_count, _size(op, 1, "kernel_output_feature_dimension"))

    @constraint
    def c24(op) -> bool:
        """(C24) precision_config has a precision for each operand"""
        return len(op.precision_config or ()) in (0, 2)

    @constraint
    def c25(op) -> bool | str:
        """(C25) the result has the batch, the output features, and as many elements in space as there are windows"""
        return results_fit(op)

    @constraint
    def c26(op) -> bool:
        """(C26) the result has the rank of lhs"""
        return len(shape_of(op.result)) == len(shape_of(op.operands[0]))

    @constraint
    def c27(op) -> bool | str:
        """(C27) without quantization, lhs and rhs have the same element type, or are floats of 8 bits both"""
        lhs, rhs = element_of(op.operands[0]), element_of(op.operands[1])
        return is_quantized(lhs) or is_quantized(rhs) or _may_mix(lhs, rhs) or f"{lhs} and {rhs}"

    @constraint
    def c28(op) -> bool:
        """(C28) lhs and the result are both quantized or neither is, and with either, rhs is"""
        return _quantized_as(op)

    @constraint
    def c29(op) -> bool:
        """(C29) rhs quantized per axis is so along the output features"""
        return not is_per_axis(op.operands[1]) or (
            element_of(op.operands[1]).axis == op.dimension_numbers.kernel_output_feature_dimension
        )

    @constraint
    def c30(op) -> bool:
        """(C30) a result quantized per axis is so along the output features"""
        return not is_per_axis(op.result) or element_of(op.result).axis == op.dimension_numbers.output_feature_dimension

    @constraint
    def c31(op) -> bool:
        """(C31) quantized lhs and rhs have the same storage type"""
        return not _both(op) or storage_of(op.operands[0]) == storage_of(op.operands[1])

    @constraint
    def c32(op) -> bool:
        """(C32) quantized lhs, rhs and result have the same expressed type"""
        return not _both(op) or same([expressed_of(value) for value in (*op.operands[:2], op.result)])

    @constraint
    def c33(op) -> bool:
        """(C33) the result is quantized per tensor where rhs is"""
        return not _both(op) or is_per_axis(op.operands[1]) or not is_per_axis(op.result)

    @constraint
    def c34(op) -> bool:
        """(C34) with only rhs quantized, lhs and the result have its expressed type"""
        return _mixed_expressed(op)

    def infer(op) -> Type:
        return TensorType(convolution_shape(op), element_of(op.operands[0]))


def _may_mix(lhs: Type, rhs: Type) -> bool:
    """Whether elements are of one type, or floats of 8 bits both, which version 1.20 brought."""
    return lhs == rhs or (isinstance(lhs, FloatType) and isinstance(rhs, FloatType) and bits_of(lhs) == bits_of(rhs) == 8)


def _divides(count: int, size: int | None) -> bool:
    return size is None or count < 1 or size % count == 0


def _size(op: _Convolution, operand_index: int, role: str) -> int | None:
    shape, dimension = shape_of(op.operands[operand_index]), getattr(op.dimension_numbers, role)
    return shape[dimension] if 0 <= dimension < len(shape) else None


def convolution_shape(op: _Convolution, padding: list[list[int]] | None = None) -> tuple[int | None, ...]:
    """The result's shape (C25); `padding` where it is computed."""
    d = op.dimension_numbers
    lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
    rank = len(lhs)
    roles = (
        (d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension),
        (d.kernel_output_feature_dimension, *d.kernel_spatial_dimensions, d.kernel_input_feature_dimension),
        (d.output_batch_dimension, *d.output_spatial_dimensions, d.output_feature_dimension),
    )
    if len(rhs) != rank or not all(len(role) == rank and unique_and_in(role, rank) for role in roles):
        raise shape_error(op, f"{d} does not fit operands of rank {rank} and {len(rhs)}")
    numbers = (op.window_strides, op.lhs_dilation, op.rhs_dilation)
    if any(len(given) != rank - 2 or min(given, default=1) < 1 for given in numbers) or op.batch_group_count < 1:
        raise shape_error(op, "strides, dilations and group counts must be positive, one a spatial dimension")
    computed = len(op.operands) == 3 and padding is None
    pads = padding if padding is not None else [] if computed else padding_of(op, rank - 2)
    if not computed and len(pads) != rank - 2:
        raise shape_error(op, f"padding has {len(pads)} pairs for {rank - 2} spatial dimensions")
    shape: list[int | None] = [None] * rank
    batch = lhs[d.input_batch_dimension]
    shape[d.output_batch_dimension] = None if batch is None else batch // op.batch_group_count
    shape[d.output_feature_dimension] = rhs[d.kernel_output_feature_dimension]
    for place, out in enumerate(d.output_spatial_dimensions):
        shape[out] = (
            None
            if computed
            else windows(
                lhs[d.input_spatial_dimensions[place]],
                pads[place],
                op.lhs_dilation[place],
                rhs[d.kernel_spatial_dimensions[place]],
                op.rhs_dilation[place],
                op.window_strides[place],
            )
        )
    return tuple(shape)


@STABLEHLO.op("convolution")
class Convolution(_Convolution):
    """Windows of lhs multiplied with rhs, with strides, dilations, groups, and any order of dimensions."""

    lhs = operand("the input", tensor("bifcq"))
    rhs = operand("the kernel", tensor())
    result = result("the output", tensor())
    padding = attribute(NUMBERS, "elements before and behind, a pair a spatial dimension", optional=True)


@STABLEHLO.op("dynamic_conv")
class DynamicConv(_Convolution):
    """`convolution` with computed padding."""

    lhs = operand("the input", tensor("bifcq"))
    rhs = operand("the kernel", tensor())
    padding = operand("elements before and behind, a pair a spatial dimension", tensor("n", rank=2))
    result = result("the output", tensor())
