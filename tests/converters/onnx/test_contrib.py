"""Tables of few bits, distances, shapes and normalizations in groups of domain `com.microsoft`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload

from tests.support.judge_versions import newer_onnxruntime
from tests.support.onnx_models import make_model, node

G = np.random.default_rng(17)
MS = {"domain": "com.microsoft"}
PLACES = np.array([[0, 5, 3], [5, -1, 2]])


def F(*shape: int) -> np.ndarray:
    return G.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("bits", "zeros"), [(4, False), (4, True), (8, True)])
def test_rows_of_a_table_of_few_bits(compare: Callable[..., Any], bits: int, zeros: bool) -> None:
    width, block = 64, 16
    constants: dict[str, Any] = {
        "t": G.integers(0, 256, (6, width * bits // 8)).astype(np.uint8), "s": G.uniform(0.01, 0.1, (6, 4)).astype(np.float32)}
    if zeros:
        constants["z"] = G.integers(0, 256, (6, 4 * bits // 8)).astype(np.uint8)
    names = ["t", "i", "s", *(["z"] if zeros else [])]
    operator = node("GatherBlockQuantized", names, ["y"], bits=bits, block_size=block, quantize_axis=1, **MS)
    hub = compare([operator, node("Add", ["y", "x"], ["o"])], {"x": F(width)}, ("o",), {**constants, "i": PLACES}, rtol=1e-6)
    for form in (hub, transload.lower(hub)):
        assert transload.run(form, {"x": np.zeros(width, np.float32)})["o"].shape == (2, 3, width)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", None])
def test_distances(compare: Callable[..., Any], metric: str | None) -> None:
    more = {} if metric is None else {"metric": metric}
    compare(node("CDist", ["x", "w"], ["y"], **more, **MS), {"x": F(5, 7), "w": F(3, 7)})


@newer_onnxruntime("dies of ExpandDims")
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_a_dimension_more(compare: Callable[..., Any], axis: int) -> None:
    compare(node("ExpandDims", ["x", "a"], ["y"], **MS), {"x": F(2, 3)}, ("y",), {"a": np.array(axis, np.int32)})


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles(compare: Callable[..., Any], upper: int) -> None:
    compare(node("Trilu", ["x", "k"], ["y"], upper=upper, **MS), {"x": F(2, 4, 5)}, ("y",), {"k": np.array(1)})


@pytest.mark.parametrize(("last", "swish", "skip"), [
    (1, 1, None), (0, 0, None), (1, 0, (2, 1, 1, 8)), (1, 1, (2, 8)), (0, 1, (2, 8, 3, 5))])
def test_normalization_in_groups(tmp_path: Path, last: int, swish: int, skip: tuple[int, ...] | None) -> None:
    """onnxruntime has kernels of them on GPUs only: compared with ONNX's operators between transposes."""
    x, gamma, beta, bias = F(2, 3, 5, 8) if last else F(2, 8, 3, 5), F(8), F(8), F(8)
    inputs, total = {"x": x}, x
    if skip is not None:
        inputs["s"] = F(*skip)
        there = inputs["s"]
        if len(skip) == 2:
            there = there[:, None, None, :] if last else there[:, :, None, None]
        total = x + there + (bias if last else bias[:, None, None])
    attributes = {"groups": 4, "epsilon": 1e-3, "activation": swish, "channels_last": last, **MS}
    fused = node("GroupNorm", ["x", "g", "b"], ["y"], **attributes) if skip is None else node(
        "SkipGroupNorm", ["x", "g", "b", "s", "c"], ["y", "t"], **attributes)
    plain = [node("Transpose", ["x"], ["f"], perm=[0, 3, 1, 2] if last else [0, 1, 2, 3]),
             node("GroupNormalization", ["f", "g", "b"], ["n"], num_groups=4, epsilon=1e-3),
             *([node("Sigmoid", ["n"], ["e"]), node("Mul", ["n", "e"], ["v"])] if swish else [node("Identity", ["n"], ["v"])]),
             node("Transpose", ["v"], ["y"], perm=[0, 2, 3, 1] if last else [0, 1, 2, 3])]
    constants = {"g": gamma, "b": beta, "c": bias}
    found = []
    for number, (nodes, given) in enumerate((([fused], inputs), (plain, {"x": total}))):
        path = tmp_path / f"{number}.onnx"
        outputs = ("y",) if number or skip is None else ("y", "t")
        path.write_bytes(make_model(nodes, given, outputs, constants, opset=21).SerializeToString())
        found.append(transload.run(path, given, engine="reference"))
    np.testing.assert_allclose(found[0]["y"], found[1]["y"], rtol=1e-5, atol=1e-5)
    if skip is not None:
        np.testing.assert_allclose(found[0]["t"], total, rtol=1e-6, atol=1e-6)


def test_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    constants = {"t": np.zeros((6, 32), np.uint8), "s": np.ones((6, 3), np.float32), "i": PLACES}
    path = tmp_path / "model.onnx"
    operator = node("GatherBlockQuantized", ["t", "i", "s"], ["y"], block_size=16, quantize_axis=1, **MS)
    path.write_bytes(make_model([operator, node("Add", ["y", "x"], ["o"])], {"x": F(64)}, ("o",), constants).SerializeToString())
    with pytest.raises(transload.TransloadError, match="do not fit"):
        transload.legalize(transload.load(path))


def test_a_vector_is_not_transposed(compare: Callable[..., Any], normal: Callable[..., Any]) -> None:
    operator = node("FusedMatMul", ["x", "w"], ["y"], transA=1, alpha=0.5, **MS)
    compare(operator, {"x": normal(3)}, constants={"w": normal(3, 4)})


@pytest.mark.parametrize("activation", ["Softplus", "Softsign"])
def test_a_product_ends_with_an_activation(compare: Callable[..., Any], normal: Callable[..., Any], activation: str) -> None:
    operator = node("FusedGemm", ["x", "w"], ["y"], activation=activation, **MS)
    compare(operator, {"x": normal(2, 3)}, constants={"w": normal(3, 4)})


@pytest.mark.parametrize("axis", [1, -1])
def test_what_a_simplified_norm_multiplies_by(compare: Callable[..., Any], normal: Callable[..., Any], axis: int) -> None:
    x = normal(2, 3, 4)
    operator = node("SimplifiedLayerNormalization", ["x", "s"], ["y", "i"], axis=axis, epsilon=0.1)
    compare(operator, {"x": x}, ("y", "i"), {"s": normal(*x.shape[axis:])})
