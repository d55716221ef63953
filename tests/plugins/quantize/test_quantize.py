"""From a float module and samples to integers: accuracy, what stays float, the table, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.api import at_hub
from transload.errors import ReadError, UsageError
from transload.ir import I16, I32, Module, update_function_type
from transload.ir.build import constant_of
from transload.ir.compare import difference
from transload.journey import Journey, Stage
from transload.quantization import quantize_at_hub
from transload_plugins.quantize.calibration import Calibration, calibrate
from transload_plugins.quantize.observe import observed
from transload_plugins.quantize.scheme import SCHEMES, stored

from tests.support.graphs import Graph
from tests.support.tflite_models import read_bytes, write_operator

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
SAMPLES = 32


@pytest.fixture(scope="module", params=["digits_float.tflite", "digits_float.onnx"])
def hub(request: pytest.FixtureRequest) -> Module:
    return at_hub(transload.load(DIGITS / request.param))


@pytest.fixture(scope="module")
def samples(hub: Module) -> list[dict[str, np.ndarray]]:
    images = np.load(DIGITS / "test_images.npz")["images"][:120] / np.float32(16)
    shape = hub.body_of_main.arguments[0].static_shape
    return [{"image": image.reshape(shape)} for image in images]


def outputs(module: Module, samples: list[dict[str, np.ndarray]]) -> np.ndarray:
    return np.concatenate([transload.run(module, sample, engine="reference")["probabilities"] for sample in samples])


def sqnr(reference: np.ndarray, actual: np.ndarray) -> float:
    return float(10 * np.log10(np.sum(reference ** 2) / np.sum((reference - actual) ** 2)))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("scheme", "decibels"), [("int8", 30.0), ("int8-asym", 30.0), ("int16x8", 40.0)])
def test_the_quantized_module_computes_what_the_float_one_does(
    hub: Module, samples: list[dict[str, np.ndarray]], scheme: str, decibels: float,
) -> None:
    quantized = transload.quantize(hub, scheme, samples[:SAMPLES])
    fresh = samples[SAMPLES:]
    expected, actual = outputs(hub, fresh), outputs(quantized, fresh)
    assert sqnr(expected, actual) > decibels
    assert np.mean(actual.argmax(1) == expected.argmax(1)) >= 0.98


def test_a_module_that_is_quantized_already_is_quantized_anew(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    quantized = transload.quantize(hub, "int8", samples[:4], islands="none")
    made = transload.quantize(quantized, "int16x8", samples[:4])
    held = {op.result.quant.storage for op in made.ops() if op.name == "top.Conv" and op.result.quant is not None}
    assert held == {I16}
    fresh = samples[SAMPLES:SAMPLES + 16]
    assert sqnr(outputs(quantized, fresh), outputs(made, fresh)) > 25.0


def test_what_is_rounded_once_is_what_onnxruntime_computes(
    hub: Module, samples: list[dict[str, np.ndarray]], tmp_path: Path,
) -> None:
    """As LiteRT rounds, twice, numbers near the middle of two become the other one: through a network they add up."""
    onnxruntime = pytest.importorskip("onnxruntime")
    far = {}
    for rounds in (None, "once"):
        quantized = transload.quantize(hub, "int8", samples[:SAMPLES], islands="none", rounds=rounds)
        path = transload.save(transload.lower(quantized, "onnx", form="qdq", weights="unsigned"), tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        theirs = np.concatenate([session.run(["probabilities"], dict(sample))[0] for sample in samples[SAMPLES:]])
        far[rounds] = np.mean(outputs(quantized, samples[SAMPLES:]) != theirs)
        tosa = transload.lower(quantized, "tosa")
        assert np.array_equal(outputs(tosa, samples[:2]), outputs(quantized, samples[:2]))
    assert far["once"] < 0.01 and far["once"] <= far[None]
    with pytest.raises(UsageError, match="cannot be rounded by 'thrice'"):
        transload.quantize(hub, "int8", samples[:4], rounds="thrice")


def test_every_op_that_computes_is_quantized(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    quantized = transload.quantize(hub, "int8-asym", samples[:4])
    for op in quantized.ops():
        if op.results and op.name not in ("top.Cast", "top.Weight"):
            assert op.result.quant is not None, op


def test_tosa_gives_the_same_bits(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    quantized = transload.quantize(hub, "int8-asym", samples[:SAMPLES])
    lowered = transload.lower(quantized, "tosa")
    np.testing.assert_array_equal(outputs(lowered, samples[:8]), outputs(quantized, samples[:8]))


def test_bias_correction_brings_sums_nearer(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    fresh = samples[SAMPLES:]
    hub = hub.clone()
    end = hub.body_of_main.terminator
    end.operands = (end.operands[0].op.operands[0],)  # of probabilities few samples decide
    update_function_type(hub.main)
    expected = outputs(hub, fresh)
    without = transload.quantize(hub, "int8", samples[:SAMPLES], bias_correction=False)
    corrected = transload.quantize(hub, "int8", samples[:SAMPLES])
    assert sqnr(expected, outputs(corrected, fresh)) > sqnr(expected, outputs(without, fresh))


def test_the_argument_is_unchanged(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    before = transload.text.print_module(hub)
    transload.quantize(hub, "int8", samples[:2])
    assert transload.text.print_module(hub) == before


def test_tensors_that_are_named_stay_float(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    quantized = transload.quantize(hub, "int8-asym", samples[:4], floats={"probabilities": "asked for"})
    kept = {op.origin for op in quantized.ops() if op.name == "top.Softmax" and op.result.quant is None}
    assert kept == {"probabilities"}


def test_operands_of_a_concatenation_share_a_type() -> None:
    g = Graph((1, 4))
    (x,) = g.inputs
    module = g.done(g.Concat(g.Mul(x, 3.0), g.Relu(x), axis=1))
    quantized = transload.quantize(module, "int8-asym", [{"x0": np.array([[-1, 0, 1, 2]], np.float32)}])
    concat = next(op for op in quantized.ops() if op.name == "top.Concat")
    assert len({value.element for value in (*concat.operands, concat.result)}) == 1
    assert concat.result.quant is not None


def test_a_relu_is_folded_into_the_range() -> None:
    g = Graph((4,))
    (x,) = g.inputs
    module = g.done(g.Relu(g.Add(x, x)))
    quantized = transload.quantize(
        module, "int8-asym", [{"x0": np.array([-100, 0, 1, 2], np.float32)}], method="minmax", islands="none", room=False)
    add = next(op for op in quantized.ops() if op.name == "top.Add")
    assert add.result.quant is not None
    assert add.result.quant.zero_point == -128
    assert add.result.quant.scale == pytest.approx(4 / 255)


# --- the table

def test_a_table_comes_back_as_it_was(hub: Module, samples: list[dict[str, np.ndarray]], tmp_path: Path) -> None:
    made = calibrate(hub, samples[:3])
    again = Calibration.load(made.save(tmp_path / "digits.table"))
    assert list(again.ranges) == list(made.ranges) == list(observed(hub))
    assert (again.samples, again.method) == (3, "mse")
    np.testing.assert_allclose(list(again.ranges.values()), list(made.ranges.values()), atol=1e-6)
    transload.quantize(hub, "int8", calibration=again)


def test_a_table_of_tpu_mlir_is_read(tmp_path: Path) -> None:
    path = tmp_path / "other.table"
    path.write_text(
        "# genated time: 2022-08-11 10:00:59.743675\n# histogram number: 2048\n# sample number: 100\n# tune number: 5\n###\n"
        "# op_name  threshold  min  max\nimages 1.0000080 0.0000000 1.0000080\n122 Conv 56.4281803 -102.5830231 97.6811752\n")
    found = Calibration.load(path)
    assert found.ranges == {"images": (0.0, 1.000008), "122 Conv": (-102.5830231, 97.6811752)}
    assert found.samples == 100


def test_the_histograms_lie_beside_the_table(hub: Module, samples: list[dict[str, np.ndarray]], tmp_path: Path) -> None:
    made = transload.calibrate(hub, samples[:3], "kl")
    again = Calibration.load(made.save(tmp_path / "digits.table"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["digits.table", "digits.table.npz"]
    for name, histogram in made.histograms.items():
        np.testing.assert_array_equal(again.histograms[name].counts, histogram.counts)
        assert again.histograms[name].farthest == histogram.farthest
    Calibration(made.ranges).save(tmp_path / "digits.table")
    assert not Calibration.load(tmp_path / "digits.table").histograms, "those beside it are not this table's"
    (tmp_path / "digits.table.npz").write_bytes(b"PK")
    with pytest.raises(ReadError, match=r"is not an \.npz of plain arrays"):
        Calibration.load(tmp_path / "digits.table")


def test_the_threshold_is_for_types_without_a_zero_point(tmp_path: Path) -> None:
    """As TPU-MLIR has it: the threshold cuts, the least and the greatest number are what was seen."""
    g = Graph((4,))
    (x,) = g.inputs
    module = g.done(g.Neg(x, location="y"))
    (tmp_path / "x.table").write_text("x0 2.0 -4.0 8.0\ny 2.0 -8.0 4.0\n")
    for scheme, scale in (("int8-sym", 2 / 127), ("int8-asym", 12 / 255)):
        quantized = transload.quantize(module, scheme, calibration=tmp_path / "x.table")
        types = {op.result.quant for op in quantized.ops() if op.results and op.result.quant is not None}
        assert [type_.scale for type_ in types if type_] == [pytest.approx(scale)] * len(types)


def test_16_bits_are_calibrated_for_16_bits(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    eight, sixteen = (transload.calibrate(hub, samples[:8], "mse", bits=bits) for bits in (8, 16))
    for name, histogram in sixteen.histograms.items():
        assert sixteen.threshold(name) >= max(eight.threshold(name), 0.99 * histogram.farthest)


@pytest.mark.parametrize(("text", "why"), [
    ("x 1 0 1\nx 2 0 1\n", "'x' has had a line before"), ("x -1 0 1\n", "the threshold -1, which is negative"),
    ("x 1 2 1\n", "least number 2, which is above the greatest, 1"), ("x inf 0 1\n", "not finite"),
    ("# nothing\n", "has no line"),
])
def test_a_table_that_means_nothing_is_refused_with_the_reason(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.table"
    path.write_text(text)
    with pytest.raises(ReadError, match=why):
        Calibration.load(path)


@pytest.mark.parametrize("line", ["images 1.0 0.0", "images 1 2 x", "images 1 2 1", "images nan nan nan", "images"])
def test_a_damaged_table_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.table"
    path.write_text(f"# op_name threshold min max\nx 1 0 1\n{line}\n")
    with pytest.raises(ReadError, match=r"bad\.table:3"):
        Calibration.load(path)


# --- what is refused

def test_what_does_not_fit_is_refused(hub: Module, samples: list[dict[str, np.ndarray]]) -> None:
    with pytest.raises(UsageError, match="needs samples"):
        transload.quantize(hub, "int8")
    with pytest.raises(UsageError, match="there is none"):
        calibrate(hub, [])
    with pytest.raises(UsageError, match="int9"):
        transload.quantize(hub, "int9", samples)
    with pytest.raises(UsageError, match="no option metod"):
        transload.quantize(hub, "int8", samples[:1], metod="kl")
    with pytest.raises(UsageError, match="no calibrator is called 'best'"):
        transload.calibrate(hub, samples[:1], "best")
    with pytest.raises(UsageError, match="sample 2 has no 'image'"):
        calibrate(hub, [samples[0], {"picture": samples[0]["image"]}])
    with pytest.raises(UsageError, match=r"'image' in sample 1 has numbers that are not finite"):
        calibrate(hub, [{"image": samples[0]["image"] * np.float32(np.nan)}])
    with pytest.raises(UsageError, match="the method kl has no option bit"):
        transload.calibrate(hub, samples[:1], "kl", bit=8)
    with pytest.raises(UsageError, match="lacks 'image'"):
        transload.quantize(hub, "int8", calibration=Calibration({}))
    with pytest.raises(UsageError, match="no float tensor 'nobody'"):
        transload.quantize(hub, "int8", samples[:1], floats={"nobody": ""})
    for floats in ("nobody", ["nobody"], {"nobody": ""}):
        with pytest.raises(UsageError, match="no float tensor 'nobody'"):
            transload.calibrate(hub, samples[:1], floats=floats)


@pytest.mark.parametrize(("options", "why"), [
    ({"polish": True, "rounding": False}, "polish looks for better roundings, and"),
    ({"polish": True, "effort": "fast"}, "polish looks for better roundings, and"),
    ({"fine": 90, "islands": "none"}, "fine says .* and islands=none looks for none"),
    ({"fine": 90, "effort": "fast"}, "fine says .* and islands=none looks for none"),
    ({"fine": 90, "layers": {"conv1": "F32"}}, "fine says .* and a table of layers says"),
    ({"learning": True, "power_of_two": True}, "powers of two are not"),
    ({"polish": True, "table": True}, "polish looks .* on samples, and there is none"),
    ({"fine": 90, "table": True}, "fine says .* on samples, of which there is none"),
    ({"scheme": "w4a16", "scaling": True, "rounding": False}, "scaling multiplies .* rounded to the nearest"),
    ({"scheme": "w8a16", "scaling": True, "effort": "fast"}, "scaling multiplies .* rounded to the nearest"),
    ({"scheme": "w4a16", "scaling": True, "table": None}, "scaling multiplies .* no samples"),
])
def test_options_of_a_step_that_is_left_out_are_refused(
    options: dict[str, Any], why: str, hub: Module, samples: list[dict[str, np.ndarray]],
) -> None:
    options = dict(options)
    scheme, given = options.pop("scheme", "int8"), None if "table" in options else samples[:2]
    if options.pop("table", None):
        options["calibration"] = calibrate(hub, samples[:2])
    with pytest.raises(UsageError, match=why):
        transload.quantize(hub, scheme, given, **options)


@pytest.mark.parametrize(("scheme", "options"), [
    ("int8", {"islands": "int16", "layers": {"conv1": "F32"}}), ("w4a8", {"q_group_size": 8, "islands": "int16"}),
    ("w4a16", {"effort": "best", "rounding": False}), ("int8", {"effort": "best", "power_of_two": True})])
def test_what_a_target_wishes_or_an_effort_tries_is_not_refused(
    scheme: str, options: dict[str, Any], hub: Module, samples: list[dict[str, np.ndarray]],
) -> None:
    """A target of integers wishes for islands of 16 bits, whatever else the user says."""
    assert transload.quantize(hub, scheme, samples[:4], **options).quantization is not None


def test_tables_may_call_tensors_as_tpu_mlir_does(hub: Module, samples: list[dict[str, np.ndarray]], tmp_path: Path) -> None:
    """By the kind of the operator behind the name; tensors that there are not are told, two lines for one refused."""
    ours = calibrate(hub, samples[:4], "minmax")
    lines = ours.save(tmp_path / "ours").read_text().splitlines()
    kinds = {"conv1": "Relu", "residual": "Add", "logits": "Gemm", "image": "Input"}
    theirs = [line.replace(line.split()[0], f"{line.split()[0]}_{kinds.get(line.split()[0], 'Conv')}", 1)
              if not line.startswith("#") else line for line in lines]
    (tmp_path / "theirs").write_text("\n".join([*theirs, "inside_Conv 3 -1 2"]) + "\n")
    assert "logits_Gemm " in (tmp_path / "theirs").read_text()
    made, wanted = (quantize_at_hub(hub, "int8", samples[:4], {"calibration": tmp_path / name}) for name in ("theirs", "ours"))
    assert difference(made.module, wanted.module) is None
    assert made.report["notes"] == ["the table names 'inside_Conv', which the model does not have"] and not wanted.report["notes"]
    (tmp_path / "twice").write_text("\n".join([*theirs, *lines]) + "\n")
    with pytest.raises(UsageError, match="two lines for 'image'"):
        transload.quantize(hub, "int8", calibration=tmp_path / "twice")


# --- schemes

@pytest.mark.parametrize("name", SCHEMES)
def test_zero_is_a_number_of_every_type(name: str) -> None:
    for kept in ((0.0, 0.0), (1.0, 2.0), (-3.0, -1.0), (-1.0, 5.0), (-1e-30, 1e-30)):
        type_ = SCHEMES[name].activation_type(kept)
        zero = stored(np.zeros(1), type_)
        assert (zero - type_.zero_point == 0).all()
        assert type_.storage_min <= type_.zero_point <= type_.storage_max


def test_weights_have_a_scale_for_each_channel() -> None:
    weights = np.array([[1.0, -2.0], [0.0, 0.0], [0.5, 0.25]])
    type_ = SCHEMES["int8"].weight_type(weights, 0)
    assert type_.axis == 0 and type_.storage_min == -127
    np.testing.assert_array_equal(stored(weights, type_), [[64, -127], [0, 0], [127, 64]])


def test_fixed_results_have_the_types_that_litert_fixes() -> None:
    """Softmax and Sigmoid in steps of 1/256, Tanh of 1/128, in 16 bits of 2**-15; products of computed matrices round twice."""
    g = Graph((4, 8))
    (x,) = g.inputs
    shares = g.Reshape(g.Softmax(g.MatMul(x, x, right_transpose=True), axis=-1), shape=(16,))
    module = g.done(g.Tanh(g.Sigmoid(shares)))
    samples = [{"x0": np.random.default_rng(seed).standard_normal((4, 8)).astype(np.float32)} for seed in range(4)]
    for scheme, unit, bent, zero in (("int8-asym", 1 / 256, 1 / 128, -128), ("int16x8", 2.0**-15, 2.0**-15, 0)):
        made = {op.name: op for op in transload.quantize(module, scheme, samples).ops() if op.results}
        for name in ("top.Softmax", "top.Reshape", "top.Sigmoid"):
            assert (made[name].result.quant.scale, made[name].result.quant.zero_point) == (unit, zero)
        assert (made["top.Tanh"].result.quant.scale, made["top.Tanh"].result.quant.zero_point) == (bent, 0)
        assert made["top.MatMul"].rounding == "double"


def test_what_lies_between_numbers_has_their_type() -> None:
    g = Graph((1, 2, 4, 4))
    (x,) = g.inputs
    module = g.done(g.Interp(g.Mul(x, 3.0), sizes=(8, 8), mode="linear"))
    made = transload.quantize(module, "int8-asym", [{"x0": g.random(1, 2, 4, 4)}])
    resized = next(op for op in made.ops() if op.name == "top.Interp")
    assert resized.result.quant == resized.input.quant is not None


def test_weights_of_dynamic_range_are_taken_as_floats() -> None:
    """LiteRT would quantize activations when it runs, by ops that have no form in integers."""
    random = np.random.default_rng(3)
    weights = random.integers(-127, 128, (5, 8)).astype(np.int8)
    model = read_bytes(write_operator(
        "FULLY_CONNECTED", [((4, 8), "float32"), ((5, 8), "int8", weights, ([0.01], [0], 0))], [((4, 5), "float32")]))
    samples = [{"in0": random.normal(0, 1, (4, 8)).astype(np.float32)} for _ in range(4)]
    quantized = transload.quantize(model, "int8", samples)
    names = [op.name for op in quantized.ops() if op.name != "top.Weight"]
    assert names == ["top.Cast", "top.MatMul", "top.Cast", "func.return"]
    assert "dynamic_quantization" not in next(op for op in quantized.ops() if op.name == "top.MatMul").attributes
    reference, result = (transload.run(module, samples[0])["out0"] for module in (model, quantized))
    assert sqnr(reference, result) > 30.0
    assert "hybrid=float" in str(Journey(("tosa",), quantize=Stage("quantize", act=lambda module: module)).plan(model))
    assert "hybrid=exact" in str(Journey(("tosa",), {"hybrid": "exact"}, quantize=Stage(
        "quantize", act=lambda module: module)).plan(model))


@pytest.mark.parametrize(("name", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_gates_of_recurrent_layers_become_integers(name: str, gates: int) -> None:
    graph = Graph((6, 1, 4))
    weights = (graph.random(1, *shape) / 3 for shape in ((gates * 8, 4), (gates * 8, 8), (2 * gates * 8,)))
    made = getattr(graph, name)(graph.inputs[0], *weights, hidden_size=8)
    module = graph.done(made[1])
    random = np.random.default_rng(5)
    samples = [{"x0": random.normal(0, 1, (6, 1, 4)).astype(np.float32)} for _ in range(20)]
    quantized = transload.quantize(module, "int8", samples[:12], islands="int16")
    assert all(op.result.quant is not None for op in quantized.ops() if op.name in ("top.MatMul", "top.Sigmoid", "top.Tanh"))
    reference, result = (np.stack([transload.run(each, sample)["y0"] for sample in samples[12:]]) for each in (module, quantized))
    assert sqnr(reference, result) > 20.0
    table = transload.calibrate(module, samples[:12])
    again = transload.quantize(module, "int8", calibration=table)
    assert any(op.name == "top.Tanh" and op.result.quant is not None for op in again.ops())


def test_a_channel_that_is_all_bias_keeps_it() -> None:
    """Its weights are so small that the bias would not fit in 32 bits in their steps."""
    graph = Graph((1, 4, 4, 3))
    weights = graph.random(2, 1, 1, 3)
    weights[1] *= np.float32(1e-12)
    module = graph.done(graph.Conv(
        graph.inputs[0], weights, np.array([0.5, 3.0], np.float32), kernel_shape=(1, 1), layout="NHWC"))
    samples = [{"x0": np.random.default_rng(seed).normal(0, 1, (1, 4, 4, 3)).astype(np.float32)} for seed in range(4)]
    quantized = transload.quantize(module, "int8", samples)
    result = transload.run(quantized, samples[0])["y0"]
    np.testing.assert_allclose(result[..., 1], 3.0, atol=0.05)
    (bias,) = (op.result for op in quantized.ops() if op.name == "top.Weight" and op.result.quant.storage == I32)
    assert np.abs(constant_of(bias).numpy()).max() <= 2**30
