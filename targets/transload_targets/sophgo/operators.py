"""Which operators of TPU-MLIR's Top dialect an op of the hub is: functions `(op, writer) -> value`, by name.

The hub's names and attributes are those of the TPU-MLIR manual, chapter 13, so most ops are the operator of their name, with
those attributes that it has there, as `PLAIN` lists them. Source: the manual, and `TopOps.td` of TPU-MLIR 1.30.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from transload.errors import Unsupported
from transload.ir import BOOL, IntegerType, Op, Value, is_absent

from .resizing import grid_of, matrix, places, scale_of

if TYPE_CHECKING:
    from .text import Writer

__all__ = ["OPERATORS"]

Operator = Callable[[Op, "Writer"], "str | tuple[str, ...]"]
OPERATORS: dict[str, Operator] = {}

RELU = "do_relu:bool relu_limit:f64"
PLAIN: dict[str, str] = {
    "Abs": "", "Add": RELU, "AddConst": f"const_val:f64 {RELU}", "Ceil": "",
    "Clip": "min:f64 max:f64", "Compare": "mode:str", "Concat": f"axis:si32 {RELU}",
    "Conv": f"kernel_shape:ints strides:ints pads:ints group:i64 dilations:ints {RELU}", "Cos": "",
    "Deconv": f"kernel_shape:ints strides:ints pads:ints group:i64 dilations:ints output_padding:ints {RELU}",
    "Depth2Space": "block_h:i64 block_w:i64 is_CRD:bool is_inversed:bool", "Div": RELU, "Elu": "alpha:f64", "Erf": "", "Exp": "",
    "Floor": "", "HardSigmoid": "alpha:f64 beta:f64", "HardSwish": "", "LeakyRelu": "alpha:f64", "Log": "",
    "MatMul": f"right_transpose:bool left_transpose:bool {RELU}", "Max": "", "Min": "", "Mish": "", "Mul": RELU,
    "MulConst": f"const_val:f64 {RELU}", "PRelu": "", "Permute": "order:ints", "Reciprocal": "",
    "Relu": "relu_limit:f64", "Rsqrt": "", "SiLU": "",
    "Sigmoid": "scale:f64 bias:f64 log:bool", "Sign": "", "Sin": "", "Softmax": "axis:si32 log:bool beta:f64", "Softplus": "",
    "Sqrt": "", "Sub": RELU, "Tanh": "", "Where": "",
}
"""Operators with the attributes of the hub's op of that name, and their kinds."""
ABSENT = {"Conv": 3, "Deconv": 3, "MatMul": 3}
"""Operators that say `none` for operands that are left out, with how many they have."""

PAIRWISE = ("Add", "Mul", "Max", "Min")
"""Operators of any number of operands in the hub, and of two there."""


def operator(*names: str) -> Callable[[Operator], Operator]:
    def register(function: Operator) -> Operator:
        OPERATORS.update((f"top.{name}", function) for name in names)
        return function

    return register


def _shape(value: Value) -> tuple[int, ...]:
    shape = value.known_shape
    if shape is None or None in shape:
        raise Unsupported(f"{value.type} has sizes that are known only when the model runs")
    return tuple(shape)


@operator(*PLAIN)
def plain(op: Op, to: Writer) -> str:
    """The operator of the same name."""
    name = op.name.removeprefix("top.")
    if op.attribute("layout", "NCHW") != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    if name == "Conv" and len(op.kernel_shape) == 1:
        return _line(op, to)
    if name == "Concat" and len(op.operands) == 1:
        return to.reshape(to.value(op.operands[0]), op.results[0], _shape(op.results[0]))
    attributes = {}
    for described in PLAIN[name].split():
        key, kind = described.split(":")
        given = getattr(op, key)
        if given is None:
            continue
        if key in ("axis", "axes") and op.operands:
            rank = len(_shape(op.results[0] if name == "Concat" else op.operands[0]))
            given = given % rank if key == "axis" else tuple(axis % rank for axis in given)
        attributes[key] = to.attribute(given, kind)
    operands = [to.none if is_absent(value) else to.value(value) for value in op.operands]
    if name == "Deconv":
        operands[1] = _turned_filter(op, to)
    if name == "MatMul" and 2 <= len(_shape(op.operands[0])) < len(_shape(op.operands[1])):
        sizes = (1,) * (len(_shape(op.operands[1])) - len(_shape(op.operands[0]))) + _shape(op.operands[0])
        operands[0] = to.inner("Reshape", operands[:1], sizes, op, {"shape": to.attribute(sizes, "ints")})
    if name == "Add" and op.coeff is not None:
        operands = [_times(op, to, value, factor) for value, factor in zip(op.operands, op.coeff, strict=True)]
    if name in PAIRWISE and len(operands) > 2:
        operands = _first_ones(op, to, name, operands)
    operands += [to.none] * (ABSENT.get(name, 0) - len(operands))
    return to.emit(name, operands, op.results[0], attributes)


def _first_ones(op: Op, to: Writer, name: str, operands: list[str]) -> list[str]:
    """All operands but the last in one: TPU-MLIR's compiler takes two, and computes others of three."""
    made, shape = operands[0], _shape(op.operands[0])
    for value, operand in zip(op.operands[1:-1], operands[1:-1], strict=True):
        shape = np.broadcast_shapes(shape, _shape(value))
        made = to.inner(name, [made, operand], shape, op)
    return [made, operands[-1]]


def _turned_filter(op: Op, to: Writer) -> str:
    """The filter of a transposed convolution, `[I, O/group, ...]`, as TPU-MLIR's `OnnxConverter` lays it: `[O/group, I, ...]`."""
    filter_ = to.constant(op.operands[1])
    if filter_ is None:
        raise Unsupported("a filter that is computed")
    inputs, per_group, *window = filter_.shape
    grouped = filter_.reshape(op.group, inputs // op.group, per_group, *window).swapaxes(1, 2)
    return to.weight(grouped.reshape(per_group, inputs, *window), f"{op.operands[1].name or op.origin}_turned")


@operator("BatchNorm")
def batch_norm(op: Op, to: Writer) -> str:
    """A factor and an offset for each channel: TPU-MLIR's compiler takes only what its reader makes of this operator."""
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    given = [None if is_absent(value) else to.constant(value) for value in op.operands[1:]]
    if any(array is None and not is_absent(value) for array, value in zip(given, op.operands[1:], strict=True)):
        raise Unsupported("statistics that are computed")
    mean, variance, gamma, beta = (*given, None, None)[:4]
    assert mean is not None and variance is not None  # an op has both
    factor = (1.0 if gamma is None else gamma) / np.sqrt(variance + op.epsilon)
    offset = (0.0 if beta is None else beta) - mean * factor
    name = op.origin or "BatchNorm"
    operands = [to.value(op.operands[0]), to.weight(factor, f"{name}_factor"), to.weight(offset, f"{name}_offset")]
    return to.emit("Scale", operands, op.results[0], _relu(op, to))


def _relu(op: Op, to: Writer) -> dict[str, str]:
    """What an op says of negative and large results, as attributes of the operator that has them."""
    return {"do_relu": to.attribute(op.do_relu, "bool"), "relu_limit": to.attribute(op.relu_limit, "f64")}


@operator("Scale")
def scale(op: Op, to: Writer) -> str:
    """Along channels; factors and offsets that lie along others are a product and a sum."""
    relu = _relu(op, to)
    x, factor, offset = (to.value(value) for value in op.operands)
    shapes = [_shape(value) for value in op.operands]
    if all(len(shape) == len(shapes[0]) > 1 and math.prod(shape) == shape[1] == shapes[0][1] for shape in shapes[1:]):
        return to.emit("Scale", [x, factor, offset], op.results[0], relu)
    made = to.inner("Mul", [x, factor], np.broadcast_shapes(*shapes[:2]), op)
    return to.emit("Add", [made, offset], op.results[0], relu)


_REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2")
"""Those that TPU-MLIR knows (`Reduce.cpp`)."""


@operator("Reduce")
def reduce(op: Op, to: Writer) -> str:
    """One dimension after the other where it is a product, of which TPU-MLIR's compiler computes others over several."""
    x, shape = op.operands[0], list(_shape(op.operands[0]))
    axes = sorted(axis % len(shape) for axis in op.axes)
    made, mode = to.value(x), to.attribute(op.mode, "str")
    if op.mode not in _REDUCTIONS:
        raise Unsupported(f"the reduction {op.mode}")
    if not axes:  # TPU-MLIR reduces all dimensions then, the hub none
        return to.emit("Abs", [made], op.results[0]) if op.mode in ("ReduceL1", "ReduceL2") else to.reshape(
            made, op.results[0], shape)
    if op.mode != "ReduceProd" or len(axes) == 1:
        return to.emit("Reduce", [made], op.results[0], {
            "axes": to.attribute(axes, "ints"), "keepdims": to.attribute(op.keepdims, "bool"), "mode": mode})
    for axis in axes:
        shape[axis] = 1
        made = to.inner("Reduce", [made], shape, op, {
            "axes": to.attribute([axis], "ints"), "keepdims": to.attribute(True, "bool"), "mode": mode})
    return to.reshape(made, op.results[0], _shape(op.results[0]))


def _line(op: Op, to: Writer) -> str:
    """A convolution of one dimension as one of two: TPU-MLIR's compiler does not take others."""
    x, w, result = op.operands[0], to.constant(op.operands[1]), op.results[0]
    if w is None:
        raise Unsupported("a filter that is computed")
    flat = {key: getattr(op, key) for key in ("kernel_shape", "strides", "dilations")}
    attributes = {key: to.attribute((1, *numbers), "ints") for key, numbers in flat.items()}
    pads = op.pads
    attributes["pads"] = to.attribute((0, pads[0], 0, pads[1]), "ints")
    for key, kind in (("group", "i64"), ("do_relu", "bool"), ("relu_limit", "f64")):
        attributes[key] = to.attribute(getattr(op, key), kind)
    planes = [(*shape[:2], 1, shape[2]) for shape in (_shape(x), _shape(result))]
    bias = [to.none if is_absent(value) else to.value(value) for value in op.operands[2:]] or [to.none]
    plane = to.inner("Reshape", [to.value(x)], planes[0], op, {"shape": to.attribute(planes[0], "ints")}, "_plane")
    made = to.inner("Conv", [plane, to.weight(w[:, :, None], f"{op.origin}_filter"), *bias], planes[1], op, attributes, "_line")
    return to.reshape(made, result, _shape(result))


def _times(op: Op, to: Writer, value: Value, factor: float) -> str:
    """An operand of a sum by its factor: TPU-MLIR's compiler loses `coeff` where an operand is constant."""
    if factor == 1:
        return to.value(value)
    given = {"const_val": to.attribute(factor, "f64")}
    return to.inner("MulConst", [to.value(value)], _shape(value), op, given, "_times")


@operator("Input")
def same(op: Op, to: Writer) -> str:
    return to.value(op.operands[0])


@operator("Cast")
def cast(op: Op, to: Writer) -> str:
    """Between floats, quantized numbers, integers and truth values: all of them are floats here."""
    x, result = op.operands[0], op.results[0]
    made, shape = to.value(x), _shape(x)
    if result.is_quantized:
        return to.quantize(made, result, up=op.round_mode == "HalfUp")
    element = result.stored_element
    if not isinstance(element, IntegerType):
        return made
    if element == BOOL:
        zero, inversed = to.attribute(0.0, "f64"), to.attribute(False, "bool")
        return to.emit("CompareConst", [made], result, {
            "mode": to.attribute("NotEqual", "str"), "const_val": zero, "inversed": inversed})
    ends = dict(zip(("min", "max"), (to.attribute(float(end), "f64") for end in element.range), strict=True))
    if not (x.is_float or x.is_quantized):
        return _between_integers(op, to, made, element, ends)
    if op.saturate:
        made = to.inner("Clip", [made], shape, op, ends, "_ends")
    if op.round_mode == "HalfAwayFromZero":
        return to.emit("Round", [made], result)
    if op.round_mode in ("HalfToEven", "HalfToEvenStored"):
        return _half_to_even(op, to, made)
    if op.round_mode != "Trunc":
        raise Unsupported(f"rounding by {op.round_mode}")
    size = to.inner("Floor", [to.inner("Abs", [made], shape, op, suffix="_size")], shape, op, suffix="_whole")
    return to.emit("Mul", [size, to.inner("Sign", [made], shape, op, suffix="_sign")], result)


def _between_integers(op: Op, to: Writer, made: str, element: IntegerType, ends: dict[str, str]) -> str:
    """The same numbers, cut off at the ends of a narrower type; of 32 bits and more we take it that none is beyond them."""
    x, (least, most) = op.operands[0], element.range
    given = x.stored_element
    held = given.range if isinstance(given, IntegerType) else (0, 1)
    if least <= held[0] and held[1] <= most:
        return made
    if op.saturate:
        return to.emit("Clip", [made], op.results[0], ends)
    if element.width < 32 or element.unsigned:
        raise Unsupported(f"integers of type {given} that wrap round in {element}")
    return made


@operator("Round")
def rounded(op: Op, to: Writer) -> str:
    return _half_to_even(op, to, to.value(op.operands[0]))


def _half_to_even(op: Op, to: Writer, x: str) -> str:
    """To the nearest whole number, of two that are as near to the even one; TPU-MLIR's `Round` gives the one farther from 0.

    What is below half stays at the floor, what is half or more goes to the next, and back from where that is odd.
    """
    shape = _shape(op.operands[0])

    def step(name: str, operands: list[str], suffix: str, **numbers: float | str) -> str:
        held = {key: to.attribute(each, "str" if isinstance(each, str) else "f64") for key, each in numbers.items()}
        if name == "CompareConst":
            held["inversed"] = to.attribute(False, "bool")
        return to.inner(name, operands, shape, op, held, suffix)

    floor = step("Floor", [x], "_floor")
    above = step("Sub", [x, floor], "_above")
    up = step("CompareConst", [above], "_up", mode="GreaterOrEqual", const_val=0.5)
    next_ = step("Add", [floor, up], "_next")
    pairs = step("Floor", [step("MulConst", [next_], "_half", const_val=0.5)], "_pairs")
    odd = step("Sub", [next_, step("MulConst", [pairs], "_even", const_val=2.0)], "_odd")
    midway = step("CompareConst", [above], "_midway", mode="Equal", const_val=0.5)
    return to.emit("Sub", [next_, step("Mul", [odd, midway], "_back")], op.results[0])


@operator("Upsample")
def upsample(op: Op, to: Writer) -> str:
    """Each element several times; TPU-MLIR's compiler loses a ReLU behind it that is no operator of its own."""
    if op.layout != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    given = {key: to.attribute(getattr(op, key), "i64") for key in ("scale_h", "scale_w")}
    return _with_own_relu(op, to, "Upsample", given)


def _with_own_relu(op: Op, to: Writer, name: str, attributes: dict[str, str]) -> str:
    """An operator that only moves numbers, and behind it, where there is one, the ReLU, whose limit need be no step."""
    x, result = to.value(op.operands[0]), op.results[0]
    if not op.do_relu:
        return to.emit(name, [x], result, attributes)
    made = to.inner(name, [x], _shape(result), op, attributes)
    return to.emit("Relu", [made], result, {"relu_limit": to.attribute(op.relu_limit, "f64")})


@operator("MaxPool", "AvgPool")
def pool(op: Op, to: Writer) -> str:
    """Windows without gaps; a window of padding counts it or not."""
    if op.attribute("layout", "NCHW") != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    if op.name == "top.MaxPool" and any(step != 1 for step in op.dilations):
        raise Unsupported("windows with gaps")
    attributes = {key: to.attribute(getattr(op, key), "ints") for key in ("kernel_shape", "strides", "pads")}
    if op.name == "top.MaxPool":
        return _with_own_relu(op, to, "MaxPool", {**attributes, "do_relu": to.attribute(False, "bool")})
    attributes["count_include_pad"] = to.attribute(op.count_include_pad, "bool")
    attributes["keepdims"] = to.attribute(True, "bool")
    return to.emit("AvgPool", [to.value(op.operands[0])], op.results[0], {**attributes, **_relu(op, to)})


@operator("Reshape", "Squeeze", "Unsqueeze")
def reshape(op: Op, to: Writer) -> str:
    return to.reshape(to.value(op.operands[0]), op.results[0], _shape(op.results[0]))


@operator("GELU")
def gelu(op: Op, to: Writer) -> str:
    mode = to.attribute("tanh" if op.approx else "normal", "str")
    return to.emit("GELU", [to.value(op.operands[0])], op.results[0], {"approx_mode": mode})


@operator("Pow")
def power(op: Op, to: Writer) -> str:
    """Of a constant exponent."""
    array = to.constant(op.operands[1])
    if array is None or array.size != 1:
        raise Unsupported("an exponent that is computed, or several")
    exponent = to.attribute(float(array.reshape(-1)[0]), "f64")
    return to.emit("Pow", [to.value(op.operands[0])], op.results[0], {"exponent": exponent})


@operator("Square")
def square(op: Op, to: Writer) -> str:
    x = to.value(op.operands[0])
    return to.emit("Mul", [x, x], op.results[0])


@operator("SquaredDifference")
def squared_difference(op: Op, to: Writer) -> str:
    made = to.inner("Sub", [to.value(value) for value in op.operands], _shape(op.results[0]), op)
    return to.emit("Mul", [made, made], op.results[0])


@operator("Neg")
def negate(op: Op, to: Writer) -> str:
    return to.emit("MulConst", [to.value(op.operands[0])], op.results[0], {"const_val": to.attribute(-1.0, "f64")})


@operator("Pack")
def pack(op: Op, to: Writer) -> str:
    """Each with a new dimension, joined along it."""
    shape = _shape(op.results[0])
    axis = op.axis % len(shape)
    one = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
    if len(op.operands) == 1:  # a Concat of one ends TPU-MLIR's compiler
        return to.reshape(to.value(op.operands[0]), op.results[0], shape)
    parts = [to.inner("Reshape", [to.value(value)], one, op, {"shape": to.attribute(one, "ints")}) for value in op.operands]
    return to.emit("Concat", parts, op.results[0], {"axis": to.attribute(axis, "si32")})


def _sliced(to: Writer, x: Value, result: Value, starts: list[int], steps: list[int], op: Op) -> str:
    shape, sizes = _shape(x), list(_shape(result))
    if len(sizes) != len(shape):  # a dimension goes
        axis = next(dim for dim, start in enumerate(starts) if start or len(sizes) < len(shape))
        raise Unsupported(f"a slice that takes dimension {axis} away")
    ends = [start + size * step for start, size, step in zip(starts, sizes, steps, strict=True)]
    attributes = {key: to.attribute(numbers, "ints") for key, numbers in (("offset", starts), ("steps", steps), ("ends", ends))}
    return to.emit("Slice", [to.value(x), to.none, to.none, to.none], result, attributes)


@operator("Slice")
def sliced(op: Op, to: Writer) -> str:
    x = op.operands[0]
    steps = list(op.steps or (1,) * len(_shape(x)))
    if min(steps) < 1:
        raise Unsupported("steps backwards")
    starts = [start + size if start < 0 else start for start, size in zip(op.offset, _shape(x), strict=True)]
    return _sliced(to, x, op.results[0], starts, steps, op)


@operator("Split")
def split(op: Op, to: Writer) -> tuple[str, ...]:
    x = op.operands[0]
    axis = op.axis % len(_shape(x))
    made, first = [], 0
    for result in op.results:
        starts = [first if dim == axis else 0 for dim in range(len(_shape(x)))]
        made.append(_sliced(to, x, result, starts, [1] * len(starts), op))
        first += _shape(result)[axis]
    return tuple(made)


@operator("Unpack")
def unpack(op: Op, to: Writer) -> tuple[str, ...]:
    x = op.operands[0]
    shape = _shape(x)
    axis = op.axis % len(shape)
    made = []
    for index, result in enumerate(op.results):
        starts = [index if dim == axis else 0 for dim in range(len(shape))]
        ends = [index + 1 if dim == axis else size for dim, size in enumerate(shape)]
        one = tuple(1 if dim == axis else size for dim, size in enumerate(shape))
        part = to.inner("Slice", [to.value(x), to.none, to.none, to.none], one, op, {
            "offset": to.attribute(starts, "ints"), "steps": to.attribute([1] * len(shape), "ints"),
            "ends": to.attribute(ends, "ints")}, f"_{index}")
        made.append(to.reshape(part, result, _shape(result)))
    return tuple(made)


@operator("Gather")
def gather(op: Op, to: Writer) -> str:
    """By indices that are known."""
    indices = to.constant(op.operands[1])
    if indices is None or op.batch_dims:
        raise Unsupported("indices that are computed")
    shape = _shape(op.operands[0])
    axis = op.axis % len(shape)
    flat = np.where(indices < 0, indices + shape[axis], indices).reshape(-1).astype(np.float32)
    sizes = (*shape[:axis], flat.size, *shape[axis + 1 :])
    made = to.inner("Gather", [to.value(op.operands[0]), to.weight(flat, op.origin or "indices")], sizes, op, {
        "axis": to.attribute(axis, "si32"), "keepdims": to.attribute(True, "bool")})
    return to.reshape(made, op.results[0], _shape(op.results[0]))


@operator("Pad")
def pad(op: Op, to: Writer) -> str:
    """With a number, or mirrored."""
    value = 0.0
    given = op.val
    if len(op.operands) > 1 and not is_absent(op.operands[1]):
        array = to.constant(op.operands[1])
        if array is None:
            raise Unsupported("padding with what is computed")
        given = float(array.reshape(-1)[0])
    value = float(given)
    attributes = {"paddings": to.attribute(op.paddings, "ints"), "val": to.attribute(value, "f64"),
                  "mode": to.attribute(op.mode, "str")}
    return to.emit("Pad", [to.value(op.operands[0])], op.results[0], attributes)


@operator("Interp")
def interp(op: Op, to: Writer) -> str:
    """Of the two last dimensions: on a grid that TPU-MLIR knows, else by indices or by products with the weights."""
    x, result = op.operands[0], op.results[0]
    if op.attribute("layout", "NCHW") != "NCHW":
        raise Unsupported("channels are last", "run the pass layout{to=NCHW} first")
    if len(_shape(x)) != 4:
        raise Unsupported(f"resizing {len(_shape(x)) - 2} dimensions")
    before, after = _shape(x)[2:], _shape(result)[2:]
    if op.mode == "nearest":
        return _nearest(op, to)
    rows, columns = matrix(op, 0, before[0]), matrix(op, 1, before[1])  # type: ignore[arg-type]
    grid = grid_of((rows, columns))
    if grid is None:
        made = to.inner("MatMul", [to.value(x), to.weight(columns.T, f"{op.origin}_columns"), to.none],
                        (*_shape(x)[:3], after[1]), op)
        return to.emit("MatMul", [_rows(op, to, rows), made, to.none], result)
    return to.emit("Interp", [to.value(x), to.none], result, {
        "mode": to.attribute("linear", "str"), "coord_mode": to.attribute(grid, "str"),
        "scale_h": to.attribute(scale_of(before[0], after[0]), "f64"),
        "scale_w": to.attribute(scale_of(before[1], after[1]), "f64")})


def _rows(op: Op, to: Writer, rows: np.ndarray) -> str:
    """Weights of rows, a matrix of which a product has as many dimensions as what it is multiplied with."""
    return to.weight(rows[None, None], f"{op.origin}_rows")


def _nearest(op: Op, to: Writer) -> str:
    """Each element several times, or rows and columns by indices: TPU-MLIR's operator rounds in its own way."""
    result, made, shape = op.results[0], to.value(op.operands[0]), list(_shape(op.operands[0]))
    read = [places(op, i, size) for i, size in enumerate(shape[2:])]  # type: ignore[arg-type]
    factors = [after // size for size, after in zip(shape[2:], _shape(result)[2:], strict=True)]
    if all(factor and np.array_equal(each, np.arange(size * factor) // factor)
           for each, size, factor in zip(read, shape[2:], factors, strict=True)):
        return to.emit("Upsample", [made], result, {
            key: to.attribute(factor, "i64") for key, factor in zip(("scale_h", "scale_w"), factors, strict=True)})
    for axis, each in enumerate(read, 2):
        shape[axis] = len(each)
        operands = [made, to.weight(each.astype(np.float32), f"{op.origin}_places")]
        given = {"axis": to.attribute(axis, "si32"), "keepdims": to.attribute(True, "bool")}
        made = to.emit("Gather", operands, result, given) if axis == 3 else to.inner("Gather", operands, shape, op, given)
    return made


@operator("Normalize")
def normalize(op: Op, to: Writer) -> str:
    """A root of the sum of squares, and a quotient."""
    x, shape = op.operands[0], _shape(op.operands[0])
    axes = sorted(axis % len(shape) for axis in op.axes)
    total = tuple(1 if dim in axes else size for dim, size in enumerate(shape))
    norm = to.inner("Reduce", [to.value(x)], total, op, {
        "axes": to.attribute(axes, "ints"), "keepdims": to.attribute(True, "bool"), "mode": to.attribute("ReduceL2", "str")},
        "_norm")
    least = {"min": to.attribute(math.sqrt(op.eps), "f64"), "max": to.attribute(3.4e38, "f64")}
    bounded = to.inner("Clip", [norm], total, op, least, "_least")
    return to.emit("Div", [to.value(x), bounded], op.results[0])
