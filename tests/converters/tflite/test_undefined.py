"""Where LiteRT says nothing of a model, and the verdict does: sums beyond its 32 bits, sums of nothing, small quotients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.verification.inputs import random_inputs
from transload.verification.verify import verify_conversion
from transload_converters.tflite.writer import ModelWriter, Sparsity

from tests.support.tflite_models import write_operator

pytest.importorskip("ai_edge_litert")


@pytest.mark.parametrize(("greatest", "scale", "status"), [(100, 9e-6, "passed"), (32767, 5e-9, "inconclusive")])
def test_products_beyond_32_bits(tmp_path: Path, greatest: int, scale: float, status: str) -> None:
    weights = np.full((9, 4), greatest, np.int16)
    content = write_operator(
        "BATCH_MATMUL", [((3, 9), "int16", None, ((1e-4,), (0,))), ((9, 4), "int16", weights, ((1e-4,), (0,)))],
        [((3, 4), "int16", None, ((scale,), (0,)))], {"adj_x": False, "adj_y": False, "asymmetric_quantize_inputs": False})
    file = tmp_path / "product.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    given = {next(iter(module.inputs)): np.repeat(np.array([[32767], [-5000], [12000]], np.int16), 9, axis=1)}
    verdict = verify_conversion(
        module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference", inputs=given)
    assert verdict.status == status, verdict
    if status == "inconclusive":
        assert "in 32 bits, which end at 2,147,483,647: those of" in verdict.why
        ours = next(iter(transload.run(transload.lower(module, "tosa"), given).values()))
        real = given[next(iter(given))].astype(float) @ weights * (1e-4 * 1e-4 / scale)
        assert np.abs(ours - np.clip(real, -32768, 32767)).max() <= 1


@pytest.mark.parametrize(("bias", "status"), [(-1000, "passed"), (-2_200_000_000, "inconclusive")])
def test_sums_with_a_bias_beyond_32_bits(bias: int, status: str, tmp_path: Path) -> None:
    """Of -3.5e9 steps LiteRT gave the greatest number."""
    content = write_operator(
        "CONV_2D", [
            ((1, 2, 2, 4), "int16", None, ((1e-3,), (0,))),
            ((3, 1, 1, 4), "int8", np.ones((3, 1, 1, 4), np.int8), ((1.6,), (0,))),
            ((3,), "int64", np.full(3, bias, np.int64), ((1.6e-3,), (0,)))],
        [((1, 2, 2, 3), "int16", None, ((1e-3,), (0,)))], {"stride_w": 1, "stride_h": 1, "padding": "VALID"})
    file = tmp_path / "product.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert verdict.status == status, verdict
    assert ("which end at 2,147,483,647" in verdict.why) == (status == "inconclusive")


def test_products_without_a_bias_have_sums_within_32_bits(tmp_path: Path) -> None:
    from transload_converters.tflite.undefined import undefined

    content = write_operator(
        "FULLY_CONNECTED", [((2, 4), "int16", None, ((1e-3,), (0,))), ((3, 4), "int8", np.ones((3, 4), np.int8), ((1.6,), (0,)))],
        [((2, 3), "int16", None, ((1e-3,), (0,)))], {})
    file = tmp_path / "product.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    assert not undefined(module, transload.lower(module, "top"), {"in0": np.full((2, 4), 32767, np.int16)})


@pytest.mark.parametrize("size", [0, 2])
def test_what_is_made_of_nothing_is_not_judged(tmp_path: Path, size: int) -> None:
    """LiteRT does not write the result; it was called wrong by whatever lay there."""
    from transload_converters.tflite.undefined import undefined

    content = write_operator(
        "SUM", [((3, 4, size), "int16", None, ((1e-2,), (0,))), ((1,), "int32", np.array([2], np.int32))],
        [((3, 4), "int16", None, ((1e-2,), (0,)))], {"keep_dims": False})
    file = tmp_path / "sum.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    why = undefined(module, transload.lower(module, "top"), {"in0": np.ones((3, 4, size), np.int16)})
    assert why.endswith("reduces nothing, and leaves in its result what was there") == (size == 0)
    assert bool(why) == (size == 0)


@pytest.mark.parametrize(("dtype", "status"), [("int8", "inconclusive"), ("uint8", "inconclusive"), ("int16", "inconclusive"),
                                               ("int32", "passed")])
@pytest.mark.parametrize("operator", ["MEAN", "SUM"])
def test_sums_of_plain_integers(operator: str, dtype: str, status: str, tmp_path: Path) -> None:
    """LiteRT makes 0 of the mean of 7 and 1, and conversions were called wrong for the 4."""
    file = tmp_path / "sum.tflite"
    file.write_bytes(write_operator(
        operator, [((3, 4), dtype), ((1,), "int32", np.array([1], np.int32))], [((3,), dtype)], {"keep_dims": False}))
    made = transload.convert(file, "stablehlo", tmp_path / "out")
    assert made.report.verification.status == status
    assert ("as if they were quantized" in str(made.report.verification)) == (status == "inconclusive")


@pytest.mark.parametrize(("dtype", "most"), [("int8", 2.0**29), ("int16", 2.0**13)])
def test_scales_beyond_its_multipliers_are_not_judged(dtype: str, most: float, tmp_path: Path) -> None:
    """A file may claim any; a target with a host computed what saturates, and was called wrong."""
    from transload_converters.tflite.undefined import undefined

    for factor, said in ((most * 0.99, False), (most, True)):
        content = write_operator(
            "FULLY_CONNECTED", [
                ((2, 4), dtype, None, ((0.5,), (0,))), ((3, 4), "int8", np.ones((3, 4), np.int8), ((2.0 * factor,), (0,)))],
            [((2, 3), dtype, None, ((1.0,), (0,)))], {})
        file = tmp_path / "product.tflite"
        file.write_bytes(content)
        why = undefined(transload.load(file), None, {})
        assert ("has no multipliers for such scales" in why) == said


@pytest.mark.parametrize(("activation", "status"), [("TANH", "inconclusive"), ("RELU_N1_TO_1", "passed")])
def test_an_activation_that_litert_leaves_out(activation: str, status: str, tmp_path: Path) -> None:
    floats = [((1, 4, 4, 2), "float32", None, None)]
    file = tmp_path / "sum.tflite"
    file.write_bytes(write_operator("ADD", floats * 2, floats, {"fused_activation_function": activation}))
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert verdict.status == status, verdict
    assert ("leaves out an activation that is fused" in verdict.why) == (status == "inconclusive")


@pytest.mark.parametrize(("beta", "status"), [(2.0, "passed"), (-2.0, "inconclusive")])
def test_a_softmax_by_a_factor_below_zero(beta: float, status: str, tmp_path: Path) -> None:
    """LiteRT gave all classes the same."""
    file = tmp_path / "softmax.tflite"
    file.write_bytes(write_operator(
        "SOFTMAX", [((4, 3), "int16", None, ((2e-4,), (0,)))], [((4, 3), "int16", None, ((2.0**-15,), (0,)))], {"beta": beta},
        version=3))
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert verdict.status == status and ("factor below 0" in verdict.why) == (status == "inconclusive"), verdict


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize(("numerator", "status"), [
    (1, "inconclusive"), (0, "inconclusive"), (20, "passed")])
def test_quotients_of_less_than_half_a_step(tmp_path: Path, kind: str, numerator: int, status: str) -> None:
    """Of -0.05 / 50 in steps of 0.02 LiteRT gives the least number, where it is 0; of 0 / 50 it gives 1."""
    zero = 128 if kind == "uint8" else 0
    divisors = np.array([1, 2, 3, 100], kind) + np.array(zero, kind)
    content = write_operator(
        "DIV", [((2, 4), kind, None, ((0.05,), (zero,))), ((4,), kind, divisors, ((0.5,), (zero,)))],
        [((2, 4), kind, None, ((0.02,), (zero,)))], {"fused_activation_function": "NONE"})
    file = tmp_path / "quotient.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    given = {next(iter(module.inputs)): np.full((2, 4), zero - numerator, kind)}
    verdict = verify_conversion(
        module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference", inputs=given)
    assert verdict.status == status, verdict
    assert ("less than half a step" in verdict.why) == (status == "inconclusive")
    ours = next(iter(transload.run(module, given).values())).astype(int) - zero
    real = np.broadcast_to(-numerator * 0.05 / (np.array([1, 2, 3, 100]) * 0.5) / 0.02, (2, 4))
    assert np.abs(ours - real.round()).max() <= 1


def test_a_softmax_of_floats_by_a_factor_far_below_zero(tmp_path: Path) -> None:
    """LiteRT takes the greatest number off before the factor turns them round, and divides infinities."""
    file = tmp_path / "softmax.tflite"
    file.write_bytes(write_operator("SOFTMAX", [((7,), "float32", None, None)], [((7,), "float32", None, None)], {"beta": -2e6}))
    module = transload.load(file)
    given = {key: np.array([3, -2, 1, 0, 5, -1, 2], np.float32) / 100 for key in module.inputs}
    verdict = verify_conversion(
        module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference", inputs=given)
    assert verdict.status == "inconclusive", verdict


def judged(tmp_path: Path, name: str, kind: str, scales: tuple[float, ...], options: dict[str, Any] | None = None) -> Any:
    """The verdict on an operator of tensors of some scales, the last of them that of its result; and our result, in steps."""
    content = write_operator(
        name, [((2, 8), kind, None, ((scale,), (0,))) for scale in scales[:-1]], [((2, 8), kind, None, ((scales[-1],), (0,)))],
        options or {})
    file = tmp_path / "far.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    near = np.arange(-8, 8).reshape(2, 8) * 16
    verdict = verify_conversion(
        module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference",
        inputs=dict.fromkeys(module.inputs, near.astype(kind)) if name == "GELU" else None)
    return verdict, transload.run(module, {key: np.full((2, 8), 100, kind) for key in module.inputs})["out0"]


@pytest.mark.parametrize(("name", "kind", "scales", "why"), [
    ("MUL", "int8", (1.0, 1.0, 1e-6), "in 32 bits"), ("SUB", "int8", (0.68, 5e-7, 1.2e-6), "in 32 bits"),
    ("SUB", "int16", (1.0, 1.0, 1e-6), "in 32 bits"), ("QUANTIZE", "int8", (1.0, 1e-8), "in 32 bits"),
    ("PRELU", "int8", (1.0, 1.0, 1e-6), "in 32 bits"), ("RELU_N1_TO_1", "int8", (1.0, 1e-8), "in 32 bits"),
    ("RELU6", "int16", (1e-6, 1e-10), "in 32 bits"), ("ABS", "int8", (1.0, 1e-8), "in 32 bits"),
    ("GELU", "int16", (0.012, 1e-5), "in a table of 16 bits"),
])
def test_results_far_beyond_their_type(tmp_path: Path, name: str, kind: str, scales: tuple[float, ...], why: str) -> None:
    options = {"approximate": True} if name == "GELU" else {}
    verdict, ours = judged(tmp_path, name, kind, scales, options)
    assert verdict.status == "inconclusive", verdict
    assert why in verdict.why
    assert name not in ("MUL", "QUANTIZE", "PRELU", "ABS") or (ours == np.iinfo(kind).max).all()


@pytest.mark.parametrize(("name", "scales"), [
    ("MUL", (1.0, 1.0, 1e-3)), ("ADD", (1.0, 1.0, 1e-4)), ("QUANTIZE", (1.0, 1e-5)), ("RELU6", (1.0, 1e-5))])
def test_results_beyond_their_type_are_judged(tmp_path: Path, name: str, scales: tuple[float, ...]) -> None:
    """As far as LiteRT counts, it saturates as the hub does."""
    verdict, _ = judged(tmp_path, name, "int8", scales)
    assert verdict.status in ("passed", "inconclusive") and not verdict.broken and "in 32 bits" not in verdict.why


def test_a_wrong_result_within_its_type_fails(tmp_path: Path) -> None:
    from transload_converters.tflite.undefined import undefined

    _, module = judged(tmp_path, "ADD", "int8", (0.1, 0.1, 0.2)), transload.load(tmp_path / "far.tflite")
    given = {key: np.full((2, 8), 100, np.int8) for key in module.inputs}
    assert undefined(module, transload.lower(module, "top"), given) == ""


def test_exponentials_up_to_infinity(tmp_path: Path) -> None:
    """Of int16: LiteRT's, as far as its table holds numbers; behind, where it has the least one or 0, the greatest."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    content = write_operator(
        "EXP", [((65536,), "int16", None, ((0.0035,), (0,)))], [((65536,), "int16", None, ((1e-4,), (0,)))], {})
    x = np.arange(-32768, 32768).astype(np.int16)
    judge = interpreter.Interpreter(model_content=content)
    judge.allocate_tensors()
    judge.set_tensor(judge.get_input_details()[0]["index"], x)
    judge.invoke()
    wanted = judge.get_tensor(judge.get_output_details()[0]["index"])
    (tmp_path / "exp.tflite").write_bytes(content)
    module = transload.load(tmp_path / "exp.tflite")
    (ours,) = transload.run(transload.lower(module, "tosa"), dict.fromkeys(module.inputs, x)).values()
    finite = x < 22464  # e^78.6 / 1e-4 is beyond float32
    np.testing.assert_array_equal(ours[finite], wanted[finite])
    assert (ours[~finite] == 32767).all() and (wanted[~finite] != 32767).all()


@pytest.mark.models
@pytest.mark.parametrize("name", ["tflm_keyword_scrambled_svdf_int8", "coral_mobilenet_v1_0.25_128_quant"])
def test_real_models_have_nothing_of_that(name: str, models: Path) -> None:
    """Results of 32 bits, as that of the first has, reach as far as there are numbers of 32 bits."""
    from transload_converters.tflite.undefined import undefined

    [path] = (models / "tflite" / name).glob("*.tflite")
    module = transload.load(path)
    hub = transload.lower(module, "top")
    assert undefined(module, hub, random_inputs(module, hub, 0)) == ""


@pytest.mark.parametrize("given", ["float32", "int8", "int16"])
@pytest.mark.parametrize("block", [1, 4, 16])
@pytest.mark.parametrize("weights", ["int8", "float32"])
def test_sparse_weights_that_litert_misreads(tmp_path: Path, given: str, block: int, weights: str) -> None:
    """What LiteRT computes of a sparse layer is asked beside what it computes of the same one with its zeros."""
    if weights == "float32" and (given != "float32" or block == 16):  # which LiteRT's usual kernels refuse
        return
    rng = np.random.default_rng(0)
    rows, columns = 4, 32
    mask = np.repeat(rng.integers(0, 2, (rows, columns // block)), block, 1)
    mask[0, :block] = 1
    held = (rng.integers(-127, 128, (rows, columns)) * mask).astype(weights)
    there = mask.reshape(rows, -1, block)[:, :, 0]
    segments = tuple(np.concatenate([[0], np.cumsum(there.sum(1))]).tolist())
    level = segments, tuple(np.nonzero(there)[1].tolist())
    sparsity = Sparsity((0, 1), (rows, level)) if block == 1 else Sparsity((0, 1, 2), (rows, level, block), (1,))

    def model(sparse: bool) -> Path:
        writer = ModelWriter()
        kind = None if given == "float32" else ([0.02], [0], 0)
        x = writer.add_tensor("x", (2, columns), given, quantization=kind)
        w = writer.add_tensor(
            "w", (rows, columns), weights, held[mask == 1].tobytes() if sparse else held,
            ([0.01], [0], 0) if weights == "int8" else None, sparsity=sparsity if sparse else None)
        y = writer.add_tensor("y", (2, rows), given, quantization=kind)
        writer.add_operator("FULLY_CONNECTED", [x, w, None], [y], {})
        writer.inputs, writer.outputs = [x], [y]
        file = tmp_path / f"{sparse}.tflite"
        file.write_bytes(writer.finish())
        return file

    x = rng.normal(size=(2, columns)) if given == "float32" else rng.integers(-99, 100, (2, columns))
    x = x.astype(given)
    made = transload.convert(model(True), out=tmp_path / "out", input_data={"x": x})
    assert made.verification is not None
    same = np.array_equal(transload.run(model(True), {"x": x})["y"], transload.run(model(False), {"x": x})["y"])
    right = (block == 16 and given != "int16") or weights == "float32"
    assert same and made.verification.status == ("passed" if right else "skipped" if given == "int8" else "inconclusive")
    if made.verification.status == "inconclusive":
        assert "LiteRT reads sparse weights of 8 bits in blocks of 1 x 16 alone" in made.verification.why


@pytest.mark.parametrize(("operator", "version", "status"), [
    ("FULLY_CONNECTED", 11, "passed"), ("CONV_2D", 8, "inconclusive"), ("TRANSPOSE_CONV", 5, "inconclusive")])
@pytest.mark.parametrize("said", ["INT32", "FLOAT32"])
def test_a_bias_of_32_bits_beside_activations_of_16(tmp_path: Path, operator: str, version: int, status: str, said: str) -> None:
    """LiteRT reads two numbers of it for one, where nothing says its type; the result was called wrong."""
    x, step = np.array([[[[1000, -500]]]], np.int16), ((1e-3,), (0,))
    bias = np.array([1000, 2000], np.int32)
    weights = np.array([[10, 20], [30, -40]], np.int8)
    shape: Any = (1, 2) if operator == "FULLY_CONNECTED" else (1, 1, 1, 2)
    kernel = weights if operator == "FULLY_CONNECTED" else weights[:, None, None]
    inputs: list[Any] = [
        (shape, "int16", None, step), (kernel.shape, "int8", kernel, ((1e-2,), (0,))), ((2,), "int32", bias, ((1e-5,), (0,)))]
    if operator == "TRANSPOSE_CONV":
        inputs = [((4,), "int32", np.array(shape, np.int32)), inputs[1], inputs[0], inputs[2]]
    strides = {} if operator == "FULLY_CONNECTED" else {"stride_w": 1, "stride_h": 1, "padding": "VALID"}
    options = {**strides, "quantized_bias_type": said}
    content = write_operator(operator, inputs, [(shape, "int16", None, step)], options, version=version)
    file = tmp_path / "bias.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    given = {next(iter(module.inputs)): x.reshape(shape)}
    lowered = transload.lower(module, "tosa")
    verdict = verify_conversion(module, lowered, hub=transload.lower(module, "top"), engine="reference", inputs=given)
    assert verdict.status == (status if said == "FLOAT32" else "passed"), verdict
    assert ("reads a bias of 32 bits" in verdict.why) == (verdict.status == "inconclusive")
    real = (x.reshape(2) * 1e-3 @ (weights.T * 1e-2) + bias * 1e-5) / 1e-3
    assert np.array_equal(next(iter(transload.run(lowered, given).values())).reshape(2), np.round(real))


@pytest.mark.parametrize(("given", "kind", "said"), [
    ("int8", "int8", "FLOAT32"), ("uint8", "uint8", "FLOAT32"), ("int16", "int8", "FLOAT32"), ("int16", "int16", "FLOAT32"),
    ("int16", "int16", "INT64")])
def test_a_bias_of_64_bits(tmp_path: Path, given: str, kind: str, said: str) -> None:
    """LiteRT reads half a number of it for one, beside activations of 8 bits or weights of 16; the result was called wrong."""
    step = ((1e-3,), (0,))
    weights, bias = np.array([[10, 20], [30, 4]], kind), np.array([1000, 2000])
    content = write_operator(
        "FULLY_CONNECTED",
        [((1, 2), given, None, step), ((2, 2), kind, weights, ((1e-2,), (0,))), ((2,), "int64", bias, ((1e-5,), (0,)))],
        [((1, 2), given, None, step)], {"quantized_bias_type": said}, version=11)
    file = tmp_path / "bias.tflite"
    file.write_bytes(content)
    module = transload.load(file)
    inputs = {next(iter(module.inputs)): np.array([[3, 5]], given)}
    lowered = transload.lower(module, "tosa")
    verdict = verify_conversion(module, lowered, hub=transload.lower(module, "top"), engine="reference", inputs=inputs)
    is_read = given == "int16" and (kind == "int8" or said == "INT64")
    assert verdict.status == ("passed" if is_read else "inconclusive"), verdict
    assert ("reads a bias of 64 bits" in verdict.why) == (not is_read)
    assert next(iter(transload.run(lowered, inputs).values())).tolist() == [[11, 21]]


@pytest.mark.parametrize(("operator", "kind", "version"), [
    ("SQRT", "int16", 1), ("SQRT", "int8", 1), ("RSQRT", "int8", 2), ("RSQRT", "int16", 3), ("DIV", "uint8", 1)])
def test_what_is_drawn_is_what_an_operator_takes(tmp_path: Path, operator: str, kind: str, version: int) -> None:
    """LiteRT refuses roots of negative numbers and quotients by zero: nothing was verified."""
    file, divides = tmp_path / "domain.tflite", operator == "DIV"
    given = ((8, 40), kind, None, ((0.01,), (0,)))
    result = ((8, 40), kind, None, ((0.5 if divides else 0.01,), (0,)))
    file.write_bytes(write_operator(
        operator, [given] * (2 if divides else 1), [result], {} if divides else None, version=version))
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert verdict.status == ("inconclusive" if divides else "passed"), verdict
    assert ("half a step" in verdict.why) == divides  # its small quotients are any number


@pytest.mark.parametrize("operator", ["TANH", "LOGISTIC"])
@pytest.mark.parametrize(("scale", "status"), [(2.66, "passed"), (4.17, "passed"), (16 / 3, "passed"), (6.0, "inconclusive")])
def test_bent_functions_of_large_steps(tmp_path: Path, operator: str, scale: float, status: str) -> None:
    """Those of more than 2.67 were refused; LiteRT's product wraps round beyond 5.33."""
    file = tmp_path / "bent.tflite"
    x = np.arange(-(1 << 15), 1 << 15).astype(np.int16)
    file.write_bytes(write_operator(
        operator, [(x.shape, "int16", None, ((scale,), (0,)))], [(x.shape, "int16", None, ((2.0**-15,), (0,)))], version=3))
    module = transload.load(file)
    inputs = {next(iter(module.inputs)): x}
    lowered = transload.lower(module, "tosa")
    verdict = verify_conversion(module, lowered, hub=transload.lower(module, "top"), engine="reference", inputs=inputs)
    assert verdict.status == status, verdict
    assert ("beyond 32 bits" in verdict.why) == (status != "passed")
    ends = {"TANH": (-32767, 32767), "LOGISTIC": (1, 32767)}[operator]
    found = next(iter(transload.run(lowered, inputs).values()))
    assert (found[:2].tolist(), found[-2:].tolist()) == ([ends[0]] * 2, [ends[1]] * 2)


@pytest.mark.parametrize(("operator", "function"), [("EQUAL", np.equal), ("NOT_EQUAL", np.not_equal), ("LESS", np.less)])
@pytest.mark.parametrize(("dtype", "zero"), [("uint8", 255), ("int8", 3), ("int16", 0)])
@pytest.mark.parametrize("scale", [0.5, 3.7])
def test_comparisons_of_steps_of_1_and_more(
    tmp_path: Path, operator: str, function: Any, dtype: str, zero: int, scale: float,
) -> None:
    """LiteRT has no multipliers for such; right results were called wrong."""
    step = ((scale,), (zero,))
    file = tmp_path / "compare.tflite"
    file.write_bytes(write_operator(operator, [((4,), dtype, None, step)] * 2, [((4,), "bool")], version=2 + (dtype == "int16")))
    module = transload.load(file)
    given = dict(zip(module.inputs, (np.array([0, 1, 2, 9], dtype), np.array([0, 2, 2, 3], dtype)), strict=True))
    lowered = transload.lower(module, "tosa")
    verdict = verify_conversion(module, lowered, hub=transload.lower(module, "top"), engine="reference", inputs=given)
    is_right = scale < 1 or (dtype == "int16" and operator == "LESS")  # orders of 16 bits go by what is stored
    assert verdict.status == ("passed" if is_right else "inconclusive"), verdict
    assert ("multipliers below 1" in verdict.why) != is_right
    assert np.array_equal(next(iter(transload.run(lowered, given).values())), function(*given.values()))


@pytest.mark.parametrize(("byte", "status"), [(1, "passed"), (72, "inconclusive")])
def test_truths_that_are_other_bytes(byte: int, status: str, tmp_path: Path) -> None:
    """LiteRT's `and` of 72 and 1 is 0."""
    file = tmp_path / "and.tflite"
    truths = np.array([byte, 0, byte, byte, 0], np.uint8).view(np.bool_)
    file.write_bytes(write_operator(
        "LOGICAL_AND", [((5,), "bool", truths, None), ((4, 5), "bool", None, None)], [((4, 5), "bool", None, None)], {}))
    module = transload.load(file)
    verdict = verify_conversion(module, transload.lower(module, "tosa"), hub=transload.lower(module, "top"), engine="reference")
    assert verdict.status == status and ("bytes other than 0 and 1" in verdict.why) == (status == "inconclusive"), verdict


@pytest.mark.parametrize(("operator", "count", "dtype", "status"), [
    *[("MUL", 2, each, "inconclusive") for each in ("int8", "uint8")], ("MUL", 2, "int16", "passed"),
    *[("DIV", 2, each, "inconclusive") for each in ("int8", "uint8", "int16")], ("PRELU", 2, "uint8", "inconclusive"),
    *[(name, 1, each, "inconclusive") for name in ("RELU", "RELU6") for each in ("int8", "uint8", "int16")],
    *[("BATCH_MATMUL", 2, each, "inconclusive") for each in ("int8", "int16")], ("MAXIMUM", 2, "int8", "passed")])
def test_products_and_activations_of_plain_integers(operator: str, count: int, dtype: str, status: str, tmp_path: Path) -> None:
    """LiteRT makes zeros of all of them, whatever is given, and conversions were called wrong for it."""
    file = tmp_path / "plain.tflite"
    version = 1 if dtype == "uint8" else 3 if operator == "BATCH_MATMUL" else 2
    file.write_bytes(write_operator(operator, [((3, 3), dtype)] * count, [((3, 3), dtype)], version=version))
    made = transload.convert(file, "tosa", tmp_path / "out")
    assert made.report.verification.status == status
    assert ("as if they were quantized" in str(made.report.verification)) == (status == "inconclusive")


@pytest.mark.parametrize(("dtype", "status"), [("uint32", "inconclusive"), ("int32", "passed")])
def test_an_activation_that_begins_below_zero(dtype: str, status: str, tmp_path: Path) -> None:
    """LiteRT makes ones of all products of unsigned numbers, and conversions were called wrong for the zeros."""
    file = tmp_path / "unsigned.tflite"
    file.write_bytes(write_operator(
        "MUL", [((3, 3), dtype)] * 2, [((3, 3), dtype)], {"fused_activation_function": "RELU_N1_TO_1"}))
    found = transload.convert(file, "tosa", tmp_path / "out", options={"int64": "assumed"}).report.verification
    assert found.status == status and ("unsigned type" in str(found)) == (status == "inconclusive")


@pytest.mark.parametrize(("columns", "corners", "told"), [
    (16384, False, True), (16382, False, False), (16386, True, False), (24576, False, False), (20480, True, True)])
def test_places_in_images_beyond_what_chips_resize(columns: int, corners: bool, told: bool, tmp_path: Path) -> None:
    """A sixth of so many columns is no whole number of 1024ths, and what stands in for the chip's operator has exact places."""
    from transload_converters.tflite.undefined import undefined

    kind = ((0.01,), (0,))
    content = write_operator(
        "RESIZE_BILINEAR", [((1, 4, columns, 1), "int16", None, kind), ((2,), "int32", np.array([4, 6], np.int32), None)],
        [((1, 4, 6, 1), "int16", None, kind)], {"align_corners": corners})
    file = tmp_path / "resize.tflite"
    file.write_bytes(content)
    assert ("1024ths" in undefined(transload.load(file), None, {})) == told


@pytest.mark.parametrize(("offset", "told"), [(True, True), (False, False)])
def test_an_ellipsis_beside_offsets_is_not_judged(offset: bool, told: bool, tmp_path: Path) -> None:
    """LiteRT reads what lies beyond the tensor: its own two runs differ."""
    from transload_converters.tflite.undefined import undefined

    ends = [((2,), "int32", np.array(numbers, np.int32), None) for numbers in ([-1, 2], [3, 4], [1, 1])]
    content = write_operator("STRIDED_SLICE", [((6, 7), "float32", None, None), *ends], [((3, 4), "float32", None, None)],
                             {"ellipsis_mask": 2, "offset": offset})
    file = tmp_path / "slice.tflite"
    file.write_bytes(content)
    assert ("ellipsis" in undefined(transload.load(file), None, {})) == told
