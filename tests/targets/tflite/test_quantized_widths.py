"""Tensors of 16 bits among those of 8: LiteRT's kernels have operands and results of one width, and so has what we make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import TargetError
from transload.ir import F32, I8, I16, UI8, IntegerType, Module, QuantType, dtype_of, update_function_type
from transload.ir.build import Builder
from transload.passes.manager import Pipeline
from transload_converters.tflite.runtime import open_model
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.quantize import quantize_module
from transload_plugins.quantize.scheme import SCHEMES
from transload_targets.tflite.target import TfliteTarget

from tests.support.graphs import Graph
from tests.support.litert import run_litert
from tests.targets.forms import FORMS


@pytest.mark.parametrize("wide", [("x0",), ("conv",), ("depthwise",), ("layer",), ("conv", "depthwise"), ("x0", "conv", "layer")])
def test_what_surrounds_16_bits_is_the_same_bits_everywhere(wide: tuple[str, ...], tmp_path: Path) -> None:
    graph = Graph((1, 6, 6, 3))
    window = {"kernel_shape": (3, 3), "layout": "NHWC"}
    made = graph.Conv(
        graph.inputs[0], graph.random(4, 3, 3, 3), graph.random(4), pads=(1, 1, 1, 1), location="conv", **window)
    made = graph.Conv(made, graph.random(4, 3, 3, 1), graph.random(4), group=4, location="depthwise", **window)
    flat = graph.Reshape(made, shape=(1, 64))
    hub = at_hub(graph.done(graph.MatMul(flat, graph.random(64, 5), graph.random(5), location="layer")))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 6, 6, 3)).astype(np.float32)} for seed in range(8)]
    ranges = calibrate(hub, samples[:4]).kept(False)
    module = quantize_module(hub, SCHEMES["int8"], ranges, wide=wide)
    tosa = transload.lower(module, "tosa")
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        here, there, theirs = (next(iter(outputs.values())) for outputs in (
            transload.run(module, sample, engine="reference"), transload.run(tosa, sample), litert(sample)))
        assert np.array_equal(here, there)
        assert np.array_equal(there, theirs)


@pytest.mark.parametrize("scheme", ["int8", "int16x8", "uint8"])
@pytest.mark.parametrize("wide", [(), ("y",)])
def test_slopes_are_bytes_beside_what_has_16_bits(scheme: str, wide: tuple[str, ...], tmp_path: Path) -> None:
    graph = Graph((1, 6, 6, 4))
    slopes = graph.constant(np.array([0.1, 0.7, 1.3, -0.2], np.float32))
    hub = at_hub(graph.done(graph.PRelu(graph.inputs[0], slopes, location="y")))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 6, 6, 4)).astype(np.float32)} for seed in range(4)]
    module = quantize_module(hub, SCHEMES[scheme], calibrate(hub, samples).kept(False), wide=wide)
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        (real,), (made,), (theirs,) = (tuple(outputs.values()) for outputs in (
            transload.run(hub, sample), transload.run(module, sample), litert(sample)))
        assert np.array_equal(made, theirs)
        assert 10 * np.log10(np.mean(real**2) / np.mean((real - made) ** 2)) > (38 if scheme == "int16x8" else 30)


@pytest.mark.parametrize("scheme", ["int8", "uint8"])
def test_means_in_another_scale_are_rounded_once(scheme: str, tmp_path: Path) -> None:
    """In 16 bits on the way, from which LiteRT makes unsigned bytes by way of signed ones alone."""
    graph = Graph((1, 6, 6, 4))
    hub = at_hub(graph.done(graph.AvgPool(
        graph.inputs[0], kernel_shape=(3, 2), strides=(3, 1), pads=(0, 0, 0, 1), layout="NHWC", location="y")))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 6, 6, 4)).astype(np.float32)} for seed in range(4)]
    module = quantize_module(hub, SCHEMES[scheme], calibrate(hub, samples).kept(False))
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        (made,), (theirs,) = (tuple(outputs.values()) for outputs in (transload.run(module, sample), litert(sample)))
        assert np.array_equal(made, theirs)


def test_groups_of_a_transposed_convolution_share_scales(tmp_path: Path) -> None:
    graph = Graph((1, 4, 5, 4))
    made = graph.Deconv(graph.inputs[0], graph.random(3, 4, 4, 4), graph.random(6), kernel_shape=(4, 4), strides=(2, 2),
                        pads=(1, 1, 1, 1), group=2, layout="NHWC", location="y")
    hub = at_hub(graph.done(made))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 4, 5, 4)).astype(np.float32)} for seed in range(4)]
    module = quantize_module(hub, SCHEMES["int8"], calibrate(hub, samples).kept(False))
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    for sample in samples:
        (made,), (theirs,) = (tuple(outputs.values()) for outputs in (transload.run(module, sample), litert(sample)))
        assert np.array_equal(made, theirs)


@pytest.mark.parametrize("storage", [I8, I16])
@pytest.mark.parametrize(("low", "high"), [(0.0, 6.0), (0.0, np.inf), (-1.0, 1.0), (0.0, 1.0), (-1.0039, 0.9961), (-0.5, np.inf)])
def test_a_clip_to_another_scale(low: float, high: float, storage: IntegerType, tmp_path: Path) -> None:
    """Every number of a type in another, which a clip ends: LiteRT's activations divide scales in float32, its QUANTIZE in
    float64; of 16 bits one number in a thousand shows it."""
    every = np.arange(*storage.range).astype(dtype_of(storage))
    points = (3, -5) if storage == I8 else (0, 0)
    first, second = (QuantType(storage, F32, (float(np.float32(scale * 2.0 ** (8 - storage.width))),), (point,))
                     for scale, point in zip((1.2890625e-2, 1.16732e-2), points, strict=True))
    graph = Graph((1, every.size))
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=first)
    kept = graph.builder.emit("top.Clip", held, min=low, max=high, element=second)
    hub = graph.done(graph.builder.emit("top.Cast", kept, element=F32))
    sample = {"x0": ((every.astype(np.float64) - points[0]) * first.scale).astype(np.float32)[None]}
    made = next(iter(transload.run(hub, sample, engine="reference").values()))
    litert = open_model(transload.save(transload.lower(hub, "tfl"), tmp_path / "made.tflite"))
    np.testing.assert_array_equal(made, next(iter(litert(sample).values())))


@pytest.mark.parametrize("storage", [I8, I16])
@pytest.mark.parametrize("limit", [-1.0, 6.0, 2.7])
@pytest.mark.parametrize("kind", ["AvgPool", "MaxPool"])
def test_pooling_to_another_scale_with_an_activation(kind: str, limit: float, storage: IntegerType, tmp_path: Path) -> None:
    """The activation cuts numbers of the result's type, as everywhere."""
    first, second = (QuantType(storage, F32, (float(np.float32(scale * 2.0 ** (8 - storage.width))),), (0,))
                     for scale in (0.071, 0.023))
    graph = Graph((1, 6, 6, 4))
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=first)
    window = {"kernel_shape": (3, 3), "strides": (1, 1), "pads": (0, 0, 0, 0), "layout": "NHWC"}
    pooled = graph.builder.emit(f"top.{kind}", held, element=second, do_relu=True, relu_limit=limit, **window)
    hub = graph.done(graph.builder.emit("top.Cast", pooled, element=F32))
    litert = open_model(transload.save(transload.lower(hub, "tfl"), tmp_path / "made.tflite"))
    for seed in range(4):
        sample = {"x0": np.random.default_rng(seed).normal(0.7, 4, (1, 6, 6, 4)).astype(np.float32)}
        made = next(iter(transload.run(hub, sample, engine="reference").values()))
        np.testing.assert_array_equal(made, next(iter(litert(sample).values())))


def test_a_limit_between_two_numbers_is_the_same_everywhere(tmp_path: Path) -> None:
    """5 is at 7.5 in float32, and below it in float64."""
    kind = QuantType(I8, F32, (float(np.float32(2 / 3)),), (0,))
    graph = Graph((1, 4, 4, 2))
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=kind)
    window = {"kernel_shape": (2, 2), "strides": (2, 2), "layout": "NHWC"}
    pooled = graph.builder.emit("top.MaxPool", held, element=kind, do_relu=True, relu_limit=5.0, **window)
    hub = graph.done(graph.builder.emit("top.Cast", pooled, element=F32))
    sample = {"x0": np.full((1, 4, 4, 2), 9.0, np.float32)}
    litert = open_model(transload.save(transload.lower(hub, "tfl"), tmp_path / "made.tflite"))
    made = [transload.run(module, sample, engine="reference") for module in (hub, transload.lower(hub, "tosa"))]
    for found in (litert(sample), *made):
        np.testing.assert_array_equal(next(iter(found.values())), np.full((1, 2, 2, 2), np.float32(8 * kind.scale)))


@pytest.mark.parametrize(("form", "storage"), [
    ("Depth2Space", I16), ("ArgMax False", I16), ("ArgMin True", I16), ("OneHot", I16), ("ReverseSequence", I8),
    ("SquaredDifference broadcast", UI8), ("IsInf", I16), ("IsInf", I8)])
def test_what_has_a_kernel_of_other_widths_alone(form: str, storage: IntegerType, tmp_path: Path) -> None:
    """LiteRT refused such a file."""
    asked = FORMS[form]
    arrays: list[Any] = [*asked.make(np.float32)]
    moving = [place for place, array in enumerate(arrays) if array is not None and array.dtype == np.float32]
    kind = QuantType(storage, F32, (2.0**-11 if storage == I16 else 0.125,), (128 if storage == UI8 else 0,))
    graph = Graph(*(arrays[place].shape for place in moving))
    held = dict(zip(moving, (graph.builder.emit("top.Cast", value, element=kind) for value in graph.inputs), strict=True))
    made = graph.emit(asked.name, *(held.get(place, array) for place, array in enumerate(arrays)), **asked.attributes)
    if made.is_float or made.quant is not None:
        made.type = made.tensor_type.with_element(kind)
        made = graph.builder.emit("top.Cast", made, element=F32)
    module = graph.done(made)
    sample = {f"x{index}": arrays[place] for index, place in enumerate(moving)}
    here = next(iter(transload.run(module, sample, engine="reference").values()))
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    np.testing.assert_array_equal(here, next(iter(litert(sample).values())))


@pytest.mark.parametrize("inverse", [False, True])
def test_blocks_of_16_bits_with_channels_last(inverse: bool, tmp_path: Path) -> None:
    """By numpy: the numbers of a block's places, which depth holds outermost."""
    kind = QuantType(I16, F32, (0.5,), (0,))
    shape = (2, 4, 6, 3) if inverse else (2, 2, 3, 12)
    graph = Graph(shape)
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=kind)
    moved = graph.Depth2Space(held, block_h=2, block_w=2, is_inversed=inverse, layout="NHWC")
    module = graph.done(graph.builder.emit("top.Cast", moved, element=F32))
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    wanted = (array.reshape(2, 2, 2, 3, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 12) if inverse
              else array.reshape(2, 2, 3, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 4, 6, 3))
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    np.testing.assert_array_equal(next(iter(litert({"x0": array}).values())), wanted)


def test_what_litert_does_not_run_of_16_bits_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without verification the file was written all the same."""
    from transload_targets.tflite.lowering import movement

    monkeypatch.setattr(movement, "_OF_BLOCKS", (*movement._OF_BLOCKS, I16))
    kind = QuantType(I16, F32, (0.5,), (0,))
    graph = Graph((1, 2, 2, 4))
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=kind)
    moved = graph.Depth2Space(held, block_h=2, block_w=2, layout="NHWC")
    path = transload.save(graph.done(graph.builder.emit("top.Cast", moved, element=F32)), tmp_path / "held.mlir")
    with pytest.raises(TargetError) as raised:
        transload.convert(path, "tflite", tmp_path / "out", verify=False)
    assert raised.value.findings[0].what == "tfl.depth_to_space"
    assert not list((tmp_path / "out").glob("*.tflite"))


def behind_a_convolution(operator: str, **attributes: Any) -> tuple[Module, Module, dict[str, np.ndarray]]:
    """An operator behind a convolution of bytes, which LiteRT's usual kernels round another way than its reference; the
    convolution alone; a sample."""
    graph = Graph((1, 16, 16, 4))
    made = graph.Conv(graph.inputs[0], graph.random(8, 1, 1, 4), kernel_shape=(1, 1), layout="NHWC", location="conv")
    operands: tuple[Any, ...] = (made,)
    if operator == "Conv":  # depthwise
        operands, attributes = (made, graph.random(8, 3, 3, 1)), {"kernel_shape": (3, 3), "group": 8, "layout": "NHWC"}
    hub = at_hub(graph.done(getattr(graph, operator)(*operands, location="y", **attributes)))
    random = np.random.default_rng(0)
    samples = [{"x0": random.standard_normal((1, 16, 16, 4)).astype(np.float32)} for _ in range(4)]
    whole = quantize_module(hub, SCHEMES["int8"], calibrate(hub, samples).kept(False))
    alone = whole.clone()
    block = alone.body_of_main
    conv = next(op for op in block if op.name == "top.Conv").results[0]
    block.terminator.operands = (Builder(block, block.terminator).emit("top.Cast", conv, element=F32),)
    update_function_type(alone.main)
    Pipeline.parse("dce").run(alone)
    return whole, alone, samples[0]


@pytest.mark.parametrize("operator", ["Depth2Space", "Tile"])
def test_litert_moves_by_its_reference_what_that_has_by_older_versions_alone(operator: str, tmp_path: Path) -> None:
    """The usual kernels ran the whole model, and the convolution was a step off."""
    attributes: dict[str, Any] = {"tile": (1, 2, 1, 1)} if operator == "Tile" else {"block_h": 2, "block_w": 2, "layout": "NHWC"}
    whole, alone, sample = behind_a_convolution(operator, **attributes)
    path = transload.save(transload.lower(alone, "tfl"), tmp_path / "alone.tflite")
    before, usual = (run_litert(path.read_bytes(), [sample["x0"]], reference)[0] for reference in (True, False))
    assert not np.array_equal(before, usual)
    wanted = np.tile(before, (1, 2, 1, 1)) if operator == "Tile" else before.reshape(1, 16, 16, 2, 2, 2).transpose(
        0, 1, 3, 2, 4, 5).reshape(1, 32, 32, 2)
    litert = open_model(transload.save(transload.lower(whole, "tfl"), tmp_path / "whole.tflite"))
    np.testing.assert_array_equal(next(iter(litert(sample).values())), wanted)


@pytest.mark.parametrize(("operator", "attributes", "code", "version"), [
    ("Permute", {"order": (0, 2, 1, 3)}, "TRANSPOSE", 9),
    ("Slice", {"offset": (0, 1, 0, 0), "ends": (1, 9, 16, 8), "steps": (1, 2, 1, 1)}, "STRIDED_SLICE", 6),
    ("Abs", {}, "ABS", 5),
    ("Conv", {}, "DEPTHWISE_CONV_2D", 7)])
def test_litert_runs_newer_versions_by_the_reference_of_older_ones(
    operator: str, attributes: dict[str, Any], code: str, version: int, tmp_path: Path,
) -> None:
    """Converters write STRIDED_SLICE of version 6 for a new axis, and Transload DEPTHWISE_CONV_2D of version 7 for 4 bits."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="LiteRT is not installed")
    whole, _, sample = behind_a_convolution(operator, **attributes)
    path = transload.save(transload.lower(whole, "tfl"), tmp_path / "whole.tflite")
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    (used,) = [each for each in model.operatorCodes if each.builtinCode == getattr(schema.BuiltinOperator, code)]
    used.version = version
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    newer = tmp_path / "newer.tflite"
    newer.write_bytes(builder.Output())
    wanted, made = (next(iter(open_model(each)(sample).values())) for each in (path, newer))
    (usual,) = run_litert(path.read_bytes(), [sample["x0"]], reference=False)
    assert not np.array_equal(usual, wanted)
    np.testing.assert_array_equal(made, wanted)


@pytest.mark.parametrize(("operator", "attributes", "alone"), [
    ("Elu", {}, True), ("Reduce", {"mode": "ReduceSum", "axes": (1,), "keepdims": False}, True), ("Relu", {}, False)])
def test_what_has_no_reference_kernel_rounds_alone(
    operator: str, attributes: dict[str, Any], alone: bool, tmp_path: Path,
) -> None:
    """LiteRT's usual kernels run the whole model then: its convolution is steps off, and was to be the same."""
    whole, _, sample = behind_a_convolution(operator, **attributes)
    lowered = transload.lower(whole, "tfl")
    litert = open_model(transload.save(lowered, tmp_path / "made.tflite"))
    both = litert(sample), transload.run(whole, sample, engine="reference")
    theirs, ours = (next(iter(outputs.values())) for outputs in both)
    assert np.array_equal(theirs, ours) != alone
    assert TfliteTarget().rounds_alone(lowered) == alone


@pytest.mark.parametrize(("kernel", "strides", "pads"), [
    ((3, 3), (2, 2), (1, 1, 1, 1)), ((2, 3), (1, 1), (1, 1, 1, 1)), ((3, 2), (2, 1), (0, 1, 2, 0)),
    ((9, 9), (1, 1), (4, 5, 5, 4)), ((3,), (2,), (1, 1))])
@pytest.mark.parametrize("storage", [I8, UI8, I16])
def test_means_over_windows_whose_padding_does_not_count(
    kernel: tuple[int, ...], strides: tuple[int, ...], pads: tuple[int, ...], storage: IntegerType, tmp_path: Path,
) -> None:
    """LiteRT's integers are numpy's means of what windows have, rounded to a step."""
    sizes, n = (8, 6)[: len(kernel)], len(kernel)
    kind = QuantType(storage, F32, (0.5,), (100 if storage == UI8 else 0 if storage == I16 else -3,))
    graph = Graph((2, *sizes, 3))
    held = graph.builder.emit("top.Cast", graph.inputs[0], element=kind)
    pooled = graph.AvgPool(held, kernel_shape=kernel, strides=strides, pads=pads, layout="NHWC")
    module = graph.done(graph.builder.emit("top.Cast", pooled, element=F32))
    array = np.random.default_rng(1).integers(-90, 90, (2, *sizes, 3)).astype(np.float32) / 2
    wide = [(0, 0), *zip(pads[:n], pads[n:], strict=True), (0, 0)]
    axes = tuple(range(1, n + 1))

    def sums(numbers: np.ndarray) -> np.ndarray:
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(numbers.astype(np.float64), wide), kernel, axes)
        return windows[(slice(None), *(slice(None, None, step) for step in strides))].sum(tuple(range(-n, 0)))

    wanted = sums(array) / np.maximum(sums(np.ones_like(array)), 1)
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    theirs = next(iter(litert({"x0": array}).values()))
    assert np.abs(theirs - wanted).max() <= 0.25 + 1e-6
    np.testing.assert_array_equal(theirs, next(iter(transload.run(module, {"x0": array}, engine="reference").values())))


def test_means_of_floats_with_a_limit_over_padding_that_does_not_count(tmp_path: Path) -> None:
    """And with a window in the padding alone, which gives 0."""
    graph = Graph((1, 6, 6, 2))
    module = graph.done(graph.AvgPool(
        graph.inputs[0], kernel_shape=(3, 3), strides=(2, 2), pads=(3, 1, 1, 1), layout="NHWC", do_relu=True, relu_limit=0.5))
    array = np.random.default_rng(0).standard_normal((1, 6, 6, 2)).astype(np.float32)
    wanted = np.zeros((4, 3, 2))
    for row, column in np.ndindex(3, 3):
        y, x = 2 * row - 1, 2 * column - 1
        wanted[row + 1, column] = array[0, max(y, 0) : y + 3, max(x, 0) : x + 3].mean((0, 1))
    litert = open_model(transload.save(transload.lower(module, "tfl"), tmp_path / "made.tflite"))
    np.testing.assert_allclose(next(iter(litert({"x0": array}).values()))[0], np.clip(wanted, 0, 0.5), rtol=0, atol=1e-6)
