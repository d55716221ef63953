"""Data layout, gather, scatter and image operators (0.30 sections 2.10 to 2.12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from transload.errors import ShapeError
from transload.ir import I8, I16, I32, I48, Op, QuantType, TensorType, Type, Value, quantization
from transload.ir.declare import INT32, INTS32, DeclaredOp, attribute, constraint, operand, result, variadic

from .base import (
    FLOATS,
    FP8,
    RESIZE_MODE,
    SCALAR,
    SHAPE,
    TOSA,
    DataTypes,
    SameElements,
    axis_fits,
    axis_of,
    count_of,
    dims_of,
    equal_sizes,
    inferred_shapes_fit,
    one_element_type,
    rank,
    same,
    shape_of,
    shape_rank,
    storage_of,
    typed_rows,
)

MOVED = f"i1 i8 i16 i32 {FLOATS} {FP8}"


@TOSA.op("concat")
class Concat(SameElements):
    """Tensors joined along one axis (2.10.1)."""

    input1 = variadic("tensors that agree but along the axis; at least one")
    output = result("the joined tensor")
    axis = attribute(INT32, "the dimension to join along")
    axis_in_range = axis_fits
    datatypes = same("input1 output", MOVED, later="i64")

    @constraint
    def elements_agree(op) -> bool | str:
        """all tensors have the same element type"""
        return one_element_type(op.operands)

    @constraint
    def joined_shape(op) -> bool | str:
        """at least one tensor; all agree but along the axis, where the result has the sum of their sizes"""
        return bool(op.operands) and inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        if not op.operands:
            raise ShapeError(f"{op.called}: there is nothing to join", hint="give at least one tensor")
        shapes = [shape_of(value) for value in op.operands]
        element = op.operands[0].element
        if None in shapes:
            return TensorType(None, element)
        out: list[Any] = list(shapes[0])  # type: ignore[arg-type]
        axis_of(op, out)
        for shape in shapes[1:]:
            if len(shape) != len(out):  # type: ignore[arg-type]
                raise ShapeError(f"{op.called}: operands of rank {len(out)} and {len(shape)}")  # type: ignore[arg-type]
            for index, size in enumerate(shape):  # type: ignore[arg-type]
                if index == op.axis:
                    out[index] = None if size is None or out[index] is None else out[index] + size
                elif out[index] is None:
                    out[index] = size
                elif size is not None and size != out[index]:
                    raise ShapeError(f"{op.called}: sizes {out[index]} and {size} in dimension {index}")
        return TensorType(tuple(out), element)


@TOSA.op("pad")
class Pad(SameElements):
    """Places of one value around a tensor (2.10.2). 1.0: `padding` is a shape, and `pad_const` an operand."""

    input1 = operand("the tensor")
    padding = operand("before and after for each dimension: 2 * rank sizes", SHAPE)
    pad_const = operand("the value, as stored: the zero point for a quantized zero", SCALAR)
    output = result("the padded tensor")
    datatypes = same("input1 pad_const output", MOVED, later="i64")

    @constraint
    def elements_agree(op) -> bool | str:
        """what is put around a tensor has its element type"""
        if not isinstance(op.pad_const, Value):  # an attribute in 0.30
            return True
        return one_element_type((op.input1, op.pad_const))

    @constraint
    def padded_shape(op) -> bool | str:
        """there are two paddings for each dimension, not negative, and the result has the sum of the sizes"""
        shape = shape_of(op.input1)
        if shape is not None and count_of(op.padding) != 2 * len(shape):
            return f"{count_of(op.padding)} paddings for rank {len(shape)}"
        if min(dims_of(op.padding) or (), default=0) < 0:
            return f"padding {dims_of(op.padding)}"
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, padding = shape_of(op.input1), dims_of(op.padding)
        element = op.input1.element
        if shape is None or padding is None:
            return TensorType(None if shape is None else (None,) * len(shape), element)
        if len(padding) != 2 * len(shape) or min(padding, default=0) < 0:
            raise ShapeError(f"{op.called}: padding {padding} for rank {len(shape)}")
        return TensorType(
            tuple(None if size is None else size + padding[2 * i] + padding[2 * i + 1] for i, size in enumerate(shape)), element)


@TOSA.op("reshape")
class Reshape(SameElements):
    """The same elements, in order, in another shape (2.10.3). 1.0: the shape is an operand.

    A size of -1 in the shape stands for what is left over; it is legal only until shapes are known.
    """

    input1 = operand("the tensor")
    shape = operand("the new sizes", SHAPE)
    output = result("of the new shape")
    datatypes = same("input1 output", MOVED, later="i64")
    on_the_way = (I48,)
    """Sums on their way to a RESCALE, of 0.30's FULLY_CONNECTED; no version takes them where they are left."""

    @constraint
    def same_number_of_elements(op) -> bool | str:
        """the new shape has as many elements as the input"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        new = dims_of(op.shape)
        return TensorType((None,) * shape_rank(op.shape.type), op.input1.element) if new is None else reshaped(op, new)


def reshaped(op: Op, new: tuple[int, ...]) -> TensorType:
    """The type of the first operand in another shape."""
    (value,) = op.operands[:1]
    old = shape_of(value)
    count = None if old is None or None in old else math.prod(old)  # type: ignore[arg-type]
    rest = math.prod(size for size in new if size != -1)
    if -1 in new:
        if count is not None and (new.count(-1) > 1 or rest == 0 or count % rest):
            raise ShapeError(f"{op.called}: {value.type} cannot become {new}")
        left = None if count is None else count // rest
        return TensorType(tuple(left if size == -1 else size for size in new), value.element)
    if count is not None and count != rest:
        raise ShapeError(f"{op.called}: {value.type} has {count} elements, {new} {rest}")
    return TensorType(new, reshaped_element(value.tensor_type, new))


def permuted_element(type_: TensorType, order: Sequence[int]) -> Type:
    """The element type of a tensor whose dimensions were put into another order: scales go with theirs."""
    return _moved(type_, lambda element, shape: quantization.permuted(element, order))


def reshaped_element(type_: TensorType, shape: tuple[int, ...]) -> Type:
    """The element type of a tensor in another shape: scales are those of the same numbers."""
    return _moved(type_, lambda element, before: quantization.reshaped(element, before, shape))


def sliced_element(type_: TensorType, start: Sequence[int], size: Sequence[int]) -> Type:
    """The element type of a box cut out of a tensor: the scales of what is in it."""
    def cut(element: QuantType, shape: tuple[int, ...]) -> QuantType | None:
        for axis, (first, count, whole) in enumerate(zip(start, size, shape, strict=True)):
            found = quantization.sliced(element, len(shape), axis, range(first, first + count)) if count != whole else element
            if found is None:
                return None
            element = found
        return element

    return _moved(type_, cut)


def _moved(type_: TensorType, move: Callable[[QuantType, tuple[int, ...]], QuantType | None]) -> Type:
    """The element type after numbers were moved; the same where it has one scale, and the integers where no type has theirs."""
    element, shape = type_.element, type_.shape
    if not isinstance(element, QuantType) or element.per_tensor or shape is None or None in shape or 0 in shape:
        return element
    return element if quantization.misfit(element, shape) else move(element, type_.static_shape) or element.storage


@TOSA.op("reverse")
class Reverse(SameElements):
    """The elements of one axis in opposite order (2.10.4)."""

    input1 = operand("the tensor")
    output = result("of the same type")
    axis = attribute(INT32, "the dimension to reverse")
    axis_in_range = axis_fits
    datatypes = same("input1 output", MOVED)

    def infer(op) -> TensorType:
        type_ = op.operands[0].tensor_type
        if type_.shape is not None:
            axis_of(op, type_.shape)
        return type_


@TOSA.op("slice")
class Slice(SameElements):
    """A box cut out of a tensor (2.10.5). 1.0: start and size are operands."""

    input1 = operand("the tensor")
    start = operand("first index in each dimension", SHAPE)
    size = operand("how many in each dimension", SHAPE)
    output = result("the box")
    datatypes = same("input1 output", MOVED, later="i64")

    @constraint
    def inside(op) -> bool | str:
        """the box lies in the tensor: start >= 0, size > 0, start + size <= the tensor's size"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, start, size = shape_of(op.input1), dims_of(op.start), dims_of(op.size)
        element = op.input1.element
        if size is None:
            return TensorType((None,) * shape_rank(op.size.type), element)
        if shape is not None and start is not None:
            fits = len(start) == len(size) == len(shape) and all(
                a >= 0 and n >= -1 and (whole is None or a + max(n, 0) <= whole)
                for a, n, whole in zip(start, size, shape, strict=True))
            if not fits:
                raise ShapeError(f"{op.called}: {size} from {start} is not inside {op.input1.type}")
            # A size of -1 means "up to the end", which MLIR allows while shapes are not known.
            size = tuple(
                n if n >= 0 else -1 if whole is None else whole - a for a, n, whole in zip(start, size, shape, strict=True))
            if min(size, default=0) >= 0:
                element = sliced_element(op.input1.tensor_type, start, size)
        return TensorType(tuple(None if n < 0 else n for n in size), element)


@TOSA.op("tile")
class Tile(SameElements):
    """A tensor repeated along its dimensions (2.10.6). 1.0: the multiples are an operand."""

    input1 = operand("the tensor")
    multiples = operand("how often, for each dimension", SHAPE)
    output = result("the repeated tensor")
    datatypes = same("input1 output", MOVED)

    @constraint
    def repeated_shape(op) -> bool | str:
        """the result has the input's sizes times the multiples"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, multiples = shape_of(op.input1), dims_of(op.multiples)
        element = op.input1.element
        if shape is None or multiples is None:
            return TensorType((None,) * count_of(op.multiples), element)
        if len(shape) != len(multiples):
            raise ShapeError(f"{op.called}: {len(multiples)} multiples for rank {len(shape)}")
        return TensorType(tuple(None if a is None else a * n for a, n in zip(shape, multiples, strict=True)), element)


@TOSA.op("transpose")
class Transpose(SameElements):
    """The dimensions in another order: result dimension `i` is input dimension `perms[i]` (2.10.7)."""

    input1 = operand("the tensor")
    output = result("the tensor with its dimensions permuted")
    perms = attribute(INTS32, "each dimension once")
    datatypes = same("input1 output", MOVED, later="i64")

    @constraint
    def permuted_shape(op) -> bool | str:
        """perms names each dimension once, and the result has the sizes in that order"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, perms = shape_of(op.input1), op.perms
        if shape is None:
            return TensorType((None,) * len(perms), op.input1.element)
        if sorted(perms) != list(range(len(shape))):
            raise ShapeError(f"{op.called}: {perms} is no order of {len(shape)} dimensions")
        return TensorType(tuple(shape[i] for i in perms), permuted_element(op.input1.tensor_type, perms))


# --- gather and scatter (2.11)


@TOSA.op("gather")
class Gather(SameElements):
    """Rows by number: `output[n, w, :] = values[n, indices[n, w], :]` (2.11.1)."""

    values = operand("N,K,C", rank(3))
    indices = operand("N,W of i32, each from 0 to K-1", rank(2))
    output = result("N,W,C", rank(3))
    datatypes = DataTypes(
        "values indices output", [f"{t} i32 {t}" for t in f"i8 i16 i32 {FLOATS} {FP8}".split()],
        ["i1 i32 i1", "i64 i32 i64", *(f"{t} i64 {t}" for t in f"i1 i8 i16 i32 i64 {FLOATS} {FP8}".split())])

    @constraint
    def gathered_shape(op) -> bool | str:
        """values are N,K,C, indices N,W, the result N,W,C"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        values, indices = shape_of(op.values), shape_of(op.indices)
        if values is None or indices is None:
            return TensorType((None, None, None), op.values.element)
        return TensorType((equal_dims(op, values[0], indices[0]), indices[1], values[2]), op.values.element)


def equal_dims(op: Op, a: int | None, b: int | None) -> int | None:
    if a is not None and b is not None and a != b:
        raise ShapeError(f"{op.called}: sizes {a} and {b} must be equal")
    return b if a is None else a


@TOSA.op("row_gather")
class RowGather(SameElements):
    """Runs of rows by the number of their first: `row_count` rows from each index on (since 1.1)."""

    values = operand("N,K,C", rank(3))
    indices = operand("N,W of i32 or i64", rank(2))
    row_count = operand("how many rows from each index, one i32", SCALAR)
    output = result("N,W*row_count,C", rank(3))
    datatypes = DataTypes(
        "values indices row_count output", (),
        [f"{t} {i} i32 {t}" for t in f"i1 i8 i16 i32 i64 {FLOATS} {FP8}".split() for i in ("i32", "i64")])
    since = "1.1"

    def infer(op) -> TensorType:
        values, indices, count = shape_of(op.values), shape_of(op.indices), dims_of(op.row_count)
        if values is None or indices is None:
            return TensorType((None, None, None), op.values.element)
        rows = indices[1] * count[0] if count and indices[1] is not None else None
        return TensorType((equal_dims(op, values[0], indices[0]), rows, values[2]), op.values.element)


@TOSA.op("scatter")
class Scatter(SameElements):
    """Rows replaced by number: `output[n, indices[n, w], :] = input[n, w, :]`; no index twice in a batch (2.11.2)."""

    values_in = operand("N,K,C", rank(3))
    indices = operand("N,W of i32, each from 0 to K-1, K >= W", rank(2))
    input = operand("N,W,C", rank(3))
    values_out = result("N,K,C", rank(3))
    datatypes = DataTypes(
        "values_in indices input values_out", [f"{t} i32 {t} {t}" for t in f"i8 i16 i32 {FLOATS} {FP8}".split()],
        ["i1 i32 i1 i1", "i64 i32 i64 i64", *(f"{t} i64 {t} {t}" for t in f"i1 i8 i16 i32 i64 {FLOATS} {FP8}".split())])

    @constraint
    def elements_agree(op) -> bool | str:
        """the new rows have the element type of those that they replace"""
        return one_element_type((op.values_in, op.input))

    @constraint
    def shapes_agree(op) -> bool | str:
        """values are N,K,C, indices N,W, the input N,W,C and K is not less than W"""
        values, indices, rows = shape_of(op.values_in), shape_of(op.indices), shape_of(op.input)
        if values is None or indices is None or rows is None:
            return True
        fits = equal_sizes(rows, (values[0], indices[1], values[2])) and equal_sizes(indices[:1], values[:1])
        if fits and values[1] is not None and indices[1] is not None:
            fits = values[1] >= indices[1]
        return fits or f"{op.values_in.type}, {op.indices.type} and {op.input.type}"

    def infer(op) -> TensorType:
        return op.values_in.tensor_type


# --- image (2.12)


def sampled(op: Resize) -> Type:
    """The element type that `resize` gives: bilinear integers are wider by the fractions that they are scaled by."""
    stored = storage_of(op.input)
    if op.mode != "BILINEAR":
        return op.input.element
    return I32 if stored == I8 else I48 if stored == I16 else op.input.element


@TOSA.op("resize")
class Resize(DeclaredOp):
    """Height and width scaled by `scale` from `offset` to `border` (2.12.1).

    1.0: scale (y_n, y_d, x_n, x_d), offset (y, x) and border (y, x) are shape operands. Integers: bilinear
    i8 gives i32 scaled by scale_y_n * scale_x_n, i16 gives i48; nearest keeps the type.
    """

    input = operand("N,IH,IW,C", rank(4))
    scale = operand("scale_y_n, scale_y_d, scale_x_n, scale_x_d", SHAPE)
    offset = operand("offset_y, offset_x", SHAPE)
    border = operand("border_y, border_x", SHAPE)
    output = result("N,OH,OW,C", rank(4))
    mode = attribute(RESIZE_MODE, "nearest or bilinear")
    datatypes = typed_rows(
        "input output", "i8 i32", "i8 i8", "i16 i48", "i16 i16", *(f"{t} {t}" for t in FLOATS.split()), later=("i16 i64",))

    @constraint
    def parameters(op) -> bool | str:
        """scales are positive, at most 2048 and less than 16 times each other; offset and border are in range"""
        scale, offset, border = dims_of(op.scale), dims_of(op.offset), dims_of(op.border)
        if scale is None or offset is None or border is None:
            return True
        if len(scale) != 4 or len(offset) != 2 or len(border) != 2 or min(scale) <= 0:
            return f"scale {scale}, offset {offset}, border {border}"
        for axis, name in ((0, "y"), (1, "x")):
            n, d = scale[2 * axis : 2 * axis + 2]
            if n > 2048 or d >= 16 * n:
                return f"scale_{name} {n}/{d}"
            if not -n <= offset[axis] < 16 * n or not -16 * n <= border[axis] < n:
                return f"offset_{name} {offset[axis]}, border_{name} {border[axis]} with scale_{name}_n {n}"
        return True

    @constraint
    def sizes_are_supported(op) -> bool | str:
        """height and width, before and after, are less than 16384"""
        sizes = [size for value in (op.input, op.output) for size in (shape_of(value) or ())[1:3] if size is not None]
        return max(sizes, default=0) < 16384 or str(max(sizes))

    @constraint
    def resized_shape(op) -> bool | str:
        """the result has ((size - 1) * scale_n - offset + border) / scale_d + 1 places, divided without rest"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, scale = shape_of(op.input), dims_of(op.scale)
        offset, border = dims_of(op.offset), dims_of(op.border)
        element = sampled(op)
        if shape is None or scale is None or offset is None or border is None:
            return TensorType(None if shape is None else (shape[0], None, None, shape[3]), element)
        if (len(scale), len(offset), len(border)) != (4, 2, 2):
            raise ShapeError(f"{op.called}: scale {scale}, offset {offset}, border {border}")
        sizes: list[int | None] = []
        for axis in (0, 1):
            size, n, d = shape[1 + axis], scale[2 * axis], scale[2 * axis + 1]
            if size is None:
                sizes.append(None)
                continue
            reach = (size - 1) * n - offset[axis] + border[axis]
            if d <= 0 or reach < 0 or reach % d:
                raise ShapeError(
                    f"{op.called}: size {size} with scale {n}/{d}, offset {offset[axis]}, border {border[axis]} "
                    f"reaches {reach}, not a multiple of {d}", hint="choose the border so that the last sample lies on the grid")
            sizes.append(reach // d + 1)
        return TensorType((shape[0], *sizes, shape[3]), element)
