"""Weights alone as integers in groups: what groups mean, that every target holds them as small, and computes the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.engine.quantized import dequantize
from transload.errors import UsageError
from transload.ir import F32, I4, I8, Dense, FloatType, IntegerType, Module, QuantType, dtype_of
from transload.ir.build import constant_of
from transload.ir.quantization import quantized_over
from transload.metrics import sqnr
from transload.passes.manager import Pipeline
from transload.quantization import quantize_at_hub
from transload.text import parse_module, print_module
from transload_plugins.quantize.weight_only import WEIGHT_SCHEMES, block_sizes, weights_held

from tests.support.graphs import Graph
from tests.support.tosa_reference import run_module

G = np.random.default_rng(5)
SHAPE = (1, 16, 6, 6)


def network() -> Module:
    """Every kind of layer: convolutions dense, in groups, depthwise and transposed, and products in three forms."""
    g = Graph(SHAPE)
    y = g.Relu(g.Conv(g.inputs[0], g.random(8, 16, 3, 3), g.random(8), kernel_shape=(3, 3), pads=(1, 1, 1, 1)))
    y = g.Relu(g.Conv(y, g.random(8, 4, 1, 1), kernel_shape=(1, 1), group=2))
    y = g.Relu(g.Conv(y, g.random(8, 1, 3, 3), kernel_shape=(3, 3), group=8))
    y = g.Deconv(y, g.random(8, 6, 2, 2), kernel_shape=(2, 2), strides=(2, 2))
    rows = g.Reshape(y, shape=(6, 64))
    product = g.MatMul(g.MatMul(rows, g.random(64, 48)), g.random(12, 48), g.random(12), right_transpose=True)
    batched = g.MatMul(g.Reshape(product, shape=(2, 3, 12)), g.random(2, 12, 5))
    return g.done(batched)


def sample(seed: int = 0) -> dict[str, np.ndarray]:
    """The same whichever tests ran before."""
    return {"x0": np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)}


def largest(module: Module, wanted: Callable[[object], bool]) -> int:
    """The size of the largest constant whose element type is wanted."""
    found = [math.prod(each.shape) for op in module.walk() for each in op.attributes.values()
             if isinstance(each, Dense) and wanted(each.type.element)]
    return max(found, default=0)


def is_float(element: object) -> bool:
    return isinstance(element, FloatType)


@pytest.fixture(scope="module")
def made() -> dict[str, Module]:
    return {
        "w4": quantize_at_hub(network(), "w4a16", None, {"q_group_size": 16, "few": 0}).module,
        "w4 asymmetric": quantize_at_hub(
            network(), "w4a16", None, {"q_group_size": "16", "asymmetric": "true", "few": "0"}).module,
        "w8": quantize_at_hub(network(), "w8a16", None, {"q_group_size": 32}).module,
        "w8 a channel": quantize_at_hub(network(), "w8a16", None, {"q_group_size": 0, "asymmetric": True}).module,
    }


KINDS = ("w4", "w4 asymmetric", "w8", "w8 a channel")


@pytest.mark.parametrize("kind", KINDS)
def test_integers_are_all_that_is_held(made: dict[str, Module], kind: str) -> None:
    """No float copy, neither after passes that fold constants nor after a text was written and read."""
    module = parse_module(print_module(made[kind]))
    Pipeline.parse("canonicalize,fold-constants,cse,dce").run(module)
    assert largest(module, lambda element: element == (I4 if kind.startswith("w4") else I8)) == 64 * 48
    assert largest(module, is_float) <= 12  # biases
    floats = made[kind].clone()
    Pipeline.parse("dequantize-weights,dce").run(floats)
    assert largest(floats, is_float) == 64 * 48
    given = sample()
    here, there = (next(iter(transload.run(each, given, engine="reference").values())) for each in (module, floats))
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx", "tfl"])
def test_targets_hold_integers_and_compute_the_same(made: dict[str, Module], kind: str, target: str, tmp_path: Path) -> None:
    given = sample()
    wanted = next(iter(transload.run(made[kind], given, engine="reference").values()))
    lowered = transload.lower(made[kind], target)
    assert largest(lowered, is_float) < 64 * 48 // 4  # scales, not weights
    found = judged(lowered, target, given, tmp_path)
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=0, atol=2e-6 * float(np.abs(wanted).max()))


def judged(module: Module, target: str, given: dict[str, np.ndarray], folder: Path) -> np.ndarray:
    """The one output by a runtime that is not ours."""
    if target == "tosa":
        return run_module(module, [given["x0"]])[0]
    if target == "stablehlo":
        pytest.importorskip("jaxlib", reason="jaxlib is not installed")
        return next(iter(transload.run(module, given, engine="xla").values()))
    path = folder / ("model.onnx" if target == "onnx" else "model.tflite")
    transload.save(module, path)
    if target == "onnx":
        runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        options = runtime.SessionOptions()
        # what becomes MatMulNBits has its activations rounded to 8 bits else
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, given)[0])
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
    interpreter = litert.Interpreter(
        str(path), experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    (into,) = interpreter.get_input_details()
    array = given["x0"] if tuple(into["shape"]) == given["x0"].shape else given["x0"].transpose(0, 2, 3, 1)
    interpreter.set_tensor(into["index"], array)
    interpreter.invoke()
    return np.asarray(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


@pytest.mark.parametrize("ending", ["tosa", "onnx", "tflite"])
def test_files_are_small(ending: str, tmp_path: Path) -> None:
    """Two numbers of 4 bits are a byte in every file."""
    g = Graph((1, 256))
    module = g.done(g.MatMul(g.inputs[0], g.random(256, 128)))
    sizes = []
    for each in (module, quantize_at_hub(module, "w4a16", None, {}).module):
        path = tmp_path / f"model.{ending}"
        transload.save(transload.lower(each, {"tflite": "tfl"}.get(ending, ending)), path)
        sizes.append(path.stat().st_size)
    assert sizes[0] > 4 * 256 * 128 > 4 * 256 * 128 // 6 > sizes[1]  # an eighth, and scales


@pytest.mark.parametrize(("shape", "along", "kernel", "summed", "group", "sizes"), [
    ((12, 48), 1, (), 48, 16, (1, 16)),
    ((12, 48), 1, (), 48, 36, (1, 24)),  # the greatest that divides
    ((12, 48), 1, (), 48, 128, (1, None)),
    ((12, 48), 1, (), 48, 0, (1, None)),
    ((12, 127), 1, (), 127, 32, (1, None)),  # a prime number has no groups
    ((2, 12, 5), 1, (), 12, 4, (1, 4, 1)),
    ((8, 16, 3, 3), 1, (2, 3), 16, 36, (1, 4, None, None)),  # whole kernels
    ((8, 16, 3, 3), 1, (2, 3), 16, 4, (1, 1, None, None)),
    ((8, 1, 3, 3), 1, (2, 3), 1, 4, (1, 1, None, None)),
    ((8, 6, 2, 2), 0, (2, 3), 4, 128, (4, 1, None, None)),  # of a sum in two groups
])
def test_groups(
    shape: tuple[int, ...], along: int, kernel: tuple[int, ...], summed: int, group: int, sizes: tuple[int | None, ...],
) -> None:
    found = block_sizes(shape, along, kernel, summed, group)
    whole = [tuple(n if size is None else size for n, size in zip(shape, each, strict=True)) for each in (found, sizes)]
    assert whole[0] == whole[1]


@pytest.mark.parametrize("name", ["w4a16", "w8a16"])
@pytest.mark.parametrize("asymmetric", [False, True])
def test_a_large_weight_costs_its_group_alone(name: str, asymmetric: bool) -> None:
    """Each number is within half a step of its own group, whose step is no greater than its range demands."""
    numbers = G.standard_normal((4, 32))
    numbers[1, 9] = 1000.0
    scheme = WEIGHT_SCHEMES[name]
    type_ = weights_held(numbers, (1, 8), type(scheme)(name, scheme.bits, 8, asymmetric), F32)[0]
    g = Graph((1, 32))
    module = quantize_at_hub(
        g.done(g.MatMul(g.inputs[0], numbers.astype(np.float32), right_transpose=True)), name, None,
        {"q_group_size": 8, "asymmetric": asymmetric}).module
    (held,) = [op.result for op in module.body_of_main if op.results and op.result.quant is not None]
    assert held.quant.count == type_.count == 16
    off = np.abs(dequantize(constant_of(held).numpy(), held.quant) - numbers).reshape(4, 4, 8)  # type: ignore[union-attr]
    steps = np.ptp(np.concatenate([numbers.reshape(4, 4, 8), np.zeros((4, 4, 1))], axis=2), axis=2) / (2**scheme.bits - 1)
    free = np.ones((4, 4), bool)
    free[1, 1] = False
    allowed = 0.51 if scheme.bits == 8 and asymmetric else 3.0  # symmetric ranges, and those cut short
    assert (off.max(axis=2)[free] <= allowed * steps[free]).all()
    one = weights_held(numbers, (1, 32), type(scheme)(name, scheme.bits, 32, asymmetric), F32)[0]
    assert min(one.scales[1] / np.array(held.quant.scales).reshape(4, 4)[1, [0, 2, 3]]) > 100


def test_samples_round_weights_against_each_other() -> None:
    """Where inputs go together, sums have less noise than by rounding each weight to the nearest."""
    g = Graph((8, 64))
    module = g.done(g.MatMul(g.inputs[0], g.random(64, 32)))
    generator = np.random.default_rng(5)
    mixing = generator.standard_normal((8, 64))

    def samples(count: int) -> list[dict[str, np.ndarray]]:
        return [{"x0": (np.abs(generator.standard_normal((8, 8))) @ mixing).astype(np.float32)} for _ in range(count)]

    seen, unseen = samples(32), samples(8)
    decibels = {}
    for rounding in (False, True):
        for asymmetric in (False, True):
            found = quantize_at_hub(module, "w4a16", seen, {"rounding": rounding, "asymmetric": asymmetric, "q_group_size": 16})
            assert found.report["weights"]["rounded on samples"] is rounding
            there, here = (np.stack([next(iter(transload.run(each, one, engine="reference").values())) for one in unseen])
                           for each in (module, found.module))
            decibels[rounding, asymmetric] = sqnr(there, here)
    assert decibels[True, False] > decibels[False, False] + 3.0
    assert decibels[True, True] > decibels[False, True] + 3.0


def test_report_and_layers_that_stay() -> None:
    made = quantize_at_hub(network(), "w4a16", None, {"q_group_size": 16, "floats": "Conv1", "few": 0})
    told = made.report["weights"]
    assert "Conv1" not in told["shared"]
    assert made.floats == {"Conv1": "as the caller asked"}
    count = 32 + 72 + 192 + 64 * 48 + 12 * 48 + 120
    assert told["bytes before"] == 4 * count
    assert told["bytes of integers"] == count // 2
    assert told["bytes of scales"] > 4 * count // 16
    assert largest(made.module, is_float) == 8 * 16 * 9


def test_sums_of_few_products_keep_8_bits() -> None:
    made = quantize_at_hub(network(), "w4a16", None, {}).module
    held = [op.result.quant.storage for op in made.body_of_main if op.results and op.result.quant is not None]
    assert held == [I4, I8, I8, I4, I4, I4, I8]  # of 144, 4, 9, 32, 64, 48 and 12 products


@pytest.mark.parametrize(("options", "why"), [
    ({"q_group_size": -1}, "groups of -1 weights"), ({"q_group_size": "many"}, "q_group_size must be int"),
    ({"few": -3}, "no sum has fewer than -3 products"),
    ({"islands": "none"}, "has no option islands"), ({"floats": "nowhere"}, "there is no float tensor 'nowhere'")])
def test_what_is_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        quantize_at_hub(network(), "w4a16", None, options)


def test_what_onnxruntime_does_to_activations_is_noted(made: dict[str, Module]) -> None:
    def notes(kind: str) -> tuple[str, ...]:
        return transload.lower(made[kind], "onnx").notes

    for kind in made:
        said = [note for note in notes(kind) if "qdq_matmulnbits_accuracy_level" in note]
        assert len(said) == 1


def test_weights_that_are_no_numbers() -> None:
    g = Graph((1, 4))
    module = g.done(g.MatMul(g.inputs[0], np.full((4, 4), np.nan, np.float32)))
    with pytest.raises(UsageError, match="hold infinities"):
        quantize_at_hub(module, "w4a16", None, {})
    g = Graph((1, 4))
    with pytest.raises(UsageError, match="nothing to quantize"):
        quantize_at_hub(g.done(g.Relu(g.inputs[0])), "w4a16", None, {})


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx", "tfl"])
def test_unsigned_weights_of_others(bits: int, target: str, tmp_path: Path) -> None:
    """Weights as `MatMulNBits` has them, unsigned, with zero points, go the same ways."""
    g = Graph((4, 32))
    element = IntegerType(bits, "u")
    kind = quantized_over(
        QuantType(element, F32, (1.0,), (0,)), G.uniform(0.5, 1.0, (16, 2)).astype(np.float32),
        G.integers(0, 1 << bits, (16, 2)), (1, 16))
    stored = G.integers(0, 1 << bits, (16, 32)).astype(dtype_of(element))
    real = g.builder.emit("top.Cast", g.builder.constant(Dense(stored), element=kind), element=F32, stored=True)
    module = g.done(g.MatMul(g.inputs[0], real, right_transpose=True))
    given = {"x0": G.standard_normal((4, 32)).astype(np.float32)}
    wanted = next(iter(transload.run(module, given, engine="reference").values()))
    lowered = transload.lower(module, target)
    if (bits, target) != (2, "onnx"):  # opset 21 has no integers of 2 bits, and gets floats
        assert largest(lowered, is_float) <= 32
    found = judged(lowered, target, given, tmp_path)
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=0, atol=2e-6 * float(np.abs(wanted).max()))


@pytest.mark.parametrize("scheme", ["w4a16", "w8a16"])
def test_to_onnx_weights_that_have_a_scale_each(scheme: str, tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    graph = Graph((5, 35))
    module = graph.done(graph.MatMul(graph.inputs[0], graph.constant(random.normal(0, 1, (35, 13)).astype(np.float32))))
    samples = [{"x0": random.normal(0, 1, (5, 35)).astype(np.float32)}]
    artifact = transload.convert(
        module, "onnx", tmp_path, quantize=scheme, data=samples, quantizer_options={"q_group_size": 1, "few": 0}, verify=True)
    assert artifact.verification is not None and artifact.verification.passed


@pytest.mark.parametrize("scheme", ["w4a16", "w8a16"])
@pytest.mark.parametrize(("group", "dilations"), [(2, (1, 1)), (1, (2, 3)), (2, (3, 1))])
def test_to_tflite_transposed_convolutions_in_groups_or_with_dilations(
    scheme: str, group: int, dilations: tuple[int, int], tmp_path: Path,
) -> None:
    random = np.random.default_rng(6)
    graph = Graph((1, 5, 4, 4))
    filters = graph.constant(random.normal(0, 1, (3, 2, 3, 4)).astype(np.float32))
    module = graph.done(graph.Deconv(
        graph.inputs[0], filters, kernel_shape=(2, 3), strides=(2, 2), group=group, dilations=dilations, layout="NHWC"))
    samples = [{"x0": random.normal(0, 1, (1, 5, 4, 4)).astype(np.float32)}]
    artifact = transload.convert(
        module, "tflite", tmp_path, quantize=scheme, data=samples, quantizer_options={"q_group_size": 4, "few": 0}, verify=True)
    assert artifact.verification is not None and artifact.verification.passed
