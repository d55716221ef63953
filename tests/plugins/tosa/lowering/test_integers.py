"""Quantized models in the hub: the reference engine gives TOSA's integers, and LiteRT's, at every tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload import Module, Target, hookimpl
from transload.context import Context, new_run
from transload.engine.reference import prepare
from transload.errors import RunError, ShapeError
from transload.ir import F32, I8, UI8, QuantType, TensorType, input_names
from transload.plugin import Emitted
from transload.plugin_host import Host
from transload.testing import build_module
from transload.verification.compare import compare
from transload.verification.inputs import random_inputs
from transload.verification.tolerance import Tolerance
from transload.verification.verify import verify_conversion
from transload_converters.tflite.runtime import open_model
from transload_plugins.tosa.lowering.prepare.sources import Sources, sources

from tests.support.hub_runs import has_quantized, same_integers
from tests.support.sampling import sampled

MODELS = (
    "arm_kws_basic_lstm_s_int8", "arm_kws_ds_cnn_int16x8", "coral_deeplabv3_mnv2_dm05_quant", "coral_mobilenet_v1_0.25_128_quant",
    "coral_mobilenet_v2_1.0_224_quant", "coral_movenet_lightning_ptq", "mlperf_ad_int8", "mlperf_kws_int8", "mlperf_resnet8_int8",
    "mlperf_vww_int8", "support_mobilenet_v1_0.25_224_quant", "support_ssd_mobilenet_v1_coco_uint8", "tflm_mnist_lstm_int8",
    "tflm_person_detect_int8")
LITERT_REFUSES = ("tflm_person_detect_int8",)


def path_of(models: Path, name: str) -> Path:
    path = next((models / "tflite" / name).glob("*.tflite"), None)
    if path is None:
        pytest.skip(f"no model {name}")
    return path


def different(mine: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> list[str]:
    """The tensors that are in both, by name, in the same shape, and do not hold the same integers."""
    shared = [name for name in mine if name in theirs and mine[name].shape == theirs[name].shape]
    assert shared
    return [name for name in shared if not same_integers(mine[name], theirs[name])]


@pytest.mark.one_in(3)
@pytest.mark.models
@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_is_exact(name: str, models: Path) -> None:
    path = path_of(models, name)
    source = transload.load(path)
    hub = transload.legalize(source)
    lowered = transload.lower(hub)
    assert has_quantized(hub)
    given = random_inputs(source, hub, 3)
    ours = prepare(hub)(given, keep=True)
    tosa = prepare(lowered)(dict(zip(input_names(lowered.main), given.values(), strict=True)), keep=True)
    # what is unsigned in the hub is held less 128 within TOSA, by the same bits but for the first
    unsigned = {key: array.view(np.uint8) ^ 0x80 for key, array in tosa.items() if ours.get(key, array).dtype == np.uint8}
    outputs = list(tosa)[-len(hub.body_of_main.terminator.operands):]
    assert different(ours, {**tosa, **{key: array for key, array in unsigned.items() if key not in outputs}}) == []
    if name not in LITERT_REFUSES:
        assert different(open_model(path)(given, keep=True), ours) == []


@pytest.mark.one_in(3)
@pytest.mark.models
@pytest.mark.parametrize("dialect", ["top", "tosa"])
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "coral_mobilenet_v1_0.25_128_quant"])
def test_layers_are_compared_exactly(name: str, dialect: str, models: Path) -> None:
    path = path_of(models, name)
    found = compare(path, transload.lower(transload.load(path), dialect), per_layer=True)
    assert len(found.tensors) > 10
    assert {tensor.name: tensor.metrics["max_abs"] for tensor in found.tensors if tensor.metrics["max_abs"] != 0} == {}


def test_floats_are_quantized_as_frameworks_do() -> None:
    """By a division: of numbers in the middle between two steps, the product with the reciprocal may be on the other side."""
    q = QuantType(I8, F32, (float(np.float32(0.013)),), (0,))
    x = np.arange(-255, 256, 2, dtype=np.float32) * np.float32(0.0065)
    module = build_module([TensorType(x.shape, F32)], lambda b, v: b.emit("top.Cast", v, element=q), ["x"])
    quotient = (x / np.float32(0.013)).astype(np.float64)
    expected = np.clip(np.trunc(quotient + np.copysign(0.5, quotient)), -128, 127)
    np.testing.assert_array_equal(prepare(module)({"x": x})["y"], expected)


class Acme(Target):
    """A chip that takes the hub's quantized ops as they are."""

    name = "acme"
    accepts = ("top",)

    def emit(self, module: Module, directory: Path, stem: str, options: Mapping[str, Any]) -> Emitted:
        file = directory / f"{stem}.mlir"
        transload.save(module, file)
        return Emitted([file])

    @hookimpl
    def register_targets(self, register: Callable[[Any], None]) -> None:
        register(self)


@pytest.mark.models
@pytest.mark.parametrize("name", sampled(["mlperf_kws_int8", "coral_mobilenet_v1_0.25_128_quant"], ["mlperf_kws_int8"]))
def test_a_target_that_takes_the_hub_is_verified_exactly(name: str, models: Path, tmp_path: Path) -> None:
    exact = Tolerance(integer=0)
    host = Host()
    host.register(Acme(), name="acme")
    with Context(host).bind():
        artifact = transload.convert(path_of(models, name), "acme", tmp_path / "out", tolerance=exact, engine="reference")
        assert artifact.verification is not None and artifact.verified and not artifact.verification.notes
        source = transload.load(path_of(models, name))
        for seed in range(1, 20):
            verified = verify_conversion(source, artifact.module, tolerance=exact, engine="reference", seed=seed)
            assert verified.passed, (seed, verified.broken)


@pytest.mark.models
def test_without_tosa_verification_says_how_it_computed(models: Path) -> None:
    with Context(Host(only="-tosa")).bind():
        source = transload.load(path_of(models, "mlperf_kws_int8"))
        verified = verify_conversion(source, transload.legalize(source), engine="reference")
    assert any("dequantizing" in note and "9 top.Conv" in note for note in verified.notes), verified.notes


def test_alike_ops_are_lowered_once() -> None:
    """The steps of an unrolled network: equal types, attributes and constants."""
    from transload_plugins.tosa.lowering import integers

    q = QuantType(I8, F32, (0.5,), (3,))

    def chain(b: Any, x: Any) -> Any:
        weights = b.constant(np.arange(16, dtype=np.int8).reshape(4, 4), q)
        for _ in range(5):
            x = b.emit("top.MatMul", x, weights, None, element=q)
        return x

    before = len(integers._kept)
    execute = prepare(build_module([TensorType((4, 4), q)], chain, ["x"]))
    assert len(integers._kept) == before + 1
    assert execute({"x": np.zeros((4, 4), np.int8)})["y"].shape == (4, 4)
    del execute
    assert len(integers._kept) == before


def test_sizes_that_are_not_known_are_computed_through_reals() -> None:
    q = QuantType(I8, F32, (0.5,), (3,))
    execute = prepare(build_module([TensorType((None, 4), q)], lambda b, x: b.emit("top.Softmax", x, axis=1, element=q), ["x"]))
    assert "1 top.Softmax" in execute.notes[0]
    assert execute({"x": np.zeros((2, 4), np.int8)})["y"].shape == (2, 4)
    with pytest.raises(RunError):
        execute({"x": np.zeros((2, 5), np.int8)})


def test_what_is_lowered_to_be_run_is_no_part_of_a_conversion_around_it() -> None:
    """Folding asks for kernels within conversions, which note down things of their ops."""
    q = QuantType(UI8, F32, (0.5,), (3,))
    module = build_module([TensorType((4,), q)], lambda b, x: b.emit("top.Relu", x, element=q), ["x"])
    with new_run():
        prepare(module)
        assert sources() == Sources()


@pytest.mark.parametrize("error", [ShapeError("no shape"), MemoryError()])
def test_what_cannot_be_lowered_is_computed_through_reals(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the lowering of an op, planning goes on, and says so."""
    def fail(*arguments: Any) -> None:
        raise error

    monkeypatch.setattr("transload_plugins.tosa.lowering.integers.apply_conversion", fail)
    q = QuantType(I8, F32, (0.5,), (3,))
    execute = prepare(build_module([TensorType((4,), q)], lambda b, x: b.emit("top.Relu", x, element=q), ["x"]))
    assert "1 top.Relu" in execute.notes[0]
    np.testing.assert_array_equal(execute({"x": np.array([-9, 0, 3, 9], np.int8)})["y"], [3, 3, 3, 9])
