"""Data layout, gather, image, conversion, data and control operators of TOSA 0.30 (sections 2.10 to 2.16)."""

from __future__ import annotations

import math
from typing import Any

from transload.errors import ShapeError
from transload.ir import I8, I16, I32, I48, FloatType, IntegerType, TensorType
from transload.ir.declare import (
    ANY,
    BOOLEAN,
    CONSTANT,
    INT,
    INT32,
    INTS,
    STRING,
    DeclaredOp,
    attribute,
    constraint,
    enum,
    operand,
    result,
    variadic,
    variadic_result,
)

from ..dialect.base import (
    INTEGERS,
    SameElements,
    axis_fits,
    axis_of,
    bound_type,
    equal_sizes,
    inferred_shapes_fit,
    rank,
    same,
    shape_of,
    storage,
    storage_of,
    typed_rows,
)
from ..dialect.control import CondIf, WhileLoop
from ..dialect.conversion import Cast
from ..dialect.movement import Concat, Scatter, equal_dims
from .base import ANY_ELEMENT, FLOATS, INTEGER_ROWS, NUMBER, NUMBERS, TOSA030

_DATA = f"{INTEGER_ROWS} {FLOATS}"


@TOSA030.op("concat")
class Concat030(Concat):
    """Tensors joined along one axis (2.10.1)."""

    datatypes = same("input1 output", ANY_ELEMENT)


@TOSA030.op("pad")
class Pad(SameElements):
    """Places of one value around a tensor (2.10.2)."""

    input1 = operand("the tensor")
    output = result("the padded tensor")
    padding = attribute(INTS, "before and after for each dimension: 2 * rank numbers")
    pad_const = attribute(NUMBER, "the value, as stored: the zero point for a quantized zero")
    datatypes = same("input1 output", ANY_ELEMENT)

    @constraint
    def value_type(op) -> bool | str:
        """pad_const has the type of the elements"""
        value, element = op.pad_const, storage_of(op.input1)
        found = "i1" if isinstance(value, bool) else str(bound_type(value))
        return found == str(element) or f"{found} for {element}"

    @constraint
    def padded_shape(op) -> bool | str:
        """there are two paddings for each dimension, not negative (ERROR_IF pad_size < 0), added in the result"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, padding = shape_of(op.input1), op.padding
        if shape is None:
            return op.input1.tensor_type
        if len(padding) != 2 * len(shape) or min(padding, default=0) < 0:
            raise ShapeError(f"{op.name} at {op.origin!r}: padding {padding} for rank {len(shape)}")
        return op.input1.tensor_type.with_shape(tuple(
            None if size is None else size + padding[2 * i] + padding[2 * i + 1] for i, size in enumerate(shape)))


@TOSA030.op("reshape")
class Reshape(SameElements):
    """The same elements, in order, in another shape (2.10.3); one -1 stands for what is left over."""

    input1 = operand("the tensor")
    output = result("of the new shape")
    new_shape = attribute(INTS, "the new sizes")
    datatypes = same("input1 output", ANY_ELEMENT)

    @constraint
    def same_number_of_elements(op) -> bool | str:
        """the new shape has as many elements as the input (ERROR_IF tensor_size(shape1) != tensor_size(shape))"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        old, new = shape_of(op.input1), tuple(op.new_shape)
        count = None if old is None or None in old else math.prod(old)  # type: ignore[arg-type]
        rest = math.prod(size for size in new if size != -1)
        if -1 in new:
            if count is not None and (new.count(-1) > 1 or rest == 0 or count % rest):
                raise ShapeError(f"{op.name} at {op.origin!r}: {op.input1.type} cannot become {new}")
            return op.input1.tensor_type.with_shape(tuple(
                size if size != -1 else None if count is None else count // rest for size in new))
        if count is not None and count != rest:
            raise ShapeError(f"{op.name} at {op.origin!r}: {op.input1.type} has {count} elements, {new} {rest}")
        return op.input1.tensor_type.with_shape(new)


@TOSA030.op("reverse")
class Reverse(SameElements):
    """The elements of one axis in opposite order (2.10.4)."""

    input = operand("the tensor, of rank 1 to 4")
    output = result("of the same type")
    axis = attribute(INT32, "the dimension to reverse")
    axis_in_range = axis_fits
    datatypes = same("input output", ANY_ELEMENT)
    ranks = (1, 4)

    def infer(op) -> TensorType:
        if op.input.tensor_type.shape is not None:
            axis_of(op, op.input.tensor_type.shape)
        return op.input.tensor_type


@TOSA030.op("slice")
class Slice(SameElements):
    """A box cut out of a tensor (2.10.5)."""

    input1 = operand("the tensor, of rank 1 to 4")
    output = result("the box")
    start = attribute(INTS, "first index in each dimension")
    size = attribute(INTS, "how many in each dimension")
    datatypes = same("input1 output", ANY_ELEMENT)
    ranks = (1, 4)

    @constraint
    def inside(op) -> bool | str:
        """the box lies in the tensor (ERROR_IF start < 0, size <= 0, start + size > the tensor's size)"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, start, size = shape_of(op.input1), op.start, op.size
        if shape is not None:
            fits = len(start) == len(size) == len(shape) and all(
                a >= 0 and n > 0 and (whole is None or a + n <= whole) for a, n, whole in zip(start, size, shape, strict=True))
            if not fits:
                raise ShapeError(f"{op.name} at {op.origin!r}: {size} from {start} is not inside {op.input1.type}")
        return op.input1.tensor_type.with_shape(tuple(size))


@TOSA030.op("tile")
class Tile(SameElements):
    """A tensor repeated along its dimensions (2.10.6)."""

    input1 = operand("the tensor, of rank 1 to 4")
    output = result("the repeated tensor")
    multiples = attribute(INTS, "how often, for each dimension")
    datatypes = same("input1 output", ANY_ELEMENT)
    ranks = (1, 4)

    @constraint
    def repeated_shape(op) -> bool | str:
        """the result has the input's sizes times the multiples (ERROR_IF shape1[i] * multiples[i] != shape[i])"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape = shape_of(op.input1)
        if shape is None:
            return op.input1.tensor_type
        if len(shape) != len(op.multiples) or min(op.multiples, default=1) < 1:
            raise ShapeError(f"{op.name} at {op.origin!r}: multiples {op.multiples} for rank {len(shape)}")
        sizes = tuple(None if a is None else a * n for a, n in zip(shape, op.multiples, strict=True))
        return op.input1.tensor_type.with_shape(sizes)


@TOSA030.op("transpose")
class Transpose(SameElements):
    """The dimensions in another order: result dimension `i` is input dimension `perms[i]` (2.10.7)."""

    input1 = operand("the tensor, of rank 1 or more")
    output = result("the tensor with its dimensions permuted")
    perms = attribute(INTS, "each dimension once")
    datatypes = same("input1 output", ANY_ELEMENT)
    ranks = (1, None)

    @constraint
    def permuted_shape(op) -> bool | str:
        """perms names each dimension once, and the result has the sizes in that order"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        shape, perms = shape_of(op.input1), op.perms
        if shape is None:
            return op.input1.tensor_type.with_shape((None,) * len(perms))
        if sorted(perms) != list(range(len(shape))):
            raise ShapeError(f"{op.name} at {op.origin!r}: {perms} is no order of {len(shape)} dimensions")
        return op.input1.tensor_type.with_shape(tuple(shape[i] for i in perms))


@TOSA030.op("gather")
class Gather(SameElements):
    """Rows by number: `output[n, w, :] = values[n, indices[n, w], :]` (2.11.1)."""

    values = operand("N,K,C", rank(3))
    indices = operand("N,W of i32, each from 0 to K-1", rank(2))
    output = result("N,W,C", rank(3))
    datatypes = typed_rows("values indices output", *(f"{t} i32 {t}" for t in _DATA.split()))

    @constraint
    def gathered_shape(op) -> bool | str:
        """values are N,K,C, indices N,W, the result N,W,C"""
        return inferred_shapes_fit(op)

    def infer(op) -> TensorType:
        values, indices = shape_of(op.values), shape_of(op.indices)
        if values is None or indices is None:
            return TensorType((None, None, None), op.values.element)
        return TensorType((equal_dims(op, values[0], indices[0]), indices[1], values[2]), op.values.element)


@TOSA030.op("scatter")
class Scatter030(Scatter):
    """Rows replaced by number: `output[n, indices[n, w], :] = input[n, w, :]`; no index twice in a batch (2.11.2)."""

    datatypes = typed_rows("values_in indices input values_out", *(f"{t} i32 {t} {t}" for t in _DATA.split()))


@TOSA030.op("resize")
class Resize(DeclaredOp):
    """Height and width sampled at `o * stride + offset`, in units of `2^-shift` of an input place (2.12.1).

    For floats stride and offset are floats in input places, and shift is 0. Bilinear i8 gives i32 with
    `2 * shift` fractional bits, i16 gives i48; nearest keeps the type.
    """

    input = operand("N,IH,IW,C", rank(4))
    output = result("N,OH,OW,C", rank(4))
    output_size = attribute(INTS, "OH, OW")
    stride = attribute(NUMBERS, "stride_y, stride_x")
    offset = attribute(NUMBERS, "offset_y, offset_x")
    border = attribute(INTS, "border_y, border_x: places beyond the last that the input reaches", default=(0, 0))
    shift = attribute(INT32, "bits of the fraction, 1 to 11; 0 for floats", default=0)
    mode = attribute(enum("NEAREST", "BILINEAR"), "nearest or bilinear")
    datatypes = typed_rows(
        "input output", "i8 i32", "i8 i8", "i16 i48", "i16 i16", *(f"{t} {t}" for t in FLOATS.split()))

    @constraint
    def parameters(op) -> bool | str:
        """stride is positive, less than 16 << shift; offset within it; shift 1 to 11 for integers, 0 for floats"""
        stride, offset, shift, shape = op.stride, op.offset, op.shift, shape_of(op.input)
        if not len(stride) == len(offset) == len(op.border) == len(op.output_size) == 2 or min(stride) <= 0:
            return f"stride {tuple(stride)}, offset {tuple(offset)}, border {op.border}, output_size {op.output_size}"
        if isinstance(storage_of(op.input), FloatType):
            sizes = (None, None) if shape is None else shape[1:3]
            fits = shift == 0 and all(size is None or step <= size for step, size in zip(stride, sizes, strict=True))
            return fits or f"stride {tuple(stride)}, shift {shift} for {op.input.type}"
        if not all(isinstance(v, int) for v in (*stride, *offset)):
            return f"stride {tuple(stride)}, offset {tuple(offset)} for {op.input.type}"
        limit = 16 << shift if 0 <= shift <= 11 else 0
        fits = 1 <= shift <= 11 and max(stride) < limit and all(-limit < o < limit for o in offset)
        return fits or f"stride {stride}, offset {offset}, shift {shift}"

    @constraint
    def sizes_are_supported(op) -> bool | str:
        """height and width, before and after, are less than 16384 (ERROR_IF max(OH,OW,IH,IW) >= 16384)"""
        sizes = [size for value in (op.input, op.output) for size in (shape_of(value) or ())[1:3] if size is not None]
        return max(sizes, default=0) < 16384 or str(max(sizes))

    @constraint
    def resized_shape(op) -> bool | str:
        """the result has idiv((size - 1) * 2^shift - offset, stride) + 1 + border places, as output_size says"""
        for size, expected in zip(op.output_size, _resized(op), strict=True):
            if expected is not None and size != expected:
                return f"output_size {op.output_size} where {tuple(_resized(op))} is expected"
        return inferred_shapes_fit(op)

    @constraint
    def result_elements(op) -> bool | str:
        """bilinear i8 gives i32 and i16 gives i48; all else keeps the type"""
        a, b = op.declaration.infer(op).element, storage_of(op.output)
        return a == b or f"{b}, not {a}"

    def infer(op) -> TensorType:
        shape, stored = shape_of(op.input), storage_of(op.input)
        element = op.input.element
        if op.mode == "BILINEAR":
            element = I32 if stored == I8 else I48 if stored == I16 else element
        batch, channels = (None, None) if shape is None else (shape[0], shape[3])
        return TensorType((batch, *op.output_size, channels), element)


def _resized(op: Any) -> list[int | None]:
    """Height and width that the parameters give."""
    shape = shape_of(op.input)
    sizes = (None, None) if shape is None else shape[1:3]
    return [
        None if size is None else reached(size, op.shift, op.offset[axis], op.stride[axis]) + op.border[axis]
        for axis, size in enumerate(sizes)]


def reached(size: int, shift: int, offset: float, stride: float) -> int:
    """How many places `resize` makes of a dimension without a border: idiv((size - 1) * 2^shift - offset, stride) + 1."""
    room = (size - 1) * (1 << shift) - offset
    return (int(room / stride) if isinstance(room, float) else idiv(room, int(stride))) + 1


def idiv(a: int, b: int) -> int:
    """The quotient cut toward zero, as the specification has it."""
    return abs(a) // b * (1 if a >= 0 else -1)


@TOSA030.op("cast")
class Cast030(Cast):
    """The same number in another type (2.13.1); floats to the nearest integer, saturated. No way between float types."""

    datatypes = typed_rows(
        "input output", *(f"i1 {t}" for t in INTEGER_ROWS.split()), *(f"{t} i1" for t in INTEGER_ROWS.split()),
        *(f"{a} {b}" for a in INTEGER_ROWS.split() for b in _DATA.split() if a != b),
        *(f"{a} {b}" for a in FLOATS.split() for b in INTEGER_ROWS.split()))


_RESCALED = (
    *(f"{a} {b}" for a in ("i8", "i16", "i32", "i48") for b in ("i8", "i16", "i32")), "i8 ui8", "i16 ui8", "i16 ui16",
    "ui8 i8", "ui8 i16", "ui16 i16")


@TOSA030.op("rescale")
class Rescale(DeclaredOp):
    """`apply_scale(x - input_zp, multiplier, shift) + output_zp`, saturated (2.13.2): a scale of multiplier * 2^-shift.

    The only operator for unsigned numbers: ui8 and ui16 are types here. Give the result's `element`.
    """

    input = operand("the tensor, of rank 0 to 4", INTEGERS)
    output = result("i8, i16, i32, ui8 or ui16, of the same shape", INTEGERS)
    input_zp = attribute(INT, "zero point of the input", default=0)
    output_zp = attribute(INT, "zero point of the result", default=0)
    multiplier = attribute(INTS, "one number, or one for each index of the last dimension; not negative")
    shift = attribute(INTS, "as many numbers, from 2 to 62")
    scale32 = attribute(BOOLEAN, "whether multipliers have 32 bits; 16 otherwise, the only ones for i48")
    double_round = attribute(BOOLEAN, "whether to round twice, as gemmlowp; with scale32 only")
    per_channel = attribute(BOOLEAN, "whether there is a multiplier and shift for each index of the last dimension")
    datatypes = typed_rows("input output", *_RESCALED)
    ranks = (0, 4)
    traits = ("elementwise",)

    @constraint
    def zero_points(op) -> bool | str:
        """zero points are 0 but for 8 bits, where they are in range, and 0 or 32768 for ui16"""
        for value, point in ((op.input, op.input_zp), (op.output, op.output_zp)):
            stored = storage_of(value)
            if not isinstance(stored, IntegerType):
                continue
            low, high = stored.range
            allowed = low <= point <= high if stored.width == 8 else point in ((0, 32768) if stored.unsigned else (0,))
            if not allowed:
                return f"{point} for {stored}"
        return True

    @constraint
    def scales_fit(op) -> bool | str:
        """multiplier and shift have one number, or per channel one for each index of the last dimension"""
        shape = shape_of(op.input)
        expected: int | None = 1
        if op.per_channel:
            if shape == ():
                return "per channel needs a tensor of rank 1 or more"
            expected = None if shape is None else shape[-1]
        counts = (len(op.multiplier), len(op.shift))
        return (counts[0] == counts[1] and expected in (None, counts[0])) or f"{counts} where {expected} are expected"

    @constraint
    def scales_in_range(op) -> bool | str:
        """multipliers are not negative and fit their bits, shifts are from 2 to 62 (REQUIRE of apply_scale)"""
        top = 1 << (31 if op.scale32 else 15)
        fits = all(0 <= m < top for m in op.multiplier) and all(2 <= s <= 62 for s in op.shift)
        return fits or f"multiplier {op.multiplier[:4]}, shift {op.shift[:4]}"

    @constraint
    def modes(op) -> bool | str:
        """i48 takes no scale32, and double_round needs it (ERROR_IF scale32 && in_t == int48_t, !scale32 && double_round)"""
        if op.scale32 and storage_of(op.input) == I48:
            return "i48 with scale32"
        return op.scale32 or not op.double_round or "double_round without scale32"

    @constraint
    def same_shape(op) -> bool | str:
        """the result has the operand's shape"""
        return equal_sizes(shape_of(op.input), shape_of(op.output)) or f"{op.output.type} of {op.input.type}"

    def infer(op) -> TensorType:
        return op.input.tensor_type


@TOSA030.op("const")
class Const(DeclaredOp):
    """A tensor known at compile time (2.14.1); weights and biases may be i4 and i48."""

    output = result("the tensor")
    value = attribute(CONSTANT, "its elements")
    datatypes = same("output", f"{ANY_ELEMENT} i4 i48")
    traits = ("constant",)

    @constraint
    def values_fit(op) -> bool | str:
        """the values have the result's shape and stored element type"""
        dense, type_ = op.value.type, op.output.tensor_type
        return (dense.element == storage(type_) and equal_sizes(dense.shape, type_.shape)) or f"{dense} for {type_}"

    def infer(op) -> TensorType:
        return op.value.type


@TOSA030.op("identity")
class Identity(SameElements):
    """The tensor as it is (2.14.2)."""

    input1 = operand("the tensor")
    output = result("the same")
    datatypes = same("input1 output", ANY_ELEMENT)

    def infer(op) -> TensorType:
        return op.input1.tensor_type


@TOSA030.op("custom")
class Custom(DeclaredOp):
    """An operator that only an implementation defines (2.15.1)."""

    input_list = variadic("what it takes")
    output_list = variadic_result("what it gives")
    identifier = attribute(STRING, "its name")
    config = attribute(STRING, "who defines it", default="")
    implementation_attrs = attribute(STRING, "its parameters, in a form of their own", default="")
    traits = ("effects",)


@TOSA030.op("cond_if")
class CondIf030(CondIf):
    """One of two graphs, by a condition of rank 0 (2.16.1). Both take `input_list` and end in `tosa030.yield`."""


@TOSA030.op("while_loop")
class WhileLoop030(WhileLoop):
    """A graph repeated while a condition holds (2.16.2): both graphs take the loop's values."""


@TOSA030.op("yield")
class Yield(DeclaredOp):
    """Ends a graph of cond_if or while_loop; its operands are what the graph gives."""

    inputs = variadic("the values", ANY)
    traits = ("terminator",)
