"""The ops take part in everything that the hub's own take part in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.analysis.intervals import Intervals
from transload.ir import F32, I8, I32, I64, Module, QuantType, TensorType, Value
from transload.ir.build import Builder
from transload.passes.canonicalize import canonicalize
from transload.passes.manager import Pipeline
from transload.plugin import resolve
from transload.testing import check_op
from transload.testing.models import build_module
from transload.verification.bounds import check_bounds
from transload.verification.fineness import output_steps
from transload_converters.tflite.writer import ModelWriter

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 6, 4)).astype(np.float32)


def interleaved(x: np.ndarray, ways: int, axis: int) -> np.ndarray:
    parts = np.split(x, ways, axis)
    places = [np.take(part, i, axis) for i in range(parts[0].shape[axis]) for part in parts]
    return np.stack(places, axis)


def names(module: Module) -> list[str]:
    return [op.name for op in module.body_of_main if op.name not in ("func.return", "top.Weight")]


# --- kernel, inference, lowerings, engines


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_delta(axis: int):
    check_op("signal.Delta", X, reference=lambda x: np.diff(x, axis=axis), lowers_to=("tosa", "stablehlo"), axis=axis)


@pytest.mark.parametrize(("ways", "axis"), [(2, 1), (3, 1), (2, -1)])
def test_interleave(ways: int, axis: int):
    check_op("signal.Interleave", X, reference=lambda x: interleaved(x, ways, axis), lowers_to=("tosa", "stablehlo"),
             ways=ways, axis=axis)


def test_interleave_of_stored_integers():
    kind = QuantType(I8, F32, (0.05,), (3,))
    x = RANDOM.integers(-128, 128, (2, 6, 4)).astype(np.int8)
    check_op("signal.Interleave", x, input_elements=[kind], reference=lambda x: interleaved(x, 3, 1),
             lowers_to=("tosa", "stablehlo"), steps=0, ways=3, axis=1)


def test_engines_run_them():
    module = build_module([TensorType((2, 6, 4), F32)], lambda b, x: b.emit(
        "signal.Delta", b.emit("signal.Interleave", x, ways=2, axis=1), axis=1))
    expected = np.diff(interleaved(X, 2, 1), axis=1)
    for engine in ("reference", "xla"):
        why = resolve(transload.host().engines[engine].available or (lambda: None))()
        if why is None:
            np.testing.assert_allclose(transload.run(module, {"x0": X}, engine=engine)["y"], expected, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_extremes(axis: int):
    check_op("signal.Extremes", X, reference=lambda x: (x.min(axis), x.max(axis)), lowers_to=("tosa", "stablehlo"), axis=axis)


# --- canonicalization


def test_differences_of_running_sums_are_the_terms():
    module = build_module([TensorType((2, 6), I32)], lambda b, x: b.emit(
        "signal.Delta", b.emit("top.CumSum", x, axis=1), axis=-1))
    given = {"x0": RANDOM.integers(-9, 9, (2, 6)).astype(np.int32)}
    before = transload.run(module, given)["y"]
    assert canonicalize(module)
    assert names(module) == ["top.Slice"]
    np.testing.assert_array_equal(transload.run(module, given)["y"], before)


def test_one_way_is_no_shuffle():
    module = build_module([TensorType((2, 6), F32)], lambda b, x: b.emit("signal.Interleave", x, ways=1, axis=1))
    assert canonicalize(module)
    assert names(module) == []


def test_of_one_sample_nothing_is_computed():
    module = build_module([TensorType((2, 1), F32)], lambda b, x: b.emit("signal.Extremes", x))
    assert canonicalize(module)
    assert names(module) == ["top.Squeeze"]


# --- layout


@pytest.mark.parametrize(("op", "attributes", "axis"), [
    ("signal.Delta", {"axis": 2}, 1), ("signal.Interleave", {"ways": 2, "axis": 1}, 3)])
def test_a_layout_turns_through_them(op: str, attributes: dict[str, Any], axis: int):
    """Two convolutions, channels first, with the op between them: channels last without a transpose inside."""
    def build(b: Builder, x: Value) -> Value:
        def conv(x: Value) -> Value:
            weights = b.constant(RANDOM.normal(size=(4, 4, 1, 1)).astype(np.float32))
            return b.emit("top.Conv", x, weights, kernel_shape=(1, 1), layout="NCHW")

        return conv(b.emit(op, conv(x), **attributes))

    module = build_module([TensorType((1, 4, 5, 6), F32)], build)
    given = {"x0": RANDOM.normal(size=(1, 4, 5, 6)).astype(np.float32)}
    before = transload.run(module, given)["y"]
    Pipeline.parse("layout{to=NHWC}").run(module, verify_each=True)
    assert names(module) == ["top.Permute", "top.Conv", op, "top.Conv", "top.Permute"]
    assert next(each for each in module.ops() if each.name == op).axis == axis
    np.testing.assert_allclose(transload.run(module, given)["y"], before, rtol=1e-5, atol=1e-6)


def test_a_layout_turns_through_what_loses_a_dimension():
    def build(b: Builder, x: Value) -> Any:
        weights = b.constant(RANDOM.normal(size=(4, 4, 1, 1)).astype(np.float32))
        return b.emit("signal.Extremes", b.emit("top.Conv", x, weights, kernel_shape=(1, 1), layout="NCHW"), axis=1)

    module = build_module([TensorType((1, 4, 5, 6), F32)], build)
    given = {"x0": RANDOM.normal(size=(1, 4, 5, 6)).astype(np.float32)}
    before = transload.run(module, given)
    Pipeline.parse("layout{to=NHWC}").run(module, verify_each=True)
    assert names(module) == ["top.Permute", "top.Conv", "signal.Extremes"]
    after = transload.run(module, given)
    for name, array in before.items():
        np.testing.assert_allclose(after[name], array, rtol=1e-5, atol=1e-6)


# --- intervals and narrowing of integers


def narrowed(build: Callable[..., Any], *types: TensorType) -> Module:
    return transload.lower(build_module(list(types), build), "tosa")


def test_differences_lie_between_those_of_the_ends():
    module = build_module([TensorType((6,), I32)], lambda b, x: b.emit(
        "signal.Delta", b.emit("signal.Interleave", b.emit("top.Clip", x, min=3.0, max=9.0), ways=2)))
    assert Intervals().of(module.body_of_main.terminator.operands[0]) == (-6, 6)


def test_each_result_has_its_interval():
    module = build_module([TensorType((2, 6), I32)], lambda b, x: b.emit(
        "signal.Extremes", b.emit("top.Clip", x, min=3.0, max=9.0)))
    assert [Intervals().of(value) for value in module.body_of_main.terminator.operands] == [(3, 9), (3, 9)]


def test_64_bits_are_narrowed_through_them():
    """The product of differences of numbers up to 1000 fits 32 bits; of any, it does not."""
    def product(b: Builder, x: Value) -> Value:
        apart = b.emit("signal.Delta", b.emit("signal.Interleave", x, ways=2))
        return b.emit("top.Mul", apart, apart)

    eight = TensorType((8,), I64)
    module = narrowed(lambda b, x: product(b, b.emit("top.Clip", x, min=0.0, max=1000.0)), eight)
    x = RANDOM.integers(0, 1000, 8)
    expected = np.diff(interleaved(x, 2, 0)) ** 2
    np.testing.assert_array_equal(transload.run(module, {"x0": x.astype(np.int32)})["y"], expected)
    with pytest.raises(transload.TransloadError, match="more than 32 bits"):
        narrowed(product, eight)


def test_low_bits_of_differences_are_enough_where_low_bits_are_asked_for():
    """`(i32) (a * a)[1:] - (a * a)[:-1]`: the low 32 bits of differences are the differences of low bits."""
    def build(b: Builder, x: Value) -> Value:
        return b.emit("top.Cast", b.emit("signal.Delta", b.emit("top.Mul", x, x)), element=I32)

    module = narrowed(build, TensorType((8,), I64))
    x = RANDOM.integers(-(1 << 29), 1 << 29, 8)
    expected = np.diff(x * x).astype(np.int32)
    np.testing.assert_array_equal(transload.run(module, {"x0": x.astype(np.int32)})["y"], expected)


# --- verification


def hybrid_model() -> bytes:
    """`dense(diff(dense(x)))` with int8 weights and float activations, which LiteRT quantizes when it runs."""
    writer = ModelWriter(description="delta features")

    def weights(rows: int, columns: int) -> int:
        data = RANDOM.integers(-127, 128, (rows, columns)).astype(np.int8)
        return writer.add_tensor(f"w{rows}", (rows, columns), "int8", data=data, quantization=([0.01], [0], 0))

    def sliced(name: str, x: int, start: int) -> int:
        y = writer.add_tensor(name, (4, 7), "float32")
        begin, size = (writer.add_tensor(f"{name}_{what}", (2,), "int32", data=np.array(numbers, np.int32))
                       for what, numbers in (("begin", [0, start]), ("size", [4, 7])))
        writer.add_operator("SLICE", [x, begin, size], [y])
        return y

    x, h, d, y = (writer.add_tensor(name, shape, "float32")
                  for name, shape in (("x", (4, 6)), ("h", (4, 8)), ("d", (4, 7)), ("y", (4, 3))))
    writer.add_operator("FULLY_CONNECTED", [x, weights(8, 6)], [h], {"fused_activation_function": "NONE"}, version=3)
    writer.add_operator("SUB", [sliced("later", h, 1), sliced("earlier", h, 0)], [d], {"fused_activation_function": "NONE"})
    writer.add_operator("FULLY_CONNECTED", [d, weights(3, 7)], [y], {"fused_activation_function": "NONE"}, version=3)
    writer.inputs, writer.outputs = [x], [y]
    return writer.finish()


def test_a_model_that_is_quantized_when_it_runs_is_verified_through_delta(tmp_path: Path):
    pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    from transload_converters.tflite.runtime import open_model

    path = tmp_path / "model.tflite"
    path.write_bytes(hybrid_model())
    source = transload.load(path)
    hub = transload.legalize(source, hybrid="float")
    assert "signal.Delta" in names(hub)
    made = transload.convert(path, "tosa", tmp_path / "out", options={"hybrid": "float"})
    assert made.verification is not None and made.verification.passed, made.verification
    # Of a runtime that does not tell of the first product, its error goes on through the differences.
    given = {"x": RANDOM.normal(size=(4, 6)).astype(np.float32)}
    told = open_model(path)(given, keep=True)
    del told["h"]
    _, bounds, _ = check_bounds(transload.lower(source, "tosa", hybrid="float"), hub, given, told, "reference")
    (delta,) = (bounded for bounded in bounds if bounded.name == "d")
    assert delta.kept and 0 < delta.max_abs <= delta.bound


def test_each_result_has_its_bound():
    weights = RANDOM.normal(size=(5, 4)).astype(np.float32)

    def build(b: Builder, x: Value) -> Any:
        how = {"right_transpose": True, "dynamic_quantization": "symmetric"}
        return b.emit("signal.Extremes", b.emit("top.MatMul", x, b.constant(weights), location="h", **how))

    hub = build_module([TensorType((3, 4), F32)], build)
    given = {"x0": RANDOM.normal(size=(3, 4)).astype(np.float32)}
    told = {f"y:{index}": array + np.float32(1e-4) for index, array in enumerate(transload.run(hub, given).values())}
    _, bounds, _ = check_bounds(transload.lower(hub, "tosa"), hub, given, told, "reference")
    assert [bounded.name for bounded in bounds] == ["y:0", "y:1"]
    assert all(bounded.kept and 0 < bounded.max_abs <= bounded.bound for bounded in bounds)


def test_an_output_that_was_shuffled_after_it_was_dequantized_is_judged_by_its_step():
    module = build_module([TensorType((4, 6), QuantType(I8, F32, (0.5,), (0,)))], lambda b, x: b.emit(
        "signal.Interleave", b.emit("top.Cast", x, element=F32), ways=2))
    assert output_steps(module) == [0.5]
