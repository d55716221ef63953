"""Quantized ONNX operators, each a function that adds one to a graph: `LINEAR` in QOperator form, `BETWEEN` in QDQ form, and
`ENDS`, which give integers without a scale or floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ._integers import LIMITS
from ._onnx_graph import NARROW, Graph, NoCaseError, Quantized

__all__ = ["BETWEEN", "ENDS", "LINEAR", "STEADY", "Step"]

Step = Callable[[Graph, Quantized], Any]
LINEAR: dict[str, Step] = {}
BETWEEN: dict[str, Step] = {}
ENDS: dict[str, Step] = {}
STEADY = {
    "Relu",
    "MaxPool",
    "Transpose",
    "Reshape",
    "Slice",
    "Pad",
    "Gather",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Clip",
    "DepthToSpace",
    "SpaceToDepth",
    "Expand",
    "Tile",
    "Concat",
    "Split",
    "Max",
    "Min",
    "GlobalMaxPool",
    "ReduceMax",
    "ReduceMin",
    "Abs",
    "Neg",
    "Identity",
    "AveragePool",
    "GlobalAveragePool",
    "ReduceMean",
    "Add",
    "Sub",
    "Where",
    "Resize",
    "Sigmoid",
    "Tanh",
    "LeakyRelu",
}
"""Operators whose results are no further apart than their operands are."""


def step(
    table: dict[str, Step], *names: str
) -> Callable[[Callable[[str, Graph, Quantized], Any]], Callable[[str, Graph, Quantized], Any]]:
    def keep(make: Callable[[str, Graph, Quantized], Any]) -> Callable[[str, Graph, Quantized], Any]:
        for name in names:
            table[name] = lambda graph, x, name=name: make(name, graph, x)  # type: ignore[misc]
        return make

    return keep


def need(condition: bool) -> None:
    if not condition:
        raise NoCaseError("does not go here")


def partner(graph: Graph, x: Quantized) -> Quantized:
    """Another operand, which broadcasts, or the same again."""
    if graph.chance(0.1):
        return x
    shape = tuple(1 if graph.chance(0.3) else size for size in x.shape)[graph.pick(0, 0, min(1, x.rank)) :]
    return graph.operand(shape, x.dtype, x.reach * graph.pick(1.0, 0.1, 5.0))


def windows(graph: Graph, x: Quantized, least: int = 1) -> dict[str, Any]:
    """Attributes of a window of one or two dimensions, which fits into each."""
    axes = x.rank - 2
    kernel = [graph.pick(*range(least, 4)) for _ in range(axes)]
    made: dict[str, Any] = {"kernel_shape": kernel, "strides": [graph.pick(1, 1, 2, 3) for _ in range(axes)]}
    need(all(window <= size for window, size in zip(kernel, x.shape[2:], strict=True)))
    if graph.chance(0.3):
        return {**made, "auto_pad": graph.pick("SAME_UPPER", "SAME_LOWER", "VALID")}
    return {**made, "pads": [graph.pick(0, min(1, size - 1)) for size in kernel * 2]}


def pooled(graph: Graph, x: Quantized, least: int = 1) -> dict[str, Any]:
    """Those of a pool. Beside `auto_pad`, onnxruntime takes `ceil_mode` otherwise than ONNX's text (docs/onnx.md)."""
    made, ceil_mode = windows(graph, x, least), graph.pick(0, 0, 1)
    return {**made, "ceil_mode": 0 if "auto_pad" in made else ceil_mode}


# --- QOperator form


@step(LINEAR, "QLinearConv")
def linear_conv(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.rank in (3, 4) and x.dtype in NARROW)
    attributes, groups = windows(graph, x), graph.pick(1, 1, x.shape[1])
    attributes["dilations"] = [graph.pick(1, 2) if 2 * window - 1 <= size else 1 for window, size in zip(
        attributes["kernel_shape"], x.shape[2:], strict=True)]
    shape = (groups * graph.pick(1, 2, 3), x.shape[1] // groups, *attributes["kernel_shape"])
    dtype = graph.pick(x.dtype, "int8")
    weights, scale, zero, scales = graph.weights(shape, dtype, graph.pick(0, None))
    bias = [graph.constant(graph.random.integers(-20000, 20000, shape[0]), "int32")] if graph.chance(0.6) else []
    made = graph.result((), x.dtype, x.reach * 100 * float(scales.mean()) * math.sqrt(math.prod(shape[1:])), halves=False)
    graph.add(name, [*x.named, weights, scale, zero, *made.by, *bias], [made.name], group=groups, **attributes)
    return graph.settled(made)


@step(LINEAR, "QLinearMatMul", "QGemm")
def linear_product(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.rank >= 2 and x.dtype in NARROW and (name != "QGemm" or x.rank == 2))
    columns, flipped = graph.pick(1, 3, 5), name == "QGemm" and graph.chance(0.5)
    turned = name == "QGemm" and graph.chance(0.2)
    depth = x.shape[-2] if turned else x.shape[-1]
    batch = x.shape[:-2] if name == "QLinearMatMul" and x.rank > 2 and graph.chance(0.3) else ()
    shape = (columns, depth) if flipped else (*batch, depth, columns)
    axis = (0 if flipped else len(shape) - 1) if not batch and graph.chance(0.5) else None
    weights, scale, zero, scales = graph.weights(shape, graph.pick(x.dtype, "int8"), axis)
    made = graph.result((), x.dtype, x.reach * 100 * float(scales.mean()) * math.sqrt(depth), halves=False)
    if name == "QLinearMatMul":
        graph.add(name, [*x.named, weights, scale, zero, *made.by], [made.name])
        return graph.settled(made)
    bias = graph.constant(graph.random.integers(-9000, 9000, columns), "int32") if graph.chance(0.6) else ""
    graph.add(
        name,
        [*x.named, weights, scale, zero, bias, *made.by],
        [made.name],
        ms=True,
        transB=int(flipped),
        transA=int(turned),
        alpha=float(graph.pick(1.0, 1.0, 0.5)),
    )
    return graph.settled(made)


@step(LINEAR, "QLinearAdd", "QLinearMul")
def linear_binary(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.dtype in NARROW)
    y = partner(graph, x)
    made = graph.result((), x.dtype, x.reach * y.reach if name == "QLinearMul" else x.reach + y.reach, halves=False)
    pair = (*y.named, *x.named) if graph.chance(0.3) else (*x.named, *y.named)
    graph.add(name, [*pair, *made.by], [made.name], ms=True)
    return graph.settled(made)


@step(
    LINEAR,
    "QLinearSigmoid",
    "QLinearLeakyRelu",
    "QLinearSoftmax",
    "QLinearAveragePool",
    "QLinearGlobalAveragePool",
    "QLinearConcat",
    "QLinearWhere",
)
def linear_other(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.dtype in NARROW)
    reach = 1.0 if name in ("QLinearSigmoid", "QLinearSoftmax") else x.reach
    made = graph.result((), x.dtype, reach, halves=not name.endswith("Pool"))
    inputs, more = [*x.named, *made.by], dict[str, Any]()
    if name == "QLinearLeakyRelu":
        more = {"alpha": float(graph.pick(0.01, 0.3, 1.5, 0.0))}
    elif name == "QLinearSoftmax":
        wraps = x.dtype == "int8" and made.zero + 1 / made.scale >= 128  # as onnxruntime does
        need(x.rank > 0 and not wraps)
        more = {"axis": int(graph.random.integers(-x.rank, x.rank)), "opset": int(graph.pick(9, 13))}
    elif name.endswith("Pool"):
        need(x.rank == 4)
        more = {"channels_last": graph.pick(0, 0, 1)}
    if name == "QLinearAveragePool":
        more = {**more, **pooled(graph, x, least=2), "count_include_pad": graph.pick(0, 1)}
    if name in ("QLinearConcat", "QLinearWhere"):
        need(x.rank > 0)
        y = graph.operand(x.shape, x.dtype, x.reach)
        where = [graph.constant(graph.values(x.shape, "bool"))]
        inputs = [*made.by, *x.named, *y.named] if name == "QLinearConcat" else [*where, *x.named, *y.named, *made.by]
        more = {"axis": int(graph.random.integers(-x.rank, x.rank))} if name == "QLinearConcat" else {}
    graph.add(name, inputs, [made.name], ms=True, **more)
    return graph.settled(made)


@step(LINEAR, "moved")
def moved(name: str, graph: Graph, x: Quantized) -> Quantized:
    """Operators of ONNX that take stored integers as they are."""
    need(x.rank >= 2)
    made, way = graph.alike(x), graph.pick("Transpose", "Reshape", "MaxPool", "Slice", "Pad", "Concat")
    if way == "MaxPool":
        need(x.rank == 4 and x.dtype in NARROW)
    inputs: dict[str, list[str]] = {
        "Reshape": [graph.constant([x.shape[0], -1], "int64")],
        "Slice": [graph.constant([0], "int64"), graph.constant([-1], "int64")],
        "Pad": [graph.constant([0, 1] + [0] * (2 * x.rank - 2), "int64"), graph.constant(x.zero, x.dtype)],
        "Concat": [x.name],
    }
    ways: dict[str, dict[str, Any]] = {
        "Transpose": {"perm": list(map(int, graph.random.permutation(x.rank)))},
        "Concat": {"axis": -1},
        "MaxPool": windows(graph, x) if way == "MaxPool" else {},
    }
    graph.add(way, [x.name, *inputs.get(way, [])], [made.name], **ways.get(way, {}))
    return graph.settled(made)


@step(LINEAR, "requantized")
def requantized(name: str, graph: Graph, x: Quantized) -> Quantized:
    dtype = graph.pick("int8", "uint8", "int16", "uint16")
    return graph.rounded(graph.real(x), graph.result((), dtype, x.reach))


# --- what ends a graph


@step(ENDS, "MatMulInteger", "ConvInteger")
def of_integers(name: str, graph: Graph, x: Quantized) -> str:
    need(x.dtype in NARROW and (x.rank >= 2 if name == "MatMulInteger" else x.rank == 4))
    attributes = {} if name == "MatMulInteger" else windows(graph, x)
    shape = (x.shape[-1], 3) if name == "MatMulInteger" else (2, x.shape[1], *attributes["kernel_shape"])
    dtype = graph.pick(*NARROW)
    weights, _, zero, _ = graph.weights(shape, dtype, 1 if name == "MatMulInteger" and graph.chance(0.4) else None)
    zeros = [[], [x.by[1]], [x.by[1], zero]][graph.pick(0, 1, 2)]
    return graph.add(name, [x.name, weights, *zeros], [graph.name("y")], **attributes)


@step(ENDS, "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "DynamicQuantizeLinear", "MatMulNBits")
def dynamic(name: str, graph: Graph, x: Quantized) -> str:
    need(x.rank >= 2 and x.dtype in NARROW)
    columns, made = graph.pick(1, 4), graph.name("y")
    weights, scale, zero, _ = graph.weights((x.shape[-1], columns), graph.pick(*NARROW), graph.pick(None, 1))
    bias = graph.constant(graph.values((columns,), "float32")) if graph.chance(0.5) else ""
    if name == "DynamicQuantizeMatMul":
        return graph.add(name, [graph.real(x), weights, scale, zero, bias], [made], ms=True)
    if name == "MatMulIntegerToFloat":
        return graph.add(name, [x.name, weights, x.by[0], scale, x.by[1], zero, bias], [made], ms=True)
    if name == "DynamicQuantizeLinear":
        kept = [graph.name("d") for _ in range(3)]
        graph.add(name, [graph.real(x)], kept)
        return graph.add("DequantizeLinear", kept, [made])
    block, depth = 16, x.shape[-1]
    blocks = -(-depth // block)
    packed = graph.constant(graph.random.integers(0, 256, (columns, blocks, block // 2)), "uint8")
    scales = graph.constant(graph.random.uniform(0.001, 0.1, columns * blocks), "float32")
    zeros = [graph.constant(graph.random.integers(0, 256, columns * -(-blocks // 2)), "uint8")] if graph.chance(0.5) else []
    return graph.add(
        name,
        [graph.real(x), packed, scales, *zeros],
        [made],
        ms=True,
        K=depth,
        N=columns,
        bits=4,
        block_size=block,
        accuracy_level=1,
    )


@step(ENDS, "DynamicQuantizeLSTM")
def recurrent(name: str, graph: Graph, x: Quantized) -> str:
    need(x.rank == 3 and x.dtype in NARROW)
    size, directions, kind = graph.pick(2, 5), graph.pick(1, 2), graph.pick(*NARROW)
    held: dict[str, list[str]] = {}
    for key, depth in (("w", x.shape[2]), ("r", size)):
        stored = graph.constant(graph.values((directions, depth, 4 * size), kind), kind)
        shape = (directions, 4 * size) if graph.chance(0.5) else (directions,)
        scales = graph.constant(graph.random.uniform(0.001, 0.01, shape), "float32")
        zero = 0 if kind == "int8" or len(shape) > 1 else 128
        held[key] = [stored, scales, graph.constant(np.full(shape, zero), kind)]
    bias = graph.constant(graph.values((directions, 8 * size), "float32")) if graph.chance(0.5) else ""
    inputs = [graph.real(x), held["w"][0], held["r"][0], bias, "", "", "", "", *held["w"][1:], *held["r"][1:]]
    way = "bidirectional" if directions == 2 else graph.pick("forward", "reverse")
    return graph.add(name, inputs, [graph.name("y")], ms=True, hidden_size=size, direction=way)


@step(ENDS, "blocks")
def blockwise(name: str, graph: Graph, x: Quantized) -> str:
    """Weights whose scales belong to blocks, of 4 or 8 bits, in a product or a sum."""
    need(x.rank >= 2)
    axis, dtype, columns = graph.pick(0, 1, -1, -2), graph.pick("int4", "uint4", "int8", "uint8"), graph.pick(2, 4)
    shape, block = [x.shape[-1], columns], graph.pick(2, 3, 16)
    counts = list(shape)
    counts[axis] = -(-shape[axis] // block)
    low, high = (-8, 8) if dtype == "int4" else (0, 16)
    scale = graph.constant(graph.random.uniform(0.01, 0.2, counts), "float32")
    zeros = [graph.constant(graph.random.integers(low, high, counts), dtype)] if graph.chance(0.6) else []
    weights = graph.add(
        "DequantizeLinear",
        [graph.constant(graph.values(shape, dtype), dtype), scale, *zeros],
        [graph.name("r")],
        axis=axis,
        block_size=block,
    )
    return graph.add("MatMul", [graph.real(x), weights], [graph.name("y")])


@step(ENDS, "compared", "ArgMax", "floats")
def told(name: str, graph: Graph, x: Quantized) -> str:
    if name == "floats":
        return graph.real(x)
    if name == "compared":
        return graph.add(
            graph.pick("Greater", "Less", "Equal"), [graph.real(x), graph.real(partner(graph, x))], [graph.name("y")]
        )
    need(x.rank > 0)
    return graph.add(
        graph.pick("ArgMax", "ArgMin"),
        [graph.real(x)],
        [graph.name("y")],
        axis=int(graph.random.integers(-x.rank, x.rank)),
        keepdims=graph.pick(0, 1),
    )


# --- QDQ form


@step(
    BETWEEN,
    "Relu",
    "LeakyRelu",
    "Sigmoid",
    "Tanh",
    "HardSigmoid",
    "HardSwish",
    "Elu",
    "Gelu",
    "Erf",
    "Softplus",
    "Abs",
    "Neg",
    "Sqrt",
    "Exp",
    "Identity",
    "Softsign",
    "Selu",
    "Mish",
    "ThresholdedRelu",
    "Celu",
    "Sin",
    "Reciprocal",
    "Floor",
    "Ceil",
    "Round",
    "Sign",
    "Log",
)
def function(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(name not in ("Sqrt", "Log") or x.zero == LIMITS[x.dtype][0])  # no integer is what a NaN becomes
    reach = {
        "Sigmoid": 1.0,
        "Tanh": 1.0,
        "HardSigmoid": 1.0,
        "Erf": 1.0,
        "Exp": math.exp(min(8, x.reach)),
        "Sin": 1.0,
        "Softsign": 1.0,
    }
    alphas = {"LeakyRelu": graph.pick(0.01, 0.3, 1.5, 0.5), "Elu": graph.pick(1.0, 0.3)}
    more: dict[str, Any] = {"alpha": float(alphas[name])} if name in alphas else {}
    return graph.rounded(
        graph.add(name, [graph.real(x)], [graph.name("r")], **more), graph.result((), x.dtype, reach.get(name, x.reach))
    )


@step(BETWEEN, "Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu", "Pow")
def two(name: str, graph: Graph, x: Quantized) -> Quantized:
    y = partner(graph, x)
    pair = [graph.real(x), graph.real(y)]
    if name == "Pow":
        pair[1] = graph.constant(float(graph.pick(2, 3)), "float32")
    reach = {"Mul": x.reach * y.reach, "Div": x.reach / y.reach * 4}.get(name, x.reach + y.reach)
    return graph.rounded(graph.add(name, pair, [graph.name("r")]), graph.result((), x.dtype, reach))


@step(BETWEEN, "Conv", "ConvTranspose", "MatMul", "Gemm")
def product(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.rank >= 2 if name == "MatMul" else x.rank == 2 if name == "Gemm" else x.rank in (3, 4))
    attributes = windows(graph, x) if name.startswith("Conv") else {"transB": graph.pick(0, 1)} if name == "Gemm" else {}
    count, groups = graph.pick(1, 2, 4), 1
    # of windows shorter than their stride onnxruntime gives less than the strides fit into, which ONNX asks for
    need(name != "ConvTranspose" or "auto_pad" not in attributes or attributes["kernel_shape"] >= attributes["strides"])
    if name == "Conv":
        groups = graph.pick(1, 1, x.shape[1])
        shape, axis = (groups * count, x.shape[1] // groups, *attributes["kernel_shape"]), 0
    elif name == "ConvTranspose":
        shape, axis = (x.shape[1], count, *attributes["kernel_shape"]), 1
    else:
        shape, axis = ((count, x.shape[-1]), 0) if attributes.get("transB") else ((x.shape[-1], count), 1)
    dtype = "int8" if x.dtype not in NARROW else graph.pick(x.dtype, "int8", "int4", "uint4")
    by = graph.pick(axis, axis - len(shape), None)
    weights, scale, zero, scales = graph.weights(shape, dtype, by)
    real = graph.add("DequantizeLinear", [weights, scale, zero], [graph.name("r")], **({} if by is None else {"axis": by}))
    bias: list[str] = []
    if graph.chance(0.6) and name != "MatMul":
        values = graph.constant(
            graph.random.integers(-9000, 9000, shape[axis] * (1 if name != "ConvTranspose" else groups)), "int32"
        )
        steps = graph.constant(np.float32(x.scale) * scales, "float32")
        bias = [graph.add("DequantizeLinear", [values, steps], [graph.name("r")], axis=0)]
    more: dict[str, Any] = {"group": groups} if name == "Conv" else {}
    made = graph.add(name, [graph.real(x), real, *bias], [graph.name("r")], **attributes, **more)
    if graph.chance(0.3):
        made = graph.add("Relu", [made], [graph.name("r")])
    reach = x.reach * (8 if dtype.endswith("4") else 100) * float(scales.mean()) * math.sqrt(math.prod(shape) / shape[axis])
    return graph.rounded(made, graph.result((), x.dtype, reach))


@step(
    BETWEEN,
    "Softmax",
    "LogSoftmax",
    "ReduceMean",
    "ReduceSum",
    "ReduceMax",
    "ReduceMin",
    "ReduceL2",
    "Concat",
    "Split",
    "CumSum",
    "LayerNormalization",
)
def along(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.rank > 0)
    axis, made = int(graph.random.integers(-x.rank, x.rank)), graph.name("r")
    inputs, more, reach = [graph.real(x)], dict[str, Any](axis=axis), x.reach
    if name.startswith("Reduce"):
        inputs, more = [*inputs, graph.constant([axis], "int64")], {"keepdims": graph.pick(0, 1)}
    elif name == "Concat":
        inputs += [graph.real(graph.operand(x.shape, x.dtype, x.reach)) for _ in range(graph.pick(1, 2))]
    elif name == "CumSum":
        inputs, more = [*inputs, graph.constant(axis, "int64")], {"exclusive": graph.pick(0, 1), "reverse": graph.pick(0, 1)}
    elif name == "LayerNormalization":
        inputs.append(graph.constant(graph.values((x.shape[-1],), "float32")))
        more, reach = {"axis": -1}, 4.0
    elif name == "Split":
        need(x.shape[axis] > 1)
        other = graph.name("r")
        graph.add(name, [*inputs, graph.constant([1, x.shape[axis] - 1], "int64")], [other, made], axis=axis)
        return graph.rounded(made, graph.result((), x.dtype, x.reach))
    reach = {"Softmax": 1.0, "LogSoftmax": 8.0, "ReduceSum": 2 * reach, "CumSum": 2 * reach}.get(name, reach)
    return graph.rounded(graph.add(name, inputs, [made], **more), graph.result((), x.dtype, reach))


@step(
    BETWEEN,
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Resize",
    "DepthToSpace",
    "SpaceToDepth",
    "InstanceNormalization",
)
def image(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.rank == 4)
    inputs, more = [graph.real(x)], dict[str, Any]()
    if name in ("MaxPool", "AveragePool"):
        more = pooled(graph, x)
        more |= {"count_include_pad": graph.pick(0, 1)} if name == "AveragePool" else {}
    elif name == "Resize":
        sizes = graph.constant([*x.shape[:2], *(graph.pick(1, size, 2 * size, size + 1) for size in x.shape[2:])], "int64")
        inputs += ["", "", sizes]
        more = {
            "mode": graph.pick("nearest", "linear"),
            "coordinate_transformation_mode": graph.pick("half_pixel", "asymmetric", "align_corners"),
        }
    elif name in ("DepthToSpace", "SpaceToDepth"):
        more = {"blocksize": 2}
    elif name == "InstanceNormalization":
        inputs += [graph.constant(graph.values((x.shape[1],), "float32")) for _ in range(2)]
    made = graph.result((), x.dtype, x.reach) if graph.chance(0.6) else graph.alike(x)
    return graph.rounded(graph.add(name, inputs, [graph.name("r")], **more), made)


@step(
    BETWEEN,
    "Transpose",
    "Reshape",
    "Slice",
    "Pad",
    "Gather",
    "Flatten",
    "Squeeze",
    "Unsqueeze",
    "Clip",
    "Expand",
    "Tile",
    "Where",
)
def arranged(name: str, graph: Graph, x: Quantized) -> Quantized:
    need(x.rank > 0)
    axis = int(graph.random.integers(x.rank))
    first: list[str] = []
    inputs: list[str] = {
        "Reshape": lambda: [graph.constant([-1, x.shape[-1]], "int64")],
        "Slice": lambda: [
            graph.constant(value, "int64") for value in ([0], [99], [axis - graph.pick(0, x.rank)], [graph.pick(1, 2)])
        ],
        "Pad": lambda: [
            graph.constant(graph.random.integers(0, 2, 2 * x.rank), "int64"),
            *([graph.constant(float(graph.pick(0.0, -1.3)), "float32")] if graph.chance(0.6) else []),
        ],
        "Gather": lambda: [graph.constant(graph.random.integers(-x.shape[axis], x.shape[axis], graph.pick((), (3,))), "int64")],
        "Unsqueeze": lambda: [graph.constant([axis - graph.pick(0, x.rank)], "int64")],
        "Clip": lambda: [graph.constant(float(low), "float32") for low in sorted(graph.random.uniform(-x.reach, x.reach, 2))],
        "Expand": lambda: [graph.constant([2, *x.shape], "int64")],
        "Tile": lambda: [graph.constant([graph.pick(1, 2) for _ in x.shape], "int64")],
        "Where": lambda: [graph.real(graph.operand(x.shape, x.dtype, x.reach))],
    }.get(name, list)()
    if name == "Where":
        first = [graph.constant(graph.values(x.shape, "bool"))]
    ways: dict[str, dict[str, Any]] = {
        "Transpose": {"perm": list(map(int, graph.random.permutation(x.rank)))},
        "Gather": {"axis": axis},
        "Flatten": {"axis": axis},
    }
    made = graph.result((), x.dtype, x.reach) if graph.chance(0.5) else graph.alike(x)
    return graph.rounded(graph.add(name, [*first, graph.real(x), *inputs], [graph.name("r")], **ways.get(name, {})), made)
