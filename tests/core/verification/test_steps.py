"""A quantized model whose roundings add up otherwise than in its runtime is judged step by step, and a wrong one is found out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import transload
from transload.ir import Module, QuantType
from transload.verification.cutting import cut_module, execute
from transload.verification.steps import _are_halves, _moved_slice, check_steps, check_steps_together
from transload.verification.verify import verify_conversion

from tests.core.verification.test_information import qdq_model

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
X = {"x": np.random.default_rng(3).standard_normal((4, 32)).astype(np.float32)}


@pytest.fixture
def hub(tmp_path: Path) -> Module:
    return transload.legalize(transload.load(qdq_model(tmp_path / "qdq.onnx", layers=12)))


def reference(hub: Module, moved: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a runtime gives that computes each quantized tensor as we do from what is before it, but `moved`, by so many steps."""
    kept = {name: array for name, array in transload.run(hub, X, keep=True).items() if array.dtype == np.uint8}
    shapes = {name: array.shape for name, array in kept.items()}
    parts, found = cut_module(hub, shapes, lambda type_: isinstance(type_.element, QuantType))
    for name, _ in found:
        outputs = execute(parts, [X["x"], *kept.values()], "reference")
        ours = dict(zip(kept, outputs[1:], strict=True))[name].astype(int)
        kept[name] = np.where(ours < 128, ours + moved.get(name, 0), ours - moved.get(name, 0)).astype(np.uint8)
    return kept


def at_places(share: float) -> np.ndarray:
    return (np.random.default_rng(0).random((4, 32)) < share).astype(np.uint8)


def test_single_steps_are_near_enough_whatever_they_add_up_to(hub: Module) -> None:
    given = reference(hub, {"m3_q": at_places(0.05), "m7_q": at_places(0.05)})
    ours = transload.run(hub, X, keep=True)
    assert np.abs(ours["m11_q"].astype(int) - given["m11_q"]).max() > 1  # they do add up
    outputs, steps = check_steps(hub, X, given, "reference", 1)
    assert not steps.wrong and steps.tensors == 13 and steps.elements == 13 * 128
    assert steps.apart == at_places(0.05).sum() * 2
    assert np.array_equal(outputs["y"], (given["m11_q"].astype(np.float32) - 131) * np.float32(0.037))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("moved", [at_places(0.4), 2 * at_places(0.02)])
def test_many_steps_and_long_ones_are_not(hub: Module, moved: np.ndarray) -> None:
    _, steps = check_steps(hub, X, reference(hub, {"m3_q": moved}), "reference", 1)
    assert len(steps.wrong) == 1 and steps.wrong[0].startswith("m3_q: by ")


def test_one_column_that_is_off_by_a_step_is_no_rounding() -> None:
    """One wrong bias of 32 moves 3 % of a tensor, which single steps may be; but all of one column."""
    ours = np.random.default_rng(0).integers(0, 256, (40, 32))
    column = np.zeros(ours.shape, bool)
    column[:, 5] = True
    assert _moved_slice(column, ours) == (1, 5)
    assert _moved_slice(column, np.where(column, 128, ours)) is None  # one number in the middle, which is frequent there
    assert _moved_slice(np.random.default_rng(1).random(ours.shape) < 0.09, ours) is None


def test_small_channels_may_have_many_single_steps_by_chance() -> None:
    """Of 64 channels of 16 numbers, with one of eleven another step, one in ten has six of them, or more."""
    ours = np.random.default_rng(0).integers(0, 256, (1, 64, 4, 4))
    by_chance = [np.random.default_rng(seed).random(ours.shape) < 1 / 11 for seed in range(100)]
    assert any(apart.sum((2, 3)).max() >= 6 for apart in by_chance)
    assert not any(_moved_slice(apart, ours) for apart in by_chance)
    channel = np.zeros(ours.shape, bool)
    channel[:, 5] = True
    channel[:, 5, 0] = False  # at a limit
    assert _moved_slice(channel, ours) == (1, 5)


def test_a_column_of_a_model_that_is_off_by_a_step_fails(tmp_path: Path) -> None:
    path = qdq_model(tmp_path / "qdq.onnx")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 64
    model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = 64
    onnx.save(model, path)
    hub = transload.legalize(transload.load(path))
    x = {"x": np.random.default_rng(3).standard_normal((64, 32)).astype(np.float32)}
    kept = {name: array for name, array in transload.run(hub, x, keep=True).items() if array.dtype == np.uint8}
    kept["m39_q"] = kept["m39_q"].copy()
    kept["m39_q"][:, 7] -= np.where(kept["m39_q"][:, 7] > 0, 1, 0).astype(np.uint8)
    _, steps = check_steps(hub, x, kept, "reference", 1)
    assert len(steps.wrong) == 1 and steps.wrong[0].endswith("at many of the numbers at 7 of dimension 1")


def test_a_wrong_zero_point_in_a_deep_model_is_found_and_named(tmp_path: Path) -> None:
    path = qdq_model(tmp_path / "qdq.onnx")
    model = onnx.load(path)
    held = next(each for each in model.graph.initializer if each.name == "m7_zero")
    held.CopyFrom(onnx.numpy_helper.from_array(np.uint8(132), "m7_zero"))
    onnx.save(model, tmp_path / "wrong.onnx")
    wrong = transload.load(tmp_path / "wrong.onnx")
    hub = transload.legalize(wrong.clone())
    verdict = verify_conversion(transload.load(path), transload.lower(wrong, "tosa"), hub=hub)
    assert verdict.failed
    assert any("numbers before it, m7_q: by 1 steps" in note for note in verdict.notes), verdict.notes


def test_runs_are_judged_together(hub: Module) -> None:
    """A tensor's numbers of all of them are as one's: with those of one run as many steps away as are not let be in all."""
    near, far = ((X, reference(hub, {"m11_q": at_places(share)})) for share in (0.02, 0.6))
    outputs, steps = check_steps_together(hub, [near, near], "reference", 1)
    assert not steps.wrong and len(outputs) == 2 and steps.elements == 2 * 13 * 128 and steps.apart == 2 * at_places(0.02).sum()
    assert np.array_equal(outputs[0]["y"], check_steps(hub, *near, "reference", 1)[0]["y"])
    _, steps = check_steps_together(hub, [near, far], "reference", 1)
    assert len(steps.wrong) == 1 and steps.wrong[0].startswith("m11_q: by 1 steps at most, at ")


def _of_ten_numbers(path: Path) -> Path:
    """A network of QLinear operators that gives ten numbers, with sums before them that are often halves."""
    random, helper = np.random.default_rng(0), onnx.helper
    held = {
        "xs": np.float32(0.03), "xz": np.int8(-5), "w": random.integers(-100, 100, (8, 3, 3, 3)).astype(np.int8),
        "ws": np.float32(0.006), "wz": np.int8(3), "b": random.integers(-3000, 3000, 8).astype(np.int32),
        "cs": np.float32(0.05), "cz": np.int8(-25), "f": random.integers(-100, 100, (512, 10)).astype(np.int8),
        "fs": np.float32(0.01), "ys": np.float32(0.6), "yz": np.int8(4), "ls": np.float32(0.055), "lz": np.int8(-6)}
    ms = {"domain": "com.microsoft"}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("QLinearConv", ["q", "xs", "xz", "w", "ws", "wz", "cs", "cz", "b"], ["c"],
                         strides=[2, 2], pads=[1, 1, 0, 0]),
        helper.make_node("MaxPool", ["c"], ["m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("QLinearLeakyRelu", ["m", "cs", "cz", "ls", "lz"], ["l"], alpha=0.13, **ms),
        helper.make_node("QLinearAdd", ["l", "ls", "lz", "c", "cs", "cz", "cs", "cz"], ["a"], **ms),
        helper.make_node("Flatten", ["a"], ["r"]),
        helper.make_node("QLinearMatMul", ["r", "cs", "cz", "f", "fs", "wz", "ys", "yz"], ["y"])]
    ends = [helper.make_tensor_value_info("x", 1, (1, 3, 16, 16)), helper.make_tensor_value_info("y", 3, (1, 10))]
    graph = helper.make_graph(
        nodes, "g", ends[:1], ends[1:], [onnx.numpy_helper.from_array(np.asarray(each), name) for name, each in held.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def test_ties_are_excused_of_all_inputs_together(tmp_path: Path) -> None:
    """Of ten numbers one or two are a step away on each input, for a sum before them is a half; of all, these were too many."""
    source = transload.load(_of_ten_numbers(tmp_path / "m.onnx"))
    verdict = verify_conversion(source, transload.lower(source, "tosa"), hub=transload.legalize(source), seed=61)
    assert verdict.passed and "rounds some numbers to the next step" in verdict.notes[-1], (verdict.broken, verdict.notes)


def test_ties_are_excused_of_all_samples_together(tmp_path: Path) -> None:
    """What the ties of drawn inputs were excused for, those of given ones were not."""
    source = transload.load(_of_ten_numbers(tmp_path / "m.onnx"))
    random = np.random.default_rng(5)
    samples = [{"x": random.uniform(-3, 3, (1, 3, 16, 16)).astype(np.float32)} for _ in range(6)]
    verdict = verify_conversion(
        source, transload.lower(source, "tosa"), hub=transload.legalize(source), inputs=samples, every=True)
    assert verdict.passed and verdict.samples == 6, (verdict.broken, verdict.notes)
    assert "rounds some numbers to the next step" in verdict.notes[0]


@pytest.mark.models
def test_a_real_model_on_noise(models: Path) -> None:
    """Its hard swishes add 127.5 steps to numbers that are often zero: onnxruntime's floats fall below the middle."""
    source = transload.load(models / "onnx/derived_ppocr_cls_qoperator/model.onnx", inputs={"x": (1, 3, 224, 224)})
    verdict = verify_conversion(source, transload.lower(source, "tosa"), hub=transload.legalize(source))
    assert verdict.passed, verdict.broken
    assert verdict.tensors[0].metrics["cos"] > 0.99995 or "rounds some numbers to the next step" in verdict.notes[0]


def _of_powers_of_two(path: Path) -> Path:
    """24 layers with a shortcut each, all scales powers of two: a quarter of the sums on a coarser scale are odd halves."""
    random, helper = np.random.default_rng(1), onnx.helper
    nodes, held = [], []

    def constant(name: str, array: np.ndarray) -> str:
        held.append(onnx.numpy_helper.from_array(array, name))
        return name

    def quantized(name: str, scale: float) -> str:
        numbers = [constant(f"{name}_s", np.float32(scale)), constant(f"{name}_z", np.uint8(128))]
        nodes.append(helper.make_node("QuantizeLinear", [name, *numbers], [f"{name}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", *numbers], [f"{name}_d"]))
        return f"{name}_d"

    x = quantized("x", 2.0**-5)
    for layer in range(24):
        weights = constant(f"w{layer}", random.integers(-127, 128, (32, 32)).astype(np.int8))
        numbers = [constant(f"w{layer}_s", np.float32(2.0**-9)), constant(f"w{layer}_z", np.int8(0))]
        nodes.append(helper.make_node("DequantizeLinear", [weights, *numbers], [f"w{layer}_d"]))
        nodes.append(helper.make_node("MatMul", [x, f"w{layer}_d"], [f"m{layer}"]))
        y = quantized(f"m{layer}", 2.0**-5)
        nodes.append(helper.make_node("Add", [y, x], [f"a{layer}"]))
        x = quantized(f"a{layer}", 2.0**-4 if layer % 2 else 2.0**-5)
    nodes.append(helper.make_node("Identity", [x], ["y"]))
    ends = [[helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 32])] for name in ("x", "y")]
    graph = helper.make_graph(nodes, "powers", *ends, held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_halves_go_to_the_even_number_in_the_runtime_alone(tmp_path: Path) -> None:
    """They were taken for a wrong rounding, at a quarter of the numbers of every sum; the same share of others is one."""
    source = transload.load(_of_powers_of_two(tmp_path / "powers.onnx"))
    hub = transload.legalize(source)
    verdict = verify_conversion(source, transload.lower(source, "tosa"), hub=hub, inputs=X)
    assert verdict.passed and verdict.tensors[0].metrics["cos"] < 0.999, verdict
    assert any("rounds some numbers to the next step" in note for note in verdict.notes)
    even = np.arange(4 * 32).reshape(4, 32) * 2
    assert _are_halves(at_places(0.25) != 0, even % 2 != 0)
    assert not _are_halves(at_places(0.25) != 0, np.arange(4 * 32).reshape(4, 32) % 2 != 0)
