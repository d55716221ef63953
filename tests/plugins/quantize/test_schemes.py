"""The schemes: floats of 16 bits, weights with one scale, powers of two, and one that a plugin adds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import UsageError
from transload.hookspecs import hookimpl
from transload.ir import BF16, F16, F32, I8, UI8, IntegerType, Module, QuantType
from transload.metrics import sqnr
from transload.plugin import Quantizer
from transload.plugin_host import Host, host, use_host
from transload.quantization import Quantization, quantize_at_hub
from transload_converters.tflite.writer_module import serialize
from transload_plugins.quantize.run import by_scheme
from transload_plugins.quantize.scheme import SCHEMES, Scheme
from transload_plugins.quantize.thresholds import Fixed

from tests.support.graphs import Graph
from tests.support.litert import run_litert

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
FRESH = slice(40, 72)


@pytest.fixture(scope="module")
def hub() -> Module:
    return at_hub(transload.load(DIGITS / "digits_float.onnx"))


@pytest.fixture(scope="module")
def samples() -> list[dict[str, np.ndarray]]:
    return [{"image": image.reshape(1, 1, 8, 8) / np.float32(16)} for image in np.load(DIGITS / "test_images.npz")["images"][:72]]


def decibels(reference: Module, module: Module, samples: list[dict[str, np.ndarray]]) -> float:
    there, here = (np.stack([transload.run(each, sample, engine="reference")["probabilities"] for sample in samples])
                   for each in (reference, module))
    return sqnr(there, here)


def test_what_may_lose_less_is_another() -> None:
    """Where a result is poor, a user is sent to other options or schemes that there are."""
    known = host().quantizers
    named = {name: set(each.finer.replace(",", "").split()) for name, each in known.items()}
    assert named["int8"] and named["w4a8"] and named["int16x8"]
    for name, words in named.items():
        assert name not in words
        assert {word for word in words if word[0] in "fuwi" and word[-1].isdigit()} <= set(known)


def test_bytes_without_a_sign_are_the_same_numbers(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    """`uint8` has what `int8` has, 128 more; LiteRT runs it, whose kernels want signed bytes in between."""
    borders = {"quant_input": "all", "quant_output": "all"}
    table = transload.calibrate(hub, samples[:8])
    signed, unsigned = (
        quantize_at_hub(hub, scheme, None, {**borders, "calibration": table}).module for scheme in ("int8", "uint8"))
    (kind,) = (type_.element for type_ in unsigned.inputs.values())
    assert kind.storage == UI8 and kind.zero_point == 0
    (stored,) = (np.round(sample["image"] / kind.scale).astype(np.int64) for sample in samples[50:51])
    here = transload.run(signed, {"image": (stored - 128).astype(np.int8)}, engine="reference")["probabilities"]
    there = transload.run(unsigned, {"image": stored.astype(np.uint8)}, engine="reference")["probabilities"]
    np.testing.assert_array_equal(here.astype(np.int64) + 128, there)
    (theirs,) = run_litert(serialize(transload.lower(unsigned, "tfl")), [stored.astype(np.uint8)])
    np.testing.assert_array_equal(theirs, there)


@pytest.mark.parametrize(("scheme", "element", "least"), [("f16", F16, 60.0), ("bf16", BF16, 45.0)])
def test_floats_of_16_bits(hub: Module, samples: list[dict[str, np.ndarray]], scheme: str, element: object, least: float) -> None:
    made = quantize_at_hub(hub, scheme, None, {})
    assert not made.floats
    kinds = {op.result.element for op in made.module.ops() if op.results}
    assert kinds == {element, F32}
    assert [op.name for op in made.module.ops() if op.results and op.result.element == F32] == ["top.Cast"]
    assert decibels(hub, made.module, samples[FRESH]) > least
    for dialect in ("tosa", "stablehlo"):
        lowered = transload.lower(made.module, dialect)
        here, there = (transload.run(module, samples[50])["probabilities"] for module in (made.module, lowered))
        assert np.array_equal(here, there)
    inside = quantize_at_hub(hub, scheme, None, {"quant_input": "all", "quant_output": "all"}).module
    assert [type_.element for type_ in (*inside.inputs.values(), *inside.outputs.values())] == [element, element]


def test_what_f16_cannot_hold_stays_f32() -> None:
    graph = Graph((2, 3))
    large = graph.MulConst(graph.inputs[0], const_val=1e6, location="large")
    module = graph.done(graph.Sqrt(graph.AddConst(graph.Mul(large, large), const_val=1.0)))
    samples = [{"x0": np.full((2, 3), 0.5, np.float32)}]
    made = quantize_at_hub(module, "f16", samples, {})
    assert made.floats is not None and "beyond f16" in made.floats["large"]
    assert np.isfinite(transload.run(made.module, samples[0])["y0"]).all()
    assert quantize_at_hub(module, "bf16", samples, {}).floats == {}


def test_constants_beyond_f16_are_the_greatest_number() -> None:
    graph = Graph((1, 4))
    mask = np.array([[0.0, 0.0, -1e9, 0.0]])
    module = graph.done(graph.Softmax(graph.Add(graph.inputs[0], mask), axis=-1))
    probabilities = transload.run(transload.quantize(module, "f16"), {"x0": np.zeros((1, 4), np.float32)})["y0"]
    np.testing.assert_allclose(probabilities, [[1 / 3, 1 / 3, 0, 1 / 3]], atol=1e-3)


def test_a_tensor_that_there_is_not_cannot_stay_float(hub: Module) -> None:
    with pytest.raises(UsageError, match="no float tensor 'nowhere'"):
        quantize_at_hub(hub, "f16", None, {"floats": {"nowhere": "because"}})


@pytest.mark.parametrize(("scheme", "options"), [("int8-per-tensor", {}), ("int8", {"per_channel": "false"})])
def test_weights_with_one_scale(hub: Module, samples: list[dict[str, np.ndarray]], scheme: str, options: dict[str, str]) -> None:
    module = quantize_at_hub(hub, scheme, samples[:32], options).module
    assert all(op.result.quant.per_tensor for op in module.ops() if op.name == "top.Weight" and op.result.quant is not None)
    assert decibels(hub, module, samples[FRESH]) > 25.0


def test_scales_that_are_powers_of_two(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    module = quantize_at_hub(hub, "int8", samples[:32], {"power_of_two": "true"}).module
    scales = [scale for op in module.ops() if op.results and op.result.quant is not None for scale in op.result.quant.scales]
    assert scales and all(math.frexp(scale)[0] == 0.5 for scale in scales)
    assert decibels(hub, module, samples[FRESH]) > 25.0


@pytest.mark.parametrize("name", ["per_channel", "power_of_two", "rounding", "polish"])
def test_what_is_no_truth_is_refused(hub: Module, samples: list[dict[str, np.ndarray]], name: str) -> None:
    for wrong in (3, 0, 1.0, ["x"]):
        with pytest.raises(UsageError, match=f"{name}.* must be true or false"):
            transload.quantize(hub, "int8", samples[:4], **{name: wrong})


@pytest.mark.parametrize(("scheme", "takes"), [("int8", True), ("w8a16", True), ("f8e4m3", True), ("f16", False)])
def test_an_unknown_option_is_told_with_all_that_are_there(hub: Module, scheme: str, takes: bool) -> None:
    with pytest.raises(UsageError, match="has no option bogus") as refused:
        transload.quantize(hub, scheme, bogus=1)
    assert ("effort" in str(refused.value.hint).split(": ")[1].split(", ")) == takes


def test_words_that_are_neither_true_nor_false_are_refused(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    with pytest.raises(UsageError, match="power_of_two must be true or false"):
        quantize_at_hub(hub, "int8", samples[:4], {"power_of_two": "perhaps"})


narrow = by_scheme(Scheme("int8x4", weights=IntegerType(4)))


class OfAPlugin:
    """A plugin with a scheme of its own."""

    @hookimpl
    def register_quantizers(self, register: object) -> None:
        register(Quantizer("int8x4", f"{__name__}:narrow", options=("islands",)))  # type: ignore[operator]


@pytest.fixture
def plugin() -> Iterator[None]:
    before = host()
    use_host(Host())
    host().register(OfAPlugin(), "of-a-plugin")
    yield
    use_host(before)


def test_a_plugin_adds_a_scheme(plugin: None, hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    module = transload.quantize(hub, "int8x4", samples[:32], islands="none")
    assert {str(op.result.quant.storage) for op in module.ops() if op.name == "top.Weight"} == {"i4", "i32"}
    assert decibels(hub, module, samples[FRESH]) > 10.0


def test_a_target_says_what_its_chip_wants(tmp_path: Path, samples: list[dict[str, np.ndarray]]) -> None:
    model, data = DIGITS / "digits_float.onnx", samples[:8]
    artifact = transload.convert(model, "ethos-u85-256", tmp_path / "chip", quantize="int8", data=data, verify="no")
    assert artifact.report.quantization is not None and artifact.report.quantization.options == {"islands": "int16"}
    artifact = transload.convert(
        model, "ethos-u85-256", tmp_path / "said", quantize="int8", data=data, verify="no", quantizer_options={"islands": "none"})
    assert artifact.report.quantization is not None and artifact.report.quantization.options == {"islands": "none"}
    assert Quantization("f16").options == {}


def test_tensors_of_16_bits_have_room_for_more_than_was_seen() -> None:
    """What reaches 1.4 times as far as on the samples does not saturate, and 8 bits have no numbers left for that."""
    g = Graph((1, 8))
    module = at_hub(g.done(g.MatMul(g.inputs[0], g.random(8, 4), g.random(4))))
    samples = [{"x0": np.random.default_rng(seed).uniform(-1, 1, (1, 8)).astype(np.float32)} for seed in range(8)]
    beyond = {"x0": samples[0]["x0"] * np.float32(1.4)}
    wanted = transload.run(module, beyond)["y0"]
    found = transload.run(transload.quantize(module, "int16x8", samples, method="minmax"), beyond)["y0"]
    assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def test_biases_are_the_same_numbers_in_float32() -> None:
    """Where a model goes out as ONNX: scales of weights are found whose product with the activations' is a float32, all but."""
    random = np.random.default_rng(0)
    activations = float(np.float32(0.0713))
    weights = QuantType(I8, F32, tuple(random.uniform(1e-4, 1.0, 64).astype(np.float32).tolist()), (0,) * 64, 0, storage_min=-127)
    assert SCHEMES["int8"].fitted(weights, activations) == weights
    fitted = SCHEMES["int8"].changed(exact_biases=True).fitted(weights, activations)

    def off(type_: QuantType) -> float:
        products = type_.scale_array * activations
        return float(np.abs(products.astype(np.float32) / products - 1).max())

    assert off(fitted) < 2.0**-31 < 2.0**-26 < off(weights)
    grown = fitted.scale_array / weights.scale_array - 1
    assert grown.min() >= 0.0 and grown.max() < 2.0**-13


def test_what_is_rounded_once_has_exact_biases(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    quantized = transload.quantize(hub, "int8", samples[:4], rounds="once", islands="none")
    products = [op for op in quantized.ops() if op.name in ("top.Conv", "top.MatMul")]
    assert products
    for op in products:
        real = op.operands[0].quant.scale * op.operands[1].quant.scale_array
        np.testing.assert_allclose(op.operands[2].quant.scale_array, real, rtol=2.0**-31)


@pytest.mark.parametrize("name", ["int8", "int8-asym", "int16x8", "uint8"])
@pytest.mark.parametrize("kept", [Fixed(0.0, 0.0), Fixed(0.0, 1e-300), Fixed(-1e-45, 0.0)])
def test_a_fixed_range_of_nothing_has_a_scale(name: str, kept: Fixed) -> None:
    type_ = SCHEMES[name].activation_type(kept)
    assert np.float32(type_.scale) > 0.0 and type_.storage_min <= type_.zero_point <= type_.storage_max
