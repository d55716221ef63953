"""Functions of TensorFlow between layers of Keras 2, with TensorFlow's own defaults, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transload
from transload.errors import ReadError

from tests.support.keras_models import functional, h5_file, input_entry

pytest.importorskip("h5py")

X = np.random.default_rng(7).normal(size=(2, 6, 8)).astype(np.float32)


def loaded(path: Path, *calls: tuple[str, dict[str, Any]], kind: str = "TFOpLambda", dtype: str = "float32") -> transload.Module:
    """A model of functions, each of what the one before gives."""
    layers, used = [input_entry("x", X.shape, dtype)], "x"
    for place, (function, arguments) in enumerate(calls):
        name = f"f{place}"
        layers.append({"class_name": kind, "name": name, "config": {"name": name, "trainable": True, "dtype": "float32",
                       "function": function}, "inbound_nodes": [[used, 0, 0, arguments]]})
        used = name
    return transload.load(h5_file(path / "m.h5", functional(layers, ["x"], [used]), {}, "2.15.0"))


def unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.sqrt((x.astype(np.float64) ** 2).sum()), np.float32)


CASES: list[tuple[str, dict[str, Any], Callable[[np.ndarray], np.ndarray]]] = [
    ("math.cumsum", {}, lambda x: np.cumsum(x, 0)),
    ("math.cumsum", {"axis": 1, "exclusive": True}, lambda x: np.cumsum(x, 1) - x),
    ("math.cumsum", {"axis": -1, "reverse": True}, lambda x: np.cumsum(x[..., ::-1], -1)[..., ::-1]),
    ("math.argmax", {}, lambda x: np.argmax(x, 0).astype(np.int64)),
    ("math.argmin", {"axis": 1, "output_type": "int32"}, lambda x: np.argmin(x, 1).astype(np.int32)),
    ("compat.v1.argmax", {"dimension": 2}, lambda x: np.argmax(x, 2).astype(np.int64)),
    ("compat.v1.gather", {"indices": [1, 0]}, lambda x: x[[1, 0]]),
    ("compat.v1.gather", {"indices": [[1], [0]], "axis": 1, "batch_dims": 1}, lambda x: np.stack([x[0, [1]], x[1, [0]]])),
    ("math.l2_normalize", {}, unit),
    ("math.l2_normalize", {"axis": [0, 1, 2], "epsilon": 400.0}, lambda x: x / np.float32(20)),
    ("split", {"num_or_size_splits": [1, -1, 4], "axis": -1}, lambda x: x[..., :1]),
    ("math.reduce_sum", {"axis": [0, 2], "keepdims": True}, lambda x: x.sum((0, 2), keepdims=True)),
    ("math.top_k", {}, lambda x: x.max(-1, keepdims=True)),
    ("tensordot", {"b": np.ones((8, 2)).tolist(), "axes": 1}, lambda x: x @ np.ones((8, 2), np.float32)),
    ("compat.v1.norm", {"ord": 1, "axis": [1, 2]}, lambda x: np.abs(x).sum(1).max(1)),
    ("norm", {"ord": "euclidean"}, lambda x: np.sqrt((x**2).sum())),
    ("linalg.norm", {"ord": 2, "axis": -1}, lambda x: np.linalg.norm(x, axis=-1)),
    ("math.squared_difference", {"y": 0.5}, lambda x: (x - np.float32(0.5)) ** 2),
    ("math.divide_no_nan", {"y": 0.0}, np.zeros_like),
    ("compat.v1.floor_div", {"y": 0.25}, lambda x: np.floor(x / np.float32(0.25))),
    ("nn.bias_add", {"bias": list(range(8))}, lambda x: x + np.arange(8, dtype=np.float32)),
    ("nn.silu", {"beta": 2.0}, lambda x: x / (1 + np.exp(-2 * x))),
    ("__operators__.getitem", {"slice_spec": [{"class_name": "__ellipsis__"}, -1]}, lambda x: x[..., -1]),
]


@pytest.mark.parametrize(("function", "arguments", "wanted"), CASES, ids=[f"{name}-{given}"[:60] for name, given, _ in CASES])
def test_a_function_is_tensorflows(tmp_path: Path, function: str, arguments: dict[str, Any], wanted: Any) -> None:
    module = loaded(tmp_path, (function, arguments))
    made = next(iter(transload.run(module, {"x": X}).values()))
    expected = wanted(X)
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made, expected, rtol=2e-5, atol=1e-5)


def test_integers_and_marks(tmp_path: Path) -> None:
    whole = np.trunc(X * 9).astype(np.int32)
    module = loaded(tmp_path, ("math.reduce_mean", {"axis": -1}), dtype="int32")
    (made,) = transload.run(module, {"x": whole}).values()
    np.testing.assert_array_equal(made, np.trunc(whole.sum(-1) / 8).astype(np.int32))
    module = loaded(tmp_path, ("one_hot", {"depth": 3, "on_value": 5.0, "off_value": -1.0}), dtype="int32")
    (made,) = transload.run(module, {"x": abs(whole)}).values()
    np.testing.assert_array_equal(made, np.where(abs(whole)[..., None] == np.arange(3), np.float32(5), np.float32(-1)))


def test_gelu_is_exact(tmp_path: Path) -> None:
    from math import erf

    (made,) = transload.run(loaded(tmp_path, ("nn.gelu", {})), {"x": X}).values()
    np.testing.assert_allclose(made, X * (1 + np.vectorize(erf)(X / np.sqrt(2))) / 2, rtol=1e-5, atol=1e-6)


def test_pixels_are_points_in_tensorflow_1(tmp_path: Path) -> None:
    module = loaded(tmp_path, ("compat.v1.image.resize_images", {"size": [3, 4], "method": 1}))
    (made,) = transload.run(module, {"x": X}).values()  # one image of 2 by 6
    np.testing.assert_array_equal(made, X[[0, 0, 1]][:, [0, 1, 3, 4]])


def test_an_image_keeps_its_aspect(tmp_path: Path) -> None:
    module = loaded(tmp_path, ("image.resize", {"size": [9, 12], "preserve_aspect_ratio": True, "method": "nearest"}))
    assert [type_.static_shape for type_ in module.outputs.values()] == [(4, 12, 8)]  # an image of 2 by 6


@pytest.mark.parametrize("key", [
    [{"start": None, "stop": None, "step": None}, {"start": None, "stop": None, "step": -1}],
    [{"class_name": "__ellipsis__"}, {"start": 6, "stop": 1, "step": -2}], [{"class_name": "__ellipsis__"}, None]])
def test_slices(tmp_path: Path, key: list[Any]) -> None:
    module = loaded(tmp_path, ("__operators__.getitem", {"slice_spec": key}), kind="SlicingOpLambda")
    (made,) = transload.run(module, {"x": X}).values()
    places = [None if each is None else Ellipsis if "class_name" in each else slice(*each.values()) for each in key]
    np.testing.assert_array_equal(made, X[tuple(places)])


@pytest.mark.parametrize(("function", "arguments"), [
    ("math.cumsum", {"surprise": 1}), ("math.reduce_sum", {"where": [True]}), ("nn.relu", {"alpha": 0.5})])
def test_arguments_that_are_not_known_are_refused(tmp_path: Path, function: str, arguments: dict[str, Any]) -> None:
    (name,) = arguments
    with pytest.raises(ReadError, match=rf"the argument {name}=.* of tf\.{function} is not known here"):
        loaded(tmp_path, (function, arguments))
