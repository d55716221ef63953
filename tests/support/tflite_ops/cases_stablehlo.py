"""StableHLO operations as operators of TFLite. LiteRT has kernels for a few; NumPy judges the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .build import Assembly
from .cases_control import binary
from .spec import Case, Tensor, axes, bools, cases, each, f32, i8, i16, i32, number, x, y


def divided(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Floats divided; integers with the fraction cut off."""
    return a / b if a.dtype.kind == "f" else np.trunc(a / b).astype(a.dtype)


BINARY = {"SUBTRACT": np.subtract, "DIVIDE": divided, "REMAINDER": np.fmod}
UNARY = {
    "ABS": np.abs, "NEGATE": np.negative, "FLOOR": np.floor, "COSINE": np.cos, "EXPONENTIAL": np.exp, "TANH": np.tanh,
    "CBRT": np.cbrt, "LOGISTIC": lambda a: 1 / (1 + np.exp(-a)),
}
COMPARISONS = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater, "LE": np.less_equal, "LT": np.less}
BITS = x(2, 3, low=0, high=90)

ELEMENTWISE = [
    *cases("STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM", x(2, 3), x(2, 3), formats="f32 i32 i64"),
    *cases("STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM", x(2, 3), x(2, 3), formats="bool"),
    *cases("STABLEHLO_ADD STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM STABLEHLO_MINIMUM", x(4, 30), x(4, 30), formats="i8t u8 i16t",
           result=each(x(), y())),
    *(case for name, expect in BINARY.items() for case in cases(
        f"STABLEHLO_{name}", x(2, 3, low=-9, high=9), x(2, 3, low=1, high=4), formats="f32 i32", expect=expect)),
    *(case for name, expect in UNARY.items() for case in cases(f"STABLEHLO_{name}", x(2, 3), expect=expect)),
    *(case for name, expect in COMPARISONS.items() for case in cases(
        "STABLEHLO_COMPARE", x(2, 3, low=0), x(2, 3, low=0), formats="f32 i32", result=bools(), expect=expect,
        comparison_direction=f"STABLEHLO_COMPARISON_DIRECTION_{name}")),
    *cases("STABLEHLO_POWER", x(2, 3, low=0.1), x(2, 3), expect=np.power),
    *cases("STABLEHLO_LOG", x(2, 3, low=0.1), expect=np.log),
    *cases("STABLEHLO_RSQRT", x(2, 3, low=0.1), expect=lambda a: 1 / np.sqrt(a)),
    *cases("STABLEHLO_AND", BITS, BITS, formats="i32 bool", expect=np.bitwise_and),
    *cases("STABLEHLO_OR", BITS, BITS, formats="i32 bool", expect=np.bitwise_or),
    *cases("STABLEHLO_SHIFT_LEFT", BITS, x(2, 3, low=0, high=4), formats="i32"),
    *cases("STABLEHLO_SHIFT_LEFT", x(2, 3), i8(2, 3, low=0, high=4), formats="i8t"),
    *cases("STABLEHLO_SHIFT_LEFT", x(2, 3), i16(2, 3, low=0, high=4), formats="i16t"),
    *cases("STABLEHLO_SELECT", bools(2, 3), x(2, 3), x(2, 3), expect=np.where),
    *cases("STABLEHLO_CLAMP", number(-0.5, "float32"), x(2, 3), number(1.0, "float32"), expect=lambda a: np.clip(a, -0.5, 1)),
    *cases("STABLEHLO_CONVERT", x(2, 3, low=-9, high=9), result=i32(), expect=lambda a: a.astype(np.int32)),
]

MOVEMENT = [
    *cases("STABLEHLO_PAD", x(2, 3), number(7.0, "float32"), edge_padding_low=(1, 0), edge_padding_high=(0, 2),
           interior_padding=(0, 0)),
    *cases("STABLEHLO_PAD", x(3, 4), number(7), formats="i32", edge_padding_low=(2, -1), edge_padding_high=(-1, 3),
           interior_padding=each((0, 0), (1, 2))),
    *cases("STABLEHLO_PAD", x(3, 4), x(data=7), formats="i8t u8 i16t i64", result=x(), edge_padding_low=(2, 0),
           edge_padding_high=(1, 1), interior_padding=each((0, 0), (0, 2))),
    *cases("STABLEHLO_CONCATENATE", x(2, 3), x(2, 3), dimension=1, expect=lambda a, b: np.concatenate([a, b], 1)),
    *cases("STABLEHLO_TRANSPOSE", x(2, 3, 4), permutation=(2, 0, 1), expect=lambda a: a.transpose(2, 0, 1)),
    *cases("STABLEHLO_SLICE", x(4, 5), start_indices=(1, 0), limit_indices=(4, 5), strides=(2, 1), expect=lambda a: a[1:4:2]),
    *cases("STABLEHLO_RESHAPE", x(2, 3), expect=lambda a: a.reshape(3, 2)),
    *cases("STABLEHLO_BROADCAST_IN_DIM", x(3), axes(2, 3), broadcast_dimensions=(1,),
           expect=lambda a: np.broadcast_to(a, (2, 3))),
    *cases("STABLEHLO_BROADCAST_IN_DIM", x(2, 1), axes(2, 4, 3), broadcast_dimensions=(0, 2),
           expect=lambda a: np.broadcast_to(a[:, None], (2, 4, 3))),
    *cases("STABLEHLO_IOTA", x(2, 3), iota_dimension=1, expect=lambda a: np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3))),
    *cases("STABLEHLO_DOT_GENERAL", x(2, 3, 4), x(2, 4, 5), lhs_batching_dimensions=(0,), rhs_batching_dimensions=(0,),
           lhs_contracting_dimensions=(2,), rhs_contracting_dimensions=(1,), expect=np.matmul),
]


# --- slices and indices

def picked(a: np.ndarray, *starts: Any) -> np.ndarray:
    """A part of 2 x 3 from a start that is moved inside."""
    begin = [min(max(int(start), 0), size - part) for start, size, part in zip(starts, a.shape, (2, 3), strict=True)]
    return a[begin[0] : begin[0] + 2, begin[1] : begin[1] + 3]


def replaced(a: np.ndarray, part: np.ndarray, *starts: Any) -> np.ndarray:
    """A tensor with a part of 2 x 3 written over."""
    out = a.copy()
    picked(out, *starts)[...] = part
    return out


START = i32(low=-1, high=4)
ROWS = {"offset_dims": (1,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "index_vector_dim": 1, "slice_sizes": (1, 4)}
BLOCKS = {
    "offset_dims": (1, 2), "collapsed_slice_dims": (), "start_index_map": (0, 1), "index_vector_dim": 1, "slice_sizes": (2, 3)}
STORED = "f32 i32 i64 bool i8t u8 i16t"

INDEXING = [
    *cases("STABLEHLO_DYNAMIC_SLICE", x(5, 6), START, START, formats="f32 i32", result=x(2, 3), slice_sizes=(2, 3),
           expect=picked),
    *cases("STABLEHLO_DYNAMIC_UPDATE_SLICE", x(5, 6), x(2, 3), START, START, formats=STORED, result=x(5, 6),
           expect=replaced),
    *cases("STABLEHLO_DYNAMIC_UPDATE_SLICE", x(5, 6), x(2, 3), i32(data=9), START, result=x(5, 6),
           expect=lambda a, b, start: replaced(a, b, 9, start)),
    *cases("STABLEHLO_GATHER", x(5, 4), i32(3, 1, low=0, high=4), formats=STORED, result=x(3, 4), ways=(ROWS,)),
    *cases("STABLEHLO_GATHER", x(5, 6), i32(3, 2, low=0, high=3), formats="f32 i32 i8t", result=x(3, 2, 3), ways=(BLOCKS,)),
    *cases("STABLEHLO_GATHER", x(5, 6), i32(2, 3, low=-1, high=5), formats="f32", result=x(2, 3, 3),
           ways=({**BLOCKS, "offset_dims": (0, 2), "index_vector_dim": 0},)),
]


# --- with computations

def with_computation(model: Assembly, *given: Tensor, op: str, part: str, shape: tuple[int, ...], **options: object) -> None:
    """The operator with a subgraph that is one operator `part` of two scalars, or gives its second argument."""
    main, dtype = model.writer, model.form.dtype("x")
    operands = [model.add(f"in{index}", tensor) for index, tensor in enumerate(given)]
    body = main.add_subgraph("computation")
    if part:
        binary(body, part, (), dtype)
    else:
        body.inputs = [body.add_tensor(name, (), dtype) for name in "lr"]
        body.outputs = body.inputs[1:]
    main.outputs = [main.add_tensor("out", shape, dtype, quantization=model.operands["x"][1])]
    field = "update_computation_subgraph_index" if op == "STABLEHLO_SCATTER" else "body_subgraph_index"
    main.add_operator(op, operands, main.outputs, {field: 1, **options})


def computing(op: str, *given: object, parts: tuple[str, ...], **more: object) -> list[Case]:
    """Cases with a subgraph of each of the operators."""
    return [case for part in parts for case in cases(op, *given, model=with_computation, **{**more, "op": op, "part": part})]


REDUCERS = {
    "ADD": np.sum, "MULTIPLY": np.prod, "MAXIMUM": np.max, "MINIMUM": np.min, "AND": np.bitwise_and.reduce,
    "OR": np.bitwise_or.reduce}
ALL_PARTS = tuple(f"STABLEHLO_{name}" for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"))
NEUTRAL = {"ADD": 0, "MULTIPLY": 1, "MAXIMUM": -5, "MINIMUM": 6, "AND": -1, "OR": 0, "MUL": 1, "ANY": 0, "ALL": 1}
PLACES = {
    "update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,), "index_vector_dim": 1}
POINTS = {
    "update_window_dims": (), "inserted_window_dims": (0, 1), "scatter_dims_to_operand_dims": (0, 1), "index_vector_dim": 1}
WINDOW = {"window_dimensions": (1, 3, 2), "shape": (2, 3, 4)}


def reduced(name: str) -> object:
    return lambda a: REDUCERS[name](a, axis=1)


def slid(name: str) -> list[Case]:
    """Windows: bare, in steps, spread, over elements that are apart, and padded."""
    ways = (
        {"window_dimensions": (3, 2), "shape": (4, 4)},
        {"window_dimensions": (3, 2), "window_strides": (2, 1), "shape": (2, 4)},
        {"window_dimensions": (2, 2), "window_dilations": (2, 3), "shape": (4, 2)},
        {"window_dimensions": (2, 3), "base_dilations": (2, 1), "shape": (10, 3)},
        {"window_dimensions": (3, 2), "window_strides": (2, 2), "padding": (1, 1, 0, 1), "shape": (3, 3)},
    )
    return computing(
        "STABLEHLO_REDUCE_WINDOW", x(6, 5), number(NEUTRAL[name], "float32"), parts=(f"STABLEHLO_{name}",), ways=ways)


COMPUTING = [
    *(case for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM") for case in computing(
        "STABLEHLO_REDUCE", x(3, 4, 5), number(NEUTRAL[name], "float32"), parts=(f"STABLEHLO_{name}",), dimensions=(1,),
        shape=(3, 5), expect=reduced(name))),
    *(case for name in ("AND", "OR", "ADD") for case in computing(
        "STABLEHLO_REDUCE", x(3, 4, 5, low=-90, high=90), number(NEUTRAL[name]), parts=(f"STABLEHLO_{name}",), formats="i32",
        dimensions=(1,), shape=(3, 5), expect=reduced(name))),
    *computing("STABLEHLO_REDUCE", x(3, 4, 5), number(0, "float32"), parts=("ADD",), dimensions=(0, 1, 2), shape=(),
               expect=np.sum),
    *(case for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM") for case in slid(name)),
    *computing("STABLEHLO_SCATTER", x(5, 4), i32(3, 1, data=[[4], [0], [2]]), x(3, 4), parts=(*ALL_PARTS, ""), ways=(PLACES,),
               formats="f32 i32 i64", shape=(5, 4)),
    *computing("STABLEHLO_SCATTER", x(5, 4), i32(2, 1, low=0, high=4), x(2, 4), parts=("STABLEHLO_ADD",), ways=(PLACES,),
               shape=(5, 4)),
    *computing("STABLEHLO_SCATTER", x(5, 4), i32(3, 2, data=[[4, 3], [0, 1], [2, 2]]), x(3), parts=ALL_PARTS, ways=(POINTS,),
               shape=(5, 4)),
]

TWO = axes(2, 2, dtype="int64")
ONE = axes(1, 1, dtype="int64")
WINDOWS = [
    *(case for name in ("ADD", "MUL", "MAXIMUM", "MINIMUM") for case in cases(
        "REDUCE_WINDOW", x(6, 5), number(NEUTRAL.get(name, 0), "float32"), axes(3, 2, dtype="int64"), each(ONE, TWO),
        each(ONE, TWO), reduce_function=name)),
    *cases("REDUCE_WINDOW", x(6, 5), number(0), axes(2, 3, dtype="int64"), ONE, ONE, formats="i32", reduce_function="ADD"),
    *(case for name in ("ALL", "ANY") for case in cases(
        "REDUCE_WINDOW", x(6, 5), number(name == "ALL", "bool"), axes(2, 3, dtype="int64"), ONE, ONE, formats="bool",
        reduce_function=name)),
]


# --- control flow, sorting, convolution

def sort_model(model: Assembly, value: Tensor, *, direction: str, dimension: int) -> None:
    """Sorted by one comparison."""
    main, dtype = model.writer, model.form.dtype("x")
    given = model.add("in0", value)
    body = main.add_subgraph("comparator")
    body.inputs = [body.add_tensor(name, (), dtype) for name in "lr"]
    body.outputs = [body.add_tensor("before", (), "bool")]
    options = {"comparison_direction": f"STABLEHLO_COMPARISON_DIRECTION_{direction}"}
    body.add_operator("STABLEHLO_COMPARE", body.inputs, body.outputs, options)
    main.outputs = [main.add_tensor("out", value.shape, dtype)]
    main.add_operator("STABLEHLO_SORT", [given], main.outputs, {
        "dimension": dimension, "is_stable": True, "comparator_subgraph_index": 1})


def loop_model(model: Assembly, start: Tensor, value: Tensor) -> None:
    """`while start < 5: start, value = start + 1, value * value`."""
    main = model.writer
    operands = [model.add("i", start), model.add("v", value)]
    cond, body = main.add_subgraph("cond"), main.add_subgraph("body")
    for graph in (cond, body):
        graph.inputs = [graph.add_tensor("i", (), "int32"), graph.add_tensor("v", (2,), "float32")]
    limit = cond.add_tensor("limit", (), "int32", 5)
    cond.outputs = [cond.add_tensor("flag", (), "bool")]
    cond.add_operator("STABLEHLO_COMPARE", [cond.inputs[0], limit], cond.outputs, {
        "comparison_direction": "STABLEHLO_COMPARISON_DIRECTION_LT"})
    one = body.add_tensor("one", (), "int32", 1)
    body.outputs = [body.add_tensor("next", (), "int32"), body.add_tensor("square", (2,), "float32")]
    body.add_operator("STABLEHLO_ADD", [body.inputs[0], one], body.outputs[:1])
    body.add_operator("STABLEHLO_MULTIPLY", [body.inputs[1]] * 2, body.outputs[1:])
    main.outputs = [main.add_tensor("v_out", (2,), "float32")]
    after = main.add_tensor("i_out", (), "int32")
    main.add_operator("STABLEHLO_WHILE", operands, [after, *main.outputs], {"cond_subgraph_index": 1, "body_subgraph_index": 2})


def case_model(model: Assembly, index: Tensor, left: Tensor, right: Tensor) -> None:
    """The sum, the difference or the product."""
    main = model.writer
    operands = [model.add("c", index), model.add("l", left), model.add("r", right)]
    for operator in ("STABLEHLO_ADD", "STABLEHLO_SUBTRACT", "STABLEHLO_MULTIPLY"):
        binary(main.add_subgraph(operator), operator)
    main.outputs = [main.add_tensor("out", (3,), "float32")]
    main.add_operator("STABLEHLO_CASE", operands, main.outputs, {"branch_subgraph_indices": (1, 2, 3)})


def squared(start: np.ndarray, value: np.ndarray) -> np.ndarray:
    for _ in range(int(start), 5):
        value = value * value
    return value


def chosen(index: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left + right, left - right, left * right)[int(index) if 0 <= index < 3 else 2]


def convolved(strides: tuple[int, int], groups: int) -> object:
    """Convolution of NCHW by OIHW without padding, window by window."""

    def expect(a: np.ndarray, w: np.ndarray) -> np.ndarray:
        sizes = [(n - k) // s + 1 for n, k, s in zip(a.shape[2:], w.shape[2:], strides, strict=True)]
        out = np.zeros((a.shape[0], w.shape[0], *sizes), a.dtype)
        each_in, each_out = w.shape[1], w.shape[0] // groups
        for o, i, j in np.ndindex(w.shape[0], *sizes):
            first = o // each_out * each_in
            top, left = i * strides[0], j * strides[1]
            window = a[:, first : first + each_in, top : top + w.shape[2], left : left + w.shape[3]]
            out[:, o, i, j] = (window * w[o]).sum(axis=(1, 2, 3))
        return out

    return expect


def convolution_cases(strides: tuple[int, int], groups: int) -> list[Case]:
    shape = (2, 4, (6 - 3) // strides[0] + 1, (5 - 2) // strides[1] + 1)
    return cases(
        "STABLEHLO_CONVOLUTION", x(2, 4, 6, 5), x(4, 4 // groups, 3, 2), result=x(*shape), expect=convolved(strides, groups),
        window_strides=strides, padding=(0, 0, 0, 0), lhs_dilation=(1, 1), rhs_dilation=(1, 1), window_reversal=(0, 0),
        input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=(2, 3), kernel_input_feature_dimension=1,
        kernel_output_feature_dimension=0, kernel_spatial_dimensions=(2, 3), output_batch_dimension=0,
        output_feature_dimension=1, output_spatial_dimensions=(2, 3), feature_group_count=groups, batch_group_count=1)


def random_model(model: Assembly, state: Tensor, *, algorithm: str, shape: tuple[int, ...]) -> None:
    """Random bits of a constant state."""
    main = model.writer
    given = model.add("state", state)
    after = main.add_tensor("after", state.shape, "uint64")
    main.outputs = [main.add_tensor("out", shape, "int32")]
    main.add_operator("STABLEHLO_RNG_BIT_GENERATOR", [given], [after, *main.outputs], {"algorithm": algorithm})


def seed(*numbers: int) -> Tensor:
    return Tensor((len(numbers),), "uint64", np.asarray(numbers, np.uint64))


PROGRAMS = [
    *cases("STABLEHLO_SORT", x(3, 7), model=sort_model, direction="LT", dimension=1, expect=lambda a: np.sort(a, 1)),
    *cases("STABLEHLO_SORT", x(3, 7), formats="i32", model=sort_model, direction="GT", dimension=0,
           expect=lambda a: -np.sort(-a, 0)),
    *cases("STABLEHLO_WHILE", each(i32(low=0, high=0), i32(low=3, high=3), i32(low=9, high=9)), f32(2, low=-1, high=1),
           model=loop_model, expect=squared),
    *cases("STABLEHLO_CASE", each(*(i32(low=n, high=n) for n in (-1, 0, 1, 2, 7))), x(3), x(3), model=case_model, expect=chosen),
    *convolution_cases((1, 1), 1), *convolution_cases((2, 1), 2), *convolution_cases((1, 2), 4),
    *cases("STABLEHLO_RNG_BIT_GENERATOR", seed(7, 2**40 + 3), model=random_model, algorithm=each("THREEFRY", "PHILOX", "DEFAULT"),
           shape=each((3, 5), (4, 2), (7,), ())),
    *cases("STABLEHLO_RNG_BIT_GENERATOR", seed(7, 2**40 + 3, 5), model=random_model, algorithm=each("PHILOX", "DEFAULT"),
           shape=(9,)),
    *cases("STABLEHLO_CUSTOM_CALL", x(3, 4, low=-0.9, high=0.9), call_target_name="mhlo.atanh", expect=np.arctanh),
    *cases("STABLEHLO_CUSTOM_CALL", x(3, 4, low=-0.9, high=0.9), call_target_name="mhlo.asin", expect=np.arcsin),
    *cases("STABLEHLO_CUSTOM_CALL", x(3, 4), call_target_name="Sharding", expect=lambda a: a),
]

CASES = ELEMENTWISE + MOVEMENT + INDEXING + COMPUTING + WINDOWS + PROGRAMS
