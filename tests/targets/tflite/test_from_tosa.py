"""TOSA's integers in LiteRT, to the last bit, without the floats of 64 bits that it has not: or a refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import I32, I48
from transload.plugin_host import host

from tests.support import tosa_catalogue as catalogue

OPERATORS = (
    "avg_pool2d", "conv2d", "conv3d", "depthwise_conv2d", "transpose_conv2d", "matmul", "rescale", "resize", "negate", "mul")


def _in_litert(module: transload.Module, inputs: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    made = transload.convert(module, "tflite", folder, verify=False)
    assert not any("f64" in note for note in made.report.notes)
    kernels = litert.OpResolverType.BUILTIN_REF
    run = litert.Interpreter(str(next(folder.glob("*.tflite"))), experimental_op_resolver_type=kernels).get_signature_runner()
    found: dict[str, np.ndarray] = run(**inputs)
    return found


@pytest.mark.parametrize("operator", OPERATORS)
def test_integers_are_the_same(operator: str, tmp_path: Path) -> None:
    cases = [case for case in catalogue.all_cases()
             if case.op == f"tosa.{operator}" and np.asarray(case.operands[0]).dtype.kind == "i"]
    module, inputs = catalogue.in_32_bits(cases[::5] if operator == "rescale" else cases)
    wanted = transload.run(module, inputs)
    found = _in_litert(module, inputs, tmp_path)
    for name, ours in wanted.items():
        np.testing.assert_array_equal(found[name], ours, err_msg=name)


def test_long_products_are_the_same(tmp_path: Path) -> None:
    """Sums that f32 does not hold."""
    rng, zero = np.random.default_rng(4), catalogue.Const(np.array([-128], np.int8))
    a, b = rng.integers(0, 128, (1, 2, 1400)).astype(np.int8), rng.integers(100, 128, (1, 1400, 3)).astype(np.int8)
    module, inputs = catalogue.graph_of([catalogue.Case("tosa.matmul", [a, b, zero, zero], I32)])
    (wanted,) = transload.run(module, inputs).values()
    assert np.abs(wanted).max() > 1 << 24
    (found,) = _in_litert(module, inputs, tmp_path).values()
    np.testing.assert_array_equal(found, wanted)


def test_what_needs_more_is_refused(tmp_path: Path) -> None:
    a, b = np.ones((1, 2, 9), np.int16), np.ones((1, 9, 3), np.int16)
    points = [catalogue.Const(np.zeros(1, np.int16))] * 2
    module, _ = catalogue.graph_of([catalogue.Case("tosa.matmul", [a, b, *points], I48)])
    with pytest.raises(ConversionError, match="may need more than 32 bits"):
        transload.convert(module, "tflite", tmp_path, verify=False)


@pytest.mark.parametrize("target", ["tflite", "tflm", "coreml", "openvino"])
def test_targets_without_numbers_of_64_bits_say_so(target: str) -> None:
    assert host().targets[target].converting["tosa-to-onnx.bits"] == "32"
