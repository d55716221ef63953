"""What operations compute: against the quantized ops of the hub, and against themselves on slices."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import transload
from transload.ir import F32, I8, I16, I32, IntegerType, QuantType, TensorType, dtype_of, new_module, set_results
from transload.ir.build import Builder
from transload.testing import build_module, build_op
from transload_hub.requantizing import meant, numbers_of
from transload_hub.scales import scale32
from transload_targets.tensor_processor.arithmetic import operation
from transload_targets.tensor_processor.arithmetic.scaling import scaled
from transload_targets.tensor_processor.regions.rules import RULES

RNG = np.random.default_rng(7)


def top(name: str, arrays: list[tuple[np.ndarray, QuantType]], target: QuantType, **attributes: Any) -> np.ndarray:
    """What the hub's quantized op gives of stored numbers."""
    module = new_module()
    main = module.add_function("main", [TensorType(a.shape, type_) for a, type_ in arrays], [f"x{i}" for i in range(len(arrays))])
    block = main.regions[0].block
    made = Builder(block).emit(name, *block.arguments, element=target, **attributes)
    set_results(main, [made], ["y"])
    return transload.run(module, {f"x{i}": a for i, (a, _) in enumerate(arrays)})["y"]


def int8(shape: tuple[int, ...]) -> np.ndarray:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def q8(scale: float, zero: int = 0) -> QuantType:
    return QuantType(I8, F32, (scale,), (zero,))


def test_add_of_int8_is_the_hubs() -> None:
    x, y = int8((1, 3, 16, 16)), int8((1, 3, 16, 16))
    a, b, target = q8(0.11, 3), q8(0.047, -9), q8(0.13, -20)
    wanted = top("top.Add", [(x, a), (y, b)], target)
    most = 2 * max(a.scale, b.scale)
    first, second, last = (scale32(real) for real in (a.scale / most, b.scale / most, most / ((1 << 20) * target.scale)))
    got = operation("add")(
        x, y, dtype="int8", a_zero=3, b_zero=-9, output_zero=-20, left_shift=20, a_multiplier=first.multiplier,
        a_shift=first.shift, b_multiplier=second.multiplier, b_shift=second.shift, multiplier=last.multiplier, shift=last.shift)
    np.testing.assert_array_equal(got, wanted)


def test_mul_of_int8_is_the_hubs() -> None:
    x, y = int8((2, 3, 5, 7)), int8((2, 3, 5, 7))
    scale = scale32(float(np.float32(0.11)) * float(np.float32(0.047)) / float(np.float32(0.2)))
    got = operation("mul")(
        x, y, dtype="int8", a_zero=3, b_zero=-9, output_zero=5, multiplier=scale.multiplier, shift=scale.shift)
    np.testing.assert_array_equal(got, top("top.Mul", [(x, q8(0.11, 3)), (y, q8(0.047, -9))], q8(0.2, 5)))


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 0, 2, 1)])
@pytest.mark.parametrize("name", ["top.AvgPool", "top.MaxPool"])
def test_pools_of_int8_are_the_hubs(name: str, pads: tuple[int, ...]) -> None:
    x = int8((2, 3, 9, 11))
    wanted = top(name, [(x, q8(0.1, 4))], q8(0.1, 4), kernel_shape=(3, 2), strides=(2, 1), pads=pads, layout="NCHW")
    own = "avg_pool2d" if name == "top.AvgPool" else "max_pool2d"
    np.testing.assert_array_equal(operation(own)(x, dtype="int8", kernel=(3, 2), strides=(2, 1), pads=pads), wanted)


@pytest.mark.parametrize(("groups", "channels"), [(1, 6), (2, 6), (6, 6), (6, 12)])
def test_convolution_of_int8_is_the_hubs(groups: int, channels: int) -> None:
    x, w = int8((2, 6, 9, 8)), int8((channels, 6 // groups, 3, 2))
    bias = RNG.integers(-999, 999, channels).astype(np.int32)
    scales = tuple(float(s) for s in RNG.uniform(0.001, 0.01, channels))
    per_channel, source, target = QuantType(I8, F32, scales, (0,) * channels, axis=0), q8(0.05, -7), q8(0.09, 11)
    sums = QuantType(I32, F32, tuple(source.scale * s for s in scales), (0,) * channels, axis=0)
    geometry = {"strides": (2, 1), "pads": (1, 0, 1, 1), "dilations": (1, 2)}
    module = new_module()
    main = module.add_function("main", [TensorType(x.shape, source)], ["x"])
    build = Builder(main.regions[0].block)
    weights, added = build.constant(w, per_channel), build.constant(bias, sums)
    made = build.emit("top.Conv", build.block.arguments[0], weights, added, element=target, kernel_shape=(3, 2), group=groups,
                      **geometry)
    set_results(main, [made], ["y"])
    wanted = transload.run(module, {"x": x})["y"]
    factors = [scale32(float(np.float32(source.scale)) * float(np.float32(s)) / float(np.float32(target.scale))) for s in scales]
    got = operation("conv2d")(
        x, w, bias, np.array([f.multiplier for f in factors], np.int32), np.array([f.shift for f in factors], np.int32),
        dtype="int8", groups=groups, input_zero=-7, output_zero=11, **geometry)
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("groups", [1, 4])
def test_a_slice_of_a_convolution_is_that_of_the_whole(dtype: str, groups: int) -> None:
    """To the last bit, whatever its height: floats are summed in one order."""
    x = int8((1, 8, 40, 31)) if dtype == "int8" else RNG.normal(size=(1, 8, 40, 31)).astype(dtype)
    w = int8((12, 8 // groups, 3, 3)) if dtype == "int8" else RNG.normal(size=(12, 8 // groups, 3, 3)).astype(dtype)
    result = "int32" if dtype == "int8" else dtype
    conv = operation("conv2d")
    whole = conv(x, w, dtype=result, groups=groups, pads=(1, 1, 1, 1))
    for first, last in ((0, 1), (1, 18), (18, 40)):
        rows = x[:, :, max(0, first - 1) : last + 1]
        part = conv(rows, w, dtype=result, groups=groups, pads=(int(first == 0), 1, int(last == 40), 1))
        np.testing.assert_array_equal(part, whole[:, :, first:last])


def test_a_slice_of_a_matrix_product_is_that_of_the_whole() -> None:
    a, b = RNG.normal(size=(50, 70)).astype(np.float32), RNG.normal(size=(33, 70)).astype(np.float32)
    matmul = operation("matmul")
    whole = matmul(a, b, dtype="float32", transposed=True)
    np.testing.assert_array_equal(matmul(a[7:9], b[4:30], dtype="float32", transposed=True), whole[7:9, 4:30])
    np.testing.assert_allclose(whole, a @ b.T, rtol=1e-4, atol=1e-5)


def test_a_table_of_16_bits_is_interpolated() -> None:
    entries = np.round(np.linspace(-32768, 32767, 513)).astype(np.int16)
    x = np.arange(-32768, 32768, 17).astype(np.int16)
    assert np.abs(operation("table")(x, entries, dtype="int16").astype(int) - x).max() <= 1


def test_rounding_of_halves() -> None:
    halves = np.array([-5, -3, -1, 1, 3, 5])
    assert scaled(halves, 1, 1, "half-up").tolist() == [-2, -1, 0, 1, 2, 3]
    assert scaled(halves, 1, 1, "half-away").tolist() == [-3, -2, -1, 1, 2, 3]
    assert scaled(halves, 3, 0, "half-away").tolist() == (3 * halves).tolist()


def test_cast_quantizes_as_the_hub_does() -> None:
    real = np.concatenate([RNG.normal(size=999) * 30, [np.nan, np.inf, -np.inf, 0.05]]).astype(np.float32)
    module = new_module()
    main = module.add_function("main", [TensorType(real.shape, F32)], ["x"])
    block = main.regions[0].block
    stored = Builder(block).emit("top.Cast", block.arguments[0], element=q8(0.1, 5))
    set_results(main, [stored, Builder(block).emit("top.Cast", stored, element=F32)], ["q", "r"])
    wanted = transload.run(module, {"x": real})
    got = operation("cast")(real, dtype="int8", scale=0.1, zero=5)
    np.testing.assert_array_equal(got, wanted["q"])
    np.testing.assert_array_equal(operation("cast")(got, dtype="float32", scale=0.1, zero=5), wanted["r"])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("count", "size"), [(13, 7), (7, 13), (12, 6), (5, 5)])
def test_a_part_of_a_resized_image_is_that_of_the_whole(mode: str, count: int, size: int) -> None:
    x = RNG.integers(0, 256, (1, 2, size, 9)).astype(np.uint8)
    attributes = {"sizes": (count, 18), "rows": (2 * count, 2 * size, size - count), "columns": (2, 1, -1), "mode": mode}
    resize = operation("resize")
    whole = resize(x, dtype="uint8", **attributes)
    node = SimpleNamespace(operand_shapes=(x.shape,), result_shape=whole.shape, attributes=attributes)
    for first, last in ((0, 1), (0, 3), (2, 4), (count - 1, count)):
        need = RULES["tpu.resize"](node, ((0, 1), (0, 2), (first, last), (3, 11)))
        box = tuple(slice(*each) for each in need.operands[0])
        part = resize(x[box], dtype="uint8", **{**attributes, **need.attributes})
        np.testing.assert_array_equal(part, whole[:, :, first:last, 3:11])


@pytest.mark.parametrize("name", ["top.FloorDiv", "top.ShiftRight", "top.Add", "top.Sub", "top.Max", "top.Min"])
def test_integers_of_32_bits_are_the_hubs_at_their_limits(name: str, tmp_path: Path) -> None:
    """A shift by less than none left the sign alone, and all of the number in every other engine."""
    ends = np.iinfo(np.int32)
    numbers = np.array([0, 1, -1, 2, -3, 7, 31, 32, 33, -31, -32, -33, 65536, ends.max, ends.max - 1, ends.min, ends.min + 1])
    a, b = (each.ravel().astype(np.int32) for each in np.meshgrid(numbers, numbers))
    module = build_op(name, a, b)
    given = dict(zip(module.inputs, (a, b), strict=True))
    transload.convert(module, "tp-large", tmp_path / "out", verify=False)
    np.testing.assert_array_equal(
        *(next(iter(made.values())) for made in (transload.run(tmp_path / "out", given), transload.run(module, given))))


@pytest.mark.parametrize(("mode", "rounds"), [("HalfToEvenStored", np.rint), ("HalfUp", lambda x: np.floor(x + 0.5))])
@pytest.mark.parametrize("point", [3, 4, -127])
def test_halves_are_quantized_by_stored_numbers(point: int, mode: str, rounds: Any, tmp_path: Path) -> None:
    x = np.array([-1.25, -0.75, -0.25, 0.25, 0.75, 1.25, 1e9, -1e9], np.float32)
    module = build_op("top.Cast", x, element=QuantType(I8, F32, (0.5,), (point,)), round_mode=mode)
    transload.convert(module, "tp-small", tmp_path / "out", verify=False)
    (made,) = transload.run(tmp_path / "out", {"x0": x}).values()
    np.testing.assert_array_equal(made, np.clip(rounds(x / 0.5 + point), -128, 127))


@pytest.mark.parametrize("mode", ["HalfToEven", "HalfToEvenStored", "HalfUp"])
@pytest.mark.parametrize(("storage", "scale"), [(I8, 0.5), (I16, 0.5), (I16, 1 / 64)])
@pytest.mark.parametrize("chip", ["tp-small", "tp-large"])
def test_halves_between_quantized_types_go_where_they_are_asked_to_go(
    chip: str, storage: IntegerType, scale: float, mode: str, tmp_path: Path,
) -> None:
    """They were rounded as LiteRT does, whatever was asked for."""
    source, target = QuantType(storage, F32, (scale,), (0,)), QuantType(I8, F32, (1.0,), (3,))
    x = numbers_of(source).astype(dtype_of(source))
    module = build_module([TensorType(x.shape, source)], lambda rw, x: rw.emit("top.Cast", x, element=target, round_mode=mode))
    transload.convert(module, chip, tmp_path / "out", verify=False)
    (made,) = transload.run(tmp_path / "out", {"x0": x}).values()
    np.testing.assert_array_equal(made, meant(next(op for op in module.ops() if op.name == "top.Cast")))
