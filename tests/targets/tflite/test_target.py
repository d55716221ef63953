"""The target `tflite`: files that LiteRT runs to the bits of our engine, names and signatures kept, refusals in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, I8, I16, Module, QuantType, TensorType, Value, new_module, set_results
from transload.ir.build import Builder
from transload.ir.constants import Dense, SplatData
from transload.plugin import Source
from transload_converters.tflite.reader import read

from tests.support.litert import run_litert


def network(build: Any, *types: TensorType) -> Module:
    """A function of arguments `x0`, ..., whose result `y` is what `build(builder, *arguments)` makes."""
    module = new_module()
    function = module.add_function("main", list(types), [f"x{index}" for index in range(len(types))])
    block = function.regions[0].block
    builder = Builder(block, location="y")
    set_results(function, [build(builder, *block.arguments)], ["y"])
    return module


@pytest.fixture
def digits(examples: Path) -> Path:
    return examples / "digits"


def quantized(scale: float, zero_point: int = 0) -> QuantType:
    return QuantType(I8, F32, (scale,), (zero_point,))


def weights(build: Builder, shape: tuple[int, ...], scales: int, axis: int, seed: int = 0) -> Value:
    rng = np.random.default_rng(seed)
    element = QuantType(I8, F32, tuple((rng.random(scales) / 100 + 1e-3).astype(np.float32).tolist()), (0,) * scales, axis)
    return build.constant(Dense(rng.integers(-127, 128, shape).astype(np.int8)), element=element)


def agree(module: Module, *arrays: np.ndarray) -> list[str]:
    """LiteRT's reference kernels on the file against our engine, bit for bit; the operators in the file."""
    lowered = transload.lower(module, "tfl")
    ours = list(transload.run(module, dict(zip(module.inputs, arrays, strict=True)), engine="reference").values())
    from transload_converters.tflite.writer_module import serialize

    for mine, theirs in zip(ours, run_litert(serialize(lowered), list(arrays)), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    return [op.name.removeprefix("tfl.") for op in lowered.ops() if "const" not in op.name and op.dialect == "tfl"]


@pytest.mark.parametrize(("kind", "operators"), [
    (QuantType(I8, F32, (0.5,), (3,)), ["fake_quant", "quantize"]),
    (QuantType(I8, F32, (0.37,), (-128,)), ["fake_quant", "quantize"]),
    (QuantType(I8, F32, (0.5,), (3,), None, -127, 127), ["fake_quant", "quantize", "maximum", "minimum"]),
    (QuantType(I16, F32, (2.0**-12,), (0,)), ["fake_quant", "quantize"])])
def test_halves_go_up_as_fake_quantization_rounds_them(kind: QuantType, operators: list[str]) -> None:
    """QUANTIZE takes them away from zero."""
    x = ((np.arange(kind.storage_min - 3, kind.storage_max + 3, max(1, kind.storage_max // 1000)) - kind.zero_point + 0.5)
         * kind.scale).astype(np.float32)

    def build(to: Builder, value: Value) -> Value:
        made: Value = to.emit("top.Cast", value, element=kind, round_mode="HalfUp")
        return made

    assert agree(network(build, TensorType(x.shape, F32)), x) == operators


def test_what_is_quantized_and_real_again_is_fake_quantized() -> None:
    kind = QuantType(I8, F32, (2.0**-4,), (19,))
    x = ((np.arange(-131, 132) - 19 + 0.5) * 2.0**-4).astype(np.float32)

    def build(to: Builder, value: Value) -> Value:
        made: Value = to.emit("top.Cast", to.emit("top.Cast", value, element=kind, round_mode="HalfUp"), element=F32)
        return made

    assert agree(network(build, TensorType(x.shape, F32)), x) == ["fake_quant"]


def test_what_fake_quantization_has_no_range_for_is_refused_with_a_way_out() -> None:
    kind = QuantType(I8, F32, (0.5, 0.25), (3, 3), 0)

    def build(to: Builder, value: Value) -> Value:
        made: Value = to.emit("top.Cast", value, element=kind, round_mode="HalfUp")
        return made

    module = network(build, TensorType((2,), F32))
    with pytest.raises(ConversionError, match="rounds halves up") as caught:
        transload.lower(module, "tfl")
    assert "rounding=litert" in str(caught.value)
    assert [op.name for op in transload.lower(module, "tfl", rounding="litert").ops() if op.dialect == "tfl"] == ["tfl.quantize"]


def integers(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("scheme", ["int8", "int8-asym", "int16x8"])
def test_a_quantized_network_is_the_same_bits_in_litert(scheme: str, digits: Path) -> None:
    model = transload.load(digits / "digits_float.onnx")
    images = np.load(digits / "test_images.npz")["images"] / np.float32(16)
    samples = [{"image": image.reshape(1, 1, 8, 8)} for image in images[:60]]
    module = transload.quantize(model, scheme, samples[:32])
    from transload_converters.tflite.writer_module import serialize

    content = serialize(transload.lower(module, "tfl"))
    for sample in samples[32:]:
        np.testing.assert_array_equal(transload.run(module, sample)["probabilities"], run_litert(content, sample)[0])


def test_a_float_network_is_near(digits: Path, tmp_path: Path) -> None:
    artifact = transload.convert(digits / "digits_float.onnx", "tflite", tmp_path / "build")
    assert artifact.verified
    assert {file.name for file in artifact.files} == {"digits_float.tflite", "report.json"}


def test_padding_groups_and_dilations(digits: Path) -> None:
    x = TensorType((1, 9, 9, 4), quantized(0.02, 3))

    def conv(build: Builder, value: Value, group: int, **more: Any) -> Value:
        kernel = weights(build, (8, 3, 3, 4 // group), 8, 0)
        return build.emit("top.Conv", value, kernel, element=quantized(0.05, -7), kernel_shape=(3, 3), layout="NHWC", group=group,
                          **more)

    for more, operators in (
        ({"group": 1, "pads": (1, 1, 1, 1)}, ["conv_2d"]),
        ({"group": 1, "pads": (0, 2, 1, 1), "strides": (2, 2)}, ["pad", "conv_2d"]),
        ({"group": 4, "dilations": (2, 2)}, ["depthwise_conv_2d"]),
        ({"group": 2, "pads": (1, 1, 1, 1), "do_relu": True, "relu_limit": 6.0}, ["conv_2d"]),
        ({"group": 1, "do_relu": True, "relu_limit": 3.0}, ["conv_2d", "minimum"]),
    ):
        assert agree(network(lambda build, value, more=more: conv(build, value, **more), x), integers(1, 9, 9, 4)) == operators


def test_a_product_rounded_twice_is_a_convolution() -> None:
    def product(word: str) -> Module:
        return network(
            lambda build, value: build.emit(
                "top.MatMul", value, weights(build, (5, 16), 5, 0), element=quantized(0.1), right_transpose=True, rounding=word),
            TensorType((6, 16), quantized(0.03, -2)))

    assert agree(product("exact"), integers(6, 16)) == ["fully_connected"]
    assert agree(product("double"), integers(6, 16)) == ["reshape", "conv_2d", "reshape"]


def test_a_function_without_a_kernel_is_a_table() -> None:
    x = TensorType((2, 128), quantized(0.05, 9))
    made = network(lambda build, value: build.emit("top.Mish", value, element=quantized(0.04, -90)), x)
    assert agree(made, integers(2, 128)) == ["cast", "add", "gather"]


def test_a_mean_in_another_type() -> None:
    made = network(
        lambda build, value: build.emit("top.AvgPool", value, element=quantized(0.011, 5), kernel_shape=(4, 4), layout="NHWC"),
        TensorType((2, 4, 4, 16), quantized(0.02, -3)))
    assert agree(made, integers(2, 4, 4, 16)) == ["quantize", "average_pool_2d", "quantize"]


def test_what_is_written_is_chosen_by_a_mask() -> None:
    indices = np.array([[2], [0]], np.int32)

    def build(builder: Builder, value: Value, updates: Value) -> Value:
        written = builder.emit("top.ScatterND", value, builder.constant(Dense(indices)), updates)
        return builder.emit("top.Trilu", written, upper=False, k=1)

    x, updates = TensorType((4, 5), F32), TensorType((2, 5), F32)
    random = np.random.default_rng(0)
    arrays = (random.random(type_.static_shape, np.float32) for type_ in (x, updates))
    assert agree(network(build, x, updates), *arrays) == ["scatter_nd", "select_v2", "select_v2"]


def test_padding_that_does_not_count() -> None:
    made = network(
        lambda build, value: build.emit(
            "top.AvgPool", value, kernel_shape=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1), layout="NHWC", do_relu=True),
        TensorType((1, 8, 8, 2), F32))
    array = np.random.default_rng(0).standard_normal((1, 8, 8, 2)).astype(np.float32)
    from transload_converters.tflite.writer_module import serialize

    theirs = run_litert(serialize(transload.lower(made, "tfl")), [array])[0]
    np.testing.assert_allclose(theirs, transload.run(made, {"x0": array}, engine="reference")["y"], rtol=1e-5, atol=1e-6)


def test_another_rounding_is_refused_or_taken_on_request() -> None:
    made = network(
        lambda build, a, b: build.emit("top.Add", a, b, element=quantized(0.1), rounding="once"),
        TensorType((4,), quantized(0.03)), TensorType((4,), quantized(0.04)))
    with pytest.raises(ConversionError) as error:
        transload.lower(made, "tfl")
    assert "'once'" in str(error.value) and "rounding=litert" in str(error.value)
    assert any(op.name == "tfl.add" for op in transload.lower(made, "tfl", rounding="litert").ops())


def test_all_that_cannot_be_said_is_said_at_once() -> None:
    def build(builder: Builder, value: Value) -> Value:
        left = builder.emit("top.AvgPool", value, kernel_shape=(2, 2, 2), layout="NHWC", location="volume")
        return builder.emit("top.NonZero", builder.emit("top.Reshape", left, shape=(12, -1)), location="places")

    with pytest.raises(ConversionError) as error:
        transload.lower(network(build, TensorType((1, 5, 5, 5, 12), F32)), "tfl")
    assert {name for finding in error.value.findings for name in finding.names} >= {"volume", "places"}


def test_names_and_signature(tmp_path: Path) -> None:
    made = network(lambda build, a, b: build.emit("top.Add", a, b), TensorType((2, 3), F32), TensorType((2, 3), F32))
    path = transload.save(transload.lower(made, "tfl"), tmp_path / "sum.tflite")
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    interpreter = litert.Interpreter(model_path=str(path))
    assert interpreter.get_signature_list() == {"serving_default": {"inputs": ["x0", "x1"], "outputs": ["y"]}}
    assert [detail["name"] for detail in interpreter.get_output_details()] == ["y"]
    again = transload.load(path)
    assert list(again.inputs) == ["x0", "x1"] and list(again.outputs) == ["y"]


def test_a_model_of_two_gigabytes_is_refused(tmp_path: Path) -> None:
    def build(builder: Builder, value: Value) -> Value:
        big = builder.constant(Dense(SplatData(1.0, (1 << 15, 1 << 14), np.dtype(np.float32))))
        return builder.emit("top.MatMul", value, big)

    module = transload.lower(network(build, TensorType((1, 1 << 15), F32)), "tfl")
    with pytest.raises(ConversionError, match="less than 2 GiB"):
        transload.save(module, tmp_path / "big.tflite")
    assert not list(tmp_path.iterdir())


def one_op(given: str, made: str) -> Module:
    text = f'func.func @main(%x: {given}) -> {made} {{\n  %0 = "tfl.logistic"(%x) : ({given}) -> {made}\n  return %0 : {made}\n}}'
    return transload.load(text=text, format="mlir")


@pytest.mark.parametrize(("given", "made", "why"), [
    ("tensor<2xf32>", "tensor<ui2>", "has elements of ui2"),
    ("tensor<?xf32>", "tensor<?xf32>", "known only when the model runs")])
def test_what_files_have_no_word_for_is_refused(tmp_path: Path, given: str, made: str, why: str) -> None:
    with pytest.raises(ConversionError, match=why):
        transload.save(one_op(given, made), tmp_path / "one.tflite")


def test_sizes_that_are_found_as_the_model_runs_are_written_so(tmp_path: Path) -> None:
    """A converter leaves sizes between a graph's operators open; LiteRT finds them."""
    path = tmp_path / "one.tflite"
    transload.save(one_op("tensor<2xf32>", "tensor<?xf32>"), path)
    for as_planned, size in ((True, None), (False, 2)):  # as the file says it; as the hub finds it
        again = read(Source(path), as_planned=as_planned)
        assert [value.type.shape for value in again.body_of_main.terminator.operands] == [(size,)]
    np.testing.assert_allclose(run_litert(path.read_bytes(), [np.zeros(2, np.float32)])[0], [0.5, 0.5])


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), ()])
def test_angles_of_operands_of_unlike_shapes(shape: tuple[int, ...]) -> None:
    """LiteRT's kernel of ATAN2 goes through both without a look at their sizes: it read beyond the end."""
    dice = np.random.default_rng(0)
    a, b = dice.standard_normal((2, 3, 4)).astype(np.float32), dice.standard_normal(shape).astype(np.float32)
    for y, x in ((a, b), (b, a)):
        made = network(lambda build, *both: build.emit("top.Atan2", *both), TensorType(y.shape, F32), TensorType(x.shape, F32))
        np.testing.assert_allclose(run_litert(written(made), [y, x])[0], np.arctan2(y, x), rtol=1e-6)
    made = network(lambda build, value: build.emit("top.Atan", value), TensorType(a.shape, F32))
    np.testing.assert_allclose(run_litert(written(made), [a])[0], np.arctan(a), rtol=1e-6)


@pytest.mark.parametrize(("mode", "number"), [
    (mode, number) for mode in ("Equal", "NotEqual", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")
    for number in (-np.inf, np.inf)])
def test_infinities_that_were_added(mode: str, number: float) -> None:
    """LiteRT's arithmetic saturates at the last finite number, and its extremes begin there: rows all masked were not found."""
    def build(builder: Builder, value: Value) -> Value:
        limit = builder.constant(np.float32(number))
        total = builder.emit("top.Add", value, value)
        most = builder.emit("top.Reduce", total, axes=(1,), keepdims=True, mode="ReduceMax" if number < 0 else "ReduceMin")
        pairs = [pair for each in (total, most) for pair in ((each, limit), (limit, each))]
        both = [builder.emit("top.Compare", *pair, mode=mode) for pair in pairs]
        return builder.emit("top.Concat", *both, builder.emit("top.IsInf", total), axis=1)

    rows = np.array([[number, number, number], [1, number, -1], [0, 2, -3]], np.float32)
    made = network(build, TensorType((3, 3), F32))
    np.testing.assert_array_equal(run_litert(written(made), [rows])[0], transload.run(made, {"x0": rows})["y"])


def written(module: Module) -> bytes:
    from transload_converters.tflite.writer_module import serialize

    return serialize(transload.lower(module, "tfl"))


def test_a_size_of_more_than_32_bits_is_refused(tmp_path: Path) -> None:
    made = network(lambda build, value: build.emit("top.Exp", value), TensorType((1 << 33,), F32))
    with pytest.raises(ConversionError, match=r"shape \[8589934592\], and sizes of TFLite have 32 bits"):
        transload.save(transload.lower(made, "tfl"), tmp_path / "one.tflite")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scheme", ["f16", "bf16"])
def test_halves_that_the_quantizer_made_are_said_to_be_its_own(digits: Path, tmp_path: Path, scheme: str) -> None:
    """The model is one of float32: what can be done is to leave the option out."""
    with pytest.raises(ConversionError) as caught:
        transload.convert(digits / "digits_float.onnx", "tflite", tmp_path, quantize=scheme)
    hints = {finding.hint for finding in caught.value.findings}
    assert hints and all("without --quantize" in hint for hint in hints), hints


@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric", "edge"])
@pytest.mark.parametrize("element", [F32, QuantType(I8, F32, (0.1,), (3,))])
def test_padding_of_six_dimensions(mode: str, element: Any) -> None:
    """PAD has five."""
    paddings = (0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0)
    for value in (0.0, 1.5) if mode == "constant" else (0.0,):
        module = network(
            lambda b, x, number=value: b.emit("top.Pad", x, paddings=paddings, mode=mode, val=number),
            TensorType((2, 2, 3, 2, 1, 3), element))
        x = integers(2, 2, 3, 2, 1, 3)
        found = agree(module, x.astype(np.float32) if element == F32 else x)
        assert ("gather" if mode == "edge" else "pad" if value == 0.0 and mode == "constant" else "") in "".join(found)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge", "constant"])
def test_negative_padding_takes_off_behind_what_is_mirrored(mode: str) -> None:
    """A mirrored element may be one that is taken away at the other end, so that this is no padding of what is left."""
    module = network(
        lambda b, x: b.emit("top.Pad", x, paddings=(-1, -2, 3, 0, 2, -2), mode=mode, val=2.0), TensorType((3, 3, 4), I8))
    agree(module, integers(3, 3, 4))


def test_batch_normalization_by_computed_statistics() -> None:
    """As of a batch that a model is trained on: mean and variance are no constants."""
    shape, stat = TensorType((2, 3, 4), F32), TensorType((3,), F32)
    module = network(
        lambda b, x, mean, variance, gamma, beta: b.emit(
            "top.BatchNorm", x, mean, variance, gamma, beta, epsilon=0.25, layout="NCHW"), shape, stat, stat, stat, stat)
    arrays = [np.asarray(array, np.float32) for array in (
        np.arange(24).reshape(2, 3, 4), [1, 2, 3], [3.75, 0.75, 15.75], [1, 2, 4], [0.5, 0, -1])]
    assert {"sub", "rsqrt", "mul", "add"} <= set(agree(module, *arrays))


@pytest.mark.parametrize(("word", "made"), [("rounded", ["div", "floor"]), ("exact", ["floor_div"]), ("fmod", None)])
def test_which_quotients_are_rounded_down(word: str, made: list[str] | None) -> None:
    """FLOOR_DIV divides in f64, where 6 by the f32 that is nearest to 0.3 is less than 20; DIV rounds before FLOOR does."""
    module = network(
        lambda b, x, y: b.emit("top.FloorDiv", x, y, quotient=word), TensorType((7,), F32), TensorType((3, 1), F32))
    x, y = np.array([6, 3, 0.9, 1.2, 12, -6, -0.9], np.float32), np.array([[0.3], [0.1], [-0.3]], np.float32)
    assert agree(module, x, y) == made or made is None
