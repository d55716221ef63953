"""Models of opsets before 7: operands broadcast by `broadcast` and `axis` there, and a PRelu's slopes are those of channels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import transload
from transload.errors import ReadError

from tests.support.onnx_models import node

X = np.abs(np.random.default_rng(0).normal(size=(3, 3, 4, 3))).astype(np.float32)
CHANNELS = np.array([1, 2, 3], np.float32)
FUNCTIONS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "And": np.logical_and,
    "Or": np.logical_or, "Xor": np.logical_xor, "Less": np.less, "Greater": np.greater, "Equal": np.equal,
}
LOGIC, COMPARISONS = {"And", "Or", "Xor"}, {"Less", "Greater", "Equal"}


def saved(path: Path, nodes: list[Any], x: np.ndarray, constants: dict[str, np.ndarray], shape: tuple[int, ...],
          opset: int, element: int = TensorProto.FLOAT) -> Path:
    """A model with input `x` and output `y`, declared to have this shape."""
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(
        nodes, "old", [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info("y", element, shape)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), path)
    return path


def result(path: Path, x: np.ndarray) -> np.ndarray:
    return next(iter(transload.run(transload.lower(transload.load(path), to="top"), {"x": x}).values()))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("size", "axis", "held", "meant"), [
    (1, 1, (3,), (3, 1, 1)), (2, 1, (3,), (3, 1, 1)), (3, 1, (3,), (3, 1, 1)), (3, -3, (3,), (3, 1, 1)),
    (3, 0, (3,), (3, 1, 1, 1)), (2, 1, (3, 4), (3, 4, 1)),
    (3, None, (3,), (3,)), (3, -1, (4, 3), (4, 3)), (2, 1, (1, 1), (1,)), (2, 1, (), ()),
    (3, 1, (3, 1, 1), (3, 1, 1)), (2, -3, (3, 1), (3, 1, 1)), (2, 0, (1, 3, 1, 1), (3, 1, 1)), (2, 0, (1, 3), (3, 1, 1)),
])
def test_operands_broadcast_from_an_axis_on(
        tmp_path: Path, name: str, size: int, axis: int | None, held: tuple[int, ...], meant: tuple[int, ...]) -> None:
    x: Any = X[:size]
    second: Any = np.resize(CHANNELS, held)
    if name in LOGIC:
        x, second = x > 0.5, np.resize(CHANNELS > 1, held)
    elif name == "Equal":
        x, second = (x * 4).astype(np.int32), second.astype(np.int32)
    element = TensorProto.BOOL if name in LOGIC | COMPARISONS else TensorProto.FLOAT
    attributes: dict[str, Any] = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
    path = saved(tmp_path / "old.onnx", [node(name, ["x", "c"], ["y"], **attributes)], x, {"c": second}, x.shape, 6, element)
    np.testing.assert_allclose(result(path, x), FUNCTIONS[name](x, second.reshape(meant)), rtol=1e-5)


@pytest.mark.parametrize("opset", [1, 5, 6])
def test_one_broadcast_follows_another(tmp_path: Path, opset: int) -> None:
    nodes = [node("Mul", ["x", "c"], ["s"], broadcast=1, axis=1), node("Relu", ["s"], ["r"]),
             node("Add", ["r", "c"], ["y"], broadcast=1, axis=1)]
    path = saved(tmp_path / "old.onnx", nodes, X, {"c": CHANNELS}, X.shape, opset)
    channels = CHANNELS.reshape(3, 1, 1)
    np.testing.assert_allclose(result(path, X), np.maximum(X * channels, 0) + channels, rtol=1e-6)


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("slopes", [[0.1, 0.2, 0.3], [0.5]])
def test_slopes_are_those_of_channels_whatever_the_width(tmp_path: Path, opset: int, slopes: list[float]) -> None:
    held, x = np.array(slopes, np.float32), X - 1
    path = saved(tmp_path / "old.onnx", [node("PRelu", ["x", "w"], ["y"])], x, {"w": held}, x.shape, opset)
    np.testing.assert_allclose(result(path, x), np.where(x < 0, x * held.reshape(-1, 1, 1), x), rtol=1e-6)


@pytest.mark.parametrize(("name", "axis", "shape", "held", "meant"), [
    ("PRelu", None, (2, 3, 4, 5), (3,), (3, 1, 1)), ("PRelu", None, (2, 3, 4, 3), (3,), (3, 1, 1)),
    ("PRelu", None, (2, 3), (3,), (3,)), ("PRelu", None, (3, 4, 3), (1,), (1,)), ("PRelu", None, (2, 3, 0), (3,), (3, 1)),
    ("Add", 1, (2, 3, 4, 3), (3,), (3, 1, 1)), ("Add", 1, (2, 3, 4, 3), (3, 4), (3, 4, 1)),
    ("Add", -3, (2, 3, 4, 3), (3,), (3, 1, 1)), ("Add", -2, (2, 3, 4, 3), (4, 3), (4, 3)), ("Add", 0, (3, 3), (3,), (3, 1)),
])
def test_operands_broadcast_behind_an_operator_of_unknown_shape(
        tmp_path: Path, name: str, axis: int | None, shape: tuple[int, ...], held: tuple[int, ...],
        meant: tuple[int, ...]) -> None:
    """ONNX infers no shape of operators of other domains: how many axes the second operand lacks is computed in the model."""
    x: Any = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    second: Any = np.resize(CHANNELS / 8, held)
    attributes: dict[str, Any] = {} if axis is None else {"broadcast": 1, "axis": axis}
    nodes = [node("FusedMatMul", ["x", "e"], ["u"], domain="com.microsoft"), node(name, ["u", "w"], ["y"], **attributes)]
    eye = np.eye(shape[-1], dtype=np.float32)
    path = saved(tmp_path / "old.onnx", nodes, x, {"w": second, "e": eye}, shape, 6)
    model = onnx.load(path)
    model.opset_import.add(domain="com.microsoft", version=1)
    onnx.save(model, path)
    broad = second.reshape(meant)
    np.testing.assert_allclose(result(path, x), x + broad if name == "Add" else np.where(x < 0, x * broad, x), rtol=1e-6)


def test_a_size_below_zero_is_one_that_is_not_known(tmp_path: Path) -> None:
    add = node("Add", ["x", "c"], ["y"], broadcast=1, axis=1)
    path = saved(tmp_path / "old.onnx", [add], X, {"c": CHANNELS}, (-1, 3, 4, 3), 6)
    np.testing.assert_allclose(result(path, X), X + CHANNELS.reshape(3, 1, 1), rtol=1e-6)


def test_an_operator_in_a_branch_broadcasts_alike(tmp_path: Path) -> None:
    output = helper.make_tensor_value_info("s", TensorProto.FLOAT, X.shape)
    branch = helper.make_graph([node("Add", ["x", "c"], ["s"], broadcast=1, axis=1)], "branch", [], [output])
    nodes = [node("If", ["b"], ["y"], then_branch=branch, else_branch=branch)]
    path = saved(tmp_path / "old.onnx", nodes, X, {"c": CHANNELS, "b": np.array(True)}, X.shape, 6)
    np.testing.assert_allclose(result(path, X), X + CHANNELS.reshape(3, 1, 1), rtol=1e-6)


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.onnx"
    saved(path, [node("Add", ["x", "c"], ["y"], broadcast=1, axis=2)], X, {"c": CHANNELS}, X.shape, 6)
    with pytest.raises(ReadError, match=r"Add of 'y' broadcasts \[3\] to \[3, 3, 4, 3\] from axis 2 on"):
        transload.load(path)


def test_outputs_of_other_shapes_than_declared_are_refused_where_it_broadcasts(tmp_path: Path) -> None:
    """Elsewhere a stale shape is one that is wrong in the file, as of opset 7 on."""
    pool, path = node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2]), tmp_path / "old.onnx"
    assert result(saved(path, [pool], X, {}, X.shape, 6), X).shape == (3, 3, 3, 2)
    nodes = [node("Add", ["x", "c"], ["s"], broadcast=1, axis=1), node("MaxPool", ["s"], ["y"], kernel_shape=[2, 2])]
    saved(path, nodes, X, {"c": CHANNELS}, X.shape, 6)
    with pytest.raises(ReadError, match=r"output 'y' would have shape \[3, 3, 3, 2\], .* says \[3, 3, 4, 3\]: Add of 's'"):
        transload.load(path)
