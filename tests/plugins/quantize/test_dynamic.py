"""Weights of 8 bits whose activations LiteRT rounds as it runs: the file's own form, what it means, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import UsageError
from transload.ir import I8, Module, QuantType
from transload.metrics import sqnr
from transload.quantization import quantize_at_hub
from transload.verification.bounds import DYNAMIC
from transload.verification.quantized import QuantizedModel, limits_only, verify_quantized
from transload.verification.running import OwnRuntime, Running
from transload.verification.tolerance import Tolerance
from transload.verification.verify import Verification

from tests.plugins.quantize.test_weight_only import judged, largest
from tests.support.graphs import Graph

SHAPE = (1, 6, 6, 32)


def network(layout: str = "NHWC") -> Module:
    """Convolutions dense, depthwise and in groups, and layers with a bias and without, the last too small."""
    g = Graph(SHAPE if layout == "NHWC" else (1, 32, 6, 6))

    def weights(out: int, size: int, each: int) -> np.ndarray:
        return g.random(out, size, size, each) if layout == "NHWC" else g.random(out, each, size, size)

    y = g.Relu(g.Conv(g.inputs[0], weights(64, 3, 32), g.random(64), kernel_shape=(3, 3), pads=(1, 1, 1, 1), layout=layout))
    y = g.Relu(g.Conv(y, weights(64, 4, 1), kernel_shape=(4, 4), group=64, layout=layout))
    y = g.Conv(y, weights(64, 1, 32), kernel_shape=(1, 1), group=2, layout=layout)
    rows = g.Reshape(y, shape=(9, 64))
    y = g.Relu(g.MatMul(rows, g.random(64, 48), g.random(48)))
    return g.done(g.MatMul(g.MatMul(y, g.random(40, 48), right_transpose=True), g.random(40, 3)))


def sample(layout: str = "NHWC") -> dict[str, np.ndarray]:
    array = np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32)
    return {"x0": array if layout == "NHWC" else np.ascontiguousarray(array.transpose(0, 3, 1, 2))}


def first(outputs: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(next(iter(outputs.values())))


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_litert_rounds_activations_and_our_reading_of_the_file_is_what_it_computes(layout: str, tmp_path: Path) -> None:
    module, given = network(layout), sample(layout)
    held = quantize_at_hub(module, "dynamic", None, {})
    assert held.report["layers by their range"] == ["Conv1", "Conv3", "MatMul7", "MatMul9"]
    assert held.floats == {"Conv5": "its channels are in groups", "MatMul10": "its 120 weights are fewer than 1024"}
    lowered = transload.lower(held.module, "tfl")
    kinds = [(op.name, op.operands[1].quant) for op in lowered.ops() if op.name in (
        "tfl.conv_2d", "tfl.depthwise_conv_2d", "tfl.fully_connected")]
    integers = [name for name, kind in kinds if isinstance(kind, QuantType) and kind.storage == I8]
    assert integers == ["tfl.conv_2d", "tfl.depthwise_conv_2d", "tfl.fully_connected", "tfl.fully_connected"]
    assert all(op.operands[0].quant is None for op in lowered.ops() if op.name == "tfl.fully_connected")
    found = judged(lowered, "tfl", given, tmp_path)
    arrays = {"x0": sample()["x0"]} if next(iter(lowered.inputs.values())).static_shape == SHAPE else given
    back = transload.load(tmp_path / "model.tflite")
    exact, floats = (first(transload.run(transload.lower(back, "top", hybrid=word), arrays, engine="reference"))
                     for word in ("exact", "float"))
    hub, before = (first(transload.run(each, given, engine="reference")) for each in (held.module, module))
    assert sqnr(exact, found) > 115.0  # the same integers, summed as floats behind them
    assert sqnr(floats, hub) > 115.0  # the weights that the hub has
    assert 20.0 < sqnr(hub, found) < 60.0  # activations were rounded
    assert sqnr(before, hub) > 30.0


@pytest.mark.parametrize("target", ["tosa", "stablehlo", "onnx"])
def test_others_hold_integers_and_compute_with_floats(target: str, tmp_path: Path) -> None:
    made, given = quantize_at_hub(network(), "dynamic", None, {"least": "0"}).module, sample()
    wanted = first(transload.run(made, given, engine="reference"))
    lowered = transload.lower(made, target)
    assert largest(lowered, lambda element: element == I8 or getattr(element, "storage", None) == I8) == 64 * 32 * 9
    found = judged(lowered, target, given, tmp_path)
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=0, atol=4e-6 * float(np.abs(wanted).max()))


def test_verification_allows_what_rounding_as_it_runs_costs_and_no_more() -> None:
    module, given = network(), sample()
    held = quantize_at_hub(module, "dynamic", None, {}).module
    assert any(DYNAMIC in op.attributes for op in held.ops())
    exact, hub = (first(transload.run(each, given, engine="reference")) for each in (module, held))
    noise = float(np.sqrt(np.mean((hub - exact) ** 2)))
    verdicts = []
    for times in (3.0, 5.0):
        name = next(iter(held.outputs))
        signs = np.where(np.arange(hub.size) % 2, 1.0, -1.0).reshape(hub.shape)
        answers = {name: (hub + times * noise * signs).astype(np.float32)}
        own = OwnRuntime("tflite", lambda inputs, answers=answers: answers)  # type: ignore[misc]
        verdicts.append(verify_quantized(
            QuantizedModel(module, module, held, False), Running(held, "reference", own), samples=[given]).status)
    assert verdicts == ["passed", "failed"]


def on_a_grid() -> tuple[Module, np.ndarray]:
    """A product whose weights are integers times a scale, as of halves made of these; and the weights."""
    random = np.random.default_rng(0)
    weights = random.integers(-127, 128, (64, 64))
    weights[0] = 127
    numbers = (weights * 0.00123).astype(np.float16).astype(np.float32)
    g = Graph((1, 64))
    return g.done(g.MatMul(g.inputs[0], numbers)), numbers


def verdict(
    module: Module, answer: Callable[[dict[str, np.ndarray]], np.ndarray], limits: Tolerance | None = None,
) -> Verification:
    """Of a runtime that gives `answer` of the sample."""
    held = quantize_at_hub(module, "dynamic", None, {}).module
    own = OwnRuntime("tflite", lambda inputs: {next(iter(held.outputs)): answer(dict(inputs))})
    return verify_quantized(
        QuantizedModel(module, module, held, False), Running(held, "reference", own), samples=[row_of_64()], limits=limits)


def row_of_64() -> dict[str, np.ndarray]:
    return {"x0": np.random.default_rng(1).standard_normal((1, 64)).astype(np.float32)}


def test_weights_that_lie_on_a_grid_lose_nothing_and_activations_do(tmp_path: Path) -> None:
    module, numbers = on_a_grid()
    lowered = transload.lower(quantize_at_hub(module, "dynamic", None, {}).module, "tfl")
    found = verdict(module, lambda given: judged(lowered, "tfl", given, tmp_path))
    assert found.status == "passed", found.broken
    assert 40.0 < sqnr(row_of_64()["x0"] @ numbers, judged(lowered, "tfl", row_of_64(), tmp_path)) < 50.0


@pytest.mark.parametrize(("times", "limits", "status"), [
    (1.5, None, "passed"), (3.0, None, "failed"), (3.0, ["sqnr=20"], "passed"), (3.0, ["sqnr=60"], "failed"),
    (3.0, ["max_abs=1"], "passed"), (3.0, ["max_abs=1e-3"], "failed")])
def test_results_lie_as_far_away_as_activations_of_8_bits_do_or_as_somebody_allows(
    times: float, limits: list[str] | None, status: str,
) -> None:
    """What such activations lose is numpy's: a step for the row, halves to even."""
    module, numbers = on_a_grid()
    row = row_of_64()["x0"].astype(np.float64)
    step = (row.max() - row.min()) / 255
    answer = (row + times * (np.round(row / step) * step - row)) @ numbers
    found = verdict(module, lambda given: answer.astype(np.float32), None if limits is None else limits_only(limits))
    assert found.status == status, found.broken


def test_what_cannot_be_is_refused() -> None:
    g = Graph((1, 4))
    with pytest.raises(UsageError, match="no layer of the model has weights") as told:
        quantize_at_hub(g.done(g.MatMul(g.inputs[0], g.random(4, 4))), "dynamic", None, {})
    assert "its 16 weights are fewer than 1024" in str(told.value.hint) and "least=0" in str(told.value.hint)
    with pytest.raises(UsageError, match="fewer than -5 numbers"):
        quantize_at_hub(network(), "dynamic", None, {"least": -5})
    with pytest.raises(UsageError, match="no option method"):
        quantize_at_hub(network(), "dynamic", None, {"method": "kl"})
    with pytest.raises(UsageError, match="activations of 4 bits") as told:
        quantize_at_hub(network(), "int4", None, {})
    assert "w4a16" in str(told.value.hint)
    with pytest.raises(UsageError, match="no quantizer is called 'int9'") as told:
        quantize_at_hub(network(), "int9", None, {})
    hint = str(told.value.hint)
    assert all(name in hint for name in ("int8", "f8e4m3", "dynamic", "w4a16")) and "int4" not in hint.partition("quantizers:")[2]


@pytest.mark.parametrize(("rank", "hint"), [(3, False), (2, True)])
def test_a_hint_of_small_weights_is_for_those_that_can_be_taken(rank: int, hint: bool) -> None:
    """Of a batch of products it led to the next refusal."""
    g = Graph((2, 3, 5) if rank == 3 else (3, 5))
    module = g.done(g.MatMul(g.inputs[0], g.random(2, 5, 4) if rank == 3 else g.random(5, 4)))
    with pytest.raises(UsageError) as raised:
        transload.quantize(module, "dynamic")
    assert ("least=0" in str(raised.value.hint)) == hint
    if hint:
        transload.quantize(module, "dynamic", least=0)


@pytest.mark.parametrize("biased", [False, True])
def test_a_batch_of_one_matrix_is_a_layer(biased: bool) -> None:
    g = Graph((1, 4, 64))
    bias = (g.random(48),) if biased else ()
    y = g.MatMul(g.inputs[0], g.random(1, 64, 48), *bias, location="first")
    module = g.done(g.MatMul(y, g.random(1, 48, 40), location="second"))
    held = quantize_at_hub(module, "dynamic", None, {})
    assert len(held.report["layers by their range"]) == 2
    assert sum(op.name == "top.Cast" for op in held.module.ops()) == 2, "weights are integers"
    given = {"x0": np.random.default_rng(0).standard_normal((1, 4, 64)).astype(np.float32)}
    assert sqnr(first(transload.run(module, given)), first(transload.run(held.module, given))) > 30
    kept = quantize_at_hub(module, "dynamic", None, {"floats": "first"})
    assert len(kept.report["layers by their range"]) == 1 and "first" in kept.floats


@pytest.mark.parametrize("beside_many", [False, True])
def test_few_outputs_are_judged_on_so_many_samples_that_chance_decides_nothing(tmp_path: Path, beside_many: bool) -> None:
    """Behind one channel all five outputs err as that one number does: by a tenth of a step in the hub, and by five in LiteRT."""
    numbers = np.random.default_rng(7)
    g = Graph((1, 8, 8, 7))

    def weights(*shape: int) -> np.ndarray:
        return numbers.normal(0, 0.3, shape).astype(np.float32)

    filters, bias = weights(1, 1, 1, 7), numbers.normal(0, 1, 1).astype(np.float32)
    pooled = g.AvgPool(g.Conv(g.inputs[0], filters, bias, kernel_shape=(1, 1), layout="NHWC"), kernel_shape=(8, 8), layout="NHWC")
    few = g.MatMul(g.Reshape(pooled, shape=(1, 1)), weights(1, 5))
    more = [g.Conv(g.inputs[0], weights(8, 1, 1, 7), kernel_shape=(1, 1), layout="NHWC")] if beside_many else []
    module = g.done(few, *more)
    found = transload.convert(
        module, "tflite", tmp_path, quantize="dynamic", quantizer_options={"least": 0}, verify=True).verification
    assert found is not None and found.passed and found.samples == 16
    held = quantize_at_hub(module, "dynamic", None, {"least": 0}).module

    def a_tenth_more(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: array * np.float32(1.1) for name, array in transload.run(held, inputs).items()}

    wrong = verify_quantized(
        QuantizedModel(module, module, held, False), Running(held, "reference", OwnRuntime("tflite", a_tenth_more)))  # type: ignore[arg-type]
    assert wrong.failed and wrong.samples == 16


@pytest.mark.parametrize("scheme", ["dynamic", "w8a16", "w4a16"])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("biased", [False, True])
def test_weights_on_the_left_are_weights(scheme: str, turned: tuple[bool, bool], biased: bool, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    graph = Graph((2, 6, 8) if turned[1] else (2, 8, 6))
    weights = graph.constant(random.normal(0, 1, (8, 32) if turned[0] else (32, 8)).astype(np.float32))
    bias = [graph.constant(random.normal(0, 1, 6).astype(np.float32))] if biased else []
    model = graph.done(graph.MatMul(
        weights, graph.inputs[0], *bias, left_transpose=turned[0], right_transpose=turned[1], do_relu=biased, location="y"))
    sample = {"x0": random.normal(0, 1, graph.inputs[0].static_shape).astype(np.float32)}
    made = transload.quantize(model, scheme, **({"least": 0} if scheme == "dynamic" else {}))
    (op,) = (op for op in made.ops() if op.name == "top.MatMul")
    assert op.right_transpose is not turned[0] and op.right.op is not None and op.right.op.name == "top.Cast"
    before, after = (next(iter(transload.run(each, sample).values())) for each in (model, made))
    assert before.shape == after.shape and sqnr(before, after) > (15 if scheme == "w4a16" else 35)
    transload.save(transload.lower(made, "tfl"), tmp_path / "made.tflite")
    with pytest.raises(UsageError):
        transload.quantize(model, scheme, floats="y", **({"least": 0} if scheme == "dynamic" else {}))


@pytest.mark.parametrize("scheme", ["dynamic", "w8a16"])
@pytest.mark.parametrize(("left", "right", "turned"), [
    ((1, 32, 8), (2, 8, 6), (False, False)), ((1, 8, 32), (8, 6), (True, False)), ((1, 1, 32, 8), (2, 6, 8), (False, True)),
    ((32, 8), (8,), (False, False)), ((8, 32), (8,), (True, False)), ((1, 1, 32, 8), (8,), (False, True)),
    ((8,), (8, 6), (True, False)), ((8,), (2, 6, 8), (False, True)), ((8,), (8,), (True, True)),
    ((3, 32, 8), (8, 6), (False, False)), ((3, 8, 32), (8,), (True, False)), ((3, 32, 8), (2, 1, 6, 8), (False, True))], ids=str)
@pytest.mark.parametrize("biased", [False, True])
def test_vectors_and_batches_on_the_left_are_weights(
    scheme: str, left: tuple[int, ...], right: tuple[int, ...], turned: tuple[bool, bool], biased: bool, tmp_path: Path) -> None:
    """Each scheme refused them, and `dynamic` with a hint at the other. LiteRT has no kernel for a batch of matrices."""
    random = np.random.default_rng(5)
    graph = Graph(right)
    weights = graph.constant(random.normal(0, 1, left).astype(np.float32))
    bias = [graph.constant(random.normal(0, 1, ()).astype(np.float32))] if biased else []
    model = graph.done(graph.MatMul(
        weights, graph.inputs[0], *bias, left_transpose=turned[0], right_transpose=turned[1], do_relu=biased, location="y"))
    if scheme == "dynamic" and left[0] == 3:
        with pytest.raises(UsageError, match="no layer") as refused:
            transload.quantize(model, scheme, least=0)
        assert "w8a16" in str(refused.value.hint)
        return
    made = transload.quantize(model, scheme, **({"least": 0} if scheme == "dynamic" else {}))
    sample = {"x0": random.normal(0, 1, right).astype(np.float32)}
    before, after = (next(iter(transload.run(each, sample).values())) for each in (model, made))
    assert before.shape == after.shape and sqnr(before, after) > 30
    transload.save(transload.lower(made, "tfl"), tmp_path / "made.tflite")


def test_nothing_is_hinted_at_that_is_refused_too() -> None:
    graph = Graph((2, 8))
    with pytest.raises(UsageError, match="no layer") as refused:
        transload.quantize(graph.done(graph.Relu(graph.inputs[0], location="y")), "dynamic")
    assert "w8a16 takes" not in str(refused.value.hint)
