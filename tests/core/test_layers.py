"""What quantizing cost, layer by layer: beside what numpy says of the same tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import metrics
from transload.api import at_hub
from transload.engine.quantized import dequantize, quantize
from transload.errors import UsageError
from transload.ir import Dense, Module
from transload.ir.build import constant_of
from transload.layers import layer_values, layers_report
from transload.report import LayerReport, LayersReport

from tests.support.graphs import Graph

Samples = Sequence[dict[str, Any]]


@pytest.fixture(scope="module")
def samples(examples: Path) -> Samples:
    images = np.load(examples / "digits" / "test_images.npz")["images"][:24] / np.float32(16)
    return [{"image": image.reshape(1, 1, 8, 8)} for image in images]


@pytest.fixture(scope="module")
def model(examples: Path) -> Module:
    return at_hub(transload.load(examples / "digits" / "digits_float.onnx"))


@pytest.fixture(scope="module")
def quantized(model: Module, samples: Samples) -> Module:
    return transload.quantize(model, "int8", samples, equalization=False, bias_correction=False)


@pytest.fixture(scope="module")
def report(model: Module, quantized: Module, samples: Samples) -> LayersReport:
    return transload.quantization_report(model, quantized, samples, count=4)


def layer(report: LayersReport, name: str) -> LayerReport:
    return next(each for each in report.layers if each.name == name)


def real(module: Module, sample: dict[str, Any]) -> dict[str, np.ndarray]:
    """All named tensors of a module as the real numbers that they stand for."""
    types = {value.name: value.quant for op in module.body_of_main for value in op.results}
    return {
        name: dequantize(array, types[name]) if types.get(name) is not None and array.dtype.kind == "i" else array
        for name, array in transload.run(module, sample, engine="reference", keep=True).items()}


def test_accumulated_errors_are_beside_the_float_models_tensors(
    model: Module, quantized: Module, report: LayersReport, samples: Samples,
) -> None:
    taken = samples[::6]
    assert report.samples == len(taken) == 4
    wanted, found = ([real(module, sample)["logits"] for sample in taken] for module in (model, quantized))
    near = layer(report, "logits").accumulated
    assert near.sqnr == pytest.approx(metrics.sqnr(np.stack(wanted), np.stack(found)), abs=1e-6)
    assert near.cos == pytest.approx(metrics.cosine(np.stack(wanted), np.stack(found)), abs=1e-9)
    assert near.euclid == pytest.approx(metrics.euclid(np.stack(wanted), np.stack(found)), abs=1e-9)


def test_own_errors_are_beside_the_float_op_on_quantized_operands(
    model: Module, quantized: Module, report: LayersReport, samples: Samples,
) -> None:
    op = next(op for op in model.body_of_main if op.results and op.results[0].name == "logits")
    held = next(op for op in quantized.body_of_main if op.results and op.results[0].name == "logits")
    weights, bias = (constant_of(value).numpy() for value in op.operands[1:])  # type: ignore[union-attr]
    taken = [real(quantized, sample) for sample in samples[::6]]
    wanted = np.stack([each[held.operands[0].name or ""] @ weights.reshape(10, -1).T + bias for each in taken])
    assert layer(report, "logits").own.sqnr == pytest.approx(  # type: ignore[union-attr]
        metrics.sqnr(wanted, np.stack([each["logits"] for each in taken])), abs=1e-3)


def test_an_activation_in_the_range_is_a_part_of_its_layer(report: LayersReport) -> None:
    found = [each for each in report.layers if each.op == "top.Conv"]
    assert found and all(each.own is not None and 20.0 < each.own.sqnr < 70.0 for each in found), "a ReLU alone loses nothing"
    assert not any(each.op == "top.Relu" for each in report.layers)


def test_the_op_that_makes_an_error_is_the_worst_not_those_behind_it(model: Module, quantized: Module, samples: Samples) -> None:
    spoilt = quantized.clone()
    op = next(op for op in spoilt.body_of_main if op.results and op.results[0].name == "pointwise")
    weights = op.operands[1].op
    assert weights is not None
    name, dense = next((name, each) for name, each in weights.attributes.items() if isinstance(each, Dense))
    weights.attributes[name] = Dense(dense.numpy() // 2)
    report = transload.quantization_report(model, spoilt, samples)
    worst, behind = report.worst[0], layer(report, "logits")
    assert worst.name == layer(report, worst.name).name and worst.op == "top.Conv"
    assert worst.own.sqnr < 12.0 < 30.0 < behind.own.sqnr and behind.accumulated.sqnr < 20.0  # type: ignore[union-attr]


def test_channels_of_like_ranges_are_compared_with_the_model_that_has_them() -> None:
    reach = (4.0 ** -np.arange(8)).astype(np.float32).reshape(-1, 1, 1, 1)
    g = Graph((1, 4, 6, 6))
    first = g.Conv(g.inputs[0], g.random(8, 4, 1, 1) * reach, g.random(8) * reach.ravel(), kernel_shape=(1, 1))
    module = g.done(g.Conv(first, g.random(4, 8, 1, 1) / reach.reshape(1, -1, 1, 1), g.random(4), kernel_shape=(1, 1)))
    samples = [{"x0": g.random(1, 4, 6, 6)} for _ in range(8)]
    quantized = transload.quantize(module, "int8", samples)
    sizes = transload.quantization_report(module, quantized, samples).sizes
    assert sizes.weights[0] == 4 * (2 * 8 * 4 + 8 + 4), "the weights that were before do not count"
    assert min(each.accumulated.sqnr for each in transload.quantization_report(module, quantized, samples).layers) > 20.0
    assert quantized.clone().quantization is quantized.quantization
    quantized.quantization = None
    assert min(each.accumulated.sqnr for each in transload.quantization_report(module, quantized, samples).layers) < 10.0


def test_ranges_and_sizes(report: LayersReport, model: Module, quantized: Module) -> None:
    first = report.layers[0]
    assert (first.name, first.op, first.type, first.own) == ("image", "input", "i8", first.accumulated)
    for each in report.layers:
        assert each.low is not None and each.high is not None and each.threshold == max(-each.low, each.high)
        assert (each.high - each.low) / 255 == pytest.approx(each.scale)
        assert sum(each.counts) > 0 and each.seen_low < each.seen_high
        assert each.counts_from <= each.low < each.high <= each.counts_to
    before, after = report.sizes.weights
    assert 3.0 < before / after < 4.0 and 3.0 < report.sizes.activations[0] / report.sizes.activations[1] <= 4.0
    assert [layer(report, "logits").weight_bytes[0] % 4, layer(report, "residual").weight_bytes] == [0, [0, 0]]


def test_what_a_range_does_not_hold_is_saturated(model: Module, samples: Samples, tmp_path: Path) -> None:
    table = transload.calibrate(model, samples, method="minmax")
    low, high = table.ranges["logits"]
    table.ranges["logits"] = (low / 4, high / 4)
    quantized = transload.quantize(model, "int8", calibration=table)
    report = transload.quantization_report(model, quantized, samples)
    numbers = np.stack([real(model, sample)["logits"] for sample in samples[::3]])
    found = layer(report, "logits")
    outside = (numbers > found.high) | (numbers < found.low)  # type: ignore[operator]
    assert found.saturated == pytest.approx(outside.mean(), abs=0.02)
    assert found.saturated > 0.1 and layer(report, "residual").saturated == 0.0


def test_what_stays_float_says_why(model: Module, samples: Samples) -> None:
    quantized = transload.quantize(model, "int8", samples, floats={"logits": "the user wants it"})
    found = layer(transload.quantization_report(model, quantized, samples), "logits")
    assert (found.type, found.own, found.scale, found.why) == ("f32", None, None, "the user wants it")


def test_infinities_of_masks_make_no_numbers_nan() -> None:
    from transload.layers import _Sums

    sums = _Sums()
    sums.add(np.array([1.0, -np.inf]), np.array([1.1, -np.inf]))
    assert sums.nearness().sqnr == pytest.approx(20.0)


def test_nan_of_a_later_sample_is_in_no_bar(model: Module, quantized: Module, samples: Samples) -> None:
    spoilt = {name: np.where(np.arange(array.size).reshape(array.shape) == 3, np.float32(np.nan), array)
              for name, array in samples[1].items()}
    report = transload.quantization_report(model, quantized, [samples[0], spoilt])
    image = report.layers[0]
    assert image.counts is not None and sum(image.counts) == 2 * 64 - 1


def test_quantized_inputs_and_outputs(model: Module, samples: Samples) -> None:
    quantized = transload.quantize(model, "int8", samples, quant_input="all", quant_output="all")
    report = transload.quantization_report(model, quantized, samples)
    assert report.layers[0].name == "image" and report.outputs["probabilities"].sqnr > 20.0


def test_values_are_those_of_both_models(model: Module, quantized: Module, samples: Samples, report: LayersReport) -> None:
    """Of each layer in the order of the report, the same places of both tensors; of many numbers as many as are asked for."""
    whole, some = (layer_values(model, quantized, samples[0], most) for most in (1 << 20, 10))
    assert len(whole) == len(some) == len(report.layers)
    wanted, found = real(model, samples[0]), real(quantized, samples[0])
    for each, (ours, theirs), (few, fewer) in zip(report.layers, whole, some, strict=True):
        if each.name in wanted:
            assert np.array_equal(ours, wanted[each.name].ravel())
            assert np.array_equal(theirs, found[each.name].ravel())
        assert few.size == fewer.size == min(ours.size, 10)


def test_what_saturates_is_told_of_the_narrow_type_where_wider_ones_follow(model: Module, samples: Samples) -> None:
    """`conv1` is computed in 8 bits and goes, as 16-bit numbers, into a layer of 16 bits: it saturates in the 8."""
    table = transload.calibrate(model, samples, method="minmax")
    low, high = table.ranges["conv1"]
    table.ranges["conv1"] = (low / 4, high / 4)
    quantized = transload.quantize(model, "int8", calibration=table, layers={"depthwise": "INT16"})
    report = transload.quantization_report(model, quantized, samples)
    assert layer(report, "conv1").type == "i8" and layer(report, "conv1").saturated > 0.1


def test_numbers_that_are_all_but_zero_are_counted() -> None:
    """The quotient of bars and a range of denormals was infinite."""
    g = Graph((1, 4))
    module = g.done(g.Relu(g.inputs[0]))
    tiny = np.array([[0.0, 1.0, 2.0, 3.0]], np.float32) * np.float32(1e-44)
    given = [{"x0": tiny}] * 8
    made = transload.quantize(module, "int8", [{"x0": np.array([[0.0, 1.0, 2.0, 3.0]], np.float32)}] * 8)
    found = transload.quantization_report(module, transload.quantize(module, "f16", given), given)
    assert all(sum(each.counts) == 4 * len(given) for each in found.layers)
    assert all(sum(each.counts) == 4 * len(given) for each in transload.quantization_report(module, made, given).layers)


# --- what a report is asked for


def test_the_float_module_that_is_given_is_compared_with(model: Module, samples: Samples) -> None:
    """The quantizer's own form of the one that was quantized took its place, whatever was given."""
    quantized = transload.quantize(model, "int8", samples)
    assert quantized.quantization is not None
    same = layer(transload.quantization_report(model, quantized, samples, 2), "logits")
    other = model.clone()
    weights = next(op for op in other.ops() if op.results and op.results[0].uses and any(
        user.origin == "logits" and user.operands[1] is op.results[0] for user in op.results[0].uses))
    weights.attributes["value"] = Dense(weights.attributes["value"].numpy() * np.float32(2))
    taken = [samples[0], samples[12]]
    given = layer(transload.quantization_report(other, quantized, samples, 2), "logits")
    wanted, found = ([real(module, sample)["logits"] for sample in taken] for module in (other, quantized))
    assert given.accumulated.sqnr == pytest.approx(metrics.sqnr(np.stack(wanted), np.stack(found)), abs=1e-4)
    assert given.accumulated.sqnr < 10 < same.accumulated.sqnr


@pytest.mark.parametrize("at", ["onnx", "hub", "hub again"])
def test_the_quantizers_own_form_is_compared_with(at: str, examples: Path, samples: Samples) -> None:
    module = transload.load(examples / "digits" / "digits_float.onnx")
    given = {"onnx": module, "hub": at_hub(module), "hub again": at_hub(at_hub(module))}[at]
    quantized = transload.quantize(module, "int8", samples)
    assert quantized.quantization is not None
    wanted = layers_report(quantized.quantization.source, quantized, samples, 2)
    assert transload.quantization_report(given, quantized, samples, 2) == wanted


def test_quantized_modules_of_a_framework_are_legalized(examples: Path) -> None:
    floats, quantized = (transload.load(examples / "digits" / f"digits_{name}.tflite") for name in ("float", "int8"))
    given = [{"image": np.random.default_rng(number).random((1, 8, 8, 1), np.float32)} for number in range(2)]
    report = transload.quantization_report(floats, quantized, given)
    taken, given_back = (next(iter(types.values())).element for types in (quantized.inputs, quantized.outputs))
    wanted = [transload.run(floats, each)["probabilities"] for each in given]
    found = [dequantize(transload.run(quantized, {"image": quantize(each["image"], taken)})["probabilities"], given_back)
             for each in given]
    assert report.samples == 2 and layer(report, "conv1").accumulated.sqnr > 20
    near = layer(report, "probabilities").accumulated
    assert near.sqnr == pytest.approx(metrics.sqnr(np.stack(wanted), np.stack(found)), abs=1e-4)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_so_many_samples_are_taken(count: int, model: Module, quantized: Module, samples: Samples) -> None:
    """4 of 5 were 3."""
    assert transload.quantization_report(model, quantized, samples[:5], count).samples == min(count, 5)


@pytest.mark.parametrize(("none", "count", "why"), [
    ([], None, "there are no samples"), (iter([]), 3, "there are no samples"), ([{}], 0, "0 samples are asked for"),
    ([{}], -1, "-1 samples are asked for"), ([{"img": 1}], None, "sample 1 has no 'image'"),
    ([3], None, "sample 1 is no dictionary"),
])
def test_no_samples_to_report_on(none: Any, count: int | None, why: str, model: Module, quantized: Module) -> None:
    with pytest.raises(UsageError, match=why):
        transload.quantization_report(model, quantized, none, count)
