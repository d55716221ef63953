"""Ops that apply a function to elements: reductions, windows, sorting, maps."""

from __future__ import annotations

from typing import Any

from transload.ir import Op
from transload.ir.declare import (
    BOOLEAN,
    INT,
    DeclaredOp,
    attribute,
    constraint,
    operand,
    region,
    result,
    variadic,
    variadic_result,
)
from transload.ir.types import BOOL, TensorType, Type

from ..attributes import DIMS, NUMBERS
from ..types import (
    compatible,
    element_of,
    function_types,
    result_types,
    same_shape,
    same_type,
    shape_of,
    tensor,
)
from .base import STABLEHLO, all_in, ones, padding_of, results_fit, shape_error, windows
from .indexing import reduces, same_elements

_operand, _result = operand, result  # the names are also those of operands
PER_TENSOR = tensor("bifcq")


def _inputs(op: Op) -> tuple[Any, ...]:
    return op.operands[: len(op.operands) // 2]


def _init_values(op: Op) -> tuple[Any, ...]:
    return op.operands[len(op.operands) // 2 :]


def _elements(op: Op) -> list[Type]:
    """Element types of the results: what the function works on."""
    return (
        [element_of(type_) for type_ in result_types(op.regions[0])]
        if op.regions and op.regions[0].blocks
        else [element_of(value) for value in _inputs(op)]
    )


@STABLEHLO.op("reduce")
class Reduce(DeclaredOp):
    """A function applied over dimensions, until they are gone. The operands are the inputs, then their initial values."""

    arguments = variadic("inputs, init_values", PER_TENSOR)
    outputs = variadic_result("the inputs without the dimensions", PER_TENSOR)
    dimensions = attribute(DIMS, "the dimensions that go")
    body = region("combines two elements into one")

    @constraint
    def c3(op) -> bool:
        """(C3) there are inputs, as many as initial values and results"""
        return len(op.operands) == 2 * len(op.results) > 0

    @constraint
    def c1(op) -> bool | str:
        """(C1) all inputs have the same shape"""
        return same_shape(*_inputs(op))

    @constraint
    def i2(op) -> bool:
        """(I2) initial values are scalars, or have the shape of the results, where body combines such tensors"""
        shapes = {shape_of(value) for value in _init_values(op)}
        return shapes == {()} or shapes == {shape_of(value) for value in op.results}

    @constraint
    def c2(op) -> bool:
        """(C2) inputs and initial values have the same element types"""
        return [element_of(value) for value in _inputs(op)] == [element_of(value) for value in _init_values(op)]

    @constraint
    def c4(op) -> bool:
        """(C4) dimensions are dimensions of the inputs"""
        return all_in(op.dimensions, len(shape_of(op.operands[0])))

    @constraint
    def c5(op) -> bool:
        """(C5) dimensions are all different"""
        return len(set(op.dimensions)) == len(op.dimensions)

    @constraint
    def c6(op) -> bool | str:
        """(C6) body combines two sets of scalars, one of each input's element type, perhaps promoted, into one

        Its verifiers take tensors of the results' shape in their place, which is no part of the specification.
        """
        return reduces(op.body, [element_of(value) for value in _inputs(op)], shape_of(op.operands[-1]))

    @constraint
    def c7(op) -> bool | str:
        """(C7) the results have the shape of the inputs without dimensions"""
        return results_fit(op)

    @constraint
    def c8(op) -> bool:
        """(C8) the results have the element types that body gives"""
        return same_elements(op.results, result_types(op.body))

    def infer(op) -> list[Type]:
        gone = op.attributes["dimensions"]
        if not all_in(gone, len(shape_of(op.operands[0]))):
            raise shape_error(op, f"dimensions {gone} of a tensor of rank {len(shape_of(op.operands[0]))}")
        shape = tuple(size for i, size in enumerate(shape_of(op.operands[0])) if i not in gone)
        return [TensorType(shape, element) for element in _elements(op)]


def _ones(op: Op) -> tuple[int, ...]:
    return ones(len(shape_of(op.operands[0])))


@STABLEHLO.op("reduce_window")
class ReduceWindow(DeclaredOp):
    """A function applied over windows. The operands are the inputs, then their initial values, which also pad."""

    arguments = variadic("inputs, init_values", PER_TENSOR)
    outputs = variadic_result("an element a window", PER_TENSOR)
    window_dimensions = attribute(DIMS, "sizes of the window")
    window_strides = attribute(DIMS, "steps of the window", default=_ones)
    base_dilations = attribute(DIMS, "distance of elements of the inputs", default=_ones)
    window_dilations = attribute(DIMS, "distance of elements in the window", default=_ones)
    padding = attribute(NUMBERS, "elements before and behind, a pair a dimension", optional=True)
    body = region("combines two elements into one")

    @constraint
    def c1(op) -> bool:
        """(C1) there are inputs, as many as initial values and results"""
        return len(op.operands) == 2 * len(op.results) > 0

    @constraint
    def c2(op) -> bool | str:
        """(C2) all inputs have the same shape"""
        return same_shape(*_inputs(op))

    @constraint
    def i2(op) -> bool:
        """(I2) initial values are scalars"""
        return all(shape_of(value) == () for value in _init_values(op))

    @constraint
    def c3(op) -> bool:
        """(C3) inputs and initial values have the same element types"""
        return [element_of(value) for value in _inputs(op)] == [element_of(value) for value in _init_values(op)]

    @constraint
    def c4(op) -> bool:
        """(C4) window_dimensions has a size for each dimension"""
        return len(op.window_dimensions) == len(shape_of(op.operands[0]))

    @constraint
    def c5(op) -> bool:
        """(C5) window_dimensions are positive"""
        return all(number > 0 for number in op.window_dimensions)

    @constraint
    def c6(op) -> bool:
        """(C6) window_strides has a number for each dimension"""
        return len(op.window_strides) == len(shape_of(op.operands[0]))

    @constraint
    def c7(op) -> bool:
        """(C7) window_strides are positive"""
        return all(number > 0 for number in op.window_strides)

    @constraint
    def c8(op) -> bool:
        """(C8) base_dilations has a number for each dimension"""
        return len(op.base_dilations) == len(shape_of(op.operands[0]))

    @constraint
    def c9(op) -> bool:
        """(C9) base_dilations are positive"""
        return all(number > 0 for number in op.base_dilations)

    @constraint
    def c10(op) -> bool:
        """(C10) window_dilations has a number for each dimension"""
        return len(op.window_dilations) == len(shape_of(op.operands[0]))

    @constraint
    def c11(op) -> bool:
        """(C11) window_dilations are positive"""
        return all(number > 0 for number in op.window_dilations)

    @constraint
    def c12(op) -> bool:
        """(C12) padding has a pair of numbers for each dimension"""
        return op.padding is None or tuple(op.padding.shape) == (len(shape_of(op.operands[0])), 2)

    @constraint
    def c13(op) -> bool | str:
        """(C13) body combines two sets of scalars, one of each input's element type, perhaps promoted, into one"""
        return reduces(op.body, [element_of(value) for value in _inputs(op)])

    @constraint
    def c14(op) -> bool | str:
        """(C14) all results have the same shape"""
        return same_shape(*op.results)

    @constraint
    def c15(op) -> bool | str:
        """(C15) the results have as many elements in each dimension as there are windows"""
        return results_fit(op)

    @constraint
    def c16(op) -> bool:
        """(C16) the results have the element types that body gives"""
        return same_elements(op.results, result_types(op.body))

    def infer(op) -> list[Type]:
        shape = shape_of(op.operands[0])
        rank = len(shape)
        numbers = (op.window_dimensions, op.window_strides, op.base_dilations, op.window_dilations)
        pads = padding_of(op, rank)
        if any(len(given) != rank or min(given, default=1) < 1 for given in numbers) or len(pads) != rank:
            raise shape_error(op, f"windows, strides, dilations and padding must be positive, one for each of {rank} dimensions")
        out = tuple(
            windows(
                shape[i], pads[i], op.base_dilations[i], op.window_dimensions[i], op.window_dilations[i], op.window_strides[i]
            )
            for i in range(rank)
        )
        return [TensorType(out, element) for element in _elements(op)]


@STABLEHLO.op("select_and_scatter")
class SelectAndScatter(DeclaredOp):
    """Numbers of a source, one a window, put where in its window of the operand a function selects: max pooling's gradient."""

    operand_ = _operand("the tensor that windows select in", PER_TENSOR)
    source = _operand("a number a window", PER_TENSOR)
    init_value = _operand("what numbers are combined with", tensor("bifcq", rank=0))
    result = _result("of the operand's shape", PER_TENSOR)
    window_dimensions = attribute(DIMS, "sizes of the window", default=_ones)
    window_strides = attribute(DIMS, "steps of the window", default=_ones)
    padding = attribute(NUMBERS, "elements before and behind, a pair a dimension", optional=True)
    select = region("whether to keep the first of two elements")
    scatter = region("combines two numbers at one place")

    @constraint
    def c1(op) -> bool:
        """(C1) operand and source have the same element type"""
        return element_of(op.operands[0]) == element_of(op.operands[1])

    @constraint
    def c4(op) -> bool:
        """(C4) window_dimensions has a size for each dimension"""
        return len(op.window_dimensions) == len(shape_of(op.operands[0]))

    @constraint
    def c5(op) -> bool:
        """(C5) window_dimensions are positive"""
        return all(number > 0 for number in op.window_dimensions)

    @constraint
    def c6(op) -> bool:
        """(C6) window_strides has a number for each dimension"""
        return len(op.window_strides) == len(shape_of(op.operands[0]))

    @constraint
    def c7(op) -> bool:
        """(C7) window_strides are positive"""
        return all(number > 0 for number in op.window_strides)

    @constraint
    def c8(op) -> bool:
        """(C8) padding has a pair of numbers for each dimension"""
        return op.padding is None or tuple(op.padding.shape) == (len(shape_of(op.operands[0])), 2)

    @constraint
    def c2(op) -> bool | str:
        """(C2) source has as many elements in each dimension as there are windows"""
        shape = shape_of(op.operands[0])
        rank, pads = len(shape), padding_of(op, len(shape))
        if (
            any(len(given) != rank or min(given, default=1) < 1 for given in (op.window_dimensions, op.window_strides))
            or len(pads) != rank
        ):
            return True  # (C4) to (C8)
        wanted = tuple(windows(shape[i], pads[i], 1, op.window_dimensions[i], 1, op.window_strides[i]) for i in range(rank))
        return compatible(shape_of(op.operands[1]), wanted) or f"{shape_of(op.operands[1])}, not {wanted}"

    @constraint
    def c3(op) -> bool:
        """(C3) init_value has the operand's element type"""
        return element_of(op.operands[2]) == element_of(op.operands[0])

    @constraint
    def c9(op) -> bool:
        """(C9) select compares two scalars of the operand's element type"""
        inputs, outputs = function_types(op.regions[0])
        scalar = TensorType((), element_of(op.operands[0]))
        return inputs == [scalar, scalar] and outputs == [TensorType((), BOOL)]

    @constraint
    def c10(op) -> bool | str:
        """(C10) scatter combines two scalars of the operand's element type, perhaps promoted, into one"""
        return reduces(op.regions[1], [element_of(op.operands[0])])

    @constraint
    def c11(op) -> bool | str:
        """(C11) the result has the operand's shape"""
        return same_shape(op.operands[0], op.result)

    @constraint
    def c12(op) -> bool:
        """(C12) the result has the element type that scatter gives"""
        return same_elements(op.results, result_types(op.regions[1]))

    def infer(op) -> Type:
        kinds = result_types(op.regions[1]) if len(op.regions) > 1 else [op.operands[0].type]
        return TensorType(shape_of(op.operands[0]), element_of(kinds[0]))


@STABLEHLO.op("sort")
class Sort(DeclaredOp):
    """Inputs sorted together along a dimension, by a function that says whether elements come before others."""

    inputs = variadic("the tensors", PER_TENSOR)
    outputs = variadic_result("of the same types", PER_TENSOR)
    dimension = attribute(INT, "the dimension; negative ones count from the last", default=-1)
    is_stable = attribute(BOOLEAN, "whether equal elements keep their order", default=False)
    comparator = region("whether the first of two sets of elements comes before the second")

    @constraint
    def c1(op) -> bool:
        """(C1) there is an input"""
        return len(op.inputs) > 0

    @constraint
    def c2(op) -> bool:
        """(C2) inputs and results have the same types"""
        return len(op.inputs) == len(op.results) and all(
            same_type(a, b) is True for a, b in zip(op.inputs, op.results, strict=False)
        )

    @constraint
    def c3(op) -> bool | str:
        """(C3) inputs and results have the same shape"""
        return not op.inputs or same_shape(*op.inputs, *op.results)

    @constraint
    def c4(op) -> bool:
        """(C4) -R <= dimension < R, where R is the rank of the inputs"""
        return not op.inputs or -len(shape_of(op.inputs[0])) <= op.dimension < len(shape_of(op.inputs[0]))

    @constraint
    def c5(op) -> bool:
        """(C5) comparator takes two scalars of each input's element type, side by side, and gives an i1"""
        inputs, outputs = function_types(op.comparator)
        wanted = [TensorType((), element_of(value)) for value in op.inputs for _ in range(2)]
        return inputs == wanted and outputs == [TensorType((), BOOL)]

    def infer(op) -> list[Type]:
        return [value.type for value in op.operands]


@STABLEHLO.op("map")
class Map(DeclaredOp):
    """A function applied to the elements of tensors, one by one."""

    inputs = variadic("the tensors", PER_TENSOR)
    result = _result("of the same shape", PER_TENSOR)
    dimensions = attribute(DIMS, "all dimensions, in order")
    computation = region("the element, of elements")

    @constraint
    def c2(op) -> bool:
        """(C2) there is an input"""
        return len(op.inputs) > 0

    @constraint
    def c1(op) -> bool | str:
        """(C1) inputs and result have the same shape"""
        return same_shape(*op.inputs, op.result)

    @constraint
    def c3(op) -> bool:
        """(C3) dimensions are all dimensions of the inputs, in order"""
        return not op.inputs or op.dimensions == tuple(range(len(shape_of(op.inputs[0]))))

    @constraint
    def c4(op) -> bool:
        """(C4) computation takes a scalar of each input's element type and gives one of the result's"""
        inputs, outputs = function_types(op.computation)
        return inputs == [TensorType((), element_of(v)) for v in op.inputs] and outputs == [TensorType((), element_of(op.result))]

    def infer(op) -> Type:
        kinds = result_types(op.regions[0]) if op.regions else [op.operands[0].type]
        return TensorType(shape_of(op.operands[0]), element_of(kinds[0]))
