"""Where onnxruntime's results say nothing of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import transload
from transload_converters.onnx.undefined import undefined

from tests.support.onnx_models import make_model, node

BASE = np.array([3, 0, -1, 0], np.int32)


@pytest.mark.parametrize(("exponents", "status"), [((-2, -1, -3, 2), "inconclusive"), ((-2, 0, -3, 2), "passed")])
def test_a_negative_power_of_the_integer_zero_is_not_judged(tmp_path: Path, exponents: tuple[int, ...], status: str) -> None:
    """onnxruntime gives what the processor makes of infinity."""
    exponent = np.array(exponents, np.int32)
    path = tmp_path / "power.onnx"
    onnx.save(make_model([node("Pow", ["x", "e"], ["y"])], {"x": BASE, "e": exponent}, ["y"]), path)
    inputs = {"x": BASE, "e": exponent}
    checked = transload.convert(path, "stablehlo", tmp_path / "out", input_data=inputs).verification
    assert checked is not None and checked.status == status
    assert ("no integer is" in checked.why) == (status == "inconclusive")


@pytest.mark.parametrize(("row", "status"), [((0, -5, 1), "inconclusive"), ((40, 5, 1), "passed")])
def test_an_integer_logarithm_of_nothing_is_not_judged(tmp_path: Path, row: tuple[int, ...], status: str) -> None:
    """onnxruntime gives what the processor makes of an infinity, or of no number."""
    x, path = np.array([row, (5, 6, 7)], np.int32), tmp_path / "log.onnx"
    onnx.save(make_model([node("ReduceLogSum", ["x", "a"], ["y"])], {"x": x}, ["y"], {"a": np.array([1])}, opset=18), path)
    checked = transload.convert(path, "stablehlo", tmp_path / "out", input_data={"x": x}).verification
    assert checked is not None and checked.status == status
    assert ("0 or below" in checked.why) == (status == "inconclusive")


def test_statistics_that_are_an_output_too_are_not_judged(tmp_path: Path) -> None:
    """onnxruntime writes the new variance over the old one, which is the second output."""
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    statistics = {name: np.ones(3, np.float32) for name in ("s", "b", "m", "v")}
    path = tmp_path / "norm.onnx"
    operator = node("BatchNormalization", ["x", *statistics], ["y", "mean", "variance"], training_mode=1)
    onnx.save(make_model([operator], {"x": x}, ["y", "v", "mean"], statistics), path)
    checked = transload.convert(path, "stablehlo", tmp_path / "out").verification
    assert checked is not None and checked.status == "inconclusive" and "over which onnxruntime writes" in checked.why


@pytest.mark.parametrize(("names", "numbers", "status"), [
    (["HardSigmoid", "Affine", "Elu"], {"activation_alpha": [0.3]}, "inconclusive"),
    (["HardSigmoid", "Affine", "Elu"], {"activation_alpha": [0.3, 0.5]}, "passed"),
    (["Sigmoid", "ScaledTanh", "ScaledTanh"], {"activation_alpha": [0.3, 0.5], "activation_beta": [0.5]}, "inconclusive"),
    (["Sigmoid", "LeakyRelu", "ThresholdedRelu"], {}, "inconclusive"),
    (["HardSigmoid", "LeakyRelu", "Elu"], {}, "passed"),
])
def test_activations_without_their_numbers_are_not_judged(
    names: list[str], numbers: dict[str, list[float]], status: str, tmp_path: Path,
) -> None:
    """onnxruntime has 0 where ONNX has the operator's own, as long as that is 1."""
    draw = np.random.default_rng(0).standard_normal
    x, w, r = (draw(shape).astype(np.float32) for shape in ((4, 2, 2), (1, 12, 2), (1, 12, 3)))
    layer = node("LSTM", ["x", "w", "r"], ["y"], hidden_size=3, activations=names, **numbers)
    onnx.save(make_model([layer], {"x": x}, ["y"], {"w": w, "r": r}), tmp_path / "lstm.onnx")
    checked = transload.convert(tmp_path / "lstm.onnx", "stablehlo", tmp_path / "out").verification
    assert checked is not None and checked.status == status
    assert ("for which ONNX has 1" in checked.why) == (status == "inconclusive")


def quantized(
    nodes: list[onnx.NodeProto], x: np.ndarray, zero: int, scales: dict[str, float], **more: np.ndarray,
) -> onnx.ModelProto:
    """A QDQ model of some nodes from `r` (and `s`, of the constant `b`) to `t`; all zero points are `zero`."""
    constants = {**{f"{name}s": np.float32(scale) for name, scale in scales.items()}, "z": np.array(zero, x.dtype), **more}
    given = [node("DequantizeLinear", ["x", "xs", "z"], ["r"])]
    given += [node("DequantizeLinear", ["b", "bs", "z"], ["s"])] if "b" in more else []
    return make_model([*given, *nodes, node("QuantizeLinear", ["t", "ys", "z"], ["y"])], {"x": x}, ["y"], constants, opset=21)


@pytest.mark.parametrize(("operator", "scales", "x", "status"), [
    ("Log", {"x": 0.1, "y": 0.1}, [3, 1, 5, 100], "passed"),
    ("Sqrt", {"x": 0.1, "y": 0.1}, [-3, 1, 5, 100], "inconclusive"),
    ("Mul", {"x": 1.0, "b": 1.0, "y": 3e4}, [-30, -32768, 5, 100], "passed"),
])
def test_what_is_no_number_of_32_bits_is_not_judged(
    operator: str, scales: dict[str, float], x: list[int], status: str, tmp_path: Path,
) -> None:
    kind = np.int16 if operator == "Mul" else np.int8
    array = np.tile(np.array(x, kind), 16)  # what is over of 16 numbers onnxruntime counts otherwise
    more = {"b": np.tile(np.array([100, 3, -2, 1], kind), 16)} if operator == "Mul" else {}
    path = tmp_path / "far.onnx"
    onnx.save(quantized([node(operator, ["r", "s"][:1 + len(more)], ["t"])], array, -32768 if more else 0, scales, **more), path)
    checked = transload.convert(path, "tosa", tmp_path / "out", input_data={"x": array}).verification
    assert checked is not None and checked.status == status, checked
    assert ("more than 2^31 steps" in checked.why) == (status == "inconclusive")


@pytest.mark.parametrize(("step", "said"), [(1e-6, True), (1e-4, False)])
def test_what_is_beyond_32_bits_is_said(step: float, said: bool) -> None:
    """onnxruntime gives the greatest of it, or the least, by how many numbers there are."""
    x = np.array([3000], np.int16)
    model = quantized([node("Mul", ["r", "s"], ["t"])], x, 0, {"x": 1.0, "b": 1.0, "y": step}, b=np.array([1], np.int16))
    module = transload.load(text=model.SerializeToString(), format="onnx")
    assert ("more than 2^31 steps" in undefined(module, transload.lower(module, "top"), {"x": x})) is said


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16"])
def test_images_are_resized_in_the_steps_of_the_result(kind: str, tmp_path: Path) -> None:
    """They were rounded in those of the operand first, which may be many of the result's."""
    import onnxruntime

    x = np.random.default_rng(0).integers(0, 100, (1, 2, 5, 4)).astype(kind)
    resize = node("Resize", ["r", "", "factors"], ["t"], mode="linear")
    model = quantized([resize], x, 50, {"x": 0.04, "y": 0.017}, factors=np.array([1, 1, 2, 2], np.float32))
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (made,) = transload.run(
        transload.lower(transload.load(text=model.SerializeToString(), format="onnx"), "tosa"), {"x": x}).values()
    assert made.dtype == wanted.dtype
    assert np.abs(made.astype(int) - wanted.astype(int)).max() <= 1
    assert (made == wanted).mean() > 0.9


@pytest.mark.parametrize("operator", ["PRelu", "Mul"])
def test_products_of_16_bits_and_zero_points_to_one_side(operator: str, tmp_path: Path) -> None:
    """They are beyond 32 bits, in which PRelu's wrapped round."""
    import onnxruntime

    x = np.array([[0, 1000, 65535, 40000]], np.uint16)
    model = quantized([node(operator, ["r", "s"], ["t"])], x, 65535, {"x": 0.01, "b": 0.01, "y": 10.0},
                      b=np.array([0, 3, 65535, 10], np.uint16))
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (made,) = transload.run(
        transload.lower(transload.load(text=model.SerializeToString(), format="onnx"), "tosa"), {"x": x}).values()
    assert np.abs(made.astype(int) - wanted.astype(int)).max() <= 1


def test_a_chip_does_not_take_an_image_of_finer_steps(tmp_path: Path) -> None:
    """It rounded twice. Where the chip takes other ops, its host has this one."""
    x = np.random.default_rng(0).integers(0, 100, (1, 2, 5, 4)).astype(np.uint8)
    resize = node("Resize", ["r", "", "factors"], ["t"], mode="linear")
    path = tmp_path / "resize.onnx"
    onnx.save(quantized([resize], x, 50, {"x": 0.04, "y": 0.017}, factors=np.array([1, 1, 2, 2], np.float32)), path)
    with pytest.raises(transload.TransloadError, match=r"takes no op of this model"):
        transload.convert(path, "tp-large", tmp_path / "out", input_data={"x": x})


def _resized(
    sizes: list[int] | None, scales: list[float] | None, roi: list[float], axes: tuple[int, ...] = (), mode: str = "linear",
    **more: Any,
) -> onnx.ModelProto:
    """A part of an image, resized, and padded round its ends."""
    given = {"s": np.array(sizes)} if sizes else {"f": np.array(scales, np.float32)}
    more |= {"axes": list(axes)} if axes else {}
    crop = node("Resize", ["x", "roi", *([""] if sizes else []), *given], ["r"], mode=mode,
                coordinate_transformation_mode="tf_crop_and_resize", **more)
    pad = node("Pad", ["r", "p"], ["y"], mode="wrap")
    constants = {"roi": np.array(roi, np.float32), "p": np.array([0, 0, 0, 0, 0, 0, 2, 0]), **given}
    return make_model([crop, pad], {"x": CROPPED}, ["y"], constants, opset=19)


CROPPED = np.random.default_rng(0).random((1, 3, 4, 6)).astype(np.float32)
MIDDLE = [0, 0, .1, .1, 1, 1, .9, .9]


@pytest.mark.parametrize(("model", "why"), [
    (_resized([1, 3, 8, 5], None, MIDDLE), ""),
    (_resized([8, 5], None, [.1, .1, .9, .9], (2, 3)), ""),
    (_resized([1, 3, 4, 5], None, [0, 0, 0, .1, 1, 1, 1, .9]), ""),
    (_resized([1, 3, 4, 5], None, MIDDLE), "does not crop"),
    (_resized([4, 5], None, [.1, .1, .9, .9], (2, 3)), "does not crop"),
    (_resized([1, 3, 8, 5], None, [0, .1, 0, 0, 1, .9, 1, 1]), "does not crop"),
    (_resized(None, [1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1]), ""),
    (_resized(None, [1, 1, 2, 2], MIDDLE), "those of the part that is cropped"),
    (_resized(None, [1, 1, 1, 2], [0, 0, 0, 0, 1, 1, 1.2, 1]), "does not crop"),
    (_resized([1, 3, 4, 5], None, [0, 0, 0, .3, 1, 1, 1, 1]), ""),
    (_resized([1, 3, 4, 5], None, [0, 0, 0, .1, 1, 1, 1, 1.2], mode="nearest"), ""),
    (_resized([8, 9], None, [0, 0, 1, 1], (-2, -1), keep_aspect_ratio_policy="not_larger"), "along negative axes"),
    (_resized([8, 9], None, [0, 0, 1, 1], (2, 3), keep_aspect_ratio_policy="not_larger"), ""),
])
def test_a_crop_is_judged_but_along_what_keeps_its_size(model: onnx.ModelProto, why: str) -> None:
    """Batch and channels nearly always do: whatever differed was excused."""
    module = transload.load(text=model.SerializeToString(), format="onnx")
    said = undefined(module, None, {"x": CROPPED})
    assert why in said if why else not said
    assert _as_onnxruntime(model, module, CROPPED) is not bool(said)


def _as_onnxruntime(model: onnx.ModelProto, module: transload.Module, x: np.ndarray) -> bool:
    """Whether what is read is what onnxruntime computes."""
    import onnxruntime

    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    (made,) = transload.run(transload.legalize(module), {"x": x}).values()
    return made.shape == wanted.shape and np.allclose(made, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(("auto_pad", "window", "size", "why"), [
    ("SAME_UPPER", (3, 2, 1), 6, ""), ("SAME_UPPER", (3, 2, 2), 6, "leaves dilations out"),
    ("SAME_LOWER", (2, 1, 2), 7, "leaves dilations out"), ("SAME_LOWER", (2, 3, 1), 7, ""),
    ("VALID", (3, 2, 1), 6, "one that goes beyond"), ("VALID", (3, 2, 1), 7, ""), ("VALID", (2, 5, 1), 9, "")])
def test_windows_that_onnxruntime_counts_otherwise_are_not_judged(
    name: str, auto_pad: str, window: tuple[int, int, int], size: int, why: str,
) -> None:
    """They follow ONNX's text, and its own inference of shapes where padding is made."""
    kernel, stride, dilation = window
    x = np.random.default_rng(0).random((1, 2, size)).astype(np.float32)
    pool = node(name, ["x"], ["y"], kernel_shape=[kernel], strides=[stride], dilations=[dilation], auto_pad=auto_pad,
                ceil_mode=int(auto_pad == "VALID"))
    model = make_model([pool], {"x": x}, ["y"], opset=22)
    module = transload.load(text=model.SerializeToString(), format="onnx")
    said = undefined(module, None, {"x": x})
    assert why in said if why else not said
    assert _as_onnxruntime(model, module, x) is not bool(said)


@pytest.mark.parametrize(("targets", "transform"), [(1, "LOGISTIC"), (1, "SOFTMAX"), (1, "NONE"), (2, "LOGISTIC")])
def test_one_target_that_onnxruntime_does_not_transform_is_not_judged(targets: int, transform: str) -> None:
    x = np.random.default_rng(0).random((3, 2)).astype(np.float32)
    operator = node("LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", targets=targets, coefficients=[0.5, -0.3] * targets,
                    post_transform=transform)
    model = make_model([operator], {"x": x}, ["y"])
    module = transload.load(text=model.SerializeToString(), format="onnx")
    said = undefined(module, None, {"x": x})
    assert ("leaves it as it is" in said) is (targets == 1 and transform != "NONE")
    assert _as_onnxruntime(model, module, x) is not bool(said)


@pytest.mark.parametrize(("numbers", "status"), [((0.6, 2.5, -1.5, 1.0), "inconclusive"), ((1.0, -8.0, 7.0, 0.0), "passed")])
def test_integers_of_4_bits_of_broken_numbers_are_not_judged(tmp_path: Path, numbers: tuple[float, ...], status: str) -> None:
    """onnxruntime rounds them, and ONNX's reference cuts them off."""
    x, path = np.array(numbers, np.float32), tmp_path / "cast.onnx"
    nodes = [node("Cast", ["x"], ["i"], to=onnx.TensorProto.INT4), node("Cast", ["i"], ["y"], to=onnx.TensorProto.INT8)]
    onnx.save(make_model(nodes, {"x": x}, ["y"], opset=21), path)
    checked = transload.convert(path, "stablehlo", tmp_path / "out", input_data={"x": x}).verification
    assert checked is not None and checked.status == status


def _ensemble(transform: int) -> Any:
    floats = [helper.make_tensor(name, TensorProto.FLOAT, [len(held)], held) for name, held in (
        ("nodes_splits", [0.0, 0.2]), ("leaf_weights", [0.3, -0.6, 0.8]))]
    modes = helper.make_tensor("nodes_modes", TensorProto.UINT8, [2], [0, 0])
    return node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", post_transform=transform, n_targets=2, aggregate_function=1,
        tree_roots=[0], nodes_featureids=[0, 1], nodes_truenodeids=[1, 1], nodes_falsenodeids=[0, 2], nodes_trueleafs=[0, 1],
        nodes_falseleafs=[1, 1], leaf_targetids=[0, 1, 0], nodes_modes=modes, nodes_splits=floats[0], leaf_weights=floats[1])


def _regressor(base: list[float], function: str, ids: list[int]) -> Any:
    """A tree of two leaves, which give each target in `ids` in their order."""
    return node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, base_values=base, aggregate_function=function,
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.0, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0] * len(ids),
        target_nodeids=[1, 2, 1, 2][: len(ids)], target_ids=ids, target_weights=[0.5, 0.25, -1.0, 1.5][: len(ids)])


@pytest.mark.parametrize(("operator", "opset", "why"), [
    (_ensemble(0), 17, ""), (_ensemble(1), 17, "takes for one another"), (_ensemble(2), 17, "takes for one another"),
    (_regressor([0.5, -0.5], "SUM", [0, 1]), 17, "no leaf gives anything"), (_regressor([0.0, 0.0], "SUM", [0, 1]), 17, ""),
    (_regressor([0.0, 0.0], "MIN", [0, 1]), 17, "no leaf gives anything"),
    (_regressor([0.5, -0.5], "SUM", [0, 0, 1, 1]), 17, ""), (_regressor([0.5, -0.5], "MAX", [0, 0, 1, 1]), 17, ""),
    (node("Dropout", ["x"], ["h", "y"]), 10, "gives false before opset 12"), (node("Dropout", ["x"], ["h", "y"]), 12, ""),
    (node("Squeeze", ["x", "a"], ["y"]), 13, "along no axes"), (node("Squeeze", ["x"], ["y"]), 13, ""),
])
def test_what_onnxruntime_does_otherwise_is_not_judged(operator: Any, opset: int, why: str) -> None:
    x = np.random.default_rng(0).normal(size=(1, 3)).astype(np.float32)
    x[0, 0] = 1.0
    constants = {"a": np.zeros(0, np.int64)} if "a" in operator.input else {}
    model = make_model([operator], {"x": x}, ["y"], constants, opset=opset, ml=5 if operator.op_type == "TreeEnsemble" else 3)
    module = transload.load(text=model.SerializeToString(), format="onnx")
    said = undefined(module, None, {"x": x})
    assert why in said if why else not said
    assert _as_onnxruntime(model, module, x) is not bool(said)


@pytest.mark.parametrize(("known", "status"), [(True, "inconclusive"), (False, "failed")])
def test_a_runtime_that_gives_other_dimensions_is_no_plugin_that_fails(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool, status: str) -> None:
    """It was told as a failure of the plugin, and nobody was asked whether onnxruntime is known for it."""
    if not known:
        monkeypatch.setattr("transload_converters.onnx.undefined.UNDEFINED", ())
    x, path = np.random.default_rng(0).normal(size=(1, 3, 1, 4)).astype(np.float32), tmp_path / "squeeze.onnx"
    model = make_model([node("Squeeze", ["x", "a"], ["y"])], {"x": x}, ["y"], {"a": np.zeros(0, np.int64)}, opset=13)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape))
    onnx.save(model, path)
    checked = transload.convert(path, "tosa", tmp_path / "out").verification
    assert checked is not None and checked.status == status
    assert ("along no axes" in checked.why) == known
    assert "y: onnxruntime gives [3, 4], the model says [1, 3, 1, 4]" in (checked.notes if known else checked.broken)


@pytest.mark.parametrize(("least", "status"), [(-3.0, "inconclusive"), (0.25, "passed")])
@pytest.mark.parametrize("mode", ["up", "nearest"])
def test_powers_of_numbers_below_zero_are_not_judged(tmp_path: Path, mode: str, least: float, status: str) -> None:
    """float8e8m0 has no sign: ONNX's reference drops it, and onnxruntime gives the least power."""
    x, path = np.array([least, 0.7, 1.5, 100], np.float32), tmp_path / "power.onnx"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y")]
    casts = [node("Cast", ["x"], ["p"], to=TensorProto.FLOAT8E8M0, round_mode=mode),
             node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(casts, "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11), path)
    checked = transload.convert(
        path, "stablehlo", tmp_path / "out", input_data={"x": x}, options={"minimum_version": "newest"}).verification
    assert checked is not None and checked.status == status, checked
    assert ("which ONNX leaves open" in checked.why) == (status == "inconclusive")


def test_what_a_causal_mask_hides_is_not_looked_at(tmp_path: Path) -> None:
    """onnxruntime does not add a mask where it hides what comes later, and NaN put there failed a right conversion."""
    pytest.importorskip("onnxruntime")
    drawn = np.random.default_rng(0)
    sizes = {"q": (1, 4, 3, 8), "k": (1, 2, 5, 8), "v": (1, 2, 5, 6), "m": (3, 5)}
    given = {name: drawn.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model(
        [node("Attention", [*given], ["y"], is_causal=1, softcap=2.0)], given, ["y"], opset=23).SerializeToString())
    for target in ("tosa", "stablehlo"):
        found = transload.convert(file, target, tmp_path / target).verification
        assert found is not None and found.passed, found


@pytest.mark.parametrize(("operator", "how"), [
    ("ReduceMax", {"axes": [1], "keepdims": 1}), ("ReduceMin", {"axes": [2, 3]}), ("MaxPool", {"kernel_shape": [2, 2]}),
    ("GlobalMaxPool", {}), ("ArgMax", {"axis": 3})])
@pytest.mark.parametrize(("number", "status"), [(np.nan, "inconclusive"), (np.inf, "passed")])
def test_the_greatest_of_nan_is_not_judged(
    operator: str, how: dict[str, Any], number: float, status: str, tmp_path: Path,
) -> None:
    """onnxruntime drops it but where it comes first, so that a right result was told as failed."""
    pytest.importorskip("onnxruntime")
    x = np.random.default_rng(0).normal(size=(1, 3, 4, 4)).astype(np.float32)
    x[0, 1, 2, 2] = number
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([node(operator, ["x"], ["y"], **how)], {"x": x}, ["y"], opset=13).SerializeToString())
    found = transload.convert(file, "tosa", tmp_path / "out", input_data={"x": x}).verification
    assert found is not None and found.status in (status, "passed"), found
    if found.status == "inconclusive":
        assert "of which one is NaN" in found.why


@pytest.mark.parametrize(("operator", "number", "status"), [
    ("ReduceProd", 70000, "inconclusive"), ("ReduceSum", 2**30, "inconclusive"), ("ReduceL1", -(2**30), "inconclusive"),
    ("ReduceSumSquare", 70000, "inconclusive"), ("ReduceProd", 70, "passed"), ("ReduceSum", 2**20, "passed")])
def test_sums_beyond_32_bits_are_not_judged(operator: str, number: int, status: str, tmp_path: Path) -> None:
    """onnxruntime gives the greatest integer there, and what wraps round was told as failed."""
    pytest.importorskip("onnxruntime")
    x = np.array([[number, number, number, 1], [1, 2, 3, 4]], np.int32)
    file = tmp_path / "model.onnx"
    file.write_bytes(make_model([node(operator, ["x"], ["y"], axes=[1])], {"x": x}, ["y"], opset=11).SerializeToString())
    found = transload.convert(file, "tosa", tmp_path / "out", input_data={"x": x}).verification
    assert found is not None and found.status == status, found
