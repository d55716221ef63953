"""Outputs that lie on an offset are judged by what is left without it; what only rounds a constant says nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import transload
from transload.ir import F16, TensorType
from transload.verification import offsets
from transload.verification.differences import difference
from transload.verification.information import is_informative
from transload.verification.limits import broken_limits
from transload.verification.offsets import unit_of, unit_of_module
from transload.verification.tolerance import Tolerance
from transload.verification.verify import Verification, verify_conversion

from tests.support.graphs import Graph

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def limits_broken(reference: np.ndarray, actual: np.ndarray, **more: Any) -> list[str]:
    return broken_limits(difference("y", reference, actual), Tolerance(**more), unit=unit_of(reference.dtype, actual.dtype))


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [3.0, 300.0, -1000.0])
def test_what_is_left_is_judged(offset: float, dtype: Any) -> None:
    x = noise(1, 50)
    right = (offset + x).astype(dtype)
    assert not limits_broken(right, (offset + 1.001 * x).astype(dtype))
    assert not limits_broken(right, right.astype(np.float32).astype(dtype))
    for wrong in (offset - x, offset + 0 * x, offset + 1.1 * x, offset + 0.1 + x):
        assert limits_broken(right, wrong.astype(dtype))
    assert not limits_broken(right, (offset + 1.1 * x).astype(dtype), euclid=0.5, cos=0.99)


def test_an_offset_of_each_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    bias, x = 100.0 * noise(1, 8, 1, 1, seed=1), noise(1, 8, 6, 6)
    right = (bias + 0.1 * x).astype(np.float32)
    for turned in (right, np.moveaxis(right, 1, -1)):
        assert not limits_broken(turned, turned + np.float32(1e-5))
        assert limits_broken(turned, np.broadcast_to(turned.mean((1, 2) if turned is not right else (2, 3), keepdims=True),
                                                     turned.shape))
    monkeypatch.setattr(offsets, "_MOST", 1000)
    wide = np.repeat(right, 20, axis=3)
    assert limits_broken(wide, np.repeat((bias - 0.1 * x).astype(np.float32), 20, axis=3)) and not limits_broken(wide, wide)


@pytest.mark.parametrize(("dtype", "size"), [(np.float16, 1e-3), (ml_dtypes.bfloat16, 1e-2), (np.float32, 3e-7)])
def test_roundings_of_the_offset_are_no_difference(dtype: Any, size: float) -> None:
    """Both are as right: what varies is no more than roundings."""
    right, other = ((1000.0 * (1.0 + size * noise(1, 64, seed=seed))).astype(dtype) for seed in range(2))
    assert not limits_broken(right, other) and not is_informative(right)


def test_what_is_not_finite_is_left_out() -> None:
    right = (300.0 + noise(4, 50)).astype(np.float32)
    right[1, 3], right[2, 2] = np.inf, np.nan
    wrong = 600.0 - right
    wrong[1, 3] = np.inf
    assert limits_broken(right, wrong) and not limits_broken(right, right.copy())


def test_numbers_that_none_can_tell_from_a_constant_say_nothing() -> None:
    assert not is_informative(1e-7 * noise(64)) and is_informative(1e-6 * noise(64))
    assert not is_informative((5e8 + noise(64)).astype(np.float32))
    assert is_informative((5e6 + 1e3 * noise(64)).astype(np.float32))


def test_the_coarsest_floats_that_are_computed_with() -> None:
    graph = Graph(TensorType((4,), F16))
    narrow = graph.done(graph.Relu(graph.inputs[0]))
    graph = Graph((4,))
    assert unit_of_module(narrow) == 2.0**-11 and unit_of_module(graph.done(graph.Relu(graph.inputs[0]))) == 2.0**-24


def offset_model(path: Path, factor: float, offset: float) -> Path:
    from onnx import TensorProto, helper

    nodes = [helper.make_node("Mul", ["x", "k"], ["m"]), helper.make_node("Add", ["m", "c"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 50]) for name in "xy")
    constants = [helper.make_tensor(name, TensorProto.FLOAT, [], [value]) for name, value in (("k", factor), ("c", offset))]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], constants), opset_imports=[helper.make_opsetid("", 17)],
                                ir_version=8), path)
    return path


def softmax_model(path: Path, factor: float, offset: float) -> Path:
    model = onnx.load(offset_model(path, factor / 1000, 0.0))
    model.graph.node[1].op_type = "Softmax"
    del model.graph.node[1].input[1]
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("model", [offset_model, softmax_model])
@pytest.mark.parametrize(("factor", "status"), [(1.0, "passed"), (-1.0, "failed"), (0.0, "failed"), (1.1, "failed")])
def test_a_conversion_that_keeps_but_the_offset(
    model: Callable[[Path, float, float], Path], factor: float, status: str, tmp_path: Path,
) -> None:
    def verified(right: Path, wrong: Path) -> Verification:
        source, other = transload.load(right), transload.load(wrong)
        return verify_conversion(source, transload.lower(other, "tosa"), hub=transload.legalize(other))

    right, wrong = model(tmp_path / "right.onnx", 1.0, 1000.0), model(tmp_path / "wrong.onnx", factor, 1000.0)
    verdict = verified(right, wrong)
    assert verdict.status == status and (verdict.passed or "without its mean" in verdict.broken[0])
