"""Casts, quantization, and types that TOSA does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import (
    BOOL,
    F32,
    I4,
    I8,
    I16,
    I32,
    UI8,
    UI16,
    FloatType,
    IntegerType,
    QuantType,
    TensorType,
    dtype_of,
    element_type_of,
)
from transload.testing import build_module
from transload_targets.tosa.check import findings_of

from tests.support.graphs import Graph, op_names

RNG = np.random.default_rng(10)


def q(scale: float, zero_point: int = 0) -> tuple[Any, ...]:
    return [scale], [zero_point]


STORED = [("int8", q(0.02, 3)), ("int8", q(0.02)), ("uint8", q(0.02, 120)), ("int16", q(0.0001))]


@pytest.mark.parametrize(("dtype", "type_"), [
    ("int8", q(2.0**-6, 3)), ("int8", q(2.0**-6)), ("uint8", q(2.0**-5, 120)), ("int16", q(2.0**-9))])
def test_quantize_halves(judge: Callable, dtype: str, type_: Any) -> None:
    """Halves fall away from zero, and numbers next to them to the nearest; what is out of range saturates."""
    halves = (np.arange(-300, 300, 0.5) * type_[0][0]).astype(np.float32)
    beside = [np.nextafter(halves, np.float32(end)) for end in (9, -9)]
    x = np.concatenate([halves, *beside, np.float32([1e6, -1e6])])
    judge("QUANTIZE", [(x.shape, "float32")], [(x.shape, dtype, type_)], version=3, arrays=[x])


def test_quantize_image(judge: Callable) -> None:
    """Pixels of 0 to 1 in steps of two pixels: half of them lie between two numbers, as near as floats tell."""
    x = (np.arange(256) / 255).astype(np.float32)
    judge("QUANTIZE", [(x.shape, "float32")], [(x.shape, "int8", q(2 / 255, -1))], version=3, arrays=[x], steps=1)


@pytest.mark.parametrize(("dtype", "type_"), STORED)
def test_quantize_anything(judge: Callable, dtype: str, type_: Any) -> None:
    """Within a float32 step of a half, division and multiplication by the reciprocal may differ."""
    x = RNG.normal(size=5000).astype(np.float32)
    judge("QUANTIZE", [(x.shape, "float32")], [(x.shape, dtype, type_)], version=3, arrays=[x], steps=1)


@pytest.mark.parametrize(("dtype", "type_"), STORED)
def test_dequantize(judge: Callable, dtype: str, type_: Any) -> None:
    judge("DEQUANTIZE", [((5000,), dtype, type_)], [((5000,), "float32")], version=3, tolerance=0.0)


@pytest.mark.parametrize(("source", "source_type", "target", "target_type"), [
    ("int8", q(0.05, 3), "int8", q(0.02, -5)), ("int8", q(0.05, 3), "uint8", q(0.05, 131)),
    ("uint8", q(0.05, 131), "int8", q(0.05, 3)), ("uint8", q(0.05, 131), "uint8", q(0.07, 100)),
    ("int8", q(0.05, 3), "int16", q(0.0004)), ("int16", q(0.0004), "int8", q(0.05, 3)),
    ("int16", q(0.0004), "int16", q(0.0003)), ("int16", q(0.0004), "int32", q(0.00003)), ("int32", q(0.0004), "int8", q(0.3, 3)),
])
def test_requantize(judge: Callable, source: str, source_type: Any, target: str, target_type: Any) -> None:
    arrays = [RNG.integers(-100_000, 100_000, 1000).astype(np.int32)] if source == "int32" else None
    judge("QUANTIZE", [((1000,), source, source_type)], [((1000,), target, target_type)], version=3, arrays=arrays)


@pytest.mark.parametrize(("source", "target", "low", "high"), [
    ("float32", "int32", -1000, 1000), ("int32", "float32", -100_000, 100_000), ("uint8", "float32", 0, 255),
    ("float32", "uint8", 0, 255), ("int8", "float32", -128, 127), ("int64", "float32", -100_000, 100_000),
    ("int16", "int32", -32768, 32767), ("uint8", "int32", 0, 255), ("int32", "uint8", -1000, 1000),
    ("float32", "bool", -2, 2), ("bool", "float32", 0, 1), ("int32", "int64", -1000, 1000),
])
def test_cast(judge: Callable, source: str, target: str, low: int, high: int) -> None:
    x = RNG.uniform(low, high, 1000) if source == "float32" else RNG.integers(low, high, 1000, endpoint=True)
    judge("CAST", [((1000,), source)], [((1000,), target)], version=5, arrays=[x.astype(source)])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(lowered: Callable, dtype: str) -> None:
    """Convolution, product and pooling of floats of 16 bits, summed in 32."""
    import ml_dtypes

    kind = np.dtype(dtype if dtype == "float16" else ml_dtypes.bfloat16)
    x, w, m = (RNG.normal(size=shape).astype(kind) for shape in ((1, 6, 7, 5), (4, 3, 3, 5), (4, 6)))

    def make(rw: Any, value: Any) -> Any:
        made = rw.emit("top.Conv", value, rw.constant(w), kernel_shape=(3, 3), layout="NHWC", do_relu=True)
        made = rw.emit("top.AvgPool", made, kernel_shape=(2, 2), layout="NHWC")
        made = rw.emit("top.MatMul", made, rw.emit("top.Reshape", made, shape=(1, 3, 4, 4)))
        return rw.emit("top.GELU", rw.emit("top.MatMul", made, rw.constant(m)))

    lowered(make, x, tolerance=2e-2, official=dtype == "float16")  # the reference model takes no bfloat16 arrays


@pytest.mark.parametrize("mode", ["Trunc", "HalfAwayFromZero", "HalfToEven"])
def test_rounding(lowered: Callable, mode: str) -> None:
    from transload.ir import I32

    x = np.concatenate([np.arange(-5, 5, 0.25), [0.49999997, -0.49999997, 8388607.5, -1e6]]).astype(np.float32)
    lowered(lambda rw, value: rw.emit("top.Cast", value, element=I32, round_mode=mode), x)


@pytest.mark.parametrize(("mode", "point"), [
    ("HalfToEven", 10), ("HalfToEvenStored", 10), ("HalfToEvenStored", -11), ("HalfUp", 10), ("HalfUp", -11)])
def test_quantize_as_the_cast_rounds(lowered: Callable, mode: str, point: int) -> None:
    from transload.ir import F32, I8, QuantType

    x = np.arange(-160, 160, 0.5).astype(np.float32) / 16
    for least in (-128, -100):
        kind = QuantType(I8, F32, (0.0625,), (point,), storage_min=least)
        lowered(lambda rw, value, kind=kind: rw.emit("top.Cast", value, element=kind, round_mode=mode), x)


@pytest.mark.parametrize("ratio", [0.5, 1 / 6, 0.7])
@pytest.mark.parametrize(("source", "target"), [(I8, I8), (I16, I8), (UI8, I16)], ids=str)
def test_requantize_halves_up(source: IntegerType, target: IntegerType, ratio: float) -> None:
    """RESCALE rounds them so where its factor is exact; of bytes it is a table where it is not."""
    from transload.ir import QuantType

    given = QuantType(source, F32, (ratio,), (3 if source != I16 else 0,))
    wanted = QuantType(target, F32, (1.0,), (-5 if target == I8 else 0,))
    x = np.arange(-99, 100).astype(dtype_of(source)) if not source.unsigned else np.arange(200).astype(np.uint8)
    module = build_module([TensorType(x.shape, given)], lambda rw, x: rw.emit("top.Cast", x, element=wanted, round_mode="HalfUp"))
    (numbers,) = transload.run(module, {"x0": x}).values()
    (found,) = transload.run(transload.lower(module, "tosa"), {"x0": x}).values()
    if ratio == 0.5 or source == target == I8:
        np.testing.assert_array_equal(found, numbers)
    assert np.abs(found.astype(int) - numbers).max() <= 1


def test_halves_of_16_bits_go_up(lowered: Callable) -> None:
    from transload.ir import QuantType

    for kind in (QuantType(I16, F32, (2.0**-12,), (-7,)), QuantType(UI16, F32, (3 / 32767,), (10922,), None, 0, 32767)):
        steps = np.arange(kind.storage_min - 2, kind.storage_max + 3, 11) - kind.zero_point + 0.5
        x = (steps * kind.scale).astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, np.float32(9)), np.nextafter(x, np.float32(-9))])
        lowered(lambda rw, value, kind=kind: rw.emit(
            "top.Cast", rw.emit("top.Cast", value, element=kind, round_mode="HalfUp"), element=F32), x, tolerance=1e-7)


def test_per_axis(lowered: Callable) -> None:
    from transload.ir import F32, I8, QuantType

    kind = QuantType(I8, F32, (0.1, 0.2, 0.3), (1, -2, 3), 1)
    x = RNG.normal(size=(4, 3, 5)).astype(np.float32) * 10
    lowered(lambda rw, value: rw.emit("top.Cast", rw.emit("top.Cast", value, element=kind), element=F32), x, tolerance=0.4)


def test_unsigned_bits_at_the_border(lowered: Callable) -> None:
    """uint8 in, uint8 out: the module takes and gives the same bits."""
    from transload.ir import F32, I8, UI8, QuantType, TensorType

    kind = QuantType(UI8, F32, (0.05,), (100,))
    x = RNG.integers(0, 255, (3, 8), endpoint=True).astype(np.uint8)
    module = lowered(lambda rw, value: rw.emit("top.Relu", value, element=kind), x, types=[TensorType(x.shape, kind)])
    function = module.main.attributes["function_type"]
    assert function.inputs[0].element == function.results[0].element == I8


def test_quantized_uint16(lowered: Callable) -> None:
    from transload.ir import F32, UI16, QuantType, TensorType

    kind = QuantType(UI16, F32, (0.0005,), (32768,))
    x = RNG.integers(0, 65535, (300,), endpoint=True).astype(np.uint16)
    lowered(lambda rw, value: rw.emit("top.Relu", value, element=kind), x, types=[TensorType(x.shape, kind)])


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_plain_unsigned_numbers_wrap(lowered: Callable, dtype: Any) -> None:
    x = RNG.integers(0, np.iinfo(dtype).max, (3, 8), endpoint=True).astype(dtype)
    lowered(lambda rw, a, b: rw.emit("top.Add", a, b), x, x[:1])


def test_wide_numbers_become_narrow(lowered: Callable) -> None:
    x = RNG.integers(-1000, 1000, (3, 8)).astype(np.int64)
    y = RNG.normal(size=(3, 8))
    module = lowered(lambda rw, a: rw.emit("top.Add", a, rw.constant(np.array([[7]], np.int64))), x)
    assert str(module.main.attributes["function_type"].inputs[0]) == "tensor<3x8xi32>"
    module = lowered(lambda rw, a: rw.emit("top.Square", a), y)
    assert str(module.main.attributes["function_type"].inputs[0]) == "tensor<3x8xf32>"


@pytest.mark.parametrize("mode", ["HalfAwayFromZero", "HalfToEven"])
@pytest.mark.parametrize("scale", [2.0**-22, 0.5])
def test_floats_are_quantized_to_all_of_32_bits(mode: str, scale: float) -> None:
    """Up to the greatest float below 2**31; from 2**24 on floats are whole numbers, and are not rounded."""
    graph = Graph((10,))
    type_ = QuantType(I32, F32, (scale,), (0,))
    module = graph.done(graph.builder.emit("top.Cast", graph.inputs[0], round_mode=mode, element=type_))
    whole = [2**23 + 1, -(2**24 + 2), 2**24 - 1, 2**25 + 4, -(2**30), 2**30 + 128, 2**31 - 128, -(2**31 - 256)]
    numbers = np.float32([1.5, -2.5, *whole])
    given = {"x0": numbers * np.float32(scale)}
    wanted, made = (next(iter(transload.run(each, given, engine="reference").values()))
                    for each in (module, transload.lower(module, "tosa")))
    assert np.array_equal(wanted, made)
    assert wanted[2:].tolist() == numbers[2:].astype(np.int64).tolist()


@pytest.mark.parametrize(("element", "target"), [("f8E4M3FNUZ", "or onnx"), ("f8E3M4", "stablehlo, which has it")])
def test_small_floats_that_tosa_does_not_have(element: str, target: str) -> None:
    """It was said that the model contradicts itself. What casts them back follows from what makes them."""
    graph = Graph((4,))
    small = graph.emit("Cast", graph.inputs[0], element=FloatType(element))
    module = graph.done(graph.emit("Cast", small, element=F32))
    with pytest.raises(ConversionError, match=f"{element} is a type that TOSA's CAST does not have") as caught:
        transload.lower(module, "tosa")
    assert "contradict" not in str(caught.value)
    assert len(caught.value.findings) == 1
    assert target in caught.value.findings[0].hint
    transload.lower(module, "stablehlo")


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int64, np.float64, np.int16, np.bool_])
def test_what_passes_straight_through_gets_a_type_of_tosa(dtype: Any) -> None:
    """As beside ops, too: a module without any begins in its reader's dialect, or the hub's."""
    element = element_type_of(dtype)
    text = f"func.func @main(%a: tensor<2x3x{element}>) -> tensor<2x3x{element}> {{\n  return %a : tensor<2x3x{element}>\n}}\n"
    x = np.array([[0, 1, 1], [1, 1, 0]], dtype)
    made = build_module([TensorType(x.shape, element)], lambda rw, a: a)
    for module in (transload.load(text=text, format="stablehlo"), made):
        lowered = transload.lower(module, "tosa")
        ((name, _),) = lowered.inputs.items()
        (value,) = transload.run(lowered, {name: x}).values()
        assert np.array_equal(value, x)
        assert not findings_of(lowered)


@pytest.mark.parametrize("element", [I8, UI8, I16, UI16, I4])
def test_integers_wrap_round_before_a_relu(lowered: Callable, element: IntegerType) -> None:
    """TOSA computes the unsigned ones in i32 and those of 4 bits in i8, where a ReLU found sums that do not wrap round."""
    top, dtype = element.range[1], dtype_of(element)
    x, y = np.array([[top, 3], [5, top // 2]]).astype(dtype), np.array([[2, 7], [6, top]]).astype(dtype)

    def make(builder: Any, x: Any, y: Any) -> Any:
        limits: list[dict[str, Any]] = [{}, {"relu_limit": 6.0}]
        pairs = [builder.emit(f"top.{name}", x, y, do_relu=True, **limit)
                 for name in ("Add", "Sub", "Mul", "MatMul") for limit in limits]
        return [*pairs, builder.emit("top.AddConst", x, const_val=5.0, do_relu=True),
                builder.emit("top.Scale", x, y, y, do_relu=True)]

    lowered(make, x, y, types=[TensorType((2, 2), element)] * 2, official=element != I4)


@pytest.mark.parametrize("element", [I4, I8, I16, UI8, UI16], ids=str)
@pytest.mark.parametrize("mode", ["Trunc", "HalfToEven", "HalfAwayFromZero"])
def test_floats_out_of_an_integers_range_wrap_round(element: IntegerType, mode: str) -> None:
    """As in the hub and StableHLO, TensorFlow and onnxruntime: `tosa.cast` alone would take the end of the range."""
    x = np.float32([127.4, 127.6, 128.5, -128.6, -129.5, 200, 300.7, -300.2, 32768, -40000.3, 65536.5, 1e6, -3])
    graph = Graph(x.shape)
    module = graph.done(graph.emit("Cast", graph.inputs[0], element=element, round_mode=mode))
    (wanted,) = transload.run(module, {"x0": x}).values()
    for target in ("tosa", "stablehlo"):
        (found,) = transload.run(transload.lower(module, target), {"x0": x}).values()
        np.testing.assert_array_equal(np.asarray(found).astype(np.int64), np.asarray(wanted).astype(np.int64), target)


@pytest.mark.parametrize(("low", "high", "casts"), [
    (-128.0, 127.0, 1), (-128.0, 127.4, 1), (-129.0, 127.0, 2), (0.0, 128.0, 2)])
def test_floats_known_to_be_in_range_are_cast_once(low: float, high: float, casts: int) -> None:
    graph = Graph((4,))
    clipped = graph.emit("Clip", graph.inputs[0], min=low, max=high)
    module = graph.done(graph.emit("Cast", clipped, element=I8, round_mode="HalfToEven"))
    assert op_names(transload.lower(module, "tosa")).count("tosa.cast") == casts


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("mode", ["HalfAwayFromZero", "HalfToEven", "HalfToEvenStored", "HalfUp"])
def test_integers_are_quantized_as_the_cast_rounds(mode: str, dtype: Any) -> None:
    """They were rounded by a RESCALE, with which halves go up."""
    x = np.arange(-21, 22).astype(dtype) if dtype not in (np.uint8, np.bool_) else np.arange(43).astype(dtype)
    if dtype == np.int32:
        x = np.concatenate([x, np.array([-(1 << 31), -(1 << 30), 1 << 30, (1 << 31) - 1], np.int32)])
    for scale in (2.0, 0.7, 0.5, 3.0, 6.0, 2.0**31):
        for zero_point in (0, 1):
            element = QuantType(I8, F32, (scale,), (zero_point,))
            module = build_module(
                [TensorType(x.shape, element_type_of(x.dtype))],
                lambda rw, x, element=element: rw.emit("top.Cast", x, element=element, round_mode=mode))
            wanted, made = (next(iter(transload.run(each, {"x0": x}).values()))
                            for each in (module, transload.lower(module, "tosa")))
            np.testing.assert_array_equal(made, wanted, err_msg=str(element))


@pytest.mark.parametrize("small", ["f8E4M3FN", "f8E5M2"])
@pytest.mark.parametrize("element", [I8, UI8, I32, BOOL])
def test_small_floats_become_integers(small: str, element: Any) -> None:
    """The operators that round and compare do not take them, of which an internal text spoke."""
    x = np.array([1.5, -2.5, 0, 3, -0.75, 112], dtype_of(FloatType(small)))
    if element == UI8:
        x = np.abs(x)
    for mode in ("Trunc", "HalfToEven", "HalfAwayFromZero"):
        module = build_module(
            [TensorType(x.shape, FloatType(small))],
            lambda rw, x, mode=mode: rw.emit("top.Cast", x, element=element, round_mode=mode))
        wanted, made = (next(iter(transload.run(each, {"x0": x}).values()))
                        for each in (module, transload.lower(module, "tosa")))
        np.testing.assert_array_equal(made.view(wanted.dtype), wanted)
