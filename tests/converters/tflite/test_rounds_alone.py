"""Models that LiteRT runs by its usual kernels, as the reference has none of an operator or wrong ones, judged step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import RunError
from transload.ir import Dense, Module
from transload.verification.verdict import Verification
from transload.verification.verify import verify_conversion
from transload_converters.tflite import runtime as litert
from transload_converters.tflite.litert import Session
from transload_plugins.quantize.calibration import calibrate
from transload_plugins.quantize.quantize import quantize_module
from transload_plugins.quantize.scheme import SCHEMES

from tests.support.graphs import Graph
from tests.support.tflite_models import write_operator

pytest.importorskip("ai_edge_litert.interpreter", reason="LiteRT is not installed")
LAYERS = 8
SHAPE = (1, 16, 16, 3)


def deep(path: Path, alone: bool = True) -> Path:
    """A file of convolutions of bytes, which LiteRT's usual kernels round another way than its reference; `alone` is whether it
    has a SUM of bytes, too, which has these kernels run all of it."""
    graph = Graph(SHAPE)
    made = graph.inputs[0]
    for number in range(LAYERS):
        weights = graph.random(3, 3, 3, 3)
        made = graph.Conv(made, weights, kernel_shape=(3, 3), pads=(1, 1, 1, 1), layout="NHWC", location=f"conv{number}")
    ends = [made, graph.Reduce(made, mode="ReduceSum", axes=(1,), keepdims=False, location="sum")] if alone else [made]
    hub = at_hub(graph.done(*ends))
    samples = [sample(seed) for seed in range(4)]
    module = quantize_module(hub, SCHEMES["int8"], calibrate(hub, samples).kept(False))
    return transload.save(transload.lower(module, "tfl"), path)


def sample(seed: int) -> dict[str, np.ndarray]:
    return {"x0": np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)}


def verified(source: Module, of: Module | None = None, hub: Module | None = None, **how: Any) -> Verification:
    """The verdict on what is made of a file, or `of` another one, beside the file; `hub` is what its hub form is made of."""
    other = source if of is None else of
    legal = transload.legalize((hub or other).clone())
    return verify_conversion(source, transload.lower(other.clone(), "tosa"), hub=legal, **how)


def test_roundings_of_the_usual_kernels_are_near_enough(tmp_path: Path) -> None:
    """They add up to more single steps of the output than any tolerance lets it have."""
    verdict = verified(transload.load(deep(tmp_path / "deep.tflite")))
    assert verdict.passed, (verdict.broken, verdict.notes)
    assert any("litert rounds some numbers to the next step" in note for note in verdict.notes)


def test_roundings_are_near_enough_on_samples_together(tmp_path: Path) -> None:
    samples = [sample(seed) for seed in range(10, 14)]
    verdict = verified(transload.load(deep(tmp_path / "deep.tflite")), inputs=samples, every=True)
    assert verdict.passed and verdict.samples == 4, (verdict.broken, verdict.notes)


def wrong(path: Path, what: str) -> Module:
    """The same file with something of the fourth convolution wrong: the result's zero point by 1, or a bias by what is a step
    of the result."""
    module = transload.load(path)
    conv = [op for op in module.walk() if op.name == "tfl.conv_2d"][3]
    (made,) = conv.results
    quant = made.quant
    assert quant is not None
    if what == "zero point":
        made.type = made.tensor_type.with_element(quant.replace(zero_points=(quant.zero_points[0] + 1,)))
        return module
    held = conv.operands[2].op
    assert held is not None
    of_bias, bias = held.results[0].quant, held.attribute("value").numpy().copy()
    assert of_bias is not None
    bias[1] += round(quant.scales[0] / of_bias.scale_array[1])
    held.attributes["value"] = Dense(bias, held.attribute("value").type)
    return module


@pytest.mark.parametrize("what", ["zero point", "bias"])
def test_what_is_wrong_there_fails_and_is_named(what: str, tmp_path: Path) -> None:
    path = deep(tmp_path / "deep.tflite")
    verdict = verified(transload.load(path), wrong(path, what))
    assert verdict.failed
    assert any("from litert's own numbers before it, conv3" in note for note in verdict.notes), verdict.notes


def test_what_is_wrong_behind_the_hub_fails(tmp_path: Path) -> None:
    path = deep(tmp_path / "deep.tflite")
    source = transload.load(path)
    assert verified(source, wrong(path, "zero point"), hub=source).failed


def test_roundings_of_pixels_made_numbers_are_near_enough(tmp_path: Path) -> None:
    """A program that takes pixels: the hub's form of the model was given these."""
    how = transload.Preprocess(mean=(127.0, 127.0, 127.0), scale=(1 / 60, 1 / 60, 1 / 60))
    pixels = np.random.default_rng(0).integers(0, 256, SHAPE).astype(np.uint8)
    made = transload.convert(
        deep(tmp_path / "deep.tflite"), "tosa", tmp_path / "out", input_data={"x0": pixels}, preprocess=how, fuse_preprocess=True)
    assert made.verification is not None and made.verification.passed
    assert any("litert rounds some numbers" in note for note in made.verification.notes)


def test_a_model_that_does_not_run_with_its_tensors_kept_is_judged_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = litert._Session.run

    def refusing(self: Any, inputs: Any, keep: bool = False) -> dict[str, np.ndarray]:
        if keep:
            raise RunError("out of memory")
        return run(self, inputs, keep)

    monkeypatch.setattr(litert._Session, "run", refusing)
    assert verified(transload.load(deep(tmp_path / "deep.tflite"))).failed


def test_what_the_reference_kernels_run_is_the_same_bits(tmp_path: Path) -> None:
    """No rounding is open there, so none is excused: a bias that is wrong by a step fails without being looked at further."""
    path = deep(tmp_path / "deep.tflite", alone=False)
    right, other = verified(transload.load(path)), verified(transload.load(path), wrong(path, "bias"))
    assert right.passed and not right.notes and all(tensor.metrics["max_abs"] == 0 for tensor in right.tensors), right
    assert other.failed and not any("from litert's own numbers" in note for note in other.notes), other.notes


def t(*shape: int, dtype: str = "float32", data: Any = None) -> tuple[Any, ...]:
    return shape, dtype, None if data is None else np.array(data, dtype)


@pytest.mark.parametrize(("operator", "version", "operands", "result", "options"), [
    ("ABS", 4, [t(6, dtype="int32")], t(6, dtype="int32"), {}), ("ABS", 5, [t(6, dtype="int16")], t(6, dtype="int16"), {}),
    ("ARG_MAX", 3, [t(2, 3, dtype="bool"), t(dtype="int32", data=1)], t(2, dtype="int64"), {"output_type": "INT64"}),
    ("ARG_MIN", 3, [t(2, 3, dtype="bool"), t(dtype="int32", data=1)], t(2, dtype="int64"), {"output_type": "INT64"}),
    *[(name, version, [t(6, dtype=dtype)] * 2, t(6, dtype=dtype), {}) for name, version in (("ADD", 6), ("MUL", 8))
      for dtype in ("float16", "int32", "int64")],
    ("SOFTMAX", 4, [t(2, 3, dtype="float16")], t(2, 3, dtype="float16"), {"beta": 1.0}),
    ("SIN", 2, [t(6, dtype="float16")], t(6, dtype="float16"), {}),
    ("COS", 2, [t(6, dtype="float16")], t(6, dtype="float16"), {}),
    ("GELU", 3, [t(6, dtype="float16")], t(6, dtype="float16"), {}),
    ("RANGE", 2, [t(dtype="int64", data=each) for each in (3, 20, 4)], t(5, dtype="int64"), {})])
def test_newer_versions_are_run_by_the_reference_kernels_of_older_ones(
    operator: str, version: int, operands: list[Any], result: tuple[Any, ...], options: dict[str, Any], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The usual kernels ran the whole model, and no roundings of it were open. They give the same of these types."""
    from ai_edge_litert import interpreter

    loaded, own = [], interpreter.Interpreter

    class Interpreter(own):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **how: Any) -> None:
            super().__init__(*given, **how)
            loaded.append(how["experimental_op_resolver_type"])

    monkeypatch.setattr(interpreter, "Interpreter", Interpreter)
    path = tmp_path / "newer.tflite"
    path.write_bytes(write_operator(operator, operands, [result], options, version=version))
    given = [(np.arange(6).reshape(shape) % 4 - 2).astype(dtype) for shape, dtype, data in operands if data is None]
    (newer,), (usual,) = (
        tuple(Session(str(path), "newer", ["out"], [], kernels)(given, False).values()) for kernels in ("reference", "usual"))
    kinds = interpreter.OpResolverType
    assert loaded == [kinds.BUILTIN_REF, kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES]
    np.testing.assert_array_equal(newer, usual)


def test_a_conjunction_of_stablehlo_has_no_reference_kernel(tmp_path: Path) -> None:
    path = tmp_path / "and.tflite"
    path.write_bytes(write_operator("STABLEHLO_AND", [t(6, dtype="bool")] * 2, [t(6, dtype="bool")]))
    assert litert.uses_other_kernels(transload.load(path))


def test_a_sum_of_segments_has_no_reference_kernel(tmp_path: Path) -> None:
    path = tmp_path / "segments.tflite"
    path.write_bytes(write_operator("SEGMENT_SUM", [t(4, 2), t(4, dtype="int32", data=[0, 0, 1, 1])], [t(2, 2)]))
    assert litert.uses_other_kernels(transload.load(path))
