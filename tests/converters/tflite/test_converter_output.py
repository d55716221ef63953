"""Forms of models that TensorFlow's converter writes, and that one-operator models do not show.

Each is converted as far as TOSA, run there, and judged by LiteRT's kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transload.api import legalize, lower, run
from transload.errors import ConversionError, RunError
from transload.ir import Module
from transload_converters.tflite.runtime import open_model
from transload_converters.tflite.writer import ModelWriter

from tests.support.hub_runs import hub_agrees

F = "float32"
RNG = np.random.default_rng(11)
Quantization = tuple[list[float], list[int], int]


@pytest.fixture
def converted(load: Callable[..., Module], litert: Callable[..., list[np.ndarray]]) -> Callable[..., Module]:
    """Returns `converted(content, inputs, steps=0, tolerance=1e-5, reference=True)`: TOSA, its results compared with LiteRT's."""

    def compare(
        content: bytes, inputs: dict[str, np.ndarray], steps: int = 0, tolerance: float = 1e-5, reference: bool = True,
    ) -> Module:
        hub = legalize(load(content))
        result = lower(hub, "tosa")
        ours = list(run(result, inputs).values())
        hub_agrees(hub, list(inputs.values()), ours)
        for mine, theirs in zip(ours, litert(content, inputs, reference), strict=True):
            assert mine.shape == theirs.shape
            distance = np.abs(mine.astype(np.float64) - theirs.astype(np.float64)).max(initial=0)
            assert distance <= (steps if theirs.dtype.kind in "iub" else tolerance * max(1.0, np.abs(theirs).max(initial=0)))
        return result

    return compare


def names(module: Module) -> set[str]:
    return {op.name for op in module.walk()}


# --- hybrid transposed convolution


@pytest.mark.parametrize("scales", [1, 5])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_hybrid_transpose_conv(
    scales: int, batch: int, padding: str, write: Callable[..., bytes], converted: Callable[..., Module],
) -> None:
    """Dynamic range quantization of a decoder: each image is quantized by itself, asymmetrically."""
    size = (6, 8) if padding == "SAME" else (7, 9)
    weights = RNG.integers(-127, 128, (5, 3, 3, 4)).astype(np.int8)
    quantization = (RNG.uniform(0.005, 0.02, scales).tolist(), [0] * scales, 0)
    content = write(
        "TRANSPOSE_CONV",
        [((4,), "int32", np.array([batch, *size, 5], np.int32)), ((5, 3, 3, 4), "int8", weights, quantization),
         ((batch, 3, 4, 4), F), ((5,), F, RNG.uniform(-1, 1, 5).astype(np.float32))],
        [((batch, *size, 5), F)], {"padding": padding, "stride_h": 2, "stride_w": 2}, version=3)
    x = RNG.normal(0, 1, (batch, 3, 4, 4)).astype(np.float32) * np.arange(1, batch + 1, dtype=np.float32).reshape(-1, 1, 1, 1)
    converted(content, {"in2": x})


# --- loops over the elements of a list


def list_loop(steps: int, counted: bool = True) -> ModelWriter:
    """A loop that writes element i of a list, as `tf.TensorArray` is converted: the list is cut at i and joined again.

    Where not `counted`, the loop ends when the sum of the list has grown, which only a run shows.
    """
    model = ModelWriter()
    i = model.add_tensor("i", (), "int32", np.array(0, np.int32))
    x = model.add_tensor("x", (steps, 2), F)
    done = [model.add_tensor("i_out", (), "int32"), model.add_tensor("out", (steps, 2), F)]
    cond = model.add_subgraph("cond")
    a, b, flag = cond.add_tensor("a", (), "int32"), cond.add_tensor("b", (steps, 2), F), cond.add_tensor("flag", (), "bool")
    if counted:
        cond.add_operator("LESS", [a, cond.add_tensor("n", (), "int32", np.array(steps, np.int32))], [flag])
    else:
        total, axes = cond.add_tensor("total", (), F), cond.add_tensor("axes", (2,), "int32", np.array([0, 1], np.int32))
        cond.add_operator("SUM", [b, axes], [total])
        cond.add_operator("LESS", [total, cond.add_tensor("n", (), F, np.array(5, np.float32))], [flag])
    cond.inputs, cond.outputs = [a, b], [flag]
    body = model.add_subgraph("body")

    def constant(name: str, value: Any) -> int:
        array = np.asarray(value, np.int32)
        return body.add_tensor(name, array.shape, "int32", array)

    a, b, following = body.add_tensor("a", (), "int32"), body.add_tensor("b", (steps, 2), F), body.add_tensor("a2", (), "int32")
    body.add_operator("ADD", [a, constant("one", 1)], [following])
    head_size, tail_begin = body.add_tensor("head_size", (2,), "int32"), body.add_tensor("tail_begin", (2,), "int32")
    whole, zero = constant("whole", -1), constant("zero", 0)
    body.add_operator("PACK", [a, whole], [head_size], {"values_count": 2, "axis": 0})
    body.add_operator("PACK", [following, zero], [tail_begin], {"values_count": 2, "axis": 0})
    place = body.add_tensor("place", (2,), "int32")
    body.add_operator("PACK", [a, zero], [place], {"values_count": 2, "axis": 0})
    parts = [body.add_tensor(name, (1, 2), F, shape_signature=(-1, 2)) for name in ("head", "item", "tail")]
    rest = constant("rest", [-1, -1])
    body.add_operator("SLICE", [b, constant("start", [0, 0]), head_size], [parts[0]])
    body.add_operator("SLICE", [b, place, constant("row", [1, 2])], [parts[1]])
    body.add_operator("SLICE", [b, tail_begin, rest], [parts[2]])
    grown, joined = body.add_tensor("grown", (1, 2), F), body.add_tensor("joined", (steps, 2), F)
    body.add_operator("MUL", [parts[1], body.add_tensor("three", (), F, np.array(3, np.float32))], [grown])
    body.add_operator("CONCATENATION", [parts[0], grown, parts[2]], [joined], {"axis": 0})
    body.inputs, body.outputs = [a, b], [following, joined]
    model.add_operator("WHILE", [i, x], done, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    model.inputs, model.outputs = [x], [done[1]]
    return model


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_loop_over_a_list_is_unrolled(steps: int, converted: Callable[..., Module]) -> None:
    x = RNG.normal(0, 1, (steps, 2)).astype(np.float32)
    result = converted(list_loop(steps).finish(), {"x": x})
    assert "tosa.while_loop" not in names(result)


def counted_loop(
    operator: str, begin: list[str | int], size: Any, options: dict[str, Any], shape_of_part: tuple[int, ...] = (1, 2, 3),
) -> bytes:
    """A loop of as many steps as an input says, which adds up slices of a tensor; `begin` names the counter or "fixed"."""
    model = ModelWriter()
    i, x, total = (model.add_tensor(name, shape, dtype) for name, shape, dtype in
                   (("i", (), "int32"), ("x", (5, 4, 3), F), ("total", (2, 3), F)))
    size_in = model.add_tensor("size", (3,), "int32", np.asarray(size, np.int32))
    cond, body = model.add_subgraph("cond"), model.add_subgraph("body")
    graphs = []
    for graph in (cond, body):
        state = [graph.add_tensor("a", (), "int32"), graph.add_tensor("b", (5, 4, 3), F), graph.add_tensor("t", (2, 3), F),
                 graph.add_tensor("s", (3,), "int32")]
        graph.inputs = state
        graphs.append(state)
    flag = cond.add_tensor("flag", (), "bool")
    cond.add_operator("LESS", [graphs[0][0], cond.add_tensor("n", (), "int32", np.array(4, np.int32))], [flag])
    cond.outputs = [flag]
    a, b, t, s = graphs[1]
    one = body.add_tensor("one", (), "int32", np.array(1, np.int32))
    following, added = body.add_tensor("a2", (), "int32"), body.add_tensor("t2", (2, 3), F)
    body.add_operator("ADD", [a, one], [following])
    places = {"counter": a}
    entries = [places[entry] if isinstance(entry, str) else body.add_tensor(f"c{k}", (), "int32", np.array(entry, np.int32))
               for k, entry in enumerate(begin)]
    packed, part = body.add_tensor("begin", (len(begin),), "int32"), body.add_tensor("part", shape_of_part, F)
    body.add_operator("PACK", entries, [packed], {"values_count": len(begin), "axis": 0})
    if operator == "SLICE":
        body.add_operator("SLICE", [b, packed, s], [part])
    else:
        strides = body.add_tensor("strides", (len(begin),), "int32", np.ones(len(begin), np.int32))
        body.add_operator("STRIDED_SLICE", [b, packed, packed, strides], [part], options)
    narrow, shape = body.add_tensor("narrow", (2, 3), F), body.add_tensor("shape", (2,), "int32", np.array([-1, 3], np.int32))
    flat, keep = body.add_tensor("flat", (2, 3), F), body.add_tensor("keep", (1,), "int32", np.array([0], np.int32))
    body.add_operator("RESHAPE", [part, shape], [flat], {"new_shape": [-1, 3]})
    body.add_operator("SUM", [flat, keep], [narrow], {"keep_dims": True})
    body.add_operator("ADD", [t, narrow], [added])
    body.outputs = [following, b, added, s]
    out = [model.add_tensor(f"out{k}", shape, dtype) for k, (shape, dtype) in
           enumerate((((), "int32"), ((5, 4, 3), F), ((2, 3), F), ((3,), "int32")))]
    model.add_operator("WHILE", [i, x, total, size_in], out, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    model.inputs, model.outputs = [i, x, total], [out[2]]
    return model.finish()


@pytest.mark.parametrize(("operator", "begin", "size", "options", "part"), [
    ("SLICE", ["counter", 1, 0], [1, 2, 3], {}, (1, 2, 3)),
    ("SLICE", [0, "counter", 0], [5, 1, -1], {}, (5, 1, 3)),
    ("SLICE", [2, 1, 0], [2, 2, -1], {}, (2, 2, 3)),
    ("STRIDED_SLICE", ["counter"], [0, 0, 0], {"shrink_axis_mask": 1}, (4, 3)),
    ("STRIDED_SLICE", [0, "counter"], [0, 0, 0], {"shrink_axis_mask": 2, "begin_mask": 1, "end_mask": 1}, (5, 3)),
    ("STRIDED_SLICE", ["counter", -1], [0, 0, 0], {"shrink_axis_mask": 3}, (3,)),
])
def test_slice_at_a_counter(
    operator: str, begin: list[str | int], size: list[int], options: dict[str, Any], part: tuple[int, ...],
    converted: Callable[..., Module],
) -> None:
    """A loop that starts where an input says; the slice's size goes through it unchanged, as part of its state."""
    x = RNG.normal(0, 1, (5, 4, 3)).astype(np.float32)
    inputs = {"i": np.array(1, np.int32), "x": x, "total": np.zeros((2, 3), np.float32)}
    result = converted(counted_loop(operator, begin, size, options, part), inputs)
    assert "tosa.while_loop" in names(result)


def test_slice_to_a_counter(load: Callable[..., Module]) -> None:
    with pytest.raises(ConversionError, match="must be a constant"):
        legalize(load(counted_loop("SLICE", ["counter", 0, 0], [-1, 4, 3], {})))


def test_loop_over_a_list_of_unknown_length(load: Callable[..., Module]) -> None:
    with pytest.raises(ConversionError, match="must be a constant") as error:
        legalize(load(list_loop(3, counted=False).finish()))
    assert "number of steps" in str(error.value)


# --- variables


def test_first_value_of_a_variable_that_is_computed(converted: Callable[..., Module]) -> None:
    """Half-precision conversion leaves a DEQUANTIZE between the constant and the variable."""
    model = ModelWriter()
    x, out = model.add_tensor("x", (2,), F), model.add_tensor("out", (2,), F)
    handle, value = model.add_tensor("handle", (), "resource"), model.add_tensor("value", (2,), F)
    start = model.add_subgraph("start")
    own, full = start.add_tensor("own", (), "resource"), start.add_tensor("full", (2,), F)
    half = start.add_tensor("half", (2,), "float16", np.array([1.5, -2], np.float16))
    start.add_operator("DEQUANTIZE", [half], [full])
    start.add_operator("VAR_HANDLE", [], [own], {"shared_name": "v"})
    start.add_operator("ASSIGN_VARIABLE", [own, full], [])
    model.add_operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    model.add_operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    model.add_operator("READ_VARIABLE", [handle], [value])
    model.add_operator("MUL", [x, value], [out])
    model.inputs, model.outputs = [x], [out]
    converted(model.finish(), {"x": np.array([3, 4], np.float32)})


# --- constants whose scale is not the result's


def test_one_hot_copies_stored_numbers(write: Callable[..., bytes], converted: Callable[..., Module]) -> None:
    content = write(
        "ONE_HOT",
        [((3,), "int32"), ((), "int32", np.array(4, np.int32)), ((), "int8", np.array(127, np.int8), ([1 / 255], [-128], 0)),
         ((), "int8", np.array(0, np.int8), ([3.9e-9], [0], 0))],
        [((3, 4), "int8", None, ([1 / 255], [-128], 0))], {"axis": -1})
    converted(content, {"in0": np.array([2, 0, 9], np.int32)})


@pytest.mark.parametrize("operator", ["SELECT", "SELECT_V2"])
def test_select_copies_stored_numbers(operator: str, write: Callable[..., bytes], converted: Callable[..., Module]) -> None:
    same: Quantization = ([0.1], [3], 0)
    content = write(
        operator,
        [((2, 3), "bool"), ((2, 3), "int8", None, same), ((2, 3), "int8", np.full((2, 3), -7, np.int8), ([0.02], [0], 0))],
        [((2, 3), "int8", None, same)])
    converted(content, {"in0": RNG.integers(0, 2, (2, 3)).astype(bool), "in1": RNG.integers(-128, 128, (2, 3)).astype(np.int8)})


# --- extreme scales


@pytest.mark.parametrize("scale", [0.001, 1.0, 4.5, 10.0, 30518.5, 3e5, 3e7, 1e34])
def test_softmax_of_masked_int16(scale: float, write: Callable[..., bytes], converted: Callable[..., Module]) -> None:
    """An attention mask of -1e9 makes a scale at which LiteRT's 32-bit shift loses bits; so must ours, the same ones."""
    x = RNG.integers(-32768, 32768, (40, 7)).astype(np.int16)
    x[:2, :4] = [[0, 0, -32767, 1], [5, 3, -2, -5]]
    x[20:] //= 1000
    source, target = ([scale], [0], 0), ([2.0**-15], [0], 0)
    content = write("SOFTMAX", [((40, 7), "int16", None, source)], [((40, 7), "int16", None, target)], {"beta": 1.0})
    converted(content, {"in0": x})


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("scale", [1e-6, 1e-9])
def test_result_of_a_tiny_scale_saturates(
    dtype: str, scale: float, load: Callable[..., Module], write: Callable[..., bytes],
) -> None:
    """`x - x` is calibrated to a range of nothing: all but 0 saturates, however large the factor."""
    wide: Quantization = ([0.05], [0], 0)
    content = write(
        "SUB", [((4,), dtype, None, wide), ((4,), dtype, None, wide)], [((4,), dtype, None, ([scale], [0], 0))],
        {"pot_scale_int16": False})
    a, b = np.array([5, -9, 100, -128], dtype), np.array([5, -8, 99, 127], dtype)
    [made] = run(lower(load(content), "tosa"), {"in0": a, "in1": b}).values()
    limits = np.iinfo(dtype)
    np.testing.assert_array_equal(made, [0, limits.min, limits.max, limits.min])


# --- float islands


def island(dtype: str, between: list[tuple[str, dict[str, Any]]], source: Quantization, target: Quantization) -> bytes:
    """Dequantize, operators of one operand, quantize."""
    model = ModelWriter()
    x, out = model.add_tensor("x", (3, 100), dtype, None, source), model.add_tensor("out", (3, 100), dtype, None, target)
    value = model.add_tensor("real", (3, 100), F)
    model.add_operator("DEQUANTIZE", [x], [value])
    for number, (operator, options) in enumerate(between):
        following = model.add_tensor(f"v{number}", (3, 100), F)
        model.add_operator(operator, [value, value] if operator in ("MUL", "ADD") else [value], [following], options)
        value = following
    model.add_operator("QUANTIZE", [value], [out])
    model.inputs, model.outputs = [x], [out]
    return model.finish()


ISLANDS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "negation": [("NEG", {})],
    "square root": [("ABS", {}), ("SQRT", {})],
    "diamond": [("MUL", {}), ("NEG", {}), ("EXP", {})],
}


@pytest.mark.parametrize("label", ISLANDS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_float_island_is_a_table(label: str, dtype: str, converted: Callable[..., Module]) -> None:
    """Every int8 layer normalization that TensorFlow's converter writes has a NEG in float."""
    zero_points = (-16, 15) if dtype == "int8" else (112, 143)
    content = island(dtype, ISLANDS[label], ([0.005], [zero_points[0]], 0), ([0.006], [zero_points[1]], 0))
    x = RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (3, 100)).astype(dtype)
    result = converted(content, {"x": x})
    assert "tosa.table" in names(result)
    assert not any("f32" in str(value.type) for op in result.walk() for value in op.results)


def test_float_between_two_tensors_is_no_island(converted: Callable[..., Module]) -> None:
    model = ModelWriter()
    same: Quantization = ([0.05], [3], 0)
    x, y = model.add_tensor("x", (4,), "int8", None, same), model.add_tensor("y", (4,), "int8", None, same)
    reals = [model.add_tensor(f"r{number}", (4,), F) for number in range(3)]
    out = model.add_tensor("out", (4,), "int8", None, same)
    model.add_operator("DEQUANTIZE", [x], [reals[0]])
    model.add_operator("DEQUANTIZE", [y], [reals[1]])
    model.add_operator("MAXIMUM", reals[:2], [reals[2]])
    model.add_operator("QUANTIZE", [reals[2]], [out])
    model.inputs, model.outputs = [x, y], [out]
    converted(model.finish(), {"x": np.array([-128, 0, 3, 127], np.int8), "y": np.array([5, -7, 3, 9], np.int8)}, steps=1)


# --- the judge itself


def test_quantized_sum_is_judged_by_the_usual_kernels(write: Callable[..., bytes], tmp_path: Path) -> None:
    """LiteRT's reference kernel of a quantized SUM forgets the zero points."""
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    content = write(
        "SUM", [((2, 3), "int8", None, ([0.1], [-100], 0)), ((1,), "int32", np.array([1], np.int32))],
        [((2,), "int8", None, ([0.4], [-128], 0))])
    path = tmp_path / "sum.tflite"
    path.write_bytes(content)
    [made] = open_model(path)({"in0": np.array([[-100, -96, -92], [-60, -100, -60]], np.int8)}).values()
    np.testing.assert_array_equal(made, [-125, -108])


def test_scale_of_zero_is_not_run(write: Callable[..., bytes], tmp_path: Path) -> None:
    """The converter gives a tensor of zeros a scale of 0, for which LiteRT aborts."""
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    nothing: Quantization = ([0.0], [0], 0)
    content = write(
        "ADD", [((2,), "int16", None, nothing), ((2,), "int16", None, ([0.1], [0], 0))], [((2,), "int16", None, ([0.1], [0], 0))])
    path = tmp_path / "zero.tflite"
    path.write_bytes(content)
    with pytest.raises(RunError, match="scale of 0"):
        open_model(path)


def test_lstm_of_floats_with_an_integer_result(load: Callable[..., Module], write: Callable[..., bytes]) -> None:
    """What the converter makes of an LSTM with 16-bit activations, and LiteRT does not run."""
    def weights(*shape: int) -> tuple[Any, ...]:
        return (shape, F, np.zeros(shape, np.float32))

    inputs = [((1, 2, 3), F), *[weights(4, 3)] * 4, *[weights(4, 4)] * 4, None, None, None, *[weights(4)] * 4, None, None,
              ((1, 4), F, "variable"), ((1, 4), F, "variable"), None, None, None, None]
    content = write(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [((1, 2, 4), "int8", None, ([0.01], [0], 0))],
        {"fused_activation_function": "TANH", "time_major": False}, version=3)
    with pytest.raises(ConversionError, match="takes floats and gives"):
        legalize(load(content))
