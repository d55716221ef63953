"""One-operator `.tosa` files by which it is found out what Vela takes.

Each `Case` names an op of the `tosa` dialect and the element types of its data operands and results. Cases
without a label ask which element types are taken; labelled ones ask where the limits are. Files are written
with Arm's serializer, so that nothing of Transload decides the outcome.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tosa_serializer as ts

TYPES = {
    "i1": (ts.DType.BOOL, np.bool_), "i4": (ts.DType.INT4, np.int8), "i8": (ts.DType.INT8, np.int8),
    "i16": (ts.DType.INT16, np.int16), "i32": (ts.DType.INT32, np.int32), "i48": (ts.DType.INT48, np.int64),
    "f32": (ts.DType.FP32, np.float32), "f16": (ts.DType.FP16, np.float16), "bf16": (ts.DType.BF16, np.float32),
}
NAN = ts.NanPropagationMode.PROPAGATE
NHWC = (1, 4, 5, 6)
Shape = Sequence[int]


class Graph:
    """Writes one graph of TOSA 1.0; tensors are known by their names."""

    def __init__(self) -> None:
        self.serializer = ts.TosaSerializer("", ts.ConstMode.EMBED, 1, 0, 0, False)

    def input(self, shape: Shape, element: str) -> str:
        tensor = self.serializer.addPlaceholder(list(shape), TYPES[element][0], None)
        return getattr(tensor, "name", tensor)

    def const(self, values: Any, element: str) -> str:
        dtype, numpy = TYPES[element]
        array = np.asarray(values, numpy)
        return self.serializer.addConst(list(array.shape), dtype, array).name

    def shape(self, sizes: Sequence[int]) -> str:
        return self.serializer.addConst([len(sizes)], ts.DType.SHAPE, np.asarray(sizes, np.int64)).name

    def value(self, constant: bool, values: Any, element: str) -> str:
        """The values as a constant, or an input of their shape."""
        return self.const(values, element) if constant else self.input(np.shape(values), element)

    def op(self, name: str, inputs: Sequence[str], shape: Shape, element: str, attribute: str, *arguments: Any) -> str:
        result = self.serializer.addIntermediate(list(map(int, shape)), TYPES[element][0]).name
        attributes = ts.TosaSerializerAttribute()
        getattr(attributes, f"{attribute}Attribute")(*arguments)
        self.serializer.addOperator(getattr(ts.Op, name), list(inputs), [result], attributes)
        return result

    def rescale(
        self, x: str, shape: Shape, source: str, target: str, *, per_channel: bool = False, scale32: bool | None = None,
        rounding: str = "SINGLE_ROUND", unsigned: tuple[bool, bool] = (False, False), zero_points: tuple[int, int] = (0, 0),
        constant: bool = True,
    ) -> str:
        wide = source != "i48" if scale32 is None else scale32
        count = shape[-1] if per_channel else 1
        multiplier = self.value(constant, [1 << (30 if wide else 14)] * count, "i32" if wide else "i16")
        shift = self.const([35 if wide else 20] * count, "i8")
        zeros = [self.const([zero], element) for zero, element in zip(zero_points, (source, target), strict=True)]
        return self.op(
            "RESCALE", [x, multiplier, shift, *zeros], shape, target, "Rescale", wide, getattr(ts.RoundingMode, rounding),
            per_channel, *unsigned)

    def finish(self, *outputs: str) -> bytes:
        for output in outputs:
            self.serializer.currRegion.currBasicBlock.addOutput(output)
        return bytes(self.serializer.serialize())


@dataclass(frozen=True)
class Case:
    """`build()` gives the file. `signature` is like `i8 i8 -> i32`; `label` says what is particular about a limit case.

    `rescaled` is the element type that the op's result is rescaled to: some accelerators need to fuse the two.
    """

    op: str
    signature: str
    build: Callable[[], bytes]
    label: str = ""
    rescaled: str = ""


def _simple(
    name: str, attribute: str, elements: Sequence[str], result: str, arguments: Sequence[Any] = (), shapes: Sequence[Shape] = (),
    out: Shape | None = None, more: Callable[[Graph], list[str]] | None = None, label: str = "",
) -> Case:
    """An op whose operands are all inputs, of `NHWC` or of the given shapes; `more` appends constant operands."""

    def build() -> bytes:
        graph = Graph()
        sizes = shapes or [NHWC] * len(elements)
        inputs = [graph.input(shape, element) for shape, element in zip(sizes, elements, strict=True)]
        target = np.broadcast_shapes(*map(tuple, sizes)) if out is None else out
        return graph.finish(graph.op(name, [*inputs, *(more(graph) if more else ())], target, result, attribute, *arguments))

    given = elements[:1] if name == "CONCAT" else elements  # operands of any number count once
    return Case(f"tosa.{name.lower()}", f"{' '.join(given)} -> {result}", build, label)


EVERY = ("i1", "i4", "i8", "i16", "i32", "i48", "f32", "f16", "bf16")


def elementwise() -> Iterator[Case]:
    binary = ("ADD", "SUB", "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR",
              "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT")
    for name, element in itertools.product(binary, EVERY):
        yield _simple(name, name.title().replace("_", ""), (element, element), element)
    for element in EVERY:
        yield _simple("INTDIV", "IntDiv", (element, element), element)
        for rounds, label in ((True, ""), (False, "round=false")):
            yield _simple("ARITHMETIC_RIGHT_SHIFT", "ArithmeticRightShift", (element, element), element, (rounds,), label=label)
        yield _simple("MAXIMUM", "Maximum", (element, element), element, (NAN,))
        yield _simple("MINIMUM", "Minimum", (element, element), element, (NAN,))
        for name in ("EQUAL", "GREATER", "GREATER_EQUAL"):
            yield _simple(name, name.title().replace("_", ""), (element, element), "i1")
        for name in ("ABS", "CLZ", "BITWISE_NOT", "LOGICAL_NOT", "IDENTITY", "EXP", "TANH", "SIGMOID", "ERF", "FLOOR"):
            yield _simple(name, name.title().replace("_", ""), (element,), element)
        for result in EVERY:
            if result != element and "bf16" not in (element, result):
                yield _simple("CAST", "Cast", (element,), result)
        if element in ("i1", "i8", "i16", "i32", "f32"):
            yield _simple("SELECT", "Select", ("i1", element, element), element)
    for element in ("i8", "i16", "i32"):
        yield _mul(element, True, "")
        yield _mul(element, False, "dynamic shift")
        yield _simple("NEGATE", "Negate", (element,), element, more=lambda g, t=element: [g.const([0], t), g.const([0], t)])
        bounds = [list(np.asarray(bound, TYPES[element][1]).tobytes()) for bound in (-5, 5)]
        yield _simple("CLAMP", "Clamp", (element,), element, (*bounds, NAN))
    for shapes in (((), ()), ((7,), (7,)), ((1,), (7,)), ((1, 4, 1, 6), (1, 1, 5, 6)), ((4, 1, 5, 6), (1, 3, 1, 1)),
                   ((2, 3, 4, 5, 6), (1, 3, 1, 5, 1)), ((2,) * 6, (2,) * 6), ((2,) * 7, (2,) * 7), ((65537,), (65537,)),
                   ((1, 65537, 2, 2), (1, 65537, 2, 2)), ((1, 1, 1, 65537), (1, 1, 1, 1)), ((0, 3), (0, 3))):
        yield _simple("ADD", "Add", ("i32", "i32"), "i32", (), shapes, label=f"shapes {shapes}")
        yield _simple("MAXIMUM", "Maximum", ("i32", "i32"), "i32", (NAN,), shapes, label=f"shapes {shapes}")


def _mul(element: str, constant: bool, label: str) -> Case:
    def build() -> bytes:
        graph = Graph()
        x, y = graph.input(NHWC, element), graph.input(NHWC, element)
        return graph.finish(graph.op("MUL", [x, y, graph.value(constant, [0], "i8")], NHWC, "i32", "Mul"))

    return Case("tosa.mul", f"{element} {element} -> i32", build, label)


def tables() -> Iterator[Case]:
    for element, size, result, constant in itertools.product(("i8", "i16"), (256, 513), ("i8", "i32"), (True, False)):
        if (element == "i8") != (size == 256) or (element == "i8") != (result == "i8"):
            continue
        yield _simple(
            "TABLE", "Table", (element,), result, label="" if constant else "dynamic table",
            more=lambda g, n=size, t=element, c=constant: [g.value(c, np.zeros(n), t)])


def movement() -> Iterator[Case]:
    for element in ("i1", "i4", "i8", "i16", "i32", "i48", "f32"):
        yield _simple("CONCAT", "Concat", (element, element), element, (1,), out=(1, 8, 5, 6))
        yield _simple("RESHAPE", "Reshape", (element,), element, out=(120,), more=lambda g: [g.shape((120,))])
        yield _simple("SLICE", "Slice", (element,), element, out=(1, 3, 4, 5),
                      more=lambda g: [g.shape((0, 1, 1, 1)), g.shape((1, 3, 4, 5))])
        yield _simple("TILE", "Tile", (element,), element, out=(1, 8, 5, 6), more=lambda g: [g.shape((1, 2, 1, 1))])
        for constant in (True, False):
            yield _simple("PAD", "Pad", (element,), element, out=(1, 6, 7, 8), label="" if constant else "dynamic value",
                          more=lambda g, t=element, c=constant: [g.shape((0, 0, 1, 1, 1, 1, 1, 1)), g.value(c, [0], t)])
        yield _simple("TRANSPOSE", "Transpose", (element,), element, ([0, 3, 2, 1],), out=(1, 6, 5, 4))
        for axis in range(4):
            yield _simple("REVERSE", "Reverse", (element,), element, (axis,), label="" if axis == 1 else f"axis {axis}")
        yield _simple("GATHER", "Gather", (element, "i32"), element, (), ((1, 9, 4), (1, 5)), (1, 5, 4))
        yield _simple("SCATTER", "Scatter", (element, "i32", element), element, (), ((1, 9, 4), (1, 5), (1, 5, 4)), (1, 9, 4))
    for shape in ((7,), (5, 7), (4, 5, 7), (2, 4, 5, 7), (2, 3, 4, 5, 7)):
        for axis in range(len(shape)):
            yield _simple("REVERSE", "Reverse", ("i8",), "i8", (axis,), (shape,), label=f"axis {axis} of {shape}")
    for element, shape, order in itertools.product(("i8", "i32"), ((2, 3, 4, 5),), itertools.permutations(range(4))):
        yield _transpose(element, shape, order)
    for element, (shape, order) in itertools.product(("i8", "i32"), (
            ((65537, 3), (1, 0)), ((1, 65537, 3, 3), (0, 3, 2, 1)), ((1, 70000, 2, 2), (1, 0, 2, 3)),
            ((1, 1, 1, 70000), (0, 1, 2, 3)), ((1, 300, 300, 8), (0, 3, 1, 2)), ((300, 300, 2, 2), (1, 0, 2, 3)),
            ((2, 3, 4, 5, 6, 2), (5, 4, 3, 2, 1, 0)), ((1, 4, 4, 16384), (0, 2, 1, 3)), ((1, 4, 4, 16385), (0, 2, 1, 3)),
            ((4, 5, 16385), (1, 0, 2)), ((4, 5, 20000), (0, 2, 1)))):
        yield _transpose(element, shape, order)


def _transpose(element: str, shape: Shape, order: Shape) -> Case:
    return _simple("TRANSPOSE", "Transpose", (element,), element, (list(order),), (shape,), [shape[i] for i in order],
                   label=f"{tuple(order)} of {tuple(shape)}")


def reductions() -> Iterator[Case]:
    names = ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "REDUCE_PRODUCT", "REDUCE_ALL", "REDUCE_ANY")
    for name, element in itertools.product(names, ("i1", "i8", "i16", "i32", "f32")):
        for axis in (3, 1):
            yield _reduce(name, element, NHWC, axis, "" if axis == 3 else f"axis {axis}")
    for shape, axis in (((7,), 0), ((2, 3, 4, 5, 6), 2), ((65537, 3), 0), ((3, 65537), 0), ((3, 65537), 1),
                        ((1, 3, 65537, 3), 2)):
        yield _reduce("REDUCE_SUM", "i32", shape, axis, f"axis {axis} of {shape}")
        yield _reduce("REDUCE_MAX", "i8", shape, axis, f"axis {axis} of {shape}")
    for element in ("i8", "i16", "i32", "f32"):
        yield _argmax(element, NHWC, 3, "")
        yield _argmax(element, NHWC, 1, "axis 1")
    for shape, axis in (((1, 4, 5, 127), 3), ((1, 4, 5, 128), 3), ((2, 4, 5, 8), 3), ((3, 10), 1), ((2, 4, 10), 2), ((10,), 0),
                        ((1, 1, 6, 7, 8), 4), ((2, 1, 6, 7, 8), 4), ((2, 3, 4), 1)):
        yield _argmax("i8", shape, axis, f"axis {axis} of {shape}")


def _reduce(name: str, element: str, shape: Shape, axis: int, label: str) -> Case:
    arguments = (axis, NAN) if name in ("REDUCE_MAX", "REDUCE_MIN") else (axis,)
    out = [1 if i == axis else size for i, size in enumerate(shape)]
    return _simple(name, name.title().replace("_", ""), (element,), element, arguments, (shape,), out, label=label)


def _argmax(element: str, shape: Shape, axis: int, label: str) -> Case:
    out = [size for i, size in enumerate(shape) if i != axis]
    return _simple("ARGMAX", "ArgMax", (element,), "i32", (axis, NAN), (shape,), out, label=label)


def convolutions() -> Iterator[Case]:
    types = (("i8", "i8"), ("i8", "i4"), ("i16", "i8"))
    for name, (element, weight), target in itertools.product(_CONVOLUTIONS, types, ("", "i8", "i16", "i32")):
        yield _convolution(name, element, weight, rescaled=target)
    for name, (label, options) in itertools.product(_CONVOLUTIONS, _CONVOLUTION_LIMITS.items()):
        shape = options.get("shape")
        if name == "CONV3D" and shape is not None:
            options = {**options, "shape": (shape[0], 1, *shape[1:])}
        yield _convolution(name, "i8", "i8", label=label, **options)
    for depth, (element, weight) in itertools.product((1, 2), types):
        yield _convolution("CONV3D", element, weight, label=f"kernel depth {depth}", rescaled="i8", depth=depth,
                           shape=(1, 4, 8, 8, 4))
        yield _convolution("CONV3D", element, weight, label=f"dynamic weights, kernel depth {depth}", rescaled="i8", depth=depth,
                           shape=(1, 4, 8, 8, 4), weights=False)
    for multiplier, channels in ((2, 1), (2, 4), (3, 4)):
        yield _convolution("DEPTHWISE_CONV2D", "i8", "i8", label=f"{multiplier} filters of {channels} channels",
                           multiplier=multiplier, shape=(1, 8, 8, channels))


_CONVOLUTIONS = {
    "CONV2D": "Conv2d", "DEPTHWISE_CONV2D": "DepthwiseConv2d", "TRANSPOSE_CONV2D": "TransposeConv2d", "CONV3D": "Conv3d"}
_CONVOLUTION_LIMITS: dict[str, dict[str, Any]] = {
    "dynamic weights": {"weights": False},
    "dynamic bias": {"bias": False},
    "weight zero point": {"zero_point": 3},
    "one bias": {"one_bias": True},
    "batch 2": {"shape": (2, 8, 8, 4)},
    "65536 channels": {"shape": (1, 2, 2, 65536), "kernel": (1, 1)},
    "65537 channels": {"shape": (1, 2, 2, 65537), "kernel": (1, 1)},
    "kernel 65x65": {"shape": (1, 66, 66, 1), "kernel": (65, 65)},
    "kernel 1x4097": {"shape": (1, 2, 4098, 1), "kernel": (1, 4097)},
    "stride 2,2": {"stride": (2, 2), "shape": (1, 9, 9, 4)},
    "stride 2,1": {"stride": (2, 1), "shape": (1, 9, 9, 4)},
    "stride 3,3": {"stride": (3, 3), "shape": (1, 12, 12, 4)},
    "stride 4,4": {"stride": (4, 4), "shape": (1, 11, 11, 4)},
    "stride 4,4, padded": {"stride": (4, 4), "shape": (1, 10, 10, 4), "pad": (1, 0, 1, 0)},
    "stride 4,4, dilated": {"stride": (4, 4), "shape": (1, 9, 9, 4), "dilation": (2, 2)},
    "stride 1,2 of one column": {"stride": (1, 2), "shape": (1, 9, 1, 4), "kernel": (3, 1)},
    "stride 2,2 of one column": {"stride": (2, 2), "shape": (1, 9, 1, 4), "kernel": (3, 1)},
    "stride 4,4 of one pixel": {"stride": (4, 4), "shape": (1, 1, 1, 4), "kernel": (1, 1)},
    "stride 4,4, one window": {"stride": (4, 4), "shape": (1, 3, 3, 4)},
    "stride 4,1, one row": {"stride": (4, 1), "shape": (1, 3, 8, 4)},
    "dilation 3,3": {"dilation": (3, 3), "shape": (1, 20, 20, 4)},
    "stride 1,2 of one row": {"stride": (1, 2), "shape": (1, 1, 9, 4), "kernel": (1, 3)},
    "stride 2,1 of one column": {"stride": (2, 1), "shape": (1, 9, 1, 4), "kernel": (3, 1)},
    "stride 1,2 of one row, tall kernel": {"stride": (1, 2), "shape": (1, 1, 9, 4), "kernel": (3, 3), "pad": (1, 1, 0, 0)},
}


def _convolution(
    name: str, element: str, weight: str, *, label: str = "", rescaled: str = "", kernel: Shape = (3, 3),
    stride: Shape = (1, 1), dilation: Shape = (1, 1), pad: Shape = (0, 0, 0, 0), shape: Shape = (), weights: bool = True,
    bias: bool = True, zero_point: int = 0, one_bias: bool = False, multiplier: int = 1, depth: int = 1,
) -> Case:
    accumulator = "i48" if element == "i16" else "i32"

    def build() -> bytes:
        graph = Graph()
        sizes = tuple(shape) or ((1, 1, 8, 8, 4) if name == "CONV3D" else (1, 8, 8, 4))
        window, step, spread, padding = tuple(kernel), tuple(stride), tuple(dilation), tuple(pad)
        if name == "CONV3D":
            window, step, spread, padding = (depth, *window), (1, *step), (1, *spread), (0, 0, *padding)
        channels = sizes[-1]
        if name == "DEPTHWISE_CONV2D":
            filters, many = (*window, channels, multiplier), channels * multiplier
        else:
            many = 1 if channels > 1000 else 8
            filters = (many, *window, channels)
        spatial = sizes[1:-1]
        before, after = padding[::2], padding[1::2]
        if name == "TRANSPOSE_CONV2D":
            out = [(n - 1) * s + k + a + b for n, s, k, a, b in zip(spatial, step, window, before, after, strict=True)]
            arguments: list[Any] = [list(padding), list(step)]
        else:
            out = [(n - 1 + a + b - (k - 1) * d) // s + 1
                   for n, s, k, d, a, b in zip(spatial, step, window, spread, before, after, strict=True)]
            arguments = [list(padding), list(step), list(spread)]
        operands = [
            graph.input(sizes, element), graph.value(weights, np.ones(filters), weight),
            graph.value(bias, np.zeros(1 if one_bias else many), accumulator), graph.const([0], element),
            graph.const([zero_point], weight)]
        result = (sizes[0], *out, many)
        value = graph.op(
            name, operands, result, accumulator, _CONVOLUTIONS[name], *arguments, False, TYPES[accumulator][0])
        if rescaled:
            value = graph.rescale(value, result, accumulator, rescaled, per_channel=True)
        return graph.finish(value)

    return Case(f"tosa.{name.lower()}", f"{element} {weight} -> {accumulator}", build, label, rescaled)


def pooling() -> Iterator[Case]:
    for name in ("MAX_POOL2D", "AVG_POOL2D"):
        for element in ("i8", "i16", "i32", "f32"):
            yield _pool(name, element)
        for label, options in _POOL_LIMITS.items():
            yield _pool(name, "i8", label, **options)


_POOL_LIMITS: dict[str, dict[str, Any]] = {
    "kernel 8x8, padded": {"kernel": (8, 8), "pad": (1, 1, 0, 0), "stride": (1, 1), "shape": (1, 16, 16, 4)},
    "kernel 9x1, padded": {"kernel": (9, 1), "pad": (1, 1, 0, 0), "stride": (1, 1), "shape": (1, 16, 16, 4)},
    "kernel 300x300": {"kernel": (300, 300), "shape": (1, 300, 300, 1)},
    "stride 4": {"stride": (4, 4), "shape": (1, 10, 10, 4)},
    "stride 4, padded above": {"stride": (4, 4), "shape": (1, 9, 10, 4), "pad": (1, 0, 0, 0)},
    "stride 1,4, padded right": {"stride": (1, 4), "shape": (1, 10, 9, 4), "pad": (0, 0, 0, 1)},
    "stride 4, padded above, one window": {"stride": (4, 4), "shape": (1, 1, 2, 4), "pad": (1, 0, 0, 0)},
    "batch 2": {"shape": (2, 8, 8, 4)},
    "65536 channels": {"shape": (1, 2, 2, 65536)},
    "65537 channels": {"shape": (1, 2, 2, 65537)},
    "65538 rows": {"shape": (1, 65538, 2, 1), "stride": (1, 1)},
}


def _pool(
    name: str, element: str, label: str = "", kernel: Shape = (2, 2), stride: Shape = (2, 2), pad: Shape = (0, 0, 0, 0),
    shape: Shape = (1, 8, 8, 4),
) -> Case:
    windows = zip(shape[1:3], kernel, stride, pad[::2], pad[1::2], strict=True)
    out = [shape[0], *((n + a + b - k) // s + 1 for n, k, s, a, b in windows), shape[3]]
    arguments = [list(kernel), list(stride), list(pad)]
    if name == "MAX_POOL2D":
        return _simple(name, "MaxPool2d", (element,), element, (*arguments, NAN), (shape,), out, label=label)
    accumulator = ts.DType.FP32 if element == "f32" else ts.DType.INT32
    return _simple(name, "AvgPool2d", (element,), element, (*arguments, accumulator), (shape,), out, label=label,
                   more=lambda g: [g.const([0], element), g.const([0], element)])


def products() -> Iterator[Case]:
    for element in ("i8", "i16", "f32"):
        yield _matmul(element, 4, 5, 6, "")
    for label, sizes in {
        "65536 deep": (4, 65536, 2), "65537 deep": (4, 65537, 2), "65537 columns": (4, 2, 65537), "65537 rows": (65537, 2, 4),
    }.items():
        yield _matmul("i8", *sizes, label)
    yield _matmul("i8", 4, 5, 6, "batch 8", batch=8)


def _matmul(element: str, rows: int, depth: int, columns: int, label: str, batch: int = 1) -> Case:
    result = {"i8": "i32", "i16": "i48"}.get(element, element)
    shapes = ((batch, rows, depth), (batch, depth, columns))
    return _simple("MATMUL", "MatMul", (element, element), result, (), shapes, (batch, rows, columns),
                   lambda g: [g.const([0], element), g.const([0], element)], label)


def rescales() -> Iterator[Case]:
    for source, target in itertools.product(("i8", "i16", "i32", "i48"), ("i8", "i16", "i32")):
        yield _rescale(source, target, "")
    yield _rescale("i32", "i8", "dynamic multiplier", constant=False)
    for label, options in {
        "per channel": {"per_channel": True}, "16-bit multipliers": {"scale32": False},
        "double rounding": {"rounding": "DOUBLE_ROUND"}, "inexact rounding": {"rounding": "INEXACT_ROUND"},
        "zero points": {"zero_points": (5, -7)}, "from unsigned": {"unsigned": (True, False)},
        "to unsigned": {"unsigned": (False, True)},
    }.items():
        yield _rescale("i8", "i8", label, **options)


def _rescale(source: str, target: str, label: str, **options: Any) -> Case:
    def build() -> bytes:
        graph = Graph()
        return graph.finish(graph.rescale(graph.input(NHWC, source), NHWC, source, target, **options))

    return Case("tosa.rescale", f"{source} -> {target}", build, label)


def resizes() -> Iterator[Case]:
    for element, mode in itertools.product(("i8", "i16"), ("NEAREST", "BILINEAR")):
        yield _resize(element, mode, (1, 1, 1, 1))
    for element, mode, factor, batch in itertools.product(("i8",), ("NEAREST", "BILINEAR"), (1, 2, 3, 4, 8, 16), (1, 2)):
        half, where = factor - 1, f"{mode.lower()} x{factor}, batch {batch}"
        yield _resize(element, mode, (factor, 1) * 2, shape=(batch, 4, 4, 4), label=f"{where}, aligned corners")
        yield _resize(element, mode, (2 * factor, 2) * 2, (-half,) * 2, (half,) * 2, (batch, 4, 4, 4), f"{where}, half pixel")
        yield _resize(element, mode, (factor, 1) * 2, (0, 0), (half,) * 2, (batch, 4, 4, 4), f"{where}, from the corner")
    for mode, label, scale, shape in (
            ("NEAREST", "one pixel", (8, 1, 8, 1), (1, 1, 1, 4)), ("BILINEAR", "one pixel", (8, 1, 8, 1), (1, 1, 1, 4)),
            ("NEAREST", "x2 of one column", (2, 1, 1, 1), (1, 4, 1, 4)), ("NEAREST", "x2 of rows", (2, 1, 1, 1), (1, 4, 4, 4)),
            ("NEAREST", "x2 by x4", (2, 1, 4, 1), (1, 4, 4, 4)), ("NEAREST", "half", (1, 2, 1, 2), (1, 9, 9, 4)),
            ("BILINEAR", "half", (1, 2, 1, 2), (1, 9, 9, 4)), ("NEAREST", "unchanged", (3, 3, 3, 3), (1, 4, 4, 4))):
        yield _resize("i8", mode, scale, shape=shape, label=f"{mode.lower()} {label}")


def _resize(
    element: str, mode: str, scale: Shape, offset: Shape = (0, 0), border: Shape = (0, 0), shape: Shape = (1, 4, 4, 4),
    label: str = "",
) -> Case:
    result = element if mode == "NEAREST" else {"i8": "i32", "i16": "i48"}[element]
    out = [((n - 1) * scale[2 * i] - offset[i] + border[i]) // scale[2 * i + 1] + 1 for i, n in enumerate(shape[1:3])]
    return _simple("RESIZE", "Resize", (element,), result, (getattr(ts.ResizeMode, mode),), (shape,), (shape[0], *out, shape[3]),
                   lambda g: [g.shape(scale), g.shape(offset), g.shape(border)], label)


def control_flow() -> Iterator[Case]:
    def branch() -> bytes:
        graph = Graph()
        condition, x = graph.input((1,), "i1"), graph.input((1, 4), "i32")
        result = graph.op("COND_IF", [condition, x], (1, 4), "i32", "CondIf", "then", "else")
        graph.serializer.currRegion.currBasicBlock.addOutput(result)
        for name, operator in (("then", "Add"), ("else", "Sub")):
            graph.serializer.startRegion(name)
            graph.serializer.addBasicBlock(name)
            y = graph.input((1, 4), "i32")
            graph.serializer.currRegion.currBasicBlock.addOutput(graph.op(operator.upper(), [y, y], (1, 4), "i32", operator))
        return bytes(graph.serializer.serialize())

    def loop() -> bytes:
        graph = Graph()
        result = graph.op("WHILE_LOOP", [graph.input((1,), "i32")], (1,), "i32", "WhileLoop", "test", "body")
        graph.serializer.currRegion.currBasicBlock.addOutput(result)
        for name, operator, limit, element in (("test", "Greater", 10, "i1"), ("body", "Add", 1, "i32")):
            graph.serializer.startRegion(name)
            graph.serializer.addBasicBlock(name)
            x = graph.input((1,), "i32")
            value = graph.op(operator.upper(), [graph.const([limit], "i32"), x], (1,), element, operator)
            graph.serializer.currRegion.currBasicBlock.addOutput(value)
        return bytes(graph.serializer.serialize())

    yield Case("tosa.cond_if", "i1 i32 -> i32", branch)
    yield Case("tosa.while_loop", "i32 -> i32", loop)
    yield _simple("CUSTOM", "Custom", ("i32",), "i32", ("name", "domain", []))


def all_cases() -> Iterator[Case]:
    """Every case, those about element types and those about limits."""
    for family in (elementwise, tables, movement, reductions, convolutions, pooling, products, rescales, resizes, control_flow):
        yield from family()
