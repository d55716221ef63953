"""gather and scatter: slices at computed places."""

from __future__ import annotations

from typing import Any

from transload.ir import Op
from transload.ir.core import Value
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
from transload.ir.types import TensorType, Type

from ..attributes import DIMS, GATHER_DIMS, SCATTER_DIMS, GatherDims
from ..types import compatible, element_of, function_types, is_promotable, result_types, same, shape_of, sizes_fit, tensor
from .base import STABLEHLO, Shape, all_in, results_fit, shape_error, sorted_unique
from .movement import dims_of

_operand, _result = operand, result  # the names are also those of operands
PER_TENSOR = tensor("bifcq")


def _vector_size(shape: Shape, index_vector_dim: int) -> int | None:
    """How many indices a vector of indices has."""
    return shape[index_vector_dim] if index_vector_dim < len(shape) else 1


def _is_sorted(numbers: Any) -> bool:
    return list(numbers) == sorted(numbers)


def _unique(numbers: Any) -> bool:
    return len(set(numbers)) == len(numbers)


class _Gather(DeclaredOp):
    start_indices: Value  # declared by each op, in its order of members
    dimension_numbers: GatherDims

    @constraint
    def c1(op) -> bool:
        """(C1) the operand's dimensions are those of offset_dims, collapsed_slice_dims and operand_batching_dims together"""
        d = op.dimension_numbers
        return len(shape_of(op.operands[0])) == len(d.offset_dims) + len(d.collapsed_slice_dims) + len(d.operand_batching_dims)

    @constraint
    def c2(op) -> bool:
        """(C2) index_vector_dim is a dimension of start_indices, or just behind the last"""
        return 0 <= op.dimension_numbers.index_vector_dim <= len(shape_of(op.start_indices))

    @constraint
    def c3(op) -> bool:
        """(C3) start_index_map has a dimension for each index of a vector"""
        d = op.dimension_numbers
        return sizes_fit(len(d.start_index_map), _vector_size(shape_of(op.start_indices), d.index_vector_dim))

    @constraint
    def c4(op) -> bool:
        """(C4) offset_dims are different and in order"""
        return sorted_unique(op.dimension_numbers.offset_dims)

    @constraint
    def c5(op) -> bool:
        """(C5) offset_dims are dimensions of the result"""
        return all_in(op.dimension_numbers.offset_dims, len(shape_of(op.result)))

    @constraint
    def c6(op) -> bool:
        """(C6) collapsed_slice_dims and operand_batching_dims are all different"""
        return _unique(op.dimension_numbers.collapsed_slice_dims + op.dimension_numbers.operand_batching_dims)

    @constraint
    def c7(op) -> bool:
        """(C7) collapsed_slice_dims are in order"""
        return _is_sorted(op.dimension_numbers.collapsed_slice_dims)

    @constraint
    def c8(op) -> bool:
        """(C8) collapsed_slice_dims are dimensions of the operand"""
        return all_in(op.dimension_numbers.collapsed_slice_dims, len(shape_of(op.operands[0])))

    @constraint
    def c9(op) -> bool:
        """(C9) slices have at most size 1 in collapsed_slice_dims"""
        return _sizes_at_most_one(op, op.dimension_numbers.collapsed_slice_dims)

    @constraint
    def c10(op) -> bool:
        """(C10) operand_batching_dims are in order"""
        return _is_sorted(op.dimension_numbers.operand_batching_dims)

    @constraint
    def c11(op) -> bool:
        """(C11) operand_batching_dims are dimensions of the operand"""
        return all_in(op.dimension_numbers.operand_batching_dims, len(shape_of(op.operands[0])))

    @constraint
    def c12(op) -> bool:
        """(C12) slices have at most size 1 in operand_batching_dims"""
        return _sizes_at_most_one(op, op.dimension_numbers.operand_batching_dims)

    @constraint
    def c13(op) -> bool:
        """(C13) start_indices_batching_dims are all different"""
        return _unique(op.dimension_numbers.start_indices_batching_dims)

    @constraint
    def c14(op) -> bool:
        """(C14) start_indices_batching_dims are dimensions of start_indices"""
        return all_in(op.dimension_numbers.start_indices_batching_dims, len(shape_of(op.start_indices)))

    @constraint
    def c15(op) -> bool:
        """(C15) index_vector_dim is not in start_indices_batching_dims"""
        return op.dimension_numbers.index_vector_dim not in op.dimension_numbers.start_indices_batching_dims

    @constraint
    def c16(op) -> bool:
        """(C16) operand_batching_dims and start_indices_batching_dims are equally many"""
        return len(op.dimension_numbers.operand_batching_dims) == len(op.dimension_numbers.start_indices_batching_dims)

    @constraint
    def c17(op) -> bool:
        """(C17) batching dimensions have the same sizes in operand and start_indices"""
        d = op.dimension_numbers
        a, b = shape_of(op.operands[0]), shape_of(op.start_indices)
        return all(
            i >= len(a) or j >= len(b) or sizes_fit(a[i], b[j])
            for i, j in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=False)
        )

    @constraint
    def c18(op) -> bool:
        """(C18) start_index_map and operand_batching_dims are all different"""
        return _unique(op.dimension_numbers.start_index_map + op.dimension_numbers.operand_batching_dims)

    @constraint
    def c19(op) -> bool:
        """(C19) start_index_map holds dimensions of the operand"""
        return all_in(op.dimension_numbers.start_index_map, len(shape_of(op.operands[0])))

    @constraint
    def c20(op) -> bool:
        """(C20) slice_sizes has a size for each dimension of the operand"""
        sizes = _slice_sizes(op)
        return sizes is None or len(sizes) == len(shape_of(op.operands[0]))

    @constraint
    def c21(op) -> bool:
        """(C21) 0 <= slice_sizes <= shape(operand)"""
        return slices_fit(_slice_sizes(op) or (), shape_of(op.operands[0]))

    @constraint
    def c22(op) -> bool | str:
        """(C22) the result has the sizes of start_indices without the vectors, and those of the slices at offset_dims"""
        return results_fit(op)

    @constraint
    def c23(op) -> bool:
        """(C23) operand and result have the same element type"""
        return element_of(op.operands[0]) == element_of(op.result)

    def infer(op) -> Type:
        return TensorType(gathered_shape(op, _slice_sizes(op)), element_of(op.operands[0]))


def _slice_sizes(op: Op) -> tuple[int, ...] | None:
    sizes = op.attributes.get("slice_sizes")
    return sizes if sizes is not None else dims_of(op.operands[2])


def slices_fit(sizes: tuple[int, ...], shape: Shape) -> bool:
    """Whether slices of these sizes are part of a tensor of a shape (C21)."""
    return all(a >= 0 and (b is None or a <= b) for a, b in zip(sizes, shape, strict=False))


def _sizes_at_most_one(op: Op, dimensions: tuple[int, ...]) -> bool:
    sizes = _slice_sizes(op)
    return sizes is None or all(sizes[d] <= 1 for d in dimensions if d < len(sizes))


def gathered_shape(op: Op, sizes: tuple[int, ...] | None) -> Shape:
    """The result's shape (C22); of a computed slice, the sizes are not known."""
    d = op.attributes["dimension_numbers"]
    rank, indices = len(shape_of(op.operands[0])), shape_of(op.operands[1])
    if sizes is not None and len(sizes) != rank:
        raise shape_error(op, f"slice_sizes {sizes} for an operand of rank {rank}")
    batch = [size for i, size in enumerate(indices) if i != d.index_vector_dim]
    gone = d.collapsed_slice_dims + d.operand_batching_dims
    known: list[int | None] = list(sizes) if sizes is not None else [None] * rank
    offsets = [size for i, size in enumerate(known) if i not in gone]
    total = len(batch) + len(offsets)
    if len(offsets) != len(d.offset_dims) or not all_in(d.offset_dims, total):
        raise shape_error(op, f"{d} does not fit an operand of rank {rank}")
    batch_sizes, offset_sizes = iter(batch), iter(offsets)
    return tuple(next(offset_sizes) if i in d.offset_dims else next(batch_sizes) for i in range(total))


@STABLEHLO.op("gather")
class Gather(_Gather):
    """Slices of the operand at computed places, which are moved so that the slices lie inside."""

    operand_ = _operand("the tensor", PER_TENSOR)
    start_indices = _operand("where slices begin", tensor("i"))
    result = _result("the slices", PER_TENSOR)
    dimension_numbers = attribute(GATHER_DIMS, "which dimension is what")
    slice_sizes = attribute(DIMS, "sizes of a slice")
    indices_are_sorted = attribute(BOOLEAN, "a promise that they are", default=False)


@STABLEHLO.op("dynamic_gather")
class DynamicGather(_Gather):
    """`gather` of slices of a computed size."""

    operand_ = _operand("the tensor", PER_TENSOR)
    start_indices = _operand("where slices begin", tensor("i"))
    slice_sizes = _operand("sizes of a slice", tensor("i", rank=1, static=True))
    result = _result("the slices", PER_TENSOR)
    dimension_numbers = attribute(GATHER_DIMS, "which dimension is what")
    indices_are_sorted = attribute(BOOLEAN, "a promise that they are", default=False)

    @constraint
    def sizes_fit_the_operand(op) -> bool:
        """slice_sizes has a size for each dimension of the operand"""
        return shape_of(op.slice_sizes) == (len(shape_of(op.operands[0])),)


def _selected(op: Any) -> tuple[int | None, ...]:
    """The shape that `torch_index_select` gives."""
    a, b = shape_of(op.operands[0]), shape_of(op.operands[1])
    return (*a[: op.dim], *b[op.batch_dims :], *a[op.dim + 1 :])


@STABLEHLO.op("torch_index_select")
class TorchIndexSelect(DeclaredOp):
    """Slices of the operand along a dimension, chosen by an index tensor (deprecated: gather)."""

    operand_ = _operand("the tensor", PER_TENSOR)
    index = _operand("which slices", tensor("i"))
    result = _result("the slices", PER_TENSOR)
    dim = attribute(INT, "the dimension")
    batch_dims = attribute(INT, "how many leading dimensions both have in common")

    @constraint
    def result_fits(op) -> bool | str:
        """the result has the operand's sizes, with those of the indices in place of its dimension"""
        wanted, given = _selected(op), shape_of(op.results[0])
        return None in (*wanted, *given) or wanted == given or f"{list(given)}, and has to be {list(wanted)}"

    def infer(op) -> Type:
        return TensorType(_selected(op), element_of(op.operands[0]))


# --- scatter


def inputs_of(op: Op) -> tuple[Any, ...]:
    """The tensors that a scatter starts from."""
    return op.operands[: len(op.operands) // 2]


def updates_of(op: Op) -> tuple[Any, ...]:
    return op.operands[len(op.operands) // 2 + 1 :]


def indices_of(op: Op) -> Any:
    return op.operands[len(op.operands) // 2]


@STABLEHLO.op("scatter")
class Scatter(DeclaredOp):
    """Inputs with updates worked into slices at computed places by a function; what lies outside is left out.

    The operands are the inputs, then scatter_indices, then the updates, as many as inputs.
    """

    arguments = variadic("inputs, scatter_indices, updates", PER_TENSOR)
    outputs = variadic_result("the updated inputs", PER_TENSOR)
    scatter_dimension_numbers = attribute(SCATTER_DIMS, "which dimension is what")
    indices_are_sorted = attribute(BOOLEAN, "a promise that they are", default=False)
    unique_indices = attribute(BOOLEAN, "a promise that no place is updated twice", default=False)
    update_computation = region("the new element, of the old one and the update")

    @constraint
    def c5(op) -> bool:
        """(C5) there are inputs, as many as updates"""
        return len(op.operands) >= 3 and len(op.operands) % 2 == 1

    @constraint
    def i2(op) -> bool:
        """(I2) scatter_indices are integers"""
        return len(op.operands) < 3 or tensor("n").accepts(indices_of(op).type)

    @constraint
    def c1(op) -> bool:
        """(C1) all inputs have the same shape"""
        return all(compatible(shape_of(op.operands[0]), shape_of(value)) for value in inputs_of(op))

    @constraint
    def c2(op) -> bool:
        """(C2) the inputs' dimensions are those of update_window_dims, inserted_window_dims and input_batching_dims together"""
        d = op.scatter_dimension_numbers
        return len(shape_of(op.operands[0])) == len(d.update_window_dims) + len(d.inserted_window_dims) + len(
            d.input_batching_dims
        )

    @constraint
    def c3(op) -> bool:
        """(C3) all updates have the same shape"""
        return all(compatible(shape_of(updates_of(op)[0]), shape_of(value)) for value in updates_of(op))

    @constraint
    def c4(op) -> bool | str:
        """(C4) updates have the sizes of scatter_indices without the vectors, and in windows at most those of the inputs"""
        d = op.scatter_dimension_numbers
        inputs, indices, updates = shape_of(op.operands[0]), shape_of(indices_of(op)), shape_of(updates_of(op)[0])
        outer = [size for i, size in enumerate(indices) if i != d.index_vector_dim]
        gone = d.inserted_window_dims + d.input_batching_dims
        most = [size for i, size in enumerate(inputs) if i not in gone]
        if len(updates) != len(outer) + len(d.update_window_dims):
            return f"updates have rank {len(updates)}, not {len(outer) + len(d.update_window_dims)}"
        if len(most) != len(d.update_window_dims):
            return True  # (C2)
        have_outer = [size for i, size in enumerate(updates) if i not in d.update_window_dims]
        window = [updates[i] for i in d.update_window_dims if i < len(updates)]
        return compatible(have_outer, outer) and all(a is None or b is None or a <= b for a, b in zip(window, most, strict=False))

    @constraint
    def c6(op) -> bool:
        """(C6) updates have the element types of the inputs"""
        return [element_of(value) for value in inputs_of(op)] == [element_of(value) for value in updates_of(op)]

    @constraint
    def c7(op) -> bool:
        """(C7) update_window_dims are different and in order"""
        return sorted_unique(op.scatter_dimension_numbers.update_window_dims)

    @constraint
    def c8(op) -> bool:
        """(C8) update_window_dims are dimensions of the updates"""
        return all_in(op.scatter_dimension_numbers.update_window_dims, len(shape_of(updates_of(op)[0])))

    @constraint
    def c9(op) -> bool:
        """(C9) inserted_window_dims and input_batching_dims are all different"""
        return _unique(op.scatter_dimension_numbers.inserted_window_dims + op.scatter_dimension_numbers.input_batching_dims)

    @constraint
    def c10(op) -> bool:
        """(C10) inserted_window_dims are in order"""
        return _is_sorted(op.scatter_dimension_numbers.inserted_window_dims)

    @constraint
    def c11(op) -> bool:
        """(C11) inserted_window_dims are dimensions of the inputs"""
        return all_in(op.scatter_dimension_numbers.inserted_window_dims, len(shape_of(op.operands[0])))

    @constraint
    def c12(op) -> bool:
        """(C12) input_batching_dims are in order"""
        return _is_sorted(op.scatter_dimension_numbers.input_batching_dims)

    @constraint
    def c13(op) -> bool:
        """(C13) input_batching_dims are dimensions of the inputs"""
        return all_in(op.scatter_dimension_numbers.input_batching_dims, len(shape_of(op.operands[0])))

    @constraint
    def c14(op) -> bool:
        """(C14) scatter_indices_batching_dims are all different"""
        return _unique(op.scatter_dimension_numbers.scatter_indices_batching_dims)

    @constraint
    def c15(op) -> bool:
        """(C15) scatter_indices_batching_dims are dimensions of scatter_indices"""
        return all_in(op.scatter_dimension_numbers.scatter_indices_batching_dims, len(shape_of(indices_of(op))))

    @constraint
    def c16(op) -> bool:
        """(C16) index_vector_dim is not in scatter_indices_batching_dims"""
        d = op.scatter_dimension_numbers
        return d.index_vector_dim not in d.scatter_indices_batching_dims

    @constraint
    def c17(op) -> bool:
        """(C17) input_batching_dims and scatter_indices_batching_dims are equally many"""
        d = op.scatter_dimension_numbers
        return len(d.input_batching_dims) == len(d.scatter_indices_batching_dims)

    @constraint
    def c18(op) -> bool:
        """(C18) batching dimensions have the same sizes in inputs and scatter_indices"""
        d = op.scatter_dimension_numbers
        a, b = shape_of(op.operands[0]), shape_of(indices_of(op))
        return all(
            i >= len(a) or j >= len(b) or sizes_fit(a[i], b[j])
            for i, j in zip(d.input_batching_dims, d.scatter_indices_batching_dims, strict=False)
        )

    @constraint
    def c19(op) -> bool:
        """(C19) scatter_dims_to_operand_dims has a dimension for each index of a vector"""
        d = op.scatter_dimension_numbers
        return sizes_fit(len(d.scatter_dims_to_operand_dims), _vector_size(shape_of(indices_of(op)), d.index_vector_dim))

    @constraint
    def c20(op) -> bool:
        """(C20) scatter_dims_to_operand_dims and input_batching_dims are all different"""
        d = op.scatter_dimension_numbers
        return _unique(d.scatter_dims_to_operand_dims + d.input_batching_dims)

    @constraint
    def c21(op) -> bool:
        """(C21) scatter_dims_to_operand_dims holds dimensions of the inputs"""
        return all_in(op.scatter_dimension_numbers.scatter_dims_to_operand_dims, len(shape_of(op.operands[0])))

    @constraint
    def c22(op) -> bool:
        """(C22) index_vector_dim is a dimension of scatter_indices, or just behind the last"""
        return 0 <= op.scatter_dimension_numbers.index_vector_dim <= len(shape_of(indices_of(op)))

    @constraint
    def c23(op) -> bool | str:
        """(C23) update_computation takes the inputs' and the updates' elements, as scalars, and gives as many of the former"""
        return reduces(op.update_computation, [element_of(value) for value in inputs_of(op)])

    @constraint
    def c24(op) -> bool:
        """(C24) the results have the shapes of the inputs"""
        return len(op.results) == len(inputs_of(op)) and all(
            compatible(shape_of(a), shape_of(b)) for a, b in zip(inputs_of(op), op.results, strict=False)
        )

    @constraint
    def c25(op) -> bool:
        """(C25) the results have the element types that update_computation gives"""
        return same_elements(op.results, result_types(op.update_computation))

    def infer(op) -> list[Type]:
        kinds = result_types(op.regions[0]) if op.regions else [value.type for value in inputs_of(op)]
        return [TensorType(shape_of(value), element_of(kind)) for value, kind in zip(inputs_of(op), kinds, strict=False)]


def same_elements(values: Any, types: Any) -> bool:
    """Whether values have the element types of types, in order."""
    return [element_of(value) for value in values] == [element_of(type_) for type_ in types]


def reduces(body: Any, elements: list[Type], shape: tuple[int | None, ...] = ()) -> bool | str:
    """Whether a region combines two sets of scalars, or tensors of a shape, of such elements, perhaps promoted, into one."""
    inputs, outputs = function_types(body)
    n = len(elements)
    if len(inputs) != 2 * n or len(outputs) != n:
        return f"it takes {len(inputs)} arguments and gives {len(outputs)} results, not {2 * n} and {n}"
    if any(shape_of(type_) != shape for type_ in (*inputs, *outputs)):
        return f"its arguments and results must be {'of shape ' + str(list(shape)) if shape else 'scalars'}"
    for index, element in enumerate(elements):
        kinds = [element_of(type_) for type_ in (inputs[index], inputs[n + index], outputs[index])]
        if not same(kinds) or not is_promotable(element, kinds[0]):
            return f"it works on {', '.join(map(str, kinds))} where the elements are {element}"
    return True
