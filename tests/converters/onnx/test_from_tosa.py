"""TOSA to ONNX: every operator of the catalogue in onnxruntime, at its levels of optimization, against our kernels of TOSA."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import transload
from transload.errors import ConversionError
from transload.ir import F32, F64, I8, I16, I32, I48, TensorType, dtype_of, new_module, set_results
from transload.ir.attributes import FloatAttr, IntAttr
from transload.ir.build import Builder
from transload.ir.registry import dialect
from transload.plugin_host import host
from transload_converters.onnx.writer import model_of
from transload_plugins.tosa.build import rescale

from tests.support import tosa_catalogue as catalogue
from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_out.operators import outcome_of
from tests.support.onnx_out.roundtrip import run_model
from tests.support.tflite_ops.measure import all_cases

DIGITS = Path(__file__).parents[3] / "examples" / "digits"

UNKNOWN = ("bf16", "f8")
"""Types that onnxruntime's Python has no arrays of."""

REFUSED = {"tosa.fft2d", "tosa.rfft2d", "tosa.custom", "tosa.variable", "tosa.variable_read", "tosa.variable_write"}

OPERATORS = sorted({case.op for case in catalogue.all_cases()} - REFUSED)


def in_onnxruntime(module: Any, inputs: dict[str, np.ndarray], bits: str = "64") -> list[list[np.ndarray]]:
    """What onnxruntime gives of a module, without and with its optimizations; the file is one that ONNX's checker takes."""
    lowered = transload.lower(module, "onnx", bits=bits)
    if bits == "32":
        assert not any(value.element_or_none == F64 for op in lowered.ops() for value in op.results)
    model = model_of(lowered)
    onnx.checker.check_model(model, full_check=True)
    given = dict(zip(lowered.inputs, inputs.values(), strict=True))
    return [run_model(model, given, optimized) for optimized in (False, True)]


OTHERWISE = {
    "tosa.erf": newer_onnxruntime("gives 1 of NaN"),
    "tosa.matmul_t": newer_onnxruntime("makes FusedMatMul of integers, which it has no kernel of")}


@pytest.mark.parametrize("operator", [pytest.param(name, marks=OTHERWISE.get(name, ())) for name in OPERATORS])
def test_operator(operator: str) -> None:
    cases = [case for case in catalogue.all_cases() if case.op == operator and not any(word in str(case) for word in UNKNOWN)]
    module, inputs = catalogue.graph_of(cases)
    wanted = transload.run(module, inputs)
    for given in in_onnxruntime(module, inputs):
        for (name, ours), theirs in zip(wanted.items(), given, strict=True):
            if ours.dtype.kind == "f":
                exact = np.finfo(ours.dtype).eps * 64
                np.testing.assert_allclose(theirs, ours, rtol=exact, atol=exact * np.abs(ours[np.isfinite(ours)]).max(initial=1),
                                           err_msg=name)
            else:
                np.testing.assert_array_equal(theirs, ours, err_msg=name)


INF, NAN = np.inf, np.nan
ROWS = np.array([
    [INF, -INF, NAN, 0.5], [NAN, NAN, NAN, NAN], [-INF, -INF, NAN, -INF], [NAN, -INF, 3, INF], [NAN, -INF, -INF, -INF],
    [1, 2, 3, NAN], [NAN, 1, 2, 0], [-INF, NAN, -INF, NAN], [INF, NAN, NAN, INF], [5, 7, 7, -INF]], np.float32)
"""Numbers among NaNs, in all orders of infinities."""


@pytest.mark.parametrize("mode", ["PROPAGATE", "IGNORE"])
@pytest.mark.parametrize("name", ["argmax", "reduce_max", "reduce_min", "maximum", "minimum", "clamp", "max_pool2d"])
def test_nans_win_or_are_passed_over(name: str, mode: str) -> None:
    """In the hub, and in onnxruntime but for what that does not say of NaN."""
    attributes: dict[str, Any] = {"nan_mode": mode}
    operands = [ROWS]
    if name == "clamp":
        attributes |= {"min_val": FloatAttr(-1.0, F32), "max_val": FloatAttr(2.0, F32)}
    elif name == "max_pool2d":
        attributes |= {"kernel": (3, 2), "stride": (1, 2), "pad": (1, 1, 0, 0)}
        operands = [ROWS.reshape(1, 5, 8, 1)]
    elif name in ("maximum", "minimum"):
        operands = [ROWS, np.roll(ROWS, 3).copy()]
    else:
        attributes["axis"] = 1
    module, inputs = catalogue.graph_of([catalogue.Case(f"tosa.{name}", operands, None, attributes)])
    (wanted,) = transload.run(module, inputs).values()
    (of_hub,) = transload.run(transload.legalize(module), inputs).values()
    np.testing.assert_array_equal(of_hub, wanted)
    if mode == "IGNORE" or name != "max_pool2d":
        for (theirs,) in in_onnxruntime(module, inputs):
            np.testing.assert_array_equal(theirs, wanted)


@pytest.mark.parametrize("element", [I8, I16], ids=str)
def test_limits_at_the_ends_of_a_type(element: Any) -> None:
    """Clip to the least number is no Clip without limits."""
    low, high = element.range
    numbers = np.array([low, low + 1, -1, 0, 1, high - 1, high], dtype_of(element))
    cases = [catalogue.Case("tosa.clamp", [numbers], None, {"min_val": IntAttr(a, element), "max_val": IntAttr(b, element)})
             for a, b in ((low, low), (high, high), (low, high), (low, 0), (0, high))]
    module, inputs = catalogue.graph_of(cases)
    wanted = transload.run(module, inputs)
    for given in in_onnxruntime(module, inputs):
        for ours, theirs in zip(wanted.values(), given, strict=True):
            np.testing.assert_array_equal(theirs, ours)


def test_every_operator_has_a_rewrite_or_a_reason() -> None:
    table = host().table("tosa-to-onnx")
    shapes = {name for name in dialect("tosa").ops if name.endswith("_shape") or name == "tosa.dim"} - {"tosa.const_shape"}
    assert not [name for name in dialect("tosa").ops if name not in table and name not in shapes]
    assert {name for name in dialect("tosa").ops if name in table and table.refusal(name)} == REFUSED


@pytest.mark.one_in(3)
@pytest.mark.parametrize("operator", [
    "ADD", "AVERAGE_POOL_2D", "CONV_2D", "FULLY_CONNECTED", "LOGISTIC", "MINIMUM", "RESIZE_BILINEAR", "SOFTMAX",
    "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_models_of_one_quantized_operator(operator: str) -> None:
    """A few of each; `python -m tests.support.onnx_out.operators` takes all of all."""
    outcomes = Counter(map(outcome_of, [case for case in all_cases() if case.op == operator][::9]))
    assert set(outcomes) <= {"same", None}, outcomes


@pytest.mark.one_in(3)
@pytest.mark.parametrize("operator", [
    "ADD", "AVERAGE_POOL_2D", "CONV_2D", "FULLY_CONNECTED", "LOGISTIC", "MEAN", "MUL", "RESIZE_BILINEAR", "SOFTMAX",
    "TRANSPOSE_CONV"])
def test_models_of_one_quantized_operator_in_32_bits(operator: str) -> None:
    """The same integers without numbers of 64 bits, or a refusal: of sums of 16-bit numbers that need more."""
    outcomes = Counter(outcome_of(case, bits="32") for case in [case for case in all_cases() if case.op == operator][::7])
    assert set(outcomes) <= {"same", "refused", None} and outcomes["same"], outcomes


BITS = ["tosa.mul", "tosa.arithmetic_right_shift", "tosa.logical_left_shift", "tosa.clz", "tosa.greater", "tosa.greater_equal",
        "tosa.equal", "tosa.reduce_sum", "tosa.clamp", "tosa.abs", "tosa.negate", "tosa.rescale", "tosa.conv2d", "tosa.conv3d",
        "tosa.depthwise_conv2d", "tosa.transpose_conv2d", "tosa.matmul", "tosa.avg_pool2d", "tosa.cast"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("operator", BITS)
def test_operator_in_32_bits(operator: str) -> None:
    """What needs more than 32 bits is refused, case by case, and all else is the same."""
    cases = [case for case in catalogue.all_cases()
             if case.op == operator and np.asarray(case.operands[0]).dtype.kind in "iub"
             and not any(word in str(case) for word in UNKNOWN)]
    module, inputs = catalogue.in_32_bits(cases)
    wanted = transload.run(module, inputs)
    for given in in_onnxruntime(module, inputs, "32"):
        for (name, ours), theirs in zip(wanted.items(), given, strict=True):
            np.testing.assert_array_equal(theirs, ours, err_msg=name)


@pytest.mark.parametrize(("a", "b"), [*itertools.product((-(1 << 31), -5, -1, 0, 1, 77, (1 << 31) - 1), repeat=2)])
def test_wide_numbers_in_32_bits(a: int, b: int) -> None:
    """Rounded products of 64 bits, and order: of the ends of i32, and of what lies beside each other."""
    pair = [np.array([a, a, a - (a > 0), 12345678], np.int32), np.array([b, a, a, b], np.int32)]
    relations = [catalogue.Case(name, pair) for name in ("tosa.greater", "tosa.greater_equal", "tosa.equal")]
    cases = [catalogue.Case("tosa.mul", [*pair, catalogue.Const(np.array([33], np.int8))]), *relations]
    module, inputs = catalogue.graph_of(cases)
    wanted = transload.run(module, inputs)
    for given in in_onnxruntime(module, inputs, "32"):
        for ours, theirs in zip(wanted.values(), given, strict=True):
            np.testing.assert_array_equal(theirs, ours)


@pytest.mark.parametrize(("dtype", "length", "zeros"), [
    (np.int8, 1500, (0, 0)), (np.int8, 700, (-128, 127)), (np.int16, 1, (0, 0))], ids=str)
@pytest.mark.parametrize("name", ["tosa.matmul", "tosa.matmul_t"])
def test_long_products_of_matrices_in_32_bits(name: str, dtype: Any, length: int, zeros: tuple[int, int]) -> None:
    """Whose sums f32 does not hold: of stretches and bytes, at the ends of the type."""
    rng, ends = np.random.default_rng(3), np.iinfo(dtype)
    a = rng.choice([ends.min, ends.max - 1, ends.max], (2, 3, length)).astype(dtype)
    b = rng.choice([ends.min, ends.min + 1, ends.max], (2, length, 4)).astype(dtype)
    points = [catalogue.Const(np.array([zero], dtype)) for zero in zeros]
    factors = [a, b if name == "tosa.matmul" else np.ascontiguousarray(b.transpose(0, 2, 1))]
    cases = [catalogue.Case(name, [*factors, *points], I32 if dtype == np.int8 else I48, version="1.1")]
    module, inputs = catalogue.graph_of(cases)
    (wanted,) = transload.run(module, inputs).values()
    for (given,) in in_onnxruntime(module, inputs, "32"):
        np.testing.assert_array_equal(given, wanted)


def test_products_of_more_than_32_bits_are_refused() -> None:
    factors, points = [np.zeros((1, 1, 2), np.int16), np.zeros((1, 2, 1), np.int16)], [catalogue.Const(np.zeros(1, np.int16))] * 2
    module, _ = catalogue.graph_of([catalogue.Case("tosa.matmul", [*factors, *points], I48)])
    with pytest.raises(ConversionError, match="may need more than 32 bits"):
        transload.lower(module, "onnx", bits="32")


@pytest.mark.parametrize("bits", ["64", "32"])
def test_floats_beyond_the_integers_are_their_ends(bits: str) -> None:
    x = np.array([3e9, -3e9, 2147483520, 2147483648, -2147483648, INF, -INF, NAN, 1.5, 2.5], np.float32)
    module, inputs = catalogue.graph_of([catalogue.Case("tosa.cast", [x], I32)])
    (wanted,) = transload.run(module, inputs).values()
    assert wanted[0] == 2147483647
    for (given,) in in_onnxruntime(module, inputs, bits):
        np.testing.assert_array_equal(given, wanted)


FORMS = list(itertools.product((I8, I16, I32), (I8, I16, I32), (False, True)))


@pytest.mark.parametrize("bits", ["64", "32"])
@pytest.mark.parametrize(("source", "target", "twice"), FORMS, ids=str)
def test_rescale_at_the_ends_of_its_numbers(source: Any, target: Any, twice: bool, bits: str) -> None:
    """In f64 or i64, or in digits: small and large shifts, multipliers of one bit and of all, ties, zero points."""
    rng = np.random.default_rng(5)
    low, high = source.range
    module = new_module()
    function = module.add_function("main", [])
    block = function.regions[0].block
    builder = Builder(block)
    results, inputs = [], {}
    for index, shift in enumerate((2, 9, 14, 30, 31, 32, 33, 38, 44, 46, 53, 62)):
        multiplier = [1 << 30, (1 << 31) - 1, 1, int(rng.integers(1 << 29, 1 << 31))][index % 4]
        middle = [(m << shift) // max(multiplier, 1) // 2 for m in (-255, -3, -1, 1, 3, 255)]  # beside ties
        near = [value + step for value in middle for step in (-1, 0, 1)]
        ends = [low, low + 1, -1, 0, 1, high - 1, high]
        numbers = np.clip(np.array([*near, *ends, *rng.integers(low, high, 9)], object), low, high)
        zero_in, zero_out = (int(rng.integers(-128, 128)) if each == I8 else 0 for each in (source, target))
        name = f"x{index}"
        inputs[name] = np.array(numbers, dtype_of(source))
        x = block.add_argument(TensorType(inputs[name].shape, source), name)
        results.append(rescale(
            builder, x, [multiplier], [shift], zero_in, zero_out, target, rounding="DOUBLE_ROUND" if twice else "SINGLE_ROUND"))
    set_results(function, results, [f"y{index}" for index in range(len(results))])
    function.attributes["arg_attrs"] = [{"ml_program.identifier": name} for name in inputs]
    wanted = transload.run(module, inputs)
    for given in in_onnxruntime(module, inputs, bits):
        for ours, theirs in zip(wanted.values(), given, strict=True):
            np.testing.assert_array_equal(theirs, ours)


@pytest.mark.parametrize(("name", "scheme"), [
    ("digits_float.onnx", "int8"), ("digits_float.tflite", "int8-asym"), ("digits_float.tflite", "int16x8")])
def test_a_quantized_model_gives_its_own_integers(name: str, scheme: str) -> None:
    """What rounds twice is written in integers, and onnxruntime gives the bits of the hub; what rounds once is QDQ."""
    shape = (1, 1, 8, 8) if name.endswith("onnx") else (1, 8, 8, 1)
    images = np.load(DIGITS / "test_images.npz")["images"] / np.float32(16)
    samples = [{"image": image.reshape(shape)} for image in images[:20]]
    model = transload.load(DIGITS / name)
    quantized = transload.quantize(model, scheme, samples[:16], islands="none")
    lowered = transload.lower(quantized, "onnx")
    written = model_of(lowered)
    onnx.checker.check_model(written, full_check=True)
    assert not {"QuantizeLinear", "DequantizeLinear"} & {node.op_type for node in written.graph.node}
    assert lowered.inputs == quantized.inputs and lowered.outputs == quantized.outputs
    for sample in samples[16:]:
        ours = transload.run(quantized, sample)["probabilities"]
        for optimized in (False, True):
            np.testing.assert_array_equal(run_model(written, sample, optimized)[0], ours)
    once = transload.quantize(model, scheme, samples[:16], islands="none", rounds="once")
    names = {op.name for op in transload.lower(once, "onnx").ops()}
    assert "onnx.QuantizeLinear" in names and "onnx.Floor" not in names
    assert "onnx.QuantizeLinear" in {op.name for op in transload.lower(quantized, "onnx", form="qdq").ops()}
