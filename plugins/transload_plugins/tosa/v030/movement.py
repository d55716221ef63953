"""Data layout, gather, image, conversion, data and control operators of TOSA 0.30 (sections 2.10 to 2.16): how they
differ from 1.0."""

from __future__ import annotations

from transload.ir import I48, FloatType, IntegerType, TensorType
from transload.ir.declare import (
    BOOLEAN,
    CONSTANT,
    INT,
    INT32,
    INTS,
    STRING,
    DeclaredOp,
    absent,
    attribute,
    constraint,
    enum,
    operand,
    result,
    variadic,
    variadic_result,
)

from ..dialect import conversion, movement
from ..dialect.base import (
    bound_type,
    equal_sizes,
    inferred_shapes_fit,
    int4_excess,
    same,
    shape_of,
    storage,
    storage_of,
    typed_rows,
)
from .base import FLOATS, INTEGER_ROWS, NUMBER, NUMBERS, TOSA030, instead, older, unchanged

unchanged("concat")
unchanged("transpose", ranks=(1, None))
unchanged("gather")
unchanged("scatter")


@older("pad")
class Pad(movement.Pad):
    """Places of one value around a tensor (2.10.2)."""

    padding = instead(INTS, "before and after for each dimension: 2 * rank numbers")
    pad_const = instead(NUMBER, "the value, as stored: the zero point for a quantized zero")

    @constraint
    def value_type(op) -> bool | str:
        """pad_const has the type of the elements"""
        value, element = op.pad_const, storage_of(op.input1)
        found = "i1" if isinstance(value, bool) else str(bound_type(value))
        return found == str(element) or f"{found} for {element}"


@older("reshape")
class Reshape(movement.Reshape):
    """The same elements, in order, in another shape (2.10.3); one -1 stands for what is left over."""

    shape = absent()
    new_shape = attribute(INTS, "the new sizes")

    def infer(op) -> TensorType:
        return movement.reshaped(op, tuple(op.new_shape))


@older("reverse")
class Reverse(movement.Reverse):
    input1 = absent()
    input = operand("the tensor, of rank 1 to 4")
    datatypes = same("input output", f"i1 {INTEGER_ROWS} {FLOATS}")
    ranks = (1, 4)


@older("slice")
class Slice(movement.Slice):
    """A box cut out of a tensor (2.10.5)."""

    start = instead(INTS, "first index in each dimension")
    size = instead(INTS, "how many in each dimension")
    ranks = (1, 4)

    @constraint
    def not_empty(op) -> bool | str:
        """the box has elements (ERROR_IF size <= 0)"""
        return min(op.size, default=1) > 0 or f"size {op.size}"


@older("tile")
class Tile(movement.Tile):
    """A tensor repeated along its dimensions (2.10.6)."""

    multiples = instead(INTS, "how often, for each dimension")
    ranks = (1, 4)

    @constraint
    def multiples_are_positive(op) -> bool | str:
        """every multiple is at least 1"""
        return min(op.multiples, default=1) >= 1 or f"multiples {op.multiples}"


@older("resize")
class Resize(movement.Resize):
    """Height and width sampled at `o * stride + offset`, in units of `2^-shift` of an input place (2.12.1).

    For floats stride and offset are floats in input places, and shift is 0. Bilinear i8 gives i32 with
    `2 * shift` fractional bits, i16 gives i48; nearest keeps the type.
    """

    scale = absent()
    output_size = attribute(INTS, "OH, OW")
    stride = attribute(NUMBERS, "stride_y, stride_x")
    offset = instead(NUMBERS, "offset_y, offset_x")
    border = instead(INTS, "border_y, border_x: places beyond the last that the input reaches", default=(0, 0))
    shift = attribute(INT32, "bits of the fraction, 1 to 11; 0 for floats", default=0)
    mode = attribute(enum("NEAREST", "BILINEAR"), "nearest or bilinear")

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
        shape = shape_of(op.input)
        batch, channels = (None, None) if shape is None else (shape[0], shape[3])
        return TensorType((batch, *op.output_size, channels), movement.sampled(op))


def _resized(op: Resize) -> list[int | None]:
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


@older("cast")
class Cast(conversion.Cast):
    """The same number in another type (2.13.1); floats to the nearest integer, saturated. No way between float types."""

    datatypes = typed_rows(
        "input output", *(f"i1 {t}" for t in INTEGER_ROWS.split()), *(f"{t} i1" for t in INTEGER_ROWS.split()),
        *(f"{a} {b}" for a in INTEGER_ROWS.split() for b in f"{INTEGER_ROWS} {FLOATS}".split() if a != b),
        *(f"{a} {b}" for a in FLOATS.split() for b in INTEGER_ROWS.split()))


_RESCALED = (
    *(f"{a} {b}" for a in ("i8", "i16", "i32", "i48") for b in ("i8", "i16", "i32")), "i8 ui8", "i16 ui8", "i16 ui16",
    "ui8 i8", "ui8 i16", "ui16 i16")


@older("rescale")
class Rescale(conversion.Rescale):
    """`apply_scale(x - input_zp, multiplier, shift) + output_zp`, saturated (2.13.2): a scale of multiplier * 2^-shift.

    The only operator for unsigned numbers: ui8 and ui16 are types here. Give the result's `element`.
    """

    multiplier = instead(INTS, "one number, or one for each index of the last dimension; not negative")
    shift = instead(INTS, "as many numbers, from 2 to 62")
    input_zp = instead(INT, "zero point of the input", default=0)
    output_zp = instead(INT, "zero point of the result", default=0)
    double_round = attribute(BOOLEAN, "whether to round twice, as gemmlowp; with scale32 only")
    rounding_mode = absent()
    input_unsigned = absent()
    output_unsigned = absent()
    multiplier_type = absent()
    unsigned_sides = absent()
    datatypes = typed_rows("input output", *_RESCALED)
    ranks = (0, 4)

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
    def rounding(op) -> bool | str:
        """i48 takes no scale32, and double_round needs it (ERROR_IF scale32 && in_t == int48_t, !scale32 && double_round)"""
        if op.scale32 and storage_of(op.input) == I48:
            return "i48 with scale32"
        return op.scale32 or not op.double_round or "double_round without scale32"


@TOSA030.op("const")
class Const(DeclaredOp):
    """A tensor known at compile time (2.14.1); weights and biases may be i4 and i48."""

    output = result("the tensor")
    value = attribute(CONSTANT, "its elements")
    datatypes = same("output", f"i1 {INTEGER_ROWS} {FLOATS} i4 i48")
    traits = ("constant",)

    @constraint
    def values_fit(op) -> bool | str:
        """the values have the result's shape and stored element type"""
        dense, type_ = op.value.type, op.output.tensor_type
        return (dense.element == storage(type_) and equal_sizes(dense.shape, type_.shape)) or f"{dense} for {type_}"

    @constraint
    def int4_is_symmetric(op) -> bool | str:
        """numbers of i4 are from -7 to 7"""
        return int4_excess(op.value) or True

    def infer(op) -> TensorType:
        return op.value.type


unchanged("identity", datatypes=same("input1 output", f"i1 {INTEGER_ROWS} {FLOATS}"))


@TOSA030.op("custom")
class Custom(DeclaredOp):
    """An operator that only an implementation defines (2.15.1)."""

    input_list = variadic("what it takes")
    output_list = variadic_result("what it gives")
    identifier = attribute(STRING, "its name")
    config = attribute(STRING, "who defines it", default="")
    implementation_attrs = attribute(STRING, "its parameters, in a form of their own", default="")
    traits = ("effects",)


unchanged("cond_if", "One of two graphs, by a condition of rank 0 (2.16.1). Both take `input_list` and end in `tosa030.yield`.")
unchanged("while_loop")
unchanged("yield")
