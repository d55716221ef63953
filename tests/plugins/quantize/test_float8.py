"""Floats of 8 bits: how numbers are rounded, that targets hold weights as bytes and compute the same, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import TransloadError, UsageError
from transload.ir import FloatType, Module
from transload.ir.build import Builder
from transload.metrics import sqnr
from transload.passes.manager import Pipeline
from transload.quantization import quantize_at_hub
from transload.text import parse_module, print_module
from transload.verification.quantized import QuantizedModel, verify_quantized
from transload.verification.running import Running
from transload_plugins.quantize.float8 import FORMATS, Format

from tests.plugins.quantize.test_weight_only import judged, largest, network, sample
from tests.support.graphs import Graph

BOTH = tuple(FORMATS.values())
LARGEST = 64 * 48
PLAIN = {"islands": "none", "bias_correction": False, "rounding": False}


def numbers_of(format: Format) -> np.ndarray:
    """All finite numbers of a format from its bits, in order of the bits without the sign: OFP8, tables 1 and 2."""
    exponent, fraction = (4, 3) if format.name == "f8e4m3" else (5, 2)
    bias = (1 << (exponent - 1)) - 1
    found = []
    for bits in range(128):
        power, rest = bits >> fraction, bits & ((1 << fraction) - 1)
        share = rest / (1 << fraction)
        found.append(np.ldexp(share, 1 - bias) if power == 0 else np.ldexp(1 + share, power - bias))
    return np.array(found)[:127 if exponent == 4 else 124]  # NaN; infinity and NaN


@pytest.fixture(scope="module")
def made() -> dict[str, Module]:
    return {each.name: quantize_at_hub(network(), each.name, [sample(seed) for seed in (1, 2)], PLAIN).module for each in BOTH}


@pytest.mark.parametrize("format", BOTH, ids=lambda each: each.name)
@pytest.mark.parametrize("target", ["top", "onnx", "tosa", "stablehlo"])
def test_rounding_is_the_formats_own(format: Format, target: str, tmp_path: Path) -> None:
    """To the nearest, halves to the even number, what is beyond the greatest to that; NaN stays what it is."""
    there = numbers_of(format)
    halves = (there[:-1] + there[1:]) / 2
    near = [np.nextafter(halves.astype(np.float32), np.float32(end)) for end in (-np.inf, np.inf)]
    beyond = np.array([there[-1] * 1.03, there[-1] * 100, np.inf])
    given = np.concatenate([there, halves, *near, beyond]).astype(np.float32)
    wanted = np.concatenate([there, np.where(np.arange(len(halves)) % 2 == 0, there[:-1], there[1:]), there[:-1], there[1:],
                             np.full(3, there[-1])])
    given, wanted = np.concatenate([given, -given, [np.nan]]).astype(np.float32), np.concatenate([wanted, -wanted, [np.nan]])
    g = Graph((len(given), 1))
    module = g.done(g.MatMul(g.inputs[0], np.ones((1, 1), np.float32)))
    reach = [{"x0": np.full((len(given), 1), there[-1] / 2, np.float32)}]
    held = quantize_at_hub(module, format.name, reach, PLAIN)
    small = held.module
    assert held.report["scales"] == {"x0": 1.0}
    arrays = {"x0": given[:, None]}
    if target == "top":
        found = next(iter(transload.run(small, arrays, engine="reference").values()))
    else:
        found = judged(transload.lower(small, target), target, arrays, tmp_path)
    np.testing.assert_array_equal(found.reshape(-1), wanted.astype(np.float32))


@pytest.mark.parametrize("format", BOTH, ids=lambda each: each.name)
def test_bytes_are_all_that_is_held(made: dict[str, Module], format: Format) -> None:
    """No float copy of weights, neither after passes that fold constants nor after a text was written and read."""
    module = parse_module(print_module(made[format.name]))
    Pipeline.parse("canonicalize,fold-constants,cse,dce").run(module)
    assert largest(module, lambda element: element == format.element) == LARGEST
    assert largest(module, lambda element: isinstance(element, FloatType) and element != format.element) <= 48  # scales
    given = sample()
    before, after = (next(iter(transload.run(each, given, engine="reference").values()))
                     for each in (made[format.name], module))
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-6 * float(np.abs(before).max()))
    exact = next(iter(transload.run(network(), given, engine="reference").values()))
    assert {"f8e4m3": 18.0, "f8e5m2": 12.0}[format.name] < sqnr(exact, before) < 40.0


@pytest.mark.parametrize("format", BOTH, ids=lambda each: each.name)
@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx"])
def test_targets_hold_bytes_and_compute_the_same(made: dict[str, Module], format: Format, target: str, tmp_path: Path) -> None:
    given = sample()
    wanted = next(iter(transload.run(made[format.name], given, engine="reference").values()))
    lowered = transload.lower(made[format.name], target)
    assert largest(lowered, lambda element: element == format.element) == LARGEST
    assert largest(lowered, lambda element: isinstance(element, FloatType) and element != format.element) < LARGEST // 4
    found = judged(lowered, target, given, tmp_path).reshape(wanted.shape)
    assert sqnr(wanted, found) > 40.0  # a last bit of a sum may round to another number behind it


def test_what_costs_most_stays_as_it_is() -> None:
    """A difference of great numbers that are near to each other; other layers lose the eighth of a per cent that they lose."""
    g = Graph((1, 64))
    far = g.MatMul(g.AddConst(g.inputs[0], const_val=40.0), g.random(64, 64) * np.float32(0.1))
    y = g.Sub(far, g.random(64) * 0 + far.op.operands[1].op.attributes["value"].numpy().sum(axis=0) * np.float32(40.0))
    for _ in range(5):
        y = g.Relu(g.MatMul(y, g.random(64, 64) * np.float32(0.125)))
    module = g.done(y)
    samples = [{"x0": g.random(1, 64)} for _ in range(8)]
    held = quantize_at_hub(module, "f8e4m3", samples, {})
    (kept,) = held.floats
    assert kept == "MatMul2" and "rounded alone" in held.floats[kept]
    words = held.report["layers"]
    assert words.pop(kept) == "F32" and set(words.values()) == {"F8E4M3"} and len(words) == 5
    all_of_it = quantize_at_hub(module, "f8e4m3", samples, {"islands": "none"})
    new = {"x0": g.random(1, 64)}
    exact, with_it, without = (next(iter(transload.run(each, new, engine="reference").values()))
                               for each in (module, all_of_it.module, held.module))
    assert sqnr(exact, without) > sqnr(exact, with_it) + 6.0 and sqnr(exact, without) > 15.0


def test_means_are_corrected_where_that_is_nearer() -> None:
    """What is not zero on average is rounded to one side: a layer of few inputs that are all but the same."""
    g = Graph((1, 8))
    y = g.MatMul(g.AddConst(g.inputs[0], const_val=1.05), g.random(8, 16))
    module = g.done(g.MatMul(g.Relu(y), g.random(16, 4)))
    samples = [{"x0": g.random(1, 8) * np.float32(0.01)} for _ in range(8)]
    exact = np.stack([next(iter(transload.run(module, sample, engine="reference").values())) for sample in samples[1::2]])
    found = []
    for corrected in (False, True):
        held = quantize_at_hub(module, "f8e4m3", samples, {"bias_correction": corrected, "rounding": False, "islands": "none"})
        assert held.report["bias correction"] == corrected
        found.append(sqnr(exact, np.stack([next(iter(transload.run(held.module, sample, engine="reference").values()))
                                           for sample in samples[1::2]])))
    assert found[1] > found[0] + 3.0


def test_steps_of_recurrent_layers_multiply_them_too() -> None:
    """Each step takes the same bytes, which are held once; a table of ranges does instead of samples."""
    g = Graph((6, 1, 4))
    weights = (g.random(1, *shape) / np.float32(3) for shape in ((32, 4), (32, 8), (64,)))
    module = g.done(g.LSTM(g.inputs[0], *weights, hidden_size=8)[1])
    samples = [{"x0": g.random(6, 1, 4)} for _ in range(6)]
    table = transload.calibrate(module, samples)
    for given, options in ((samples, {}), (None, {"calibration": table})):
        held = quantize_at_hub(module, "f8e4m3", given, options)
        elements = [op.result.element for op in held.module.ops() if op.name == "top.Weight"]
        assert elements.count(FORMATS["f8e4m3"].element) == 2
        exact, found = (np.stack([next(iter(transload.run(each, sample, engine="reference").values())) for sample in samples])
                        for each in (module, held.module))
        assert sqnr(exact, found) > 20.0


def test_infinite_masks_of_attention_are_no_range() -> None:
    g = Graph((4, 8))
    x = g.inputs[0]
    scores = g.Add(g.MatMul(x, x, right_transpose=True), np.triu(np.full((4, 4), -np.inf, np.float32), 1))
    module = g.done(g.MatMul(g.Softmax(scores, axis=1), g.MatMul(x, g.random(8, 8))))
    samples = [{"x0": g.random(4, 8)} for _ in range(6)]
    held = quantize_at_hub(module, "f8e4m3", samples, {})
    exact, found = (np.stack([next(iter(transload.run(each, sample, engine="reference").values())) for sample in samples])
                    for each in (module, held.module))
    assert sqnr(exact, found) > 18.0


def test_layers_by_name(tmp_path: Path) -> None:
    """Words for each layer, among floats of 8 bits and among integers."""
    module, samples = network(), [sample(seed) for seed in range(3)]
    table = tmp_path / "layers.txt"
    table.write_text("Conv1 F8E5M2\nConv3 F32\n")
    mixed = quantize_at_hub(module, "f8e4m3", samples, {"layers": table})
    words = mixed.report["layers"]
    assert words["Conv1"] == "F8E5M2" and words["Conv3"] == "F32" and words["MatMul9"] == "F8E4M3"
    assert set(mixed.floats) == {"Conv3"}
    integers = quantize_at_hub(module, "int8", samples, {"layers": {"MatMul9": "F8E4M3"}})
    assert integers.report["layers"]["MatMul9"] == "F8E4M3"
    held = [op.result.element for op in integers.module.ops() if op.name == "top.Weight"]
    assert held.count(FORMATS["f8e4m3"].element) == 1 and any(str(element).startswith("!quant") for element in held)
    exact = next(iter(transload.run(module, samples[0], engine="reference").values()))
    for each in (mixed, integers):
        assert sqnr(exact, next(iter(transload.run(each.module, samples[0], engine="reference").values()))) > 15.0


def test_what_cannot_be_is_refused() -> None:
    module, samples = network(), [sample()]
    with pytest.raises(UsageError, match="floats of 8 bits need samples"):
        quantize_at_hub(module, "f8e4m3", None, {})
    with pytest.raises(UsageError, match="cannot be held in INT8 beside f8e4m3") as told:
        quantize_at_hub(module, "f8e4m3", samples, {"layers": {"Conv1": "INT8"}})
    assert "F8E5M2" in str(told.value.hint)
    with pytest.raises(UsageError, match="cannot be held in 'F8'") as told:
        quantize_at_hub(module, "int8", samples, {"layers": {"Conv1": "F8"}})
    assert "F8E4M3" in str(told.value.hint)
    with pytest.raises(UsageError, match="'Relu2' cannot be held in F8E4M3"):
        quantize_at_hub(module, "int8", samples, {"layers": {"Relu2": "F8E4M3"}})
    with pytest.raises(UsageError, match="islands cannot be 'int16'"):
        quantize_at_hub(module, "f8e4m3", samples, {"islands": "int16"})
    with pytest.raises(UsageError, match="no option scaling"):
        quantize_at_hub(module, "f8e5m2", samples, {"scaling": True})
    g = Graph((1, 4))
    with pytest.raises(UsageError, match="nothing to quantize"):
        quantize_at_hub(g.done(g.Relu(g.inputs[0])), "f8e4m3", samples, {})
    small = quantize_at_hub(module, "f8e4m3", samples, PLAIN).module
    with pytest.raises(TransloadError, match=r"LiteRT has no kernel that casts to it(.|\n)*--quantize int8"):
        transload.lower(small, "tfl")


def test_a_last_bit_that_rounds_to_another_number_is_no_fault() -> None:
    """Inputs halfway between two numbers: a result that multiplies them by 1 + 2^-23 first is as right, one by 1.4 is not."""
    g = Graph((1, 16))
    module, reach = g.done(g.MatMul(g.inputs[0], g.random(16, 4))), [{"x0": np.full((1, 16), 8.0, np.float32)}]
    small = quantize_at_hub(module, "f8e5m2", reach, PLAIN).module
    given = {"x0": np.array([[1.125, -1.375, 2.25, -2.75] * 4], np.float32)}
    verdicts = []
    for factor in (1.0, 1.0 + 2.0 ** -23, 1.4):
        result = small.clone()
        block = result.body_of_main
        first = next(iter(block.arguments[0].uses))
        scaled = Builder(block, before=first).emit("top.MulConst", block.arguments[0], const_val=factor)
        first.operands = tuple(scaled if value is block.arguments[0] else value for value in first.operands)
        model = QuantizedModel(small, small, small, False)
        verdicts.append(verify_quantized(model, Running(result, "reference"), samples=[given]))
    same, other, wrong = verdicts
    assert same.status == other.status == "passed" and wrong.status == "failed"
    assert not any("last bits" in note for note in same.notes) and any("last bits" in note for note in other.notes)


@pytest.mark.parametrize("biased", [False, True])
def test_a_batch_of_one_matrix_is_a_layer(biased: bool) -> None:
    g = Graph((1, 4, 16))
    weights = g.random(1, 16, 8) * np.geomspace(1.0, 1e-4, 8, dtype=np.float32)
    module = g.done(g.MatMul(g.inputs[0], weights, *((g.random(8),) if biased else ()), location="layer"))
    given = [{"x0": np.random.default_rng(seed).standard_normal((1, 4, 16)).astype(np.float32)} for seed in range(4)]
    held = quantize_at_hub(module, "f8e4m3", given, PLAIN).module
    (exact,), (found,) = (list(transload.run(each, given[0]).values()) for each in (module, held))
    short, size = (np.square(each).mean(axis=(0, 1)) for each in (exact - found, exact - exact.mean(axis=(0, 1))))
    assert (short / size).max() < 0.02, "those of small weights are as near as the others"
    rounded = quantize_at_hub(module, "f8e4m3", given, {**PLAIN, "rounding": True})
    assert rounded.report["weights"]["rounded on samples"]
    kept = quantize_at_hub(module, "f8e4m3", given, {**PLAIN, "layers": {"layer": "F8E5M2"}})
    assert set(kept.report["layers"].values()) == {"F8E5M2"}


def test_the_report_says_in_what_layers_are() -> None:
    from transload.quantization import Quantization

    g = Graph((1, 16))
    first = g.Relu(g.MatMul(g.inputs[0], g.random(16, 8), location="first"), location="cut")
    module = g.done(g.MatMul(first, g.random(8, 4), location="second"))
    samples = transload.open_samples([np.random.default_rng(0).standard_normal((1, 16)).astype(np.float32)] * 4, module)
    quantization = Quantization("f8e5m2", {**PLAIN, "floats": "second"}, samples)
    quantization(module)
    assert quantization.measured is not None
    types = {layer.name: layer.type for layer in quantization.measured.layers}
    assert (types["first"], types["second"]) == ("f8e5m2", "f32")
