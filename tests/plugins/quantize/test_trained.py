"""Tables of models that were trained quantized: the integers are those that the training's formula gives."""

from __future__ import annotations

from pathlib import Path

import mqbench
import numpy as np
import onnx
import pytest

import transload
from transload.api import at_hub
from transload.errors import ReadError, UsageError
from transload.ir import Module
from transload.quantization import quantize_at_hub
from transload_plugins.quantize.calibration import Calibration

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits"
HEADER = "# work_mode:QAT_all_int8 //do not modify\n# op_name threshold min max\n"


@pytest.fixture(scope="module")
def network() -> onnx.ModelProto:
    return onnx.load(DIGITS / "digits_float.onnx")


@pytest.fixture(scope="module")
def hub() -> Module:
    return at_hub(transload.load(DIGITS / "digits_float.onnx"))


@pytest.fixture(scope="module")
def samples() -> list[dict[str, np.ndarray]]:
    images = np.load(DIGITS / "test_images.npz")["images"][:6] / np.float32(16)
    return [{"image": image.reshape(1, 1, 8, 8)} for image in images]


@pytest.mark.parametrize("symmetric", [False, True])
def test_integers_are_those_of_training(
    network: onnx.ModelProto, hub: Module, samples: list[dict[str, np.ndarray]], symmetric: bool, tmp_path: Path,
) -> None:
    """Of every tensor of the table, with weights and activations that saturate, beside a simulator that reads it by itself."""
    table = mqbench.table_of(network, samples[:3], tmp_path / "table", symmetric=symmetric)
    made = quantize_at_hub(hub, "int8-sym" if symmetric else "int8", None, {"calibration": table})
    assert made.report["trained"] == {"tensors": 7, "weights": 4, "work mode": "QAT_all_int8"}
    assert set(made.floats) == {"probabilities"} and not made.report["notes"]
    simulator = mqbench.simulated(network, table, symmetric)
    found = mqbench.compared(made.module, simulator, samples)
    count = len(samples) * sum(array.size for array in simulator(samples[0]).values())
    assert found == (1.0, 0, count, 0)
    other = mqbench.table_of(network, samples[:3], tmp_path / "other", symmetric=symmetric, seed=1)
    assert mqbench.compared(made.module, mqbench.simulated(network, other, symmetric), samples)[0] < 0.9


def test_halves_of_inputs_go_to_the_even_number(hub: Module, tmp_path: Path) -> None:
    """As PyTorch rounds in training; the table has steps of 1/64, between two of which the pixels lie."""
    (tmp_path / "table").write_text(HEADER + f"image 2 {-128 / 64} {127 / 64}\n")
    made = quantize_at_hub(hub, "int8", None, {"calibration": tmp_path / "table"}).module
    held: list[np.ndarray] = []
    pixels = (np.arange(64, dtype=np.float32) - 31.5) / 64
    for module in (made, transload.lower(made, "tosa")):
        transload.run(module, {"image": pixels.reshape(1, 1, 8, 8)}, engine="reference", watch=lambda value, array: held.extend(
            [array] if value.quant is not None and value.quant.per_tensor and value.tensor_type.num_elements == 64 else []))
    assert held and all(np.array_equal(array.ravel(), np.rint(np.arange(64) - 31.5)) for array in held)


def test_a_target_gives_the_same(
    network: onnx.ModelProto, hub: Module, samples: list[dict[str, np.ndarray]], tmp_path: Path,
) -> None:
    table = mqbench.table_of(network, samples[:3], tmp_path / "table")
    made = quantize_at_hub(hub, "int8", None, {"calibration": table}).module
    tosa = transload.lower(made, "tosa")
    for sample in samples:
        (wanted,), (found,) = (transload.run(each, sample, engine="reference").values() for each in (made, tosa))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def without(table: Path, *names: str, mode: str = "QAT_all_int8") -> Path:
    lines = [line for line in table.read_text().splitlines() if line.split()[0] not in names]
    table.write_text("\n".join(lines).replace("work_mode:QAT_all_int8", f"work_mode:{mode}"))
    return table


@pytest.mark.parametrize("mode", ["QAT_all_int8", "QAT_mix_prec"])
def test_what_a_table_leaves_out(
    network: onnx.ModelProto, hub: Module, samples: list[dict[str, np.ndarray]], mode: str, tmp_path: Path,
) -> None:
    """It stays float, and the rest is as it was trained; a table of integers alone is completed by samples."""
    table = without(mqbench.table_of(network, samples[:3], tmp_path / "table"), "residual_Add", mode=mode)
    made = quantize_at_hub(hub, "int8", None, {"calibration": table})
    assert {"residual", "probabilities"} <= set(made.floats)
    assert "says nothing" in made.floats["residual"]
    held = {op.results[0].name for op in made.module.ops() if op.results and op.results[0].quant is not None}
    assert {"conv1", "depthwise", "pointwise", "pooled", "logits"} <= held
    made = quantize_at_hub(hub, "int8", samples, {"calibration": table})
    assert ("residual" in made.floats) == (mode == "QAT_mix_prec")
    assert bool(made.report["notes"]) == (mode == "QAT_all_int8")
    wanted, found = (np.stack([next(iter(transload.run(each, sample).values())) for sample in samples])
                     for each in (hub, made.module))
    assert np.abs(wanted - found).max() < 0.2


@pytest.mark.parametrize(("text", "why"), [
    ("# work_mode:QAT_int4\n", "the work mode 'QAT_int4' is none of"),
    (HEADER + "x_weight 2 0.1 0.2 2 0\n", ":3: 'x_weight' is to have 2 scales"),
    (HEADER + "x_weight 1 -0.1 1 0\n", "no positive number"),
    (HEADER + "x_weight 1 one 1 0\n", "no numbers"),
    (HEADER + "x_weight 1 0.1 1 3\n", "has zero points"),
    (HEADER + "x_weight 1 0.1 1 0\nx_weight 1 0.1 1 0\n", ":4: 'x_weight' has had a line before")])
def test_damaged_tables(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "table").write_text(text)
    with pytest.raises(ReadError, match=why):
        Calibration.load(tmp_path / "table")


@pytest.mark.parametrize(("scheme", "text", "options", "why"), [
    ("int8", HEADER + "elsewhere 1 0 1\n", {}, "names nothing that the model has: 'elsewhere'"),
    ("int8", HEADER + "image 1 0 1\nlogits_Gemm_weight 2 0.1 0.1 2 0 0\n", {}, "2 scales of 'logits_Gemm_weight', which has 10"),
    ("int8", HEADER + "image 1 0 1\npooled_weight 1 0.1 1 0\n", {}, "no op with weights that is called so"),
    ("int8", HEADER + "image 1 0 1\nimage_Input 1 0 1\n", {}, "two lines for 'image'"),
    ("int8-sym", HEADER + "image 0 0 1\n", {}, "trained with zero points"),
    ("int16x8", HEADER + "image 1 0 1\n", {}, "trained in 8 bits"),
    ("int8", HEADER + "image 1 0 1\n", {"layers": {"residual": "INT16"}}, "trained in 8 bits")])
def test_tables_that_do_not_fit(
    hub: Module, scheme: str, text: str, options: dict[str, object], why: str, tmp_path: Path,
) -> None:
    (tmp_path / "table").write_text(text)
    with pytest.raises(UsageError, match=why):
        quantize_at_hub(hub, scheme, None, {"calibration": tmp_path / "table", **options})


def test_a_table_is_written_as_it_was_read(
    network: onnx.ModelProto, samples: list[dict[str, np.ndarray]], tmp_path: Path,
) -> None:
    read = Calibration.load(mqbench.table_of(network, samples[:3], tmp_path / "table"))
    again = Calibration.load(read.save(tmp_path / "again"))
    assert (again.mode, again.weights, again.ranges.keys()) == (read.mode, read.weights, read.ranges.keys())
    assert all(np.allclose(again.ranges[name], kept, rtol=1e-7) for name, kept in read.ranges.items())
